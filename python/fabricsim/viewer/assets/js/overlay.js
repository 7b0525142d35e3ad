// Layer over the picture: names, the busiest links, the chosen and the pointed one, congestion trees, axes.

import { besideMark, Boxes, leader, nodeBoxes } from "viewer/labels.js";
import { MARK } from "viewer/palettes.js";
import { beside } from "viewer/pick.js";
import { percent } from "viewer/text.js";

const MOST_NAMES = 400; // of nodes in the picture
export const BUSIEST = 3;
const AXES = 42; // pixels of half the square of the axes in a corner
const FONT = "11px system-ui, sans-serif";

export class Overlay {
  constructor(canvas, view, state) {
    this.canvas = canvas;
    this.view = view;
    this.state = state;
    this.pointed = null;
    this.labels = []; // texts of marks in the picture, with their boxes
  }

  draw() {
    const ratio = window.devicePixelRatio;
    const { clientWidth: width, clientHeight: height } = this.view.element;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, width, height);
    this.taken = new Boxes(); // of texts and of the marks that have labels
    this.labels = [];
    this.view.panels.forEach((panel, number) => {
      this.pen.save();
      this.pen.beginPath();
      this.pen.rect(panel.left, panel.top, panel.width, panel.height);
      this.pen.clip();
      this.#panel(panel, number);
      this.pen.restore();
      if (number && panel.left) this.#line([[panel.left, panel.top], [panel.left, panel.top + panel.height]], "#c9c9c9", 1);
      if (number && panel.top) this.#line([[panel.left, panel.top], [panel.left + panel.width, panel.top]], "#c9c9c9", 1);
    });
  }

  #panel(panel, number) {
    const project = this.view.projection(panel);
    this.bounds = [panel.left, panel.top, panel.left + panel.width, panel.top + panel.height];
    this.marks = []; // with the texts of their labels
    this.#captions(panel, project);
    if (this.state.get("trees")) this.#trees(panel, project);
    for (const [what_, wide] of [[this.pointed, 2], [this.state.get("chosen"), 3]]) {
      const what = what_ && (what_.run === number ? what_ : panel.run.same(this.view.runs[what_.run], what_));
      if (!what) continue;
      if (what.link !== undefined) this.#arrow(this.path(panel, project, what.link), MARK, wide + panel.thick);
      else this.#ring(project(this.#place(panel.run, what.node)), panel.switchSize / 2 + 4);
    }
    this.#busiest(panel, project);
    if (!this.view.camera.flat) this.taken.add(axesBox(panel));
    this.#labels(panel, project);
    if (this.state.get("names")) this.#names(panel, project);
    if (!this.view.camera.flat) this.#axes(panel);
  }

  #place(run, node) {
    return run.places.subarray(3 * node, 3 * node + 3);
  }

  // A direction in pixels, on the right of its way; empty behind the camera.
  path(panel, project, link) {
    const points = panel.run.path(link).map(project);
    if (points.includes(null)) return [];
    return points.slice(1).flatMap((point, i) => {
      const [ax, ay, bx, by] = beside(points[i], point, panel.thick);
      return [[ax, ay], [bx, by]];
    });
  }

  #trees(panel, project) {
    const time = this.state.get("time");
    for (const row of panel.run.treesAt(time).slice(0, 64)) {
      for (const link of panel.run.branches(row, time)) {
        this.#line(this.path(panel, project, link), MARK, panel.thick + 2, [5, 3]);
      }
      const root = panel.run.trees.root[row];
      if (root < 0) continue;
      const points = this.path(panel, project, root);
      this.#arrow(points, MARK, panel.thick + 4);
      const at = middle(points);
      if (at) this.marks.push({ at, text: "root", draw: () => this.#diamond(at) });
    }
  }

  #busiest(panel, project) {
    const { run, values } = panel;
    const withHosts = this.state.get("hosts");
    for (const [rank, link] of busiest(run, values, BUSIEST, withHosts).entries()) {
      const at = middle(this.path(panel, project, link));
      const text = `${run.linkName(link)} ${percent(values[link])}`;
      if (at) this.marks.push({ at, text, draw: () => this.#symbol(at, rank) });
    }
  }

  // A circle, a square and a triangle: the order is seen without colour.
  #symbol([x, y], rank) {
    const { pen } = this;
    pen.beginPath();
    if (rank === 0) pen.arc(x, y, 5, 0, 7);
    else if (rank === 1) pen.rect(x - 4.5, y - 4.5, 9, 9);
    else { pen.moveTo(x, y - 6); pen.lineTo(x + 5.5, y + 4.5); pen.lineTo(x - 5.5, y + 4.5); pen.closePath(); }
    pen.setLineDash([]);
    pen.fillStyle = "#fff";
    pen.strokeStyle = "#000";
    pen.lineWidth = 1.5;
    pen.fill();
    pen.stroke();
  }

  #diamond([x, y]) {
    const { pen } = this;
    pen.beginPath();
    pen.moveTo(x, y - 7);
    pen.lineTo(x + 7, y);
    pen.lineTo(x, y + 7);
    pen.lineTo(x - 7, y);
    pen.closePath();
    pen.fillStyle = MARK;
    pen.fill();
  }

  // The marks with their texts: each at the first place that is free, and none if none is.
  #labels(panel, project) {
    if (!this.marks.length) return;
    const nodes = new Boxes();
    const reference = this.view.uniforms.reference.value;
    for (const box of nodeBoxes(panel, project, this.state.get("hosts"), reference)) nodes.add(box);
    for (const { at: [x, y] } of this.marks) this.taken.add([x - 7, y - 7, x + 7, y + 7]);
    const placed = this.marks.map((mark) => ({ ...mark, place: this.#free(mark, nodes) })).filter(({ place }) => place);
    for (const { at, text, place } of placed) {
      const box = this.#box(text, ...place);
      this.#line(leader(at, box) ?? [], "#555", 1);
      this.labels.push({ text, box, run: panel.run });
    }
    for (const { draw } of this.marks) draw();
    for (const { text, place } of placed) this.#write(text, ...place);
  }

  // A place of a label that covers no node, mark or text, from then on taken.
  #free({ at, text }, nodes) {
    this.pen.font = FONT;
    const [left, top, right, bottom] = this.bounds;
    const isInside = ([l, t, r, b]) => l >= left && t >= top && r <= right && b <= bottom;
    const found = besideMark(at, this.pen.measureText(text).width).find((place) => {
      const box = this.#box(text, ...place);
      return isInside(box) && nodes.isFree(box) && this.taken.isFree(box);
    });
    if (found) this.taken.add(this.#box(text, ...found));
    return found;
  }

  #box(text, x, y) {
    return [x - 1, y - 10, x + this.pen.measureText(text).width + 1, y + 3];
  }

  // Names of groups and levels, centred on their places.
  #captions({ run }, project) {
    for (const [text, place] of run.captions) {
      const at = project(place);
      this.pen.font = FONT;
      if (at) this.#text(text, at[0] - this.pen.measureText(text).width / 2, at[1] + 4, false);
    }
  }

  #names({ run, left, top, width, height, hostSize }, project) {
    const shown = [];
    for (let node = 0; node < run.names.length && shown.length <= MOST_NAMES; node += 1) {
      if (run.isHost[node] && (!this.state.get("hosts") || !hostSize)) continue;
      const at = project(this.#place(run, node));
      if (at && at[0] >= left && at[0] <= left + width && at[1] >= top && at[1] <= top + height) shown.push([node, at]);
    }
    if (shown.length > MOST_NAMES) return;
    shown.sort(([a], [b]) => run.isHost[a] - run.isHost[b] || a - b);
    for (const [node, at] of shown) this.#text(run.names[node], at[0] + 5, at[1] - 5, false);
  }

  // Directions of the coordinates, as the camera sees them: y counts downwards, as in other pictures.
  #axes({ left, top, height }) {
    const corner = [left + AXES, top + height - AXES];
    const { elements: m } = this.view.camera.camera.matrixWorldInverse;
    for (const [name, x, y, z] of [["x", 1, 0, 0], ["y", 0, -1, 0], ["z", 0, 0, 1]]) {
      const way = [m[0] * x + m[4] * y + m[8] * z, -(m[1] * x + m[5] * y + m[9] * z)];
      const end = corner.map((at, i) => at + 26 * way[i]);
      this.#line([corner, end], "#555", 1.5);
      const length = Math.hypot(...way) || 1;
      this.#text(name, end[0] + (8 * way[0]) / length - 3, end[1] + (8 * way[1]) / length + 4, true);
    }
  }

  #text(text, x, y, always) {
    const { pen } = this;
    pen.font = FONT;
    const box = this.#box(text, x, y);
    if (!always && !this.taken.isFree(box)) return;
    this.taken.add(box);
    this.#write(text, x, y);
  }

  #write(text, x, y) {
    const { pen } = this;
    pen.font = FONT;
    pen.setLineDash([]);
    pen.lineWidth = 3;
    pen.strokeStyle = "#ffffffe0";
    pen.strokeText(text, x, y);
    pen.fillStyle = "#111";
    pen.fillText(text, x, y);
  }

  #ring(at, radius) {
    if (!at) return;
    this.pen.beginPath();
    this.pen.arc(at[0], at[1], radius, 0, 7);
    this.pen.setLineDash([]);
    this.pen.strokeStyle = MARK;
    this.pen.lineWidth = 3;
    this.pen.stroke();
  }

  #line(points, colour, wide, dashes = []) {
    if (points.length < 2) return;
    const { pen } = this;
    pen.beginPath();
    pen.moveTo(...points[0]);
    for (const point of points.slice(1)) pen.lineTo(...point);
    pen.setLineDash(dashes);
    pen.strokeStyle = colour;
    pen.lineWidth = wide;
    pen.stroke();
  }

  #arrow(points, colour, wide) {
    if (points.length < 2) return;
    this.#line(points, colour, wide);
    const [[ax, ay], [bx, by]] = points.slice(-2);
    const angle = Math.atan2(by - ay, bx - ax);
    const corner = (turn) => [bx + 11 * Math.cos(angle + turn), by + 11 * Math.sin(angle + turn)];
    this.pen.beginPath();
    this.pen.moveTo(bx, by);
    this.pen.lineTo(...corner(2.6));
    this.pen.lineTo(...corner(-2.6));
    this.pen.closePath();
    this.pen.fillStyle = colour;
    this.pen.fill();
  }
}

function axesBox({ left, top, height }) {
  return [left, top + height - 2 * AXES, left + 2 * AXES, top + height];
}

function middle(points) {
  if (points.length < 2) return null;
  if (points.length > 2) return points[Math.floor(points.length / 2)];
  return [(points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2];
}

// The directions with the largest values above 0, largest first; of equal ones the first.
export function busiest(run, values, count, withHosts = true) {
  const found = [];
  for (let link = 0; link < values.length; link += 1) {
    const value = values[link];
    if (!(value > 0) || (found.length === count && value <= values[found[count - 1]])) continue;
    if (!withHosts && run.isHostLink(link)) continue;
    let at = found.length;
    while (at > 0 && values[found[at - 1]] < value) at -= 1;
    found.splice(at, 0, link);
    if (found.length > count) found.pop();
  }
  return found;
}
