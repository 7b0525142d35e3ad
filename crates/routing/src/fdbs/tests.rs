use fabricsim_topology::Graph;
use proptest::prelude::*;

use super::{RowKeys, read, write};
use crate::samples::{graph, hosts, network};
use crate::{ForwardingTables, RoutingError};

/// SW11-SW12 over SW21-SW22, a host each: ports 0 host, 1 and 2 as in the thesis.
const MESH: &str = "mesh = { dimensions = [2, 2], naming = \"thesis\" }";

const GOOD: &str = "\
11: 255 0 2 1 2
12: 255 1 0 1 2
21: 255 1 2 0 2
22: 255 1 2 1 0
";

fn mesh() -> (Graph, String) {
    let (graph, router) = network(MESH, "", 1);
    let tables = ForwardingTables::of(&router, &graph, "test").unwrap();
    let text = write(&tables, &graph, RowKeys::Names, "test").unwrap();
    (graph, text)
}

fn message(graph: &Graph, bytes: &[u8]) -> String {
    read(bytes, "t.fdbs", graph).unwrap_err().to_string()
}

#[test]
fn defects_are_named_with_their_line() {
    let (graph, good) = mesh();
    let rows: Vec<&str> = good.lines().collect();
    let with = |index: usize, row: &str| {
        let mut rows = rows.clone();
        rows[index] = row;
        message(&graph, rows.join("\n").as_bytes())
    };
    let cases = [
        (message(&graph, b"11: 255 0\n12: \xff"), "t.fdbs:2: the file is not UTF-8"),
        (with(1, "12 255 1 0 1 2"), "t.fdbs:2: there is no `:`"),
        (with(2, "23: 255 1 2 0 2"), "t.fdbs:3: there is no switch `23`; did you mean `"),
        (with(2, "12: 255 1 0 1 2"), "t.fdbs:3: switch SW12 already has its row on line 2"),
        (with(3, "22: 255 1 2 x 0"), "t.fdbs:4: `x`, for LID 3, is not a port"),
        (with(3, "22: 255 1 2 -1 0"), "t.fdbs:4: `-1`, for LID 3, is not a port"),
        (with(3, "22: 255 1 256 1 0"), "t.fdbs:4: `256`, for LID 2, is not a port"),
        (with(3, "22: 255 1 2"), "t.fdbs:4: the row of switch SW22 has 3 entries, not 5"),
        (with(3, "22: 255 1 2 1 0 1"), "t.fdbs:4: the row of switch SW22 has 6 entries, not 5"),
        (with(3, "22: 0 1 2 1 0"), "t.fdbs:4: the first entry of the row of switch SW22 is 0"),
        (
            with(3, "22: 255 1 2 3 0"),
            "t.fdbs:4: switch SW22 has no port 3 (for LID 3, host H211): its ports are 0 to 2",
        ),
        (
            with(3, "22: 255 1 2 255 0"),
            "t.fdbs:4: switch SW22 has no port for LID 3 (host H211): the entry is 255",
        ),
        (with(3, ""), "t.fdbs: there is no row for switch SW22"),
        (
            with(0, "11: 255 0 0 1 2"),
            "t.fdbs:1: packets for LID 2 (host H121) do not reach it: switch SW11 sends them to host H111 by port 0",
        ),
    ];
    for (message, start) in cases {
        assert!(message.starts_with(start), "{message}\nshould start with\n{start}");
    }
}

#[test]
fn a_circle_is_named_by_its_switches() {
    let (graph, good) = mesh();
    // For H111: SW12 goes down to SW22, SW22 left to SW21, SW21 right to SW22.
    let looping = good.replace("12: 255 1", "12: 255 2").replace("21: 255 1", "21: 255 2");
    let error = message(&graph, looping.as_bytes());
    let circle = "packets for LID 1 (host H111) never arrive: they go in a circle ";
    assert!(error.contains(circle), "{error}");
    let mut switches: Vec<&str> = error.split(circle).nth(1).unwrap().split(" -> ").collect();
    assert_eq!(switches.first(), switches.last());
    switches.pop();
    switches.sort_unstable();
    assert!(switches.len() >= 2 && switches.iter().all(|s| s.starts_with("SW")), "{error}");
}

#[test]
fn rows_go_by_name_with_and_without_prefix_and_by_number() {
    let (graph, good) = mesh();
    let plain = read(good.as_bytes(), "a", &graph).unwrap();
    let full: String = good.lines().flat_map(|row| ["SW", row, "\r\n"]).collect();
    assert_eq!(read(full.as_bytes(), "b", &graph).unwrap(), plain);
    let numbered = write(&plain, &graph, RowKeys::Numbers, "c").unwrap();
    assert!(numbered.starts_with("0: 255"));
    assert_eq!(read(numbered.as_bytes(), "c", &graph).unwrap(), plain);
    let spaced = format!("\u{feff}# by hand\n\n{}", good.replace(": ", " :\t"));
    assert_eq!(read(spaced.as_bytes(), "d", &graph).unwrap(), plain);
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let (graph, router) = network("single-switch = { hosts = 300 }", "", 1);
    let tables = ForwardingTables::of(&router, &graph, "test").unwrap();
    let error = write(&tables, &graph, RowKeys::Names, "x.fdbs").unwrap_err().to_string();
    assert!(error.contains("switch S0 sends to host H255 by port 255"), "{error}");

    let (graph, router) =
        network("fat-tree = { arity = 2, levels = 2 }", "algorithm = \"up-down-adaptive\"", 1);
    let error = ForwardingTables::of(&router, &graph, "test").unwrap_err();
    assert!(matches!(error, RoutingError::Adaptive { .. }), "{error}");
}

#[test]
fn more_than_a_gibibyte_is_refused() {
    let graph = graph("mesh = { dimensions = [200, 200] }");
    let error = ForwardingTables::empty(&graph, "big.toml").unwrap_err().to_string();
    assert!(error.contains("40000 switches for 40000 hosts take 1.5 GiB"), "{error}");
}

/// A network, and its tables with some entries replaced: what a careless hand would write.
fn damaged() -> impl Strategy<Value = String> {
    let entry = prop_oneof![Just("255".to_owned()), (0_u32..4).prop_map(|p| p.to_string()), "[ -~]{0,3}"];
    proptest::collection::vec((0_usize..24, entry), 0..5).prop_map(|changes| {
        let mut words: Vec<String> = GOOD.split(' ').map(str::to_owned).collect();
        for (place, entry) in changes {
            let last = words.len() - 1;
            words[place.min(last)] = entry;
        }
        words.join(" ")
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, "x", &graph(MESH));
    }

    #[test]
    fn damaged_tables_are_refused_or_deliver(text in damaged()) {
        let graph = graph(MESH);
        if let Ok(tables) = read(text.as_bytes(), "x", &graph) {
            let router = crate::TableRouting::new(tables, crate::lanes::AllLanes::new(1)).into();
            for from in hosts(&graph) {
                for to in hosts(&graph) {
                    let route = crate::path(&router, &graph, from, to);
                    let target = &graph.hosts[to.index()];
                    prop_assert_eq!(route.last().map(|(at, hop)| (*at, hop.port)), Some((target.switch, target.port)));
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read(x in 1_u32..5, y in 2_u32..5, hosts in 1_u32..4, numbers: bool) {
        let topology = format!("torus = {{ dimensions = [{x}, {y}], hosts_per_switch = {hosts} }}");
        let (graph, router) = network(&topology, "algorithm = \"shortest-path\"", 1);
        let tables = ForwardingTables::of(&router, &graph, "test").unwrap();
        let keys = if numbers { RowKeys::Numbers } else { RowKeys::Names };
        let text = write(&tables, &graph, keys, "x").unwrap();
        prop_assert_eq!(read(text.as_bytes(), "x", &graph).unwrap(), tables);
    }
}
