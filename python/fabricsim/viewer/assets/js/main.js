// Starts the viewer: state, picture, and the parts of the page around it.

import { details } from "viewer/details.js";
import { Run, ticks } from "viewer/data.js";
import { keys } from "viewer/keys.js";
import { legend } from "viewer/legend.js";
import { busiest, Overlay } from "viewer/overlay.js";
import { PALETTES } from "viewer/palettes.js";
import { pick } from "viewer/pick.js";
import { search } from "viewer/search.js";
import { State } from "viewer/state.js";
import { about, busiestTable, treeTable } from "viewer/tables.js";
import { element, find, percent } from "viewer/text.js";
import { step, timeline } from "viewer/timeline.js";
import { View } from "viewer/view.js";

const FEW_NODES = 80; // up to which names are shown from the begin
const RANKED = 50; // ports among which n and p choose

export function start(buffers) {
  const runs = buffers.map((buffer) => new Run(buffer));
  const measures = new Map(runs.flatMap((run) => [...run.measures]).map(([key, one]) => [key, one.label]));
  const state = new State({
    measure: measures.keys().next().value, palette: "heat", time: null, playing: false, chosen: null,
    names: Math.max(...runs.map((run) => run.names.length)) <= FEW_NODES, hosts: true, idle: true, trees: true, least: 0,
  });
  const view = new View(find("picture"), find("drawing"), runs);
  const overlay = new Overlay(find("overlay"), view, state);
  view.onDraw = () => overlay.draw();
  const times = ticks(runs);
  const scales = new Map();
  const largest = (key) => {
    if (!scales.has(key)) scales.set(key, scale(runs, key));
    return scales.get(key);
  };
  const say = speaker();
  const choose = chooser(runs, view, state, say);

  find("title").textContent = [...new Set(runs.map((run) => run.title))].join(" | ");
  selects(state, measures);
  captions(runs, view);
  state.on(["palette"], () => view.setPalette(state.get("palette")));
  state.on(["measure", "time"], () => view.setValues(state.get("measure"), state.get("time"), largest(state.get("measure"))));
  const least = () => (state.get("least") / 100) * largest(state.get("measure"));
  state.on(["hosts", "idle", "least", "measure"], () => view.setShown(state.get("hosts"), state.get("idle"), least()));
  state.on(["names", "chosen", "trees", "hosts"], () => view.invalidate());
  timeline(times, runs, state);
  legend(runs, state, largest);
  details(runs, state, choose);
  busiestTable(runs, view, state, choose);
  treeTable(runs, state, choose);
  about(runs);
  search(runs, (what) => choose(what, true), say);
  summary(runs, state);
  pointer(view, overlay, state, choose, least);
  keys(actions({ runs, view, state, times, measures, choose, say }));
  find("fit").addEventListener("click", () => view.camera.fit());
  view.calibrate();
  globalThis.fabricsimViewer = { runs, state, view, overlay, frameTime: (...options) => view.frameTime(...options) };
}

// The largest value of a quantity in all runs. A busy link is a dark one in all networks: fractions of time go to 1.
function scale(runs, key) {
  const most = Math.max(...runs.map((run) => run.largest(key)), 0);
  return key === "marked" ? most || 1 : Math.max(most, 1);
}

// Speaks a sentence to screen readers.
function speaker() {
  return (text) => { find("spoken").textContent = text; };
}

function chooser(runs, view, state, say) {
  return (what, centre = false) => {
    state.set({ chosen: what });
    if (!what) return say("Nothing is chosen.");
    const { run: number, link, node } = what;
    const run = runs[number];
    const of = runs.length > 1 ? `, ${run.folder || run.title}` : "";
    if (centre) {
      const at = node ?? run.sender[link];
      view.camera.centre(run.places.subarray(3 * at, 3 * at + 3));
    }
    if (link === undefined) return say(`${run.isHost[node] ? "Host" : "Switch"} ${run.names[node]}${of}, `
      + `${run.outputs(node).length} ports.`);
    const key = state.get("measure");
    const value = run.values(key, state.get("time"))[link];
    const label = run.measures.get(key)?.label ?? key;
    return say(`Port ${run.linkName(link)}${of}: ${label} ${percent(value)}.`);
  };
}

function selects(state, measures) {
  const fill = (id, options) => {
    const select = find(id);
    select.append(...options.map(([value, text]) => element("option", { value }, text)));
    select.addEventListener("change", () => state.set({ [id]: select.value }));
    state.on([id], () => { select.value = state.get(id); });
  };
  fill("measure", [...measures]);
  fill("palette", Object.entries(PALETTES).map(([key, { label }]) => [key, label]));
  for (const id of ["names", "hosts", "idle", "trees"]) {
    find(id).addEventListener("change", () => state.set({ [id]: find(id).checked }));
    state.on([id], () => { find(id).checked = state.get(id); });
  }
  find("least").addEventListener("input", () => state.set({ least: find("least").valueAsNumber }));
  state.on(["least"], () => {
    find("least").value = state.get("least");
    find("least-text").textContent = `${state.get("least")} %`;
  });
}

// Titles of the panels.
function captions(runs, view) {
  const box = find("captions");
  const place = () => box.replaceChildren(...view.panels.map(({ run, left, top }) => element("div",
    { class: "caption", style: `left: ${left}px; top: ${top}px` },
    runs.length > 1 ? `${run.folder || run.title} ` : "", element("small", {}, run.layout))));
  new ResizeObserver(place).observe(find("picture"));
  place();
}

// The picture in a sentence, for screen readers.
function summary(runs, state) {
  state.on(["measure", "time", "chosen"], () => {
    const key = state.get("measure");
    const texts = runs.map((run) => {
      const values = run.values(key, state.get("time"));
      const [link] = busiest(run, values, 1);
      const most = link === undefined ? "no port has a value above 0"
        : `largest at ${run.linkName(link)}, ${percent(values[link])}`;
      return `${run.folder || run.title}: ${run.layout}, ${run.names.length} nodes, ${run.linkCount} ports; `
        + `${run.measures.get(key)?.label ?? key}: ${most}`;
    });
    find("summary").textContent = `${texts.join(". ")}. Press n for the busiest port, question mark for all keys. `
      + "The table of the busiest ports has the same values.";
    find("picture").setAttribute("aria-label", `Network, ${texts.join(". ")}`);
  });
}

function pointer(view, overlay, state, choose, least) {
  const [picture, tip] = [find("picture"), find("tip")];
  const at = (event) => {
    const box = picture.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const under = (event) => pick(view, ...at(event),
    { withHosts: state.get("hosts"), withIdle: state.get("idle"), least: least() });
  let down = null;
  let waiting = false;
  picture.addEventListener("pointerdown", (event) => { down = at(event); });
  picture.addEventListener("pointerup", (event) => {
    const [x, y] = at(event);
    if (down && Math.hypot(x - down[0], y - down[1]) < 4) choose(under(event));
    down = null;
  });
  const point = (what, event) => {
    const same = ["run", "link", "node"].every((key) => what?.[key] === overlay.pointed?.[key]);
    overlay.pointed = what;
    tip.hidden = !what;
    if (what) {
      const [x, y] = at(event);
      const { run, values } = view.panels[what.run];
      tip.textContent = what.link === undefined ? run.names[what.node]
        : `${run.linkName(what.link)}\n${run.measures.get(state.get("measure"))?.label ?? ""} ${percent(values[what.link])}`;
      tip.style.left = `${Math.min(x + 14, picture.clientWidth - 160)}px`;
      tip.style.top = `${y + 14}px`;
    }
    if (!same) view.invalidate();
  };
  picture.addEventListener("pointermove", (event) => {
    if (waiting || event.buttons) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; point(under(event), event); });
  });
  picture.addEventListener("pointerleave", (event) => point(null, event));
}

// Actions of keys, by name.
function actions({ runs, view, state, times, measures, choose, say }) {
  const { camera } = view;
  const toggle = (key, name) => () => {
    state.set({ [key]: !state.get(key) });
    say(`${name} ${state.get(key) ? "on" : "off"}`);
  };
  const next = (key, options, names) => () => {
    const value = options[(options.indexOf(state.get(key)) + 1) % options.length];
    state.set({ [key]: value });
    say(names(value));
  };
  const turnOrPan = (x, y) => () => (camera.flat ? camera.pan(0.1 * x, 0.1 * y) : camera.turn(0.12 * x, 0.12 * y));
  const pan = (x, y) => () => camera.pan(0.1 * x, 0.1 * y);
  const goTo = (by) => () => {
    step(by, times, state);
    if (times.length) say(find("now").textContent);
  };
  const limit = (by) => () => {
    state.set({ least: Math.min(Math.max(state.get("least") + by, 0), 95) });
    say(`only links above ${find("least-text").textContent}`);
  };
  return {
    ArrowLeft: turnOrPan(-1, 0), ArrowRight: turnOrPan(1, 0), ArrowUp: turnOrPan(0, 1), ArrowDown: turnOrPan(0, -1),
    "Shift+ArrowLeft": pan(-1, 0), "Shift+ArrowRight": pan(1, 0), "Shift+ArrowUp": pan(0, 1), "Shift+ArrowDown": pan(0, -1),
    "+": () => camera.zoom(1.25), "=": () => camera.zoom(1.25), "-": () => camera.zoom(0.8), 0: () => camera.fit(),
    n: () => rank(runs, view, state, choose, 1), p: () => rank(runs, view, state, choose, -1),
    o: () => opposite(runs, state, choose),
    ",": goTo(-1), ".": goTo(1), " ": () => times.length && state.set({ playing: !state.get("playing") }),
    w: () => { state.set({ time: null, playing: false }); say("whole measurement"); },
    t: () => nextTree(runs, state, say),
    m: next("measure", [...measures.keys()], (key) => `coloured by ${measures.get(key)}`),
    c: next("palette", Object.keys(PALETTES), (key) => `palette ${PALETTES[key].label}`),
    l: toggle("names", "names"), h: toggle("hosts", "hosts"), i: toggle("idle", "idle links"),
    "[": limit(-5), "]": limit(5), "/": () => find("search").focus(), Escape: () => choose(null),
  };
}

// Chooses the next of the busiest ports of all runs.
function rank(runs, view, state, choose, by) {
  const ports = view.panels.flatMap(({ run, values }, number) => busiest(run, values, RANKED, state.get("hosts"))
    .map((link) => ({ run: number, link, value: values[link] }))).sort((a, b) => b.value - a.value);
  if (!ports.length) return;
  const chosen = state.get("chosen");
  const at = ports.findIndex(({ run, link }) => run === chosen?.run && link === chosen.link);
  const { run, link } = ports[at < 0 ? (by > 0 ? 0 : ports.length - 1) : (at + by + ports.length) % ports.length];
  choose({ run, link });
}

function opposite(runs, state, choose) {
  const chosen = state.get("chosen");
  if (chosen?.link === undefined) return;
  const run = runs[chosen.run];
  const back = [...run.outputs(run.receiver[chosen.link])].find(
    (one) => run.receiver[one] === run.sender[chosen.link] && run.cable[one] === run.cable[chosen.link]);
  if (back !== undefined) choose({ run: chosen.run, link: back });
}

// Goes to the next sample with a congestion tree; after the last comes the first.
function nextTree(runs, state, say) {
  const begins = [...new Set(runs.flatMap((run) => run.trees?.begin ?? []))].sort((a, b) => a - b);
  if (!begins.length) return say("There are no congestion trees.");
  const time = state.get("time");
  const begin = begins.find((one) => time === null || one > time) ?? begins[0];
  state.set({ time: begin, playing: false });
  const count = runs.reduce((sum, run) => sum + run.treesAt(begin).length, 0);
  return say(`${find("now").textContent}: ${count} congestion trees`);
}
