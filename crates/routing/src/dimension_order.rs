//! Dimension order routing on meshes, tori, grids of both, hypercubes, rings and chains (Dally, Seitz 1987; Dally,
//! Towles, "Principles and Practices of Interconnection Networks", sections 8.4 and 14.2.3).
//!
//! A packet corrects one coordinate after the other, each by the shorter direction. At a distance of exactly half a ring
//! it leaves odd coordinates upwards and even ones downwards, so that the load is even
//! on all links of a ring, or nearly so where k/2 is odd. Between the two switches of a ring of two, the cable is
//! chosen by the destination.
//!
//! In a dimension that wraps, the lanes are split into two classes: packets that cross the dateline (the link
//! between the highest coordinate and 0) on their route along this dimension take the upper class for the whole of it,
//! the others the lower. Minimal paths of either class never close the ring: those of the upper class end before its
//! middle and begin after it. It is also what BookSim's `dim_order_torus` does. A ring of three or less has no
//! minimal path of two links, so it needs no classes.

use fabricsim_model::{Hop, Lanes};
use fabricsim_spec::SpecError;
use fabricsim_topology::{Graph, GridShape};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::RoutingFunction;
use crate::route_table::{NO_PORT, Rings, Route, RouteTable};

mod axis;

use axis::{Axis, Column, axes, axis_of_bit};
pub(crate) use axis::{SMALLEST_SPLIT_RING, checked_order};

/// Most entries of the table by switch and coordinate, which take 6 bytes each: more would not stay in the cache.
const MOST_ROUTES: usize = 1 << 17;

/// Dimension order routing on a grid. Needs 8 bytes and 4 per dimension for each switch, 16 for each host, and at most
/// 1.2 MB for tables.
#[derive(Clone, Debug)]
pub struct DimensionOrder {
    /// For each bit of a place, the dimension that it belongs to, and where that is in the table of routes.
    axis_of_bit: Box<[Axis; 64]>,
    column_of_bit: Box<[Column; 64]>,
    /// All coordinates of each switch in one word, the dimension that is corrected first in the lowest bits. There
    /// are bits enough: a grid has at most 2^24 switches, and a coordinate below k takes at most 2 log2(k) of them.
    places: Vec<u64>,
    /// Ports of each switch down and up each dimension, in the order of the dimensions.
    ports: Vec<[PortNo; 2]>,
    targets: Vec<Target>,
    dimensions: usize,
    /// By switch and host, in small fabrics where the route is never drawn.
    by_host: RouteTable,
    /// The routes on from each switch to each coordinate of each dimension; empty where that is not all that matters,
    /// or would be too large.
    routes: Vec<Route>,
    /// RouteTable from a switch.
    row: usize,
    random_ties: bool,
    pub(crate) all: Lanes,
}

/// A host.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The place of its switch.
    place: u64,
    /// Its port there.
    port: PortNo,
    /// Parity of the number of ones in the switch's number: which cable of a ring of two.
    cable: u8,
}

impl DimensionOrder {
    /// Routing on the grid `shape` of `graph` with the given number of virtual lanes (1 or more). `order` lists the
    /// dimensions as they are corrected, by default ascending; an error if it does not name each of them once.
    pub fn new(
        graph: &Graph,
        shape: &GridShape,
        order: Option<&[u32]>,
        virtual_lanes: u8,
        file: &str,
    ) -> Result<Self, SpecError> {
        let order = checked_order(order, shape.dimensions.len(), file)?;
        let rings = Rings::new(virtual_lanes);
        let axes = axes(shape, &order, rings);
        let place = |coordinates: &[u32]| {
            let parts =
                order.iter().zip(&axes).map(|(&d, axis)| u64::from(coordinates[d]) << axis.column.shift);
            parts.fold(0, |place, part| place | part)
        };
        let places: Vec<u64> = graph.switches.iter().map(|switch| place(&switch.coordinates)).collect();
        let port = |switch, d, up| shape.port(switch, d, up).unwrap_or(NO_PORT);
        let switches = (0..graph.switches.len() as u32).map(SwitchId);
        let ports = switches.flat_map(|s| order.iter().map(move |&d| [port(s, d, false), port(s, d, true)]));
        let targets = graph.hosts.iter().map(|host| Target {
            place: places[host.switch.index()],
            port: host.port,
            cable: (host.switch.0.count_ones() % 2) as u8,
        });
        let mut routing = Self {
            axis_of_bit: Box::new(std::array::from_fn(|bit| axis_of_bit(bit, &axes))),
            column_of_bit: Box::new(std::array::from_fn(|bit| axis_of_bit(bit, &axes).column)),
            ports: ports.collect(),
            targets: targets.collect(),
            places,
            dimensions: order.len(),
            by_host: RouteTable::none(rings),
            routes: Vec::new(),
            row: axes.iter().map(|axis| axis.column.mask as usize + 1).sum(),
            random_ties: false,
            all: Lanes::new(0, virtual_lanes),
        };
        routing.tabulate(&axes);
        let (switches, hosts) = (routing.places.len(), routing.targets.len());
        routing.by_host = RouteTable::new(switches, hosts, rings, |at, to| routing.route(at, to));
        Ok(routing)
    }

    /// Fills the table of routes, unless it would be too large or a route depends on more than coordinates.
    fn tabulate(&mut self, axes: &[Axis]) {
        if self.places.len().saturating_mul(self.row) > MOST_ROUTES || axes.iter().any(|axis| axis.pair) {
            return;
        }
        for (&here, ports) in self.places.iter().zip(self.ports.chunks_exact(self.dimensions)) {
            for (axis, &ports) in axes.iter().zip(ports) {
                self.routes.extend((0..=axis.column.mask).map(|to| {
                    let place = u64::from(to) << axis.column.shift;
                    axis.route(here, &Target { place, port: NO_PORT, cable: 0 }, ports)
                }));
            }
        }
    }

    /// The route from a switch to a host.
    fn route(&self, at: SwitchId, to: HostId) -> Route {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let Some(axis) = self.axis(here, target) else {
            return Route { hop: Hop { port: target.port, lanes: self.all }, goes_on_from: NO_PORT };
        };
        axis.route(here, target, self.ports[at.index() * self.dimensions + usize::from(axis.number)])
    }
}

impl DimensionOrder {
    /// Proposes both directions round a ring where they are equally long.
    pub fn with_random_ties(mut self, random: bool) -> Self {
        self.random_ties = random;
        if random {
            self.by_host = RouteTable::none(self.by_host.rings);
        }
        self
    }

    /// The route on; of two equally long ones that of the balanced choice.
    #[inline]
    pub fn hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Hop {
        let known = self.by_host.hop(at, in_port, lane, to);
        known.unwrap_or_else(|| self.hop_by_coordinate(at, in_port, lane, to))
    }

    #[inline]
    fn hop_by_coordinate(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Hop {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let differing = here ^ target.place;
        if differing == 0 {
            return Hop { port: target.port, lanes: self.all };
        }
        let column = self.column_of_bit[differing.trailing_zeros() as usize % 64];
        let place = at.index() * self.row + (column.routes + column.coordinate(target.place)) as usize;
        match self.routes.get(place) {
            Some(&route) => self.by_host.rings.hop(route, in_port, lane),
            None => self.computed_hop(at, in_port, lane, to),
        }
    }

    /// [`DimensionOrder::hop`] where there is no table.
    #[cold]
    #[inline(never)]
    fn computed_hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Hop {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let Some(axis) = self.axis(here, target) else {
            return Hop { port: target.port, lanes: self.all };
        };
        let ports = self.ports[at.index() * self.dimensions + usize::from(axis.number)];
        axis.hop(here, target, ports, in_port, lane)
    }

    /// The hop, unless both directions are equally long and either may be taken.
    #[inline(never)]
    fn only_hop_by_coordinate(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
        if self.random_ties && self.other_hop(at, to).is_some() {
            return None;
        }
        Some(self.hop_by_coordinate(at, in_port, lane, to))
    }

    /// The dimension to go along; `None` at the destination's switch.
    #[inline]
    fn axis(&self, here: u64, target: &Target) -> Option<&Axis> {
        let differing = here ^ target.place;
        (differing != 0).then(|| &self.axis_of_bit[differing.trailing_zeros() as usize % 64])
    }

    /// The hop in the other direction, where both are equally long and either may be taken.
    #[cold]
    fn other_hop(&self, at: SwitchId, to: HostId) -> Option<Hop> {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let axis = self.axis(here, target).filter(|axis| axis.is_tie(here, target))?;
        let ports = self.ports[at.index() * self.dimensions + usize::from(axis.number)];
        Some(axis.enter(here, target, ports, !axis.goes_up(here, target)))
    }
}

impl RoutingFunction for DimensionOrder {
    #[inline]
    fn injection_lanes(&self, _from: HostId, _to: HostId) -> Lanes {
        self.all
    }

    #[inline]
    fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>) {
        hops.push(self.hop(at, in_port, lane, to));
        if self.random_ties {
            hops.extend(self.other_hop(at, to));
        }
    }

    #[inline(always)]
    fn only_hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
        match self.by_host.hop(at, in_port, lane, to) {
            Some(hop) => Some(hop),
            None => self.only_hop_by_coordinate(at, in_port, lane, to),
        }
    }

    fn route_table(&self) -> Option<&RouteTable> {
        Some(&self.by_host)
    }

    #[inline]
    fn is_random(&self) -> bool {
        self.random_ties
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_topology::Shape;

    use super::*;
    use crate::samples::{graph, hosts, network, try_router};
    use crate::{Router, path};

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
                        let computed = routing.computed_hop(at, in_port, lane, to);
                        let by_coordinate = routing.hop_by_coordinate(at, in_port, lane, to);
                        assert_eq!((routing.hop(at, in_port, lane, to), by_coordinate), (computed, computed));
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
                let injected = order.hop(SwitchId(7), here, lane, to);
                assert!(in_x.iter().all(|&port| order.hop(SwitchId(7), port, lane, to) == injected));
            }
        }
    }
}
