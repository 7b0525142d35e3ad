// Keys, and the list of them. They act while the picture or nothing has the focus: fields get their letters.

import { element, find } from "viewer/text.js";

const LIST = [
  ["\u2190 \u2192 \u2191 \u2193", "turn the network; move it if it is flat"],
  ["Shift + arrows", "move the network"],
  ["+ -", "zoom"],
  ["0", "fit all into the picture"],
  ["n p", "choose the next or previous of the busiest ports"],
  ["o", "choose the opposite direction of the chosen port"],
  [", .", "one time step back or on"],
  ["Space", "play, or pause"],
  ["w", "whole measurement"],
  ["t", "next time with a congestion tree"],
  ["m c", "next quantity, next palette"],
  ["l h i", "names, hosts, idle links: on or off"],
  ["[ ]", "draw links from a lower or higher value on"],
  ["/", "find a switch, host or port"],
  ["Esc", "choose nothing"],
  ["?", "this list"],
];

export function keys(actions) {
  const dialog = find("keys");
  const close = element("button", { type: "button", onclick: () => dialog.close() }, "Close");
  dialog.append(element("h2", { id: "keys-title" }, "Keys"), element("dl", {}, ...LIST.flatMap(([key, text]) => [
    element("dt", {}, ...key.split(" ").flatMap((one) => [element("kbd", {}, one), " "])), element("dd", {}, text)])),
  element("p", { class: "note" }, "Mouse: drag to turn or move, wheel to zoom, click a link or a node to choose it."), close);
  find("help").addEventListener("click", () => dialog.showModal());
  actions["?"] = () => dialog.showModal();

  document.addEventListener("keydown", (event) => {
    const free = [document.body, find("picture"), null].includes(document.activeElement);
    if (!free || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const name = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
    const action = actions[name];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
