//! A host with a transport: what it sends, and when.

use fabricsim_fabric::{Context, Outbox, Slot, send};
use fabricsim_model::{ExchangeStep, Label, Observer, Packet, PacketKind};
use fabricsim_protocols::ordering::{self, Header, Mode, StreamId};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::Arrival;

use crate::congestion::Turn;
use crate::host::Host;
use crate::losses::LossCause;

/// Asks for the transport of a host that has one.
macro_rules! transport {
    ($host:expr) => {{
        let Some(transport) = &mut $host.transport else {
            unreachable!("only hosts with a transport come here")
        };
        transport
    }};
}

impl Host {
    /// [`Host::settle`] with a transport. The link is free.
    #[inline(never)]
    pub(crate) fn settle_transport<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) {
        let now = context.now;
        if let Some(control) = &mut self.control {
            control.end_throttling(now, &mut context.observer);
        }
        self.catch_up(now, &mut context.observer);
        self.open_streams(now);
        context.ports.forget_wants(self.port);
        let mut retry = self.next_stream(now).min(transport!(self).wake_at());
        match self.send_something(context) {
            Ok(()) => retry = context.ports.senders[self.port as usize].busy_until,
            Err(at) => retry = retry.min(at),
        }
        if retry < Time::MAX {
            context.ports.ensure_wake(self.port, retry.max(Time(now.0 + 1)), &mut context.out);
        }
    }

    /// Handles the requests of timers, memory and finished messages.
    fn catch_up<B: Observer>(&mut self, now: Time, observer: &mut B) {
        let transport = transport!(self);
        if transport.wake_at() <= now {
            transport.expire(now);
            transport.look_at_memory(now, observer);
        }
        self.tell_workload(now, observer);
    }

    /// Notifies the workload of arrivals and of acknowledged messages.
    fn tell_workload<B: Observer>(&mut self, now: Time, observer: &mut B) {
        let transport = transport!(self);
        let closed = self.source.is_closed();
        while let Some(finished) = transport.next_finished() {
            if closed {
                self.source.left(now, finished.stream, finished.tag);
            }
        }
        for Packet { source, stream, tag, bytes, .. } in transport.visible.drain(..) {
            if closed {
                self.source.arrived(now, &Arrival { source, stream, tag, bytes });
            }
        }
        if closed {
            self.tell(now, observer);
        }
    }

    /// A packet has reached a host with a transport. True if there may be something to send because of it; the cause if it is
    /// lost, so that the host accepts nothing.
    pub(crate) fn notice_labelled<B: Observer>(
        &mut self,
        packet: &Packet,
        label: Option<&Label>,
        now: Time,
        observer: &mut B,
    ) -> Result<bool, LossCause> {
        let has_label = matches!(packet.kind, PacketKind::Data | PacketKind::Transport);
        if let Some(label) = label.filter(|_| has_label)
            && let Some(cause) = transport!(self).lose(packet, label, now, observer)
        {
            return Err(cause);
        }
        let answer = self.control.as_mut().is_some_and(|control| control.arrived(packet, now, observer));
        if !has_label {
            return Ok(answer);
        }
        let Some(label) = label else { unreachable!("a transport labels its packets") };
        transport!(self).arrive(packet, label, now, observer);
        self.tell_workload(now, observer);
        Ok(true)
    }

    fn open_streams(&mut self, now: Time) {
        let transport = transport!(self);
        while !self.stopped && transport.has_room() && self.source.next(now).is_some_and(|at| at <= now) {
            transport.open(self.source.take(now), false, now);
        }
        while self.source.is_closed()
            && transport.has_room_for_response()
            && let Some(message) = self.source.take_response(now)
        {
            transport.open(message, true, now);
        }
    }

    /// Returns the time at which the next message can be opened, as far as there is room.
    fn next_stream(&self, now: Time) -> Time {
        let Some(transport) = &self.transport else { return Time::MAX };
        let wanted = !self.stopped && transport.has_room();
        let message = if wanted { self.source.next(now).unwrap_or(Time::MAX) } else { Time::MAX };
        if !self.source.is_closed() || !transport.has_room_for_response() {
            return message;
        }
        message.min(self.source.next_response().unwrap_or(Time::MAX))
    }

    /// Sends one packet: an answer of the transport, one of congestion control, a FIN, a request. Or says when there may be
    /// one to send and credits for it.
    fn send_something<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) -> Result<(), Time> {
        let mut retry = match self.try_transport_answer(context) {
            Ok(()) => return Ok(()),
            Err(at) => at,
        };
        let notifies_first = self.control.as_ref().is_some_and(|control| control.turn() == Turn::Answers);
        for notifies in [notifies_first, !notifies_first] {
            let sent = match notifies {
                true if self.control.as_ref().is_none_or(|control| control.is_empty()) => Err(Time::MAX),
                true => self.try_answer(context),
                false => self.try_requests(context),
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(at) => retry = retry.min(at),
            }
        }
        Err(retry)
    }

    fn try_transport_answer<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) -> Result<(), Time> {
        let Some(&(to, header)) = transport!(self).asked.answers.front() else { return Err(Time::MAX) };
        self.send_header(context, to, header)?;
        transport!(self).asked.answers.pop_front();
        Ok(())
    }

    /// Sends a packet of the transport that carries no data.
    fn send_header<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        to: HostId,
        header: Header,
    ) -> Result<(), Time> {
        let rules = &transport!(self).rules;
        let (bytes, base) = (rules.answer, rules.class_base);
        let lane = self.choose_lane(context, to, bytes, base)?;
        let now = context.now;
        let packet = Packet {
            source: self.id,
            destination: to,
            created: now,
            injected: now,
            bytes,
            sequence: self.sent as u32,
            stream: 0,
            hops: 0,
            tag: 0,
            age: 0,
            kind: PacketKind::Transport,
            fecn: false,
            becn: false,
            last: true,
        };
        self.put_on_link(context, packet, Label { header: header.to_bytes(), ..Label::default() }, lane);
        Ok(())
    }

    fn put_on_link<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        packet: Packet,
        label: Label,
        lane: fabricsim_units::Vl,
    ) -> Time {
        self.sent += 1;
        let message = (packet.stream, packet.tag);
        let (now, peer) = (context.now, packet.destination);
        transport!(self).tell(now, &mut context.observer, ExchangeStep::Sent, peer, &label, message);
        let blocks = packet.bytes.div_ceil(context.ports.ramps.unit());
        let index = context.arena.insert_labelled(Slot::new(packet, blocks), label);
        send(context, self.port, index, lane)
    }

    fn try_requests<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
    ) -> Result<(), Time> {
        let now = context.now;
        let mut retry = match transport!(self).source.peek_fin() {
            Some(to) => match self.try_fin(context, to) {
                Ok(()) => return Ok(()),
                Err(at) => at,
            },
            None => Time::MAX,
        };
        let (mut held, mut starved) = (None, false);
        for turn in 0..transport!(self).source.open_streams() {
            let transport = transport!(self);
            let id = transport.source.in_turn(turn);
            let Some((to, number)) = transport.source.peek(id) else { continue };
            let Some(outgoing) = transport.outgoing[usize::from(id.0)] else { continue };
            let stream = outgoing.message.stream;
            let allowed = self.control.as_mut().map_or(now, |control| control.allowed_at(to, stream, now));
            if allowed > now {
                retry = retry.min(allowed);
                held.get_or_insert(to);
                continue;
            }
            match self.try_request(context, id, number) {
                Ok(()) => return Ok(()),
                Err(at) => {
                    retry = retry.min(at);
                    starved = true;
                }
            }
        }
        if let (Some(to), Some(control), false) = (held, &mut self.control, starved) {
            control.begin_throttling(now, to);
        }
        Err(retry)
    }

    fn try_fin<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        to: HostId,
    ) -> Result<(), Time> {
        let rules = &transport!(self).rules;
        let (bytes, base) = (rules.answer, rules.class_base);
        self.choose_lane(context, to, bytes, base)?;
        let Some(ordering::Outgoing { to, header, .. }) = transport!(self).source.send_fin(context.now)
        else {
            return Err(Time::MAX);
        };
        self.send_header(context, to, header)
    }

    /// Sends the packet of a stream that is its next, or says when there may be credits for it.
    fn try_request<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        id: StreamId,
        number: u32,
    ) -> Result<(), Time> {
        let now = context.now;
        let transport = transport!(self);
        let Some(outgoing) = transport.outgoing[usize::from(id.0)] else { return Err(Time::MAX) };
        let (message, bytes) = (outgoing.message, transport.bytes(&outgoing, number));
        let base = self.class_bases[usize::from(message.stream)];
        let lane = self.choose_lane(context, message.destination, bytes, base)?;
        let transport = transport!(self);
        let Some(request) = transport.source.send(id, now) else { return Err(Time::MAX) };
        let last = number + 1 == outgoing.packets;
        if last && transport.rules.modes[usize::from(message.stream)] != Mode::SourceOrdered {
            transport.stop_sending(id);
        }
        let packet = Packet {
            source: self.id,
            destination: message.destination,
            created: message.created,
            injected: now,
            bytes,
            sequence: self.sent as u32,
            stream: message.stream,
            hops: 0,
            tag: message.tag,
            age: 0,
            kind: PacketKind::Data,
            fecn: false,
            becn: false,
            last,
        };
        if !request.again {
            context.observer.injected(now, &packet);
        }
        let label = Label {
            header: request.header.to_bytes(),
            number,
            packets: outgoing.packets,
            message: outgoing.number,
            stream: id.0,
            again: request.again,
        };
        let end = self.put_on_link(context, packet, label, lane);
        if let Some(control) = &mut self.control {
            control.sent(&packet, now, end, &mut context.observer);
        }
        Ok(())
    }
}
