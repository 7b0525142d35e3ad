//! Flow-control packets compared with ideal credits: they cost their bandwidth, and delay credits by less than a period.

mod common;

use common::tables::{numbers, texts};
use common::{everything, prepare, run, try_prepare};
use fabricsim_simulation::{CapturePlan, Capturing, Control, Outcome, Status, simulate_captured};
use fabricsim_spec::Capture;
use fabricsim_units::Time;
use fabricsim_wire::dissect::dissect;

/// Two hosts that send to each other through two switches: links of 8 Gb/s, 1 ns a byte, and buffers for several round trips and periods.
const LINE: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "32 KiB"
[switch]
flow_control = "packets"
flow_control_period = "2 us"
[host]
mtu = "1024 B"
[[traffic]]
pattern = "neighbour"
injection = "saturating"
message = "1024 B"
[run]
warmup = "100 us"
duration = "1 ms"
"#;

const IDEAL: (&str, &str) = ("switch.flow_control", "ideal");

fn balanced(outcome: &Outcome) {
    let invariants = &outcome.invariants;
    assert!(invariants.packets_ok && invariants.credits_ok, "{}", outcome.defect);
    assert_eq!((outcome.defect.as_str(), outcome.status), ("", Status::Ok));
}

/// Data packets and flow-control packets of a link.
fn link(outcome: &Outcome, name: &str) -> (f64, f64) {
    let names = texts(outcome, "links", "link");
    let row = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
    (numbers(outcome, "links", "packets")[row], numbers(outcome, "links", "flow_control")[row])
}

const LINKS: [&str; 6] =
    ["H(0).0->S(0)", "S(0)->H(0).0", "S(0)->S(1)", "S(1)->S(0)", "H(1).0->S(1)", "S(1)->H(1).0"];

/// A saturated link carries data for what flow-control packets leave of its time, to a packet.
#[test]
fn saturated_links_lose_the_bandwidth_of_flow_control_packets_and_no_more() {
    let ideal = run(LINE, &[IDEAL]);
    balanced(&ideal);
    for period in ["\"500 ns\"", "\"2 us\"", "\"10 us\""] {
        let outcome = run(LINE, &[("switch.flow_control_period", period)]);
        balanced(&outcome);
        for name in LINKS {
            let (packets, control) = link(&outcome, name);
            let (without, none) = link(&ideal, name);
            assert_eq!(none, 0.0);
            // 1 ms; 8 ns for a flow-control packet, 1024 ns for a data packet.
            let expected = (1e6 - 8.0 * control) / 1024.0;
            assert!(
                (packets - expected).abs() <= 2.0,
                "{period} {name}: {packets} with {control}, {expected}"
            );
            assert!((without - 1e6 / 1024.0).abs() <= 2.0);
            assert!(control > 50.0, "{period} {name}: {control}");
        }
    }
}

/// With traffic in one direction, flow-control packets use the other one: nothing changes.
#[test]
fn one_direction_is_as_fast_as_with_ideal_credits() {
    let one = ("traffic.0.sources", r#"["H(0).0"]"#);
    let (packets, ideal) = (run(LINE, &[one]), run(LINE, &[one, IDEAL]));
    balanced(&packets);
    assert_eq!(packets.totals.delivered, ideal.totals.delivered);
    assert_eq!(packets.totals.fingerprint, ideal.totals.fingerprint);
    assert!(link(&packets, "S(1)->S(0)").1 > 100.0 && link(&packets, "S(0)->S(1)").1 == 0.0);
}

/// At low load a packet waits at most for the flow-control packets in its way: of one lane, 8 ns on each link.
#[test]
fn latencies_differ_by_the_time_of_flow_control_packets() {
    let load = [("traffic.0.injection", "poisson"), ("traffic.0.load", "0.05")];
    let (packets, ideal) = (run(LINE, &load), run(LINE, &[load[0], load[1], IDEAL]));
    let mean = |outcome: &Outcome| {
        let flows = &outcome.summary.flows.flows;
        flows.iter().map(|flow| flow.latency_ns.mean).sum::<f64>() / flows.len() as f64
    };
    let more = mean(&packets) - mean(&ideal);
    assert!((0.0..3.0 * 8.0).contains(&more), "{more} ns");
    assert!(packets.totals.fingerprint != ideal.totals.fingerprint, "some packets wait");
}

/// A buffer of one packet needs its credits back before the next packet: a period, the flow-control packet and the way to the sender
/// are added to each packet.
#[test]
fn a_short_buffer_waits_for_flow_control_packets() {
    let one = [
        ("traffic.0.sources", r#"["H(0).0"]"#),
        ("links.all.buffer", "\"1 KiB\""),
        ("switch.credit_return", "packet"),
    ];
    let of = |period| run(LINE, &[one[0], one[1], one[2], ("switch.flow_control_period", period)]);
    let (fast, slow) = (of("\"1 ns\""), of("\"20 us\""));
    balanced(&fast);
    balanced(&slow);
    let (fast, slow) = (fast.totals.delivered as f64, slow.totals.delivered as f64);
    // A packet for each period.
    assert!((slow - 1100.0 / 20.0).abs() <= 4.0 && fast > 500.0, "{fast} {slow}");
}

/// A torus with two lanes, staging buffers or not, hosts that are slow or not, losses of data and of flow-control packets, failures.
const TORUS: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "2 KiB"
[switch]
virtual_lanes = 4
router_delay = "50 ns"
flow_control = "packets"
flow_control_period = "100 ns"
[host]
mtu = "512 B"
[[traffic]]
pattern = { hot-spot = { hosts = ["H(0,0).0"], fraction = 0.2 } }
injection = "poisson"
load = 0.7
message = "1 KiB"
[run]
warmup = "5 us"
duration = "30 us"
[measure]
flows = "pairs"
"#;

#[test]
fn results_do_not_depend_on_partitions() {
    let plan = r#"[{ link = "S(0,0)-S(1,0)", at = "8 us", until = "20 us" }, { switch = "S(2,2)", at = "5 us", until = "12 us" }]"#;
    for (key, value) in [
        ("switch.queueing", "fifo"),
        ("switch.queueing", "cioq"),
        ("host.sink.rate", "\"20 Gb/s\""),
        (
            "links",
            r#"{ errors = "lose", all = { bit_error_rate = 1e-4, rate = "32 Gb/s", buffer = "2 KiB" } }"#,
        ),
        ("faults.plan", plan),
    ] {
        let of = |partitions| run(TORUS, &[(key, value), ("run.partitions", partitions)]);
        let alone = of("1");
        balanced(&alone);
        assert!(alone.totals.delivered > 300, "{key}: {:?}", alone.totals);
        for partitions in ["2", "3", "7"] {
            assert!(everything(&of(partitions)) == everything(&alone), "{key}, {partitions} partitions");
        }
    }
}

/// What data and flow-control packets lose comes back: the fabric goes on, and empties.
#[test]
fn lost_credits_come_back() {
    let overrides = [
        (
            "links",
            r#"{ errors = "lose", all = { bit_error_rate = 3e-4, rate = "8 Gb/s", buffer = "2 KiB" } }"#,
        ),
        ("run.drain", "empty"),
        ("traffic.0.injection", "poisson"),
        ("traffic.0.load", "0.2"),
    ];
    for length in ["\"1 ms\"", "\"10 ms\""] {
        let outcome = run(LINE, &[&overrides[..], &[("run.duration", length)]].concat());
        balanced(&outcome);
        let lost = outcome.invariants.lost.vcrc as f64;
        assert!(
            outcome.totals.in_flight == 0 && lost > 0.5 * outcome.totals.injected as f64,
            "{:?}",
            outcome.totals
        );
    }
}

#[test]
fn what_flow_control_packets_cannot_count_is_refused() {
    let refused = try_prepare(LINE, &[("links.dimension.x", "{ buffer = \"128 KiB\" }")]);
    assert!(refused.is_ok());
    let error = try_prepare(LINE, &[("links.dimension.x", "{ buffer = \"129 KiB\" }")]).unwrap_err();
    assert!(
        error.contains("switch.flow_control: the buffer of S(0)-S(1) has 129 KiB for each lane"),
        "{error}"
    );
}

/// Flow-control packets are in a capture, on an interface of their own, with checksums that are right. FCTBS counts the blocks that the port
/// has sent, 16 for each packet, and FCCL never runs back.
#[test]
fn captures_have_flow_control_packets() {
    let overrides = [("run.warmup", "\"0 ns\""), ("run.duration", "\"40 us\"")];
    let prepared = prepare(LINE, &overrides);
    let links = vec!["S(0)->S(1)".to_owned()];
    let capture =
        Capture { links, file: "f.pcapng".to_owned(), from: Time::ZERO, to: None, packets: 1_000_000 };
    let plan = CapturePlan::new(&capture, &prepared, "test.toml").unwrap();
    let mut file = Vec::new();
    let how = Capturing::WholeRun;
    let (outcome, _) = simulate_captured(&prepared, &Control::default(), &plan, &mut file, how).unwrap();
    assert!(everything(&outcome) == everything(&run(LINE, &overrides)), "a capture changes nothing");
    let (data, control) = link(&outcome, "S(0)->S(1)");
    let (mut sent, mut controls, mut limit) = (0, 0, None);
    for record in dissect(&file, "f").unwrap() {
        let Some(found) = &record.packet.fcp else {
            sent += 1;
            continue;
        };
        assert!(found.lpcrc.ok, "{found:?}");
        assert_eq!(record.interface.as_deref(), Some("S(0):2 -> S(1):2 flow control"));
        let fcp = found.fcp;
        assert_eq!((u32::from(fcp.total_blocks_sent), fcp.vl.0), (sent * 16 % 4096, 0));
        // At most what the buffer of 512 blocks has room for.
        let ahead = limit.map_or(0, |last: u16| (fcp.credit_limit + 4096 - last) % 4096);
        assert!(ahead <= 512, "{limit:?} {fcp:?}");
        (limit, controls) = (Some(fcp.credit_limit), controls + 1);
    }
    assert_eq!((f64::from(sent), f64::from(controls)), (data, control));
    assert!(controls > 15, "{controls}");
}
