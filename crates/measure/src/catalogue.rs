//! The catalogue of results: every table with its columns, from recorders in which everything is switched on.

use std::fmt;

use fabricsim_model::{Column, Data, Table};
use fabricsim_spec::{CongestionAlgorithm, FlowDetail, Switch};
use fabricsim_units::Time;
use serde::Serialize;

use crate::collectors::ResultTable;
use crate::{JobName, Names, Outcome, Recorder, RecorderConfig, TransportCounts, Window};

/// A table that runs may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableEntry {
    /// Name of the table.
    pub name: &'static str,
    /// Thing that has a row.
    pub row: &'static str,
    /// Columns that it may have.
    pub columns: Vec<ColumnEntry>,
}

/// A column that a table may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnEntry {
    /// Name of the column.
    pub name: &'static str,
    /// Unit of its values; empty for names and pure numbers.
    pub unit: &'static str,
    /// Kind of its values.
    pub kind: ColumnKind,
    /// Heading in reports.
    pub label: String,
    /// Description of the values, one line.
    pub text: &'static str,
}

/// Kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Real numbers.
    Real,
    /// Whole numbers.
    Whole,
    /// Names.
    Text,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Whole => "whole",
            Self::Text => "text",
        })
    }
}

impl From<&Column> for ColumnEntry {
    fn from(column: &Column) -> Self {
        let Column { name, unit, label, description, ref data } = *column;
        Self {
            name,
            unit,
            kind: match data {
                Data::Real(_) => ColumnKind::Real,
                Data::Whole(_) => ColumnKind::Whole,
                Data::Text(_) => ColumnKind::Text,
            },
            label: if label.is_empty() { crate::label(name) } else { label.to_owned() },
            text: description,
        }
    }
}

/// Every table that a recorder can have, with every column: those of all configurations together.
pub fn catalogue() -> Vec<TableEntry> {
    let mut all = Vec::new();
    for algorithm in [CongestionAlgorithm::Infiniband, CongestionAlgorithm::Dcqcn] {
        let recorder = Recorder::new(&everything())
            .with_entries(0)
            .with_jobs()
            .with_congestion(algorithm)
            .with_router_counters(&Switch::default())
            .with_transport(0, 1);
        let outcome = Outcome {
            end: Time::ZERO,
            rates: Vec::new(),
            offers: Vec::new(),
            steady: None,
            congestion_events: 0,
            transport: Some(TransportCounts::default()),
            queue_pairs: None,
        };
        let names = Names { jobs: vec![JobName::default()], ..Names::default() };
        let input = recorder.table_input(&names, &outcome);
        for ResultTable { table, row, .. } in recorder.collectors.tables(&input) {
            add_table(&mut all, row, &table);
        }
    }
    all
}

/// Adds to a catalogue the columns of `table` that it lacks; `row` is the thing that has a row.
pub fn add_table(catalogue: &mut Vec<TableEntry>, row: &'static str, table: &Table) {
    let place = catalogue.iter().position(|entry| entry.name == table.name).unwrap_or_else(|| {
        catalogue.push(TableEntry { name: table.name, row, columns: Vec::new() });
        catalogue.len() - 1
    });
    let columns = &mut catalogue[place].columns;
    for column in &table.columns {
        if columns.iter().all(|known| known.name != column.name) {
            columns.push(column.into());
        }
    }
}

/// A configuration with every table, of no hosts and ports.
fn everything() -> RecorderConfig {
    RecorderConfig {
        window: Window { from: Time::ZERO, to: Time::ps(1) },
        bin: Time::ps(1),
        end: Time::ps(1),
        batch: Time::ps(1),
        confidence: 0.95,
        hosts: 0,
        ports: 0,
        lanes: 1,
        flows: FlowDetail::Pairs,
        link_series: true,
    }
}

/// Statistics as parts of names, and as they are written before the quantity.
const STATISTICS: [(&str, &str); 7] = [
    ("mean", "mean"),
    ("min", "smallest"),
    ("max", "largest"),
    ("deviation", "deviation of"),
    ("p50", "p50"),
    ("p99", "p99"),
    ("p999", "p99.9"),
];

/// Returns the heading that follows from the name of a column or key: without its unit, a statistic first.
/// `latency_mean_ns` is "mean latency", `accepted_gbps` "accepted throughput".
pub fn label(name: &str) -> String {
    let mut words: Vec<&str> = name.split('_').collect();
    if words.len() > 1 {
        words.pop_if(|last| ["ns", "s", "mbps"].contains(last));
    }
    let statistic = |word: &str| STATISTICS.iter().find(|(part, _)| *part == word).map(|(_, text)| *text);
    let first: Vec<&str> = words.iter().filter_map(|word| statistic(word)).collect();
    let rest = words.iter().filter(|word| statistic(word).is_none());
    let rest = rest.map(|&word| if word == "gbps" { "throughput" } else { word });
    first.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn labels_follow_from_names() {
        for (name, expected) in [
            ("latency_mean_ns", "mean latency"),
            ("latency_deviation_ns", "deviation of latency"),
            ("completion_p999_ns", "p99.9 completion"),
            ("accepted_gbps", "accepted throughput"),
            ("gbps", "throughput"),
            ("gbps_per_rank", "throughput per rank"),
            ("ns", "ns"),
            ("max", "largest"),
            ("lane", "lane"),
        ] {
            assert_eq!(label(name), expected);
        }
    }

    /// The tables of all collectors, with the columns that one adds to another's table and those of each algorithm.
    #[test]
    fn the_catalogue_has_every_table_and_column() {
        let catalogue = catalogue();
        let names: Vec<&str> = catalogue.iter().map(|table| table.name).collect();
        let expected = [
            "entries",
            "flows",
            "series",
            "hosts",
            "hosts_series",
            "links",
            "link_series",
            "run_series",
            "latency",
            "hops",
            "batches",
            "congestion_series",
            "jobs",
            "messages",
            "transport_series",
            "exchanges",
            "router_ports",
            "router_dimensions",
        ];
        assert_eq!(names, expected);
        let has = |table: &str, column: &str| {
            let table = catalogue.iter().find(|entry| entry.name == table).unwrap();
            table.columns.iter().any(|entry| entry.name == column)
        };
        assert!(has("flows", "ccti_mean") && has("flows", "rate_mean_mbps") && has("links", "marked"));
        assert!(has("run_series", "throttled_hosts") && has("link_series", "stalled"));
    }

    #[test]
    fn every_column_has_a_text_and_the_unit_that_its_name_promises() {
        for table in catalogue() {
            assert!(!table.row.is_empty() && !table.columns.is_empty(), "{}", table.name);
            let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{} has a column twice", table.name);
            for column in &table.columns {
                let promised = match column.name.rsplit('_').next() {
                    Some("ns") => "ns",
                    Some("gbps") => "Gb/s",
                    Some("mbps") => "Mb/s",
                    Some("cycles") => "cycles",
                    _ => column.unit,
                };
                assert_eq!(column.unit, promised, "{}.{}", table.name, column.name);
                assert!(
                    !column.text.is_empty() && !column.label.is_empty(),
                    "{}.{}",
                    table.name,
                    column.name
                );
            }
        }
    }
}
