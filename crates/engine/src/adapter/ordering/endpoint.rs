//! The ordering protocols as the endpoint of an adapter.

use fabricsim_model::{ExchangeStep, ExtensionHeaders, Label, LossCause, Observer, Packet, PacketKind};
use fabricsim_protocols::ordering::{Header, Kind, Mode, StreamId};
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Arrival, Message};

use super::{OrderingEndpoint, UnfinishedMessage, request};
use crate::adapter::{Candidate, Endpoint, Finished, NamedPath, OutgoingPacket};

impl Endpoint for OrderingEndpoint {
    const ACKNOWLEDGES: bool = true;

    fn has_room(&self, is_response: bool) -> bool {
        let open = if is_response { self.responding } else { self.sending - self.responding };
        open < self.rules.limit && self.source.can_open()
    }

    /// Opens a stream for the message.
    fn open(&mut self, message: Message, is_response: bool, now: Time) {
        let mode = self.rules.modes[usize::from(message.stream)];
        let Some(id) = self.source.open(message.destination, mode, self.rules.exactly_once) else {
            unreachable!("a stream is opened only while there is room");
        };
        let place = usize::from(id.0);
        if self.outgoing.len() <= place {
            self.outgoing.resize(place + 1, None);
        }
        let mtu = self.mtus.to(message.destination);
        let packets = message.bytes.div_ceil(u64::from(mtu)) as u32;
        let ready_at = now + self.gap(&message, 0);
        let number = self.opened;
        self.opened = self.opened.wrapping_add(1);
        self.outgoing[place] = Some(UnfinishedMessage {
            message,
            number,
            packets,
            offered: 0,
            ready_at,
            sending: true,
            is_response,
            mtu,
        });
        self.sending += 1;
        self.responding += u16::from(is_response);
        self.refill(id, now);
    }

    fn has_more(&self) -> bool {
        true
    }

    fn answer(&self) -> Option<Candidate> {
        let &(destination, _) = self.asked.answers.front()?;
        Some(Candidate { destination, bytes: self.rules.answer, stream: None, path: NamedPath::NONE })
    }

    fn send_answer(&mut self, now: Time) -> Option<OutgoingPacket> {
        let (to, header) = self.asked.answers.pop_front()?;
        Some(self.outgoing_packet_of(to, header, now))
    }

    /// The first turn is that of a FIN.
    fn turns(&self) -> usize {
        1 + self.source.open_streams()
    }

    fn candidate(&self, turn: usize) -> Option<Candidate> {
        if turn == 0 {
            let destination = self.source.peek_fin()?;
            return Some(Candidate {
                destination,
                bytes: self.rules.answer,
                stream: None,
                path: NamedPath::NONE,
            });
        }
        let id = self.source.in_turn(turn - 1);
        let (destination, number) = self.source.peek(id)?;
        let outgoing = self.outgoing[usize::from(id.0)].as_ref()?;
        let bytes = outgoing.bytes(number);
        let stream = Some(outgoing.message.stream);
        Some(Candidate { destination, bytes, stream, path: NamedPath::NONE })
    }

    fn send(
        &mut self,
        turn: usize,
        now: Time,
        _: impl FnOnce(u16) -> Option<HostId>,
    ) -> Option<OutgoingPacket> {
        if turn == 0 {
            let fin = self.source.send_fin(now)?;
            return Some(self.outgoing_packet_of(fin.to, fin.header, now));
        }
        let id = self.source.in_turn(turn - 1);
        self.send_request(id, now)
    }

    fn service_class(&self) -> u8 {
        self.rules.service_class
    }

    fn on_link<B: Observer>(&self, packet_to_send: &OutgoingPacket, now: Time, observer: &mut B) {
        let packet = &packet_to_send.packet;
        if let Some(label) = &packet_to_send.label {
            let message = (packet.stream, packet.tag);
            self.tell(now, observer, ExchangeStep::Sent, packet.destination, label, message);
        }
    }

    fn lose<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> Option<LossCause> {
        let label = extensions.label.as_ref().filter(|_| is_ours(packet))?;
        let cause = if now.saturating_sub(packet.injected) > self.rules.lifetime {
            Some(LossCause::Lifetime)
        } else {
            self.rules.is_lost(packet).then_some(LossCause::TransportLoss)
        };
        let step = if cause.is_some() { ExchangeStep::Lost } else { ExchangeStep::Received };
        self.tell(now, observer, step, packet.source, label, (packet.stream, packet.tag));
        self.counts.late += u64::from(cause == Some(LossCause::Lifetime));
        self.counts.lost += u64::from(cause == Some(LossCause::TransportLoss));
        cause
    }

    fn arrive<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> bool {
        let Some(label) = extensions.label.as_ref().filter(|_| is_ours(packet)) else { return false };
        let Some(header) = Header::from_bytes(&label.header) else {
            unreachable!("the endpoint labels its packets with headers");
        };
        if matches!(header.kind, Kind::Req | Kind::Fin) {
            let before = self.levels();
            let request = (header.kind == Kind::Req).then(|| request(packet, label));
            self.target.arrive(packet.source, header, request, &mut self.asked);
            self.carry_out(now, observer);
            self.report_levels(before, now, observer);
        } else {
            self.source.arrive(packet.source, header, &mut self.asked);
            self.refill_windows(now);
        }
        true
    }

    /// Timers that have ended by now, and operations that are visible by now.
    fn expire<B: Observer>(&mut self, now: Time, observer: &mut B) {
        if self.wake_at() <= now {
            self.source.expire(now, &mut self.asked);
            self.refill_windows(now);
            self.release(now);
            self.look_at_memory(now, observer);
        }
    }

    fn wake_at(&self) -> Time {
        let visible = self.memory.front().map_or(Time::MAX, |first| first.visible_at);
        self.source.wake_at().min(visible).min(self.next_ready())
    }

    fn next_finished(&mut self) -> Option<Finished> {
        let id = self.asked.finished.pop()?;
        self.stop_sending(id);
        let outgoing = self.outgoing[usize::from(id.0)].take()?;
        Some(Finished { stream: outgoing.message.stream, tag: outgoing.message.tag })
    }

    fn arrivals(&mut self) -> impl Iterator<Item = Arrival> {
        self.visible.drain(..)
    }
}

/// True for packets with a label of the endpoint: notifications of congestion control have none.
fn is_ours(packet: &Packet) -> bool {
    matches!(packet.kind, PacketKind::Data | PacketKind::Transport)
}

impl OrderingEndpoint {
    /// A packet of the protocol that carries no data.
    fn outgoing_packet_of(&self, to: HostId, header: Header, now: Time) -> OutgoingPacket {
        let packet = Packet::new(PacketKind::Transport, (self.host, to), self.rules.answer, now);
        let label = Label { header: header.to_bytes(), ..Label::default() };
        OutgoingPacket { packet, label: Some(label), transport: None, content: None, retransmitted: false }
    }

    /// Sends the next packet of a stream.
    fn send_request(&mut self, id: StreamId, now: Time) -> Option<OutgoingPacket> {
        let (_, number) = self.source.peek(id)?;
        let outgoing = self.outgoing[usize::from(id.0)]?;
        let (message, bytes) = (outgoing.message, outgoing.bytes(number));
        let request = self.source.send(id, now)?;
        let last = number + 1 == outgoing.packets;
        if last && self.rules.modes[usize::from(message.stream)] != Mode::SourceOrdered {
            self.stop_sending(id);
        }
        let Message { destination, created, stream, tag, .. } = message;
        let packet = Packet::new(PacketKind::Data, (self.host, destination), bytes, now);
        let label = Label {
            header: request.header.to_bytes(),
            number,
            packets: outgoing.packets,
            message: outgoing.number,
            stream: id.0,
            retransmitted: request.retransmitted,
        };
        let packet = Packet { created, stream, tag, first: number == 0, last, ..packet };
        Some(OutgoingPacket {
            packet,
            label: Some(label),
            transport: None,
            content: None,
            retransmitted: request.retransmitted,
        })
    }
}
