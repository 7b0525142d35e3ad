//! Agents and managers of a subnet connected without time: every datagram arrives at once, none is lost.

use std::collections::VecDeque;

use fabricsim_subnet::{NodeId, PortId, Subnet};
use fabricsim_units::Time;
use fabricsim_wire::mad::smp::{DirectedSmp, SmpAttribute};

use crate::directed::{Next, forward};
use crate::{Agent, Effect, Manager, Outgoing};

/// Datagrams after which a subnet that is still not configured is given up.
const MOST: u64 = 1 << 32;

/// A manager did not come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subnet manager does not come to an end")]
pub struct TooManySmps;

/// Agents of all nodes of a subnet.
#[derive(Clone, Debug)]
pub struct Loopback {
    /// By node.
    pub agents: Vec<Agent>,
    peers: Vec<Vec<Option<PortId>>>,
    /// Datagrams that have crossed a link.
    pub crossed: u64,
}

impl Loopback {
    /// The agents of a subnet whose cables are all up and not configured.
    pub fn new(subnet: &Subnet) -> Self {
        let mut agents: Vec<Agent> = subnet.nodes.iter().map(Agent::new).collect();
        let mut peers = Vec::with_capacity(agents.len());
        for (agent, node) in agents.iter_mut().zip(&subnet.nodes) {
            let of_node: Vec<Option<PortId>> = node.ports.iter().map(|port| port.peer).collect();
            (1..=node.num_ports())
                .filter(|&port| of_node[usize::from(port)].is_some())
                .for_each(|port| agent.link_up(port));
            peers.push(of_node);
        }
        Self { agents, peers, crossed: 0 }
    }

    /// Agents with their cables: by node and port, the port at the other end.
    pub fn of(agents: Vec<Agent>, peers: Vec<Vec<Option<PortId>>>) -> Self {
        Self { agents, peers, crossed: 0 }
    }

    /// Takes a cable out, or puts it in.
    pub fn set_link(&mut self, port: PortId, is_up: bool) {
        let Some(peer) = self.peers[port.node.index()][usize::from(port.port)] else { return };
        for end in [port, peer] {
            let agent = &mut self.agents[end.node.index()];
            if is_up { agent.link_up(end.port) } else { agent.link_down(end.port) }
        }
    }

    /// Carries the datagrams of a manager at `node` until it has none. Calls `each` for every effect at a node.
    ///
    /// # Errors
    ///
    /// The manager sends without end.
    pub fn run(
        &mut self,
        node: NodeId,
        manager: &mut Manager,
        now: Time,
        each: &mut dyn FnMut(NodeId, Effect, &Agent),
    ) -> Result<(), TooManySmps> {
        let mut under_way: VecDeque<(NodeId, u8, DirectedSmp)> = VecDeque::new();
        loop {
            while let Some(outgoing) = manager.send(now) {
                if let Outgoing::Directed(smp) = outgoing {
                    under_way.push_back((node, 0, smp));
                }
            }
            let Some((at, port, smp)) = under_way.pop_front() else {
                if manager.wake_at().is_some_and(|at| at <= now) {
                    manager.expire(now);
                    continue;
                }
                return Ok(());
            };
            self.crossed += u64::from(port > 0);
            if self.crossed > MOST {
                return Err(TooManySmps);
            }
            self.step(at, port, smp, (node, &mut *manager, now), &mut under_way, each);
        }
    }

    fn step(
        &mut self,
        at: NodeId,
        in_port: u8,
        mut smp: DirectedSmp,
        (node, manager, now): (NodeId, &mut Manager, Time),
        under_way: &mut VecDeque<(NodeId, u8, DirectedSmp)>,
        each: &mut dyn FnMut(NodeId, Effect, &Agent),
    ) {
        let agent = &mut self.agents[at.index()];
        let mut next = forward(&mut smp, agent.is_switch(), in_port);
        if next == Next::Agent {
            let port = if in_port == 0 && at == node { manager.port() } else { in_port };
            if at == node && matches!(smp.attribute(), Some(SmpAttribute::SMInfo(_))) {
                smp = manager.answer(&smp, now);
            } else {
                let mut effects = Vec::new();
                smp = agent.answer(&smp, port, &mut effects);
                for effect in effects {
                    each(at, effect, agent);
                }
            }
            smp.is_returning = true;
            next = forward(&mut smp, agent.is_switch(), 0);
        }
        match next {
            Next::Out(port) if agent.port(port).is_some_and(|info| info.port_state.0 > 1) => {
                if let Some(peer) = self.peers[at.index()].get(usize::from(port)).copied().flatten() {
                    under_way.push_back((peer.node, peer.port, smp));
                }
            }
            Next::Manager if at == node => manager.arrive(&smp, now),
            _ => {}
        }
    }
}
