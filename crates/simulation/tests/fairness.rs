//! Shares of flows at a congested output: max-min fair shares where the fabric is fair, and the known unfairness
//! where it is not.

use crate::common::observers::Deliveries;
use crate::common::{prepare, run};
use fabricsim_units::{HostId, Time};

const SWITCH: &str = r#"
[topology.single-switch]
hosts = 6
[links.all]
rate = "8 Gb/s"
[[traffic]]
pattern = { to = "H5" }
injection = "saturating"
message = "1000 B"
[run]
duration = "1 ms"
"#;

/// Packets by source that arrived within a time.
fn counts(text: &str, overrides: &[(&str, &str)], from: Time, to: Time) -> Vec<u64> {
    let prepared = prepare(text, overrides);
    let mut engine = prepared.engine(Deliveries::default);
    engine.advance(to, &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let counts = engine.observers().next().unwrap().by_source(from, to);
    (0..prepared.graph.hosts.len() as u32)
        .map(|host| counts.get(&HostId(host)).copied().unwrap_or(0))
        .collect()
}

fn spread(counts: &[u64]) -> u64 {
    counts.iter().max().unwrap() - counts.iter().min().unwrap()
}

#[test]
fn sources_at_one_switch_share_to_the_packet() {
    for queueing in ["fifo", "voq", "cioq"] {
        for arbiter in ["round-robin", "oldest-first", "age-based"] {
            let overrides = [("switch.queueing", queueing), ("switch.arbiter", arbiter)];
            // Any time in which 1000 packets pass.
            for from in [100_000, 123_456] {
                let counts = counts(SWITCH, &overrides, Time::ns(from), Time::ns(from + 1_000_000));
                assert_eq!(counts.iter().sum::<u64>(), 1000, "{queueing} {arbiter}: {counts:?}");
                assert!(spread(&counts[..5]) <= 1, "{queueing} {arbiter}: {counts:?}");
            }
        }
    }
}

#[test]
fn random_arbitration_is_fair_on_average() {
    let counts = counts(SWITCH, &[("switch.arbiter", "random")], Time::us(100), Time::us(10_100));
    let (packets, p) = (10_000.0, 0.2_f64);
    // Binomial: five standard deviations.
    let margin = 5.0 * (packets * p * (1.0 - p)).sqrt();
    assert!(counts[..5].iter().all(|&n| (n as f64 - packets * p).abs() < margin), "{counts:?}");
    assert!(spread(&counts[..5]) > 1, "and not in turn");
}

#[test]
fn fixed_priority_starves_all_but_the_first() {
    let outcome = run(
        SWITCH,
        &[("switch.arbiter", "fixed-priority"), ("run.warmup", "100 us"), ("run.duration", "20 ms")],
    );
    let flows: Vec<f64> = outcome.summary.flows.flows.iter().map(|flow| flow.accepted_gbps).collect();
    assert_eq!(flows, [8.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!((outcome.summary.flows.starving, outcome.summary.hosts.saturated), (4, true));
    let first = "lane 0 of H1->S0 starves at S0->H5: its next packet has been ready for ";
    assert!(outcome.warnings[0].starts_with(first), "{:?}", outcome.warnings);
    assert_eq!(outcome.warnings[3..], ["1 more queue starves"]);
    let fair = run(SWITCH, &[("run.duration", "20 ms")]);
    assert_eq!(fair.warnings, [""; 0]);
    assert!((outcome.summary.flows.jain - 0.2).abs() < 1e-12);
}

/// Two sources, of which the first goes before the second; at `pause` it stops for two packets' time.
fn served_once(pause: Time) -> Vec<String> {
    let from = pause + Time::us(2);
    let text = SWITCH.replace(
        "[[traffic]]\n",
        &format!(
            "[[traffic]]\nsources = ['H0']\nstop = '{pause}'\npattern = {{ to = 'H5' }}\ninjection = 'saturating'\n\
             message = '1000 B'\n\
             [[traffic]]\nsources = ['H0']\nstart = '{from}'\npattern = {{ to = 'H5' }}\ninjection = 'saturating'\n\
             message = '1000 B'\n\
             [[traffic]]\nsources = ['H1']\n"
        ),
    );
    run(&text, &[("switch.arbiter", "fixed-priority"), ("run.duration", "20 ms")]).warnings
}

#[test]
fn a_lane_that_is_served_once_starves_all_the_same() {
    for ms in [1, 10, 19] {
        let warnings = served_once(Time::ms(ms));
        assert_eq!(warnings.len(), 1, "{ms}: {warnings:?}");
        assert!(warnings[0].starts_with("lane 0 of H1->S0 starves at S0->H5: "), "{warnings:?}");
    }
    let warnings = served_once(Time::us(19_500));
    assert!(warnings[0].contains(" to 20 ms it sent "), "{warnings:?}");
    assert!(warnings[0].contains("packets were ready and there was space ahead"), "{warnings:?}");
}

#[test]
fn a_lane_that_is_served_in_the_drain_starved_before() {
    let text = SWITCH.replace("pattern", "stop = '20 ms'\npattern");
    let drained = [("switch.arbiter", "fixed-priority"), ("run.duration", "20 ms"), ("run.drain", "empty")];
    let outcome = run(&text, &drained);
    assert_eq!(outcome.warnings.len(), 4, "{:?}", outcome.warnings);
    assert!(outcome.warnings[0].contains(" it sent nothing, though"), "{:?}", outcome.warnings);
}

#[test]
fn a_lane_of_low_rate_does_not_starve() {
    let low = "[[traffic]]\nsources = ['H1']\npattern = { to = 'H5' }\nload = 0.001\nmessage = '1000 B'\n";
    let text =
        SWITCH.replace("[[traffic]]\n", &format!("{low}[[traffic]]\nsources = ['H0', 'H2', 'H3', 'H4']\n"));
    for arbiter in ["round-robin", "oldest-first", "age-based"] {
        let outcome = run(&text, &[("switch.arbiter", arbiter), ("run.duration", "50 ms")]);
        assert_eq!(outcome.warnings, [""; 0], "{arbiter}");
    }
    // behind a source that leaves it a tenth of the link
    let text = text
        .replace("['H0', 'H2', 'H3', 'H4']", "['H0']")
        .replace("injection = \"saturating\"", "load = 0.9");
    let outcome = run(&text, &[("switch.arbiter", "fixed-priority"), ("run.duration", "50 ms")]);
    assert_eq!(outcome.warnings, [""; 0]);
}

/// A chain of three switches: A crosses both links between them, B the first, C and D the second. On lanes of their own, A and B
/// contend for the read port of the second switch's input.
const TWO_BOTTLENECKS: &str = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 3
[links.all]
rate = "8 Gb/s"
reads = 2
[switch]
virtual_lanes = 2
[routing]
lane_selection = "by-flow"
[[traffic]]
name = "A"
sources = ["H(0).0"]
pattern = { to = "H(2).0" }
injection = "saturating"
message = "1000 B"
[[traffic]]
name = "B"
sources = ["H(0).1"]
pattern = { to = "H(1).1" }
injection = "saturating"
message = "1000 B"
[[traffic]]
name = "C"
sources = ["H(1).0"]
pattern = { to = "H(2).1" }
injection = "saturating"
message = "1000 B"
[[traffic]]
name = "D"
sources = ["H(1).1"]
pattern = { to = "H(2).2" }
injection = "saturating"
message = "1000 B"
[run]
duration = "1 ms"
"#;

#[test]
fn two_bottlenecks_give_max_min_shares_where_flows_have_lanes_of_their_own() {
    let shares = |overrides: &[(&str, &str)]| {
        let counts = counts(TWO_BOTTLENECKS, overrides, Time::us(200), Time::us(3200));
        [0, 1, 3, 4].map(|host| counts[host] as f64 / 3000.0)
    };
    let third = 1.0 / 3.0;
    // The second link is A's, C's and D's; B has what A leaves of the first.
    for (found, expected) in shares(&[]).iter().zip([third, 2.0 * third, third, third]) {
        assert!((found - expected).abs() < 1e-3, "{:?}", shares(&[]));
    }
    // On one lane B waits behind A for credits, and is as slow.
    let victim = shares(&[("switch.virtual_lanes", "1")]);
    assert!(victim.iter().all(|share| (share - third).abs() < 1e-3), "{victim:?}");
    // A single read port is enough: A and B need all of it.
    for lanes in ["2", "3", "4"] {
        for queueing in ["voq", "fifo"] {
            let overrides =
                [("links.all.reads", "1"), ("switch.virtual_lanes", lanes), ("switch.queueing", queueing)];
            let found = shares(&overrides);
            for (found_one, expected) in found.iter().zip([third, 2.0 * third, third, third]) {
                assert!((found_one - expected).abs() < 1e-3, "{overrides:?}: {found:?}");
            }
        }
    }
}

const PARKING_LOT: &str = r#"
[topology.parking-lot]
switches = 7
[links.all]
rate = "8 Gb/s"
buffer = "8000 B"
[[traffic]]
pattern = { to = "H(6).1" }
injection = "saturating"
message = "1000 B"
[run]
duration = "1 ms"
"#;

/// Shares of the sources, the farthest first.
fn parking_lot(overrides: &[(&str, &str)], warmup: Time) -> Vec<f64> {
    let counts = counts(PARKING_LOT, overrides, warmup, warmup + Time::ms(12));
    counts[..7].iter().map(|&n| n as f64 / 12_000.0).collect()
}

/// With round robin: half at every switch, from the sink.
fn halved(from_sink: usize) -> f64 {
    0.5_f64.powi((from_sink as i32 + 1).min(6))
}

#[test]
fn round_robin_halves_the_share_at_every_switch() {
    let found = parking_lot(&[("switch.arbiter", "round-robin")], Time::ms(1));
    for (i, share) in found.iter().rev().enumerate() {
        assert!((share / halved(i) - 1.0).abs() < 0.01, "{found:?}");
    }
}

#[test]
fn random_halves_it_on_average() {
    let found = parking_lot(&[("switch.arbiter", "random")], Time::ms(1));
    for (i, share) in found.iter().rev().enumerate() {
        // At most that of independent draws: a binomial, five standard deviations.
        let margin = 5.0 * (halved(i) * (1.0 - halved(i)) / 12_000.0).sqrt();
        assert!((share - halved(i)).abs() < margin, "{found:?}");
    }
}

#[test]
fn fixed_priority_serves_the_lower_port() {
    let found = parking_lot(&[("switch.arbiter", "fixed-priority")], Time::ms(1));
    // Hosts have the lower ports: the nearest takes all.
    assert!((found[6] - 1.0).abs() < 1e-3, "{found:?}");
}

/// Shares by oldest-first arbitration, the farthest source first. All buffers are full, and the packets that an
/// output chooses from are equally old. A source with share r of the output's packets has a packet in its switch's
/// buffer, of `hosts` packets, for a time hosts / r; those from upstream have come through a buffer of `transit` packets
/// more, in transit / (sum of their shares).
fn oldest_first_shares(hosts: f64, transit: f64) -> Vec<f64> {
    let mut shares = vec![1.0];
    let mut age = hosts;
    for _ in 1..7 {
        age += transit / shares.iter().sum::<f64>();
        shares.push(hosts / age);
    }
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

#[test]
fn oldest_first_gives_the_same_to_all_whose_packets_wait_as_long() {
    let oldest = ("switch.arbiter", "oldest-first");
    let agree = |found: &[f64], expected: &[f64]| {
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 0.01),
            "{found:?} {expected:?}"
        );
    };
    // Long queues at the sources, short ones on the way: the age is that of the wait at the source.
    let deep = [oldest, ("links.hosts.buffer", "1 MB"), ("links.all.buffer", "2000 B")];
    let found = parking_lot(&deep, Time::ms(40));
    agree(&found, &oldest_first_shares(1000.0, 2.0));
    agree(&found, &[1.0 / 7.0; 7]);
    // All buffers alike: who comes from far has aged on the way, and is preferred.
    agree(&parking_lot(&[oldest], Time::ms(1)), &oldest_first_shares(8.0, 8.0));
}
