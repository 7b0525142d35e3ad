//! The experiment file's reference page, from its JSON Schema.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use serde_json::Value;

const HEAD: &str = "\
# The experiment file

An experiment is a TOML file. Quantities are texts with a unit: `\"32 Gb/s\"`, `\"40 ns\"`, `\"64 KiB\"`. A key that is
not listed here is an error. This page is generated from the types that read the file, as is the JSON Schema
`schema/experiment.schema.json`; editors complete and check with it when the file begins with
`#:schema` and the schema's path.

`fabricsim check FILE --json` prints an experiment with every default filled in.
";

/// The page, in Markdown: a section for every type, in the order in which they are reached from the experiment.
pub(crate) fn page(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    let mut queue = VecDeque::from([String::new()]);
    let mut seen = BTreeSet::new();
    while let Some(name) = queue.pop_front() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let section = if name.is_empty() { schema } else { &schema["$defs"][&name] };
        write_section(&mut page, &name, section);
        queue.extend(references(section));
    }
    page
}

fn write_section(page: &mut String, name: &str, section: &Value) {
    let title = if name.is_empty() { "Top level" } else { name };
    let _ = write!(page, "\n## {title}\n");
    if !text(section).is_empty() {
        let _ = write!(page, "\n{}\n", text(section));
    }
    if let Some(pattern) = section["pattern"].as_str() {
        let example = section["examples"][0].as_str().unwrap_or_default();
        let _ = write!(page, "\nA text such as `\"{example}\"`: `{pattern}`.\n");
    }
    write_keys(page, section);
    for key in ["oneOf", "anyOf"] {
        let variants = section[key].as_array();
        if let Some(variants) = variants.filter(|variants| !variants.is_empty()) {
            page.push('\n');
            for variant in variants {
                write_variant(page, variant);
            }
        }
    }
}

fn write_variant(page: &mut String, variant: &Value) {
    let names = variant["const"].as_str().into_iter().chain(strings(&variant["enum"]));
    let names: Vec<String> = names.map(|name| format!("`\"{name}\"`")).collect();
    let Some((tag, content)) = variant["properties"].as_object().and_then(|p| p.iter().next()) else {
        let head = if names.is_empty() { kind(variant) } else { names.join(", ") };
        let _ = writeln!(page, "- {head}: {}", text(variant));
        return;
    };
    let _ = writeln!(page, "- `{tag}` ({}): {}", kind(content), text(variant));
    let keys = content["properties"].as_object().into_iter().flatten();
    for (key, value) in keys {
        let _ = writeln!(page, "    - {}", line(key, value, content, ": "));
    }
}

fn write_keys(page: &mut String, section: &Value) {
    let Some(keys) = section["properties"].as_object().filter(|keys| !keys.is_empty()) else { return };
    page.push_str("\n| key | value | default | |\n|---|---|---|---|\n");
    for (key, value) in keys {
        let _ = writeln!(page, "| {} |", line(key, value, section, " | "));
    }
}

/// Key, type, default and meaning, joined by `separator`.
fn line(key: &str, value: &Value, section: &Value, separator: &str) -> String {
    let required = strings(&section["required"]).any(|name| name == key);
    let default = match &value["default"] {
        _ if required => "required".to_owned(),
        Value::Null | Value::Object(_) => String::new(),
        default => format!("`{default}`"),
    };
    let cells = [format!("`{key}`"), kind(value), default, text(value).replace('|', "\\|")];
    let table = separator.contains('|');
    let cells: Vec<String> = cells.into_iter().filter(|cell| table || !cell.is_empty()).collect();
    cells.join(separator)
}

/// Returns the description of a value, with links to the sections of types.
fn kind(value: &Value) -> String {
    if let Some(name) = reference(value) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let options = value["anyOf"].as_array().into_iter().flatten();
    if let Some(option) = options.filter(|option| option["type"] != "null").map(kind).next() {
        return option;
    }
    let names = strings(&value["type"]).chain(value["type"].as_str());
    match names.filter(|name| *name != "null").last() {
        Some("array") => format!("list of {}", kind(&value["items"])),
        Some("object") if value["additionalProperties"].is_object() => {
            format!("table of {}", kind(&value["additionalProperties"]))
        }
        Some("object") => "table".to_owned(),
        Some("string") => "text".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some(name) => name.to_owned(),
        None => "any value".to_owned(),
    }
}

fn text(value: &Value) -> String {
    value["description"].as_str().unwrap_or_default().replace('\n', " ").replace("[`", "`").replace("`]", "`")
}

fn reference(value: &Value) -> Option<&str> {
    value["$ref"].as_str()?.rsplit('/').next()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Names of the types that a section refers to, in order.
fn references(section: &Value) -> Vec<String> {
    let here = reference(section).map(str::to_owned).into_iter();
    let below: Vec<String> = match section {
        Value::Object(keys) => {
            keys.iter().filter(|(key, _)| *key != "$defs").flat_map(|(_, v)| references(v)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    };
    here.chain(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_key_has_its_line() {
        let schema = fabricsim_spec::json_schema();
        let page = page(&schema);
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            assert!(page.contains(&format!("\n## {name}\n")), "{name}");
            let keys = definition["properties"].as_object();
            for key in keys.into_iter().flat_map(serde_json::Map::keys) {
                assert!(page.contains(&format!("| `{key}` |")), "{name}.{key}");
            }
        }
        assert!(page.contains("| `load` | number |  | Offered load"), "{page}");
        assert!(page.contains("- `\"uniform\"`: Any destination but oneself"), "{page}");
        assert!(page.contains("- `hypercube` (table): "), "{page}");
    }
}
