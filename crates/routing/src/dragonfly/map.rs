//! Positions of routers, ports and hosts in a dragonfly.

use std::ops::Range;

use fabricsim_topology::{DragonflyShape, Graph};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::gates::{Gate, Gates};

/// A router: its group, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: u32,
    pub(super) router: u32,
}

/// Groups, routers, hosts, and the links between groups.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub(super) shape: DragonflyShape,
    places: Vec<Place>,
    /// By host: its router and the port there.
    hosts: Vec<(SwitchId, PortNo)>,
    gates: Gates,
}

impl Map {
    /// The map of a dragonfly of this shape.
    pub(super) fn new(graph: &Graph, shape: &DragonflyShape) -> Self {
        let place = |s: u32| Place { group: s / shape.routers, router: s % shape.routers };
        Self {
            shape: shape.clone(),
            places: (0..graph.switches.len() as u32).map(place).collect(),
            hosts: graph.hosts.iter().map(|host| (host.switch, host.port)).collect(),
            gates: Gates::new(&shape.groups, shape.globals, |i| shape.global_port(i)),
        }
    }

    #[inline]
    pub(super) fn place(&self, at: SwitchId) -> Place {
        self.places[at.index()]
    }

    /// Router and port of a host.
    #[inline]
    pub(super) fn host(&self, host: HostId) -> (SwitchId, PortNo) {
        self.hosts[host.index()]
    }

    /// The links from a group to another one.
    #[inline]
    pub(super) fn gates(&self, from: u32, to: u32) -> &[Gate] {
        self.gates.between(from, to)
    }

    /// Those of them by which there are the fewest links to `router` of the other group, or to any router there.
    #[inline]
    pub(super) fn nearest(&self, from: Place, to: u32, router: Option<u32>) -> impl Iterator<Item = Gate> {
        let gates = self.gates(from.group, to);
        let distance = move |gate: &Gate| Self::distance(from, *gate, router.unwrap_or(gate.lands));
        let least = if gates.len() == 1 { None } else { gates.iter().map(distance).min() };
        gates.iter().filter(move |gate| least.is_none_or(|least| distance(gate) == least)).copied()
    }

    /// The port of `from` that begins the route over `gate`.
    #[inline]
    pub(super) fn towards(&self, from: Place, gate: Gate) -> PortNo {
        if gate.router == from.router { gate.port } else { self.shape.local_port(from.router, gate.router) }
    }

    /// Links between switches on the route from `from` over `gate` to router `to` of the group it leads to.
    #[inline]
    pub(super) fn distance(from: Place, gate: Gate, to: u32) -> u32 {
        u32::from(gate.router != from.router) + 1 + u32::from(gate.lands != to)
    }

    pub(super) fn switches(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..self.places.len() as u32).map(SwitchId)
    }

    /// Number of the first global link of a router among those that are broadcast.
    #[inline]
    pub(super) fn number(&self, at: Place) -> u32 {
        (at.group * self.shape.routers + at.router) * self.shape.globals
    }

    pub(super) fn global_ports(&self) -> Range<u16> {
        let first = (self.shape.hosts + self.shape.routers - 1) as u16;
        first..first + self.shape.globals as u16
    }

    pub(super) fn local_ports(&self) -> Range<u16> {
        let first = self.shape.hosts as u16;
        first..first + self.shape.routers as u16 - 1
    }
}
