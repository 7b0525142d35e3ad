//! Flow-control packets compared with ideal credits: they cost their bandwidth, and delay credits by less than a period.

use crate::common::tables::{numbers, texts};
use crate::common::{balanced_and_ok, everything, prepare, run, try_prepare};
use fabricsim_simulation::{CapturePlan, Capturing, Control, Outcome, simulate_captured};
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
    balanced_and_ok(&ideal);
    for period in ["\"500 ns\"", "\"2 us\"", "\"10 us\""] {
        let outcome = run(LINE, &[("switch.flow_control_period", period)]);
        balanced_and_ok(&outcome);
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

/// With traffic in one direction, flow-control packets with news use the other one. Those without, one in 65 536 symbol times, take their time:
/// 8 ns in 262.144 us.
#[test]
fn one_direction_is_as_fast_as_with_ideal_credits() {
    let one = ("traffic.0.sources", r#"["H(0).0"]"#);
    let (packets, ideal) = (run(LINE, &[one]), run(LINE, &[one, IDEAL]));
    balanced_and_ok(&packets);
    assert!(ideal.totals.delivered - packets.totals.delivered <= 1);
    // In the measurement, from 100 us to 1100 us: those at 262.144 us and its multiples, each after the data packet in progress.
    assert!(link(&packets, "S(1)->S(0)").1 > 100.0);
    assert_eq!(link(&packets, "S(0)->S(1)").1, 4.0);
    // Before the first, nothing changes.
    let short = [one, ("run.warmup", "\"100 us\""), ("run.duration", "\"150 us\"")];
    let (packets, ideal) = (run(LINE, &short), run(LINE, &[&short[..], &[IDEAL]].concat()));
    assert_eq!(packets.totals.fingerprint, ideal.totals.fingerprint);
    assert_eq!(packets.totals.delivered, ideal.totals.delivered);
}

/// Idle ports send one for each lane every 65 536 symbol times, at exact times, and no event does it: lanes of links without any traffic are counted.
#[test]
fn idle_links_carry_flow_control_packets() {
    let set = [
        ("traffic.0.sources", r#"["H(0).0"]"#),
        ("traffic.0.messages", "1"),
        ("switch.virtual_lanes", "3"),
        ("routing.lane_policy", "\"all\""),
        ("run.warmup", "\"1 ms\""),
        ("run.duration", "\"10 ms\""),
    ];
    let outcome = run(LINE, &set);
    balanced_and_ok(&outcome);
    // Of the multiples of 262.144 us those from the 4th to the 41st: 1.048 to 10.748 ms.
    for name in ["S(1)->H(1).0", "S(0)->H(0).0"] {
        assert!((link(&outcome, name).1 - 3.0 * 38.0).abs() <= 3.0, "{name} {:?}", link(&outcome, name));
    }
    let few = run(LINE, &[&set[..], &[("run.duration", "\"100 us\"")]].concat());
    assert!(link(&few, "S(1)->H(1).0").1 <= 3.0);
    // The control.
    assert_eq!(link(&run(LINE, &[&set[..], &[IDEAL]].concat()), "S(1)->H(1).0").1, 0.0);
}

/// The link between the switches hears no flow-control packets from 1 ms to 20 ms. The last ones left at three times 262.144 us and arrived 58 ns
/// later; 1.6 ms after that the watchdog expires, at 2.386 ms, and the link is trained for 1 ms; then again each 2.6 ms: seven times, the last at
/// 17.986 ms.
#[test]
fn a_link_without_flow_control_packets_is_trained_anew() {
    let plan = |until: &str| {
        format!(
            r#"{{ plan = [{{ link = "S(0)-S(1)", loses = "flow-control", at = "1 ms", until = "{until}" }}] }}"#
        )
    };
    let with = |plan: &str, more: &[(&str, &str)]| {
        let set = [
            ("faults", plan),
            ("traffic.0.sources", r#"["H(0).0"]"#),
            ("traffic.0.start", "\"3900 us\""),
            ("measure.port_counters", "true"),
            ("run.duration", "\"30 ms\""),
        ];
        run(LINE, &[&set[..], more].concat())
    };
    let recoveries = |outcome: &Outcome| -> Vec<(String, u64)> {
        let nodes = texts(outcome, "port_counters", "node").into_iter();
        let counts = numbers(outcome, "port_counters", "LinkErrorRecoveryCounter");
        nodes
            .zip(counts)
            .filter(|(_, count)| *count > 0.0)
            .map(|(node, count)| (node, count as u64))
            .collect()
    };
    let outcome = with(&plan("20 ms"), &[]);
    balanced_and_ok(&outcome);
    assert_eq!(recoveries(&outcome), [("S(0)".to_owned(), 7), ("S(1)".to_owned(), 7)]);
    // Without flow-control packets a link that was trained anew has no credits: nothing crosses from 3.9 ms until 20 ms; then packets of 1024 ns.
    let delivered = outcome.totals.delivered as f64;
    assert!((delivered - 10.1e6 / 1024.0).abs() < 300.0, "{delivered}");
    // The controls: a loss that is shorter than the watchdog, and none.
    assert_eq!(recoveries(&with(&plan("2 ms"), &[])), []);
    let none = with("{}", &[]);
    assert_eq!(recoveries(&none), []);
    assert!((none.totals.delivered as f64 - 26.2e6 / 1024.0).abs() < 10.0, "{}", none.totals.delivered);
    // A longer training: 2.386 ms, then each 5.6 ms: 7.986, 13.586, 19.186.
    let slow = with(&plan("20 ms"), &[("switch.retraining_time", "\"4 ms\"")]);
    assert_eq!(recoveries(&slow), [("S(0)".to_owned(), 4), ("S(1)".to_owned(), 4)]);
    let one = everything(&outcome);
    assert!(everything(&with(&plan("20 ms"), &[("run.partitions", "2")])) == one);
}

/// With traffic, packets on the link are lost as it is trained, those for it wait, and all credits are there afterwards.
#[test]
fn a_link_that_is_trained_anew_keeps_its_credits() {
    let plan =
        r#"{ plan = [{ link = "S(0)-S(1)", loses = "flow-control", at = "200 us", until = "3 ms" }] }"#;
    let set = [
        ("faults", plan),
        ("traffic.0.injection", "poisson"),
        ("traffic.0.load", "0.2"),
        ("links.all.buffer", "\"2 KiB\""),
        ("run.duration", "\"4 ms\""),
        ("run.drain", "empty"),
    ];
    let outcome = run(LINE, &set);
    balanced_and_ok(&outcome);
    assert_eq!(outcome.totals.in_flight, 0, "{:?}", outcome.totals);
    assert!(outcome.totals.delivered > 1000);
    let one = everything(&outcome);
    assert!(everything(&run(LINE, &[&set[..], &[("run.partitions", "2")]].concat())) == one);
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
    balanced_and_ok(&fast);
    balanced_and_ok(&slow);
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
        balanced_and_ok(&alone);
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
        balanced_and_ok(&outcome);
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
