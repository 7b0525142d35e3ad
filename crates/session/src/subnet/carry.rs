//! Datagrams in flight: over links, through the queues of agents, to managers.

use fabricsim_engine::Engine;
use fabricsim_management::directed::{Next, forward};
use fabricsim_management::{Effect, Manager, Outgoing, SMP_BYTES};
use fabricsim_model::Observer;
use fabricsim_units::Time;
use fabricsim_wire::mad::Method;
use fabricsim_wire::mad::smp::{DirectedSmp, Smp, SmpAttribute};

use super::{Datagram, Event, SubnetState, bytes};

impl SubnetState {
    /// Sends what a manager has to send, and schedules its next event.
    pub(super) fn serve_manager<B: Observer>(&mut self, number: usize, engine: &mut Engine<B>) {
        let now = engine.now();
        let node = self.managers[number].node;
        while let Some(outgoing) = self.managers[number].manager.send(now) {
            match outgoing {
                Outgoing::Directed(smp) => self.pass_on(node, 0, smp, engine),
                Outgoing::ByLid(to, smp) => {
                    let from = self.nodes[node].agent.lid(self.managers[number].manager.port()).0;
                    self.send_by_lid(node, Datagram::ByLid { from, to, smp }, engine);
                }
            }
        }
        let of = &mut self.managers[number];
        let at = of.manager.wake_at().unwrap_or(Time::MAX);
        if at < of.wake_at {
            of.wake_at = at;
            self.schedule(at.max(now), Event::Manager { number });
        }
        self.update_paths(engine);
    }

    /// A datagram arrives at a node and waits for its agent, if there is room.
    pub(super) fn arrive<B: Observer>(
        &mut self,
        node: usize,
        port: u8,
        datagram: Datagram,
        engine: &mut Engine<B>,
    ) {
        let state = &mut self.nodes[node];
        if state.is_dead {
            self.datagrams.lost += 1;
            return;
        }
        // One from the node itself is not in the buffer of a port.
        let waiting = state.queue.iter().skip(1).filter(|(of, _)| *of == port).count();
        if port > 0 && waiting >= self.plan.buffer {
            self.datagrams.overflowed += 1;
            state.vl15_dropped[usize::from(port)] += 1;
            return;
        }
        state.queue.push_back((port, datagram));
        if state.queue.len() == 1 {
            self.handle_next(node, engine.now());
        }
    }

    /// The agent begins to handle the first datagram of its queue.
    fn handle_next(&mut self, node: usize, now: Time) {
        let state = &self.nodes[node];
        let Some((_, datagram)) = state.queue.front() else { return };
        let time = match datagram {
            Datagram::Directed(smp) if smp.is_returning && smp.hop_pointer == 1 => self.plan.manager_time,
            Datagram::Directed(smp) if !smp.is_returning && smp.hop_pointer == smp.hop_count => {
                self.plan.response_time
            }
            Datagram::ByLid { to, smp, .. } if self.is_own_lid(node, *to) => {
                if Manager::is_trap(smp) {
                    self.plan.manager_time
                } else {
                    self.plan.response_time
                }
            }
            _ => self.plan.forwarding_time,
        };
        self.schedule(now.saturating_add(time), Event::Handled { node });
    }

    pub(super) fn handled<B: Observer>(&mut self, node: usize, engine: &mut Engine<B>) {
        let Some((port, datagram)) = self.nodes[node].queue.pop_front() else { return };
        match datagram {
            Datagram::Directed(smp) => self.pass_on(node, port, smp, engine),
            Datagram::ByLid { from, to, smp } if self.is_own_lid(node, to) => {
                self.receive(node, from, &smp, engine);
            }
            by_lid @ Datagram::ByLid { .. } => self.send_by_lid(node, by_lid, engine),
        }
        self.handle_next(node, engine.now());
    }

    /// Takes a datagram with a directed route one step further.
    fn pass_on<B: Observer>(
        &mut self,
        node: usize,
        in_port: u8,
        mut smp: DirectedSmp,
        engine: &mut Engine<B>,
    ) {
        let is_switch = self.nodes[node].agent.is_switch();
        match forward(&mut smp, is_switch, in_port) {
            Next::Agent => {
                let answer = self.answer(node, in_port, &smp, engine);
                self.pass_on(node, 0, answer, engine);
            }
            Next::Out(port) => self.send(node, port, Datagram::Directed(smp), engine),
            Next::Manager => {
                let Some(number) = self.manager_at(node) else { return };
                self.managers[number].manager.arrive(&smp, engine.now());
                self.serve_manager(number, engine);
            }
            Next::Discard => self.datagrams.lost += 1,
        }
    }

    /// The answer of a node's agent, or of its manager to a question about it.
    fn answer<B: Observer>(
        &mut self,
        node: usize,
        in_port: u8,
        smp: &DirectedSmp,
        engine: &mut Engine<B>,
    ) -> DirectedSmp {
        let manager = self.manager_at(node);
        let mut answer = if let (Some(SmpAttribute::SMInfo(_)), Some(number)) = (smp.attribute(), manager) {
            let answer = self.managers[number].manager.answer(smp, engine.now());
            self.serve_manager(number, engine);
            answer
        } else {
            let own = manager.map_or(0, |number| self.managers[number].manager.port());
            let port = if in_port == 0 { own } else { in_port };
            let mut effects: Vec<Effect> = Vec::new();
            let answer = self.nodes[node].agent.answer(smp, port, &mut effects);
            for effect in effects {
                self.apply(node, effect, engine);
            }
            answer
        };
        answer.is_returning = true;
        answer
    }

    /// A datagram by LID is for this node.
    fn receive<B: Observer>(&mut self, node: usize, from: u16, smp: &Smp, engine: &mut Engine<B>) {
        if Manager::is_trap(smp) {
            if let Some(number) = self.manager_at(node) {
                self.managers[number].manager.trap(smp, from, engine.now());
                self.serve_manager(number, engine);
            }
        } else if smp.header.method == Method::TRAP_REPRESS {
            self.nodes[node].trap = false;
        }
    }

    fn is_own_lid(&self, node: usize, lid: u16) -> bool {
        let agent = &self.nodes[node].agent;
        let ports = if agent.is_switch() { 0..=0 } else { 1..=agent.port_count() };
        ports.into_iter().any(|port| {
            let base = agent.lid(port).0;
            let lmc = agent.port(port).map_or(0, |info| info.lmc);
            base > 0 && (base..base.saturating_add(1 << lmc)).contains(&lid)
        })
    }

    /// Sends a datagram by LID on from a node: by its table if it is a switch, else by the port with the sender's LID.
    pub(super) fn send_by_lid<B: Observer>(
        &mut self,
        node: usize,
        datagram: Datagram,
        engine: &mut Engine<B>,
    ) {
        let Datagram::ByLid { from, to, .. } = datagram else { return };
        if self.is_own_lid(node, to) {
            return self.arrive(node, 0, datagram, engine);
        }
        let agent = &self.nodes[node].agent;
        let port = if agent.is_switch() {
            agent.route(to).filter(|&port| port > 0)
        } else {
            (1..=agent.port_count()).find(|&port| agent.lid(port).0 == from)
        };
        match port {
            Some(port) => self.send(node, port, datagram, engine),
            None => self.datagrams.lost += 1,
        }
    }

    /// Puts a datagram on the link of a port.
    fn send<B: Observer>(&mut self, node: usize, port: u8, datagram: Datagram, engine: &mut Engine<B>) {
        let cable = self.nodes[node].cables.get(usize::from(port)).copied().flatten();
        let Some(cable) = cable.filter(|cable| !self.failed.contains(&cable.link)) else {
            self.datagrams.lost += 1;
            return;
        };
        let at = engine.send_management(cable.channel, SMP_BYTES, |each| each(&bytes::packet(&datagram)));
        self.datagrams.crossed += 1;
        let (node, port) = cable.peer;
        self.schedule(at, Event::Arrive { node, port, datagram, link: Some(cable.link) });
    }
}
