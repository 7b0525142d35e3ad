//! All fuzz targets on the seeds and on random changes of the seeds, with a stable compiler.
//!
//! `PROPTEST_CASES=200000 cargo test --profile test-fast -p fabricsim-fuzz` tries more.

mod edits;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use edits::{Dictionary, apply, edits, extremes};
use fabricsim_fuzz::TARGETS;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// Changed seeds for each case of other property tests: a reader takes microseconds.
const CASES: u32 = 16;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Names of the files in a folder, without `ending`.
fn names(of: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(of).expect("there is such a folder");
    let names = entries.map(|entry| entry.expect("it can be read").file_name().into_string().expect("ASCII"));
    names.map(|name| name.strip_suffix(ending).unwrap_or(&name).to_owned()).collect()
}

/// The seeds of a target, with their names.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let of = folder("seeds").join(target);
    let read = |name: String| {
        let bytes = fs::read(of.join(&name)).expect("it can be read");
        (name, bytes)
    };
    names(&of, "").into_iter().map(read).collect()
}

#[test]
fn every_target_has_seeds_and_a_program() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder("seeds"), ""), targets);
    assert_eq!(names(&folder("fuzz_targets"), ".rs"), targets);
    let manifest = fs::read_to_string(folder("Cargo.toml")).expect("it can be read");
    for target in &targets {
        let program = format!("[[bin]]\nname = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"");
        assert!(manifest.contains(&program), "{target}");
        let source =
            fs::read_to_string(folder("fuzz_targets").join(format!("{target}.rs"))).expect("it is there");
        assert!(source.contains(&format!("fabricsim_fuzz::{target}(bytes);")), "{source}");
    }
}

#[test]
fn seeds_are_accepted() {
    for (target, run) in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty());
        for (name, bytes) in seeds {
            assert!(run(&bytes), "{target}/{name}");
        }
    }
}

#[test]
fn every_topology_has_a_seed() {
    let schema = fabricsim_spec::json_schema();
    let kinds = schema["$defs"]["Topology"]["oneOf"].as_array().expect("a choice of kinds");
    let kinds = kinds.iter().flat_map(|kind| kind["properties"].as_object().expect("a table").keys());
    let mut kinds: BTreeSet<String> = kinds.cloned().collect();
    assert!(kinds.len() >= 13 && kinds.contains("dragonfly"), "{kinds:?}");
    for (name, bytes) in seeds("experiment") {
        let text = String::from_utf8(bytes).expect("UTF-8");
        let experiment = fabricsim_spec::read(&text, &name, &[]).expect("it is right");
        let topology = serde_json::to_value(&experiment.topology).expect("it can be written");
        for kind in topology.as_object().expect("a table").keys() {
            kinds.remove(kind);
        }
    }
    assert!(kinds.is_empty(), "no seed in fuzz/seeds/experiment has {kinds:?}");
}

/// Every number of every seed, one at a time, is the least and the largest of each width: no chance is needed for these.
#[test]
fn every_number_at_its_extremes() {
    let mut panics = Vec::new();
    for (target, run) in TARGETS {
        let mut count = 0;
        for (name, seed) in seeds(target) {
            for bytes in extremes(&seed) {
                count += 1;
                let ran = catch_unwind(AssertUnwindSafe(|| run(&bytes)));
                if ran.is_err() {
                    panics.push(format!("{target}/{name} panics on {:?}", String::from_utf8_lossy(&bytes)));
                }
            }
        }
        println!("{target}: {count} numbers");
        assert!(count > 0, "no seed of {target} has a number");
    }
    assert!(panics.is_empty(), "{}", panics.join("\n"));
}

/// Changes seeds of a target at random. Some of the results must be accepted and some refused.
fn change(target: &str) {
    let (_, run) = TARGETS.into_iter().find(|(name, _)| *name == target).expect("there is such a target");
    let seeds: Vec<Vec<u8>> = seeds(target).into_iter().map(|(_, bytes)| bytes).collect();
    let dictionary = Dictionary::of(&seeds);
    let config =
        Config { cases: CASES * Config::default().cases, failure_persistence: None, ..Config::default() };
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let strategy = (0..seeds.len(), edits());
    let ran = TestRunner::new(config).run(&strategy, |(seed, edits)| {
        let bytes = apply(&seeds[seed], &edits, &dictionary);
        let count = match catch_unwind(AssertUnwindSafe(|| run(&bytes))) {
            Ok(true) => &accepted,
            Ok(false) => &refused,
            Err(_) => {
                let text = String::from_utf8_lossy(&bytes);
                return Err(TestCaseError::fail(format!("{target} panics on {text:?}")));
            }
        };
        count.set(count.get() + 1);
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    println!("{target}: {} accepted, {} refused", accepted.get(), refused.get());
    assert!(
        accepted.get() > 0 && refused.get() > 0,
        "{} accepted, {} refused",
        accepted.get(),
        refused.get()
    );
}

macro_rules! changed {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            change(stringify!($name));
        })*
        #[test]
        fn all_targets_are_changed() {
            assert_eq!([$(stringify!($name)),*], TARGETS.map(|(name, _)| name));
        }
    };
}

changed!(
    experiment,
    overrides,
    graph_toml,
    graph_ned,
    graph_anynet,
    graph_csv,
    graph_graphml,
    fdbs,
    quantities,
    wire,
    mpi_header,
    subnet,
    subnet_tables,
    subnet_sl2vl,
    subnet_path_sls,
    subnet_torus,
    trace_goal,
    trace_ti,
    trace_chakra,
    trace_dumpi
);

#[test]
fn each_number_is_replaced_where_it_stands() {
    let found: BTreeSet<Vec<u8>> = extremes(b"a1 = [23]\n").collect();
    assert_eq!(found.len(), 18, "two numbers at nine bounds");
    for expected in ["a65535 = [23]\n", "a1 = [18446744073709551615]\n", "a1 = [-1]\n", "a0 = [23]\n"] {
        assert!(found.contains(expected.as_bytes()), "{expected}");
    }
    assert_eq!(extremes(b"7").count(), 9, "also at the end of the file");
}

/// Planted defects are found: a reader that panics on a large number, one on a cut file, one on a word in another place.
#[test]
fn changes_reach_what_they_are_for() {
    let seed = b"alpha = 12\nbeta = 7\nend\n".to_vec();
    let dictionary = Dictionary::of(std::slice::from_ref(&seed));
    let large = |bytes: &[u8]| bytes.windows(10).any(|window| window == b"4294967296");
    let cut = |bytes: &[u8]| !bytes.is_empty() && bytes.len() < 12 && seed.starts_with(bytes);
    let moved = |bytes: &[u8]| bytes.starts_with(b"alpha = beta");
    let config = Config { cases: 16384, failure_persistence: None, ..Config::default() };
    let found = [Cell::new(false), Cell::new(false), Cell::new(false)];
    let ran = TestRunner::new(config).run(&edits(), |edits| {
        let bytes = apply(&seed, &edits, &dictionary);
        for (found, now) in found.iter().zip([large(&bytes), cut(&bytes), moved(&bytes)]) {
            found.set(found.get() | now);
        }
        Ok(())
    });
    assert!(ran.is_ok());
    assert_eq!(found.map(Cell::into_inner), [true; 3]);
}
