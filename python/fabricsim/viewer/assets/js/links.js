// All directions of links in one draw call: a rectangle for each piece of a line, of a width in pixels, on the right of its way.
// Where links are thinner than a pixel, they are lines. Vertices are not instanced: renderers without a graphics processor
// take a hundred times as long for instances.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, GLSL3, LineSegments, Mesh, ShaderMaterial } from "three";

const ARC_PIECES = 10;
const MOST_PIECES = 400000; // with more, arcs have fewer pieces

const VERTEX = `
in vec3 begin; in vec3 end; in vec2 corner; in float value; in float isHost;
uniform vec2 size; uniform float thick, largest, least, reference; uniform bool withHosts, withIdle;
out float shade;
void main() {
  vec4 a = projectionMatrix * viewMatrix * vec4(begin, 1.0);
  vec4 b = projectionMatrix * viewMatrix * vec4(end, 1.0);
  bool busy = value > 0.0;
  bool hidden = (isHost > 0.5 && !withHosts) || (!busy && !withIdle) || (least > 0.0 && !(value >= least));
  const float near = 0.001;
  if (hidden || (a.w < near && b.w < near)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < near) a = mix(a, b, (near - a.w) / (b.w - a.w));
  else if (b.w < near) b = mix(b, a, (near - b.w) / (a.w - b.w));
  vec2 way = (b.xy / b.w - a.xy / a.w) * size;
  float length_ = length(way);
  vec2 right = length_ > 1e-4 ? vec2(way.y, -way.x) / length_ : vec2(0.0, -1.0);
  float part = clamp(value / largest, 0.0, 1.0);
  shade = busy ? part : -1.0;
  vec4 at = mix(a, b, corner.x);
  float near_ = reference > 0.0 ? clamp(reference / at.w, 0.4, 2.0) : 1.0; // in space, what is far is thin
  float wide = max(thick * near_ * (busy ? 0.55 + 0.45 * part : 0.4), 1.0);
  at.xy += right * (0.6 * thick * near_ + corner.y * 0.5 * wide) * 2.0 / size * at.w;
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

const CORNERS = [[0, -1], [1, -1], [1, 1], [0, 1]]; // begin or end; left or right
const THIN = 1; // pixels up to which links are lines
const STEPS = 256; // of the scale, by which pieces are sorted
const AHEAD = 2; // busiest pieces that are written at once, over those of the frame: the next frames may have more

export class LinkMesh {
  // `uniforms`: shared by all runs (palette, idle, largest, thick, size, reference, withHosts, withIdle).
  constructor(run, uniforms) {
    this.run = run;
    this.#pieces();
    const geometry = this.#geometry();
    const material = new ShaderMaterial({
      vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms, glslVersion: GLSL3, side: 2, // both sides
    });
    const lines = new BufferGeometry();
    for (const [name, attribute] of Object.entries(geometry.attributes)) lines.setAttribute(name, attribute);
    this.wide = new Mesh(geometry, material);
    this.thin = new LineSegments(lines, material);
    this.wide.frustumCulled = false;
    this.thin.frustumCulled = false;
    const natural = Uint32Array.from(this.link, (_, piece) => piece);
    this.shapes = [new Shape(this.thin, [0, 1], natural), new Shape(this.wide, [0, 1, 2, 0, 2, 3], natural)];
    this.order = new Uint32Array(this.link.length); // the busiest first
    this.isSorted = false;
  }

  // Puts the busiest pieces first.
  #sort() {
    const [count, { array }] = [this.link.length, this.shown];
    let largest = 0;
    for (let at = 0; at < array.length; at += 4) if (array[at] > largest) largest = array[at];
    this.steps ??= new Uint8Array(count);
    const [steps, first] = [this.steps, new Uint32Array(STEPS + 1)];
    const scale = largest > 0 ? (STEPS - 1) / largest : 0;
    for (let piece = 0; piece < count; piece += 1) {
      const value = array[4 * piece];
      const step = STEPS - 1 - (value > 0 ? Math.round(scale * value) : 0);
      steps[piece] = step;
      first[step + 1] += 1;
    }
    for (let i = 0; i < STEPS; i += 1) first[i + 1] += first[i];
    for (let piece = 0; piece < count; piece += 1) this.order[first[steps[piece]]++] = piece;
    for (const shape of this.shapes) shape.written = 0;
    this.isSorted = true;
  }

  // Ends of the pieces, and the direction that each belongs to.
  #pieces() {
    const { run } = this;
    const bent = (link) => run.arcs[3 * link] || run.arcs[3 * link + 1] || run.arcs[3 * link + 2];
    let arcs = 0;
    for (let link = 0; link < run.linkCount; link += 1) if (bent(link)) arcs += 1;
    this.arcPieces = run.linkCount + arcs * ARC_PIECES > MOST_PIECES ? 4 : ARC_PIECES;
    const count = run.linkCount - arcs + arcs * this.arcPieces;
    this.link = new Uint32Array(count);
    this.begin = new Float32Array(3 * count);
    this.end = new Float32Array(3 * count);
    let piece = 0;
    for (let link = 0; link < run.linkCount; link += 1) {
      const points = run.path(link, this.arcPieces);
      for (let i = 1; i < points.length; i += 1) {
        this.begin.set(points[i - 1], 3 * piece);
        this.end.set(points[i], 3 * piece);
        this.link[piece] = link;
        piece += 1;
      }
    }
  }

  // Four vertices for each piece.
  #geometry() {
    const count = this.link.length;
    const [begin, end] = [new Float32Array(12 * count), new Float32Array(12 * count)];
    const [corner, isHost] = [new Int8Array(8 * count), new Uint8Array(4 * count)];
    for (let piece = 0; piece < count; piece += 1) {
      const host = this.run.isHostLink(this.link[piece]) ? 1 : 0;
      for (let i = 0; i < 4; i += 1) {
        const vertex = 4 * piece + i;
        for (let axis = 0; axis < 3; axis += 1) {
          begin[3 * vertex + axis] = this.begin[3 * piece + axis];
          end[3 * vertex + axis] = this.end[3 * piece + axis];
        }
        corner.set(CORNERS[i], 2 * vertex);
        isHost[vertex] = host;
      }
    }
    this.shown = new BufferAttribute(new Float32Array(4 * count), 1).setUsage(DynamicDrawUsage);
    const geometry = new BufferGeometry();
    geometry.setAttribute("begin", new BufferAttribute(begin, 3));
    geometry.setAttribute("end", new BufferAttribute(end, 3));
    geometry.setAttribute("corner", new BufferAttribute(corner, 2));
    geometry.setAttribute("isHost", new BufferAttribute(isHost, 1));
    geometry.setAttribute("value", this.shown);
    return geometry;
  }

  // Colours the directions by their values.
  show(values) {
    const { array } = this.shown;
    for (let piece = 0, at = 0; piece < this.link.length; piece += 1) {
      const value = values[this.link[piece]];
      for (let i = 0; i < 4; i += 1, at += 1) array[at] = value;
    }
    this.shown.needsUpdate = true;
    this.isSorted = false;
  }

  // Draws lines or rectangles, for links of a width in pixels; at most `most` pieces, those of the busiest links.
  choose(thick, most) {
    const [thin, wide] = this.shapes;
    const shape = thick <= THIN ? thin : wide;
    thin.object.visible = shape === thin;
    wide.object.visible = shape === wide;
    if (most >= this.link.length) {
      shape.drawAll();
      return;
    }
    if (!this.isSorted) this.#sort();
    shape.drawFirst(this.order, most);
  }
}

// Lines or rectangles of the same vertices, with two lists of them: of all pieces, which never changes, and of the busiest, of which
// only those that a frame draws are written and sent to the graphics.
class Shape {
  constructor(object, corners, natural) {
    this.object = object;
    this.corners = corners;
    this.pieces = natural.length;
    this.all = new BufferAttribute(new Uint32Array(natural.length * corners.length), 1);
    this.busiest = null;
    this.written = 0; // pieces of the busiest that are in the list
    fill(this.all.array, corners, natural, 0, natural.length);
    object.geometry.setIndex(this.all);
  }

  drawAll() {
    this.object.geometry.setIndex(this.all);
    this.object.geometry.setDrawRange(0, Infinity);
  }

  drawFirst(order, count) {
    const size = this.corners.length;
    const isNew = this.busiest === null; // then all of it is sent
    this.busiest ??= new BufferAttribute(new Uint32Array(this.pieces * size), 1).setUsage(DynamicDrawUsage);
    if (this.written < count) {
      const until = Math.min(this.pieces, AHEAD * count);
      fill(this.busiest.array, this.corners, order, this.written, until);
      if (!isNew) this.busiest.addUpdateRange(size * this.written, size * (until - this.written));
      this.busiest.needsUpdate = true;
      this.written = until;
    }
    this.object.geometry.setIndex(this.busiest);
    this.object.geometry.setDrawRange(0, size * count);
  }
}

// Writes the vertices of the pieces `from` to `until` of an order.
function fill(list, corners, order, from, until) {
  const size = corners.length;
  for (let i = from, at = size * from; i < until; i += 1) {
    const vertex = 4 * order[i];
    for (let corner = 0; corner < size; corner += 1, at += 1) list[at] = vertex + corners[corner];
  }
}
