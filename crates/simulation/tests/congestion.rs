//! Congestion control end to end: marks of switches, notifications of sources, and the effect on the shares.

use crate::common::{everything, prepare, run};
use fabricsim_model::{Data, Observer, Packet, PacketKind};
use fabricsim_simulation::Outcome;
use fabricsim_units::{HostId, Time, Vl};

/// Three contributors along a chain send to `H(2).0`; the last of them is at its switch. `H(0).1` is a victim: it sends
/// to `H(1).1`, over the link that the contributors fill.
const CHAIN: &str = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 3
[links.all]
rate = "32 Gb/s"
latency = "5 ns"
buffer = "64000 B"
reads = 2
[links.hosts]
rate = "8 Gb/s"
reads = 1
[switch]
router_delay = "50 ns"
[host]
mtu = "2176 B"
[congestion_control.infiniband]
threshold = 2
marking_rate = 0
ccti_timer = "20 us"
[[traffic]]
sources = ["H(0).0", "H(1).0", "H(2).1"]
pattern = { to = "H(2).0" }
injection = "saturating"
message = "69632 B"
[[traffic]]
sources = ["H(0).1"]
pattern = { to = "H(1).1" }
injection = "saturating"
message = "69632 B"
[run]
warmup = "20 ms"
duration = "20 ms"
"#;

const ALGORITHM: &str = "congestion_control.algorithm";
const ON: (&str, &str) = (ALGORITHM, "infiniband");

/// Throughput of the flow from a host, as a fraction of its link.
fn share(outcome: &Outcome, source: &str) -> f64 {
    let flow = outcome.summary.flows.flows.iter().find(|flow| flow.source == source);
    flow.map_or(0.0, |flow| flow.accepted_gbps / 8.0)
}

#[test]
fn contributors_get_fair_shares_and_the_victim_its_link() {
    let contributors = ["H(0).0", "H(1).0", "H(2).1"];
    let off = run(CHAIN, &[]);
    let unfair = contributors.map(|source| share(&off, source));
    // Two share an input of the last switch, and the victim waits behind the first.
    for (found, expected) in unfair.iter().zip([0.25, 0.25, 0.5]) {
        assert!((found - expected).abs() < 0.01, "{unfair:?}");
    }
    assert!((share(&off, "H(0).1") - 0.25).abs() < 0.01);
    let on = run(CHAIN, &[ON]);
    let fair = contributors.map(|source| share(&on, source));
    assert!(fair.iter().all(|share| (share * 3.0 - 1.0).abs() < 0.1), "{fair:?}");
    assert!(share(&on, "H(0).1") > 0.95, "{}", share(&on, "H(0).1"));
    assert!(fair.iter().sum::<f64>() > 0.95, "the hot spot stays busy: {fair:?}");
}

#[test]
fn dcqcn_frees_the_victim() {
    let quick = [
        (ALGORITHM, "dcqcn"),
        ("congestion_control.dcqcn.k_min", "5 kB"),
        ("congestion_control.dcqcn.k_max", "40 kB"),
        ("congestion_control.dcqcn.p_max", "0.5"),
    ];
    let outcome = run(CHAIN, &quick);
    assert!(share(&outcome, "H(0).1") > 0.8, "{}", share(&outcome, "H(0).1"));
}

#[test]
fn a_threshold_of_zero_is_no_congestion_control() {
    let off = run(CHAIN, &[]);
    let on = run(CHAIN, &[ON, ("congestion_control.infiniband.threshold", "0")]);
    assert_eq!(off.totals, on.totals);
    assert_eq!(off.summary.flows.flows, on.summary.flows.flows);
}

#[test]
fn shares_do_not_depend_on_partitions() {
    for by in ["cnp", "acknowledgement"] {
        let of = |partitions| {
            let overrides = [
                ON,
                ("congestion_control.notification.by", by),
                ("run.partitions", partitions),
                ("run.warmup", "0 s"),
                ("run.duration", "4 ms"),
            ];
            everything(&run(CHAIN, &overrides))
        };
        let alone = of("1");
        assert!(["2", "3"].iter().all(|partitions| of(partitions) == alone), "{by}");
    }
}

/// Marks and notifications.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// Sending ports that marked, with counts.
    by_port: std::collections::BTreeMap<u32, u64>,
    arrived: u64,
    notified: u64,
    acknowledged: u64,
    messages: u64,
    controlled: u64,
    waited: Time,
}

impl Observer for Marks {
    fn marked(&mut self, _: Time, port: u32, _: Vl, _: &Packet) {
        *self.by_port.entry(port).or_default() += 1;
    }
    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.arrived += u64::from(packet.fecn);
        self.messages += u64::from(packet.last);
    }
    fn controlled(&mut self, now: Time, packet: &Packet) {
        self.controlled += 1;
        self.acknowledged += u64::from(packet.kind == PacketKind::Acknowledgement);
        self.waited += now - packet.created;
    }
    fn notified(&mut self, _: Time, _: HostId, _: HostId) {
        self.notified += 1;
    }
}

/// Runs until `end`, then lets the fabric empty, and returns what was marked; with the names of ports.
fn marks(overrides: &[(&str, &str)], end: Time) -> (Marks, Vec<String>) {
    let prepared = prepare(CHAIN, overrides);
    let mut engine = prepared.engine(Marks::default);
    engine.advance(end, &mut |_, _| true);
    engine.stop_sources();
    engine.advance(end * 100, &mut |_, _| true);
    assert_eq!(engine.totals().in_flight, 0);
    let marks = engine.finish().remove(0);
    let names = marks.by_port.keys().map(|&port| prepared.graph.port_name(port)).collect();
    (marks, names)
}

#[test]
fn the_root_marks_and_victims_do_not() {
    let (found, names) = marks(&[ON, ("congestion_control.infiniband.victim_mask", "none")], Time::ms(5));
    // What had been held up comes in a burst when it is freed, so that the victim's own port is a root for a while.
    assert_eq!(names, ["S(1)->H(1).1", "S(2)->H(2).0"]);
    let total = found.by_port.values().sum::<u64>();
    assert!(total > 100);
    assert_eq!((found.arrived, found.notified, found.controlled), (total, total, total));
    // With every port masked, those that wait for the root's buffer mark as well.
    let (_, names) = marks(&[ON, ("congestion_control.infiniband.victim_mask", "all")], Time::ms(5));
    assert!(names.iter().any(|name| name == "S(1)->S(2)"), "{names:?}");
}

#[test]
fn the_marking_rate_is_kept() {
    let count = |rate: &str| {
        let never = ("congestion_control.infiniband.ccti_increase", "0");
        let rate = ("congestion_control.infiniband.marking_rate", rate);
        let (found, _) = marks(&[ON, never, rate], Time::ms(5));
        found.by_port.values().sum::<u64>() as f64
    };
    let all = count("0");
    for rate in [1_u32, 9, 99] {
        let ratio = all / count(&rate.to_string());
        // The count is rounded once for each time that the port is congested: here once.
        let expected = f64::from(rate) + 1.0;
        assert!((ratio / expected - 1.0).abs() < 2.0 * expected / all, "{rate}: {ratio}");
    }
}

#[test]
fn acknowledgements_tell_of_marks_once_a_message() {
    let (found, _) = marks(&[ON, ("congestion_control.notification.by", "acknowledgement")], Time::ms(5));
    assert_eq!((found.acknowledged, found.controlled), (found.messages, found.messages));
    assert!(found.notified > 0 && found.notified < found.arrived);
    assert!(found.notified <= found.messages);
}

#[test]
fn notifications_in_a_class_that_goes_first_are_sooner() {
    // The victim of the answers' way: data from the hot spot's switch back to the contributors.
    let back = r#"[{ sources = ["H(0).0", "H(1).0", "H(2).1"], pattern = { to = "H(2).0" }, injection = "saturating",
        message = "69632 B" }, { sources = ["H(2).0", "H(2).2"], pattern = { to = "H(0).0" }, injection = "saturating",
        message = "69632 B" }]"#;
    let waits = |more: &[(&str, &str)]| {
        let mut overrides = vec![ON, ("traffic", back), ("congestion_control.notification.first", "false")];
        overrides.extend_from_slice(more);
        let (found, _) = marks(&overrides, Time::ms(3));
        found.waited.as_ns_f64() / found.controlled as f64
    };
    let together = waits(&[]);
    let ahead = waits(&[("congestion_control.notification.first", "true")]);
    let apart = waits(&[
        ("switch.virtual_lanes", "2"),
        ("switch.service_classes", "2"),
        ("switch.priority_classes", "[1]"),
        ("congestion_control.notification.first", "true"),
        ("congestion_control.notification.service_class", "1"),
    ]);
    assert!(apart < 0.5 * ahead, "{apart} {ahead} {together}");
    assert!(ahead < together, "{ahead} {together}");
}

#[test]
fn starved_credits_slow_the_senders_of_full_buffers() {
    let starve = [
        ON,
        ("congestion_control.infiniband.threshold", "0"),
        ("congestion_control.infiniband.credit_starvation_threshold", "15"),
        ("congestion_control.infiniband.credit_starvation_return_delay", "0:16"),
    ];
    let (plain, starved) = (run(CHAIN, &[]), run(CHAIN, &starve));
    let total = |outcome: &Outcome| outcome.summary.hosts.accepted_gbps;
    assert!(total(&starved) <= total(&plain));
    assert!(starved.invariants.credits_ok);
    assert_ne!(starved.totals.fingerprint, plain.totals.fingerprint);
}

#[test]
fn an_exception_for_a_port_has_to_name_one() {
    let exception =
        [ON, ("congestion_control.infiniband.ports", "[{ ports = ['S(0)->S(9)'], threshold = 1 }]")];
    let error = crate::common::try_prepare(CHAIN, &exception).unwrap_err();
    assert!(error.contains("no port `S(0)->S(9)`") && error.contains("did you mean `S("), "{error}");
    let silent = [ON, ("congestion_control.infiniband.ports", "[{ ports = ['*->H(2).0'], threshold = 0 }]")];
    let (found, silent_names) = marks(&silent, Time::ms(2));
    assert!(found.by_port.len() <= 1, "the root of the contributors is configured not to mark");
    assert!(!silent_names.contains(&"S(2)->H(2).0".to_owned()), "{silent_names:?}");
}

/// A head that got a lane but not the crossbar waits for that lane alone: what counts as waiting moves with it.
#[test]
fn rounds_of_a_separable_allocation_keep_count_of_what_waits() {
    let text = r#"
[topology.single-switch]
hosts = 6
[switch]
queueing = "fifo"
allocation = "separable"
virtual_lanes = 3
[congestion_control]
algorithm = "infiniband"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = { uniform = { min = "112 B", max = "1500 B" } }
[run]
duration = "20 us"
drain = "empty"
"#;
    for threshold_on in ["output", "buffer"] {
        let outcome = run(text, &[("congestion_control.infiniband.threshold_on", threshold_on)]);
        assert_eq!((outcome.defect.as_str(), outcome.totals.in_flight), ("", 0));
    }
}

/// A packet that may take any of several lanes is marked for the first, and counted where it is sent.
#[test]
fn marks_are_counted_on_the_lane_that_the_packet_takes() {
    let overrides = [
        ("switch.virtual_lanes", "4"),
        ("congestion_control.algorithm", "infiniband"),
        ("congestion_control.infiniband.threshold", "15"),
    ];
    let outcome = run(CHAIN, &overrides);
    let links = outcome.tables.iter().find(|table| table.name == "links").unwrap();
    let column = |name: &str| {
        let found = links.columns.iter().find(|column| column.name == name).map(|column| &column.data);
        let Some(Data::Whole(values)) = found else { panic!("no whole numbers {name}") };
        values
    };
    let (marked, packets) = (column("marked"), column("packets"));
    assert!(
        marked.iter().zip(packets).all(|(marked, packets)| marked <= packets),
        "{marked:?} of {packets:?}"
    );
    let of_lanes = marked.iter().filter(|&&marked| marked > 0).count();
    assert!(of_lanes >= 8, "marks on {of_lanes} lanes only: {marked:?}");
}

/// A synchronization operation waits for the data that was lost, to the end of the run: of such a flow nothing is delivered, and
/// its source is notified all the same.
#[test]
fn notifications_of_flows_that_deliver_nothing_are_in_their_rows() {
    let text = r#"
[topology.hypercube]
dimensions = 3
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "2 KiB"
[host]
mtu = "256 B"
[transport]
mode = "synchronized"
loss = 0.4
[congestion_control]
algorithm = "infiniband"
infiniband = { threshold = 14 }
[[jobs]]
outstanding = 7
program = { all-to-all = { message = "512 B" } }
[[traffic]]
pattern = { to = "H(0,0,0).0" }
injection = "saturating"
message = "64 KiB"
[run]
duration = "40 us"
"#;
    let outcome = run(text, &[("seed", "18")]);
    let flows = outcome.tables.iter().find(|table| table.name == "flows").unwrap();
    let column = |name: &str| {
        let Some(Data::Whole(values)) = flows.columns.iter().find(|c| c.name == name).map(|c| &c.data) else {
            panic!("no {name}")
        };
        values
    };
    let (becn, packets) = (column("becn"), column("packets"));
    assert!(becn.iter().zip(packets).any(|(&becn, &packets)| becn > 0 && packets == 0));
    let notified = outcome.summary.congestion.as_ref().unwrap().notified;
    assert_eq!(becn.iter().sum::<i64>() as u64, notified);
}
