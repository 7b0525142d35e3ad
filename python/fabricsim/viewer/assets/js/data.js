// A run: nodes, directions of links (each is an output port), their values, series and congestion trees.

const KINDS = { f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };
const ALIGN = 8; // as in payload.py
const BRANCH_FROM = 0.01; // part of a bin without credits from which an output counts as one that waits

export class Run {
  constructor(buffer) {
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, ALIGN, length)));
    const array = ({ at, count, kind }) => new KINDS[kind](buffer, ALIGN + length + at, count);
    Object.assign(this, {
      title: header.title,
      folder: header.folder,
      status: header.status,
      overrides: header.overrides,
      layout: header.layout,
      flat: header.flat,
      captions: header.captions,
      measured: header.measured,
      names: header.names,
      isHost: array(header.hosts),
      sender: array(header.links.sender),
      receiver: array(header.links.receiver),
      cable: array(header.links.cable),
      linkClass: array(header.links.class),
      classes: header.links.classes,
      counts: header.counts.map((one) => ({ ...one, values: array(one.values) })),
      measures: new Map(header.measures.map((one) => [one.key, { ...one, values: array(one.values) }])),
      trees: header.trees,
      absent: header.absent,
      end: header.end ?? 0,
      series: null,
    });
    if (header.series) {
      const { begins, end, together, full, values } = header.series;
      const table = (one) => ({ values: array(one.values), step: one.largest / full, largest: one.largest });
      const tables = Object.entries(values).map(([key, one]) => [key, table(one)]);
      this.series = { begins, end, together, tables: new Map(tables) };
      this.end = end;
    }
    this.linkCount = this.sender.length;
    this.#place(array(header.places), array(header.links.arcs));
    this.#neighbours();
  }

  // Places around the origin, with the farthest node at distance 1: runs side by side have one camera.
  #place(places, arcs) {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    const reach = (axis, value) => {
      if (value < low[axis]) low[axis] = value;
      if (value > high[axis]) high[axis] = value;
    };
    for (let i = 0; i < places.length; i += 1) reach(i % 3, places[i]);
    for (let i = 0; i < arcs.length; i += 1) {
      const [link, axis] = [Math.floor(i / 3), i % 3];
      if (arcs[i]) reach(axis, (places[3 * this.sender[link] + axis] + places[3 * this.receiver[link] + axis]) / 2 + arcs[i]);
    }
    for (const [, place] of this.captions) place.forEach((value, axis) => reach(axis, value));
    const centre = low.map((least, axis) => (least + high[axis]) / 2);
    this.extent = low.map((least, axis) => (high[axis] - least) / 2);
    const radius = Math.max(Math.hypot(...this.extent), 0.5);
    this.step = 1 / radius; // length of a step of the topology's coordinates
    this.extent = this.extent.map((half) => half / radius);
    this.places = places.map((value, i) => (value - centre[i % 3]) / radius);
    this.arcs = arcs.map((value) => value / radius);
    this.captions = this.captions.map(([text, place]) => [text, place.map((value, axis) => (value - centre[axis]) / radius)]);
  }

  // Directions by sender and by receiver.
  #neighbours() {
    const group = (ends) => {
      const first = new Uint32Array(this.names.length + 1);
      for (const node of ends) first[node + 1] += 1;
      for (let i = 0; i < this.names.length; i += 1) first[i + 1] += first[i];
      const next = first.slice();
      const list = new Uint32Array(ends.length);
      ends.forEach((node, link) => { list[next[node]] = link; next[node] += 1; });
      return { first, list };
    };
    const groups = { out: group(this.sender), in: group(this.receiver) };
    const of = ({ first, list }, node) => list.subarray(first[node], first[node + 1]);
    this.outputs = (node) => of(groups.out, node);
    this.inputs = (node) => of(groups.in, node);
  }

  linkName(link) {
    const cable = this.cable[link] ? ` #${this.cable[link]}` : "";
    return `${this.names[this.sender[link]]}->${this.names[this.receiver[link]]}${cable}`;
  }

  // The node or direction with the same names as one of another run; null if there is none.
  same(other, { node, link }) {
    this.numbers ??= new Map(this.names.map((name, number) => [name, number]));
    const number = (one) => this.numbers.get(other.names[one]);
    if (link === undefined) return number(node) === undefined ? null : { node: number(node) };
    const [from, to] = [number(other.sender[link]), number(other.receiver[link])];
    if (from === undefined || to === undefined) return null;
    const found = this.outputs(from).find((one) => this.receiver[one] === to && this.cable[one] === other.cable[link]);
    return found === undefined ? null : { link: found };
  }

  className(link) {
    return this.classes[this.linkClass[link]];
  }

  isHostLink(link) {
    return this.isHost[this.sender[link]] || this.isHost[this.receiver[link]];
  }

  // Points of a direction in space: its ends, and between them those of its arc.
  path(link, most = 10) {
    const [a, b] = [3 * this.sender[link], 3 * this.receiver[link]];
    const arc = 3 * link;
    const bent = this.arcs[arc] || this.arcs[arc + 1] || this.arcs[arc + 2];
    const count = bent ? most : 1;
    const points = [];
    for (let i = 0; i <= count; i += 1) {
      const t = (1 - Math.cos((Math.PI * i) / count)) / 2; // an arc is bent most at its ends
      const height = Math.sqrt(Math.max(0, 1 - (2 * t - 1) ** 4));
      points.push([0, 1, 2].map((axis) =>
        this.places[a + axis] + t * (this.places[b + axis] - this.places[a + axis]) + height * this.arcs[arc + axis]));
    }
    return points;
  }

  // Number of the bin with a time, -1 outside of the series.
  bin(time) {
    if (!this.series || time === null || time < this.series.begins[0] || time >= this.series.end) return -1;
    let [low, high] = [0, this.series.begins.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.series.begins[middle] <= time) low = middle; else high = middle - 1;
    }
    return low;
  }

  // True if a quantity has values over time.
  hasSeries(key) {
    return this.series !== null && this.series.tables.has(key);
  }

  // Values of all directions: of the measurement if `time` is null or the quantity has no series. Those of the last time are kept.
  values(key, time) {
    if (time === null || !this.hasSeries(key)) {
      return this.measures.get(key)?.values ?? (this.none ??= new Float32Array(this.linkCount).fill(NaN));
    }
    if (this.kept?.time !== time) this.kept = { time, values: new Map(), branches: new Map() };
    if (!this.kept.values.has(key)) this.kept.values.set(key, this.#valuesAt(key, time));
    return this.kept.values.get(key);
  }

  #valuesAt(key, time) {
    const { values, step } = this.series.tables.get(key);
    const found = new Float32Array(this.linkCount);
    const bin = this.bin(time);
    if (bin < 0) return found;
    const from = bin * this.linkCount;
    for (let i = 0; i < found.length; i += 1) found[i] = values[from + i] * step;
    return found;
  }

  // Values of one direction over time.
  history(key, link) {
    const { values, step } = this.series.tables.get(key);
    return this.series.begins.map((_, bin) => values[bin * this.linkCount + link] * step);
  }

  // Largest value of a quantity, in the measurement and over time.
  largest(key) {
    let most = 0;
    for (const value of this.measures.get(key)?.values ?? []) if (value > most) most = value;
    return this.hasSeries(key) ? Math.max(most, this.series.tables.get(key).largest) : most;
  }

  // Congestion trees of the sample at a time.
  treesAt(time) {
    if (!this.trees || time === null) return [];
    const found = [];
    this.trees.begin.forEach((begin, row) => { if (begin <= time && time < this.trees.end[row]) found.push(row); });
    return found;
  }

  // Outputs that a tree may have as branches: they had no credits, and lead to the root over at most `depth` links. The run
  // records the number of branches, not their names.
  branches(row, time) {
    const stalled = this.values("stalled", time);
    const kept = this.hasSeries("stalled") ? this.kept.branches : new Map();
    if (!kept.has(row)) kept.set(row, this.#branches(row, stalled));
    return kept.get(row);
  }

  #branches(row, stalled) {
    const root = this.trees.root[row];
    if (root < 0 || !this.hasSeries("stalled")) return [];
    const branch = this.measures.get("branch")?.values;
    const found = new Set();
    let front = [this.sender[root]];
    for (let depth = this.trees.depth?.[row] ?? 0; depth > 0 && front.length; depth -= 1) {
      const next = [];
      for (const node of front) {
        for (const link of this.inputs(node)) {
          const waits = stalled[link] >= BRANCH_FROM && (!branch || !(branch[link] === 0));
          if (waits && !found.has(link) && link !== root) {
            found.add(link);
            next.push(this.sender[link]);
          }
        }
      }
      front = next;
    }
    return [...found];
  }
}

// All times at which a picture changes: begins of bins, and samples of congestion trees where no run has bins.
export function ticks(runs) {
  const times = new Set(runs.flatMap((run) => run.series?.begins ?? []));
  if (!times.size) for (const run of runs) for (const begin of run.trees?.begin ?? []) times.add(begin);
  return [...times].sort((a, b) => a - b);
}
