//! A host: messages of the workload become packets of the protocol, packets that arrive are taken by the sink.

use fabricsim_fabric::{Context, Outbox, SinkState, Slot, leaving, send};
use fabricsim_model::{Observer, Packet, PacketKind};
use fabricsim_protocols::{Datagram, Outgoing};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{ByteTime, HostId, Time};
use fabricsim_workload::Source;

/// Marks a packet whose buffer space at a sink has been returned, though its last byte has not been taken yet.
pub(crate) const SPACE_RETURNED: Time = Time::MAX;

/// A host with its source of messages, its sending protocol and its sink.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) id: HostId,
    pub(crate) port: u32,
    pub(crate) source: Source,
    pub(crate) protocol: Datagram,
    pub(crate) sink: Option<SinkState>,
    /// Packets sent so far.
    pub(crate) sent: u64,
    /// No more messages are opened.
    pub(crate) stopped: bool,
}

impl Host {
    /// Sends a packet if the link is free and there is one; asks to be woken when there may be more.
    pub(crate) fn settle<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) {
        let now = context.now;
        let busy_until = context.ports.senders[self.port as usize].busy_until;
        if busy_until > now {
            context.ports.ensure_wake(self.port, busy_until, &mut context.out);
            return;
        }
        self.open_messages(now);
        context.ports.forget_wants(self.port);
        let mut retry = if self.protocol.has_room() { self.next_message(now) } else { Time::MAX };
        for number in self.protocol.candidates() {
            match self.try_send(context, number) {
                Ok(()) => {
                    let more = !self.protocol.is_empty();
                    let busy_until = context.ports.senders[self.port as usize].busy_until;
                    let next = if more { busy_until } else { self.next_message(now).max(busy_until) };
                    retry = next;
                    break;
                }
                Err(at) => retry = retry.min(at),
            }
        }
        if retry < Time::MAX {
            context.ports.ensure_wake(self.port, retry.max(Time(now.0 + 1)), &mut context.out);
        }
    }

    fn open_messages(&mut self, now: Time) {
        while !self.stopped && self.protocol.has_room() && self.source.next(now).is_some_and(|at| at <= now) {
            let message = self.source.take(now);
            self.protocol.open(Outgoing {
                created: message.created,
                destination: message.destination,
                left: message.bytes,
                stream: message.stream,
            });
        }
    }

    fn next_message(&self, now: Time) -> Time {
        if self.stopped { Time::MAX } else { self.source.next(now).unwrap_or(Time::MAX) }
    }

    /// Sends the next packet of a message, or says when there may be credits for it.
    fn try_send<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        number: usize,
    ) -> Result<(), Time> {
        let (destination, bytes) = self.protocol.next_packet(number);
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        let lanes = context.routing.injection_lanes(self.id, destination);
        let flow = self.id.0.wrapping_mul(31).wrapping_add(destination.0);
        let lane = match context.ports.choose_lane(self.port, lanes, blocks, context.now, flow) {
            Ok(lane) => lane,
            Err(at) => {
                let sender = &mut context.ports.senders[self.port as usize];
                if sender.stalled_since == Time::MAX {
                    sender.stalled_since = context.now;
                    sender.stalled_lane = lanes.first;
                }
                return Err(at);
            }
        };
        let source = &mut self.source;
        let message = self
            .protocol
            .sent(number, |stream| source.draws_per_packet(stream).then(|| source.destination(stream)));
        let packet = Packet {
            source: self.id,
            destination,
            created: message.created,
            injected: context.now,
            bytes,
            sequence: self.sent as u32,
            stream: message.stream,
            hops: 0,
            kind: PacketKind::Data,
            fecn: false,
            becn: false,
            last: false,
        };
        self.sent += 1;
        context.observer.injected(context.now, &packet);
        let index = context.arena.insert(Slot::new(packet, blocks));
        send(context, self.port, index, lane);
        Ok(())
    }

    /// The head of a packet arrives at a limited sink.
    pub(crate) fn arrive<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        packet: u32,
    ) {
        let receiver = &context.ports.receivers[self.port as usize];
        let slot = &context.arena[packet];
        let (bytes, blocks, lane) = (slot.packet.bytes, slot.blocks, slot.lane);
        let Some(sink) = &mut self.sink else {
            unreachable!("only hosts with a limited sink are told of heads");
        };
        let (start, end) = sink.take(context.now, bytes, receiver.byte_time);
        let base = start + receiver.credit_latency;
        let ramp =
            leaving(context.rules.credit_return, base, ByteTime::spread(end - start, bytes), bytes, blocks);
        if let Some(sender) = receiver.upstream
            && let Some(at) = context.ports.credit(sender, lane, ramp, context.now)
        {
            context.ports.ensure_wake(sender, at, &mut context.out);
        }
        context.arena[packet].ready = SPACE_RETURNED;
        context.out.deliver(end, self.port, packet);
    }
}
