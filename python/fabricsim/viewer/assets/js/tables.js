// The picture as tables: the busiest ports, congestion trees, facts about the runs.

import { button } from "viewer/details.js";
import { busiest } from "viewer/overlay.js";
import { duration, element, find, percent } from "viewer/text.js";

const ROWS = 12;

export function busiestTable(runs, view, state, choose) {
  state.on(["measure", "time", "chosen", "hosts"], () => {
    const box = find("busiest");
    const chosen = state.get("chosen");
    box.replaceChildren();
    view.panels.forEach(({ run, values }, number) => {
      const links = busiest(run, values, ROWS, state.get("hosts"));
      const label = run.measures.get(state.get("measure"))?.label ?? "not recorded";
      const of = runs.length > 1 ? `, ${run.folder || run.title}` : "";
      const rows = links.map((link, rank) => element("tr", {
        "aria-current": chosen?.run === number && chosen.link === link ? "true" : null,
      }, element("td", {}, String(rank + 1)),
      element("td", {}, button(run.linkName(link), () => choose({ run: number, link }))),
      element("td", { class: "number" }, percent(values[link]))));
      box.append(element("table", {}, element("caption", {}, `Busiest ports${of}`),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, ""), element("th", { scope: "col" }, "port"),
          element("th", { scope: "col", class: "number" }, label))),
        element("tbody", {}, ...rows)));
      if (!links.length) box.append(element("p", { class: "note" }, "No port has a value above 0."));
    });
  });
}

export function treeTable(runs, state, choose) {
  state.on(["time"], () => {
    const box = find("roots");
    const time = state.get("time");
    box.replaceChildren();
    runs.forEach((run, number) => {
      if (!run.trees) return;
      const of = runs.length > 1 ? `, ${run.folder || run.title}` : "";
      box.append(element("h2", {}, `Congestion trees${of}`));
      if (time === null) {
        const count = run.trees.begin.length;
        const text = count ? "Choose a time to see them: press t for the first one." : "There were none.";
        box.append(element("p", { class: "note" }, text));
        return;
      }
      const rows = run.treesAt(time).map((row) => element("tr", {},
        element("td", {}, run.trees.root[row] < 0 ? run.trees.name[row]
          : button(run.trees.name[row], () => choose({ run: number, link: run.trees.root[row] }))),
        ...["lane", "branches", "depth", "contributors", "victims"].map((key) =>
          element("td", { class: "number" }, String(run.trees[key]?.[row] ?? "-")))));
      const head = ["root", "lane", "branches", "depth", "contrib.", "victims"];
      if (!rows.length) box.append(element("p", { class: "note" }, "None at this time."));
      else {
        box.append(element("table", { class: "trees" }, element("thead", {}, element("tr", {}, ...head.map((text, i) =>
          element("th", { scope: "col", class: i ? "number" : null }, text)))), element("tbody", {}, ...rows)));
        box.append(element("p", { class: "note" }, run.hasSeries("stalled")
          ? "Dashed: outputs without credits that lead to the root within its depth. The run records the number of branches, "
            + "not their names." : "Branches are not drawn: that takes measure.link_series = true."));
      }
    });
  });
}

export function about(runs) {
  const box = find("about");
  for (const run of runs) {
    const [from, length] = run.measured;
    const facts = [
      ["folder", run.folder], ["status", run.status], ["places", run.layout],
      ["nodes", `${run.isHost.reduce((sum, one) => sum + 1 - one, 0).toLocaleString("en")} switches, `
        + `${run.isHost.reduce((sum, one) => sum + one, 0).toLocaleString("en")} hosts`],
      ["directions of links", run.linkCount.toLocaleString("en")],
      ["measurement", Number.isFinite(length) && length !== null
        ? `${duration(from ?? 0, run.end)} to ${duration((from ?? 0) + length, run.end)}` : ""],
      ["bins", run.series ? `${run.series.begins.length}${run.series.together > 1
        ? `, each ${run.series.together} of the run's` : ""}` : ""],
      ...run.overrides,
    ].filter(([, value]) => value);
    box.append(element("h2", {}, run.title), element("dl", {}, ...facts.flatMap(([name, value]) => [
      element("dt", {}, name), element("dd", {}, value)])));
    for (const [what, needs] of run.absent) box.append(element("p", { class: "note absent" }, `${what} ${needs}.`));
  }
}
