//! Every number in the tables of frozen experiments: notices a change of behaviour that no other test describes.
//!
//! The experiments were generated once, so that together they contain every choice of the generator, and each choice several times.
//! `UPDATE_GOLDEN=1 cargo test --profile test-fast -p fabricsim-simulation --test all characterisation` writes the file of results
//! anew; `CHARACTERISED=017,101` restricts the test to some experiments.

mod results;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use results::{Results, results};

const HEAD: &str = "# Results of the frozen experiments. A line has the number of rows of a table, and for each column a sum and a digest.\n\
                    # Written by UPDATE_GOLDEN=1 cargo test --profile test-fast -p fabricsim-simulation --test all characterisation\n";

/// Experiments with other results that are shown; the test then ends.
const MOST_SHOWN: usize = 10;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/characterisation")
}

/// Names of all experiments, without their ending, in order.
fn experiments() -> Vec<String> {
    let path = folder().join("experiments");
    let entries = std::fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| !name.starts_with("graph-"))
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Every eighth experiment runs in three partitions: its results are the same.
fn partitions(place: usize) -> &'static str {
    if place.is_multiple_of(8) { "3" } else { "1" }
}

/// Runs experiments in all processors. `done` returns false to end that.
fn in_parallel(names: &[(usize, String)], done: impl Fn(&str, Results) -> bool + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                while let Some((place, name)) = names.get(next.fetch_add(1, Ordering::AcqRel)) {
                    let found =
                        catch_unwind(AssertUnwindSafe(|| results(&folder(), name, partitions(*place))));
                    if !done(name, found.unwrap_or_else(|_| Results::of_panic())) {
                        next.store(names.len(), Ordering::Release);
                    }
                }
            });
        }
    });
}

fn golden() -> PathBuf {
    folder().join("results.txt")
}

/// The parts of the file: names of experiments with their results.
fn expected(text: &str) -> BTreeMap<&str, Results> {
    let parts = text.split("\n== ").skip(1);
    parts.filter_map(|part| part.split_once('\n')).map(|(name, lines)| (name, Results::read(lines))).collect()
}

#[test]
fn frozen_experiments_have_the_same_tables() {
    let all: Vec<(usize, String)> = experiments().into_iter().enumerate().collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let parts = Mutex::new(BTreeMap::new());
        in_parallel(&all, |name, found| {
            parts.lock().is_ok_and(|mut parts| parts.insert(name.to_owned(), found).is_none())
        });
        let parts = parts.into_inner().unwrap();
        assert!(parts.values().all(|found| !found.is_of_panic()), "an experiment panicked");
        let mut text = HEAD.to_owned();
        for (name, found) in &parts {
            let _ = write!(text, "\n== {name}\n{found}");
        }
        std::fs::write(golden(), text).unwrap_or_else(|e| panic!("{e}"));
    }
    let text = std::fs::read_to_string(golden()).unwrap_or_else(|e| panic!("{}: {e}", golden().display()));
    let expected = expected(&text);
    let names: Vec<&str> = all.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(expected.keys().copied().collect::<Vec<_>>(), names, "run it with UPDATE_GOLDEN=1");
    let chosen = std::env::var("CHARACTERISED").ok();
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|list| list.split(',').any(|one| one == name));
    let some: Vec<_> = all.iter().filter(|(_, name)| is_chosen(name)).cloned().collect();
    let wrong = Mutex::new(BTreeMap::new());
    in_parallel(&some, |name, found| {
        let difference = expected[name].difference(&found);
        let mut wrong = wrong.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(difference) = difference {
            wrong.insert(name.to_owned(), difference);
        }
        wrong.len() < MOST_SHOWN
    });
    let wrong = wrong.into_inner().unwrap();
    let mut shown = String::new();
    for (name, difference) in &wrong {
        let _ = writeln!(shown, "experiment {name}: {difference}");
    }
    assert!(
        wrong.is_empty(),
        "\n{shown}CONTRIBUTING.md, \"Frozen experiments\", says when to run it with UPDATE_GOLDEN=1."
    );
}

#[test]
fn a_difference_names_table_and_column() {
    let old = Results::read("flows 2 rows: packets 7 0a1b; bytes 700 ffff\nhops 1 rows: packets 7 0a1b\n");
    let new = |lines: &str| old.difference(&Results::read(lines));
    assert_eq!(new(&old.to_string()), None);
    let other = new("flows 2 rows: packets 7 0a1b; bytes 600 fffe\nhops 1 rows: packets 7 0a1b\n");
    assert_eq!(other.as_deref(), Some("flows 2 rows: bytes was 700 ffff, is 600 fffe"));
    let none = new("flows 2 rows: packets 7 0a1b; bytes 700 ffff\n");
    assert_eq!(none.as_deref(), Some("hops 1 rows: was there, is not"));
    let more =
        new("flows 2 rows: packets 7 0a1b; bytes 700 ffff; marks 1 0001\nhops 1 rows: packets 7 0a1b\n");
    assert_eq!(more.as_deref(), Some("flows 2 rows: marks was 0, is 1 0001"));
}
