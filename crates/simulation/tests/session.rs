//! A run controlled by its caller: advanced in steps, with injected messages, snapshots and changes.

mod injections;

use crate::common::{ALL, DEADLOCKING_RING, everything, prepare, run};
use fabricsim_analysis::{Reason, find_deadlock, waits};
use fabricsim_engine::{BufferKind, Extent, Prepared, Snapshot};
use fabricsim_session::{Change, Subscription};
use fabricsim_simulation::{Control, Outcome, Run, Status, Stop, describe};
use fabricsim_units::{HostId, Time};

const PARTITIONS: [&str; 4] = ["1", "2", "3", "7"];

/// A mesh without a transport.
const MESH: &str = r#"
[topology.mesh]
dimensions = [4, 3]
hosts_per_switch = 2
[links.all]
rate = "32 Gb/s"
buffer = "4 KiB"
[switch]
virtual_lanes = 2
[host]
mtu = "512 B"
[[traffic]]
name = "background"
pattern = "uniform"
injection = "poisson"
load = 0.3
message = "1 KiB"
[run]
warmup = "2 us"
duration = "20 us"
drain = "measured"
[measure]
flows = "pairs"
"#;

const ALLOWED: (&str, &str) = ("run.allow_deadlock", "true");

fn prepared(text: &str, partitions: &str, overrides: &[(&str, &str)]) -> Prepared {
    let mut all = overrides.to_vec();
    all.push(("run.partitions", partitions));
    prepare(text, &all)
}

/// Steps of random length.
struct Steps(u64);

impl Steps {
    fn next(&mut self, most: Time) -> Time {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Time(1 + (self.0 >> 20) % most.0)
    }
}

/// Advances in random steps to `end`, looks into the fabric on the way, and ends the run there.
fn in_steps(prepared: &Prepared, end: Time, seed: u64) -> Outcome {
    let control = Control::default();
    let mut run = Run::new(prepared, &control);
    let mut steps = Steps(seed);
    let most = Time(end.0 / 5 + 1);
    while run.session().now() < end && !run.is_over() {
        let until = (run.session().now() + steps.next(most)).min(end);
        let stop = run.advance_to(until, &control);
        assert!(stop == Stop::Ended || run.session().now() == until, "{stop:?}");
        balances(&run.session().snapshot(Extent::Everything));
    }
    run.finish(&control)
}

/// The counts of the snapshot add up.
fn balances(snapshot: &Snapshot) {
    let staged = snapshot.queues.iter().filter(|queue| matches!(queue.place, BufferKind::Staged(_)));
    let staged: usize = staged.map(|queue| snapshot.packets(queue).len()).sum();
    let packets: u64 = snapshot.lanes.iter().map(|lane| u64::from(lane.packets)).sum();
    assert_eq!(packets + staged as u64, snapshot.totals.in_flight);
    assert!(snapshot.queued() as u64 <= snapshot.totals.in_flight);
    assert!(snapshot.totals.is_balanced());
    for (place, lane) in snapshot.lanes.iter().enumerate() {
        assert!(lane.free + lane.returning <= lane.capacity, "{place}: {lane:?}");
    }
    for queue in &snapshot.queues {
        assert!(snapshot.packets(queue)[0].source == queue.head.source);
        if queue.place == BufferKind::Input {
            let lane = snapshot.lane(queue.input, queue.lane).unwrap();
            assert!(lane.blocks >= queue.blocks);
            assert_eq!(lane.free + lane.returning + lane.blocks, lane.capacity, "{lane:?}");
        }
    }
}

#[test]
fn a_run_in_random_steps_is_the_same_as_one_without() {
    let steady = [("run.steady_state", "{ precision = 0.9 }")];
    let staged = [("switch.queueing", "\"cioq\""), ("switch.staging.buffer", "\"2 KiB\"")];
    let cases: [(&str, &[(&str, &str)]); 5] = [
        (ALL, &[("run.drain", "empty")]),
        (MESH, &[]),
        (MESH, &steady),
        (MESH, &staged),
        (DEADLOCKING_RING, &[ALLOWED]),
    ];
    for (number, (text, overrides)) in cases.into_iter().enumerate() {
        let alone = run(text, overrides);
        for (seed, partitions) in PARTITIONS.into_iter().enumerate() {
            let prepared = prepared(text, partitions, overrides);
            let found = in_steps(&prepared, alone.end, seed as u64);
            assert!(everything(&found) == everything(&alone), "case {number} in {partitions} partitions");
        }
    }
}

#[test]
fn jobs_end_a_run_in_steps_as_they_do_without() {
    let text =
        MESH.replace("[run]", "[[jobs]]\nranks = 4\niterations = 3\nprogram = { barrier = {} }\n[run]");
    let overrides = [("traffic.0.messages", "2")];
    let alone = run(&text, &overrides);
    assert!(alone.end < Time::us(22), "the jobs end it: {}", alone.end);
    for (seed, partitions) in PARTITIONS.into_iter().enumerate() {
        let prepared = prepared(&text, partitions, &overrides);
        // Far beyond the end.
        let found = in_steps(&prepared, Time::us(60), seed as u64);
        assert!(everything(&found) == everything(&alone), "{partitions} partitions");
    }
}

#[test]
fn a_run_that_is_stopped_goes_on() {
    let prepared = prepare(MESH, &[("run.duration", "\"3 ms\"")]);
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    control.cancel();
    assert_eq!(run.advance_to(Time::MAX, &control), Stop::Stopped);
    let now = run.session().now();
    assert!(now < Time::ms(3) && !run.is_over());
    let again = Control::default();
    assert_eq!(run.advance_to(Time::MAX, &again), Stop::Ended);
    let found = run.finish(&again);
    let alone = crate::common::run(MESH, &[("run.duration", "\"3 ms\"")]);
    assert!(everything(&found) == everything(&alone));
}

#[test]
fn a_run_that_ends_early_is_interrupted_and_adds_up() {
    let prepared = prepare(MESH, &[]);
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    assert_eq!(run.advance_to(Time::us(7), &control), Stop::Reached);
    assert_eq!(run.advance_to(Time::us(5), &control), Stop::Reached, "the past is no reason to stop");
    let outcome = run.finish(&control);
    assert_eq!((outcome.status, outcome.end), (Status::Interrupted, Time::us(7)));
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok);
    assert!(outcome.summary.hosts.packets > 0);
}

#[test]
fn a_run_goes_on_beyond_its_end() {
    let prepared = prepare(MESH, &[]);
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    assert_eq!(run.advance_to(Time::ms(1), &control), Stop::Ended);
    let (end, packets) = (run.session().now(), run.session().totals().delivered);
    assert_eq!(run.advance_to(Time::us(60), &control), Stop::Reached);
    assert!(run.session().totals().delivered > packets);
    let (outcome, alone) = (run.finish(&control), crate::common::run(MESH, &[]));
    assert_eq!((alone.end, outcome.end, outcome.status), (end, Time::us(60), Status::Ok));
    assert_eq!(outcome.summary.hosts.packets, alone.summary.hosts.packets, "the measurement is the same");
}

const EVENTS: Subscription =
    Subscription { deliveries: true, marks: true, completions: true, losses: true, capacity: 1_000_000 };

#[test]
fn a_host_that_is_stopped_sends_nothing_until_it_is_resumed() {
    let of = |partitions| {
        let prepared = prepared(MESH, partitions, &[]);
        let control = Control::default();
        let mut run = Run::new(&prepared, &control);
        let host = HostId(5);
        let sent = |run: &mut Run<&Prepared>| run.session().snapshot(Extent::Everything).hosts[5].clone();
        run.advance_to(Time::us(5), &control);
        run.session().configure(Change::Traffic { host, sends: false }).unwrap();
        run.advance_to(Time::us(8), &control);
        let stopped = sent(&mut run);
        assert!(stopped.is_stopped && stopped.messages.is_empty());
        run.advance_to(Time::us(12), &control);
        assert_eq!(sent(&mut run).sent, stopped.sent);
        run.session().configure(Change::Traffic { host, sends: true }).unwrap();
        run.advance_to(Time::us(15), &control);
        assert!(sent(&mut run).sent > stopped.sent);
        run.advance_to(Time::ms(1), &control);
        everything(&run.finish(&control))
    };
    let alone = of("1");
    for partitions in &PARTITIONS[1..] {
        assert!(of(partitions) == alone, "{partitions} partitions");
    }
}

#[test]
fn a_snapshot_has_the_deadlock_that_the_run_finds() {
    for queueing in ["\"fifo\"", "\"voq\""] {
        for partitions in PARTITIONS {
            let prepared = prepared(DEADLOCKING_RING, partitions, &[ALLOWED, ("switch.queueing", queueing)]);
            let control = Control::default();
            let mut run = Run::new(&prepared, &control);
            assert_eq!(run.find_deadlock(), None);
            assert_eq!(run.advance_to(Time::MAX, &control), Stop::Ended);
            assert_eq!(run.status(), Some(Status::Deadlock));
            let found = run.find_deadlock().unwrap();
            assert_eq!(found, run.deadlock());
            let snapshot = run.session().snapshot(Extent::Everything);
            balances(&snapshot);
            let cycle = find_deadlock(&snapshot).unwrap().cycle;
            assert_eq!(cycle.len(), 6);
            let waits = waits(&snapshot);
            assert!(waits.iter().filter(|wait| wait.reason == Reason::Credits).count() >= 6, "{waits:?}");
            assert_eq!(run.finish(&control).deadlock, found);
        }
    }
}

#[test]
fn the_first_events_are_kept_and_the_others_counted() {
    let of = |partitions, capacity| {
        let prepared = prepared(MESH, partitions, &[]);
        let control = Control::default();
        let mut run = Run::with_feed(&prepared, &control);
        run.session().subscribe(Subscription { capacity, ..EVENTS });
        run.advance_to(Time::us(10), &control);
        let events = run.session().events();
        run.session().unsubscribe();
        run.advance_to(Time::us(12), &control);
        assert_eq!(run.session().events().first, []);
        events
    };
    let all = of("1", 1_000_000);
    assert!(all.missed == 0 && all.first.len() > 500, "{} events", all.first.len());
    assert!(all.first.is_sorted_by_key(|event| event.time));
    for partitions in PARTITIONS {
        let some = of(partitions, 100);
        assert!(some.first == all.first[..100], "{partitions} partitions");
        assert_eq!(some.missed, all.first.len() as u64 - 100);
        assert_eq!(of(partitions, 0).missed, all.first.len() as u64);
    }
}

#[test]
fn a_subscription_changes_nothing() {
    let prepared = prepare(ALL, &[]);
    let control = Control::default();
    let mut run = Run::with_feed(&prepared, &control);
    run.session().subscribe(EVENTS);
    run.advance_to(Time::MAX, &control);
    assert!(everything(&run.finish(&control)) == everything(&crate::common::run(ALL, &[])));
}

/// The estimate of a run's memory has room for the snapshots of a saturated network. It is for full buffers, which few networks have.
#[test]
fn the_memory_of_snapshots_is_estimated() {
    let text = |topology: &str, traffic: &str| {
        format!(
            "topology = {{ {topology} }}\nlinks.all = {{ rate = '8 Gb/s', buffer = '8 KiB' }}\nhost.mtu = '1 KiB'\n\
             [[traffic]]\npattern = 'uniform'\nmessage = '1 KiB'\n{traffic}\n[run]\nduration = '1 ms'"
        )
    };
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("mesh = { dimensions = [8, 8] }", &[]),
        ("mesh = { dimensions = [8, 8] }", &[("switch.queueing", "fifo"), ("switch.virtual_lanes", "4")]),
        ("fat-tree = { arity = 4, levels = 3 }", &[("switch.virtual_lanes", "2")]),
        ("single-switch = { hosts = 64 }", &[]),
    ];
    for (topology, overrides) in cases {
        let idle = describe(&prepared(&text(topology, "load = 0.1"), "1", overrides)).memory;
        let prepared = prepared(&text(topology, "injection = 'saturating'"), "1", overrides);
        let estimate = describe(&prepared).memory - idle;
        let mut run = Run::new(&prepared, &Control::default());
        run.advance_to(Time::us(500), &Control::default());
        let snapshot = run.session().snapshot(Extent::Queues).bytes() as u64;
        println!("{topology} {overrides:?}: estimate {estimate}, snapshot {snapshot}");
        assert!(snapshot > 10_000 && snapshot <= estimate, "{topology}: {snapshot} of {estimate}");
        assert!(estimate < 16 * snapshot, "{topology}: {snapshot} of {estimate}");
    }
}
