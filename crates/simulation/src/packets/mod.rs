//! Records of chosen packets link by link: where each waited, and behind which others.

mod choice;
mod history;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_model::{ByteLine, Packet, Table};
use fabricsim_session::Traced;
use fabricsim_spec::{Queueing, SpecError, Switching};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, SwitchId, Time, Vl};

use self::choice::Choices;
use self::history::{Behind, History, Occupied, behind, covered};

use crate::capture;

pub(crate) use table::{ROW, empty};

/// Checks the choice of packets of an experiment. `file` names it in messages.
///
/// # Errors
///
/// An entry of `measure.packets` that names no host, or has another form.
pub fn check_packets(prepared: &Prepared, file: &str) -> Result<(), SpecError> {
    Choices::new(prepared, file).map(drop)
}

/// A link that a chosen packet crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Hop {
    packet: Packet,
    /// Links before this one.
    number: u16,
    port: u32,
    lane: Vl,
    /// Time from which on it could have been sent: its message was created, or its head has passed the switch.
    ready: Time,
    start: Time,
    end: Time,
    /// The input of its switch, if that sends one packet after the other.
    by: Option<u32>,
    /// Part of the time from `ready` to `start` in which the link carried other packets, and those that took most of it.
    busy: Time,
    behind: Option<(HostId, HostId)>,
    /// Part in which the link was free, and its input sent another packet.
    input: Time,
}

impl Hop {
    fn new(packet: Packet, (port, lane): (u32, Vl), came: &Came, (start, end): (Time, Time)) -> Self {
        let &Came { ready, links, by } = came;
        let (busy, behind, input) = (Time::ZERO, None, Time::ZERO);
        Self { packet, number: links, port, lane, ready, start, end, by, busy, behind, input }
    }
}

/// How a packet came to where it is.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Came {
    /// Time from which on it can be sent.
    ready: Time,
    /// Links that it has crossed.
    links: u16,
    /// The sending port of the last one, if the input behind it sends one packet after the other.
    by: Option<u32>,
}

/// The records of a run.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct PacketTrace {
    #[state(fixed)]
    choices: Choices,
    /// What left by each sending port, and what came by it and was sent on.
    outputs: Vec<History>,
    inputs: Vec<History>,
    /// Packets in switches: by source, number and switch.
    arrived: BTreeMap<(HostId, u32, SwitchId), Came>,
    hops: Vec<Hop>,
    #[state(fixed)]
    limit: usize,
    missed: u64,
    #[state(fixed)]
    router_delay: Time,
    #[state(fixed)]
    stores: bool,
    /// Switches have a crossbar between queues, which inputs share.
    #[state(fixed)]
    has_crossbar: bool,
    /// Simulated time between two looks at what crossed.
    slice: Time,
}

impl PacketTrace {
    /// The records that an experiment asks for; `None` if it asks for none. The choice has been checked.
    pub(crate) fn new(prepared: &Prepared) -> Option<Self> {
        let Prepared { experiment, graph, .. } = prepared;
        if experiment.measure.packets.is_empty() {
            return None;
        }
        let switch = &experiment.switch;
        let ports: Vec<u32> = (0..2 * graph.links.len() as u32).collect();
        Some(Self {
            choices: Choices::new(prepared, "").ok()?,
            outputs: vec![History::default(); ports.len()],
            inputs: vec![History::default(); ports.len()],
            arrived: BTreeMap::new(),
            hops: Vec::new(),
            limit: experiment.measure.packet_hops as usize,
            missed: 0,
            router_delay: switch.router_delay,
            stores: switch.switching == Switching::StoreAndForward,
            has_crossbar: switch.queueing == Queueing::Cioq,
            slice: capture::slice(graph, &ports),
        })
    }

    /// Time of the next look at what crossed links, after one at `now`.
    pub(crate) fn next_look(&self, now: Time) -> Time {
        now.saturating_add(self.slice)
    }

    /// Takes what crossed links, in order of time.
    pub(crate) fn take(&mut self, traced: &[Traced], graph: &Graph) {
        for one in traced {
            self.take_one(one, graph);
        }
    }

    fn take_one(&mut self, traced: &Traced, graph: &Graph) {
        let &Traced { time: start, port, bytes, packet } = traced;
        let link = &graph.links[(port / 2) as usize];
        let (from, to) =
            if port.is_multiple_of(2) { (link.a.node, link.b.node) } else { (link.b.node, link.a.node) };
        let line = ByteLine { from: start, byte_time: link.parameters.rate.byte_time() };
        let end = line.at(bytes + link.parameters.packet_overhead.0 as u32);
        let ends = packet.map(|(packet, _)| (packet.source, packet.destination));
        let occupied = Occupied { start, end, ends };
        if let Some((packet, lane)) = packet {
            let came = match from {
                Node::Host(_) => Came { ready: packet.created.min(start), links: 0, by: None },
                Node::Switch(switch) => self.leave(&packet, switch, start),
            };
            if let Node::Switch(switch) = to {
                let head = if self.stores { line.at(bytes) } else { start };
                let ready = head + link.parameters.latency + self.router_delay;
                let by = self.reads_one_by_one(link.parameters.reads).then_some(port);
                let next = Came { ready, links: came.links + 1, by };
                self.arrived.insert((packet.source, packet.sequence, switch), next);
            }
            if self.choices.contain(&packet) {
                self.record(Hop::new(packet, (port, lane), &came, (start, end)));
            }
            if let Some(input) = came.by {
                self.inputs[input as usize].add(occupied);
            }
        }
        self.outputs[port as usize].add(occupied);
    }

    /// How a packet came to a switch that it leaves at `start`.
    fn leave(&mut self, packet: &Packet, switch: SwitchId, start: Time) -> Came {
        let key = (packet.source, packet.sequence, switch);
        // Copies for several receivers of a multicast group leave by several ports.
        let known = match packet.destination.group() {
            Some(_) => self.arrived.get(&key).copied(),
            None => self.arrived.remove(&key),
        };
        known.unwrap_or(Came { ready: start, links: packet.hops, by: None })
    }

    /// True if an input that may read `reads` packets at a time, 0 for any number, sends one after the other.
    fn reads_one_by_one(&self, reads: u16) -> bool {
        reads == 1 && !self.has_crossbar
    }

    fn record(&mut self, mut hop: Hop) {
        if self.hops.len() == self.limit {
            self.missed += 1;
            return;
        }
        let output = self.outputs[hop.port as usize].during(hop.ready, hop.start);
        let input = hop.by.map(|input| self.inputs[input as usize].during(hop.ready, hop.start));
        let Behind { busy, most } = behind(&output);
        let both: Vec<Occupied> = output.into_iter().chain(input.into_iter().flatten()).collect();
        (hop.busy, hop.behind) = (busy, most);
        hop.input = covered(both).saturating_sub(busy);
        self.hops.push(hop);
    }

    /// A warning if there are more rows than the table may have.
    pub(crate) fn warning(&self) -> Option<String> {
        (self.missed > 0).then(|| {
            format!(
                "the table packet_hops has the first {} links that chosen packets crossed; {} more were not recorded: \
                 choose fewer packets, or raise measure.packet_hops",
                self.limit, self.missed
            )
        })
    }

    /// The table.
    pub(crate) fn table(&self, prepared: &Prepared) -> Table {
        table::table(&self.hops, prepared)
    }
}
