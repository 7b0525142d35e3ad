//! The catalogue of a run's results: keys of the summary as a JSON Schema, and tables.

use fabricsim_measure::{TableEntry, add_table, label};
use fabricsim_model::Table;
use fabricsim_units::Time;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::congestion::{FLOWS_ROW, TREES_ROW, Trees};
use crate::outcome::RunSummary;
use crate::{identity, mpi, nodes, packets, port_counters, programs, queue_pairs, subnet, transports};

/// Every table that a run can have, with every column.
pub fn catalogue() -> Vec<TableEntry> {
    let mut all = fabricsim_measure::catalogue();
    // The trees add columns to the table of links, after those by which they find its rows.
    let mut links = Table::new("links");
    links.text("link", "", Vec::new());
    links.whole("lane", "", "", Vec::new());
    let mut tables = vec![links];
    Trees::empty(1, 0, Time::ps(1)).report(&mut tables, &[], &|_| String::new());
    for table in &tables {
        add_table(&mut all, if table.name == "congestion_flows" { FLOWS_ROW } else { TREES_ROW }, table);
    }
    add_table(&mut all, transports::ROW, &transports::empty());
    add_table(&mut all, queue_pairs::ROW, &queue_pairs::empty());
    add_table(&mut all, programs::ROW, &programs::empty());
    add_table(&mut all, mpi::ROW, &mpi::empty());
    add_table(&mut all, subnet::ROW, &subnet::empty());
    add_table(&mut all, port_counters::ROW, &port_counters::empty());
    add_table(&mut all, packets::ROW, &packets::empty());
    add_table(&mut all, nodes::ROW, &nodes::empty());
    // The tables are known: these are further columns.
    for table in identity::empty() {
        add_table(&mut all, "", &table);
    }
    all
}

/// The JSON Schema (draft 2020-12) of the summary of a run: the output of `fabricsim run --json`, but for wall-clock times.
/// `x-unit` is the unit of a number, `title` its heading in reports.
pub fn results_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<RunSummary<'_>>()
        .to_value();
    allow_missing_numbers(&mut schema);
    add_titles(&mut schema);
    schema
}

/// Headings that follow from names.
fn add_titles(schema: &mut Value) {
    let Value::Object(parts) = schema else { return };
    if let Some(Value::Object(properties)) = parts.get_mut("properties") {
        for (key, value) in properties {
            if let Value::Object(value) = value {
                value.entry("title").or_insert_with(|| json!(label(key)));
            }
        }
    }
    if let Some(Value::Object(types)) = parts.get_mut("$defs") {
        types.values_mut().for_each(add_titles);
    }
}

/// Real numbers that a run does not have are null in JSON.
fn allow_missing_numbers(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.get("type").is_some_and(|kind| kind == "number") {
                keys.insert("type".to_owned(), json!(["number", "null"]));
            }
            keys.values_mut().for_each(allow_missing_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(allow_missing_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_the_tables_of_the_run() {
        let catalogue = catalogue();
        let table = |name: &str| catalogue.iter().find(|entry| entry.name == name).unwrap();
        for name in ["flows", "congestion_trees", "congestion_flows", "transport", "nodes"] {
            assert!(!table(name).columns.is_empty() && !table(name).row.is_empty(), "{name}");
        }
        let links = table("links");
        assert!(links.columns.iter().all(|column| !column.text.is_empty() && !column.label.is_empty()));
        let added: Vec<&str> = links.columns.iter().rev().take(2).map(|column| column.name).collect();
        assert_eq!(added, ["to_port", "to_lid"]);
    }

    /// Every key is described, and has the unit that its name promises.
    #[test]
    fn every_key_has_a_text_and_a_unit() {
        let schema = results_schema();
        let types = schema["$defs"].as_object().unwrap().iter();
        for (name, of) in types.chain([(&"the run".to_owned(), &schema)]) {
            for (key, value) in of["properties"].as_object().into_iter().flatten() {
                assert!(value["description"].is_string(), "{name}.{key} has no text");
                let nested = value["$ref"].is_string() || value["anyOf"].is_array();
                let promised = match key.rsplit('_').next() {
                    Some("ns") if !nested => "ns",
                    Some("s") => {
                        if key.ends_with("per_s") {
                            "1/s"
                        } else {
                            "s"
                        }
                    }
                    Some("gbps") => "Gb/s",
                    Some("mbps") => "Mb/s",
                    Some("cycles") => "cycles",
                    Some("share" | "load") => "fraction",
                    _ => continue,
                };
                assert_eq!(value["x-unit"], promised, "{name}.{key}");
            }
        }
    }
}
