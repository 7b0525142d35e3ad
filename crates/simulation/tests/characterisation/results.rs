//! Results of an experiment in a form to be read and compared.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use fabricsim_engine::{Extent, Prepared};
use fabricsim_model::{Column, Data, Table};
use fabricsim_simulation::{Control, Run, describe, look_up_tables, snapshot_tables};
use fabricsim_units::Time;
use serde_json::Value;

/// Lines by their heads, each with the values of its fields: tables with their columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Results(BTreeMap<String, BTreeMap<String, String>>);

const PANIC: &str = "panic";

impl Results {
    /// The results of an experiment that panicked.
    pub(crate) fn of_panic() -> Self {
        Self(BTreeMap::from([(PANIC.to_owned(), BTreeMap::new())]))
    }

    pub(crate) fn is_of_panic(&self) -> bool {
        self.0.contains_key(PANIC)
    }

    /// The results in lines of a file.
    pub(crate) fn read(lines: &str) -> Self {
        let field = |text: &str| {
            let (name, value) = text.split_once(' ').unwrap_or((text, ""));
            (name.to_owned(), value.to_owned())
        };
        let line = |line: &str| {
            let (head, fields) = line.split_once(": ").unwrap_or((line, ""));
            (head.to_owned(), fields.split("; ").filter(|text| !text.is_empty()).map(field).collect())
        };
        Self(lines.lines().filter(|line| !line.is_empty()).map(line).collect())
    }

    fn add(&mut self, head: String, fields: impl IntoIterator<Item = (String, String)>) {
        self.0.insert(head, fields.into_iter().collect());
    }

    /// The first difference to other results, if there is any.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if other.is_of_panic() {
            return Some("it panicked".to_owned());
        }
        let empty = BTreeMap::new();
        for head in self.0.keys().chain(other.0.keys()) {
            let (Some(mine), Some(theirs)) = (self.0.get(head), other.0.get(head)) else {
                let change =
                    if self.0.contains_key(head) { "was there, is not" } else { "was not there, is" };
                return Some(format!("{head}: {change}"));
            };
            let (mine, theirs) = if mine == theirs { (&empty, &empty) } else { (mine, theirs) };
            for field in mine.keys().chain(theirs.keys()) {
                let of = |fields: &BTreeMap<String, String>| {
                    fields.get(field).map_or_else(|| "0".to_owned(), Clone::clone)
                };
                if mine.get(field) != theirs.get(field) {
                    return Some(format!("{head}: {field} was {}, is {}", of(mine), of(theirs)));
                }
            }
        }
        None
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (head, fields) in &self.0 {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
            writeln!(f, "{head}: {}", fields.join("; "))?;
        }
        Ok(())
    }
}

/// Digest of bytes (FNV-1a, folded).
#[derive(Clone, Copy)]
struct Digest(u64);

impl Digest {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn of(text: &str) -> String {
        let mut digest = Self::EMPTY;
        digest.add(text.as_bytes());
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folded = (self.0 ^ (self.0 >> 32)) as u32;
        write!(f, "{:04x}", (folded ^ (folded >> 16)) as u16)
    }
}

/// A column of numbers: the sum of whole ones, and a digest of all values to the bit. None if all are zero or missing.
///
/// Real numbers are quotients and roots of counters, rounded as IEEE 754 says, or results of `libm`: they have the same bits on
/// every machine.
fn column(column: &Column) -> Option<String> {
    let mut digest = Digest::EMPTY;
    match &column.data {
        Data::Whole(values) => {
            for value in values {
                digest.add(&value.to_le_bytes());
            }
            let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
            values.iter().any(|value| *value != 0).then(|| format!("{sum} {digest}"))
        }
        Data::Real(values) => {
            let bits = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
            for value in values {
                digest.add(&bits(*value).to_le_bytes());
            }
            values.iter().any(|value| *value != 0.0 && !value.is_nan()).then(|| digest.to_string())
        }
        Data::Text(_) => None,
    }
}

fn rows(table: &Table) -> usize {
    table.columns.first().map_or(0, |column| match &column.data {
        Data::Whole(values) => values.len(),
        Data::Real(values) => values.len(),
        Data::Text(values) => values.len(),
    })
}

/// A digest of the names of the columns, and of all texts in them.
fn names(table: &Table) -> String {
    let mut digest = Digest::EMPTY;
    for column in &table.columns {
        let texts = if let Data::Text(texts) = &column.data { texts.as_slice() } else { &[] };
        for text in std::iter::once(column.name).chain(texts.iter().map(String::as_str)) {
            digest.add(text.as_bytes());
            digest.add(&[0]);
        }
    }
    digest.to_string()
}

/// A line for each table.
fn add_tables(results: &mut Results, prefix: &str, tables: &[Table]) {
    for table in tables {
        let named = |found: &Column| Some((found.name.to_owned(), column(found)?));
        let all = ("names".to_owned(), names(table));
        let head = format!("{prefix}{} {} rows", table.name, rows(table));
        results.add(head, table.columns.iter().filter_map(named).chain([all]));
    }
}

/// A line for an object: whole numbers and truth values as they are, a digest of the rest.
fn add_object(results: &mut Results, head: &str, object: &Value, without: &[&str]) {
    let field = |(name, value): (&String, &Value)| {
        let text = value.to_string();
        let shown = if text.len() <= 8 { text } else { Digest::of(&text) };
        let is_empty = value.is_null() || ["0", "0.0", "[]", "\"\""].contains(&shown.as_str());
        (!is_empty && !without.contains(&name.as_str())).then(|| (name.clone(), shown))
    };
    let fields: Vec<_> = object.as_object().into_iter().flatten().filter_map(field).collect();
    results.add(head.to_owned(), fields);
}

/// Runs an experiment of the folder, with a snapshot at three fifths of its time.
pub(crate) fn results(folder: &Path, name: &str, partitions: &str) -> Results {
    let (base, file) = (folder.join("experiments"), format!("{name}.toml"));
    let path = base.join(&file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let overrides = [("run.allow_deadlock", "true"), ("run.partitions", partitions)];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let experiment = fabricsim_spec::read(&text, &file, &overrides).unwrap_or_else(|e| panic!("{e}"));
    let prepared = Prepared::new(experiment, &base, &file).unwrap_or_else(|e| panic!("{e}"));
    let mut results = Results::default();
    // Memory depends on the machine.
    add_object(&mut results, "description", &describe(&prepared).json(), &["memory_bytes"]);
    if let Ok(text) = look_up_tables(&prepared, &file) {
        results.add("look-up tables".to_owned(), [("text".to_owned(), Digest::of(&text))]);
    }
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    let whole = prepared.experiment.run.warmup + prepared.experiment.run.duration;
    run.advance_to(Time(whole.0 / 5 * 3), &control);
    let snapshot = run.session().snapshot(Extent::Everything);
    add_tables(&mut results, "at 3/5, ", &snapshot_tables(&snapshot, &prepared));
    // A run that is over would go on.
    if !run.is_over() {
        run.advance_to(Time::MAX, &control);
    }
    let outcome = run.finish(&control);
    add_object(&mut results, "summary", &outcome.json("", 0), &["seed", "experiment", "warnings"]);
    let all = [
        ("end", outcome.end.to_string()),
        ("fingerprint", format!("{:016x}", outcome.totals.fingerprint)),
        ("warnings", outcome.warnings.len().to_string()),
    ];
    results.add("run".to_owned(), all.map(|(name, value)| (name.to_owned(), value)));
    add_tables(&mut results, "", &outcome.tables);
    results
}
