//! Shared test code for routing that keeps state.

use std::cell::RefCell;

use fabricsim_model::{Lanes, Packet, PacketKind, Random, RouteState};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Time, Vl};

use crate::samples::{graph, try_router};
use crate::wiring::beyond;
use crate::{At, Router, RoutingFunction, View};

pub(crate) fn network(topology: &str, routing: &str, lanes: u8) -> (Graph, Router) {
    let graph = graph(topology);
    let router = try_router(&graph, topology, routing, lanes).unwrap_or_else(|e| panic!("{e}"));
    (graph, router)
}

/// Draws, and loads that depend on nothing.
pub(crate) struct Anything {
    random: Random,
    broadcast: u32,
}

impl View for Anything {
    fn load(&mut self, _port: PortNo, _lanes: Lanes) -> u32 {
        self.broadcast = self.random.below(1000) as u32;
        self.random.below(1000) as u32
    }
    fn capacity(&self, _port: PortNo, _lanes: Lanes) -> u32 {
        1000
    }
    fn broadcast_load(&self, number: u32) -> u32 {
        (self.broadcast + number * 97) % 1000
    }
    fn below(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }
}

/// The load of each port is drawn once, and remembered in the order in which the ports were asked for.
pub(crate) struct Recorded {
    pub(crate) random: Random,
    pub(crate) asked: Vec<(PortNo, u32)>,
}

impl View for Recorded {
    fn load(&mut self, port: PortNo, _lanes: Lanes) -> u32 {
        let known = self.asked.iter().find(|(other, _)| *other == port).map(|&(_, load)| load);
        let load = known.unwrap_or_else(|| self.random.below(9) as u32);
        self.asked.push((port, load));
        load
    }
    fn capacity(&self, _port: PortNo, _lanes: Lanes) -> u32 {
        100
    }
    fn broadcast_load(&self, _number: u32) -> u32 {
        0
    }
    fn below(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }
}

/// The load and the capacity of each port are drawn for each request, and the lanes remembered that were asked for.
pub(crate) struct LanesAsked {
    pub(crate) random: Random,
    pub(crate) loads: Vec<(PortNo, Lanes)>,
    pub(crate) capacities: Vec<(PortNo, Lanes)>,
}

impl LanesAsked {
    pub(crate) fn new(random: Random) -> RefCell<Self> {
        RefCell::new(Self { random, loads: Vec::new(), capacities: Vec::new() })
    }
}

impl View for RefCell<LanesAsked> {
    fn load(&mut self, port: PortNo, lanes: Lanes) -> u32 {
        let asked = self.get_mut();
        asked.loads.push((port, lanes));
        asked.random.below(100) as u32
    }
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32 {
        self.borrow_mut().capacities.push((port, lanes));
        100
    }
    fn broadcast_load(&self, _number: u32) -> u32 {
        0
    }
    fn below(&mut self, n: u32) -> u32 {
        self.get_mut().random.below(u64::from(n)) as u32
    }
}

/// A packet that has not moved.
pub(crate) fn packet(source: HostId, destination: HostId) -> Packet {
    Packet::new(PacketKind::Data, (source, destination), 64, Time::ZERO)
}

/// The route of a packet among loads and draws of `seed`: the switch at the end of each link between switches, and the lane.
pub(crate) fn route(
    graph: &Graph,
    router: &Router,
    (from, to): (HostId, HostId),
    seed: u64,
) -> Vec<(SwitchId, Vl)> {
    let mut view = Anything { random: Random::new(seed, 0, 0), broadcast: 0 };
    let packet = packet(from, to);
    let host = &graph.hosts[from.index()];
    let mut at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
    let mut state = RouteState::default();
    let mut links = Vec::new();
    loop {
        let hop = router.choose(at, &packet, &mut state, &mut view).unwrap();
        let end = beyond(graph, at.switch, hop.port).unwrap();
        match end.node {
            Node::Host(host) => {
                assert_eq!(host, to, "at another host");
                return links;
            }
            Node::Switch(switch) => {
                at = At { switch, in_port: end.port, lane: hop.lanes.first };
                links.push((switch, hop.lanes.first));
            }
        }
        assert!(links.len() < 20, "it does not arrive: {links:?}");
    }
}

/// Links between switches on that route.
pub(crate) fn arrives(graph: &Graph, router: &Router, ends: (HostId, HostId), seed: u64) -> usize {
    route(graph, router, ends, seed).len()
}
