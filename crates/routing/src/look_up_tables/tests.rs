mod failures;
mod refusals;

use std::collections::BTreeMap;
use std::fmt::Write;

use fabricsim_model::Lanes;
use fabricsim_topology::{Graph, Node, Shape};
use fabricsim_units::{HostId, SwitchId};
use proptest::prelude::*;

use self::failures::{cables, routing};
use super::grid::Grid;
use super::layout::Layout;
use super::lines::Lines;
use super::tables::{Tables, Target};
use crate::samples::{graph, hosts, network, try_router};
use crate::wiring::beyond;
use crate::{Router, path};

const TABLES: &str = "algorithm = \"look-up-tables\"";

/// A link of a route: dimension, true if it leads up, true if it crosses the dateline, and its lanes.
type Step = (usize, bool, bool, Lanes);

/// The links between switches on the route of a packet.
fn steps(router: &Router, graph: &Graph, from: HostId, to: HostId) -> Vec<Step> {
    let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
    let step = |(at, hop): (SwitchId, fabricsim_model::Hop)| {
        let dimension = (0..shape.dimensions.len())
            .find(|&d| [false, true].iter().any(|&up| shape.port(at, d, up) == Some(hop.port)))?;
        let up = shape.port(at, dimension, true) == Some(hop.port);
        let edge = if up { shape.dimensions[dimension] - 1 } else { 0 };
        let crosses = shape.wrap[dimension] && graph.switches[at.index()].coordinates[dimension] == edge;
        Some((dimension, up, crosses, hop.lanes))
    };
    let route = path(router, graph, from, to);
    let (last, hop) = route[route.len() - 1];
    let end = beyond(graph, last, hop.port).map(|end| end.node);
    assert_eq!(end, Some(Node::Host(to)), "{from} to {to}: {route:?}");
    route.into_iter().filter_map(step).collect()
}

/// Links of the shortest route.
fn minimal(graph: &Graph, from: HostId, to: HostId) -> usize {
    let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
    let place = |host: HostId| &graph.switches[graph.hosts[host.index()].switch.index()].coordinates;
    let along = |d: usize| {
        let (k, straight) = (shape.dimensions[d], place(from)[d].abs_diff(place(to)[d]));
        if shape.wrap[d] { straight.min(k - straight) } else { straight }
    };
    (0..shape.dimensions.len()).map(|d| along(d) as usize).sum()
}

/// Walks all pairs without failed links: in dimension order, never back, lanes by the dateline. The most links that a
/// route is too long, and the mean over the pairs.
fn walk_all(topology: &str, routing: &str, lanes: u8, order: &[usize]) -> (usize, f64) {
    let (graph, router) = network(topology, &format!("{TABLES}\n{routing}"), lanes);
    let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
    let rank = |d: usize| order.iter().position(|&o| o == d).unwrap();
    let (mut most, mut sum, mut pairs) = (0, 0, 0);
    for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
        let steps = steps(&router, &graph, from, to);
        for pair in steps.windows(2) {
            assert!(rank(pair[0].0) <= rank(pair[1].0), "{topology} {routing}: {steps:?}");
            assert!(
                pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1,
                "back: {topology} {routing}: {steps:?}"
            );
        }
        let mut crossed = vec![false; order.len()];
        for &(d, _, crosses, found) in &steps {
            assert!(!(crosses && crossed[d]), "over the dateline twice");
            crossed[d] |= crosses;
            let lower = lanes.div_ceil(2);
            let expected = match (shape.wrap[d] && shape.dimensions[d] > 3 && lanes > 1, crossed[d]) {
                (false, _) => Lanes::new(0, lanes),
                (true, false) => Lanes::new(0, lower),
                (true, true) => Lanes::new(lower, lanes - lower),
            };
            assert_eq!(found, expected, "{topology} {routing}: {steps:?}");
        }
        let more = steps.len() - minimal(&graph, from, to);
        (most, sum, pairs) = (most.max(more), sum + more, pairs + 1);
    }
    (most, sum as f64 / f64::from(pairs))
}

#[test]
fn with_one_partition_all_ways_are_minimal() {
    for (topology, routing, order) in [
        ("mesh = { dimensions = [4, 3, 2], hosts_per_switch = 2 }", "", &[0, 1, 2][..]),
        ("torus = { dimensions = [8, 5] }", "", &[0, 1]),
        ("torus = { dimensions = [4, 6, 3] }", "order = [2, 0, 1]", &[2, 0, 1]),
        ("torus = { dimensions = [2, 1, 7] }", "", &[0, 1, 2]),
        ("grid = { dimensions = [6, 4, 2], wrap = [false, true, true] }", "", &[0, 1, 2]),
        ("mesh = { dimensions = [3, 4], naming = \"thesis\" }", "", &[0, 1]),
        ("hypercube = { dimensions = 5 }", "", &[0, 1, 2, 3, 4]),
        ("ring = { switches = 9 }", "", &[0]),
        ("parking-lot = { switches = 5 }", "", &[0]),
    ] {
        for lanes in [1, 2, 3, 4] {
            assert_eq!(walk_all(topology, routing, lanes, order).0, 0, "{topology}");
        }
    }
}

/// Packets to the opposite side of a ring go up from odd coordinates and down from even ones: with a packet for each pair of
/// hosts, all links of a ring of a multiple of four carry the same load.
#[test]
fn both_directions_of_a_ring_carry_the_same_load() {
    for radix in [4_u32, 8, 12] {
        let (graph, router) = network(&format!("ring = {{ switches = {radix} }}"), TABLES, 2);
        let mut loads = BTreeMap::new();
        for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
            let route = path(&router, &graph, from, to);
            for (at, hop) in &route[..route.len() - 1] {
                *loads.entry((*at, hop.port)).or_insert(0) += 1;
            }
        }
        // The links of all routes, r^2 / 4 from each switch, over two directions.
        assert_eq!(loads.len(), 2 * radix as usize);
        assert!(loads.values().all(|load| *load == radix * radix / 8), "{radix}: {loads:?}");
    }
}

/// To a partition of s coordinates of a ring the route is by its nearer end: up to s - 2 links longer than to the
/// destination itself.
#[test]
fn with_several_partitions_ways_to_others_are_longer_by_less_than_a_partition() {
    for (topology, routing, order, most, mean) in [
        ("torus = { dimensions = [8, 3] }", "partitions = [2, 1]", &[0, 1][..], 2, 0.125),
        ("torus = { dimensions = [8, 3] }", "partitions = [4, 1]", &[0, 1], 0, 0.0),
        ("torus = { dimensions = [8, 3] }", "partitions = [8, 1]", &[0, 1], 0, 0.0),
        ("torus = { dimensions = [16, 2] }", "partitions = [4, 1]", &[0, 1], 2, 0.0625),
        ("torus = { dimensions = [32] }", "partitions = [8]", &[0], 2, 0.03125),
        ("torus = { dimensions = [9, 2] }", "partitions = [2, 1]", &[0, 1], 3, 0.197_530_864),
        ("torus = { dimensions = [3, 6] }", "partitions = [3, 2]", &[0, 1], 2, 0.111_111_111),
        ("torus = { dimensions = [3, 6] }", "order = [1, 0]\npartitions = [1, 2]", &[1, 0], 2, 0.111_111_111),
        ("torus = { dimensions = [2, 6] }", "partitions = [2, 3]", &[0, 1], 0, 0.0),
        ("mesh = { dimensions = [7, 4] }", "partitions = [3, 1]", &[0, 1], 0, 0.0),
        ("mesh = { dimensions = [2, 5, 3] }", "partitions = [2, 4, 1]", &[0, 1, 2], 0, 0.0),
        ("grid = { dimensions = [6, 5], wrap = [false, true] }", "partitions = [5, 1]", &[0, 1], 0, 0.0),
        ("hypercube = { dimensions = 5 }", "partitions = [2, 2, 2, 1, 1]", &[0, 1, 2, 3, 4], 0, 0.0),
    ] {
        let found = walk_all(topology, routing, 2, order);
        assert_eq!(found.0, most, "{topology} {routing}: {found:?}");
        assert!((found.1 - mean).abs() < 1e-6, "{topology} {routing}: {found:?}");
    }
}

/// A rule has an entry for each direction by which a packet may come in, and a last one for packets of the router's hosts.
#[test]
fn a_rule_sends_packets_on_by_their_input() {
    let graph = graph("torus = { dimensions = [4, 3] }");
    let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
    let (order, grid) = ([0, 1], Grid::new(&graph, shape, &[]));
    let layout = Layout::new(shape, &order, None, "e.toml").unwrap();
    let mut tables = Tables::new(&Lines { grid: &grid, layout: &layout, order: &order });
    let (at, to) = (SwitchId(1), Target::Switch(SwitchId(7)));
    let plain = tables.direction(at, None, to);
    assert!((0..4).all(|input| tables.direction(at, Some(input), to) == plain), "no entry is a rule yet");
    assert!(tables.set_rule(at, to, vec![3, 2, 1, 0, 2]));
    assert_eq!([0, 1, 2, 3].map(|input| tables.direction(at, Some(input), to)), [3, 2, 1, 0]);
    assert_eq!(tables.direction(at, None, to), 2, "packets of the router's hosts");
    assert_eq!(tables.direction(SwitchId(4), Some(0), to), tables.direction(SwitchId(4), None, to));
}

fn any_grid() -> impl Strategy<Value = (Vec<u32>, Vec<bool>)> {
    prop::collection::vec((1_u32..8, any::<bool>()), 1..4).prop_map(|mut axes| {
        while axes.iter().map(|axis| axis.0).product::<u32>() > 60 {
            for axis in &mut axes {
                axis.0 = axis.0.div_ceil(2);
            }
        }
        axes.into_iter().unzip()
    })
}

/// Blocks that are allowed: dimensions are divided into single coordinates until, perhaps, one into fewer.
fn some_blocks(radices: &[u32], seed: u32) -> Vec<u32> {
    let mut blocks = vec![1; radices.len()];
    for d in 0..radices.len() {
        let room = 8 / blocks.iter().product::<u32>();
        blocks[d] = seed % radices[d].min(room) + 1;
        if blocks[d] < radices[d] {
            break;
        }
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn packets_go_in_dimension_order_and_never_back((radices, wrap) in any_grid(), lanes in 1_u8..5, seed in 0_u32..40) {
        let topology = format!("grid = {{ dimensions = {radices:?}, wrap = {wrap:?} }}");
        let order: Vec<usize> = (0..radices.len()).collect();
        prop_assert_eq!(walk_all(&topology, "", lanes, &order).0, 0);
        let blocks = some_blocks(&radices, seed);
        walk_all(&topology, &format!("partitions = {blocks:?}"), lanes, &order);
    }
}

/// The largest machine: how much memory, and that packets to all partitions arrive.
#[test]
fn a_machine_of_32_768_nodes_fits() {
    let topology = "torus = { dimensions = [32, 32, 32] }";
    let (graph, router) = network(topology, TABLES, 2);
    let Router::LookUpTables(tables) = &router else { panic!("not look-up tables") };
    assert!(tables.bytes() < 25_000_000, "{}", tables.bytes());
    let routes = size_of_val(&*tables.routes) + size_of_val(&*tables.roles);
    let entries = tables.local.len() + tables.global.len() + tables.rules.len();
    assert_eq!(tables.bytes(), entries + routes + size_of_val(&*tables.routers));
    assert_eq!(tables.destination(HostId(0)), 0);
    assert_eq!(tables.destination(HostId(32_767)), 32_767);
    for from in [0, 777, 20_000] {
        for to in (0..32_768).step_by(97).map(HostId) {
            let steps = steps(&router, &graph, HostId(from), to);
            assert!(steps.len() <= minimal(&graph, HostId(from), to) + 2, "{from} {to}");
        }
    }
    let failed = ["S(3,0,0)-S(4,0,0)".to_owned(), "S(5,9,31)-S(5,9,0)".to_owned()];
    let router = try_router(&graph, topology, &routing("", &failed), 2).unwrap();
    let Router::LookUpTables(tables) = &router else { panic!("not look-up tables") };
    assert!(tables.bytes() < 25_000_000 && tables.failed_links() == 2, "{}", tables.bytes());
    for from in [0, 1, 2, 3, 31, 20_000] {
        for to in (0..32_768).step_by(97).map(HostId) {
            steps(&router, &graph, HostId(from), to);
        }
    }
}

const SMALL: &str = "mesh = { dimensions = [3, 3, 2] }";

#[test]
fn tables_are_written_as_text() {
    let (graph, router) = network(SMALL, &format!("{TABLES}\npartitions = [3, 1, 1]"), 2);
    let (Router::LookUpTables(tables), Shape::Grid(shape)) = (&router, &graph.shape) else { panic!() };
    insta::assert_snapshot!("tables", tables.text(&graph, shape));
    let failed = ["S(1,2,0)-S(0,2,0)".to_owned()];
    let router = try_router(&graph, SMALL, &routing("", &failed), 2).unwrap();
    let Router::LookUpTables(tables) = &router else { panic!("not look-up tables") };
    assert!(tables.depends_on_input());
    insta::assert_snapshot!("tables_with_a_failed_link", tables.text(&graph, shape));
}

/// Digests of all tables with every failed link, and with some pairs of them, where several partitions make detours turn.
#[test]
fn tables_with_failed_links_are_those_written_down() {
    let mut lines = String::new();
    for (topology, more) in [
        ("mesh = { dimensions = [4, 4] }", ""),
        ("mesh = { dimensions = [5, 4] }", "partitions = [1, 2]\norder = [1, 0]"),
        ("mesh = { dimensions = [4, 3, 2] }", "partitions = [2, 1, 1]"),
        ("torus = { dimensions = [8, 3] }", "partitions = [4, 1]"),
        ("torus = { dimensions = [8, 4] }", "partitions = [2, 1]"),
        ("grid = { dimensions = [6, 4], wrap = [true, false] }", "partitions = [3, 1]"),
    ] {
        let graph = graph(topology);
        let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
        let cables = cables(&graph);
        let pairs = (0..cables.len()).flat_map(|i| (1..4).map(move |step| (i, i + step * step)));
        let pairs = pairs.map(|(i, j)| vec![cables[i].clone(), cables[j % cables.len()].clone()]);
        let (mut digest, mut refused) = (0xcbf2_9ce4_8422_2325_u64, 0);
        for failed in cables.iter().map(|cable| vec![cable.clone()]).chain(pairs) {
            let Ok(Router::LookUpTables(tables)) = try_router(&graph, topology, &routing(more, &failed), 2)
            else {
                refused += 1;
                continue;
            };
            for byte in tables.text(&graph, shape).bytes() {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        writeln!(lines, "{topology} {more:?}: {} links, {refused} refused, {digest:016x}", cables.len())
            .unwrap();
    }
    insta::assert_snapshot!("tables_with_failed_links", lines);
}
