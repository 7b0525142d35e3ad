// Switches are squares, hosts circles: all in one draw call.

import { BufferGeometry, Float32BufferAttribute, GLSL3, Points, ShaderMaterial } from "three";

const VERTEX = `
in float isHost;
uniform float switchSize, hostSize, reference; uniform bool withHosts;
out float round; out float pixels;
void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  round = isHost;
  pixels = isHost > 0.5 ? (withHosts ? hostSize : 0.0) : switchSize;
  if (reference > 0.0) pixels *= clamp(reference / gl_Position.w, 0.4, 2.0);
  gl_PointSize = pixels;
  if (pixels < 1.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

const FRAGMENT = `
precision mediump float;
in float round; in float pixels;
out vec4 colour;
void main() {
  vec2 at = abs(gl_PointCoord - 0.5) * 2.0;
  float far = round > 0.5 ? length(at) : max(at.x, at.y);
  if (far > 1.0) discard;
  colour = vec4(vec3(far > 1.0 - 2.6 / pixels ? 0.3 : 1.0), 1.0);
}`;

export function nodePoints(run, uniforms) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(run.places, 3));
  geometry.setAttribute("isHost", new Float32BufferAttribute(Float32Array.from(run.isHost), 1));
  const material = new ShaderMaterial({
    vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms, glslVersion: GLSL3, depthTest: false, depthWrite: false,
  });
  const points = new Points(geometry, material);
  points.frustumCulled = false;
  points.renderOrder = 1; // over the links
  return points;
}
