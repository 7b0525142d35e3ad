// The chosen port, switch or host: numbers and series.

import { chart } from "viewer/chart.js";
import { element, find, number, percent } from "viewer/text.js";

export function details(runs, state, choose) {
  state.on(["chosen", "time", "measure"], () => {
    const chosen = state.get("chosen");
    const box = find("chosen");
    box.replaceChildren();
    if (!chosen) {
      box.append(element("h2", {}, "Chosen port"),
        element("p", { class: "note" }, "None. Click a link or a node, or press n for the busiest port."));
      return;
    }
    const run = runs[chosen.run];
    const of = runs.length > 1 ? ` (${run.folder || run.title})` : "";
    if (chosen.link === undefined) nodeDetails(box, run, chosen, of, state, choose);
    else linkDetails(box, run, chosen, of, state, choose);
    runs.forEach((other, number) => {
      const same = number === chosen.run ? null : other.same(run, chosen);
      if (same?.link !== undefined) sameLink(box, other, same.link, state);
    });
  });
}

// The same port in another run: its values and series.
function sameLink(box, run, link, state) {
  box.append(element("h2", {}, `The same in ${run.folder || run.title}`), values(run, link, state.get("time")));
  if (run.series) box.append(...chart(run, link, state.get("time"), (at) => state.set({ time: at, playing: false })));
}

// Quantities of a port, in the measurement and now, beside each other.
function values(run, link, time) {
  const rows = [...run.measures].map(([key, measure]) => element("tr", {}, element("th", { scope: "row" }, measure.label),
    element("td", { class: "number" }, percent(measure.values[link])),
    element("td", { class: "number" }, time !== null && run.hasSeries(key) ? percent(run.values(key, time)[link]) : "")));
  return element("table", { class: "values" }, element("thead", {}, element("tr", {}, element("td", {}),
    element("th", { scope: "col", class: "number" }, "measurement"),
    element("th", { scope: "col", class: "number" }, time === null ? "" : "now"))), element("tbody", {}, ...rows));
}

function linkDetails(box, run, { run: number_, link }, of, state, choose) {
  const time = state.get("time");
  box.append(element("h2", {}, `Port ${run.linkName(link)}${of}`));
  box.append(values(run, link, time));
  const facts = [["kind of link", run.className(link)]];
  for (const { label, unit, values } of run.counts) facts.push([label, `${number(values[link])} ${unit}`.trim()]);
  box.append(list(facts));
  if (run.series) box.append(...chart(run, link, time, (at) => state.set({ time: at, playing: false })));
  const back = [...run.outputs(run.receiver[link])].find(
    (one) => run.receiver[one] === run.sender[link] && run.cable[one] === run.cable[link]);
  const buttons = element("p", { class: "note" });
  if (back !== undefined) buttons.append(button("opposite direction", () => choose({ run: number_, link: back })), "  ");
  buttons.append(button(run.names[run.sender[link]], () => choose({ run: number_, node: run.sender[link] })), "  ",
    button(run.names[run.receiver[link]], () => choose({ run: number_, node: run.receiver[link] })));
  box.append(buttons);
}

function nodeDetails(box, run, { run: number_, node }, of, state, choose) {
  const values = run.values(state.get("measure"), state.get("time"));
  const label = run.measures.get(state.get("measure"))?.label ?? state.get("measure");
  box.append(element("h2", {}, `${run.isHost[node] ? "Host" : "Switch"} ${run.names[node]}${of}`));
  const links = [...run.outputs(node), ...run.inputs(node)];
  const rows = links.slice(0, 128).map((link) => element("tr", {},
    element("td", {}, button(run.linkName(link), () => choose({ run: number_, link }))),
    element("td", { class: "number" }, percent(values[link]))));
  box.append(element("table", {}, element("caption", {}, `Its ports, and those that lead to it: ${links.length}`),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "port"),
      element("th", { scope: "col", class: "number" }, label))),
    element("tbody", {}, ...rows)));
}

const list = (facts) => element("dl", {}, ...facts.flatMap(([name, value]) => [
  element("dt", {}, name), element("dd", {}, value)]));

export const button = (text, onclick) => element("button", { type: "button", onclick }, text);
