// Places for labels over the picture, so that they cover neither nodes nor symbols nor each other.

const CELL = 64; // pixels: boxes are found by the squares of a grid that they touch
const MOST_NODES = 10000; // with more of them, nodes are dots, and each frame would take long
const SMALLEST = 3; // pixels of a node that a text may not cover
const FAR = [0, 14, 28]; // pixels between a label and the place beside its mark
const [RADII, ANGLES] = [[50, 75, 100, 130, 160, 200, 250, 300], 24]; // pixels around a mark, for labels with a line to it
const BESIDE = 16; // pixels up to which a label needs no line

// Boxes [left, top, right, bottom] in pixels.
export class Boxes {
  #cells = new Map();

  add(box) {
    for (const cell of cells(box)) {
      if (!this.#cells.has(cell)) this.#cells.set(cell, []);
      this.#cells.get(cell).push(box);
    }
  }

  isFree(box) {
    return !cells(box).some((cell) => this.#cells.get(cell)?.some((other) => overlap(box, other)));
  }
}

export function overlap([l, t, r, b], [left, top, right, bottom]) {
  return l < right && r > left && t < bottom && b > top;
}

function cells([left, top, right, bottom]) {
  const found = [];
  for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x += 1) {
    for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y += 1) found.push(`${x},${y}`);
  }
  return found;
}

// The boxes of the nodes of a panel that are drawn and large enough to matter. `project` gives pixels and the depth.
export function nodeBoxes({ run, switchSize, hostSize, left, top, width, height }, project, withHosts, reference) {
  const found = [];
  if (run.names.length > MOST_NODES) return found;
  for (let node = 0; node < run.names.length; node += 1) {
    if (run.isHost[node] && !withHosts) continue;
    const at = project(run.places.subarray(3 * node, 3 * node + 3));
    if (!at) continue;
    const [x, y, depth] = at;
    // as nodes.js draws them
    const nearness = reference > 0 ? Math.min(Math.max(reference / depth, 0.4), 2) : 1;
    const half = ((run.isHost[node] ? hostSize : switchSize) * nearness) / 2;
    if (2 * half < SMALLEST || x + half < left || x - half > left + width || y + half < top || y - half > top + height) continue;
    found.push([x - half, y - half, x + half, y + half]);
  }
  return found;
}

// Left ends and baselines for a text of a width beside a mark, the nearest first.
export function besideMark([x, y], wide) {
  const near = FAR.flatMap((far) => [
    [x + 9, y - 7 - far], [x + 9, y + 14 + far], [x - 9 - wide, y - 7 - far], [x - 9 - wide, y + 14 + far],
    [x - wide / 2, y - 11 - far], [x - wide / 2, y + 18 + far],
    ...(far === 0 ? [[x + 9, y + 4], [x - 9 - wide, y + 4]] : []),
  ]);
  // in a crowd: around the mark, to the side on which the text does not lie over the line to it
  const around = RADII.flatMap((radius) => Array.from({ length: ANGLES }, (_, i) => {
    const [across, down] = [Math.cos((2 * Math.PI * i) / ANGLES), Math.sin((2 * Math.PI * i) / ANGLES)];
    return [x + radius * across - (wide * (1 - across)) / 2, y + radius * down + 4];
  }));
  return [...near, ...around];
}

// The line from a mark to the box of its label; null if the label is beside it.
export function leader([x, y], [left, top, right, bottom]) {
  const end = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom)];
  return Math.hypot(end[0] - x, end[1] - y) > BESIDE ? [[x, y], end] : null;
}
