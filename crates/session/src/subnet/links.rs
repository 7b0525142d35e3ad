//! Cables that fail and come back, and ports that become active.

use fabricsim_engine::Engine;
use fabricsim_model::Observer;
use fabricsim_topology::{End, Graph, Identity};
use fabricsim_units::{LinkId, SwitchId, Time};
use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{Lid, TransactionId};
use fabricsim_wire::mad::smp::{Smp, SmpAttribute};
use fabricsim_wire::mad::{LidTrap, Method, Notice, Trap};

use super::{Cable, Datagram, Event, NodeState, SubnetState};

/// Puts the cables of a graph in; returns the ports at the ends of each link.
pub(super) fn connect(nodes: &mut [NodeState], graph: &Graph, identity: &Identity) -> Vec<[(usize, u8); 2]> {
    let place = |end: End| {
        let port = identity.port_at(end);
        (port.node.index(), port.port)
    };
    let mut ends = Vec::with_capacity(graph.links.len());
    for (number, link) in graph.links.iter().enumerate() {
        let of_link = [place(link.a), place(link.b)];
        for (direction, &(node, port)) in of_link.iter().enumerate() {
            nodes[node].cables[usize::from(port)] = Some(Cable {
                link: LinkId(number as u32),
                channel: 2 * number as u32 + direction as u32,
                peer: of_link[1 - direction],
            });
        }
        ends.push(of_link);
    }
    ends
}

impl SubnetState {
    /// A link fails. Datagrams on it are lost.
    pub(crate) fn fail_link<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        self.broken.insert(link);
        self.take_down(link, engine);
    }

    fn take_down<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        if !self.failed.insert(link) {
            return;
        }
        let on_it = |event: &Event| matches!(event, Event::Arrive { link: Some(of), .. } if *of == link);
        let before = self.calendar.len();
        self.calendar.retain(|_, event| !on_it(event));
        self.datagrams.lost += (before - self.calendar.len()) as u64;
        self.changed_at = engine.now();
        for (node, port) in self.ends[link.index()] {
            self.nodes[node].agent.link_down(port);
            self.report_change(node, engine);
        }
        self.update_link(link, engine);
    }

    /// A link works again: a manager has to activate its ports.
    pub(crate) fn restore_link<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        self.broken.remove(&link);
        let is_dead = self.ends[link.index()].iter().any(|&(node, _)| self.nodes[node].is_dead);
        if is_dead || !self.failed.remove(&link) {
            return;
        }
        self.changed_at = engine.now();
        for (node, port) in self.ends[link.index()] {
            self.nodes[node].agent.link_up(port);
            self.report_change(node, engine);
        }
        self.update_link(link, engine);
    }

    /// A switch fails with all its links, and forgets its configuration.
    pub(crate) fn fail_switch<B: Observer>(&mut self, switch: SwitchId, engine: &mut Engine<B>) {
        let node = self.plan.identity.switches[switch.index()].index();
        let links: Vec<LinkId> = self.nodes[node].cables.iter().flatten().map(|cable| cable.link).collect();
        for link in links {
            self.take_down(link, engine);
        }
        let state = &mut self.nodes[node];
        self.datagrams.lost += state.queue.len() as u64;
        state.queue.clear();
        (state.is_dead, state.trap) = (true, false);
        state.agent.power_off();
        if let Some(number) = self.manager_at(node) {
            self.managers[number].manager.power_off();
            self.managers[number].wake_at = Time::MAX;
        }
        self.calendar.retain(|_, event| !matches!(event, Event::Handled { node: of } if *of == node));
        self.apply_routes(node, engine);
        self.apply_quality(node, engine);
        self.apply_multicast(node, engine);
        self.apply_all_keys(node, engine);
    }

    /// A switch works again, with those of its links that have not failed on their own.
    pub(crate) fn restore_switch<B: Observer>(&mut self, switch: SwitchId, engine: &mut Engine<B>) {
        let node = self.plan.identity.switches[switch.index()].index();
        self.nodes[node].is_dead = false;
        let links: Vec<LinkId> = self.nodes[node].cables.iter().flatten().map(|cable| cable.link).collect();
        for link in links {
            if !self.broken.contains(&link) {
                self.restore_link(link, engine);
            }
        }
        if let Some(number) = self.manager_at(node) {
            self.managers[number].manager.start(engine.now());
            self.serve_manager(number, engine);
        }
    }

    /// Lets a link carry data, or not, as the states of its ports say.
    pub(super) fn update_link<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        let is_active = self.is_open(link);
        if is_active && self.inactive.remove(&link) {
            engine.restore_link(link);
        } else if !is_active && self.inactive.insert(link) {
            engine.fail_link(link, self.discards);
        }
    }

    /// True if data may cross the link: the ports at both ends are active, and an adapter can have requested its paths.
    fn is_open(&self, link: LinkId) -> bool {
        self.ends[link.index()].iter().all(|&(node, port)| {
            let agent = &self.nodes[node].agent;
            agent.is_active(port) && (self.was_up || agent.is_switch())
        })
    }

    /// A switch tells the master that a link has changed.
    fn report_change<B: Observer>(&mut self, node: usize, engine: &mut Engine<B>) {
        let state = &self.nodes[node];
        if !self.plan.traps || state.is_dead || !state.agent.is_switch() || state.agent.master(0) == Lid(0) {
            return;
        }
        if !std::mem::replace(&mut self.nodes[node].trap, true) {
            self.send_trap(node, engine);
        }
    }

    pub(super) fn repeat_trap<B: Observer>(&mut self, node: usize, engine: &mut Engine<B>) {
        if self.nodes[node].trap && !self.nodes[node].is_dead {
            self.send_trap(node, engine);
        }
    }

    fn send_trap<B: Observer>(&mut self, node: usize, engine: &mut Engine<B>) {
        let agent = &self.nodes[node].agent;
        let (from, to) = (agent.lid(0).0, agent.master(0).0);
        let trap = Trap::LinkStateChange(LidTrap { lid: Lid(from) });
        let notice = Notice {
            is_generic: true,
            kind: 1,
            producer: 2,
            trap_number: trap.number(),
            issuer_lid: Lid(from),
            details: trap.details(),
            ..Notice::default()
        };
        self.datagrams.traps += 1;
        let smp = Smp::new(Method::TRAP, TransactionId(self.datagrams.traps));
        let smp =
            smp.with(&SmpAttribute::Notice(notice), 0).unwrap_or(Smp { data: Octets::default(), ..smp });
        self.send_by_lid(node, Datagram::ByLid { from, to, smp }, engine);
        let again = engine.now().saturating_add(self.plan.trap_timeout);
        if again < Time::MAX {
            self.schedule(again, Event::Trap { node });
        }
    }
}
