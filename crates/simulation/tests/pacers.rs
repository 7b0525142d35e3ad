//! Congestion control with windows, held against what its authors say of it.

use crate::common::run;
use fabricsim_simulation::Outcome;

const INCAST: &str = r#"
[topology.mesh]
dimensions = [1]
hosts_per_switch = 17
[links.all]
rate = "100 Gb/s"
latency = "1 us"
buffer = "1 MiB"
reads = 16
[switch]
queueing = "voq"
[host]
mtu = "4096 B"
[[traffic]]
name = "incast"
sources = ["H(0).1", "H(0).2", "H(0).3", "H(0).4", "H(0).5", "H(0).6", "H(0).7", "H(0).8"]
pattern = { to = "H(0).0" }
injection = "saturating"
message = "64 KiB"
[run]
warmup = "2 ms"
duration = "3 ms"
"#;

fn flows(outcome: &Outcome) -> Vec<f64> {
    outcome.summary.flows.flows.iter().map(|flow| flow.accepted_gbps).collect()
}

fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

/// Results of an incast of this number of senders.
struct Found {
    /// Of the receiver's link.
    utilisation: f64,
    jain: f64,
    /// Mean time in the network, ns, without [`EMPTY_NS`].
    queueing_ns: f64,
}

/// Two links, and a packet's time on one of them.
const EMPTY_NS: f64 = 2000.0 + 327.68;
/// Round trip as `congestion_control.base_rtt` has it: an answer counts as a packet of the MTU.
const BASE_RTT_NS: f64 = 2.0 * EMPTY_NS;

fn incast(algorithm: &str, senders: usize, overrides: &[(&str, &str)]) -> Found {
    let sources: Vec<String> = (1..=senders).map(|n| format!("\"H(0).{n}\"")).collect();
    let sources = format!("[{}]", sources.join(", "));
    let mut all = vec![("congestion_control.algorithm", algorithm), ("traffic.0.sources", sources.as_str())];
    all.extend(overrides);
    let outcome = run(INCAST, &all);
    let rates = flows(&outcome);
    assert_eq!(rates.len(), senders);
    Found {
        utilisation: rates.iter().sum::<f64>() / 100.0,
        jain: jain(&rates),
        queueing_ns: outcome.summary.latency.network_latency_ns.mean - EMPTY_NS,
    }
}

/// Control: without congestion control every sender has its whole buffer at the switch waiting.
#[test]
fn without_a_window_the_buffers_of_all_senders_fill() {
    let found = incast("none", 8, &[]);
    // 8 MiB at 100 Gb/s.
    assert!((found.queueing_ns / 671_088.0 - 1.0).abs() < 0.02, "{}", found.queueing_ns);
}

/// Section 3.1 of the paper: the round trip settles at the target, which grows as windows shrink; the link stays busy, and all get the
/// same. The target for N flows is the fixed point of target = base + alpha / sqrt(cwnd) + beta with cwnd = target x rate / N.
#[test]
fn swift_keeps_the_round_trip_at_its_target() {
    for senders in [2, 4, 8, 16] {
        let found = incast("swift", senders, &[]);
        let (base, range) = (2.0 * BASE_RTT_NS, 8.0 * BASE_RTT_NS);
        let alpha = range / (1.0 / 0.1_f64.sqrt() - 0.1);
        let target = (0..100).fold(base, |target, _| {
            let cwnd = target * 12.5 / 4096.0 / senders as f64;
            base + (alpha / cwnd.sqrt() - 0.1 * alpha).clamp(0.0, range)
        });
        // An acknowledgement of 64 bytes takes 5 ns a link in flight back.
        let round_trip = found.queueing_ns + EMPTY_NS + 2010.0;
        let ratio = round_trip / target;
        // The window swings about the target: by beta times what an additive increase adds to the delay, and by ai packets of each sender.
        let swing = senders as f64 * 327.68 / target;
        assert!((ratio - 1.0).abs() < 0.05 + swing, "{senders}: {round_trip} {target}");
        assert!(
            found.utilisation > 0.99 && found.jain > 0.99,
            "{senders}: {} {}",
            found.utilisation,
            found.jain
        );
    }
}

/// Section 3.2 of the paper: there is next to no queue, however many senders there are, and the link is used to eta and what the additive
/// increases of all N senders add. The fixed point of W = W / (U / eta) + W_AI with N W = U B T is U = eta + N W_AI / (B T), and W_AI is
/// (1 - eta) B T / `flows`; all get the same.
#[test]
fn hpcc_keeps_the_queue_empty_and_the_link_near_eta() {
    for (senders, eta) in [(2, 0.95), (4, 0.95), (8, 0.95), (16, 0.95), (4, 0.5), (4, 0.8)] {
        let (expected, flows) = (eta + (1.0 - eta) / 4.0, (4 * senders).to_string());
        let eta = eta.to_string();
        // As in the paper packets have 1 kB, so that a window has several.
        let given = [
            ("host.mtu", "1 KiB"),
            ("congestion_control.hpcc.flows", flows.as_str()),
            ("congestion_control.hpcc.eta", eta.as_str()),
        ];
        let found = incast("hpcc", senders, &given);
        assert!((found.utilisation - expected).abs() < 0.02, "{senders}: {} {expected}", found.utilisation);
        // Three packets at most; packets of 1 kB take less time on the link than those of 4 kB.
        let queueing = found.queueing_ns + 327.68 - 81.92;
        assert!(queueing < 3.0 * 81.92, "{senders}: {queueing}");
        assert!(found.jain > 0.99, "{senders}: {}", found.jain);
    }
}

/// Specification 1.0, section 3.6.13: the queueing delay settles about its target, and all get the same.
#[test]
fn nscc_keeps_the_queueing_delay_about_its_target() {
    for senders in [2, 4, 8, 16] {
        for target in [None, Some(10_000.0)] {
            let text = format!("\"{} ns\"", target.unwrap_or(0.0));
            let given = [("congestion_control.nscc.target_delay", text.as_str())];
            let found = incast("nscc", senders, if target.is_some() { &given } else { &[] });
            let ratio = found.queueing_ns / target.unwrap_or(BASE_RTT_NS);
            assert!(
                found.utilisation > 0.99 && found.jain > 0.95,
                "{senders}: {} {}",
                found.utilisation,
                found.jain
            );
            assert!((0.8..1.25).contains(&ratio), "{senders} {target:?}: {ratio}");
        }
    }
}

/// A flow that comes 1 ms later gets its share of a link that another one fills.
#[test]
fn a_late_flow_gets_its_share() {
    let late = "[[traffic]]\nname = \"late\"\nsources = [\"H(0).9\"]\npattern = { to = \"H(0).0\" }\n\
                injection = \"saturating\"\nmessage = \"64 KiB\"\nstart = \"1 ms\"\n[run]";
    let text = INCAST.replace("[run]", late);
    for (algorithm, fair) in [("none", true), ("swift", true), ("hpcc", true), ("nscc", true)] {
        let given = [
            ("congestion_control.algorithm", algorithm),
            ("congestion_control.hpcc.flows", "8"),
            ("traffic.0.sources", "[\"H(0).1\"]"),
        ];
        let rates = flows(&run(&text, &given));
        assert_eq!(jain(&rates) > 0.99, fair, "{algorithm}: {rates:?}");
    }
}
