//! The ordering protocols at a host of the simulator: the same state machines that the model checker and the sockets run.
//! A message of the workload is a stream; its packets are requests; their operations are carried out in target memory.

mod endpoint;
mod incoming;
mod pace;
mod report;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::adapter::mtu::Mtus;
use fabricsim_model::{Exchange, ExchangeStep, Label, Observer, Packet, PacketKind};
use fabricsim_protocols::ordering::{Header, Source, SourceOutbox, StreamId, Target, TargetOutbox, Ticket};
use fabricsim_units::{ByteTime, HostId, Time};
use fabricsim_workload::{Arrival, Message};

use incoming::{Incoming, Outcome};
pub use report::{HostTransport, transport_bytes, warnings};
pub(crate) use rules::Rules as OrderingRules;

/// Content of a request that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Request {
    packet: Carried,
    number: u32,
    packets: u32,
    message: u32,
    stream: u16,
    retransmitted: bool,
}

/// Fields of a packet that are needed after its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Carried {
    created: Time,
    injected: Time,
    bytes: u32,
    sequence: u32,
    tag: u32,
    stream: u16,
    hops: u16,
    fecn: bool,
    becn: bool,
    last: bool,
}

/// A message that has not been acknowledged wholly.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct UnfinishedMessage {
    message: Message,
    /// Its number among the messages of this host; numbers wrap around.
    number: u32,
    packets: u32,
    /// Packets handed to the stream.
    offered: u32,
    /// Time at which the next one can be handed to it.
    ready_at: Time,
    /// It counts among those that are being sent.
    sending: bool,
    is_response: bool,
    /// Largest packet of its path.
    mtu: u32,
}

impl UnfinishedMessage {
    /// Size of a packet.
    fn bytes(&self, number: u32) -> u32 {
        let mtu = u64::from(self.mtu);
        (self.message.bytes - u64::from(number) * mtu).min(mtu) as u32
    }
}

/// An operation in target memory.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Execution {
    visible_at: Time,
    ticket: Ticket,
    request: Request,
}

/// Present requests of the state machines.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
struct RequestedActions {
    answers: VecDeque<(HostId, Header)>,
    deliveries: VecDeque<(Ticket, Request)>,
    finished: Vec<StreamId>,
    /// Streams in whose windows places have become free.
    room: Vec<StreamId>,
}

impl SourceOutbox<u32> for RequestedActions {
    fn acknowledged(&mut self, _: StreamId, _: u32, _: u64) {}

    fn room(&mut self, stream: StreamId) {
        self.room.push(stream);
    }

    fn finished(&mut self, stream: StreamId) {
        self.finished.push(stream);
    }
}

impl TargetOutbox<Request> for RequestedActions {
    fn respond(&mut self, to: HostId, header: Header) {
        self.answers.push_back((to, header));
    }

    fn deliver(&mut self, ticket: Ticket, request: Request) {
        self.deliveries.push_back((ticket, request));
    }
}

/// Both sides of the protocols at an adapter.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct OrderingEndpoint {
    #[state(fixed)]
    host: HostId,
    #[state(fixed)]
    rules: Arc<OrderingRules>,
    #[state(fixed)]
    mtus: Mtus,
    /// Time of a packet of the MTU's size on this host's link.
    #[state(fixed)]
    slot: Time,
    /// The payload of a request is its number in its message.
    source: Source<u32>,
    target: Target<Request>,
    /// By stream of the source.
    outgoing: Vec<Option<UnfinishedMessage>>,
    /// Messages opened so far.
    opened: u32,
    /// Messages being sent, without and with responses.
    sending: u16,
    responding: u16,
    asked: RequestedActions,
    /// In order of visibility.
    memory: VecDeque<Execution>,
    incoming: Incoming,
    /// Operations carried out; a fetch-and-add of 1 on a word of target memory returns it.
    executed: u64,
    /// Operations that are visible for the first time and that have not been reported to the application.
    visible: Vec<Arrival>,
    counts: Counts,
}

/// Counters that the state machines do not keep themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
struct Counts {
    /// Packets to this host that were lost.
    lost: u64,
    /// Packets that came after their lifetime, and so count as lost.
    late: u64,
    /// Operations carried out more than once.
    repeated: u64,
}

impl OrderingEndpoint {
    pub(crate) fn new(host: HostId, rules: &Arc<OrderingRules>, byte_time: ByteTime) -> Self {
        let (Ok(source), Ok(target)) = (Source::new(rules.source), Target::new(rules.target)) else {
            unreachable!("the options were checked with the experiment");
        };
        Self {
            host,
            rules: Arc::clone(rules),
            mtus: Mtus::new(rules.mtu),
            slot: byte_time.duration(rules.mtu),
            source,
            target,
            outgoing: Vec::new(),
            opened: 0,
            sending: 0,
            responding: 0,
            asked: RequestedActions::default(),
            memory: VecDeque::new(),
            incoming: Incoming::default(),
            executed: 0,
            visible: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Sets the largest packets by destination.
    pub(crate) fn set_path_mtus(&mut self, paths: &[u32], groups: u32) {
        self.mtus.set_paths(paths, groups);
    }

    /// Responses being sent.
    pub(crate) fn responses(&self) -> usize {
        usize::from(self.responding)
    }

    /// A message no longer counts among those being sent.
    fn stop_sending(&mut self, id: StreamId) {
        if let Some(outgoing) = &mut self.outgoing[usize::from(id.0)]
            && std::mem::take(&mut outgoing.sending)
        {
            self.sending -= 1;
            self.responding -= u16::from(outgoing.is_response);
        }
    }

    /// Offers packets to all streams in whose windows places have become free.
    fn refill_windows(&mut self, now: Time) {
        while let Some(id) = self.asked.room.pop() {
            self.refill(id, now);
        }
    }

    /// Packets in the reorder buffer, and connections.
    fn levels(&self) -> (u32, u32) {
        (u32::from(self.target.reorder_buffer().len()), self.target.open_connections())
    }

    fn report_levels<B: Observer>(&self, before: (u32, u32), now: Time, observer: &mut B) {
        let (packets, connections) = self.levels();
        if (packets, connections) != before {
            observer.reordering(now, self.host, packets, connections);
        }
    }

    /// Forwards what has been delivered to target memory.
    fn carry_out<B: Observer>(&mut self, now: Time, observer: &mut B) {
        while let Some((ticket, request)) = self.asked.deliveries.pop_front() {
            let label = label(&ticket.header, &request);
            let message = (request.packet.stream, request.packet.tag);
            self.tell(now, observer, ExchangeStep::Delivered, ticket.from, &label, message);
            if self.rules.memory_delay == Time::ZERO {
                self.show(now, ticket, request, observer);
            } else {
                let visible_at = now + self.rules.memory_delay;
                self.memory.push_back(Execution { visible_at, ticket, request });
            }
        }
    }

    /// Operations that are visible by now.
    fn look_at_memory<B: Observer>(&mut self, now: Time, observer: &mut B) {
        let before = self.levels();
        while self.memory.front().is_some_and(|first| first.visible_at <= now) {
            let Some(Execution { ticket, request, .. }) = self.memory.pop_front() else { break };
            self.show(now, ticket, request, observer);
            self.carry_out(now, observer);
        }
        self.report_levels(before, now, observer);
    }

    /// An operation is visible.
    fn show<B: Observer>(&mut self, now: Time, ticket: Ticket, request: Request, observer: &mut B) {
        let result = self.executed;
        self.executed += 1;
        let packet = self.packet_of(ticket.from, &request);
        let label = label(&ticket.header, &request);
        let outcome = self.incoming.carried_out(ticket.from, &label);
        if outcome == Outcome::Repeated {
            self.counts.repeated += 1;
        } else {
            observer.delivered(now, &packet);
            if outcome == Outcome::Complete {
                observer.completed(now, &packet);
            }
            let Packet { source, stream, tag, bytes, .. } = packet;
            self.visible.push(Arrival { source, stream, tag, bytes });
        }
        self.target.visible(ticket, result, &mut self.asked);
    }

    fn packet_of(&self, source: HostId, request: &Request) -> Packet {
        let Carried { created, injected, bytes, sequence, tag, stream, hops, fecn, becn, last } =
            request.packet;
        let packet = Packet::new(PacketKind::Data, (source, self.host), bytes, injected);
        let first = request.number == 0;
        Packet { created, sequence, stream, hops, tag, fecn, becn, first, last, ..packet }
    }

    fn tell<B: Observer>(
        &self,
        now: Time,
        observer: &mut B,
        step: ExchangeStep,
        peer: HostId,
        label: &Label,
        message: (u16, u32),
    ) {
        observer.exchanged(now, &Exchange { host: self.host, peer, step, label: *label, message });
    }

    /// Operations that have become visible for the first time, and messages that are sent.
    pub(crate) fn progress(&self) -> u64 {
        self.executed - self.counts.repeated + u64::from(self.opened.wrapping_sub(u32::from(self.sending)))
    }

    /// The messages that are being sent.
    pub(crate) fn sending(&self) -> impl Iterator<Item = &Message> {
        self.outgoing.iter().flatten().filter(|outgoing| outgoing.sending).map(|outgoing| &outgoing.message)
    }

    /// Nothing is left to do: all is sent and acknowledged, and all connections are closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.source.is_idle()
            && self.target.is_idle()
            && self.memory.is_empty()
            && self.asked.answers.is_empty()
    }

    /// True if all messages created before `time` are acknowledged.
    pub(crate) fn has_finished_before(&self, time: Time) -> bool {
        self.outgoing.iter().flatten().all(|outgoing| outgoing.message.created >= time)
    }
}

fn request(packet: &Packet, label: &Label) -> Request {
    let Packet { created, injected, bytes, sequence, tag, stream, hops, fecn, becn, last, .. } = *packet;
    let packet = Carried { created, injected, bytes, sequence, tag, stream, hops, fecn, becn, last };
    let Label { number, packets, message, stream, retransmitted, .. } = *label;
    Request { packet, number, packets, message, stream, retransmitted }
}

fn label(header: &Header, request: &Request) -> Label {
    let Request { number, packets, message, stream, retransmitted, .. } = *request;
    Label { header: header.to_bytes(), number, packets, message, stream, retransmitted }
}
