//! Queue pairs as the endpoint of an adapter.

use fabricsim_model::{ExtensionHeaders, LossCause, Observer, Packet, PacketKind, TransportHeaders};
use fabricsim_protocols::infiniband::{MAX_MESSAGE, Packet as QueuePairPacket, PacketSize};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Record;
use fabricsim_wire::headers::{Lrh, NakCode, Operands, Operation, RnrTimer, Syndrome};
use fabricsim_wire::packet::{ICRC_LEN, VCRC_LEN};
use fabricsim_workload::{Arrival, Message};

use super::connection::{Executed, RequesterReports};
use super::timers::Timer;
use super::{OpenMessage, QueuePairEndpoint};
use crate::adapter::{Candidate, Endpoint, Finished, NamedPath, OutgoingPacket};

/// Size of a packet on the link, from LRH to VCRC.
#[inline]
pub(in crate::adapter) fn size(packet: &QueuePairPacket) -> u32 {
    size_on_link(packet.size())
}

#[inline]
pub(in crate::adapter) fn size_on_link(PacketSize { headers, length, .. }: PacketSize) -> u32 {
    (Lrh::LEN + ICRC_LEN + VCRC_LEN) as u32 + headers + length.next_multiple_of(4)
}

#[inline]
pub(in crate::adapter) fn transport(packet: &QueuePairPacket, retransmitted: bool) -> TransportHeaders {
    TransportHeaders {
        headers: packet.headers,
        payload: packet.length,
        retransmitted,
        group: None,
        path: 0,
        source_path: 0,
    }
}

impl Endpoint for QueuePairEndpoint {
    const ACKNOWLEDGES: bool = true;

    fn has_room(&self, is_response: bool) -> bool {
        let open = if is_response { self.responding } else { self.sending - self.responding };
        open < self.rules.limit
    }

    fn open(&mut self, message: Message, is_response: bool, _now: Time) {
        let slot = self.rules.slot(message.stream, self.opened);
        self.opened = self.opened.wrapping_add(1);
        let parts = message.bytes.div_ceil(u64::from(MAX_MESSAGE)).max(1);
        let open = OpenMessage { message, parts: parts as u32, is_response, has_failed: false };
        let place = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[place as usize] = Some(open);
        self.sending += 1;
        self.responding += usize::from(is_response);
        let number = self.connection(message.destination, slot);
        self.post(number, &message, place);
        // Posting ends a request only in the error state.
        if !self.completions.is_empty() {
            self.carry_out(number, None, None, Time::ZERO);
        }
    }

    /// Messages that have ended without a packet, those of a broken queue pair, are reported when the adapter settles again.
    #[inline]
    fn has_more(&self) -> bool {
        !self.listed.is_empty() || !self.answering.is_empty() || !self.finished.is_empty()
    }

    fn answer(&self) -> Option<Candidate> {
        let &number = self.answering.front()?;
        let connection = &self.connections[number as usize];
        let bytes = size_on_link(connection.responder.peek_size()?);
        Some(Candidate { destination: connection.peer, bytes, stream: None, path: NamedPath::NONE })
    }

    fn send_answer(&mut self, now: Time) -> Option<OutgoingPacket> {
        let number = self.answering.pop_front()?;
        let connection = &mut self.connections[number as usize];
        let (packet, _) = connection.responder.next_packet()?;
        connection.is_answering = connection.responder.answers() > 0;
        if connection.is_answering {
            self.answering.push_back(number);
        }
        let counters = &mut connection.counters;
        match packet.headers.operands {
            Operands::Acknowledge(aeth) => match aeth.syndrome {
                Syndrome::Nak(NakCode::PsnSequenceError) => counters.sequence_naks += 1,
                Syndrome::RnrNak(_) => counters.rnr_naks += 1,
                _ => counters.acknowledgements += 1,
            },
            _ => counters.acknowledgements += 1,
        }
        let ends = (self.host, connection.peer);
        let sent = Packet::new(PacketKind::Transport, ends, size(&packet), now);
        Some(OutgoingPacket {
            packet: sent,
            label: None,
            transport: Some(transport(&packet, false)),
            content: None,
            retransmitted: false,
        })
    }

    fn answer_class(&self) -> u8 {
        let first = self.answering.front();
        first.map_or(0, |&number| self.rules.class(self.connections[number as usize].slot))
    }

    fn turns(&self) -> usize {
        self.listed.len()
    }

    #[inline]
    fn candidate(&self, turn: usize) -> Option<Candidate> {
        let connection = &self.connections[self.listed[turn] as usize];
        let packet = connection.requester.peek_size()?;
        let open = self.messages[packet.message as u32 as usize].as_ref()?;
        let (stream, bytes) = (Some(open.message.stream), size_on_link(packet));
        Some(Candidate { destination: connection.peer, bytes, stream, path: NamedPath::NONE })
    }

    /// Inlined, so that the packet is built where it goes.
    #[inline(always)]
    fn send(
        &mut self,
        turn: usize,
        now: Time,
        _: impl FnOnce(u16) -> Option<HostId>,
    ) -> Option<OutgoingPacket> {
        let &number = self.listed.get(turn)?;
        let connection = &mut self.connections[number as usize];
        let retransmitted = connection.requester.repeats();
        let mut reports = RequesterReports::new(&mut self.completions);
        let packet = connection.requester.next_packet(&mut reports)?;
        let timer = reports.timer;
        connection.counters.packets += 1;
        connection.counters.retransmitted += u64::from(retransmitted);
        let ends = (self.host, connection.peer);
        let has_more = connection.requester.has_more();
        self.set_timer(number, timer, now);
        self.take_turn(turn, has_more);
        let open = self.messages[packet.message as u32 as usize].as_ref()?;
        let Message { created, stream, tag, bytes, .. } = open.message;
        let part = (packet.message >> 32) * u64::from(MAX_MESSAGE);
        let offset = part + u64::from(packet.offset);
        let sent = Packet {
            created,
            stream,
            tag,
            first: offset == 0,
            last: offset + u64::from(packet.length) == bytes,
            ..Packet::new(PacketKind::Data, ends, size(&packet), now)
        };
        Some(OutgoingPacket {
            packet: sent,
            label: None,
            transport: Some(transport(&packet, retransmitted)),
            content: None,
            retransmitted,
        })
    }

    fn service_class(&self) -> u8 {
        0
    }

    #[inline]
    fn reported(&self, outgoing: &OutgoingPacket) -> Packet {
        let bytes = outgoing.transport.map_or(outgoing.packet.bytes, |transport| transport.payload);
        Packet { bytes, ..outgoing.packet }
    }

    fn lose<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        _now: Time,
        _observer: &mut B,
    ) -> Option<LossCause> {
        if !self.rules.is_lost(packet) {
            return None;
        }
        let transport = extensions.transport?;
        let slot = self.rules.slot_of(transport.headers.bth.dest_qp, packet.source)?;
        let number = self.connection(packet.source, slot);
        self.connections[number as usize].counters.lost += 1;
        Some(LossCause::TransportLoss)
    }

    fn arrive<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> bool {
        let Some(TransportHeaders { headers, payload, .. }) = &extensions.transport else { return false };
        let payload = *payload;
        let Some(slot) = self.rules.slot_of(headers.bth.dest_qp, packet.source) else { return false };
        let number = self.connection(packet.source, slot);
        let connection = &mut self.connections[number as usize];
        if headers.bth.opcode.operation().is_some_and(Operation::is_response) {
            let mut reports = RequesterReports::new(&mut self.completions);
            connection.requester.receive(headers, payload, &mut reports);
            let (timer, wait) = (reports.timer, reports.wait.map(RnrTimer::time));
            self.carry_out(number, timer, wait, now);
            return true;
        }
        let counts_receives = self.rules.receives().is_some();
        let Executed { is_placed, is_held, ended } =
            connection.receive(headers, (packet, payload), counts_receives);
        if connection.responder.answers() > 0 && !connection.is_answering {
            connection.is_answering = true;
            self.answering.push_back(number);
        }
        if counts_receives {
            for _ in 0..ended {
                self.timers.set(now + self.rules.receive_delay(), number, Timer::Receive);
            }
        }
        if is_placed {
            let placed = Packet { bytes: payload, ..*packet };
            self.show(&placed, now, observer);
            if !is_held {
                end_message(&placed, now, observer);
            }
        }
        let connection = &self.connections[number as usize];
        // Without an answer or a timer, a request packet changes nothing that this end may send.
        let more = connection.is_answering || counts_receives && ended > 0;
        if !connection.overtakers.executed.is_empty() {
            self.show_overtakers(number, now, observer);
        }
        more
    }

    fn expire<B: Observer>(&mut self, now: Time, _observer: &mut B) {
        while let Some((number, timer)) = self.timers.take(now) {
            let connection = &mut self.connections[number as usize];
            let mut reports = RequesterReports::new(&mut self.completions);
            match timer {
                Timer::Receive => connection.receives += 1,
                Timer::Ready => connection.requester.ready(&mut reports),
                Timer::Retry => {
                    connection.scheduled = Time::MAX;
                    if connection.deadline > now {
                        // It was set anew since.
                        if connection.deadline < Time::MAX {
                            connection.scheduled = connection.deadline;
                            self.timers.set(connection.deadline, number, Timer::Retry);
                        }
                        continue;
                    }
                    connection.deadline = Time::MAX;
                    connection.counters.timeouts += 1;
                    connection.requester.expire(&mut reports);
                }
            }
            let timer = reports.timer;
            self.carry_out(number, timer, None, now);
        }
    }

    fn wake_at(&self) -> Time {
        self.timers.next()
    }

    fn next_finished(&mut self) -> Option<Finished> {
        self.finished.pop()
    }

    fn arrivals(&mut self) -> impl Iterator<Item = Arrival> {
        self.arrivals.drain(..)
    }

    #[inline]
    fn discard_reports(&mut self) {
        self.finished.clear();
        self.arrivals.clear();
    }
}

impl QueuePairEndpoint {
    /// Data of a packet is in memory: `packet` with the bytes of its payload.
    fn show<B: Observer>(&mut self, packet: &Packet, now: Time, observer: &mut B) {
        let Packet { source, stream, tag, bytes, .. } = *packet;
        observer.delivered(now, packet);
        self.progress += 1;
        self.arrivals.push(Arrival { source, stream, tag, bytes });
    }

    /// Packets that were held have been executed.
    #[inline(never)]
    fn show_overtakers<B: Observer>(&mut self, number: u32, now: Time, observer: &mut B) {
        let overtakers = &mut self.connections[number as usize].overtakers;
        let mut executed = std::mem::take(&mut overtakers.executed);
        for (packet, was_placed) in executed.drain(..) {
            if !was_placed {
                self.show(&packet, now, observer);
            }
            end_message(&packet, now, observer);
        }
        self.connections[number as usize].overtakers.executed = executed;
    }
}

/// A packet was executed: if it is the last of its message, that is complete.
fn end_message<B: Observer>(packet: &Packet, now: Time, observer: &mut B) {
    if packet.last {
        observer.completed(now, packet);
    }
}
