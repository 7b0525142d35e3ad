// Search for a node or a port by a part of its name.

import { button } from "viewer/details.js";
import { element, find } from "viewer/text.js";

const MOST = 20;

export function search(runs, choose, say) {
  const [field, list] = [find("search"), find("found")];
  const show = () => {
    const found = field.value.trim() ? matches(runs, field.value.trim().toLowerCase()) : [];
    list.replaceChildren(...found.map((one) => element("li", {}, button(one.text, () => choose(one.what)))));
    if (field.value.trim()) say(found.length ? `${found.length} found` : "nothing found");
    return found;
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const [first] = show();
      if (first) choose(first.what);
    } else if (event.key === "Escape") {
      field.value = "";
      show();
      find("picture").focus();
    }
  });
}

// Nodes first, whole names before parts; ports if the text has an arrow.
export function matches(runs, text) {
  const found = [];
  runs.forEach((run, number) => {
    const of = runs.length > 1 ? ` (${run.folder || run.title})` : "";
    const add = (what, name) => {
      const lower = name.toLowerCase();
      if (lower.includes(text)) found.push({ what: { run: number, ...what }, text: name + of, whole: lower === text });
    };
    for (let node = 0; node < run.names.length && found.length < 10 * MOST; node += 1) add({ node }, run.names[node]);
    if (text.includes("-")) {
      for (let link = 0; link < run.linkCount && found.length < 20 * MOST; link += 1) add({ link }, run.linkName(link));
    }
  });
  return found.sort((a, b) => b.whole - a.whole).slice(0, MOST);
}
