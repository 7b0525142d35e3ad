// All directions of links in one draw call: a rectangle for each piece of a line, of a width in pixels, on the right of its way.

import { DynamicDrawUsage, GLSL3, InstancedBufferAttribute, InstancedBufferGeometry, Float32BufferAttribute, Mesh, ShaderMaterial } from "three";

const ARC_PIECES = 10;
const MOST_PIECES = 400000; // with more, arcs have fewer pieces

const VERTEX = `
in vec3 begin; in vec3 end; in float value; in float isHost;
uniform vec2 size; uniform float thick, largest; uniform bool withHosts, withIdle;
out float shade;
void main() {
  vec4 a = projectionMatrix * viewMatrix * vec4(begin, 1.0);
  vec4 b = projectionMatrix * viewMatrix * vec4(end, 1.0);
  bool busy = value > 0.0;
  bool hidden = (isHost > 0.5 && !withHosts) || (!busy && !withIdle);
  const float near = 0.001;
  if (hidden || (a.w < near && b.w < near)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < near) a = mix(a, b, (near - a.w) / (b.w - a.w));
  else if (b.w < near) b = mix(b, a, (near - b.w) / (a.w - b.w));
  vec2 way = (b.xy / b.w - a.xy / a.w) * size;
  float length_ = length(way);
  vec2 right = length_ > 1e-4 ? vec2(way.y, -way.x) / length_ : vec2(0.0, -1.0);
  float part = clamp(value / largest, 0.0, 1.0);
  shade = busy ? part : -1.0;
  float wide = max(thick * (busy ? 0.55 + 0.45 * part : 0.4), 1.0);
  vec4 at = mix(a, b, position.x);
  at.xy += right * (0.6 * thick + position.y * 0.5 * wide) * 2.0 / size * at.w;
  // The busiest are drawn on top of all, wherever they are in space.
  float depth = busy ? 0.8 - 1.6 * part : 0.9;
  at.z = at.w * (depth + 0.04 * clamp(at.z / at.w, -1.0, 1.0));
  gl_Position = at;
}`;

const FRAGMENT = `
precision mediump float;
in float shade;
uniform sampler2D palette; uniform vec3 idle;
out vec4 colour;
void main() {
  colour = shade < 0.0 ? vec4(idle, 1.0) : vec4(texture(palette, vec2(shade * 0.99609375 + 0.001953125, 0.5)).rgb, 1.0);
}`;

export class LinkMesh {
  // `uniforms`: shared by all runs (palette, idle, largest, thick, size, withHosts, withIdle).
  constructor(run, uniforms) {
    this.run = run;
    const bent = (link) => run.arcs[3 * link] || run.arcs[3 * link + 1] || run.arcs[3 * link + 2];
    let arcs = 0;
    for (let link = 0; link < run.linkCount; link += 1) if (bent(link)) arcs += 1;
    this.arcPieces = run.linkCount + arcs * ARC_PIECES > MOST_PIECES ? 4 : ARC_PIECES;
    const count = run.linkCount - arcs + arcs * this.arcPieces;
    this.link = new Uint32Array(count); // direction of each piece
    this.begin = new Float32Array(3 * count);
    this.end = new Float32Array(3 * count);
    const isHost = new Float32Array(count);
    let piece = 0;
    for (let link = 0; link < run.linkCount; link += 1) {
      const points = run.path(link, this.arcPieces);
      for (let i = 1; i < points.length; i += 1) {
        this.begin.set(points[i - 1], 3 * piece);
        this.end.set(points[i], 3 * piece);
        this.link[piece] = link;
        isHost[piece] = run.isHostLink(link) ? 1 : 0;
        piece += 1;
      }
    }
    this.shown = new InstancedBufferAttribute(new Float32Array(count), 1).setUsage(DynamicDrawUsage);
    const geometry = new InstancedBufferGeometry();
    geometry.instanceCount = count;
    geometry.setAttribute("position", new Float32BufferAttribute([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0], 3));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    geometry.setAttribute("begin", new InstancedBufferAttribute(this.begin, 3));
    geometry.setAttribute("end", new InstancedBufferAttribute(this.end, 3));
    geometry.setAttribute("isHost", new InstancedBufferAttribute(isHost, 1));
    geometry.setAttribute("value", this.shown);
    const material = new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms, glslVersion: GLSL3, side: 2 });
    this.mesh = new Mesh(geometry, material);
    this.mesh.frustumCulled = false;
  }

  // Colours the directions by their values.
  show(values) {
    const { array } = this.shown;
    for (let piece = 0; piece < array.length; piece += 1) array[piece] = values[this.link[piece]];
    this.shown.needsUpdate = true;
  }
}
