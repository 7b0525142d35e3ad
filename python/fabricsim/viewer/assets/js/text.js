// Numbers, times and elements for people.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];

// The unit for times up to `longest` ns: its size and name.
export const timeUnit = (longest) => UNITS.find(([size]) => longest >= size) ?? UNITS[3];

export function duration(ns, longest = ns) {
  const [size, unit] = timeUnit(longest);
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

export const percent = (value) => (Number.isFinite(value) ? `${(100 * value).toFixed(1)} %` : "-");

export function number(value) {
  if (!Number.isFinite(value)) return "-";
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4)).toLocaleString("en");
}

// An element with attributes and children: texts, or elements. Texts are never read as HTML.
export function element(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "text", "g", "rect", "title"].includes(name);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) found.setAttribute(key, value === true ? "" : value);
  }
  found.append(...children.filter((child) => child !== null));
  return found;
}

export const find = (id) => document.getElementById(id);
