//! Outputs and lanes that contend for the read ports of an input buffer: each flow gets its turns, whatever the sizes and phases of
//! packets.

mod common;

use common::observers::Deliveries;
use common::{prepare, run};
use fabricsim_units::Time;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A saturating flow to a host of the second switch; bytes of its packets.
#[derive(Clone, Copy, Debug)]
struct Flow {
    lane: usize,
    destination: usize,
    bytes: u32,
}

/// Two switches. A flow for each lane comes over the link between them, from a host of its own; rivals come from hosts of
/// the second switch.
#[derive(Clone, Debug)]
struct Case {
    queueing: &'static str,
    reads: u16,
    over_link: Vec<Flow>,
    rivals: Vec<Flow>,
}

const HOSTS: usize = 8;

impl Case {
    fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.over_link.iter().chain(&self.rivals)
    }

    fn text(&self) -> String {
        let Self { queueing, reads, over_link, .. } = self;
        let lanes = over_link.len();
        let sources = (0..lanes).map(|i| (0, i)).chain((HOSTS / 2..).map(|i| (1, i)));
        let traffic = self.flows().zip(sources).map(|(flow, (switch, source))| {
            let Flow { lane, destination, bytes } = flow;
            format!(
                "[[traffic]]\nsources = [\"H({switch}).{source}\"]\npattern = {{ to = \"H(1).{destination}\" }}\n\
                 injection = \"saturating\"\nmessage = \"{bytes} B\"\nservice_class = {lane}\n"
            )
        });
        let traffic: String = traffic.collect();
        format!(
            "[topology.mesh]\ndimensions = [2]\nhosts_per_switch = {HOSTS}\n[links.all]\nrate = \"8 Gb/s\"\nreads = {reads}\n\
             buffer = \"16000 B\"\n[switch]\nqueueing = \"{queueing}\"\nvirtual_lanes = {lanes}\nservice_classes = {lanes}\n\
             {traffic}[run]\nduration = \"1 s\"\n"
        )
    }

    /// Packets that each flow gets at least if all outputs and inputs serve in turn, without a limit of the read ports but the
    /// link's rate: at its destination, every input sends its largest packet once in each round, and flows of the same input
    /// take turns; over the link, lanes take turns. A byte takes 1 ns.
    fn fair(&self, time: Time) -> Vec<f64> {
        let link: u32 = self.over_link.iter().map(|flow| flow.bytes).sum();
        let of_link = |(i, flow): (usize, &Flow)| {
            let is_of_link = i < self.over_link.len();
            let to_same = |f: &&Flow| f.destination == flow.destination;
            let sharing = self.over_link.iter().filter(to_same).count() as u32;
            let largest = self.over_link.iter().filter(to_same).map(|f| f.bytes).max().unwrap_or(0);
            let round = largest + self.rivals.iter().filter(to_same).map(|f| f.bytes).sum::<u32>();
            let needed = if is_of_link { link.max(round * sharing) } else { round };
            time.as_ns_f64() / f64::from(needed)
        };
        self.flows().enumerate().map(of_link).collect()
    }

    /// Packets that each flow got from 2 ms on.
    fn found(&self, time: Time, overrides: &[(&str, &str)]) -> Vec<f64> {
        let prepared = prepare(&self.text(), overrides);
        let mut engine = prepared.engine(Deliveries::default);
        let from = Time::ms(2);
        engine.advance(from + time, &mut |_, _| true);
        assert_eq!(engine.check_credits(), Ok(()));
        let mut counts = vec![0.0; self.flows().count()];
        for (_, packet) in engine.observers().flat_map(|of| &of.0).filter(|(at, _)| *at >= from) {
            counts[usize::from(packet.stream)] += 1.0;
        }
        counts
    }
}

fn case(sizes: Vec<u32>) -> impl Strategy<Value = Case> {
    let queueing = select(vec!["voq", "voq", "fifo", "cioq"]);
    (queueing, 1_u16..3, 2_usize..5).prop_flat_map(move |(queueing, reads, lanes)| {
        let drawn = || (0..lanes, 0..HOSTS / 2, select(sizes.clone()));
        let flow = |(lane, destination, bytes)| Flow { lane, destination, bytes };
        let over_link = prop::collection::vec(drawn().prop_map(flow), lanes);
        let rivals = prop::collection::vec(drawn().prop_map(flow), 1..=HOSTS / 2);
        (over_link, rivals).prop_map(move |(mut over_link, rivals)| {
            over_link.iter_mut().enumerate().for_each(|(lane, flow)| flow.lane = lane);
            Case { queueing, reads, over_link, rivals }
        })
    })
}

/// Ratios of what flows got to their fair share, of cases with packets of `sizes`.
fn ratios(sizes: &[u32], cases: usize) -> Vec<f64> {
    let mut runner = TestRunner::deterministic();
    let mut ratios = Vec::new();
    for _ in 0..cases {
        let case = case(sizes.to_vec()).new_tree(&mut runner).unwrap().current();
        let (found, fair) = (case.found(MEASURED, &[]), case.fair(MEASURED));
        for (found, fair) in found.iter().zip(&fair) {
            // A third of the turns, but for 64 (see `fabricsim_fabric`, `switch::missed`).
            assert!(*found >= fair / 3.0 - 64.0, "{found} of {fair} packets: {case:?}");
            ratios.push(found / fair);
        }
    }
    ratios
}

const MEASURED: Time = Time::ms(4);

/// Outputs lose time when they wait for an input whose packets have other sizes.
#[test]
fn no_flow_starves_beside_another_one() {
    for (sizes, most) in [(&[1000][..], 0.97), (&[300, 1000, 2000], 0.9), (&[64, 2048], 0.9)] {
        let ratios = ratios(sizes, 60);
        let fair = ratios.iter().filter(|&&ratio| ratio > 0.99).count();
        println!("{sizes:?}: {fair} of {} flows have their share", ratios.len());
        assert!(fair as f64 >= most * ratios.len() as f64, "{sizes:?}: {fair} of {}", ratios.len());
    }
}

/// Least number of packets of a flow with a fair share of `fair`: a third of its turns, but for 64; at random arbiters less five standard
/// deviations.
fn least(arbiter: &str, fair: f64) -> f64 {
    let drawn = if arbiter == "random" { 5.0 * fair.sqrt() } else { 0.0 };
    fair / 3.0 - 64.0 - drawn
}

/// Cases with packets of all sizes, from a seed of their own.
fn cases(number: usize) -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    let mut drawn = |_| case(vec![64, 300, 1000, 2048]).new_tree(&mut runner).unwrap().current();
    (0..number).map(&mut drawn).collect()
}

#[test]
fn arbiters_that_serve_all_let_no_flow_starve() {
    for case in cases(40) {
        let fair = case.fair(MEASURED);
        for arbiter in ["round-robin", "strict-round-robin", "random"] {
            let found = case.found(MEASURED, &[("switch.arbiter", arbiter)]);
            for (found, fair) in found.iter().zip(&fair) {
                assert!(*found >= least(arbiter, *fair), "{arbiter}: {found} of {fair} packets: {case:?}");
            }
        }
    }
}

/// Each flow of which nothing arrives is one for which there is a warning, with every arbiter; without such a flow there is none.
#[test]
fn lanes_that_starve_are_warned_of() {
    let mut starved = 0;
    for case in cases(20) {
        for arbiter in ["fixed-priority", "oldest-first", "age-based", "random", "round-robin"] {
            let overrides =
                [("switch.arbiter", arbiter), ("run.warmup", "1 ms"), ("run.duration", "\"10 ms\"")];
            let outcome = run(&case.text(), &overrides);
            let nothing = |rate: f64| rate == 0.0;
            let flows = &outcome.summary.flows.flows;
            let silent = flows.iter().filter(|flow| nothing(flow.accepted_gbps)).count();
            assert!(
                warned(&outcome.warnings) >= silent,
                "{arbiter}: {silent}, {:?}: {case:?}",
                outcome.warnings
            );
            if silent == 0 && arbiter != "fixed-priority" {
                assert_eq!(warned(&outcome.warnings), 0, "{arbiter}: {:?}: {case:?}", outcome.warnings);
            }
            starved += silent;
        }
    }
    assert!(starved > 20, "{starved} flows starve");
}

/// Number of queues that warnings say to starve.
fn warned(warnings: &[String]) -> usize {
    let number = |line: &String| match line.split_once(" more queue") {
        Some((number, _)) => number.parse().unwrap(),
        None => usize::from(line.contains(" starves at ")),
    };
    warnings.iter().map(number).sum()
}
