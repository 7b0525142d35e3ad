//! Files about results: the JSON Schema of the summary, the reference page, and the catalogue that Python reads.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const HEAD: &str = "\
# Results

All keys of a run's summary and all tables that a run may have, with units. This page is generated from the code that
collects them, as are the JSON Schema of the summary, `schema/results.schema.json`, and the catalogue from which commands and
reports take names and units. [The guide](../guide/results.md) explains folders, files and terms.

";

const SUMMARY: &str = "\
## The summary

The `summary` of `manifest.json`, and the output of `fabricsim run --json`. A number that a run does not have is `null`. Of the
parts of a name, `[]` stands for the entries of a list, and `*` for any name. In `Result.summary`, sweeps and
objectives a key is its dotted name: `latency_ns.mean`.
";

/// A key of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    /// Dotted name.
    name: String,
    unit: String,
    kind: String,
    /// Heading in reports.
    label: String,
    text: String,
}

/// Schema and tables, from an example of the crate that assembles results. Other chores need not compile it.
pub(crate) fn source(root: &Path) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = ["run", "--quiet", "--profile", "test-fast", "--package", "fabricsim-simulation"];
    let mut command = Command::new(cargo);
    command.current_dir(root).args(run).args(["--example", "results_catalogue"]).stderr(Stdio::inherit());
    let done = command.output().map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !done.status.success() {
        return Err(format!("the example results_catalogue failed: {}", done.status));
    }
    serde_json::from_slice(&done.stdout).map_err(|error| format!("results_catalogue: {error}"))
}

/// The generated files below `root`.
pub(crate) fn files(root: &Path, source: &Value) -> Vec<(PathBuf, String)> {
    let (schema, tables) = (&source["schema"], &source["tables"]);
    let keys = keys(schema);
    vec![
        (root.join("schema/results.schema.json"), format!("{schema:#}\n")),
        (root.join("docs/reference/results.md"), page(&keys, tables)),
        (root.join("python/fabricsim/catalogue.json"), format!("{:#}\n", catalogue(&keys, tables))),
    ]
}

fn catalogue(keys: &[Key], tables: &Value) -> Value {
    let key = |Key { name, unit, kind, label, text }: &Key| json!({ "name": name, "unit": unit, "kind": kind, "label": label, "text": text });
    json!({ "summary": keys.iter().map(key).collect::<Vec<_>>(), "tables": tables })
}

fn page(keys: &[Key], tables: &Value) -> String {
    let mut page = format!("{HEAD}{SUMMARY}");
    let mut groups: Vec<&str> = keys.iter().map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    for of in groups {
        if !of.is_empty() {
            let _ = write!(page, "\n### `{of}`\n");
        }
        page.push_str("\n| key | unit | values | |\n|---|---|---|---|\n");
        for Key { name, unit, kind, text, .. } in keys.iter().filter(|key| group(key) == of) {
            let _ = writeln!(page, "| `{name}` | {unit} | {kind} | {} |", cell(text));
        }
    }
    page.push_str("\n## Tables\n\nA run has those of its collectors, and of their columns those that its experiment brings.\n");
    for table in tables.as_array().into_iter().flatten() {
        let _ = write!(
            page,
            "\n### Table `{}`\n\nA row for each {}.\n\n",
            text(table, "name"),
            text(table, "row")
        );
        page.push_str("| column | unit | values | |\n|---|---|---|---|\n");
        for column in table["columns"].as_array().into_iter().flatten() {
            let [name, unit, kind, what] = ["name", "unit", "kind", "text"].map(|key| text(column, key));
            if name == "flow" {
                // The engine's tables have the flow in a text; those of a run folder have its ends.
                for end in ["source", "destination"] {
                    let _ = writeln!(page, "| `{end}` | {unit} | {kind} | {end} of the flow |");
                }
                continue;
            }
            let _ = writeln!(page, "| `{name}` | {unit} | {kind} | {} |", cell(what));
        }
    }
    page
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Section of a key on the page; empty on the top level. Distributions stand there.
fn group(key: &Key) -> &str {
    match key.name.split_once('.') {
        Some((first, _)) if !is_statistic(&key.name) || key.name.matches('.').count() > 1 => first,
        _ => "",
    }
}

fn is_statistic(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|last| ["mean", "min", "p50", "p99", "p999", "max"].contains(&last))
}

/// All keys of the summary by dotted name.
fn keys(schema: &Value) -> Vec<Key> {
    let mut keys = Vec::new();
    collect(schema, schema, "", &mut keys);
    keys
}

/// Adds the keys of an object, whose names begin with `prefix`.
fn collect(schema: &Value, object: &Value, prefix: &str, keys: &mut Vec<Key>) {
    for (key, value) in object["properties"].as_object().into_iter().flatten() {
        let target = resolved(schema, value);
        let name = format!("{prefix}{key}");
        if let Some(entries) = target["items"].as_object() {
            let entry = resolved(schema, &target["items"]);
            if entry["properties"].is_object() {
                collect(schema, entry, &format!("{name}[]."), keys);
            } else {
                keys.push(described(name, value, &format!("list of {}", kind(&json!(entries)))));
            }
        } else if target["additionalProperties"].is_object() {
            let entry = resolved(schema, &target["additionalProperties"]);
            collect(schema, entry, &format!("{name}.*."), keys);
        } else if target["properties"].is_object() {
            let first = keys.len();
            collect(schema, target, &format!("{name}."), keys);
            if is_distribution(target) {
                let whole = described(name, value, "");
                keys[first..].iter_mut().for_each(|statistic| refine(statistic, &whole));
            }
        } else {
            keys.push(described(name, value, &kind(target)));
        }
    }
}

fn is_distribution(object: &Value) -> bool {
    ["mean", "max"].iter().all(|statistic| object["properties"][statistic].is_object())
}

/// Says of a statistic which quantity it is of.
fn refine(statistic: &mut Key, whole: &Key) {
    statistic.label = format!("{} {}", statistic.label, whole.label);
    let mut text = statistic.text.chars();
    let begin = text.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
    statistic.text = format!("{}: {begin}{}", whole.text, text.as_str());
}

fn described(name: String, value: &Value, kind: &str) -> Key {
    let description = text(value, "description").replace('\n', " ");
    Key {
        name,
        unit: text(value, "x-unit").to_owned(),
        kind: kind.to_owned(),
        label: text(value, "title").to_owned(),
        text: description.replace("[`", "`").replace("`]", "`").trim_end_matches('.').to_owned(),
    }
}

/// The type that a value refers to, also if it may be missing.
fn resolved<'a>(schema: &'a Value, value: &'a Value) -> &'a Value {
    let options = value["anyOf"].as_array().into_iter().flatten();
    let option = options.into_iter().find(|option| option["type"] != "null").unwrap_or(value);
    match option["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => &schema["$defs"][name],
        None => option,
    }
}

/// Kind of a scalar, in the words of tables.
fn kind(value: &Value) -> String {
    let names = value["type"].as_array().into_iter().flatten().chain([&value["type"]]);
    match names.filter_map(Value::as_str).find(|name| *name != "null") {
        Some("number") => "real",
        Some("integer") => "whole",
        Some("boolean") => "true or false",
        _ => "text",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all() -> Value {
        let tables = fabricsim_simulation::catalogue();
        json!({ "schema": fabricsim_simulation::results_schema(), "tables": tables })
    }

    fn found(name: &str) -> Key {
        let keys = keys(&all()["schema"]);
        keys.into_iter().find(|key| key.name == name).unwrap_or_else(|| panic!("no key {name}"))
    }

    fn key(name: &str, unit: &str, kind: &str, label: &str, text: &str) -> Key {
        let [name, unit, kind, label, text] = [name, unit, kind, label, text].map(str::to_owned);
        Key { name, unit, kind, label, text }
    }

    #[test]
    fn keys_have_dotted_names_units_labels_and_texts() {
        for expected in [
            key(
                "latency_ns.p999",
                "ns",
                "real",
                "p99.9 latency",
                "From creation to delivery: 999 of 1000 are not larger",
            ),
            key(
                "accepted_load",
                "fraction",
                "real",
                "accepted load",
                "Load that was delivered within the window, as a fraction of the link rates of the hosts that offered messages",
            ),
            key(
                "jobs[].iteration_ns.max",
                "ns",
                "real",
                "longest iteration",
                "Time of an iteration, from the first rank's begin to the last one's end: largest",
            ),
            key(
                "routers.*.queueing_cycles",
                "cycles",
                "real",
                "queueing delay",
                "Q: mean time that packets waited for the ports, beyond the delay of a switch",
            ),
            key(
                "saturated",
                "",
                "true or false",
                "saturated",
                "True if less than 98 % of the offered load is accepted",
            ),
            key("warnings", "", "list of text", "warnings", "Warnings about the results"),
            key("status", "", "text", "status", "Status at the end of the run"),
        ] {
            assert_eq!(found(&expected.name), expected);
        }
    }

    #[test]
    fn every_key_has_one_entry_with_label_and_text() {
        let keys = keys(&all()["schema"]);
        let names: BTreeSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names.len(), keys.len());
        for key in &keys {
            assert!(!key.text.is_empty() && !key.label.is_empty() && !key.kind.is_empty(), "{key:?}");
        }
    }

    #[test]
    fn the_committed_files_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (path, content) in files(&root, &all()) {
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == content, "{} is stale: cargo run -p xtask -- generate", path.display());
        }
    }

    #[test]
    fn the_page_has_a_row_for_every_key_and_column() {
        let [_, (_, page), _] = <[_; 3]>::try_from(files(Path::new("."), &all())).unwrap();
        for name in keys(&all()["schema"]).iter().map(|key| &key.name) {
            assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
        }
        for table in fabricsim_simulation::catalogue() {
            let begin = page.find(&format!("\n### Table `{}`\n", table.name)).unwrap();
            let section = &page[begin..];
            for column in &table.columns {
                let names =
                    if column.name == "flow" { vec!["source", "destination"] } else { vec![column.name] };
                for name in names {
                    assert!(section.contains(&format!("| `{name}` | {} |", column.unit)), "{name}");
                }
            }
        }
    }
}
