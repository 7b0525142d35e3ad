//! Dimension order routing on meshes, tori, grids of both, hypercubes, rings and chains (Dally, Seitz 1987; Dally,
//! Towles, "Principles and Practices of Interconnection Networks", sections 8.4 and 14.2.3).
//!
//! A packet corrects one coordinate after the other, each by the shorter direction. At a distance of exactly half a ring
//! it leaves odd coordinates upwards and even ones downwards, so that the load is even
//! on all links of a ring, or nearly so where k/2 is odd. Between the two switches of a ring of two, the cable is
//! chosen by the destination.
//!
//! In a dimension that wraps, the exits of a route that crosses the dateline along this dimension have the role
//! [`LinkRole::Dateline`] up to there. A ring of three or less has no minimal path of two links, so its links have no role.

use fabricsim_model::Hop;
use fabricsim_spec::SpecError;
use fabricsim_topology::{Graph, GridShape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{AnyPolicy, Dateline, Exit, LanePolicy, LinkRole};
use crate::route::{NO_PORT, Route};
use crate::route_table::RouteTable;
use crate::{At, PortRouting};

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
    lanes: AnyPolicy,
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
    /// Routing on the grid `shape` of `graph` with a lane policy. `order` lists the
    /// dimensions as they are corrected, by default ascending; an error if it does not name each of them once.
    pub fn new(
        graph: &Graph,
        shape: &GridShape,
        order: Option<&[u32]>,
        lanes: AnyPolicy,
        file: &str,
    ) -> Result<Self, SpecError> {
        let order = checked_order(order, shape.dimensions.len(), file)?;
        let dateline = Dateline::new(lanes.all().count);
        let axes = axes(shape, &order);
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
            by_host: RouteTable::none(dateline),
            routes: Vec::new(),
            row: axes.iter().map(|axis| axis.column.mask as usize + 1).sum(),
            random_ties: false,
            lanes,
        };
        routing.tabulate(&axes);
        let (switches, hosts) = (routing.places.len(), routing.targets.len());
        let route = |at, to| routing.lanes.compile(routing.exit(at, to));
        routing.by_host = RouteTable::new(switches, hosts, dateline, route);
        Ok(routing)
    }

    /// Fills the table of routes, unless it would be too large, or a hop depends on more than coordinates.
    fn tabulate(&mut self, axes: &[Axis]) {
        if self.places.len().saturating_mul(self.row) > MOST_ROUTES || axes.iter().any(|axis| axis.pair) {
            return;
        }
        for (&here, ports) in self.places.iter().zip(self.ports.chunks_exact(self.dimensions)) {
            for (axis, &ports) in axes.iter().zip(ports) {
                for to in 0..=axis.column.mask {
                    let place = u64::from(to) << axis.column.shift;
                    let exit = axis.exit(here, &Target { place, port: NO_PORT, cable: 0 }, ports);
                    let Some(route) = self.lanes.compile(exit) else { return };
                    self.routes.push(route);
                }
            }
        }
    }

    /// Proposes both directions round a ring where they are equally long.
    pub fn with_random_ties(mut self, random: bool) -> Self {
        self.random_ties = random;
        if random {
            self.by_host = RouteTable::none(self.by_host.dateline);
        }
        self
    }

    /// The exit towards a host; of two equally long routes that of the balanced choice.
    fn exit(&self, at: SwitchId, to: HostId) -> Exit {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let Some(axis) = self.axis(here, target) else {
            return Exit { port: target.port, role: LinkRole::ToHost };
        };
        axis.exit(here, target, self.ports[at.index() * self.dimensions + usize::from(axis.number)])
    }

    /// The exit in the other direction, where both are equally long and either may be taken.
    #[cold]
    fn other_exit(&self, at: SwitchId, to: HostId) -> Option<Exit> {
        let (here, target) = (self.places[at.index()], &self.targets[to.index()]);
        let axis = self.axis(here, target).filter(|axis| axis.is_tie(here, target))?;
        let ports = self.ports[at.index() * self.dimensions + usize::from(axis.number)];
        Some(axis.exit_by(here, target, ports, !axis.goes_up(here, target)))
    }

    /// The dimension to go along; `None` at the destination's switch.
    #[inline]
    fn axis(&self, here: u64, target: &Target) -> Option<&Axis> {
        let differing = here ^ target.place;
        (differing != 0).then(|| &self.axis_of_bit[differing.trailing_zeros() as usize % 64])
    }

    /// The hop by the table of routes to coordinates; `None` if there is no table, or ties are broken at random.
    #[inline(always)]
    pub(crate) fn hop_by_coordinates(&self, at: At, to: HostId) -> Option<Hop> {
        let (here, target) = (self.places[at.switch.index()], &self.targets[to.index()]);
        let differing = here ^ target.place;
        if differing == 0 {
            return Some(Hop { port: target.port, lanes: self.by_host.dateline.all() });
        }
        let column = self.column_of_bit[differing.trailing_zeros() as usize % 64];
        let place = at.switch.index() * self.row + (column.routes + column.coordinate(target.place)) as usize;
        let route = *self.routes.get(place).filter(|_| !self.random_ties)?;
        Some(self.by_host.dateline.hop(route, at.in_port, at.lane))
    }

    /// The hop where there is no table.
    #[cold]
    #[inline(never)]
    fn computed_hop(&self, at: At, to: HostId) -> Hop {
        self.hop(at, self.exit(at.switch, to))
    }

    /// The hop, unless both directions are equally long and either may be taken.
    #[inline(never)]
    fn only_hop_by_coordinate(&self, at: At, to: HostId) -> Option<Hop> {
        if self.random_ties && self.other_exit(at.switch, to).is_some() {
            return None;
        }
        Some(self.hop_by_coordinates(at, to).unwrap_or_else(|| self.computed_hop(at, to)))
    }
}

impl PortRouting for DimensionOrder {
    type Lanes = AnyPolicy;

    fn lanes(&self) -> &AnyPolicy {
        &self.lanes
    }

    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        each(self.exit(at.switch, to));
        if self.random_ties
            && let Some(other) = self.other_exit(at.switch, to)
        {
            each(other);
        }
    }

    #[inline(always)]
    fn only_hop(&self, at: At, to: HostId) -> Option<Hop> {
        match self.by_host.hop(at.switch, at.in_port, at.lane, to) {
            Some(hop) => Some(hop),
            None => self.only_hop_by_coordinate(at, to),
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
mod tests;
