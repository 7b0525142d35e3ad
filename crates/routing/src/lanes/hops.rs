//! Lanes by hops: the n-th link between switches of a route is on the n-th lanes (Günther 1981; Gopal 1985).
//!
//! Lanes only ascend along a route, so there is no cyclic dependency, whatever the graph and the routes.

use fabricsim_model::Lanes;
use fabricsim_topology::Graph;
use fabricsim_units::{PortNo, SwitchId};

use super::{Exit, LanePolicy, LinkRole, Step, entry};
use crate::At;
use crate::route::Route;

/// Lanes by the number of links between switches that a packet has passed, which is its stage.
#[derive(Clone, Debug)]
pub struct HopLadder {
    /// Links between switches of the longest route.
    rungs: u8,
    /// Lanes of each link of a route.
    width: u8,
    all: Lanes,
    /// Largest number of ports of a switch, and for each switch and port whether a host is behind it.
    ports: usize,
    to_host: Vec<bool>,
}

impl HopLadder {
    /// The policy for routes of at most `longest` links between switches on `lanes` virtual lanes; the lanes that are needed, if
    /// there are fewer.
    pub(crate) fn new(graph: &Graph, longest: u32, lanes: u8) -> Result<Self, u32> {
        let ports = graph.switches.iter().map(|switch| switch.ports.len()).max().unwrap_or(0);
        let mut to_host = vec![false; ports * graph.switches.len()];
        for host in &graph.hosts {
            to_host[host.switch.index() * ports + host.port.index()] = true;
        }
        Self { rungs: 1, width: lanes, all: Lanes::new(0, lanes), ports, to_host }.resized(longest)
    }

    /// The same for routes of at most `longest` links between switches; the lanes that are needed, if there are fewer.
    pub(crate) fn resized(&self, longest: u32) -> Result<Self, u32> {
        let rungs = longest.max(1);
        let width = u32::from(self.all.count) / rungs;
        if width == 0 {
            return Err(rungs);
        }
        Ok(Self { rungs: rungs as u8, width: width as u8, ..self.clone() })
    }

    /// Virtual lanes that the policy divides among the links of a route.
    pub(crate) fn lane_count(&self) -> u8 {
        self.all.count
    }

    /// The same with all links on one lane.
    #[cfg(test)]
    pub(crate) fn on_one_lane(self) -> Self {
        Self { width: 1, rungs: 1, all: Lanes::new(0, 1), ..self }
    }

    /// Links between switches for which there are lanes of their own.
    pub(crate) fn rungs(&self) -> u32 {
        self.rungs.into()
    }

    /// Lanes of the link after `passed` links between switches. (The last ones beyond the longest route: no packet takes such a link.)
    #[inline]
    pub(crate) fn after(&self, passed: u8) -> Lanes {
        Lanes::new(passed.min(self.rungs - 1) * self.width, self.width)
    }

    #[inline]
    fn leads_to_host(&self, at: SwitchId, port: PortNo) -> bool {
        self.to_host[at.index() * self.ports + port.index()]
    }
}

impl LanePolicy for HopLadder {
    #[inline]
    fn all(&self) -> Lanes {
        self.all
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        if step.exit.role == LinkRole::Either && self.leads_to_host(step.at.switch, step.exit.port) {
            return (self.all, step.stage);
        }
        let passed = step.stage.min(self.rungs - 1);
        (Lanes::new(passed * self.width, self.width), passed + 1)
    }

    #[inline]
    fn stage(&self, at: At) -> u8 {
        if self.leads_to_host(at.switch, at.in_port) { 0 } else { at.lane.0 / self.width + 1 }
    }

    fn tree_lanes(&self, at: At, exit: Exit, _: u8) -> Lanes {
        self.lanes_on_arrival(at, exit)
    }

    /// The last link only: at a switch, packets of all stages take the same ports.
    fn compile(&self, exit: Exit) -> Option<Route> {
        (exit.role == LinkRole::ToHost).then(|| entry(exit.port, self.all))
    }

    fn divides_by_hops(&self) -> bool {
        true
    }

    fn requirement(&self) -> Option<(u8, String)> {
        let links = (0..self.rungs).map(|link| format!("any:{}", self.after(link).first));
        Some((self.rungs, links.collect::<Vec<_>>().join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Vl;

    use super::*;
    use crate::samples::graph;

    #[test]
    fn lanes_ascend_link_by_link() {
        let graph = graph("ring = { switches = 5 }");
        assert_eq!(HopLadder::new(&graph, 3, 2).unwrap_err(), 3);
        let policy = HopLadder::new(&graph, 3, 7).unwrap();
        let host = &graph.hosts[0];
        let mut at = At { switch: host.switch, in_port: host.port, lane: Vl(6) };
        let exit = Exit { port: PortNo((host.port.0 + 1) % 3), role: LinkRole::Either };
        for link in 0..3 {
            let (lanes, stage) = policy.lanes(Step { at, exit, stage: policy.stage(at) });
            assert_eq!((lanes, stage), (Lanes::new(2 * link, 2), link + 1));
            at = At { in_port: exit.port, lane: Vl(lanes.first.0 + 1), ..at };
        }
        let last = Exit { port: host.port, ..exit };
        assert_eq!(policy.lanes(Step { at, exit: last, stage: 3 }).0, policy.all());
        assert_eq!(policy.requirement(), Some((3, "any:0 any:2 any:4".to_owned())));
    }
}
