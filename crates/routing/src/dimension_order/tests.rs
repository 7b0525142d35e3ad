use fabricsim_model::Lanes;
use fabricsim_topology::Shape;
use fabricsim_units::Vl;

use super::*;
use crate::samples::{graph, hosts, network, try_router};
use crate::{Router, RoutingFunction, path};

/// The coordinate in dimension 0 after each hop, and the lanes of the hop.
fn ring_route(radix: u32, lanes: u8, from: u32, to: u32) -> Vec<(u32, Lanes)> {
    let (graph, router) = network(&format!("torus = {{ dimensions = [{radix}] }}"), "", lanes);
    let route = path(&router, &graph, HostId(from), HostId(to));
    let places = route.iter().skip(1).map(|(at, _)| graph.switches[at.index()].coordinates[0]);
    places.zip(route.iter().map(|(_, hop)| hop.lanes)).collect()
}

#[test]
fn who_crosses_the_dateline_takes_the_upper_lanes_all_the_way() {
    let (low, high) = (Lanes::new(0, 2), Lanes::new(2, 2));
    assert_eq!(ring_route(8, 4, 1, 4), [(2, low), (3, low), (4, low)]);
    assert_eq!(ring_route(8, 4, 6, 1), [(7, high), (0, high), (1, high)]);
    assert_eq!(ring_route(8, 4, 1, 6), [(0, high), (7, high), (6, high)]);
    // An odd lane goes to the lower class.
    assert_eq!(ring_route(5, 3, 4, 1), [(0, Lanes::new(2, 1)), (1, Lanes::new(2, 1))]);
    assert_eq!(ring_route(5, 3, 3, 1), [(2, Lanes::new(0, 2)), (1, Lanes::new(0, 2))]);
    // A single lane, and a ring in which no packet goes on, are not split.
    assert_eq!(ring_route(5, 1, 4, 0), [(0, Lanes::new(0, 1))]);
    assert_eq!(ring_route(3, 4, 2, 0), [(0, Lanes::new(0, 4))]);
}

/// With every pair of hosts sending the same, the links of a ring carry the same: k/2 odd or even.
#[test]
fn half_way_around_is_spread_over_both_directions() {
    for radix in [4_u32, 6, 8, 10] {
        let mut load = vec![[0_u32; 2]; radix as usize];
        for from in 0..radix {
            let mut at = from;
            for (next, _) in ring_route(radix, 2, from, (from + radix / 2) % radix) {
                load[at as usize][usize::from(next == (at + 1) % radix)] += 1;
                at = next;
            }
        }
        let all: Vec<u32> = load.into_iter().flatten().collect();
        // k packets over k/2 links each, on 2 k directions: k/4 each, or the whole numbers around it.
        assert!(all.iter().all(|&n| n == radix / 4 || n == radix.div_ceil(4)), "{radix}: {all:?}");
    }
}

/// The tables say what is computed where there is none, wherever a packet comes from.
#[test]
fn the_tables_say_what_is_computed() {
    for (topology, lanes) in [
        ("torus = { dimensions = [5, 4, 3] }", 3),
        ("mesh = { dimensions = [4, 6] }", 2),
        ("torus = { dimensions = [8, 1, 4] }", 1),
        ("torus = { dimensions = [2, 5] }", 4),
        ("hypercube = { dimensions = 4 }", 2),
    ] {
        let (graph, router) = network(topology, "", lanes);
        let Router::DimensionOrder(routing) = &router else { panic!("{topology}") };
        assert_eq!(routing.routes.is_empty(), topology.contains("[2"), "{topology}");
        assert!(!routing.by_host.is_empty(), "{topology}");
        let ports = graph.switches.iter().map(|switch| switch.ports.len()).max().unwrap() as u16;
        for at in (0..graph.switches.len() as u32).map(SwitchId) {
            for (to, in_port) in hosts(&graph).flat_map(|to| (0..ports).map(move |p| (to, PortNo(p)))) {
                for lane in (0..lanes).map(Vl) {
                    let at = At { switch: at, in_port, lane };
                    let computed = routing.computed_hop(at, to);
                    let by_host = PortRouting::only_hop(routing, at, to);
                    let by_coordinate = routing.only_hop_by_coordinate(at, to);
                    assert_eq!((by_host, by_coordinate), (Some(computed), Some(computed)));
                    let tabulated = routing.hop_by_coordinates(at, to);
                    let is_known =
                        !routing.routes.is_empty() || routing.exit(at.switch, to).role == LinkRole::ToHost;
                    assert_eq!(tabulated, is_known.then_some(computed));
                }
            }
        }
    }
}

#[test]
fn opposite_hosts_go_up_from_odd_places_and_down_from_even_ones() {
    assert_eq!(ring_route(8, 2, 3, 7)[0].0, 4);
    assert_eq!(ring_route(8, 2, 2, 6)[0].0, 1);
}

#[test]
fn random_ties_propose_both_ways_with_their_classes() {
    for radix in [4_u32, 6, 7, 8] {
        let torus = format!("torus = {{ dimensions = [{radix}] }}");
        let (_, balanced) = network(&torus, "", 2);
        let (graph, router) = network(&torus, "ties = \"random\"", 2);
        assert!(router.is_random() && !balanced.is_random());
        for (from, to) in (0..radix).flat_map(|from| (0..radix).map(move |to| (from, to))) {
            let host = graph.hosts.iter().find(|host| host.switch == SwitchId(from)).unwrap();
            let (mut both, mut one) = (Vec::new(), Vec::new());
            router.hops(SwitchId(from), host.port, Vl(0), HostId(to), &mut both);
            balanced.hops(SwitchId(from), host.port, Vl(0), HostId(to), &mut one);
            assert_eq!(both[0], one[0], "{from} {to}");
            assert_eq!(both.len() == 2, 2 * from.abs_diff(to) == radix, "{from} {to}");
            let only = router.only_hop(SwitchId(from), host.port, Vl(0), HostId(to));
            assert_eq!(only.is_none(), both.len() == 2);
            if let [a, b] = both[..] {
                // One route leads over the edge, and one does not.
                assert!(a.port != b.port && a.lanes != b.lanes, "{from} {to}");
            }
        }
    }
}

#[test]
fn both_cables_of_a_ring_of_two_are_used() {
    let (graph, router) = network("torus = { dimensions = [2, 2] }", "", 1);
    let first = |to| path(&router, &graph, HostId(0), HostId(to))[0].1.port;
    assert_ne!(first(1), first(3), "both are at x = 1");
}

#[test]
fn dimensions_are_corrected_in_the_given_order() {
    let mesh = "mesh = { dimensions = [3, 4, 5] }";
    for (order, expected) in
        [("", [0, 1, 2]), ("order = [2, 0, 1]", [2, 0, 1]), ("order = [1, 2, 0]", [1, 2, 0])]
    {
        let (graph, router) = network(mesh, order, 1);
        let route = path(&router, &graph, HostId(0), HostId(59));
        let places: Vec<&[u32]> =
            route.iter().map(|(at, _)| &graph.switches[at.index()].coordinates[..]).collect();
        let mut moved: Vec<usize> =
            places.windows(2).map(|pair| (0..3).find(|&d| pair[0][d] != pair[1][d]).unwrap()).collect();
        moved.dedup();
        assert_eq!(moved, expected, "{order}");
    }
}

#[test]
fn wrong_orders_are_refused() {
    let topology = "mesh = { dimensions = [3, 3] }";
    let graph = graph(topology);
    for order in ["[0]", "[0, 0]", "[1, 2]", "[0, 1, 2]", "[]"] {
        let error = try_router(&graph, topology, &format!("order = {order}"), 1).unwrap_err().to_string();
        assert!(
            error.starts_with("sample.toml: routing.order: ") && error.contains("each of [0, 1] once"),
            "{error}"
        );
    }
}

/// The options of a packet do not depend on which of a switch's hosts it comes from, or on its first lane.
#[test]
fn turning_in_is_like_being_injected() {
    let (graph, router) = network("torus = { dimensions = [6, 5] }", "", 4);
    let Router::DimensionOrder(order) = &router else { panic!("not dimension order") };
    let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
    let in_x: Vec<_> = [false, true].iter().filter_map(|&up| shape.port(SwitchId(7), 0, up)).collect();
    let here = graph.hosts.iter().find(|host| host.switch == SwitchId(7)).unwrap().port;
    for to in hosts(&graph).filter(|to| graph.switches[to.index()].coordinates[0] == 1) {
        for lane in (0..4).map(Vl) {
            let hop = |in_port| PortRouting::only_hop(order, At { switch: SwitchId(7), in_port, lane }, to);
            assert!(in_x.iter().all(|&port| hop(port) == hop(here)));
        }
    }
}
