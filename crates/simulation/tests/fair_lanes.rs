//! Outputs and lanes that contend for the read ports of an input buffer: each flow gets its turns, whatever the sizes and phases of
//! packets.

use crate::common::observers::Deliveries;
use crate::common::{prepare, run};
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

/// Two switches. Flows come over the link between them, each from a host of its own; rivals come from hosts of the second switch.
#[derive(Clone, Debug)]
struct Case {
    queueing: &'static str,
    reads: u16,
    lanes: usize,
    over_link: Vec<Flow>,
    rivals: Vec<Flow>,
}

const HOSTS: usize = 8;

impl Case {
    fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.over_link.iter().chain(&self.rivals)
    }

    fn text(&self) -> String {
        let Self { queueing, reads, lanes, over_link, .. } = self;
        let sources = (0..over_link.len()).map(|i| (0, i)).chain((HOSTS / 2..).map(|i| (1, i)));
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
    /// link's rate: at its destination, every input sends its largest packet once in each round, and lanes of the same input
    /// take turns; over the link, flows take turns. Flows of a lane get as many packets as the slowest of them, since they
    /// share its buffer. A byte takes 1 ns.
    fn fair(&self, time: Time) -> Vec<f64> {
        let link: u32 = self.over_link.iter().map(|flow| flow.bytes).sum();
        let round = |to: usize| {
            let to_same = |flow: &&Flow| flow.destination == to;
            let largest = self.over_link.iter().filter(to_same).map(|flow| flow.bytes).max().unwrap_or(0);
            largest + self.rivals.iter().filter(to_same).map(|flow| flow.bytes).sum::<u32>()
        };
        let over_link = |lane: usize, to: usize| {
            self.over_link.iter().filter(move |flow| flow.lane == lane && flow.destination == to).count()
                as u32
        };
        let needed = |lane: usize, to: usize| {
            let sharing = (0..self.lanes).filter(|&other| over_link(other, to) > 0).count() as u32;
            link.max(round(to) * sharing * over_link(lane, to))
        };
        let of_lane = |lane: usize| {
            self.over_link.iter().filter(|f| f.lane == lane).map(|f| needed(lane, f.destination)).max()
        };
        let needed = self.over_link.iter().map(|flow| of_lane(flow.lane).unwrap_or(link));
        let needed = needed.chain(self.rivals.iter().map(|flow| round(flow.destination)));
        needed.map(|needed| time.as_ns_f64() / f64::from(needed)).collect()
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

/// Cases with packets of `sizes`, with a flow for each lane over the link, or any number on any lanes.
fn case(sizes: Vec<u32>, flow_for_each_lane: bool) -> impl Strategy<Value = Case> {
    let queueing = select(vec!["voq", "voq", "fifo", "cioq"]);
    let lanes = if flow_for_each_lane { 2_usize..5 } else { 1..4 };
    (queueing, 1_u16..3, lanes).prop_flat_map(move |(queueing, reads, lanes)| {
        let drawn = || (0..lanes, 0..HOSTS / 2, select(sizes.clone()));
        let flow = |(lane, destination, bytes)| Flow { lane, destination, bytes };
        let number = if flow_for_each_lane { lanes..=lanes } else { 2..=HOSTS - 1 };
        let over_link = prop::collection::vec(drawn().prop_map(flow), number);
        let rivals = prop::collection::vec(drawn().prop_map(flow), 1..=HOSTS / 2);
        (over_link, rivals).prop_map(move |(mut over_link, rivals)| {
            if flow_for_each_lane {
                over_link.iter_mut().enumerate().for_each(|(lane, flow)| flow.lane = lane);
            }
            Case { queueing, reads, lanes, over_link, rivals }
        })
    })
}

/// Ratios of what flows got to their fair share, of cases with packets of `sizes`.
fn ratios(sizes: &[u32], flow_for_each_lane: bool, cases: usize) -> Vec<f64> {
    let mut runner = TestRunner::deterministic();
    let mut ratios = Vec::new();
    for _ in 0..cases {
        let case = case(sizes.to_vec(), flow_for_each_lane).new_tree(&mut runner).unwrap().current();
        let (found, fair) = (case.found(MEASURED, &[]), case.fair(MEASURED));
        for (found, fair) in found.iter().zip(&fair) {
            // A third of the turns, but for 64 (see `fabricsim_fabric`, `switch::missed`).
            assert!(*found >= (fair / 3.0 - 64.0).max(1.0), "{found} of {fair} packets: {case:?}");
            ratios.push(found / fair);
        }
    }
    ratios
}

const MEASURED: Time = Time::ms(4);

/// Of the flows of random cases with packets of each list of sizes, at least a part gets its fair share within 1 %.
fn assert_fair(flow_for_each_lane: bool, cases: [(&[u32], f64); 3]) {
    for (sizes, least) in cases {
        let ratios = ratios(sizes, flow_for_each_lane, 60);
        let fair = ratios.iter().filter(|&&ratio| ratio > 0.99).count();
        println!("{sizes:?}: {fair} of {} flows have their share", ratios.len());
        assert!(fair as f64 >= least * ratios.len() as f64, "{sizes:?}: {fair} of {}", ratios.len());
    }
}

/// Outputs lose time when they wait for an input whose packets have other sizes.
#[test]
fn no_flow_starves_beside_another_one() {
    assert_fair(true, [(&[1000], 0.97), (&[300, 1000, 2000], 0.9), (&[64, 2048], 0.9)]);
}

/// Several flows of a lane, whose credits run short while those of other lanes do not: each has its turns. Without turns that are owed the
/// second of two flows of a lane gets nothing. With packets of several sizes more flows get less than by the formula: outputs wait for
/// each other's packets at the read ports.
#[test]
fn no_flow_starves_beside_one_of_its_lane() {
    assert_fair(false, [(&[1000], 0.97), (&[300, 1000, 2000], 0.85), (&[64, 2048], 0.9)]);
}

/// Beside a lane of priority, whose packets begin the round anew, flows of other lanes have equal shares of what it leaves.
#[test]
fn flows_that_give_way_to_priority_have_equal_shares() {
    let flow = |source: usize, class: usize, rest: &str| {
        format!(
            "[[traffic]]\nsources = [\"H(0).{source}\"]\npattern = {{ to = \"H(1).{source}\" }}\nmessage = \"1000 B\"\n\
             service_class = {class}\n{rest}\n"
        )
    };
    for queueing in ["voq", "fifo", "cioq"] {
        for lanes in [[0, 0], [0, 1]] {
            let traffic = flow(0, lanes[0], "injection = \"saturating\"")
                + &flow(1, lanes[1], "injection = \"saturating\"")
                + &flow(2, 2, "injection = \"constant\"\nload = 0.5");
            let text = format!(
                "[topology.mesh]\ndimensions = [2]\nhosts_per_switch = 3\n[links.all]\nrate = \"8 Gb/s\"\nbuffer = \"16000 B\"\n\
                 [switch]\nqueueing = \"{queueing}\"\nvirtual_lanes = 3\nservice_classes = 3\npriority_classes = [2]\n\
                 {traffic}[run]\nwarmup = \"1 ms\"\nduration = \"4 ms\"\n"
            );
            let outcome = run(&text, &[]);
            let accepted = |i: usize| outcome.summary.flows.flows[i].accepted_gbps;
            for (i, expected) in [2.0, 2.0, 4.0].into_iter().enumerate() {
                // A packet more or less at each end.
                let bound = 2.0 * 8.0 / 4000.0;
                assert!(
                    (accepted(i) - expected).abs() <= bound,
                    "{queueing}, {lanes:?}: flow {i}: {}",
                    accepted(i)
                );
            }
        }
    }
}

/// Least number of packets of a flow with a fair share of `fair`: a third of its turns, but for 64, and one; at random arbiters less five standard
/// deviations.
fn least(arbiter: &str, fair: f64) -> f64 {
    let drawn = if arbiter == "random" { 5.0 * fair.sqrt() } else { 0.0 };
    (fair / 3.0 - 64.0 - drawn).max(1.0)
}

/// Cases with packets of all sizes, from a seed of their own.
fn cases(flow_for_each_lane: bool, number: usize) -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    let mut drawn =
        |_| case(vec![64, 300, 1000, 2048], flow_for_each_lane).new_tree(&mut runner).unwrap().current();
    (0..number).map(&mut drawn).collect()
}

#[test]
fn arbiters_that_serve_all_let_no_flow_starve() {
    for case in cases(true, 40).into_iter().chain(cases(false, 40)) {
        let fair = case.fair(MEASURED);
        for arbiter in ["round-robin", "strict-round-robin", "random"] {
            let found = case.found(MEASURED, &[("switch.arbiter", arbiter)]);
            for (found, fair) in found.iter().zip(&fair) {
                assert!(*found >= least(arbiter, *fair), "{arbiter}: {found} of {fair} packets: {case:?}");
            }
        }
    }
}

/// Small packets do not take all credits for which large ones of their lane wait, whatever the arbiter. (If they did, all but the small ones
/// would get nothing.)
#[test]
fn large_packets_pass_beside_small_ones() {
    let flow = |lane, destination, bytes| Flow { lane, destination, bytes };
    for queueing in ["voq", "fifo", "cioq"] {
        for reads in [1, 2] {
            for lanes in [1, 2] {
                let over_link =
                    vec![flow(0, 0, 64), flow(0, 0, 2048), flow(0, 0, 300), flow(lanes - 1, 0, 1000)];
                let rivals = vec![flow(0, 0, 2048), flow(0, 0, 2048)];
                let case = Case { queueing, reads, lanes, over_link, rivals };
                let fair = case.fair(MEASURED);
                let arbiters = ["round-robin", "strict-round-robin", "random", "oldest-first", "age-based"];
                let arbiters = arbiters.map(|arbiter| ("switch.arbiter", arbiter));
                let entries: Vec<_> =
                    (0..lanes).map(|lane| format!("{{ vl = {lane}, weight = 32 }}")).collect();
                let tables = format!("{{ low = [{}] }}", entries.join(", "));
                let tables = (queueing != "cioq").then_some(("switch.vl_arbitration", &*tables));
                for setting in arbiters.into_iter().chain(tables) {
                    let found = case.found(MEASURED, &[setting]);
                    for (i, (found, fair)) in found.iter().zip(&fair).enumerate() {
                        assert!(
                            *found >= fair / 3.0,
                            "{setting:?}: flow {i}: {found} of {fair} packets: {case:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Each flow of which nothing arrives is one for which there is a warning, with every arbiter; without such a flow there is none.
#[test]
fn lanes_that_starve_are_warned_of() {
    let mut starved = 0;
    for case in cases(true, 20) {
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
