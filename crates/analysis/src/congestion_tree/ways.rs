//! Paths of waiting packets, to tell contributors of a tree from its victims.

use fabricsim_engine::Snapshot;
use fabricsim_routing::{MulticastTables, Router, RoutingFunction};
use fabricsim_topology::{End, Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use super::OutputLane;
use super::outlets::Backlog;

/// Paths of packets from where they are.
pub(super) struct Ways<'a> {
    pub(super) graph: &'a Graph,
    pub(super) router: &'a Router,
    pub(super) multicast: &'a MulticastTables,
    pub(super) snapshot: &'a Snapshot,
    pub(super) hops: Vec<fabricsim_model::Hop>,
}

impl Ways<'_> {
    /// True if the path of a packet from a pile leads through a sending port. If the routing leaves a choice: the path that
    /// always takes the first hop. `behind`: the packet may be for another output than the pile's.
    pub(super) fn lead_through(
        &mut self,
        port: u32,
        (pile, outlet): (&Backlog<'_>, OutputLane),
        behind: bool,
        to: HostId,
    ) -> bool {
        if let Some(group) = to.group() {
            return self.tree_leads_through(port, (pile, outlet), behind, group);
        }
        let (mut at, mut lane) = (outlet.port, Vl(outlet.lane));
        if behind {
            (at, lane) = self.next((pile.queue.switch, pile.queue.in_port), pile.queue.lane, to);
        }
        for _ in 0..2 * self.graph.links.len() {
            if at == port {
                return true;
            }
            match arrival(self.graph, at) {
                End { node: Node::Host(_), .. } => return false,
                End { node: Node::Switch(switch), port } => (at, lane) = self.next((switch, port), lane, to),
            }
        }
        false
    }

    /// [`Ways::lead_through`] for a packet for a multicast group: one of its copies takes the port.
    fn tree_leads_through(
        &self,
        port: u32,
        (pile, outlet): (&Backlog<'_>, OutputLane),
        behind: bool,
        group: u16,
    ) -> bool {
        let outputs = |at: SwitchId, input: PortNo| {
            let ports = self.multicast.ports(at, group).iter().filter(move |&&port| port != input);
            ports.map(move |&port| self.sending_port(at, port))
        };
        let mut left: Vec<u32> =
            if behind { outputs(pile.queue.switch, pile.queue.in_port).collect() } else { vec![outlet.port] };
        // Tables that change meanwhile could lead in a cycle.
        for _ in 0..2 * self.graph.links.len() {
            let Some(at) = left.pop() else { return false };
            if at == port {
                return true;
            }
            if let End { node: Node::Switch(switch), port } = arrival(self.graph, at) {
                left.extend(outputs(switch, port));
            }
        }
        false
    }

    fn sending_port(&self, at: SwitchId, port: PortNo) -> u32 {
        let link = self.graph.switches[at.index()].ports[port.index()];
        let from_a = self.graph.links[link.index()].a == End { node: Node::Switch(at), port };
        2 * link.0 + u32::from(!from_a)
    }

    fn next(&mut self, (at, in_port): (SwitchId, PortNo), lane: Vl, to: HostId) -> (u32, Vl) {
        // The routing knows the lanes of one service class.
        let class = self.snapshot.class_base(lane);
        let lane = Vl(lane.0 - class);
        let only = self.router.only_hop(at, in_port, lane, to);
        let hop = only.unwrap_or_else(|| {
            self.hops.clear();
            self.router.hops(at, in_port, lane, to, &mut self.hops);
            self.hops[0]
        });
        (self.sending_port(at, hop.port), Vl(hop.lanes.first.0 + class))
    }
}

/// Returns the end to which a sending port leads.
fn arrival(graph: &Graph, port: u32) -> End {
    let link = &graph.links[(port / 2) as usize];
    if port.is_multiple_of(2) { link.b } else { link.a }
}
