//! A lane policy for any graph: the n-th link between switches of a route is on the n-th lanes (Günther 1981; Gopal 1985).
//!
//! Lanes only ascend along a route, so that packets cannot wait for each other in a circle, whatever the graph and the routes.

use fabricsim_model::Lanes;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::ForwardingTables;
use crate::wiring::beyond;

/// Lanes by the number of links between switches that a packet has passed.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    /// Links between switches of the longest route.
    rungs: u8,
    /// Lanes of each link of a route.
    width: u8,
    all: Lanes,
    /// Largest number of ports of a switch, and for each switch and port whether a host is behind it.
    ports: usize,
    to_host: Vec<bool>,
}

impl Ladder {
    /// The ladder for routes of up to `rungs` links between switches on `lanes` virtual lanes; the lanes that are needed, if
    /// there are fewer.
    pub(crate) fn new(graph: &Graph, rungs: u32, lanes: u8) -> Result<Self, u32> {
        let rungs = rungs.max(1);
        let width = u32::from(lanes) / rungs;
        if width == 0 {
            return Err(rungs);
        }
        let ports = graph.switches.iter().map(|switch| switch.ports.len()).max().unwrap_or(0);
        let mut to_host = vec![false; ports * graph.switches.len()];
        for host in &graph.hosts {
            to_host[host.switch.index() * ports + host.port.index()] = true;
        }
        Ok(Self { rungs: rungs as u8, width: width as u8, all: Lanes::new(0, lanes), ports, to_host })
    }

    /// Links between switches for which there are lanes of their own.
    pub(crate) fn rungs(&self) -> u32 {
        self.rungs.into()
    }

    /// Lanes of the link after `passed` links between switches.
    #[inline]
    pub(crate) fn lanes_after(&self, passed: u8) -> Lanes {
        Lanes::new(passed * self.width, self.width)
    }

    /// Lanes behind `out` for a packet that came in by `in_port` on `lane`.
    #[inline]
    pub(crate) fn lanes(&self, at: SwitchId, in_port: PortNo, lane: Vl, out: PortNo) -> Lanes {
        if self.leads_to_host(at, out) {
            return self.all;
        }
        let passed = if self.leads_to_host(at, in_port) { 0 } else { lane.0 / self.width + 1 };
        // A packet on its longest route is not asked for another link.
        self.lanes_after(passed.min(self.rungs - 1))
    }

    #[inline]
    fn leads_to_host(&self, at: SwitchId, port: PortNo) -> bool {
        self.to_host[at.index() * self.ports + port.index()]
    }

    /// Lanes that are needed, and the lane of each link of the longest route.
    pub(crate) fn longest_route(&self) -> (u8, String) {
        let links = (0..self.rungs).map(|link| format!("any:{}", self.lanes_after(link).first));
        (self.rungs, links.collect::<Vec<_>>().join(" "))
    }
}

/// Links between switches of the longest route from a host.
pub(crate) fn longest(lengths: &[u16], graph: &Graph) -> u32 {
    let hosts = graph.hosts.len();
    let from = graph.hosts.iter().flat_map(|host| &lengths[host.switch.index() * hosts..][..hosts]);
    from.copied().max().unwrap_or(0).into()
}

/// Links between switches of every route of `tables`, by switch and destination; every host is reached from everywhere.
pub(crate) fn lengths(tables: &ForwardingTables, graph: &Graph) -> Vec<u16> {
    const UNKNOWN: u16 = u16::MAX;
    let hosts = graph.hosts.len();
    let mut lengths = vec![UNKNOWN; graph.switches.len() * hosts];
    let mut route = Vec::new();
    for to in (0..hosts as u32).map(HostId) {
        for start in 0..graph.switches.len() {
            let mut at = start;
            route.clear();
            while lengths[at * hosts + to.index()] == UNKNOWN {
                route.push(at);
                let end = tables
                    .port(SwitchId(at as u32), to)
                    .and_then(|port| beyond(graph, SwitchId(at as u32), port));
                match end.map(|end| end.node) {
                    Some(Node::Switch(next)) if route.len() <= graph.switches.len() => at = next.index(),
                    _ => {
                        lengths[at * hosts + to.index()] = 0;
                        route.pop();
                    }
                }
            }
            let mut length = lengths[at * hosts + to.index()];
            for &before in route.iter().rev() {
                length += 1;
                lengths[before * hosts + to.index()] = length;
            }
        }
    }
    lengths
}
