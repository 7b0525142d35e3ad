//! Copies of runs in progress: independent of each other, and with failures of their own as in a run with these from its start.

use std::sync::Arc;

use crate::common::{ALL, balanced, everything, prepare, run};
use crate::faults::TORUS;
use fabricsim_engine::{Extent, Prepared};
use fabricsim_measure::Recorder;
use fabricsim_session::{Change, Feed, Injection, Subscription};
use fabricsim_simulation::{Control, ForkError, Run, Stop, permit_copy};
use fabricsim_topology::LinkClass;
use fabricsim_units::{HostId, LinkId, Time};

type Running = Run<Arc<Prepared>, Feed<Recorder>>;

/// A mesh with pause frames and a hot spot.
const MESH: &str = r#"
topology.mesh = { dimensions = [3, 3], hosts_per_switch = 2 }
[links.all]
rate = "32 Gb/s"
latency = "50 ns"
buffer = "32 KiB"
[host]
mtu = "1 KiB"
[switch]
flow_control = "pause"
[switch.pause]
xoff = "8 KiB"
xon = "4 KiB"
[[traffic]]
pattern = { hot-spot = { hosts = ["H(1,1).0"], fraction = 0.5 } }
injection = "poisson"
load = 0.4
message = "4 KiB"
[run]
warmup = "5 us"
duration = "30 us"
"#;

/// A fat tree with adaptive routing and congestion control.
const TREE: &str = r#"
topology.fat-tree = { arity = 3, levels = 2 }
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "4 KiB"
[routing]
algorithm = "up-down-adaptive"
[host]
mtu = "512 B"
[congestion_control]
algorithm = "infiniband"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "2 KiB"
[run]
warmup = "5 us"
duration = "30 us"
drain = "measured"
[measure]
flows = "pairs"
"#;

/// Experiments, and a time at which something fails in them.
const CASES: [(&str, Time); 4] =
    [(TORUS, Time::us(13)), (MESH, Time::us(11)), (TREE, Time::us(9)), (ALL, Time::us(3))];

fn warm(text: &str, overrides: &[(&str, &str)], until: Time) -> Running {
    let mut run = Run::with_feed(Arc::new(prepare(text, overrides)), &Control::default());
    assert_eq!(run.advance_to(until, &Control::default()), Stop::Reached);
    run
}

fn to_the_end(mut run: Running) -> String {
    run.advance_to(Time::MAX, &Control::default());
    let outcome = run.finish(&Control::default());
    balanced(&outcome);
    everything(&outcome)
}

/// A plan of two failures, of a link between switches and of a switch, after another one in all cases.
fn plans(text: &str, at: Time) -> [String; 3] {
    let graph = prepare(text, &[]).graph;
    let is_between = |link: &LinkId| graph.links[link.index()].class != LinkClass::Host;
    let mut links = (0..graph.links.len() as u32).map(LinkId).filter(is_between);
    let mut link = || format!("link = {:?}", graph.link_name(links.next().unwrap()));
    let before = format!("{{ {}, at = '1 us', until = '2 us' }}", link());
    let switch = format!("switch = {:?}", graph.switches[graph.switches.len() / 2].name);
    let with = |name: &str| format!("[{before}, {{ {name}, at = '{} ps' }}]", at.0);
    [format!("[{before}]"), with(&link()), with(&switch)]
}

/// Each failure in a copy of the run without it, or with another one, has the results of a run of its own, to the bit.
#[test]
fn copies_with_failures_are_like_runs_with_them() {
    for (number, (text, at)) in CASES.into_iter().enumerate() {
        let [none, link, switch] = plans(text, at);
        let alone = [&none, &link, &switch].map(|plan| everything(&run(text, &limited(plan, "2"))));
        assert!(alone[0] != alone[1] && alone[1] != alone[2], "case {number}: failures have an effect");
        // At the last picosecond before the failure, and long before.
        let last = at - Time::ps(1);
        for (partitions, base, until) in [("1", &none, Time::us(2)), ("1", &link, last), ("3", &none, last)] {
            let from = warm(text, &limited(base, partitions), until);
            for (plan, alone) in [&none, &link, &switch].into_iter().zip(&alone) {
                let experiment = prepare(text, &limited(plan, partitions)).experiment;
                let copy = from.fork_with(experiment, "test.toml").unwrap().0;
                assert!(
                    to_the_end(copy) == *alone,
                    "case {number}, {partitions} partitions, {plan} from {base}"
                );
            }
        }
    }
}

/// A ring of which every packet crosses the link that fails, with windows of congestion control.
const RING: &str = r#"
topology.ring = { switches = 4 }
switch.virtual_lanes = 2
transport.timeout = "5 us"
[[traffic]]
pattern = "tornado"
injection = "saturating"
message = "16 KiB"
[run]
warmup = "10 us"
duration = "40 us"
"#;

/// The same from a run in which nothing fails or loses packets: windows get over losses that only the copy has.
#[test]
fn copies_of_a_run_without_failures_are_like_runs_with_one() {
    let algorithms =
        ["swift", "hpcc", "nscc", "dcqcn", "none"].map(|name| ("congestion_control.algorithm", name));
    let rings = algorithms.iter().map(|&control| (RING, Time::us(10), vec![control]));
    let others = CASES.iter().map(|&(text, at)| (text, at, Vec::new()));
    for (text, at, control) in rings.chain(others) {
        let graph = prepare(text, &[]).graph;
        let link = graph.links.iter().position(|link| link.class != LinkClass::Host).unwrap();
        let name = graph.link_name(LinkId(link as u32));
        let (from, to) = (at.0, at.0 + 10_000_000);
        let plan = format!("[{{ link = {name:?}, at = '{from} ps', until = '{to} ps' }}]");
        let with = |plan| [&limited(plan, "2")[..], &control].concat();
        let alone = everything(&run(text, &with(&plan)));
        assert!(alone != everything(&run(text, &with("[]"))), "{control:?}: the failure has an effect");
        let from = warm(text, &with("[]"), at - Time::ps(1));
        let copy = from.fork_with(prepare(text, &with(&plan)).experiment, "test.toml").unwrap().0;
        assert!(to_the_end(copy) == alone, "{control:?}");
    }
}

/// Drains end soon, also if transports repeat for ever what is lost.
fn limited<'a>(plan: &'a str, partitions: &'a str) -> [(&'a str, &'a str); 3] {
    [("faults.plan", plan), ("run.partitions", partitions), ("run.drain_limit", "5 us")]
}

/// Routes around the failure, which the copy finds itself.
#[test]
fn copies_have_routes_around_failures() {
    let at = Time::us(13);
    let [none, link, switch] = plans(TORUS, at);
    let of = |plan| [("faults.plan", plan), ("faults.reroute_after", "\"700 ns\"")];
    let from = warm(TORUS, &of(&none), at - Time::ps(1));
    let stay = everything(&run(TORUS, &[("faults.plan", &link)]));
    for plan in [&link, &switch] {
        let alone = everything(&run(TORUS, &of(plan)));
        assert!(alone != stay);
        let copy = from.fork_with(prepare(TORUS, &of(plan)).experiment, "test.toml").unwrap().0;
        assert!(to_the_end(copy) == alone, "{plan}");
    }
}

/// What is done to one has no effect on the other, whichever goes on first.
#[test]
fn copies_are_independent() {
    let disturb = |run: &mut Running| {
        let session = run.session();
        let at = session.now();
        session.configure(Change::Traffic { host: HostId(3), sends: false }).unwrap();
        session.configure(Change::Link { link: LinkId(20), works: false }).unwrap();
        let message = Injection { source: HostId(1), destination: HostId(7), bytes: 100_000, stream: 0, at };
        session.inject(message).unwrap();
    };
    for partitions in ["1", "3"] {
        let overrides = [("run.partitions", partitions)];
        let alone = everything(&run(TORUS, &overrides));
        let alone_disturbed = {
            let mut run = warm(TORUS, &overrides, Time::us(10));
            disturb(&mut run);
            to_the_end(run)
        };
        assert!(alone != alone_disturbed);
        let run = warm(TORUS, &overrides, Time::us(10));
        let mut copy = run.clone();
        disturb(&mut copy);
        copy.advance_to(Time::us(20), &Control::default());
        let copy_of_copy = copy.clone();
        assert!(to_the_end(run.clone()) == alone, "{partitions} partitions");
        assert!(to_the_end(copy) == alone_disturbed, "{partitions} partitions");
        assert!(to_the_end(run) == alone && to_the_end(copy_of_copy) == alone_disturbed);
    }
}

/// Events that were collected before belong to both.
#[test]
fn copies_have_the_events_so_far() {
    let mut run = warm(MESH, &[], Time::us(6));
    let all =
        Subscription { deliveries: true, marks: true, completions: true, losses: true, capacity: 1 << 20 };
    run.session().subscribe(all);
    run.advance_to(Time::us(8), &Control::default());
    let mut copy = run.clone();
    let first = copy.session().events();
    assert!(first.first.len() > 20);
    assert_eq!(first, run.session().events());
    copy.session().unsubscribe();
    run.advance_to(Time::us(9), &Control::default());
    copy.advance_to(Time::us(9), &Control::default());
    assert!(run.session().events().first.len() > 5 && copy.session().events().first.is_empty());
    assert_eq!(
        run.session().snapshot(Extent::Everything).totals,
        copy.session().snapshot(Extent::Everything).totals
    );
}

/// Only failures to come may differ.
#[test]
fn experiments_that_differ_in_the_past_are_refused() {
    let [none, link, _] = plans(TORUS, Time::us(13));
    let from = warm(TORUS, &[("faults.plan", &none)], Time::us(13));
    let refused = |overrides: &[(&str, &str)]| {
        from.fork_with(prepare(TORUS, overrides).experiment, "test.toml").err().map(|error| error.to_string())
    };
    assert_eq!(refused(&[("faults.plan", &none)]), None);
    let differs = |key| {
        Some(format!(
            "`{key}` differs from that of the run that is copied: a copy may differ in `faults.plan` and \
             `faults.reroute_after` only"
        ))
    };
    assert_eq!(refused(&[("faults.plan", &none), ("seed", "7")]), differs("seed"));
    assert_eq!(refused(&[("faults.plan", &none), ("traffic.0.load", "0.4")]), differs("traffic"));
    for plan in [&link[..], "[]", &none.replace("2 us", "3 us"), &none.replace("1 us", "1001 ns")] {
        let message = refused(&[("faults.plan", plan)]).unwrap();
        assert!(
            message.starts_with("faults.plan: a run with these failures is in another state at 13 us"),
            "{message}"
        );
    }
    assert!(refused(&[("faults.plan", &none), ("faults.waiting", "hold")]).is_some());
    let unknown = fabricsim_spec::read(
        &TORUS.replace("[run]", "[[faults.plan]]\nlink = 'S(9,9)-S(0,0)'\nat = '20 us'\n[run]"),
        "test.toml",
        &[],
    );
    let error = from.fork_with(unknown.unwrap(), "test.toml").err().unwrap();
    assert!(matches!(error, ForkError::Prepare(_)), "{error}");
    assert!(error.to_string().contains("S(9,9)-S(0,0)"), "{error}");
}

/// A run in which nothing is left to happen ends; one in which something will fail does not.
#[test]
fn failures_to_come_change_a_run_without_events() {
    let jobs = TORUS
        .replace("[[traffic]]", "[[jobs]]\nranks = 4\nprogram = { barrier = {} }\n[[traffic]]\nmessages = 1");
    let at = Time::us(30);
    let [none, link, _] = plans(&jobs, at);
    let of = |plan| [("faults.plan", plan)];
    let experiment = |plan| prepare(&jobs, &of(plan)).experiment;
    // It is idle, and has not come to the next of its checkpoints.
    let mut ended = Run::with_feed(Arc::new(prepare(&jobs, &of(&none))), &Control::default());
    assert_eq!(ended.advance_to(Time::us(25), &Control::default()), Stop::Ended);
    assert!(matches!(ended.fork_with(experiment(&link), "test.toml"), Err(ForkError::Past { .. })));
    assert!(ended.fork_with(experiment(&none), "test.toml").is_ok());
    let other = link.replace("30000000 ps", "28 us");
    let waits = warm(&jobs, &of(&other), Time::us(25));
    assert!(matches!(waits.fork_with(experiment(&none), "test.toml"), Err(ForkError::Past { .. })));
    let copy = waits.fork_with(experiment(&link), "test.toml").unwrap().0;
    assert!(to_the_end(copy) == everything(&run(&jobs, &of(&link))));
}

#[test]
fn copies_need_memory() {
    let prepared = prepare(TORUS, &[]);
    assert_eq!(permit_copy(&prepared, None, "test.toml"), Ok(()));
    let error = permit_copy(&prepared, Some(1 << 10), "test.toml").unwrap_err().to_string();
    assert!(error.contains("1.0 KiB are allowed"), "{error}");
}
