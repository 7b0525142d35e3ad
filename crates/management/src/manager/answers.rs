//! Answers to requests, and requests without one.

use fabricsim_units::Time;
use fabricsim_wire::mad::smp::SmpAttribute;

use super::requests::{Purpose, Request};
use super::{Manager, SweepCause};

impl Manager {
    /// The answer to a request has arrived.
    pub(super) fn accept(&mut self, request: &Request, attribute: &SmpAttribute, now: Time) {
        match (request.purpose, attribute) {
            (Purpose::Discover { from, port }, SmpAttribute::NodeInfo(info)) => {
                self.found_node(from, port, info, &request.path);
            }
            (Purpose::Description(node), SmpAttribute::NodeDescription(description)) => {
                self.found.nodes[node].description = description.text.text();
            }
            (Purpose::Switch(node), SmpAttribute::SwitchInfo(info)) => self.found_switch(node, info),
            (Purpose::Acknowledge(node), SmpAttribute::SwitchInfo(_)) => self.acknowledged(node),
            (Purpose::PortAgain { node, port }, SmpAttribute::PortInfo(info)) => {
                self.found_port_again(node, port, info);
            }
            (Purpose::Port { node, port }, SmpAttribute::PortInfo(info)) => self.found_port(node, port, info),
            (Purpose::OtherManager { .. }, SmpAttribute::SMInfo(info)) => {
                self.found_manager(info, &request.path);
            }
            (Purpose::Light, SmpAttribute::SwitchInfo(info)) if info.port_state_change => {
                self.sweep_soon(SweepCause::Change, now);
            }
            (Purpose::Poll, SmpAttribute::SMInfo(info)) => self.master_answered(info),
            _ => {}
        }
    }

    /// An agent has refused a request: repeating it would not help.
    pub(super) fn refused(&mut self, request: &Request) {
        let before = (self.due, self.is_incomplete);
        self.give_up(request);
        (self.due, self.is_incomplete) = before;
    }

    /// A request was not answered.
    pub(super) fn give_up(&mut self, request: &Request) {
        self.counters.given_up += 1;
        match request.purpose {
            // The port is as good as down, or what the answer would have said stays unknown.
            Purpose::Discover { .. }
            | Purpose::OtherManager { .. }
            | Purpose::HandOver
            | Purpose::Description(_)
            | Purpose::Switch(_)
            | Purpose::Port { .. } => {}
            Purpose::Poll => self.unanswered += 1,
            Purpose::Light => {
                self.due.get_or_insert(SweepCause::Change);
            }
            Purpose::Block { node } => {
                // What the switch has is not known any more.
                let guid = self.found.nodes[node].info.node_guid.0;
                self.known_tables.remove(&guid);
                self.is_incomplete = true;
            }
            Purpose::Quality { node } => {
                self.known_quality.forget(self.found.nodes[node].info.node_guid.0);
                self.is_incomplete = true;
            }
            Purpose::Set | Purpose::Acknowledge(_) | Purpose::PortAgain { .. } => self.is_incomplete = true,
        }
    }
}
