use fabricsim_model::Hop;
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::lanes::Dateline;
use crate::route::Route;

/// Most entries of a table by switch and host, which take 6 bytes each: more would not stay in the cache.
const MOST: usize = 1 << 16;

/// The route from every switch to every host, for small fabrics; else empty.
#[derive(Clone, Debug)]
pub struct RouteTable {
    hosts: usize,
    table: Vec<Route>,
    pub(crate) dateline: Dateline,
}

impl Default for RouteTable {
    fn default() -> Self {
        Self::none(Dateline::new(1))
    }
}

impl RouteTable {
    /// No table.
    pub(crate) const fn none(dateline: Dateline) -> Self {
        Self { hosts: 0, table: Vec::new(), dateline }
    }

    /// The table of a fabric of the given numbers of switches and hosts. `route` gives the entries; [`RouteTable::none`] if it would
    /// be too large, or if an entry does not say all (see [`LanePolicy::compile`](crate::lanes::LanePolicy::compile)).
    pub(crate) fn new(
        switches: usize,
        hosts: usize,
        dateline: Dateline,
        route: impl Fn(SwitchId, HostId) -> Option<Route>,
    ) -> Self {
        if switches.saturating_mul(hosts) > MOST {
            return Self::none(dateline);
        }
        let pairs = (0..switches as u32).flat_map(|at| (0..hosts as u32).map(move |to| (at, to)));
        match pairs.map(|(at, to)| route(SwitchId(at), HostId(to))).collect() {
            Some(table) => Self { hosts, table, dateline },
            None => Self::none(dateline),
        }
    }

    /// The hop from `at` to `to`, having come in by `in_port` on `lane`; `None` without a table.
    #[inline(always)]
    pub fn hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
        let route = *self.table.get(at.index() * self.hosts + to.index())?;
        Some(self.dateline.hop(route, in_port, lane))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
