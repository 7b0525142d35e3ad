//! Subnet management of a fabric in operation: datagrams on virtual lane 15, hop by hop through the agents of its nodes, and what they
//! change in the fabric.
//!
//! Everything here happens at the session's time, between the events of data packets before it and those at it. So data in the same
//! picosecond comes after management, and results do not depend on partitions.

mod bytes;
mod carry;
mod effects;
mod links;
mod multicast;
mod partitions;
mod quality;
mod report;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fabricsim_engine::{Engine, ManagerPlan, SubnetPlan};
use fabricsim_management::{Agent, Loopback, Manager};
use fabricsim_model::Observer;
use fabricsim_topology::Graph;
use fabricsim_units::{HostId, LinkId, SwitchId, Time};
use fabricsim_wire::mad::smp::{DirectedSmp, Smp};

pub use report::{SubnetReport, SweepReport};

/// A cable at a port of a node.
#[derive(Clone, Copy, Debug)]
struct Cable {
    link: LinkId,
    /// Direction of the link that leaves the port.
    channel: u32,
    /// Node and physical port at the other end.
    peer: (usize, u8),
}

/// Datagram of subnet management.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "both are datagrams of 256 bytes")]
enum Datagram {
    /// With its route.
    Directed(DirectedSmp),
    /// From one LID to another.
    ByLid { from: u16, to: u16, smp: Smp },
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most events are arrivals")]
enum Event {
    /// A datagram arrives at a port of a node; 0: from the node itself. The link on which it came.
    Arrive { node: usize, port: u8, datagram: Datagram, link: Option<LinkId> },
    /// The agent of a node has handled the first datagram of its queue.
    Handled { node: usize },
    /// A manager starts.
    Start { number: usize },
    /// A manager may have something to do.
    Manager { number: usize },
    /// A trap of a switch is retransmitted, unless it was acknowledged.
    Trap { node: usize },
}

/// A node with its agent.
#[derive(Clone, Debug)]
struct NodeState {
    agent: Agent,
    /// By physical port.
    cables: Vec<Option<Cable>>,
    /// Datagrams that wait for the agent, with the port by which they came; the first is being handled.
    queue: VecDeque<(u8, Datagram)>,
    /// Datagrams lost in the full buffer of each port.
    vl15_dropped: Vec<u64>,
    is_dead: bool,
    /// True while a trap waits to be acknowledged.
    trap: bool,
    switch: Option<SwitchId>,
}

#[derive(Clone, Debug)]
struct ManagerState {
    node: usize,
    manager: Manager,
    /// Time of the event that will wake it.
    wake_at: Time,
}

/// Counters of datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Datagrams {
    /// Links crossed.
    crossed: u64,
    /// Lost because the agent's buffer was full.
    overflowed: u64,
    /// Lost on links that failed, at nodes that had failed, or without a way on.
    lost: u64,
    /// Traps sent.
    traps: u64,
}

/// Subnet management of a session.
#[derive(Clone, Debug)]
pub(crate) struct SubnetState {
    plan: Arc<SubnetPlan>,
    nodes: Vec<NodeState>,
    managers: Vec<ManagerState>,
    calendar: BTreeMap<(Time, u64), Event>,
    /// Number of the next event: those at the same time happen in the order in which they were scheduled.
    next: u64,
    /// Links that do not work.
    failed: BTreeSet<LinkId>,
    /// Those of them that have failed themselves, not a switch at their ends.
    broken: BTreeSet<LinkId>,
    /// Links whose ports are not active at both ends.
    inactive: BTreeSet<LinkId>,
    /// The port at each end of a link.
    ends: Vec<[(usize, u8); 2]>,
    /// LID of each host's port as the fabric knows it, and the host of each LID.
    lids: Vec<u16>,
    host_of: BTreeMap<u16, HostId>,
    datagrams: Datagrams,
    /// True if packets for inactive links are discarded.
    discards: bool,
    /// Number of ended sweeps of all managers after which the layers of paths were taken over.
    layers_of: usize,
    /// Time of the last change of a link, a table or a LID.
    changed_at: Time,
    /// True once a first sweep has ended: until then there are no paths that hosts could ask for, and they do not send.
    was_up: bool,
}

impl SubnetState {
    /// The state at the start; `engine` gets empty tables and links without data, or those that a manager has configured.
    pub(crate) fn new<B: Observer>(
        plan: &Arc<SubnetPlan>,
        graph: &Graph,
        engine: &mut Engine<B>,
        discards: bool,
    ) -> Self {
        let mut state = Self::powered_on(plan, graph, discards);
        let managers = plan.managers.iter().map(|ManagerPlan { port, settings, .. }| {
            let guid = plan.identity.subnet.port(*port).guid.0;
            let manager = Manager::new(settings.clone(), guid, port.port);
            ManagerState { node: port.node.index(), manager, wake_at: Time::MAX }
        });
        state.managers = managers.collect();
        for of in &state.managers {
            let port = of.manager.port();
            state.nodes[of.node].agent.set_manager(port, true);
        }
        if plan.is_configured {
            state.configure_at_once();
        }
        state.apply_all(engine);
        for number in 0..state.managers.len() {
            state.schedule(Time::ZERO, Event::Start { number });
        }
        state
    }

    /// Agents after power-on, with all links up that work.
    fn powered_on(plan: &Arc<SubnetPlan>, graph: &Graph, discards: bool) -> Self {
        let subnet = &plan.identity.subnet;
        let mut nodes: Vec<NodeState> = subnet
            .nodes
            .iter()
            .map(|node| NodeState {
                agent: Agent::new(node),
                cables: vec![None; node.ports.len()],
                queue: VecDeque::new(),
                vl15_dropped: vec![0; node.ports.len()],
                is_dead: false,
                trap: false,
                switch: None,
            })
            .collect();
        for (number, id) in plan.identity.switches.iter().enumerate() {
            nodes[id.index()].switch = Some(SwitchId(number as u32));
        }
        let ends = links::connect(&mut nodes, graph, &plan.identity);
        for (link, of_link) in graph.links.iter().zip(&ends) {
            if let Some(mtu) = link.parameters.mtu {
                for &(node, port) in of_link {
                    nodes[node].agent.set_mtu(port, mtu.0);
                }
            }
        }
        let failed: BTreeSet<LinkId> = plan.failed.iter().copied().collect();
        for (number, of_link) in ends.iter().enumerate() {
            if !failed.contains(&LinkId(number as u32)) {
                for &(node, port) in of_link {
                    nodes[node].agent.link_up(port);
                }
            }
        }
        Self {
            plan: Arc::clone(plan),
            nodes,
            managers: Vec::new(),
            calendar: BTreeMap::new(),
            next: 0,
            broken: failed.clone(),
            failed,
            inactive: BTreeSet::new(),
            ends,
            lids: vec![0; plan.identity.hosts.len()],
            host_of: BTreeMap::new(),
            datagrams: Datagrams::default(),
            discards,
            layers_of: 0,
            changed_at: Time::ZERO,
            was_up: plan.is_configured,
        }
    }

    /// Lets the first manager configure everything before the start, as it would in time.
    fn configure_at_once(&mut self) {
        let Some(ManagerPlan { port, settings, .. }) = self.plan.managers.first() else { return };
        let guid = self.plan.identity.subnet.port(*port).guid.0;
        let mut settings = settings.clone();
        settings.routing_time = Time::ZERO;
        let mut manager = Manager::new(settings, guid, port.port);
        let agents = self.nodes.iter().map(|node| node.agent.clone()).collect();
        let peer = |node: &NodeState| {
            let peers = node.cables.iter().map(|cable| {
                cable.map(|cable| fabricsim_subnet::PortId {
                    node: fabricsim_subnet::NodeId(cable.peer.0 as u32),
                    port: cable.peer.1,
                })
            });
            peers.collect()
        };
        let peers = self.nodes.iter().map(peer).collect();
        let mut loopback = Loopback::of(agents, peers);
        manager.start(Time::ZERO);
        // The manager of a subnet without time ends: it sends a number of requests that the subnet limits.
        let ended = loopback.run(port.node, &mut manager, Time::ZERO, &mut |_, _, _| {});
        debug_assert_eq!(ended, Ok(()));
        for (node, agent) in self.nodes.iter_mut().zip(loopback.agents) {
            node.agent = agent;
            node.agent.acknowledge_changes();
        }
        // It goes on from there: the start of a session is not a sweep.
        self.managers[0].manager = manager.without_history();
    }

    /// Time of the next event.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.calendar.first_key_value().map(|((at, _), _)| *at)
    }

    /// True if only light sweeps and questions between managers are to come, which change nothing unless something else does.
    pub(crate) fn is_settled(&self) -> bool {
        let is_reported = self.nodes.iter().all(|node| !node.trap);
        is_reported && self.managers.iter().all(|of| of.manager.is_settled(self.changed_at))
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.calendar.insert((at, self.next), event);
        self.next += 1;
    }

    /// Handles the events whose time has come.
    pub(crate) fn run<B: Observer>(&mut self, engine: &mut Engine<B>) {
        let now = engine.now();
        while let Some(entry) = self.calendar.first_entry() {
            if entry.key().0 > now {
                return;
            }
            match entry.remove() {
                Event::Arrive { node, port, datagram, .. } => self.arrive(node, port, datagram, engine),
                Event::Handled { node } => self.handled(node, engine),
                Event::Start { number } => {
                    self.managers[number].manager.start(now);
                    self.serve_manager(number, engine);
                }
                Event::Manager { number } => {
                    if self.managers[number].wake_at <= now {
                        self.managers[number].wake_at = Time::MAX;
                        self.managers[number].manager.expire(now);
                    }
                    self.serve_manager(number, engine);
                }
                Event::Trap { node } => self.repeat_trap(node, engine),
            }
        }
    }

    /// The manager of a node.
    fn manager_at(&self, node: usize) -> Option<usize> {
        self.managers.iter().position(|of| of.node == node)
    }
}
