// The scale of colours, with its unit.

import { gradient, PALETTES } from "viewer/palettes.js";
import { element, find, percent } from "viewer/text.js";

export function legend(runs, state, largest) {
  state.on(["measure", "palette", "time"], () => {
    const key = state.get("measure");
    const measure = runs.map((run) => run.measures.get(key)).find(Boolean);
    const top = largest(key);
    const fixed = state.get("time") !== null && !runs.some((run) => run.hasSeries(key));
    const note = fixed ? "; has no series: the whole measurement is shown" : "";
    find("legend").replaceChildren(
      element("span", {}, `${measure?.label ?? key}: ${measure?.text ?? "not recorded"}${note}`),
      element("span", { class: "bar-box", "aria-hidden": "true" },
        element("div", { class: "bar", style: `background: ${gradient(state.get("palette"))}` }),
        element("div", { class: "ticks" }, ...[0, 0.5, 1].map((part) => element("span", {}, percent(part * top))))),
      element("span", { "aria-hidden": "true" }, element("span", { class: "idle" }), " idle"),
    );
    find("legend").setAttribute("aria-label",
      `Scale: ${measure?.label ?? key}, 0 % to ${percent(top)}, palette ${PALETTES[state.get("palette")].label}${note}`);
  });
}
