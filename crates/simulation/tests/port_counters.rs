//! Counters of ports by their names in InfiniBand.

use std::collections::BTreeMap;

use crate::common::tables::{numbers, texts};
use crate::common::{everything, run};
use fabricsim_simulation::Outcome;

/// Two hosts share the link of a third.
const INCAST: &str = r#"
topology.single-switch = { hosts = 3 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[host]
mtu = "1 KiB"
[[traffic]]
sources = ["H0", "H1"]
pattern = { to = "H2" }
injection = "saturating"
message = "4 KiB"
[measure]
port_counters = true
[run]
warmup = "20 us"
duration = "400 us"
"#;

/// A counter by node and port.
fn counter(outcome: &Outcome, name: &str) -> BTreeMap<(String, u64), f64> {
    let ports = numbers(outcome, "port_counters", "port").into_iter().map(|port| port as u64);
    let places = texts(outcome, "port_counters", "node").into_iter().zip(ports);
    places.zip(numbers(outcome, "port_counters", name)).collect()
}

fn at(outcome: &Outcome, name: &str, (node, port): (&str, u64)) -> f64 {
    counter(outcome, name)[&(node.to_owned(), port)]
}

/// H0 and H1 send half of the time each, and wait for credits in the other half; all that they send the switch receives, and H2.
#[test]
fn waiting_is_counted_in_words_like_data() {
    let outcome = run(INCAST, &[]);
    let words = 400e-6 * 100e9 / 32.0;
    for (host, port) in [("H0", 1), ("H1", 2)] {
        let (sent, waited) =
            (at(&outcome, "PortXmitData", (host, 1)), at(&outcome, "PortXmitWait", (host, 1)));
        // Within a packet of 256 words.
        assert!((sent - words / 2.0).abs() <= 256.0, "{sent}");
        assert!((sent + waited - words).abs() <= 512.0, "{sent} {waited}");
        assert_eq!(sent, at(&outcome, "PortRcvData", ("S0", port)));
        assert_eq!(at(&outcome, "PortXmitPkts", (host, 1)), at(&outcome, "PortRcvPkts", ("S0", port)));
        assert_eq!(at(&outcome, "PortXmitData", ("S0", port)), 0.0);
    }
    let last = ("S0", 3);
    assert!((at(&outcome, "PortXmitData", last) - words).abs() <= 256.0);
    assert_eq!(at(&outcome, "PortXmitWait", last), 0.0, "the sink takes packets as they come");
    assert_eq!(at(&outcome, "PortXmitPkts", last), at(&outcome, "PortRcvPkts", ("H2", 1)));
}

/// An error of a link is counted where the packet arrives, and a discarded packet where it would have left.
#[test]
fn errors_are_counted_at_the_port_that_notices_them() {
    let outcome = run(
        INCAST,
        &[
            ("links.all.bit_error_rate", "1e-6"),
            ("links.errors", "\"lose\""),
            ("traffic.0.sources", "[\"H0\"]"),
        ],
    );
    let errors = counter(&outcome, "PortRcvErrors");
    let damaged: f64 = numbers(&outcome, "links", "damaged").iter().sum();
    assert!(damaged > 10.0, "{damaged}");
    assert_eq!(errors.values().sum::<f64>(), damaged);
    assert_eq!(errors, counter(&outcome, "SymbolErrorCounter"));
    assert_eq!(errors[&("H0".to_owned(), 1)], 0.0, "nothing arrives there");
    assert!(errors[&("S0".to_owned(), 1)] > 0.0 && errors[&("H2".to_owned(), 1)] > 0.0);
}

#[test]
fn failures_are_counted_at_both_ends() {
    let plan = r#"[{ link = "H1-S0", at = "50 us", until = "60 us" }, { link = "H1-S0", at = "70 us", until = "80 us" }]"#;
    let outcome = run(INCAST, &[("faults", &format!("{{ plan = {plan} }}"))]);
    let downs = counter(&outcome, "LinkDownedCounter");
    let of = |node: &str, port| downs[&(node.to_owned(), port)];
    assert_eq!((of("H1", 1), of("S0", 2), of("H0", 1), of("S0", 1)), (2.0, 2.0, 0.0, 0.0));
}

#[test]
fn there_are_none_without_the_key_and_partitions_do_not_matter() {
    assert!(texts(&run(INCAST, &[("measure.port_counters", "false")]), "port_counters", "node").is_empty());
    let one = everything(&run(INCAST, &[]));
    for partitions in ["2", "3", "7"] {
        assert_eq!(everything(&run(INCAST, &[("run.partitions", partitions)])), one);
    }
}

/// Three switches in a line with a host each: H0 sends to a group of all hosts, H1 to H2 alone.
const GROUP: &str = r#"
topology.mesh = { dimensions = [3], hosts_per_switch = 1 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[host]
mtu = "1 KiB"
[[multicast_groups]]
name = "all"
members = ["*"]
[[traffic]]
sources = ["H(0).0"]
pattern = { multicast = "all" }
load = 0.3
message = "1 KiB"
[[traffic]]
sources = ["H(1).0"]
pattern = { to = "H(2).0" }
load = 0.3
message = "1 KiB"
[measure]
port_counters = true
[run]
warmup = "20 us"
duration = "100 us"
"#;

/// A packet for the group is counted once at each port of its tree, and one for a host as unicast there. At every port both add up to all.
#[test]
fn packets_for_groups_are_counted_apart() {
    let outcome = run(GROUP, &[]);
    let [sent, unicast, multicast, received, unicast_received, multicast_received] = [
        "PortXmitPkts",
        "PortUnicastXmitPkts",
        "PortMulticastXmitPkts",
        "PortRcvPkts",
        "PortUnicastRcvPkts",
        "PortMulticastRcvPkts",
    ]
    .map(|name| counter(&outcome, name));
    for (port, all) in &sent {
        assert_eq!(*all, unicast[port] + multicast[port], "{port:?}");
        assert_eq!(received[port], unicast_received[port] + multicast_received[port], "{port:?}");
    }
    let of = |counters: &BTreeMap<(String, u64), f64>, node: &str| -> Vec<f64> {
        counters.iter().filter(|((name, _), _)| name == node).map(|(_, count)| *count).collect()
    };
    let hosts = ["H(0).0", "H(1).0", "H(2).0"];
    // Each of the two senders sends packets of one kind.
    let (group, one) = (of(&sent, "H(0).0")[0], of(&sent, "H(1).0")[0]);
    assert!(group > 300.0 && one > 300.0, "{group} {one}");
    for (host, [group_sent, host_sent, group_received, host_received]) in
        hosts.into_iter().zip([[group, 0.0, 0.0, 0.0], [0.0, one, group, 0.0], [0.0, 0.0, group, one]])
    {
        let near = |counters, expected: f64| {
            let found = of(counters, host)[0];
            // But for those in flight or waiting at the begin and at the end.
            assert!(
                (found - expected).abs() <= 10.0 * f64::from(expected > 0.0),
                "{host}: {found} {expected}"
            );
        };
        near(&multicast, group_sent);
        near(&unicast, host_sent);
        near(&multicast_received, group_received);
        near(&unicast_received, host_received);
    }
    // The switches at the ends send them by one port, that in the middle by two.
    for (switch, sending) in [("S(0)", 1.0), ("S(1)", 2.0), ("S(2)", 1.0)] {
        let found: f64 = of(&multicast, switch).iter().sum();
        assert!((found - sending * group).abs() <= 10.0 * sending, "{switch}: {found}");
    }
    assert_eq!(multicast.values().sum::<f64>(), multicast_received.values().sum::<f64>());
}

/// Packets for groups are counted in any number of partitions, and with a bit error as well, like the others.
#[test]
fn packets_for_groups_are_counted_in_every_partition() {
    let lossy = [("links.all.bit_error_rate", "1e-6"), ("links.errors", "\"lose\"")];
    for settings in [&[][..], &lossy] {
        let one = everything(&run(GROUP, settings));
        for partitions in ["2", "3"] {
            let settings: Vec<_> = settings.iter().copied().chain([("run.partitions", partitions)]).collect();
            assert_eq!(everything(&run(GROUP, &settings)), one);
        }
    }
}
