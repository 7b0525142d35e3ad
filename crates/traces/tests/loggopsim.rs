//! Replays compared with LogGOPSim.
#![allow(non_snake_case, reason = "the model's names differ in case only")]

mod support;

use std::cell::Cell;
use std::fs;

use fabricsim_traces::loggp::{self, Parameters, Unmatched};
use fabricsim_traces::{ANY, Kind, Operation, RankBuilder, RankSchedule, Schedule, goal};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::Verdict;

const STATED: Parameters = Parameters { L: 1000, o: 100, g: 10, G: 0, O: 0, S: 65535 };

fn end_ns(schedule: &Schedule, parameters: &Parameters) -> u64 {
    let outcome = loggp::simulate(schedule, parameters).unwrap();
    assert_eq!((outcome.unmatched, outcome.unfinished), (vec![], vec![]));
    outcome.ends_ns.into_iter().max().unwrap()
}

fn schedule(ranks: Vec<RankBuilder>) -> Schedule {
    Schedule { ranks: ranks.into_iter().map(RankBuilder::finish).collect() }
}

fn rounds(ranks: u32, peers: impl Fn(u32, u32) -> (u32, u32), rounds: u32) -> Schedule {
    let rank = |rank: u32| {
        let mut builder = RankBuilder::default();
        let mut last = None;
        for round in 0..rounds {
            let (to, from) = peers(rank, round);
            let send = builder.push(Operation::send(to, 0, 8));
            if let Some(last) = last {
                builder.requires(send, last);
            }
            last = Some(builder.push(Operation::recv(from, 0, 8)));
        }
        builder
    };
    schedule((0..ranks).map(rank).collect())
}

/// LogGOPSim's results for its own generator's schedules, 8 bytes, L=1000 o=100 g=10 G=0.
#[test]
fn dissemination_and_recursive_doubling_take_as_long_as_there() {
    let n = 16;
    let dissemination =
        rounds(n, |rank, round| ((rank + (1 << round)) % n, (rank + n - (1 << round)) % n), 4);
    assert_eq!(end_ns(&dissemination, &STATED), 4800);
    // Recursive halving and doubling: partners at 1, 2, 4, 8, then back.
    let partner = |rank: u32, round: u32| rank ^ (1 << round.min(7 - round));
    let allreduce = rounds(n, |rank, round| (partner(rank, round), partner(rank, round)), 8);
    assert_eq!(end_ns(&allreduce, &STATED), 9600);
}

#[test]
fn a_linear_all_to_all_takes_as_long_as_there() {
    let rank = |rank: u32| {
        let mut builder = RankBuilder::default();
        for distance in 1..16 {
            builder.push(Operation::recv((rank + 16 - distance) % 16, 0, 8));
            builder.push(Operation::send((rank + distance) % 16, 0, 8));
        }
        builder
    };
    assert_eq!(end_ns(&schedule((0..16).map(rank).collect()), &STATED), 3000);
}

#[test]
fn a_binary_tree_of_32_ranks_takes_as_long_as_there() {
    let rank = |rank: u32| {
        let mut builder = RankBuilder::default();
        let recv = (rank > 0).then(|| builder.push(Operation::recv((rank - 1) / 2, 0, 8)));
        for child in [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < 32) {
            let send = builder.push(Operation::send(child, 0, 8));
            if let Some(recv) = recv {
                builder.requires(send, recv);
            }
        }
        builder
    };
    assert_eq!(end_ns(&schedule((0..32).map(rank).collect()), &STATED), 6000);
}

#[test]
fn the_given_schedules_take_as_long_as_there() {
    let Some(folder) = support::reference("goal") else { return };
    for name in ["schedgen_dissemination_16.goal", "schedgen_dissemination_16.bin"] {
        let schedule = goal::read(&folder.join(name)).unwrap();
        assert_eq!(end_ns(&schedule, &STATED), 4800, "{name}");
    }
    let tree = goal::read(&folder.join("schedule.goal")).unwrap();
    assert_eq!(loggp::simulate(&tree, &STATED).unwrap().ends_ns.len(), 8);
}

/// Parameters with which LogGOPSim's times are defined: an empty message does not end before it begins, which makes times
/// wrap there, and a receive has the size of its message if rendezvous depend on that.
fn defined(schedule: &Schedule, parameters: Parameters) -> Parameters {
    let operations = || schedule.ranks.iter().flat_map(RankSchedule::operations);
    let is_open = operations().any(|one| one.tag == ANY);
    let parameters = if is_open { Parameters { S: 65535, ..parameters } } else { parameters };
    if !operations().any(|one| one.kind != Kind::Calc && one.size == 0) {
        return parameters;
    }
    let Parameters { o, g, G, O, .. } = parameters;
    Parameters { O: O.min(o), G: G.min(o).min(g), ..parameters }
}

/// Operations without a match in the form of the verdict.
fn listed(unmatched: &[Unmatched]) -> Vec<(i64, bool, i64, i64)> {
    let number = |value: Option<u32>| value.map_or(-1, i64::from);
    let one = |one: &Unmatched| match one.kind {
        "send" => (number(one.peer), true, i64::from(one.rank), number(one.tag)),
        _ => (i64::from(one.rank), false, number(one.peer), number(one.tag)),
    };
    let mut list: Vec<_> = unmatched.iter().map(one).collect();
    list.sort_unstable();
    list
}

/// Runs both on random schedules.
fn compare(name: &str, wild: bool, lossy: bool, most: usize) {
    let Some(tool) = support::loggopsim() else { return };
    let folder = std::env::temp_dir().join(format!("fabricsim-loggopsim-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("schedule.bin");
    let cases = Config::default().cases;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let (ended, unmatched) = (Cell::new(0), Cell::new(0));
    TestRunner::new(config)
        .run(&(support::schedules(most, wild, lossy), support::parameters()), |(schedule, parameters)| {
            let parameters = defined(&schedule, parameters);
            fs::write(&file, support::binary(&schedule)).unwrap();
            let there = support::run(&tool, &file, &parameters);
            let case = || format!("{parameters:?}\n{}", support::text(&schedule));
            let here = loggp::simulate(&schedule, &parameters).unwrap();
            match there {
                Verdict::Times(times) => {
                    prop_assert_eq!((&here.ends_ns, vec![]), (&times, here.unmatched), "{}", case());
                    ended.set(ended.get() + 1);
                }
                Verdict::Largest(time) => prop_assert_eq!(here.end_ns(), time, "{}", case()),
                Verdict::Unmatched(list) => {
                    prop_assert_eq!(listed(&here.unmatched), list, "{}", case());
                    unmatched.set(unmatched.get() + 1);
                }
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{name}: {} ended, {} have operations without a match", ended.get(), unmatched.get());
    assert!(if lossy { unmatched.get() } else { ended.get() } > cases / 4);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn random_schedules_take_as_long_as_there() {
    compare("plain", false, false, 40);
}

#[test]
fn random_schedules_with_open_receives_take_as_long_as_there() {
    compare("wild", true, false, 60);
}

#[test]
fn random_schedules_with_missing_operations_are_unmatched_as_there() {
    compare("lossy", true, true, 30);
}

#[test]
fn long_random_schedules_take_as_long_as_there() {
    compare("long", false, false, 400);
}
