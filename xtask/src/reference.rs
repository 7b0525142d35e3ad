//! The experiment file's reference pages, one for each section, from its JSON Schema.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use serde_json::Value;

use crate::examples::Examples;
use crate::schema::{
    alternatives, default, is_required, names, plain_type, properties, range, reference, tagged, text, unit,
};

const HEAD: &str = "\
# The experiment file

An experiment is a TOML file. Quantities are texts with a unit: `\"32 Gb/s\"`, `\"40 ns\"`, `\"64 KiB\"`. A key that is
not listed here is an error. These pages are generated from the types that read the file, as is the JSON Schema
`schema/experiment.schema.json`; editors complete and check with it when the file begins with
`#:schema` and the schema's path.

`fabricsim check FILE --json` prints an experiment with every default filled in.
";

/// Name of the type of the whole file among examples.
const WHOLE: &str = "Experiment";

/// Name of the page of the experiment itself, and of types that are texts with a unit.
const INDEX: &str = "index";

/// The pages: file name and Markdown. The experiment's keys and quantities are on the first page; each section with
/// types of its own is on a page, with the types that no earlier page has.
pub(crate) fn pages(schema: &Value) -> Vec<(String, String)> {
    let definitions = &schema["$defs"];
    let mut homes = BTreeMap::new();
    for (name, definition) in definitions.as_object().into_iter().flatten() {
        if definition.get("pattern").is_some() && definition.get("examples").is_some() {
            homes.insert(name.clone(), INDEX.to_owned());
        }
    }
    let mut sections = Vec::new();
    for (key, value) in properties(schema) {
        let types = reached(value, definitions, &homes);
        if !types.is_empty() {
            let page = key.replace('_', "-");
            homes.extend(types.iter().map(|name| (name.clone(), page.clone())));
            sections.push((key, page, types));
        }
    }
    let examples = Examples::new();
    let new = |name, text| Page { homes: &homes, examples: &examples, name, text };
    let mut index = new(INDEX, HEAD.to_owned());
    index.write_contents(schema, &sections);
    for (name, _) in homes.iter().filter(|(_, page)| *page == INDEX) {
        index.write_section(name, &definitions[name]);
    }
    let mut pages = vec![(format!("{INDEX}.md"), index.text.clone())];
    for (key, name, types) in &sections {
        let text = format!("# `{key}`\n\n[The experiment file](index.md), key `{key}`.\n");
        let mut page = new(name.as_str(), text);
        for of in types {
            page.write_section(of, &definitions[of]);
        }
        pages.push((format!("{name}.md"), page.text));
    }
    pages
}

/// Types that a value consists of, in the order in which they are reached, without those that a page has.
fn reached(value: &Value, definitions: &Value, homes: &BTreeMap<String, String>) -> Vec<String> {
    let mut queue = VecDeque::from(references(value));
    let (mut seen, mut types) = (BTreeSet::new(), Vec::new());
    while let Some(name) = queue.pop_front() {
        if !homes.contains_key(&name) && seen.insert(name.clone()) {
            queue.extend(references(&definitions[&name]));
            types.push(name);
        }
    }
    types
}

/// Names of the types that a schema refers to, in order.
fn references(schema: &Value) -> Vec<String> {
    let here = reference(schema).map(str::to_owned).into_iter();
    let below: Vec<String> = match schema {
        Value::Object(keys) => {
            keys.iter().filter(|(key, _)| *key != "$defs").flat_map(|(_, v)| references(v)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    };
    here.chain(below).collect()
}

/// A page while it is written.
struct Page<'a> {
    /// Page of each type.
    homes: &'a BTreeMap<String, String>,
    examples: &'a Examples,
    name: &'a str,
    text: String,
}

impl Page<'_> {
    fn write_contents(&mut self, schema: &Value, sections: &[(&str, String, Vec<String>)]) {
        self.text.push_str("\n## Sections\n");
        let _ = write!(self.text, "\n{}\n", text(schema));
        self.text.push_str("\n| key | value | default | example | |\n|---|---|---|---|---|\n");
        for (key, value) in properties(schema) {
            let page = sections.iter().find(|(section, ..)| *section == key);
            let shown = page.map_or(format!("`{key}`"), |(_, page, _)| format!("[`{key}`]({page}.md)"));
            let required =
                if is_required(schema, key) { "required".to_owned() } else { quoted(&default(value)) };
            let cells = [shown, self.kind(value), required, self.example(WHOLE, key, value), cell(value)];
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        }
    }

    fn write_section(&mut self, name: &str, section: &Value) {
        let _ = write!(self.text, "\n## {name}\n");
        if !text(section).is_empty() {
            let _ = write!(self.text, "\n{}\n", text(section));
        }
        if let Some(pattern) = section["pattern"].as_str() {
            let example = section["examples"][0].as_str().unwrap_or_default();
            let _ = write!(self.text, "\nA text such as `\"{example}\"`: `{pattern}`.\n");
        }
        self.write_keys(name, section);
        let mut variants = alternatives(section).peekable();
        if variants.peek().is_some() {
            self.text.push('\n');
        }
        for variant in variants {
            self.write_variant(name, variant);
        }
    }

    fn write_variant(&mut self, of: &str, variant: &Value) {
        let Some((tag, content)) = tagged(variant) else {
            let option = serde_json::json!({ "oneOf": [variant] });
            let names: Vec<String> = names(&option).iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
            let head = if names.is_empty() { self.kind(variant) } else { names.join(", ") };
            let _ = writeln!(self.text, "- {head}: {}{}", text(variant), facts(variant));
            return;
        };
        let kind = self.kind(content);
        let example = self.such_as(of, tag, content);
        let _ = writeln!(self.text, "- `{tag}` ({kind}): {}{}{example}", text(variant), facts(content));
        let own = format!("{of}.{tag}");
        for (key, value) in properties(content) {
            let kind = self.kind(value);
            let required = if is_required(content, key) { "; required" } else { "" };
            let default = Some(default(value)).filter(|default| !default.is_empty());
            let default = default.map(|default| format!("; default `{default}`")).unwrap_or_default();
            let example = self.such_as(&own, key, value);
            let line =
                format!("`{key}` ({kind}{required}{default}): {}{}{example}", text(value), facts(value));
            let _ = writeln!(self.text, "    - {line}");
        }
    }

    fn write_keys(&mut self, of: &str, section: &Value) {
        let mut keys = properties(section).peekable();
        if keys.peek().is_none() {
            return;
        }
        self.text.push_str(
            "\n| key | value | range | unit | default | example | |\n|---|---|---|---|---|---|---|\n",
        );
        for (key, value) in keys {
            let required =
                if is_required(section, key) { "required".to_owned() } else { quoted(&default(value)) };
            let cells = [
                format!("`{key}`"),
                self.kind(value),
                range(value).unwrap_or_default(),
                unit(value).unwrap_or_default().to_owned(),
                required,
                self.example(of, key, value),
                cell(value),
            ];
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        }
    }

    /// An example of a key as a cell of a table.
    fn example(&self, of: &str, key: &str, value: &Value) -> String {
        let line = self.examples.line(of, key, value).unwrap_or_default();
        quoted(&line.replace('|', "\\|"))
    }

    /// An example of a key as a sentence.
    fn such_as(&self, of: &str, key: &str, value: &Value) -> String {
        self.examples.line(of, key, value).map(|line| format!(" Example: `{line}`.")).unwrap_or_default()
    }

    /// Returns the description of a value, with links to the sections of types.
    fn kind(&self, value: &Value) -> String {
        if let Some(name) = reference(value) {
            let page = self.homes.get(name).filter(|page| *page != self.name);
            let page = page.map(|page| format!("{page}.md")).unwrap_or_default();
            return format!("[{name}]({page}#{})", name.to_lowercase());
        }
        if let Some(option) = alternatives(value).next() {
            return self.kind(option);
        }
        match plain_type(value) {
            Some("array") => format!("list of {}", self.kind(&value["items"])),
            Some("object") if value["additionalProperties"].is_object() => {
                format!("table of {}", self.kind(&value["additionalProperties"]))
            }
            Some("object") => "table".to_owned(),
            Some("string") => "text".to_owned(),
            Some("boolean") => "true or false".to_owned(),
            Some(name) => name.to_owned(),
            None => "any value".to_owned(),
        }
    }
}

/// Range and unit after a text.
fn facts(value: &Value) -> String {
    let range = range(value).map(|range| format!(" Range: {range}.")).unwrap_or_default();
    let unit = unit(value).map(|unit| format!(" Unit: {unit}.")).unwrap_or_default();
    range + &unit
}

/// The text of a value as a cell of a table.
fn cell(value: &Value) -> String {
    text(value).replace('|', "\\|")
}

fn quoted(default: &str) -> String {
    if default.is_empty() { String::new() } else { format!("`{default}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_key_has_its_line() {
        let schema = fabricsim_spec::json_schema();
        let pages = pages(&schema);
        let all: String = pages.iter().map(|(_, text)| text.as_str()).collect();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            assert_eq!(all.matches(&format!("\n## {name}\n")).count(), 1, "{name}");
            for (key, _) in properties(definition) {
                assert!(all.contains(&format!("| `{key}` |")), "{name}.{key}");
            }
        }
        assert!(
            all.contains("| `load` | number | above 0 and at most 10 |  |  | `load = 0.3` | Offered load"),
            "{all}"
        );
        assert!(
            all.contains("| `virtual_lanes` | integer | from 1 to 16 | lanes | `1` | `virtual_lanes = "),
            "{all}"
        );
        assert!(all.contains("- `\"uniform\"`: Any destination but oneself"), "{all}");
        assert!(all.contains("- `hypercube` (table): "), "{all}");
    }

    #[test]
    fn every_section_has_a_page_that_the_index_links_and_the_navigation_has() {
        let pages = pages(&fabricsim_spec::json_schema());
        let navigation =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../mkdocs.yml")).unwrap();
        assert!(pages.len() > 12 && pages.iter().any(|(name, _)| name == "congestion-control.md"));
        for (name, text) in &pages {
            assert!(navigation.contains(&format!(" reference/experiment/{name}\n")), "{name}");
            assert!(name == "index.md" || pages[0].1.contains(&format!("({name})")), "{name}");
            for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
                let page = if page.is_empty() { name } else { page };
                let (_, linked) = pages.iter().find(|(other, _)| other == page).unwrap();
                let has = |line: &str| line.strip_prefix("## ").is_some_and(|t| t.to_lowercase() == anchor);
                assert!(anchor.is_empty() || linked.lines().any(has), "{name}: {target}");
            }
        }
    }
}
