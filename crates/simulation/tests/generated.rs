//! Experiments from all of the space, checked in every respect: all pairs of choices and some at random in each run of the tests, others
//! at random for as long as one likes (`make soak`).

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::checks::{Failure, check, prepare};
use crate::generator::cover::{Cover, breaking, random};
use crate::generator::shrink::shrink;
use crate::generator::space::{Then, When};
use crate::generator::{Case, Draw, Space};

/// The seed of the design that covers all pairs.
const SEED: u64 = 11;

/// The seed of the first experiment at random that every run of the tests checks, and the number of them.
const FIRST_AT_RANDOM: u64 = 1;
const AT_RANDOM: usize = 400;

/// Failures that are shrunk and shown.
const MOST_SHOWN: usize = 3;

/// The experiments that cover all pairs.
fn cases(space: &Space) -> Vec<Case> {
    let points = Cover::new(space, SEED).points;
    points.into_iter().enumerate().map(|(number, point)| Case::new(space, point, number as u64)).collect()
}

/// An experiment at random.
fn at_random(space: &Space, seed: u64) -> Case {
    let mut draw = Draw::new(seed);
    let Some(point) = random(space, &[], &mut draw) else { unreachable!("the space is not empty") };
    Case::new(space, point, draw.next())
}

/// Shrinks a case that fails, saves it, and says how to repeat it.
fn explain(space: &Space, case: &Case, failure: &Failure, name: &str) -> String {
    let fails = |draft: &crate::generator::Draft| {
        check(&draft.to_string()).is_err_and(|found| found.check == failure.check)
    };
    let text = shrink(case.draft.clone(), fails).to_string();
    let last = check(&text).err().map_or_else(String::new, |failure| failure.to_string());
    let path = saved(name, &text);
    format!(
        "\n{name}: {failure}\nwith {}\nshrunk: {last}\n{text}\nsaved as {}; repeat: make soak SOAK_FILE={0}\n",
        space.describe(&case.point),
        path.display()
    )
}

fn saved(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("failed-{name}.toml"));
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}

/// Calls `work` for 0, 1, 2, ... in all processors, until it returns false.
fn in_parallel(work: impl Fn(usize) -> bool + Sync) {
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    if !work(next.fetch_add(1, Ordering::AcqRel)) {
                        over.store(true, Ordering::Release);
                    }
                }
            });
        }
    });
}

#[test]
fn experiments_with_every_pair_of_choices_hold() {
    let space = Space::new();
    let cases = cases(&space);
    let (failures, reports) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    in_parallel(|number| {
        let Some(case) = cases.get(number) else { return false };
        match check(&case.text()) {
            Ok(report) => reports.lock().unwrap().push(report),
            Err(failure) => failures.lock().unwrap().push((number, failure)),
        }
        true
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort_by_key(|failure| failure.0);
    // Before they are shrunk, which takes a while.
    for (number, failure) in &failures {
        eprintln!("{number}: {failure}");
    }
    let shown = failures.iter().take(MOST_SHOWN);
    let explained: String = shown
        .map(|(number, failure)| explain(&space, &cases[*number], failure, &format!("pair-{number}")))
        .collect();
    let list: Vec<String> = failures.iter().map(|(number, failure)| format!("{number}: {failure}")).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}\n{explained}", list.len(), cases.len(), list.join("\n"));
    let reports = reports.into_inner().unwrap();
    let busy = reports.iter().filter(|report| report.delivered > 100).count();
    assert!(busy * 2 > reports.len(), "only {busy} of {} deliver more than 100 packets", reports.len());
    assert!(reports.iter().any(|report| report.deadlocked) && reports.iter().any(|report| report.lost));
}

/// A stretch of `make soak` in every run of the tests, about a minute: always the same experiments, so that a failure repeats.
#[test]
fn experiments_at_random_hold() {
    let space = Space::new();
    let failures = Mutex::new(Vec::new());
    in_parallel(|number| {
        if number >= AT_RANDOM {
            return false;
        }
        let seed = FIRST_AT_RANDOM + number as u64;
        let case = at_random(&space, seed);
        if let Err(failure) = check(&case.text()) {
            eprintln!("{seed}: {failure}");
            failures.lock().unwrap().push((seed, case, failure));
        }
        true
    });
    let failures = failures.into_inner().unwrap();
    let explained = failures.iter().take(MOST_SHOWN);
    let explained: String = explained
        .map(|(seed, case, failure)| explain(&space, case, failure, &format!("seed-{seed}")))
        .collect();
    assert!(failures.is_empty(), "{} of {AT_RANDOM} fail\n{explained}", failures.len());
}

#[test]
fn choices_that_exclude_each_other_are_refused_with_the_reason() {
    let space = Space::new();
    let mut draw = Draw::new(SEED);
    for (number, rule) in space.rules.iter().enumerate() {
        let Then::Refused(reason) = rule.then else { continue };
        let mut tried = 0;
        for fixed in combinations(&space, rule.when) {
            let Some(point) = breaking(&space, number, &fixed, &mut draw) else { continue };
            let case = Case::new(&space, point, draw.next());
            let error = prepare(&case.text(), &[]).err();
            let named = error.as_ref().is_some_and(|error| error.starts_with("generated.toml:"));
            let told = error.as_ref().is_some_and(|error| error.contains(reason));
            let with = space.describe(&case.point);
            assert!(named && told, "expected: {reason}\nfound: {error:?}\nwith {with}\n{case:?}");
            tried += 1;
        }
        assert!(tried > 0, "no experiment breaks only the rule on: {reason}");
    }
}

/// All choices that fulfil the conditions.
fn combinations(space: &Space, when: &[When]) -> Vec<Vec<(usize, usize)>> {
    let mut all = vec![Vec::new()];
    for condition in when {
        let (When::Is(name, listed) | When::IsNot(name, listed)) = condition;
        let (dimension, is) = (space.number(name), matches!(condition, When::Is(..)));
        let choices = space.dimensions[dimension].choices.iter().enumerate();
        let fitting: Vec<usize> =
            choices.filter(|(_, choice)| listed.contains(choice) == is).map(|(choice, _)| choice).collect();
        let longer = |known: &Vec<(usize, usize)>| {
            let known = known.clone();
            fitting
                .iter()
                .map(move |&choice| known.iter().copied().chain([(dimension, choice)]).collect())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Every variant of every enumeration of the file, and every key, is in some of the experiments, in pairs or at random.
#[test]
fn the_generator_knows_every_variant_and_key_of_the_schema() {
    let space = Space::new();
    let mut seen = crate::generator::schema::Seen::new(fabricsim_spec::json_schema());
    let parts = seen.missing().len();
    assert!(parts > 300, "the schema has {parts} keys and variants only: it is not read as a whole");
    let at_random = (0..AT_RANDOM as u64).map(|number| at_random(&space, FIRST_AT_RANDOM + number));
    for case in cases(&space).into_iter().chain(at_random) {
        let experiment = prepare(&case.text(), &[]).unwrap_or_else(|e| panic!("{e}\n{case:?}")).experiment;
        seen.add(&serde_json::to_value(experiment).unwrap());
    }
    let missing = seen.missing();
    assert!(missing.is_empty(), "no experiment of the generator has: {missing:#?}");
}

/// `make soak`: experiments at random until the time is over.
#[test]
#[ignore = "as long as SOAK_SECONDS says"]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let space = Space::new();
    if let Some(file) = std::env::var("SOAK_FILE").ok().filter(|file| !file.is_empty()) {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        println!("{:?}", check(&text).unwrap_or_else(|failure| panic!("{file}: {failure}")));
        return;
    }
    let pair = number("SOAK_PAIR").map(|number| cases(&space).swap_remove(number as usize));
    let seeded = number("SOAK_SEED").map(|seed| (seed, at_random(&space, seed)));
    if let Some((seed, case)) = pair.map(|case| (0, case)).or(seeded) {
        println!("{case:?}");
        if let Err(failure) = check(&case.text()) {
            panic!("{}", explain(&space, &case, &failure, &format!("seed-{seed}")));
        }
        return;
    }
    soak_for(&space, number("SOAK_SECONDS").unwrap_or(3600));
}

#[expect(clippy::disallowed_methods, reason = "it ends, and begins with another seed, by the clock")]
fn soak_for(space: &Space, seconds: u64) {
    let begun = std::time::Instant::now();
    let first =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let first = first << 20;
    println!("seeds from {first} on, for {seconds} s; repeat one: make soak SOAK_SEED=n");
    let (failed, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    in_parallel(|number| {
        let seed = first + number as u64;
        let case = at_random(space, seed);
        if let Err(failure) = check(&case.text()) {
            println!("{}", explain(space, &case, &failure, &format!("seed-{seed}")));
            failed.lock().unwrap().push(seed);
        }
        done.fetch_add(1, Ordering::AcqRel);
        begun.elapsed().as_secs() < seconds && failed.lock().unwrap().len() < MOST_SHOWN
    });
    let (failed, done) = (failed.into_inner().unwrap(), done.into_inner());
    assert!(failed.is_empty(), "{} of {done} fail; seeds: {failed:?}", failed.len());
    println!("{done} experiments hold");
}
