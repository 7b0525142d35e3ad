// The series of a port as a small chart.

import { duration, element, percent, timeUnit } from "viewer/text.js";

const LOOKS = {
  utilisation: { colour: "#0072b2", dashes: null, label: "utilisation" },
  stalled: { colour: "#d55e00", dashes: "5 3", label: "waiting for credits" },
};
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [340, 150, 40, 24, 8];

// A chart, and a legend. `choose` is called with the time of a place that is clicked.
export function chart(run, link, time, choose) {
  const { begins, end } = run.series;
  const keys = Object.keys(LOOKS).filter((key) => run.hasSeries(key));
  const histories = keys.map((key) => run.history(key, link));
  const top = Math.max(1, ...histories.flat());
  const start = begins[0];
  const x = (at) => LEFT + ((at - start) / (end - start)) * (WIDTH - LEFT - 6);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const summary = keys.map((key, i) => {
    const most = Math.max(...histories[i]);
    return `${LOOKS[key].label}: at most ${percent(most)}, at ${duration(begins[histories[i].indexOf(most)], end)}`;
  });
  const svg = element("svg", {
    class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Series of the port. ${summary.join("; ")}`,
    onclick: (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * WIDTH;
      choose(Math.min(Math.max(start + ((at - LEFT) / (WIDTH - LEFT - 6)) * (end - start), start), begins.at(-1)));
    },
  }, ...axes(x, y, top, start, end));
  keys.forEach((key, i) => svg.append(element("path", {
    d: steps(begins, end, histories[i], x, y), fill: "none", stroke: LOOKS[key].colour, "stroke-width": 1.6,
    "stroke-dasharray": LOOKS[key].dashes,
  })));
  if (time !== null) svg.append(element("line", { x1: x(time), x2: x(time), y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#111" }));
  return [svg, element("p", { class: "note" }, ...keys.flatMap((key) => [
    element("span", { class: "key", style: `border-top: 3px ${LOOKS[key].dashes ? "dashed" : "solid"} ${LOOKS[key].colour}` }),
    `${LOOKS[key].label}  `,
  ]))];
}

function axes(x, y, top, start, end) {
  const parts = [];
  for (const value of [0, 0.5, 1].map((part) => part * top)) {
    parts.push(element("line", { x1: LEFT, x2: WIDTH - 6, y1: y(value), y2: y(value), stroke: "#ddd" }));
    parts.push(element("text", { x: LEFT - 4, y: y(value) + 3, "text-anchor": "end" }, `${Math.round(100 * value)} %`));
  }
  const [size, unit] = timeUnit(end);
  for (const part of [0, 0.5, 1]) {
    const at = start + part * (end - start);
    const anchor = ["start", "middle", "end"][2 * part];
    const text = `${Number((at / size).toPrecision(3))} ${unit}`;
    parts.push(element("text", { x: x(at), y: HEIGHT - 8, "text-anchor": anchor }, text));
  }
  return parts;
}

function steps(begins, end, values, x, y) {
  return values.map((value, bin) => {
    const until = begins[bin + 1] ?? end;
    return `${bin ? "L" : "M"}${x(begins[bin]).toFixed(1)} ${y(value).toFixed(1)}L${x(until).toFixed(1)} ${y(value).toFixed(1)}`;
  }).join("");
}
