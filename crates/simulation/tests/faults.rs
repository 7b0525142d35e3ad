//! Links and switches that fail while traffic flows, against counts by hand, and in every number of partitions.

use crate::common::{ALL, balanced, everything, prepare, run, try_prepare};
use fabricsim_model::LossCause;
use fabricsim_session::{Change, ChangeError, EventKind, Subscription};
use fabricsim_simulation::{Control, Outcome, Run, Status};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId, Time};

/// Two switches in a line, a host each; 1 packet of 1000 bytes takes 1 us, of which the link between the switches takes 10 us.
const LINE: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "64 KiB"
[links.dimension.x]
latency = "10 us"
[switch]
flow_control_unit = "8 B"
router_delay = "100 ns"
[host]
mtu = "1000 B"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "1000 B"
[run]
duration = "100 us"
drain = "empty"
"#;

/// A torus with shortest paths and traffic from all to all.
pub(crate) const TORUS: &str = r#"
topology.torus = { dimensions = [4, 4], hosts_per_switch = 1 }
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "4 KiB"
[switch]
virtual_lanes = 8
router_delay = "50 ns"
[routing]
algorithm = "shortest-path"
lane_policy = "hops"
[host]
mtu = "256 B"
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.3
message = "1 KiB"
[run]
duration = "40 us"
drain = "empty"
"#;

/// An experiment, its plan, and other changes.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

fn lost(outcome: &Outcome) -> (u64, u64) {
    (outcome.invariants.lost.link_failed, outcome.invariants.lost.switch_failed)
}

/// The n-th packet (from 0) leaves its host at n us, can be sent on at n us + 200 ns, and its head is at the other switch 10 us later.
/// The link fails at 50.5 us: packets 0 to 40 have arrived with their heads (the last at 50.2 us); those that left the first switch
/// since, 41 to 50, are lost. From then on each is lost as it comes to the switch, up to number 69, which comes at 69.2 us. The link
/// is back at 70 us: number 70 comes at 70.2 us and is delivered, and so are all that follow.
#[test]
fn lost_packets_are_counted_by_hand() {
    let plan = ("faults.plan", r#"[{ link = "S(0)-S(1)", at = "50500 ns", until = "70 us" }]"#);
    let outcome = run(LINE, &[plan]);
    balanced(&outcome);
    assert_eq!((outcome.totals.injected, lost(&outcome)), (100, (29, 0)));
    let never = ("faults.plan", r#"[{ link = "S(0)-S(1)", at = "50500 ns" }]"#);
    assert_eq!(lost(&run(LINE, &[never])), (100 - 41, 0));
}

/// Held packets wait until the link is back; those on it are lost all the same.
#[test]
fn held_packets_are_delivered_later() {
    let plan = ("faults.plan", r#"[{ link = "S(1)-S(0)", at = "50500 ns", until = "70 us" }]"#);
    let outcome = run(LINE, &[plan, ("faults.waiting", "\"hold\"")]);
    balanced(&outcome);
    // 19 packets' times pass, in which the buffer of 65 packets has room for what the host sends.
    assert_eq!((outcome.totals.injected, lost(&outcome), outcome.status), (100, (10, 0), Status::Ok));
    let small = ("links.hosts", r#"{ buffer = "2000 B" }"#);
    let outcome = run(LINE, &[plan, ("faults.waiting", "\"hold\""), small]);
    balanced(&outcome);
    // The host waits as well: two packets fill the buffer.
    assert_eq!(lost(&outcome), (10, 0));
    assert!(outcome.totals.injected < 85, "{}", outcome.totals.injected);
    let never = ("faults.plan", r#"[{ link = "S(1)-S(0)", at = "50500 ns" }]"#);
    let outcome = run(LINE, &[never, ("faults.waiting", "\"hold\""), ("run.drain_limit", "\"1 ms\"")]);
    balanced(&outcome);
    assert_eq!((lost(&outcome), outcome.totals.in_flight), ((10, 0), 49));
    assert!(outcome.warnings.iter().any(|line| line.contains("failed links")), "{:?}", outcome.warnings);
}

/// A host's own link: the packet that has begun to arrive at the switch is received, and the host waits with all others. (The switch
/// reads the link for 100 ns before the packet's head is there.)
#[test]
fn a_host_waits_for_its_own_link() {
    let plan = ("faults.plan", r#"[{ link = "H(0).0-S(0)", at = "50500 ns", until = "70500 ns" }]"#);
    let outcome = run(LINE, &[plan]);
    balanced(&outcome);
    assert_eq!((outcome.totals.injected, lost(&outcome)), (81, (0, 0)));
    let on_the_wire = ("faults.plan", r#"[{ link = "H(0).0-S(0)", at = "50050 ns", until = "70500 ns" }]"#);
    assert_eq!(lost(&run(LINE, &[on_the_wire])), (1, 0));
}

/// The receiver's link: what is on it, and what the switch routes to it.
#[test]
fn packets_for_a_host_that_is_cut_off_are_lost() {
    // The head of number n is at its host at n us + 10.4 us: number 40 is received.
    let plan = ("faults.plan", r#"[{ link = "H(1).0-S(1)", at = "50500 ns" }]"#);
    let outcome = run(LINE, &[plan]);
    balanced(&outcome);
    assert_eq!((outcome.totals.injected, lost(&outcome)), (100, (59, 0)));
}

/// Everything in a switch is lost with it, and its hosts wait.
#[test]
fn a_switch_loses_what_is_in_its_buffers() {
    let slow = ("links.dimension", r#"{ x = { rate = "4 Gb/s", latency = "10 us" } }"#);
    let failing =
        |switch: &str| format!("[{{ switch = \"{switch}\", at = \"50500 ns\", until = \"70500 ns\" }}]");
    // The first switch sends 25 packets, with 26 in it or coming in; the link carries 5 of those sent.
    let outcome = run(LINE, &[slow, ("faults.plan", &failing("S(0)"))]);
    balanced(&outcome);
    let (on_links, inside) = lost(&outcome);
    assert_eq!((on_links, inside, outcome.totals.injected), (5, 25, 81));
    let outcome = run(LINE, &[slow, ("faults.plan", &failing("S(1)")), ("faults.waiting", "\"hold\"")]);
    balanced(&outcome);
    // The second switch is as fast as the link: one packet comes in, one goes out. The sender's switch takes all others.
    let (on_links, inside) = lost(&outcome);
    assert_eq!((on_links, outcome.totals.injected), (5, 100));
    assert!(inside <= 2, "{inside}");
}

/// A link of a switch that comes back before the link does is held, or discards, as any other failed link.
#[test]
fn a_switch_that_is_back_keeps_its_failed_links() {
    let plan = (
        "faults.plan",
        r#"[{ link = "S(0)-S(1)", at = "10 us", until = "60 us" }, { switch = "S(0)", at = "20500 ns", until = "40500 ns" }]"#,
    );
    let held = run(LINE, &[plan, ("faults.waiting", "\"hold\"")]);
    balanced(&held);
    // Lost are 10 on the link at 10 us, and with the switch 11 in it (numbers 10 to 20).
    assert_eq!((lost(&held), held.totals.injected), ((10, 11), 81));
    let discarded = run(LINE, &[plan]);
    balanced(&discarded);
    // Here the 11 are lost one by one, and so are those that come from 40.7 to 59.7 us.
    assert_eq!(lost(&discarded), (10 + 11 + 20, 0));
}

/// After the change of routes nothing is lost; without it, losses go on.
#[test]
fn changed_routes_avoid_the_failed_link() {
    let plan = ("faults.plan", r#"[{ link = "S(0,0)-S(1,0)", at = "10 us" }]"#);
    let quick = run(TORUS, &[plan, ("faults.reroute_after", "\"1 us\"")]);
    let slow = run(TORUS, &[plan, ("faults.reroute_after", "\"10 us\"")]);
    let never = run(TORUS, &[plan]);
    for outcome in [&quick, &slow, &never] {
        balanced(outcome);
        assert_eq!(outcome.status, Status::Ok);
    }
    let losses = [&quick, &slow, &never].map(|outcome| lost(outcome).0);
    assert!(losses[0] > 0 && losses[0] * 4 < losses[1] && losses[1] * 2 < losses[2], "{losses:?}");
    // Rates are constant: losses are in proportion to the times 1, 10 and 30 us, and Poisson.
    let rate = losses[2] as f64 / 30.0;
    let near = |count: u64, time: f64| (count as f64 - rate * time).abs() < 5.0 * (rate * time * 4.0).sqrt();
    assert!(near(losses[0], 1.0) && near(losses[1], 10.0), "{losses:?}");
}

/// Packets for the hosts of a failed switch end at it, by old routes or new ones: they do not go to and fro between other switches.
#[test]
fn packets_for_a_failed_switch_do_not_circle() {
    let changes = [
        ("topology", "{ grid = { dimensions = [3, 3], wrap = [true, false] } }"),
        ("links.all.buffer", "\"64 B\""),
        ("switch.virtual_lanes", "6"),
        ("host.mtu", "\"64 B\""),
        ("traffic.0.message", "\"64 B\""),
        ("faults.plan", r#"[{ switch = "S(1,2)", at = "200 ns" }]"#),
        ("faults.reroute_after", "\"600 ns\""),
    ];
    let outcome = run(TORUS, &changes);
    balanced(&outcome);
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.deadlock);
    let lost = outcome.invariants.lost;
    assert!(lost.link_failed > 100, "{lost:?}");
}

/// A plan for a link that no packet takes, or after the end, changes nothing, though the switches do all that failures need.
#[test]
fn failures_of_unused_links_change_nothing() {
    let plain = run(LINE, &[]);
    let plan = r#"[{ link = "H(0).0-S(0)", at = "10 ms" }]"#;
    assert_eq!(run(LINE, &[("faults.plan", plan)]).totals.fingerprint, plain.totals.fingerprint);
    let three = ("topology", "{ mesh = { dimensions = [3], hosts_per_switch = 1 } }");
    let plan = ("faults.plan", r#"[{ link = "S(1)-S(2)", at = "0 s" }]"#);
    let (with, without) = (run(LINE, &[three, plan]), run(LINE, &[three]));
    assert_eq!(with.totals.fingerprint, without.totals.fingerprint);
}

/// Every kind of switch, buffer and host, with failures all along; the same in every number of partitions, and all credits are back.
#[test]
fn failures_are_the_same_in_every_number_of_partitions() {
    let torus = r#"[{ link = "S(0,0)-S(1,0)", at = "3 us", until = "9 us" }, { switch = "S(2,2)", at = "5 us", until = "12 us" },
                   { link = "S(0,0)-S(1,0)", at = "11 us", until = "12 us" }, { link = "S(3,3)-H(3,3).0", at = "5 us" }]"#;
    let dragonfly = r#"[{ link = "R(0,0)-R(0,1)", at = "1 us", until = "3 us" }, { switch = "R(3,2)", at = "2 us", until = "4 us" },
                       { link = "R(2,1)-H(2,1).0", at = "1500 ns", until = "2 us" }]"#;
    let cases: [Case<'_>; 9] = [
        (TORUS, torus, &[("faults.reroute_after", "\"500 ns\"")]),
        (TORUS, torus, &[("faults.waiting", "\"hold\"")]),
        (TORUS, torus, &[("switch.queueing", "\"voq\""), ("switch.arbiter", "\"oldest-first\"")]),
        (TORUS, torus, &[("switch.queueing", "\"cioq\""), ("switch.staging", "{ buffer = \"1 KiB\" }")]),
        (TORUS, torus, &[("host.sink", "{ rate = \"16 Gb/s\" }")]),
        (
            TORUS,
            torus,
            &[
                ("congestion_control.algorithm", "\"hpcc\""),
                ("congestion_control.base_rtt", "\"1 us\""),
                ("faults.reroute_after", "\"2 us\""),
            ],
        ),
        (
            TORUS,
            torus,
            &[
                ("congestion_control.algorithm", "\"infiniband\""),
                ("congestion_control.infiniband.threshold", "12"),
            ],
        ),
        (ALL, dragonfly, &[]),
        (ALL, dragonfly, &[("faults.waiting", "\"hold\"")]),
    ];
    for (number, (text, plan, more)) in cases.into_iter().enumerate() {
        let of = |partitions: &str| {
            let mut all = more.to_vec();
            all.extend([
                ("faults.plan", plan),
                ("run.partitions", partitions),
                ("run.drain_limit", "\"60 us\""),
            ]);
            run(text, &all)
        };
        let alone = of("1");
        balanced(&alone);
        let (on_links, inside) = lost(&alone);
        assert!(on_links + inside > 0, "case {number}");
        for partitions in ["2", "3", "7"] {
            assert!(
                everything(&of(partitions)) == everything(&alone),
                "case {number} in {partitions} partitions"
            );
        }
    }
}

/// With a transport that retransmits, every message is complete in the end.
#[test]
fn a_transport_recovers_what_failures_lose() {
    let transport = ("transport", r#"{ mode = "ordered", timeout = "5 us", lifetime = "40 us" }"#);
    let traffic = (
        "traffic",
        r#"[{ pattern = "uniform", injection = "saturating", messages = 20, message = "1 KiB" }]"#,
    );
    let plan = (
        "faults.plan",
        r#"[{ link = "S(0,0)-S(1,0)", at = "3 us", until = "9 us" }, { switch = "S(2,2)", at = "5 us", until = "12 us" }]"#,
    );
    for waiting in ["\"discard\"", "\"hold\""] {
        let outcome = run(
            TORUS,
            &[transport, traffic, plan, ("faults.waiting", waiting), ("run.duration", "\"1 ms\"")],
        );
        balanced(&outcome);
        let (on_links, inside) = lost(&outcome);
        assert!(on_links + inside > 0);
        assert_eq!((outcome.status, outcome.totals.in_flight, outcome.warnings.len()), (Status::Ok, 0, 0));
        let counts = outcome.summary.transport.as_ref().map(|counts| counts.messages);
        assert_eq!(counts, Some(20 * 16), "{waiting}");
    }
}

#[test]
fn what_cannot_be_routed_around_is_an_error() {
    let error = |overrides: &[(&str, &str)]| try_prepare(TORUS, overrides).unwrap_err();
    let plan = ("faults.plan", r#"[{ link = "S(0,0)-S(1,0)", at = "3 us" }]"#);
    let after = ("faults.reroute_after", "\"1 us\"");
    let message = error(&[plan, after, ("routing", "{ algorithm = \"dimension-order\" }")]);
    assert!(message.contains("faults.reroute_after: the routing algorithm does not find"), "{message}");
    // Nor for the failures that a session may add.
    let message = error(&[("faults.plan", "[]"), after, ("routing", "{ algorithm = \"dimension-order\" }")]);
    assert!(message.contains("faults.reroute_after: the routing algorithm does not find"), "{message}");
    // 4 lanes are enough for the torus' longest route of 4 links; around both links of a corner's row the way is longer.
    let more = r#"[{ link = "S(0,0)-S(1,0)", at = "3 us" }, { link = "S(0,0)-S(3,0)", at = "3 us" }, { link = "S(0,0)-S(0,1)", at = "3 us" }]"#;
    let message = error(&[("faults.plan", more), after, ("switch.virtual_lanes", "4")]);
    assert!(message.contains("\"hops\" needs 5 virtual lanes in each service class"), "{message}");
    let unknown = error(&[("faults.plan", r#"[{ link = "S(0,0)-S(2,2)", at = "3 us" }]"#)]);
    assert!(unknown.contains("faults.plan.0.link"), "{unknown}");
    assert!(prepare(TORUS, &[plan, after]).faults.changes.len() == 2);
}

/// A caller who makes the changes of a plan gets the run of the plan, to the bit; and hears of each lost packet.
#[test]
fn changes_of_a_session_are_those_of_a_plan() {
    let plan = r#"[{ link = "S(0,0)-S(1,0)", at = "3 us", until = "9 us" }, { switch = "S(2,2)", at = "5 us", until = "12 us" }]"#;
    let planned = run(TORUS, &[("faults.plan", plan)]);
    for partitions in ["1", "3"] {
        let prepared = prepare(TORUS, &[("run.partitions", partitions)]);
        let mut session = Run::with_feed(&prepared, &Control::default());
        let losses = Subscription {
            deliveries: false,
            marks: false,
            completions: false,
            losses: true,
            capacity: 100_000,
        };
        session.session().subscribe(losses);
        for (at, name, works) in [
            (3, "S(1,0)-S(0,0)", false),
            (5, "S(2,2)", false),
            (9, "S(0,0)-S(1,0)", true),
            (12, "S(2,2)", true),
        ] {
            session.advance_to(Time::us(at), &Control::default());
            for change in session.failing(name, works).unwrap() {
                session.session().configure(change).unwrap();
                // Twice is as good as once.
                session.session().configure(change).unwrap();
            }
        }
        session.advance_to(Time::MAX, &Control::default());
        let heard = session.session().events().first;
        let outcome = session.finish(&Control::default());
        assert_eq!(outcome.totals, planned.totals, "{partitions}");
        let of = |cause| heard.iter().filter(|event| event.kind == EventKind::Lost(cause)).count() as u64;
        assert_eq!((of(LossCause::LinkFailed), of(LossCause::SwitchFailed)), lost(&planned));
    }
}

/// Routes that the caller sets are followed from then on, at that switch.
#[test]
fn routes_of_a_session_are_followed() {
    let square = &[
        ("topology", "{ torus = { dimensions = [3], hosts_per_switch = 1 } }"),
        ("routing", "{ algorithm = \"shortest-path\" }"),
    ];
    let prepared = prepare(LINE, square);
    let mut session = Run::new(&prepared, &Control::default());
    session.advance_to(Time::us(50), &Control::default());
    let around = session.route("S(0)", "H(1).0", "S(2)").unwrap();
    session.session().configure(around).unwrap();
    assert!(session.route("S(0)", "H(1).0", "H(1).0").unwrap_err().to_string().contains("no port of S(0)"));
    assert!(session.route("S(7)", "H(1).0", "S(2)").unwrap_err().to_string().contains("no switch is named"));
    session.advance_to(Time::MAX, &Control::default());
    let outcome = session.finish(&Control::default());
    balanced(&outcome);
    // 50 packets over 3 links, and those that come to the switch after 50 us over 4; packet 50 comes at 50.2 us.
    assert_eq!(outcome.totals.packet_hops, 50 * 3 + 50 * 4);

    let without = prepare(LINE, &[]);
    let mut session = Run::new(&without, &Control::default());
    let change = session.route("S(0)", "H(1).0", "S(1)").unwrap();
    assert_eq!(session.session().configure(change), Err(ChangeError::NoTables));
    for (change, part) in [
        (Change::Link { link: LinkId(9), works: false }, "link 9: must be less than 3"),
        (Change::Switch { switch: SwitchId(2), works: true }, "switch 2: must be less than 2"),
        (
            Change::Route { switch: SwitchId(0), to: HostId(0), port: PortNo(2) },
            "port 2: must be less than 2",
        ),
        (
            Change::Route { switch: SwitchId(0), to: HostId(3), port: PortNo(0) },
            "host 3: must be less than 2",
        ),
    ] {
        assert_eq!(session.session().configure(change).unwrap_err().to_string(), part);
    }
}
