//! Forwarding tables: for each switch and destination the one port to go on by (InfiniBand's linear forwarding
//! tables).

use fabricsim_model::{Hop, Packet, RouteState};
use fabricsim_spec::SpecError;
use fabricsim_topology::Graph;
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::lanes::{AnyPolicy, Destination, Exit, LinkRole, ServiceLevels};
use crate::{At, PortRouting, Router, RoutingError, RoutingFunction, View};

/// Most memory that tables may take, in bytes.
const LIMIT: usize = 1 << 30;

/// For each switch and host, the port to go on by, or none. One byte an entry where no switch has more than 255
/// ports, else two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingTables {
    hosts: usize,
    cells: Cells,
}

/// The largest value stands for none.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cells {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

impl ForwardingTables {
    /// Tables for `graph` without any entries; an error, which names the experiment `file`, if they would take more
    /// than 1 GiB.
    pub fn empty(graph: &Graph, file: &str) -> Result<Self, SpecError> {
        let (switches, hosts) = (graph.switches.len(), graph.hosts.len());
        let ports = graph.switches.iter().map(|switch| switch.ports.len()).max().unwrap_or(0);
        let narrow = u8::try_from(ports).is_ok();
        let bytes = switches.saturating_mul(hosts).saturating_mul(if narrow { 1 } else { 2 });
        if bytes > LIMIT {
            let message = format!(
                "forwarding tables of {switches} switches for {hosts} hosts take {:.1} GiB; the limit is {} GiB. \
                 Choose an algorithm that needs no tables (`dimension-order`, `up-down`), or a smaller network",
                bytes as f64 / f64::from(1 << 30),
                LIMIT >> 30
            );
            return Err(SpecError::at_key(file, "routing.algorithm", message));
        }
        let cells = if narrow {
            Cells::Narrow(vec![u8::MAX; switches * hosts])
        } else {
            Cells::Wide(vec![u16::MAX; switches * hosts])
        };
        Ok(Self { hosts, cells })
    }

    /// The tables of a deterministic router; an error if it offers several ports anywhere, or if they would take
    /// more than 1 GiB.
    pub fn of(router: &Router, graph: &Graph, file: &str) -> Result<Self, RoutingError> {
        if matches!(router, Router::LookUpTables(tables) if tables.depends_on_input()) {
            return Err(RoutingError::ByInput);
        }
        let mut tables = Self::empty(graph, file)?;
        let mut hops = Vec::new();
        for at in (0..graph.switches.len() as u32).map(SwitchId) {
            for to in (0..graph.hosts.len() as u32).map(HostId) {
                hops.clear();
                router.hops(at, PortNo(0), Vl(0), to, &mut hops);
                if hops.iter().any(|hop| hop.port != hops[0].port) {
                    let switch = graph.switches[at.index()].name.clone();
                    let destination = graph.hosts[to.index()].name.clone();
                    return Err(RoutingError::Adaptive { switch, destination });
                }
                if let Some(hop) = hops.first() {
                    tables.set(at, to, hop.port);
                }
            }
        }
        Ok(tables)
    }

    /// The port by which `at` sends what is for `to`.
    #[inline]
    pub fn port(&self, at: SwitchId, to: HostId) -> Option<PortNo> {
        let cell = at.index() * self.hosts + to.index();
        match &self.cells {
            Cells::Narrow(ports) => Some(ports[cell]).filter(|&p| p != u8::MAX).map(|p| PortNo(u16::from(p))),
            Cells::Wide(ports) => Some(ports[cell]).filter(|&p| p != u16::MAX).map(PortNo),
        }
    }

    /// Sets an entry. The port must be one of the graph's.
    pub fn set(&mut self, at: SwitchId, to: HostId, port: PortNo) {
        self.set_optional(at, to, Some(port));
    }

    /// Takes entries that are missing from `others`.
    pub(crate) fn fill(&mut self, others: &Self, graph: &Graph) {
        for at in (0..graph.switches.len() as u32).map(SwitchId) {
            for to in (0..graph.hosts.len() as u32).map(HostId) {
                if self.port(at, to).is_none() {
                    self.set_optional(at, to, others.port(at, to));
                }
            }
        }
    }

    /// Sets an entry, or none: packets are discarded.
    pub(crate) fn set_optional(&mut self, at: SwitchId, to: HostId, port: Option<PortNo>) {
        let cell = at.index() * self.hosts + to.index();
        match &mut self.cells {
            Cells::Narrow(ports) => ports[cell] = port.map_or(u8::MAX, |port| port.0 as u8),
            Cells::Wide(ports) => ports[cell] = port.map_or(u16::MAX, |port| port.0),
        }
    }
}

/// Routing by forwarding tables.
#[derive(Clone, Debug)]
pub struct TableRouting {
    tables: ForwardingTables,
    /// Tables for further LIDs of the hosts, where sources use several.
    further: Vec<ForwardingTables>,
    lanes: AnyPolicy,
    /// True with a policy by service levels, or with several LIDs.
    keeps_state: bool,
}

impl TableRouting {
    /// Routing by `tables`, which have an entry for every switch and host, with a lane policy.
    pub fn new(tables: ForwardingTables, lanes: impl Into<AnyPolicy>) -> Self {
        Self::with_paths(vec![tables], lanes)
    }

    /// Routing by tables, one or more: those for the first LIDs of hosts, then those for the LIDs that follow.
    pub(crate) fn with_paths(mut tables: Vec<ForwardingTables>, lanes: impl Into<AnyPolicy>) -> Self {
        let lanes = lanes.into();
        let further = tables.split_off(1);
        let tables = tables.remove(0);
        let keeps_state = !further.is_empty() || matches!(lanes, AnyPolicy::ServiceLevels(_));
        Self { tables, further, lanes, keeps_state }
    }

    /// The tables for one of the LIDs of each host.
    #[inline]
    pub(crate) fn of_path(&self, path: u8) -> &ForwardingTables {
        if path == 0 { &self.tables } else { &self.further[usize::from(path) - 1] }
    }

    /// The same routing by `tables`, whose longest route has `longest` links between switches; if there are lanes for fewer, both
    /// numbers.
    pub(crate) fn with_tables(&self, tables: ForwardingTables, longest: u32) -> Result<Self, (u32, u32)> {
        match &self.lanes {
            AnyPolicy::Hops(ladder) if longest > ladder.rungs() => Err((longest, ladder.rungs())),
            lanes => Ok(Self::new(tables, lanes.clone())),
        }
    }

    /// The same routing with lanes for routes of `longest` links between switches, if it has lanes by hops for fewer; if there are
    /// not enough, the lanes that are needed and those that there are.
    pub(crate) fn with_lanes_for(mut self, longest: u32) -> Result<Self, (u32, u8)> {
        if let AnyPolicy::Hops(ladder) = &self.lanes
            && longest > ladder.rungs()
        {
            let resized = ladder.resized(longest).map_err(|needed| (needed, ladder.lane_count()))?;
            self.lanes = resized.into();
        }
        Ok(self)
    }

    /// Sets an entry, or none. The port must be one of the graph's.
    pub(crate) fn set(&mut self, at: SwitchId, to: Destination, port: Option<PortNo>) {
        let tables = match to.path {
            0 => &mut self.tables,
            path => &mut self.further[usize::from(path) - 1],
        };
        tables.set_optional(at, to.host, port);
    }

    /// Sets the lane policy.
    pub(crate) fn set_lanes(&mut self, lanes: AnyPolicy) {
        self.keeps_state = !self.further.is_empty() || matches!(lanes, AnyPolicy::ServiceLevels(_));
        self.lanes = lanes;
    }

    /// The lane policy, if it is one by service levels.
    pub(crate) fn service_levels_mut(&mut self) -> Option<&mut ServiceLevels> {
        if let AnyPolicy::ServiceLevels(levels) = &mut self.lanes { Some(levels) } else { None }
    }

    /// The tables.
    pub fn tables(&self) -> &ForwardingTables {
        &self.tables
    }
}

impl PortRouting for TableRouting {
    type Lanes = AnyPolicy;

    fn lanes(&self) -> &AnyPolicy {
        &self.lanes
    }

    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        if let Some(port) = self.tables.port(at.switch, to) {
            each(Exit { port, role: LinkRole::Either });
        }
    }

    #[inline(always)]
    fn only_hop(&self, at: At, to: HostId) -> Option<Hop> {
        if self.keeps_state {
            return None;
        }
        let port = self.tables.port(at.switch, to)?;
        Some(self.hop(at, Exit { port, role: LinkRole::Either }))
    }

    #[inline]
    fn service_levels(&self) -> Option<&ServiceLevels> {
        if let AnyPolicy::ServiceLevels(levels) = &self.lanes { Some(levels) } else { None }
    }

    #[inline]
    fn paths(&self) -> u8 {
        1 + self.further.len() as u8
    }

    #[inline]
    fn keeps_state(&self) -> bool {
        self.keeps_state
    }

    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        let path = state.path();
        let paths = if path == RouteState::ANY_PATH { 0..PortRouting::paths(self) } else { path..path + 1 };
        for path in paths {
            if let Some(port) = self.of_path(path).port(at.switch, to) {
                each(Exit { port, role: LinkRole::Either }, state.with_path(path));
            }
        }
    }

    /// Packets for LIDs after the first take routes of their own.
    fn takes_detours(&self) -> bool {
        !self.further.is_empty()
    }

    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, _: &mut V) -> Option<Hop> {
        if !self.keeps_state {
            return None;
        }
        let port = self.of_path(state.path()).port(at.switch, packet.destination)?;
        if matches!(self.lanes, AnyPolicy::ServiceLevels(_)) {
            *state = state.at(packet.service_level);
        }
        Some(self.take(at, Exit { port, role: LinkRole::Either }, state))
    }
}
