//! A host: messages of the workload become packets of the protocol.

use std::sync::Arc;

use fabricsim_fabric::{Context, Outbox, Slot, send};
use fabricsim_model::{Lanes, Observer, Packet, PacketKind};
use fabricsim_protocols::{Datagram, Outgoing};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{HostId, Time, Vl};
use fabricsim_workload::{Arrival, Event, Source};

use crate::congestion::{Endpoint, Turn};
use crate::door::Door;
use crate::transport::Transport;

/// A host with its source of messages and its sending protocol. Its sink is on the other side of its link.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) id: HostId,
    pub(crate) port: u32,
    pub(crate) source: Source,
    pub(crate) protocol: Datagram,
    /// Transport that orders and acknowledges, if there is one; then `protocol` is not used.
    pub(crate) transport: Option<Box<Transport>>,
    /// Congestion control, where there is any.
    pub(crate) control: Option<Box<Endpoint>>,
    /// The first lane of the service class of each stream.
    pub(crate) class_bases: Arc<[u8]>,
    /// Packets sent so far.
    pub(crate) sent: u64,
    /// No more messages are opened.
    pub(crate) stopped: bool,
    /// Packets that wait to be accepted, if the host may owe only a limited number of responses.
    pub(crate) door: Option<Box<Door>>,
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
        if self.transport.is_some() {
            return self.settle_transport(context);
        }
        if self.control.is_some() {
            return self.settle_controlled(context);
        }
        self.open_messages(now);
        context.ports.forget_wants(self.port);
        let mut retry = self.next_opening(now);
        for number in self.protocol.candidates() {
            match self.try_send(context, number) {
                Ok(()) => {
                    let more = !self.protocol.is_empty();
                    let busy_until = context.ports.senders[self.port as usize].busy_until;
                    let next = if more { busy_until } else { self.next_opening(now).max(busy_until) };
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

    /// [`Host::settle`] with congestion control: answers to sources of marked packets are sent as well, and flows may be
    /// held back. The link is free.
    #[inline(never)]
    fn settle_controlled<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) {
        let now = context.now;
        if let Some(control) = &mut self.control {
            control.end_throttling(now, &mut context.observer);
        }
        self.open_messages(now);
        context.ports.forget_wants(self.port);
        let order = match self.control.as_ref().map(|control| control.turn()) {
            Some(Turn::Data) => [Turn::Data, Turn::Answers],
            _ => [Turn::Answers, Turn::Data],
        };
        let mut retry = self.next_opening(now);
        for turn in order {
            let sent = match turn {
                Turn::Answers if self.control.as_ref().is_none_or(|control| control.is_empty()) => {
                    Err(Time::MAX)
                }
                Turn::Answers => self.try_answer(context),
                Turn::Data => self.try_data(context),
            };
            match sent {
                Ok(()) => {
                    retry = self.after_sending(context);
                    break;
                }
                Err(at) => retry = retry.min(at),
            }
        }
        if retry < Time::MAX {
            context.ports.ensure_wake(self.port, retry.max(Time(now.0 + 1)), &mut context.out);
        }
    }

    /// Returns the time at which there is something to send after a packet that has just been sent.
    fn after_sending<R, B, O>(&self, context: &Context<R, B, O>) -> Time {
        let busy_until = context.ports.senders[self.port as usize].busy_until;
        let answer = self.control.as_ref().and_then(|control| control.answer_ready()).unwrap_or(Time::MAX);
        let data = if self.protocol.is_empty() { self.next_opening(context.now) } else { busy_until };
        data.min(answer).max(busy_until)
    }

    /// Sends the first packet whose flow is not held back, or says when there may be one.
    fn try_data<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) -> Result<(), Time> {
        let now = context.now;
        let (mut retry, mut held, mut starved) = (Time::MAX, None, false);
        for number in self.protocol.candidates() {
            let (destination, _) = self.protocol.next_packet(number);
            let stream = self.protocol.messages()[number].stream;
            let allowed =
                self.control.as_mut().map_or(now, |control| control.allowed_at(destination, stream, now));
            if allowed > now {
                retry = retry.min(allowed);
                held.get_or_insert(destination);
                continue;
            }
            match self.try_send(context, number) {
                Ok(()) => return Ok(()),
                Err(at) => {
                    retry = retry.min(at);
                    starved = true;
                }
            }
        }
        if let (Some(destination), Some(control), false) = (held, &mut self.control, starved) {
            control.begin_throttling(now, destination);
        }
        Err(retry)
    }

    /// Sends the first answer, or says when there may be one to send and credits for it.
    #[inline(never)]
    pub(crate) fn try_answer<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) -> Result<(), Time> {
        let now = context.now;
        let Some(control) = &self.control else { return Err(Time::MAX) };
        let ready = control.answer_ready().unwrap_or(Time::MAX);
        if ready > now {
            return Err(ready);
        }
        let Some(packet) = control.answer(now, self.sent as u32) else { return Err(Time::MAX) };
        let base = control.class_base();
        let lane = self.choose_lane(context, packet.destination, packet.bytes, base)?;
        if let Some(control) = &mut self.control {
            control.answered();
        }
        self.sent += 1;
        let blocks = packet.bytes.div_ceil(context.ports.ramps.unit());
        let index = context.arena.insert(Slot::new(packet, blocks));
        send(context, self.port, index, lane);
        Ok(())
    }

    /// A packet has arrived here: takes note of its marks, and of what it means to requests and jobs. True if there is
    /// something to send because of it.
    pub(crate) fn notice<B: Observer>(&mut self, packet: &Packet, now: Time, observer: &mut B) -> bool {
        let answer = self.control.as_mut().is_some_and(|control| control.arrived(packet, now, observer));
        if packet.kind != PacketKind::Data || !self.source.is_closed() {
            return answer;
        }
        let Packet { source, stream, tag, bytes, .. } = *packet;
        let message = self.source.arrived(now, &Arrival { source, stream, tag, bytes });
        self.tell(now, observer);
        answer || message
    }

    /// Responses that are made and not wholly sent.
    pub(crate) fn owed(&self) -> usize {
        let transport = self.transport.as_ref().map_or(0, |transport| transport.responses());
        self.source.responses() + self.protocol.responses() + transport
    }

    /// True if the host may take this packet now, provided that it is the first on its lane.
    pub(crate) fn takes(&self, packet: &Packet) -> bool {
        let open = self.door.as_ref().is_none_or(|door| door.is_open(self.owed()));
        open || packet.kind != PacketKind::Data || !self.source.is_request(packet.stream)
    }

    /// Reports answered requests and completed iterations to the observer.
    pub(crate) fn tell<B: Observer>(&mut self, now: Time, observer: &mut B) {
        for event in self.source.events() {
            match event {
                Event::Answered { stream, created, .. } => observer.answered(now, stream, created),
                Event::Iteration { job, iteration, start, end, bytes } => {
                    observer.iterated(job, iteration, start, end, bytes);
                }
            }
        }
    }

    /// The last byte of a message leaves at `at`.
    #[inline(never)]
    fn left<B: Observer>(&mut self, now: Time, at: Time, packet: &Packet, observer: &mut B) {
        self.source.left(at, packet.stream, packet.tag);
        self.tell(now, observer);
    }

    /// The lane on which a packet can go now, in the service class whose lanes begin at `base`; or when there may be
    /// credits for it.
    #[inline(always)]
    pub(crate) fn choose_lane<R: RoutingFunction, B, O: Outbox>(
        &self,
        context: &mut Context<R, B, O>,
        destination: HostId,
        bytes: u32,
        base: u8,
    ) -> Result<Vl, Time> {
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        let lanes = context.routing.injection_lanes(self.id, destination);
        let lanes = Lanes::new(lanes.first.0 + base, lanes.count);
        let flow = self.id.0.wrapping_mul(31).wrapping_add(destination.0);
        let chosen = context.ports.choose_lane(self.port, lanes, blocks, context.now, flow);
        if chosen.is_err() {
            context.ports.senders[self.port as usize].stall(context.now, lanes.first);
        }
        chosen
    }

    #[inline(always)]
    fn open_messages(&mut self, now: Time) {
        while !self.stopped && self.protocol.has_room() && self.source.next(now).is_some_and(|at| at <= now) {
            let message = self.source.take(now);
            self.protocol.open(Outgoing {
                created: message.created,
                destination: message.destination,
                left: message.bytes,
                stream: message.stream,
                tag: message.tag,
                is_response: false,
            });
        }
        if self.source.is_closed() {
            self.open_responses(now);
        }
    }

    #[inline(never)]
    fn open_responses(&mut self, now: Time) {
        while self.protocol.has_room_for_response()
            && let Some(message) = self.source.take_response(now)
        {
            self.protocol.open(Outgoing {
                created: message.created,
                destination: message.destination,
                left: message.bytes,
                stream: message.stream,
                tag: message.tag,
                is_response: true,
            });
        }
    }

    /// Returns the time at which the next message can be opened, as far as there is room.
    #[inline(always)]
    fn next_opening(&self, now: Time) -> Time {
        let wanted = !self.stopped && self.protocol.has_room();
        let message = if wanted { self.source.next(now).unwrap_or(Time::MAX) } else { Time::MAX };
        if !self.source.is_closed() || !self.protocol.has_room_for_response() {
            return message;
        }
        message.min(self.source.next_response().unwrap_or(Time::MAX))
    }

    /// Longest time for which congestion control still holds back a message that is being sent.
    pub(crate) fn held_back_for(&self, now: Time) -> Time {
        let (Some(control), Some(transport)) = (&self.control, &self.transport) else { return Time::ZERO };
        let mut control = control.clone();
        let allowed = transport.sending().map(|m| control.allowed_at(m.destination, m.stream, now));
        allowed.max().unwrap_or_default().saturating_sub(now)
    }

    /// True if it has sent all that it opened, and answered every request.
    pub(crate) fn is_drained(&self) -> bool {
        self.protocol.is_empty()
            && self.source.next_response().is_none()
            && self.control.as_ref().is_none_or(|control| control.is_empty())
            && self.transport.as_ref().is_none_or(|transport| transport.is_idle())
    }

    /// Sends the next packet of a message, or says when there may be credits for it.
    #[inline(always)]
    fn try_send<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        number: usize,
    ) -> Result<(), Time> {
        let (destination, bytes) = self.protocol.next_packet(number);
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        let base = self.class_bases[usize::from(self.protocol.messages()[number].stream)];
        let lane = self.choose_lane(context, destination, bytes, base)?;
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
            tag: message.tag,
            age: 0,
            kind: PacketKind::Data,
            fecn: false,
            becn: false,
            last: message.left <= u64::from(bytes),
        };
        self.sent += 1;
        context.observer.injected(context.now, &packet);
        let index = context.arena.insert(Slot::new(packet, blocks));
        let end = send(context, self.port, index, lane);
        if let Some(control) = &mut self.control {
            control.sent(&packet, context.now, end, &mut context.observer);
        }
        if packet.last && self.source.is_closed() {
            self.left(context.now, end, &packet, &mut context.observer);
        }
        Ok(())
    }
}
