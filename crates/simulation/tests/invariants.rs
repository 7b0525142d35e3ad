//! Invariants of every run, on random fabrics under random traffic.

use crate::common::observers::{Deliveries, Order};
use crate::common::random::{Case, Wanted, experiment};
use crate::common::{everything, prepare, tables};
use fabricsim_analysis::find_deadlock;
use fabricsim_engine::{Advance, Engine, Extent, Prepared};
use fabricsim_model::{NullObserver, Observer};
use fabricsim_routing::Verdict;
use fabricsim_simulation::{Control, Outcome, Status, simulate};
use fabricsim_topology::Node;
use fabricsim_units::Time;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const RUN: &str = "[run]\nduration = \"6 us\"\nwarmup = \"500 ns\"\nallow_deadlock = true\n";

/// Cases come from a fixed seed: a failure is a failure on every machine. `SOAK=n` takes twenty times as many others.
fn for_cases(count: u32, wanted: Wanted, test: impl Fn(&Case) -> Result<(), TestCaseError>) {
    let soak: Option<u8> = std::env::var("SOAK").ok().and_then(|number| number.parse().ok());
    let mut seed = [wanted as u8 + 1; 32];
    seed[31] ^= soak.unwrap_or(0);
    let cases = if soak.is_some() { 20 * count } else { count };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    runner.run(&experiment(wanted), |case| test(&case)).unwrap_or_else(|e| panic!("{e}"));
}

fn prepared(case: &Case, overrides: &[(&str, &str)]) -> Prepared {
    prepare(&format!("{}{RUN}", case.0), overrides)
}

fn outcome(case: &Case, overrides: &[(&str, &str)]) -> Outcome {
    simulate(&prepared(case, overrides), &Control::default())
}

fn is_cyclic(prepared: &Prepared) -> bool {
    matches!(fabricsim_routing::check(&prepared.router, &prepared.graph), Verdict::Cyclic { .. })
}

/// Nothing is lost, and credits add up, at whatever time one looks.
fn conserves<B: Observer>(engine: &Engine<B>) -> Result<(), TestCaseError> {
    let totals = engine.totals();
    prop_assert_eq!(totals.injected, totals.delivered + totals.in_flight, "at {}", engine.now());
    prop_assert_eq!(engine.check_credits(), Ok(()), "at {}", engine.now());
    Ok(())
}

#[test]
fn packets_and_credits_are_conserved_at_every_time() {
    for_cases(1000, Wanted::Any, |case| {
        let prepared = prepared(case, &[("run.partitions", "2")]);
        let mut engine = prepared.engine(|| NullObserver);
        for step in 1..=600 {
            engine.advance(Time(step * 7_919), &mut |_, _| true);
            conserves(&engine)?;
        }
        Ok(())
    });
}

#[test]
fn a_run_that_ends_when_it_is_empty_has_delivered_everything() {
    for_cases(3000, Wanted::Any, |case| {
        let prepared = prepared(case, &[("run.drain", "empty"), ("run.drain_limit", "10 s")]);
        let cyclic = is_cyclic(&prepared);
        let outcome = simulate(&prepared, &Control::default());
        let found = &outcome.invariants;
        prop_assert!(
            found.packets_ok && found.credits_ok && outcome.defect.is_empty(),
            "{:?}",
            outcome.defect
        );
        match outcome.status {
            Status::Ok => prop_assert_eq!((found.delivered, found.in_flight), (found.injected, 0)),
            Status::Deadlock => {
                prop_assert!(cyclic, "it cannot deadlock: {:?}", outcome.deadlock);
                prop_assert!(!outcome.deadlock.is_empty());
            }
            Status::Interrupted => prop_assert!(false, "no caller interrupted it"),
        }
        Ok(())
    });
}

#[test]
fn a_run_does_not_depend_on_its_partitions() {
    for_cases(1500, Wanted::Any, |case| {
        let alone = outcome(case, &[]);
        prop_assert_eq!(&alone.defect, "");
        let expected = everything(&alone);
        for partitions in ["2", "3", "7"] {
            let found = everything(&outcome(case, &[("run.partitions", partitions)]));
            prop_assert!(
                found == expected,
                "{} partitions:\n{}",
                partitions,
                first_difference(&expected, &found)
            );
        }
        Ok(())
    });
}

/// A measurement that is the whole run, one that begins later, and one that ends when its result is known, all of which
/// begin and end in the middle of packets.
#[test]
fn tables_fit_into_their_measurement_and_agree() {
    for_cases(700, Wanted::Any, |case| {
        for measurement in
            [("run.warmup", "0 s"), ("run.warmup", "777 ns"), ("run.steady_state", "{ precision = 0.9 }")]
        {
            let prepared = prepared(case, &[("measure.link_series", "true"), measurement]);
            let packet = fabricsim_topology::largest_packet(&prepared.experiment).0 as f64;
            let outcome = simulate(&prepared, &Control::default());
            prop_assert_eq!(tables::check(&outcome, packet), Ok(()), "{:?}", measurement);
        }
        Ok(())
    });
}

fn first_difference(expected: &str, found: &str) -> String {
    let differing = expected.split(", ").zip(found.split(", ")).find(|(a, b)| a != b);
    differing.map_or_else(|| "one is longer".to_owned(), |(a, b)| format!("{a}\n{b}"))
}

#[test]
fn packets_on_one_way_and_lane_stay_in_order() {
    for_cases(1500, Wanted::Ordered, |case| {
        let mut engine = prepared(case, &[]).engine(Order::default);
        engine.advance(Time::us(6), &mut |_, _| true);
        for order in engine.observers() {
            prop_assert!(order.faults.is_empty(), "{:?}", order.faults);
        }
        Ok(())
    });
}

#[test]
fn a_fabric_that_stops_is_found_deadlocked_and_stays_so() {
    let found = std::cell::Cell::new((0, 0));
    for_cases(1500, Wanted::Deadlocks, |case| {
        let prepared = prepared(case, &[]);
        let mut engine = prepared.engine(Deliveries::default);
        let mut how = Advance::Reached;
        for step in 1..=40 {
            how = engine.advance(Time::us(step), &mut |_, _| true);
            conserves(&engine)?;
            if how == Advance::Idle {
                break;
            }
        }
        let deadlock = find_deadlock(&engine.snapshot(Extent::Queues));
        if how == Advance::Idle && engine.totals().in_flight > 0 {
            prop_assert!(deadlock.is_some(), "it has stopped with packets in it, and no cycle is found");
        }
        let (runs, stopped) = found.get();
        found.set((runs + 1, stopped + u32::from(deadlock.is_some())));
        let Some(deadlock) = deadlock else { return Ok(()) };
        prop_assert!(is_cyclic(&prepared));
        waits_for_itself(&prepared, &deadlock.cycle)?;
        engine.advance(Time::us(300), &mut |_, _| true);
        prop_assert!(find_deadlock(&engine.snapshot(Extent::Queues)).is_some());
        let deliveries = engine.observers().next().map(std::mem::take).unwrap_or_default();
        for blocked in &deadlock.cycle {
            let held = (blocked.packet.source, blocked.packet.sequence);
            prop_assert!(deliveries.0.iter().all(|(_, packet)| (packet.source, packet.sequence) != held));
        }
        Ok(())
    });
    let (runs, stopped) = found.get();
    assert!(stopped * 10 > runs, "only {stopped} of {runs} deadlock: the test looks at nothing");
}

/// Each buffer of the cycle waits for the next: the output leads to it.
fn waits_for_itself(prepared: &Prepared, cycle: &[fabricsim_analysis::Blocked]) -> Result<(), TestCaseError> {
    prop_assert!(cycle.len() >= 2);
    let graph = &prepared.graph;
    for (blocked, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        let here = Node::Switch(blocked.switch);
        let link = graph.switches[blocked.switch.index()].ports[blocked.output.index()];
        let end = graph.far_end(link, here);
        prop_assert_eq!((end.node, end.port), (Node::Switch(next.switch), next.port));
    }
    Ok(())
}
