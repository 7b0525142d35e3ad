//! Subnet managers in packets: times and losses by hand counts, with traffic flowing, in every number of partitions.

mod managers;
mod multicast;

use crate::common::tables::{numbers, texts};
use crate::common::{balanced, everything, prepare, run};
use fabricsim_simulation::{Outcome, SubnetSummary};

/// H(0).0 - S(0) - S(1) - H(1).0. A datagram of 290 bytes takes 390 ns from port to port.
const LINE: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "64 KiB"
[switch]
router_delay = "100 ns"
[host]
mtu = "1000 B"
[routing]
algorithm = "opensm"
engine = "minhop"
[subnet_manager]
smps_on_wire = 1
sweep_interval = "0 s"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "1000 B"
[run]
duration = "1 ms"
drain = "empty"
"#;

/// A ring of four switches, each with a host; packets for the next but one host may go either way.
const RING: &str = r#"
topology.torus = { dimensions = [4], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "8 KiB"
[switch]
router_delay = "100 ns"
virtual_lanes = 4
[host]
mtu = "1000 B"
[routing]
algorithm = "opensm"
engine = "dfsssp"
[subnet_manager]
start = "configured"
sweep_interval = "0 s"
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.2
message = "1000 B"
[run]
duration = "4 ms"
drain = "empty"
"#;

fn summary(outcome: &Outcome) -> &SubnetSummary {
    outcome.subnet.as_ref().expect("there is a subnet manager")
}

fn causes(outcome: &Outcome) -> Vec<String> {
    texts(outcome, "subnet_sweeps", "cause")
}

/// One request at a time. A round trip over n links takes 2n times 390 ns, twice 2 us at each switch that passes the datagram on,
/// 10 us at the agent and 2 us at the manager. To each switch go its kind, description, tables, three ports, LID, the top and a block of its
/// table, and two ports to arm and two to activate: 13; to the other adapter kind, description, port, LID, and its port to arm and to
/// activate: 6. Requests to the manager's own node take no time.
#[test]
fn a_line_is_up_after_the_round_trips_of_all_requests() {
    let outcome = run(LINE, &[("traffic.0.start", "\"900 us\"")]);
    balanced(&outcome);
    assert_eq!(outcome.totals.injected, 100);
    let (link, forward, agent, manager) = (390.0, 2_000.0, 10_000.0, 2_000.0);
    let round_trip = |links: f64| 2.0 * links * link + 2.0 * (links - 1.0) * forward + agent + manager;
    let expected = 13.0 * round_trip(1.0) + 13.0 * round_trip(2.0) + 6.0 * round_trip(3.0);
    let found = summary(&outcome);
    assert_eq!(found.up_ns, Some(expected));
    // Kind, description, port, LID, and the port to arm and to activate of the own node.
    assert_eq!((found.requests, found.repeated, found.lost, found.overflowed), (13 + 13 + 6 + 6, 0, 0, 0));
    assert_eq!(found.crossed, 2 * (13 + 2 * 13 + 3 * 6));
    assert_eq!(found.masters, ["H(0).0"]);
    // A host with packets from the start sends the first as soon as the subnet is up.
    let early = run(LINE, &[]);
    balanced(&early);
    assert_eq!(summary(&early).up_ns, Some(expected));
    assert_eq!(early.totals.injected, ((1_000_000.0 - expected) / 1000.0).ceil() as u64);
    assert_eq!(early.totals.delivered, early.totals.injected);
    // The control: the link's own datagrams are what delays it.
    let faster =
        run(LINE, &[("traffic.0.start", "\"900 us\""), ("subnet_manager.response_time", "\"1 us\"")]);
    assert!(summary(&faster).up_ns.unwrap() < expected - 32.0 * 8_999.0);
}

#[test]
fn more_requests_under_way_bring_it_up_sooner_with_the_same_work() {
    let times: Vec<(f64, u64)> = ["1", "2", "4", "8"]
        .into_iter()
        .map(|window| {
            let outcome =
                run(LINE, &[("subnet_manager.smps_on_wire", window), ("subnet_manager.vl15_buffer", "16")]);
            (summary(&outcome).up_ns.unwrap(), summary(&outcome).requests)
        })
        .collect();
    assert!(times.windows(2).all(|pair| pair[1].0 <= pair[0].0 && pair[0].1 == pair[1].1), "{times:?}");
    // S(0) answers 13 requests, and passes on both ways the 13 to S(1) and the 6 to H(1).0: it cannot be sooner.
    let busiest = 13.0 * 10_000.0 + 2.0 * 19.0 * 2_000.0;
    assert!(times[3].0 > busiest && times[1].0 < times[0].0, "{times:?}");
}

/// A buffer of one datagram loses what comes while another waits; the manager repeats it.
#[test]
fn datagrams_without_room_are_lost_and_repeated() {
    let set = [
        ("subnet_manager.smps_on_wire", "16"),
        ("subnet_manager.vl15_buffer", "1"),
        ("subnet_manager.timeout", "\"200 us\""),
        ("subnet_manager.retries", "20"),
        ("run.duration", "\"20 ms\""),
    ];
    let outcome = run(LINE, &set);
    balanced(&outcome);
    let found = summary(&outcome);
    assert!(found.overflowed > 0 && found.repeated >= found.overflowed && found.up_ns.is_some(), "{found:?}");
    assert_eq!(found.given_up, 0);
}

/// A link of the ring fails at 1 ms. Its switches report it, and the manager finds routes round the other side.
#[test]
fn after_a_trap_the_routes_avoid_the_failed_link() {
    let plan = ("faults.plan", r#"[{ link = "S(1)-S(2)", at = "1 ms" }]"#);
    let outcome = run(RING, &[plan]);
    balanced(&outcome);
    let found = summary(&outcome);
    assert!((2..=4).contains(&found.traps), "{found:?}");
    assert_eq!(causes(&outcome)[..2], ["start", "trap"]);
    let lost = outcome.invariants.lost.link_failed;
    assert!(lost > 0);
    assert_eq!(outcome.totals.injected, outcome.totals.delivered + lost);
    // The control: without traps and sweeps nothing changes the routes, and packets are lost to the end.
    let never = run(RING, &[plan, ("subnet_manager.traps", "false")]);
    balanced(&never);
    assert!(never.invariants.lost.link_failed > 3 * lost, "{} {lost}", never.invariants.lost.link_failed);
    assert_eq!(causes(&never), ["start"]);
    // Light sweeps find it later.
    let swept = [plan, ("subnet_manager.traps", "false"), ("subnet_manager.sweep_interval", "\"700 us\"")];
    let later = run(RING, &swept);
    let lost_later = later.invariants.lost.link_failed;
    assert!(lost < lost_later && lost_later < never.invariants.lost.link_failed, "{lost} {lost_later}");
    assert!(causes(&later).iter().any(|cause| cause == "change"));
}

/// The link comes back at 2 ms: its ports are armed and activated, and carry data again.
#[test]
fn a_link_that_comes_back_is_activated() {
    let plan = ("faults.plan", r#"[{ link = "S(1)-S(2)", at = "1 ms", until = "2 ms" }]"#);
    let outcome = run(RING, &[plan]);
    balanced(&outcome);
    assert_eq!(numbers(&outcome, "subnet_sweeps", "activated").last(), Some(&2.0));
}

/// Without traps only a switch's `PortStateChange` reports a link. It fails, and comes back at any time of the sweep that follows: also
/// after its ports were read, and before tables are set. A link that only fails during that sweep is found as well.
#[test]
fn a_link_that_changes_during_a_sweep_is_found_without_traps() {
    let options = [
        ("subnet_manager.traps", "false"),
        ("subnet_manager.sweep_interval", "\"300 us\""),
        ("subnet_manager.timeout", "\"100 us\""),
    ];
    let swept = |plan: &str| {
        let outcome = run(RING, &[&options[..], &[("faults.plan", plan)]].concat());
        balanced(&outcome);
        outcome
    };
    let first = swept(r#"[{ link = "S(1)-S(2)", at = "1 ms" }]"#);
    assert_eq!(causes(&first), ["start", "change"]);
    let times = |column| numbers(&first, "subnet_sweeps", column)[1];
    let (begin, end) = (times("begin_ns"), times("end_ns"));
    assert!(begin > 1.01e6 && end < 3e6, "{begin} {end}");
    for step in 0..=26 {
        let at = begin + (end - begin) * f64::from(step) / 24.0;
        let back = swept(&format!(r#"[{{ link = "S(1)-S(2)", at = "1 ms", until = "{at} ns" }}]"#));
        let activated: f64 = numbers(&back, "subnet_sweeps", "activated").iter().sum();
        assert_eq!(activated, 2.0, "back at {at} ns of a sweep from {begin} to {end}");
        assert_eq!((back.totals.in_flight, back.invariants.lost.no_route), (0, 0));
        let other = format!(
            r#"[{{ link = "S(1)-S(2)", at = "1 ms" }}, {{ link = "S(3)-S(0)", at = "{at} ns", until = "{} ns" }}]"#,
            at + 20_000.0
        );
        let o = swept(&other);
        let activated: f64 = numbers(&o, "subnet_sweeps", "activated").iter().sum();
        if activated != 2.0 {
            for c in [
                "begin_ns",
                "discovered_ns",
                "addressed_ns",
                "programmed_ns",
                "end_ns",
                "activated",
                "requests",
                "repeated",
                "given_up",
                "switches",
                "cables",
            ] {
                eprintln!("{c} {:?}", numbers(&o, "subnet_sweeps", c));
            }
            eprintln!("{:?} {:?}", causes(&o), o.subnet);
        }
        assert_eq!(activated, 2.0, "another link fails at {at} ns for 20 us");
    }
}

/// A switch that fails forgets its table; packets for its host have no route then.
#[test]
fn a_switch_that_comes_back_is_programmed_anew() {
    let plan = ("faults.plan", r#"[{ switch = "S(2)", at = "1 ms", until = "2 ms" }]"#);
    let outcome = run(RING, &[plan]);
    balanced(&outcome);
    assert!(outcome.invariants.lost.no_route > 0, "{:?}", outcome.invariants.lost);
    let switches = numbers(&outcome, "subnet_sweeps", "switches");
    assert!(switches.contains(&3.0) && switches.last() == Some(&4.0), "{switches:?}");
    assert_eq!(outcome.totals.in_flight, 0);
}

#[test]
fn equal_in_any_number_of_partitions() {
    let plans = [
        r#"[{ link = "S(1)-S(2)", at = "1 ms", until = "2 ms" }]"#,
        r#"[{ switch = "S(2)", at = "1 ms", until = "2 ms" }]"#,
    ];
    for plan in plans {
        for start in ["\"configured\"", "\"unconfigured\""] {
            let set = [("faults.plan", plan), ("subnet_manager.start", start)];
            let one = everything(&run(RING, &set));
            for partitions in ["2", "3", "7"] {
                let several = run(RING, &[set[0], set[1], ("run.partitions", partitions)]);
                assert_eq!(one, everything(&several), "{partitions} partitions, {start}, {plan}");
            }
        }
    }
}

/// A manager behind port 0 of a switch brings the same subnet up; its own switch reports to it without a link.
#[test]
fn a_manager_on_a_switch() {
    let outcome = run(LINE, &[("subnet_manager.nodes", r#"["S(1)"]"#), ("traffic.0.start", "\"900 us\"")]);
    balanced(&outcome);
    assert_eq!((outcome.totals.injected, outcome.totals.delivered), (100, 100));
    let found = summary(&outcome);
    // To S(0) over a link, to H(1).0 over a link, to H(0).0 over two.
    assert_eq!((found.masters[0].as_str(), found.crossed), ("S(1)", 2 * (13 + 6 + 2 * 6)));
    let plan = ("faults.plan", r#"[{ link = "S(1)-S(2)", at = "1 ms" }]"#);
    let trapped = run(RING, &[plan, ("subnet_manager.nodes", r#"["S(1)"]"#)]);
    balanced(&trapped);
    assert_eq!(causes(&trapped)[..2], ["start", "trap"]);
}

/// The switch of the master fails, and comes back without anything: the standby takes over, and gives the subnet back.
#[test]
fn a_manager_starts_again_with_its_switch() {
    let set = [
        ("subnet_manager.nodes", r#"["S(0)", "H(2).0"]"#),
        ("subnet_manager.poll_interval", "\"300 us\""),
        ("subnet_manager.poll_retries", "1"),
        ("subnet_manager.timeout", "\"100 us\""),
        ("subnet_manager.retries", "0"),
        ("run.duration", "\"20 ms\""),
        ("faults.plan", r#"[{ switch = "S(0)", at = "2 ms", until = "8 ms" }]"#),
    ];
    let outcome = run(RING, &set);
    balanced(&outcome);
    let places: Vec<(String, String)> =
        texts(&outcome, "subnet_sweeps", "manager").into_iter().zip(causes(&outcome)).collect();
    let of = |manager: &str, cause: &str| {
        places.iter().filter(|place| **place == (manager.into(), cause.into())).count()
    };
    assert_eq!((of("S(0)", "start"), of("H(2).0", "master_lost")), (2, 1), "{places:?}");
    assert_eq!(summary(&outcome).masters, ["S(0)"], "{places:?}");
    // Without a return the standby stays the master, and nothing keeps the run from its end.
    let gone = [("faults.plan", r#"[{ switch = "S(0)", at = "2 ms" }]"#), ("run.drain_limit", "\"1000 s\"")];
    let never: Vec<_> = set[..6].iter().chain(&gone).copied().collect();
    assert_eq!(summary(&run(RING, &never)).masters, ["H(2).0"]);
}
/// The manager asks the switch for its description, tables and ports 0, 1 and 2 at once: while the agent handles the first datagram one waits, and three
/// are lost. They are repeated together after the timeout, when one of three is lost. The run ends before the next answer.
#[test]
fn datagrams_that_find_the_buffer_full_are_counted_at_the_port() {
    let dropped = |buffer: &str| {
        let manager = format!(
            "{{ smps_on_wire = 5, vl15_buffer = {buffer}, timeout = \"100 us\", sweep_interval = \"0 s\" }}"
        );
        let set = [
            ("subnet_manager", manager.as_str()),
            ("run.duration", "\"120 us\""),
            ("run.drain", "\"none\""),
            ("measure.port_counters", "true"),
        ];
        let outcome = run(LINE, &set);
        let counts = numbers(&outcome, "port_counters", "VL15Dropped").into_iter().map(|count| count as u64);
        let places = texts(&outcome, "port_counters", "node").into_iter();
        let ports = numbers(&outcome, "port_counters", "port").into_iter().map(|port| port as u64);
        let all = places.zip(ports).zip(counts).filter(|(_, count)| *count > 0);
        let found: Vec<(String, u64, u64)> = all.map(|((node, port), count)| (node, port, count)).collect();
        assert_eq!(found.iter().map(|(.., count)| count).sum::<u64>(), summary(&outcome).overflowed);
        found
    };
    let graph = prepare(LINE, &[]).graph;
    let to_host = graph.hosts[0].link;
    let port = graph.switches[0].ports.iter().position(|&link| link == to_host).unwrap() as u64 + 1;
    assert_eq!(dropped("1"), [("S(0)".to_owned(), port, 3 + 1)]);
    assert_eq!(dropped("2"), [("S(0)".to_owned(), port, 2)]);
    // The control: with room for four none are lost.
    assert_eq!(dropped("4"), []);
}

/// A sweep that begins before a switch fails and ends after it may find one side of a link only. Nue took the other side for granted.
const HALF_A_LINK: &str = r#"
seed = 236
topology.hyperx = { dimensions = [4] }
[links.hosts]
buffer = "104 B"
[links.dimension.0]
rate = "7 Gb/s"
[switch]
flow_control_unit = "8 B"
[host]
mtu = "100 B"
[routing]
algorithm = "opensm"
engine = "nue"
[[faults.plan]]
switch = "S(2)"
at = "1859 ns"
[subnet_manager]
nodes = ["S(0)", "S(1)"]
start = "configured"
timeout = "24 us"
[[traffic]]
pattern = { to = "H(3).0" }
rate = "1 Gb/s"
message = "93 B"
[run]
duration = "4 us"
drain = "empty"
drain_limit = "50 ms"
"#;

#[test]
fn nue_routes_what_a_sweep_found_while_a_switch_failed() {
    for engine in ["nue", "minhop", "dfsssp"] {
        let outcome = run(HALF_A_LINK, &[("routing.engine", engine)]);
        balanced(&outcome);
        assert!(summary(&outcome).sweeps > 0, "{engine}");
    }
}
