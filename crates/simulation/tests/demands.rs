//! The traffic matrix, the time and the links of flows, against what can be computed by hand.

use std::collections::BTreeMap;

use crate::common::prepare;
use fabricsim_model::{Data, Table};
use fabricsim_simulation::{Demands, DemandsError, demands};
use fabricsim_units::Time;

const BASE: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 2
[links.all]
rate = "80 Gb/s"
[links.hosts]
rate = "20 Gb/s"
packet_overhead = "10 B"
[host]
mtu = "100 B"
[run]
warmup = "10 us"
duration = "90 us"
"#;

fn entry(rest: &str) -> String {
    format!("[[traffic]]\nmessage = '150 B'\n{rest}\n")
}

fn of(traffic: &str, overrides: &[(&str, &str)], at: Option<Time>) -> Result<Demands, DemandsError> {
    demands(&prepare(&format!("{BASE}{traffic}"), overrides), at, "e.toml")
}

fn table<'a>(demands: &'a Demands, name: &str) -> &'a Table {
    demands.tables.iter().find(|table| table.name == name).unwrap()
}

fn whole(table: &Table, name: &str) -> Vec<i64> {
    match &table.columns.iter().find(|column| column.name == name).unwrap().data {
        Data::Whole(values) => values.clone(),
        _ => panic!("{name} is not whole"),
    }
}

fn real(table: &Table, name: &str) -> Vec<f64> {
    match &table.columns.iter().find(|column| column.name == name).unwrap().data {
        Data::Real(values) => values.clone(),
        _ => panic!("{name} is not real"),
    }
}

/// Sum of the weights of each flow on each link, by the link's name.
fn weights(demands: &Demands) -> BTreeMap<(i64, String), f64> {
    let Data::Text(names) = &table(demands, "links").columns[0].data else { panic!("no names") };
    let crossings = table(demands, "crossings");
    let mut sums = BTreeMap::new();
    let rows = whole(crossings, "flow").into_iter().zip(whole(crossings, "link"));
    for ((flow, link), weight) in rows.zip(real(crossings, "weight")) {
        *sums.entry((flow, names[link as usize].clone())).or_insert(0.0) += weight;
    }
    sums
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn rates_are_those_of_packets() {
    let two = entry("sources = ['H(0).0']\npattern = 'uniform'\nload = 0.6")
        + &entry("sources = ['H(1).1']\npattern = { to = 'H(0).0' }\ninjection = 'saturating'");
    let found = of(&two, &[], None).unwrap();
    let flows = table(&found, "flows");
    assert_eq!(whole(flows, "source"), [0, 0, 0, 3]);
    assert_eq!(whole(flows, "destination"), [1, 2, 3, 0]);
    assert_eq!(whole(flows, "entry"), [0, 0, 0, 1]);
    // 150 bytes are two packets, with 10 bytes each on the hosts' links.
    let full = 20.0 * 150.0 / 170.0;
    assert!(close(&real(flows, "demand_gbps"), &[4.0, 4.0, 4.0, full]));
    let weights = weights(&found);
    let of_last: Vec<_> = weights.iter().filter(|((flow, _), _)| *flow == 3).collect();
    let names: Vec<&str> = of_last.iter().map(|((_, name), _)| name.as_str()).collect();
    assert_eq!(names, ["H(1).1->S(1)", "S(0)->H(0).0", "S(1)->S(0)"]);
    let values: Vec<f64> = of_last.iter().map(|(_, weight)| **weight).collect();
    assert!(close(&values, &[170.0 / 150.0, 170.0 / 150.0, 1.0]));
}

#[test]
fn entries_of_a_host_share_its_link() {
    let open = entry("sources = ['H(0).0']\npattern = { to = 'H(0).1' }\nload = 0.3");
    let saturating = entry("sources = ['H(0).0']\npattern = { to = 'H(1).0' }\ninjection = 'saturating'");
    let rates = |traffic: &str| {
        let wire = [("links.hosts.packet_overhead", "\"0 B\"")];
        real(table(&of(traffic, &wire, None).unwrap(), "flows"), "demand_gbps")
    };
    assert!(close(&rates(&format!("{open}{saturating}")), &[6.0, 14.0]));
    // In turn: of three queues with equal messages each gets at most a third.
    assert!(close(
        &rates(&format!("{}{saturating}{saturating}", open.replace("0.3", "0.9"))),
        &[20.0 / 3.0, 20.0 / 3.0, 20.0 / 3.0]
    ));
    // More than the link takes.
    assert!(close(&rates(&open.replace("0.3", "4.0\ninjection = 'poisson'")), &[20.0]));
}

#[test]
fn limited_sinks_are_links() {
    let one = entry("sources = ['H(0).0']\npattern = { to = 'H(0).1' }\nload = 0.5");
    let sink = "{ rate = \"18 Gb/s\", pause_every = \"2 us\", pause_for = \"1 us\" }";
    let found = of(&one, &[("host.sink", sink)], None).unwrap();
    let Data::Text(names) = &table(&found, "links").columns[0].data else { panic!("no names") };
    let row = names.iter().position(|name| name == "sink of H(0).1").unwrap();
    assert!(close(&real(table(&found, "links"), "gbps")[row..=row], &[12.0]));
    assert_eq!(weights(&found)[&(0, "sink of H(0).1".to_owned())], 1.0);
}

#[test]
fn the_moment_is_the_last_with_most_flows_in_the_measurement() {
    let timed = |from: &str, to: &str, start: u32, stop: u32| {
        entry(&format!(
            "sources = ['{from}']\npattern = {{ to = '{to}' }}\nload = 0.5\nstart = '{start} us'\nstop = '{stop} us'"
        ))
    };
    // Three in the warm-up, then two, one, two.
    let traffic = timed("H(0).0", "H(0).1", 0, 9)
        + &timed("H(0).1", "H(0).0", 0, 30)
        + &timed("H(1).0", "H(1).1", 0, 20)
        + &timed("H(1).1", "H(1).0", 25, 40);
    let sources = |at: Option<Time>| whole(table(&of(&traffic, &[], at).unwrap(), "flows"), "source");
    assert_eq!(sources(None), [1, 3]);
    assert_eq!(sources(Some(Time::us(5))), [0, 1, 2]);
    assert_eq!(sources(Some(Time::us(20))), [1]);
    let summary = of(&traffic, &[], None).unwrap().summary;
    let part = [summary["from_s"].as_f64().unwrap(), summary["to_s"].as_f64().unwrap()];
    assert!((part[0] - 25e-6).abs() < 1e-15 && (part[1] - 30e-6).abs() < 1e-15, "{part:?}");

    let message = |at: u64| of(&traffic, &[], Some(Time::us(at))).unwrap_err().to_string();
    assert_eq!(
        message(100),
        "e.toml: --at 100 us is outside the run, which lasts from 0 to 100 us (warm-up and duration)"
    );
    assert_eq!(
        message(50),
        "e.toml: no host sends anything at 50 us; the first starts at 0 ns, the last ends at 40 us"
    );
    let late = of(&timed("H(0).0", "H(0).1", 200, 300), &[], None).unwrap_err().to_string();
    assert!(
        late.contains("in the measurement; the first starts at 200 us, the last ends at 300 us"),
        "{late}"
    );
    assert!(of("", &[], None).unwrap_err().to_string().contains("traffic: no host sends anything: there is"));
}

const TREE: &str = r#"
[topology.fat-tree]
arity = 2
levels = 2
[[traffic]]
sources = ["H0"]
pattern = { to = "H3" }
load = 0.5
message = "64 B"
[run]
duration = "1 ms"
"#;

#[test]
fn random_ways_split_evenly_and_adaptive_ones_are_left_open() {
    let tree =
        |algorithm: &str| demands(&prepare(TREE, &[("routing.algorithm", algorithm)]), None, "t").unwrap();
    let random = weights(&tree("up-down-random"));
    let mut shares: Vec<f64> = random.values().copied().collect();
    shares.sort_unstable_by(f64::total_cmp);
    // Host link, two ways up, two ways down, host link.
    assert!(close(&shares, &[0.5, 0.5, 0.5, 0.5, 1.0, 1.0]), "{random:?}");

    let adaptive = tree("up-down-adaptive");
    assert_eq!(weights(&adaptive).len(), 1, "the injection link");
    let arcs = table(&adaptive, "arcs");
    let (tails, heads) = (whole(arcs, "tail"), whole(arcs, "head"));
    assert_eq!(whole(table(&adaptive, "flows"), "state"), [0]);
    assert_eq!(tails.iter().filter(|&&tail| tail == 0).count(), 2);
    // Both roots go down by ports of their own, and each of those states ends at the host.
    assert_eq!((tails.len(), heads.iter().filter(|&&head| head == -1).count()), (6, 2));
}

/// Two neighbours of a ring of four, the other way around being a detour.
const DETOUR: &str = r#"
[topology.hyperx]
dimensions = [4]
hosts_per_switch = 1
[switch]
virtual_lanes = 2
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
load = 0.5
message = "64 B"
[run]
duration = "1 ms"
"#;

#[test]
fn detours_are_left_open() {
    let of =
        |algorithm: &str| demands(&prepare(DETOUR, &[("routing.algorithm", algorithm)]), None, "d").unwrap();
    assert_eq!(weights(&of("minimal")).len(), 3, "host link, link, host link");
    for algorithm in ["valiant", "dal"] {
        let found = of(algorithm);
        assert_eq!(weights(&found).len(), 1, "{algorithm}: the injection link");
        let arcs = table(&found, "arcs");
        let used: std::collections::BTreeSet<i64> = whole(arcs, "link").into_iter().collect();
        // The direct link, two detours of two links each, and the link of the host.
        assert_eq!(used.len(), 6, "{algorithm}: {used:?}");
        assert!(whole(arcs, "head").contains(&-1));
    }
}

#[test]
fn too_many_flows_are_refused_with_what_is_possible() {
    let large = r#"
[topology.torus]
dimensions = [22, 22]
[[traffic]]
pattern = "uniform"
load = 0.5
message = "64 B"
[run]
duration = "1 ms"
"#;
    let error = demands(&prepare(large, &[]), None, "t.toml").unwrap_err().to_string();
    assert!(error.contains("233772 flows"), "{error}");
    assert!(error.contains("up to 200000") && error.contains("it may have up to 447 hosts"), "{error}");
    let fitting = [("topology.torus.dimensions", "[21, 21]")];
    assert!(demands(&prepare(large, &fitting), None, "t.toml").is_ok());
}

/// Hosts on three switches in a line send to a group of five and to one host: a packet for the group loads each link of its tree once.
#[test]
fn a_packet_for_a_group_crosses_each_link_of_its_tree_once() {
    let groups = "[[multicast_groups]]\nname = 'four'\nmembers = ['H(0).*', 'H(1).*', 'H(2).0']\n";
    let many = entry("sources = ['H(0).1']\npattern = { multicast = 'four' }\nload = 0.25");
    let one = entry("sources = ['H(2).1']\npattern = { to = 'H(0).0' }\nload = 0.5");
    let wide = [("topology.mesh.dimensions", "[3]")];
    let found = of(&format!("{groups}{many}{one}"), &wide, None).unwrap();
    let flows = table(&found, "flows");
    assert_eq!(whole(flows, "source"), [1, 1, 1, 1, 5]);
    assert_eq!(whole(flows, "destination"), [0, 2, 3, 4, 0]);
    assert_eq!(whole(flows, "tree"), [0, 0, 0, 0, -1]);
    assert!(close(&real(flows, "demand_gbps"), &[5.0, 5.0, 5.0, 5.0, 10.0]));
    // What flows of 5 Gb/s each load a link with: 5 Gb/s on every link of the tree, with 10 bytes for each of two packets on those of hosts.
    let mut loads: BTreeMap<String, f64> = BTreeMap::new();
    for ((flow, link), weight) in weights(&found) {
        *loads.entry(link).or_insert(0.0) += weight * if flow < 4 { 5.0 } else { 0.0 };
    }
    loads.retain(|_, load| *load > 0.0);
    let host = 5.0 * 170.0 / 150.0;
    let by_hand = [
        ("H(0).1->S(0)", host),
        ("S(0)->H(0).0", host),
        ("S(0)->S(1)", 5.0),
        ("S(1)->H(1).0", host),
        ("S(1)->H(1).1", host),
        ("S(1)->S(2)", 5.0),
        ("S(2)->H(2).0", host),
    ];
    let found: Vec<&str> = loads.keys().map(String::as_str).collect();
    assert_eq!(found, by_hand.map(|(name, _)| name));
    assert!(close(&loads.into_values().collect::<Vec<_>>(), &by_hand.map(|(_, load)| load)));
}

/// With limited sinks each member takes all of a packet; a sender that is no member, and one whose group has no other member, count as they send.
#[test]
fn members_take_whole_packets() {
    let groups = "[[multicast_groups]]\nname = 'two'\nmembers = ['H(0).0', 'H(1).1']\n";
    let many = entry("sources = ['H(1).0', 'H(1).1']\npattern = { multicast = 'two' }\nload = 0.25");
    let found = of(&format!("{groups}{many}"), &[("host.sink", "{ rate = \"18 Gb/s\" }")], None).unwrap();
    let flows = table(&found, "flows");
    assert_eq!(whole(flows, "source"), [2, 2, 3]);
    assert_eq!(whole(flows, "destination"), [0, 3, 0]);
    assert_eq!(whole(flows, "tree"), [0, 0, 1]);
    let weights = weights(&found);
    for (flow, sink) in [(0, "sink of H(0).0"), (1, "sink of H(1).1"), (2, "sink of H(0).0")] {
        assert_eq!(weights[&(flow, sink.to_owned())], 1.0);
    }
    assert!((weights[&(2, "S(1)->S(0)".to_owned())] - 1.0).abs() < 1e-12);
    assert!((weights[&(0, "H(1).0->S(1)".to_owned())] - 170.0 / 300.0).abs() < 1e-12);
}
