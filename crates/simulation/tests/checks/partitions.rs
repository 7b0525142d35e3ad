//! Runs in several numbers of partitions, compared table by table and row by row.

use fabricsim_model::Table;
use fabricsim_simulation::Outcome;

use super::tables::{cell, equal, rows};
use super::{Failure, ensure};

/// Differences between a run in one partition and one in several: the first difference of each table, and of the rest.
pub fn same(alone: &Outcome, other: &Outcome, partitions: &str) -> Vec<Failure> {
    let fail =
        |check, message: String| Failure { check, message: format!("in {partitions} partitions: {message}") };
    let mut found = Vec::new();
    let mut compare = |what: &str, a: String, b: String| {
        if a != b {
            found.push(fail("partitions", format!("{what}: {a} and {b}")));
        }
    };
    let pair = |value: fn(&Outcome) -> String| (value(alone), value(other));
    for (what, value) in VALUES {
        let (a, b) = pair(*value);
        compare(what, a, b);
    }
    let (a, b) = pair(|outcome| format!("{:?}", outcome.summary));
    if let Some((a, b)) = first_difference(&a, &b) {
        compare("summary", a, b);
    }
    let names = |outcome: &Outcome| outcome.tables.iter().map(|table| table.name).collect::<Vec<_>>();
    compare("tables", format!("{:?}", names(alone)), format!("{:?}", names(other)));
    let tables = alone.tables.iter().zip(&other.tables);
    found.extend(tables.filter_map(|(a, b)| table(a, b)).map(|message| fail("partitions", message)));
    found
}

type Value = (&'static str, fn(&Outcome) -> String);

const VALUES: &[Value] = &[
    ("fingerprint", |outcome| format!("{:016x}", outcome.totals.fingerprint)),
    ("status", |outcome| format!("{:?}", outcome.status)),
    ("end", |outcome| outcome.end.to_string()),
    ("totals", |outcome| format!("{:?}", outcome.totals)),
    ("invariants", |outcome| format!("{:?}", outcome.invariants)),
    ("defect", |outcome| outcome.defect.clone()),
    ("deadlock", |outcome| format!("{:?}", outcome.deadlock)),
    ("silent hosts", |outcome| outcome.silent_hosts.to_string()),
];

/// The first fields that differ.
fn first_difference(a: &str, b: &str) -> Option<(String, String)> {
    let fields = a.split(", ").zip(b.split(", "));
    let differing = fields.into_iter().find(|(a, b)| a != b);
    differing
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .or_else(|| (a != b).then(|| (a.to_owned(), b.to_owned())))
}

/// The first row that differs.
fn table(a: &Table, b: &Table) -> Option<String> {
    if a.name != b.name || a.columns.len() != b.columns.len() {
        return Some(format!(
            "table {}: {} columns, and {} {}",
            a.name,
            a.columns.len(),
            b.name,
            b.columns.len()
        ));
    }
    // Cells are written only where something differs: most of the time of these tests would go into that.
    if a.columns.iter().zip(&b.columns).all(|(a, b)| a.name == b.name && equal(&a.data, &b.data)) {
        return None;
    }
    let count = |table: &Table| table.columns.first().map_or(0, |column| rows(&column.data));
    for row in 0..count(a).max(count(b)) {
        for (mine, theirs) in a.columns.iter().zip(&b.columns) {
            let (x, y) = (cell(&mine.data, row), cell(&theirs.data, row));
            if x != y || mine.name != theirs.name {
                return Some(format!("table {}, row {row}, column {}: {x} and {y}", a.name, mine.name));
            }
        }
    }
    Some(format!("table {}: columns of other kinds", a.name))
}

/// Checks that recording does not change the run.
pub fn unobserved(alone: &Outcome, other: &Outcome) -> Result<(), Failure> {
    ensure("observing changes nothing", alone.totals == other.totals, || {
        format!("{:?} with `[measure]`, {:?} without", alone.totals, other.totals)
    })
}
