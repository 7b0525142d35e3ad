use fabricsim_model::{Hop, Lanes};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

/// Most entries of a table by switch and host, which take 6 bytes each: more would not stay in the cache.
const MOST: usize = 1 << 16;

/// Stands for a port that is not there.
pub(crate) const NO_PORT: PortNo = PortNo(u16::MAX);

/// A route on from a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) hop: Hop,
    /// Those who come in by this port go on around a ring: they keep the class of their lane. [`NO_PORT`] where there
    /// are no classes.
    pub(crate) goes_on_from: PortNo,
}

/// The route from every switch to every host, for small fabrics; else empty.
#[derive(Clone, Debug)]
pub struct RouteTable {
    hosts: usize,
    table: Vec<Route>,
    pub(crate) rings: Rings,
}

impl Default for RouteTable {
    fn default() -> Self {
        Self::none(Rings::new(1))
    }
}

/// The lane classes of rings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rings {
    /// The lowest lane of the second class.
    split: u8,
    classes: [Lanes; 2],
    all: Lanes,
}

impl Rings {
    /// The two classes; a single lane cannot be split.
    pub(crate) fn new(virtual_lanes: u8) -> Self {
        let lower = virtual_lanes.div_ceil(2);
        let all = Lanes::new(0, virtual_lanes);
        let classes = if virtual_lanes > 1 {
            [Lanes::new(0, lower), Lanes::new(lower, virtual_lanes - lower)]
        } else {
            [all; 2]
        };
        Self { split: classes[1].first.0, classes, all }
    }

    /// Lanes of those who do not cross the dateline, and of those who do.
    pub(crate) const fn classes(self) -> [Lanes; 2] {
        self.classes
    }

    /// All lanes.
    pub(crate) const fn all(self) -> Lanes {
        self.all
    }

    /// The hop of one who came in by `in_port` on `lane`.
    #[inline(always)]
    pub(crate) fn hop(self, route: Route, in_port: PortNo, lane: Vl) -> Hop {
        if route.goes_on_from == in_port {
            let class = usize::from(lane.0 >= self.split);
            return Hop { port: route.hop.port, lanes: self.classes[class] };
        }
        route.hop
    }
}

impl RouteTable {
    /// No table.
    pub(crate) const fn none(rings: Rings) -> Self {
        Self { hosts: 0, table: Vec::new(), rings }
    }

    /// The table of a fabric of the given numbers of switches and hosts, unless it would be too large; `route` gives the
    /// routes.
    pub(crate) fn new(
        switches: usize,
        hosts: usize,
        rings: Rings,
        route: impl Fn(SwitchId, HostId) -> Route,
    ) -> Self {
        if switches.saturating_mul(hosts) > MOST {
            return Self::none(rings);
        }
        let pairs = (0..switches as u32).flat_map(|at| (0..hosts as u32).map(move |to| (at, to)));
        Self { hosts, table: pairs.map(|(at, to)| route(SwitchId(at), HostId(to))).collect(), rings }
    }

    /// The hop from `at` to `to`, having come in by `in_port` on `lane`; `None` without a table.
    #[inline(always)]
    pub fn hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
        let route = *self.table.get(at.index() * self.hosts + to.index())?;
        Some(self.rings.hop(route, in_port, lane))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
