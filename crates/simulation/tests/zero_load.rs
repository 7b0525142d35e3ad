//! A packet that meets no other takes exactly as long as the closed form says: to the picosecond, for every topology,
//! routing and way of switching, with links of different rates.

use std::fmt::Write;

use crate::common::observers::Deliveries;
use crate::common::{prepare, run};
use fabricsim_engine::Prepared;
use fabricsim_simulation::zero_load;
use fabricsim_spec::{Injection, Pattern};
use fabricsim_units::{Bytes, HostId, Time};
use proptest::prelude::*;

/// Topology, routing, virtual lanes. `{file}` is a graph without any regularity.
const FABRICS: &[(&str, &str, u8)] = &[
    ("mesh = { dimensions = [3, 2, 2] }", "auto", 1),
    ("mesh = { dimensions = [3, 3], hosts_per_switch = 2, naming = \"thesis\" }", "dimension-order", 2),
    ("mesh = { dimensions = [3, 3] }", "shortest-path", 1),
    ("torus = { dimensions = [5, 3] }", "auto", 2),
    ("torus = { dimensions = [4, 2, 2] }", "shortest-path", 3),
    ("grid = { dimensions = [5, 3], wrap = [true, false] }", "auto", 2),
    ("hypercube = { dimensions = 4 }", "auto", 1),
    ("fat-tree = { arity = 3, levels = 2 }", "auto", 1),
    ("fat-tree = { arity = 2, levels = 4 }", "up-down-adaptive", 2),
    ("xgft = { children = [3, 2, 2], parents = [1, 2, 3] }", "up-down", 1),
    ("xgft = { children = [2, 4], parents = [1, 2] }", "shortest-path", 1),
    ("parking-lot = { switches = 6 }", "auto", 1),
    ("ring = { switches = 7, hosts_per_switch = 2 }", "auto", 2),
    ("single-switch = { hosts = 5 }", "auto", 1),
    ("dragonfly = { p = 1, a = 2, h = 1 }", "auto", 2),
    ("dragonfly = { p = 1, a = 3, h = 1 }", "ugal-g", 3),
    ("dragonfly = { p = 1, a = 2, h = 2, g = 3 }", "par-6/2", 6),
    ("megafly = { p = 1, leaves = 2, spines = 2, h = 1 }", "ugal-l", 2),
    ("hyperx = { dimensions = [3, 4] }", "dal", 4),
    ("file = { path = \"{file}\" }", "auto", 1),
];

const GRAPH: &str = include_str!("data/irregular.toml");

/// Rates of host links and of the others; MTU, flow control unit; none divides another.
const LINKS: &[(&str, &str, u32, u32)] = &[
    ("8 Gb/s", "32 Gb/s", 2176, 64),
    ("100 Gb/s", "25 Gb/s", 1000, 64),
    ("13.7 Gb/s", "7 Gb/s", 333, 100),
    ("7 Gb/s", "13.7 Gb/s", 61, 8),
    ("10 Gb/s", "10 Gb/s", 1, 16),
];

/// Switching, and what else `[switch]` says.
const WAYS: [(&str, &str); 6] = [
    ("cut-through", ""),
    ("store-and-forward", ""),
    ("cut-through", "rate_mismatch = \"hold-output\""),
    ("cut-through", "queueing = \"cioq\"\narbiter = \"age-based\""),
    ("cut-through", "queueing = \"cioq\"\nstaging = { rate = \"11 Gb/s\", delay = \"5 ns\" }"),
    ("store-and-forward", "queueing = \"cioq\"\nstaging = { rate = \"11 Gb/s\" }"),
];

fn experiment(
    fabric: (&str, &str, u8),
    links: (&str, &str, u32, u32),
    (switching, queueing): (&str, &str),
) -> Prepared {
    let (topology, algorithm, lanes) = fabric;
    let (hosts, others, packet, unit) = links;
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("irregular.toml");
    std::fs::write(&path, GRAPH).unwrap();
    let topology = topology.replace("{file}", &path.display().to_string());
    let text = format!(
        "[topology]\n{topology}\n\
         [links.all]\nrate = \"{others}\"\nlatency = \"4321 ps\"\nbuffer = \"9000 B\"\npacket_overhead = \"17 B\"\n\
         [links.hosts]\nrate = \"{hosts}\"\nlatency = \"777 ps\"\n\
         [switch]\nrouter_delay = \"12345 ps\"\nvirtual_lanes = {lanes}\nflow_control_unit = \"{unit} B\"\n\
         switching = \"{switching}\"\n{queueing}\n[host]\nmtu = \"{packet} B\"\n[routing]\nalgorithm = \"{algorithm}\"\n\
         [[traffic]]\npattern = \"uniform\"\ninjection = \"constant\"\nmessage = \"{packet} B\"\n\
         load = 0.01\nmessages = 1\n[run]\nduration = \"1 s\"\nallow_deadlock = true\n"
    );
    alone(&prepare(&text, &[]))
}

/// The same with one message for each pair of hosts, a millisecond after the other.
fn alone(prepared: &Prepared) -> Prepared {
    let mut experiment = prepared.experiment.clone();
    let template = experiment.traffic.remove(0);
    let hosts = &prepared.graph.hosts;
    let pairs =
        hosts.iter().flat_map(|a| hosts.iter().map(move |b| (a, b))).filter(|(a, b)| a.name != b.name);
    experiment.traffic = pairs
        .enumerate()
        .map(|(i, (from, to))| {
            let mut traffic = template.clone();
            traffic.sources = vec![from.name.clone()];
            traffic.pattern = Pattern::To(to.name.clone());
            traffic.injection = Injection::Constant;
            traffic.start = Time::ms(i as u64);
            traffic
        })
        .collect();
    Prepared::new(experiment, std::path::Path::new("."), "zero_load.rs").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_pair_takes_the_time_of_the_closed_form() {
    let mut looked_at = 0;
    for &fabric in FABRICS {
        for &links in LINKS {
            for switching in WAYS {
                let prepared = experiment(fabric, links, switching);
                let hosts = prepared.graph.hosts.len();
                let mut engine = prepared.engine(Deliveries::default);
                engine.advance(Time::ms(1) * (hosts * hosts) as u64, &mut |_, _| true);
                let found = &engine.observers().next().unwrap().0;
                assert_eq!(found.len(), hosts * (hosts - 1));
                for (at, packet) in found {
                    let expected = zero_load(
                        &prepared,
                        packet.source,
                        packet.destination,
                        Bytes(u64::from(packet.bytes)),
                    );
                    assert_eq!(packet.injected, packet.created, "{fabric:?}");
                    assert_eq!(
                        *at - packet.injected,
                        expected,
                        "{fabric:?} {links:?} {switching:?} {packet:?}"
                    );
                }
                looked_at += found.len();
            }
        }
    }
    assert!(looked_at > 20_000, "{looked_at}");
}

#[test]
fn the_summary_of_a_lonely_flow_is_one_latency() {
    for &(topology, algorithm, lanes) in FABRICS.iter().filter(|fabric| !fabric.0.contains("{file}")) {
        let text = format!(
            "[topology]\n{topology}\n[links.hosts]\nrate = \"40 Gb/s\"\n[switch]\nvirtual_lanes = {lanes}\n\
             [routing]\nalgorithm = \"{algorithm}\"\n[[traffic]]\npattern = \"bit-complement\"\n\
             injection = \"constant\"\nload = 0.001\nmessage = \"900 B\"\n[run]\nduration = \"10 ms\"\ndrain = \"empty\"\n\
             allow_deadlock = true\n"
        );
        let first = prepare(&text.replace("\"bit-complement\"", "\"uniform\""), &[]);
        let (from, to) = (HostId(0), HostId(first.graph.hosts.len() as u32 - 1));
        let name = |host: HostId| &first.graph.hosts[host.index()].name;
        let text = text.replace(
            "\"bit-complement\"",
            &format!("{{ to = {:?} }}\nsources = [{:?}]", name(to), name(from)),
        );
        let summary = run(&text, &[]).summary;
        let expected = zero_load(&first, from, to, Bytes(900)).as_ns_f64();
        for latency in [summary.latency.latency_ns, summary.latency.network_latency_ns] {
            assert_eq!((latency.min, latency.p50, latency.max), (expected, expected, expected), "{topology}");
            assert!(
                (latency.mean - expected).abs() < 1e-9 * expected,
                "{topology}: the mean is rounded once"
            );
        }
        assert!(summary.latency.latency_packets > 50);
    }
}

/// Latency of a chain, computed without any of the simulator's types: times at which head and tail of a packet pass each
/// link, in picoseconds. A link is a byte's time and a latency. `held`: a head does not wait for its tail.
fn chain(links: &[(u64, u64)], bytes: u64, router: u64, stored: bool, held: bool) -> u64 {
    let (mut head, mut tail) = (0, links[0].0 * bytes);
    for (i, &(_, latency)) in links.iter().enumerate() {
        head += latency;
        tail += latency;
        let Some(&(next, _)) = links.get(i + 1) else { break };
        // The tail cannot leave before it has come; stored: nothing leaves before the tail has come.
        let leaves = if stored {
            tail + router
        } else if held {
            head + router
        } else {
            (head + router).max(tail + router - (next * bytes).min(tail))
        };
        (head, tail) = (leaves, (leaves + next * bytes).max(tail + router));
    }
    tail
}

#[test]
fn by_hand() {
    // Host links of 8 Gb/s (1 ns a byte), three fabric links of 32 Gb/s, 100 B, latency 10 ns, routers 50 ns:
    // 5 * 10 + 4 * 50, and the packet's time on the slow links but for what the fast link takes of it.
    let slow = [(1000, 10_000), (250, 10_000), (250, 10_000), (250, 10_000), (1000, 10_000)];
    assert_eq!(chain(&slow, 100, 50_000, false, false), 250_000 + 100_000 - 25_000 + 100_000);
    assert_eq!(chain(&slow, 100, 50_000, true, false), 250_000 + 2 * 100_000 + 3 * 25_000);
    // If outputs are held, once.
    assert_eq!(chain(&slow, 100, 50_000, false, true), 250_000 + 100_000);
    // The other way round: the packet's time on a slow link, once.
    let fast = [(250, 10_000), (1000, 10_000), (1000, 10_000), (1000, 10_000), (250, 10_000)];
    assert_eq!(chain(&fast, 100, 50_000, false, false), 250_000 + 100_000);
    assert_eq!(chain(&fast, 100, 50_000, false, true), 250_000 + 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Chains of links of any rates: the simulator, its closed form and the computation above agree.
    #[test]
    fn chains_of_any_rates_agree(
        links in prop::collection::vec((prop::sample::select(vec![20_u64, 80, 125, 250, 1000, 8000]), 1_u64..50_000), 2..8),
        bytes in 1_u64..3000, router in 0_u64..100_000, unit in 1_u64..200, stored in any::<bool>(), held in any::<bool>(),
        back in any::<bool>(),
    ) {
        let switches = links.len() - 1;
        let held = held && !stored;
        let mut text = format!(
            "[topology.mesh]\ndimensions = [{switches}]\nhosts_per_switch = 2\n[links.all]\nbuffer = \"64 KiB\"\n\
             [switch]\nswitching = \"{}\"\nrate_mismatch = \"{}\"\nrouter_delay = \"{router} ps\"\nflow_control_unit = \"{unit} B\"\n\
             [host]\nmtu = \"4 KiB\"\n",
            if stored { "store-and-forward" } else { "cut-through" },
            if held { "hold-output" } else { "delay-start" },
        );
        let mut nodes = vec!["H(0).0".to_owned()];
        nodes.extend((0..switches).map(|i| format!("S({i})")));
        nodes.push(format!("H({}).1", switches - 1));
        for (ends, (byte, latency)) in nodes.windows(2).zip(&links) {
            let rate = 8_000_000_000_000 / byte;
            let _ = writeln!(
                text, "[links.named.\"{}-{}\"]\nrate = \"{rate} b/s\"\nlatency = \"{latency} ps\"", ends[0], ends[1],
            );
        }
        let (from, to) = if back { (nodes.len() - 1, 0) } else { (0, nodes.len() - 1) };
        let _ = write!(
            text, "[[traffic]]\nsources = [\"{}\"]\npattern = {{ to = \"{}\" }}\nmessage = \"{bytes} B\"\n\
             injection = \"saturating\"\nmessages = 1\n[run]\nduration = \"1 s\"\n", nodes[from], nodes[to],
        );
        let prepared = prepare(&text, &[]);
        let mut engine = prepared.engine(Deliveries::default);
        engine.advance(Time::ms(100), &mut |_, _| true);
        let found = engine.observers().next().unwrap().0.clone();
        let mut ordered = links.clone();
        if back { ordered.reverse(); }
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!((found[0].0 - found[0].1.injected).0, chain(&ordered, bytes, router, stored, held));
        let packet = &found[0].1;
        prop_assert_eq!(zero_load(&prepared, packet.source, packet.destination, Bytes(bytes)), found[0].0 - packet.injected);
    }
}
