//! The fingerprint of every experiment, shortened. The same in every build: this test runs in whatever profile it is
//! built with, and the test of the Python package holds the installed module against the same file.
//!
//! `UPDATE_GOLDEN=1 cargo test --profile test-fast -p fabricsim-simulation --test all golden` writes the file anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fabricsim_engine::Prepared;
use fabricsim_simulation::{Control, Outcome, simulate};
use fabricsim_units::Time;

const HEAD: &str = "# Fingerprints of the experiments, shortened: file, overrides, packets delivered, fingerprint.\n\
                    # Written by UPDATE_GOLDEN=1 cargo test --profile test-fast -p fabricsim-simulation --test all golden\n";

/// A run that delivers fewer packets says too little.
const ENOUGH: u64 = 2000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden() -> PathBuf {
    root().join("tests/golden/fingerprints.txt")
}

/// All experiment files below `folder`, relative to the root, in order.
fn experiments(folder: &str, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root().join(folder)) else { return };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let path = format!("{folder}/{name}");
        if root().join(&path).is_dir() {
            experiments(&path, found);
        } else if std::fs::read_to_string(root().join(&path)).is_ok_and(|text| is_experiment(&name, &text)) {
            found.push(path);
        }
    }
}

/// Other TOML files hold graphs, or what is expected of results.
fn is_experiment(name: &str, text: &str) -> bool {
    let has = |table: &str| text.lines().any(|line| line.starts_with(table));
    Path::new(name).extension().is_some_and(|e| e == "toml") && has("[topology") && has("[run]")
}

fn run(path: &str, overrides: &[(String, String)]) -> Outcome {
    let file = root().join(path);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"));
    let experiment = fabricsim_spec::read(&text, path, overrides).unwrap_or_else(|e| panic!("{e}"));
    let base = file.parent().unwrap_or(Path::new("."));
    let prepared = Prepared::new(experiment, base, path).unwrap_or_else(|e| panic!("{e}"));
    simulate(&prepared, &Control::default())
}

/// An experiment in short: all its flows from the start, without warm-up and drain.
fn short(path: &str, duration: &str) -> Vec<(String, String)> {
    let mut overrides = vec![("run.warmup", "0 ns"), ("run.drain", "none"), ("run.duration", duration)];
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let experiment = fabricsim_spec::read(&text, path, &[]).unwrap_or_else(|e| panic!("{e}"));
    let late = experiment.traffic.iter().enumerate().filter(|(_, traffic)| traffic.start > Time::ZERO);
    let starts: Vec<String> = late.map(|(i, _)| format!("traffic.{i}.start")).collect();
    overrides.extend(starts.iter().map(|key| (key.as_str(), "0 ns")));
    overrides.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A line of the file: the experiment for the shortest of some times in which enough packets arrive.
fn line(path: &str) -> String {
    let mut last = None;
    for duration in ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms"] {
        let overrides = short(path, duration);
        let totals = run(path, &overrides).totals;
        last = Some((overrides, totals));
        if totals.delivered >= ENOUGH {
            break;
        }
    }
    let Some((overrides, totals)) = last else { unreachable!("there are durations") };
    let overrides: Vec<String> = overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{path}\t{}\t{}\t{:016x}\n", overrides.join(";"), totals.delivered, totals.fingerprint)
}

#[test]
fn every_experiment_has_its_fingerprint() {
    let mut all = Vec::new();
    experiments("experiments", &mut all);
    assert!(!all.is_empty(), "the experiments are part of the project");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let lines: String = all.iter().map(|path| line(path)).collect();
        std::fs::write(golden(), format!("{HEAD}{lines}")).unwrap_or_else(|e| panic!("{e}"));
    }
    let text =
        std::fs::read_to_string(golden()).unwrap_or_else(|e| panic!("tests/golden/fingerprints.txt: {e}"));
    let expected: BTreeMap<&str, Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(path, rest)| (path, rest.split('\t').collect()))
        .collect();
    assert_eq!(expected.keys().copied().collect::<Vec<_>>(), all, "run it with UPDATE_GOLDEN=1");
    let mut wrong = String::new();
    for (path, fields) in expected {
        let [overrides, delivered, fingerprint] = fields[..] else {
            panic!("{path}: not a line of this file")
        };
        let overrides = overrides.split(';').filter_map(|pair| pair.split_once('='));
        let overrides: Vec<_> = overrides.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let totals = run(path, &overrides).totals;
        let found = (totals.delivered.to_string(), format!("{:016x}", totals.fingerprint));
        if found != (delivered.to_owned(), fingerprint.to_owned()) {
            let _ =
                writeln!(wrong, "{path}: {} packets, {}, not {delivered}, {fingerprint}", found.0, found.1);
        }
    }
    assert!(wrong.is_empty(), "{wrong}If results were meant to change, run it with UPDATE_GOLDEN=1.");
}
