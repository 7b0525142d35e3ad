//! Packets that leave the adapter: whose turn it is, and when their data has been fetched from memory.

use fabricsim_protocols::infiniband::{
    MigrationState, Packet, PacketSize, QueuePairState, Remote, Responder, Status,
};
use fabricsim_units::Time;
use fabricsim_wire::headers::{NakCode, Operands, Syndrome};

use super::complete::RequesterReports;
use super::{AsyncEvent, Device, Side, Timer, reliable};
use crate::access::AccessFlags;
use crate::completion::WcOpcode;
use crate::memory::Memory;
use crate::path::AddressVector;
use crate::queue_pair::{Posted, Stage};
use crate::service::{Receiving, Sending};

/// A packet that is put on the link.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Where it goes.
    pub address: AddressVector,
    /// Headers, and length of the payload.
    pub packet: Packet,
    /// It was sent before.
    pub is_retransmitted: bool,
    /// Its payload; `None` if its memory holds no bytes.
    pub content: Option<Box<[u8]>>,
    /// `wr_id` of its work request; `None` of a response, and of a datagram of communication management.
    pub wr_id: Option<u64>,
}

/// Longest time to the next look at a retransmission timer. A fabric whose only event is a timer of seconds would otherwise arrange its calendar for that.
const LONGEST_STEP: Time = Time::ms(1);

impl Device {
    /// Number of packets that take turns on the link: the next request of a queue pair, or the next data of a READ.
    #[inline]
    pub fn turns(&self) -> usize {
        self.listed.len()
    }

    /// The packet of a turn, from 0 to [`Device::turns`] - 1: the first turn's is due first.
    #[inline]
    pub fn candidate(&self, turn: usize) -> Option<(AddressVector, PacketSize)> {
        let &(index, side) = self.listed.get(turn)?;
        let qp = self.qps[index as usize].as_ref()?;
        let packet = match side {
            Side::Request => qp.requester.as_ref()?.peek_size()?,
            Side::Answer => return Some((qp.attributes.address?, reliable(qp)?.peek_size()?)),
        };
        Some((qp.address_of(packet.message)?, packet))
    }

    /// Sends the packet of a turn.
    pub fn send(&mut self, turn: usize, now: Time) -> Option<Outgoing> {
        self.changes += 1;
        let listed = if turn == 0 { self.listed.pop_front() } else { self.listed.remove(turn) };
        match listed? {
            (index, Side::Request) => self.send_request(index, now),
            (index, Side::Answer) => self.send_response(index, now),
        }
    }

    fn send_request(&mut self, index: u32, now: Time) -> Option<Outgoing> {
        let qp = self.qps[index as usize].as_mut()?;
        qp.requests = Stage::Idle;
        let requester = qp.requester.as_mut()?;
        let next = requester.peek_size()?;
        let is_gone = |posted: &Posted| {
            posted.inline.is_none() && !self.memory.holds(&posted.list, next.offset, next.length)
        };
        if qp.sends.get(next.message.checked_sub(qp.first_send)? as usize).is_some_and(is_gone) {
            qp.failed = Some((next.message, Status::LocalProtection));
            self.break_off(index, now);
            return None;
        }
        let is_retransmitted = requester.repeats();
        let mut reports =
            RequesterReports::new(&mut self.memory, &qp.sends, qp.first_send, &mut self.completions);
        let mut packet = requester.next_packet(&mut reports)?;
        let timer = reports.timer;
        packet.headers.bth.migrated = qp.migration.bit();
        qp.counters.packets += 1;
        qp.counters.retransmitted += u64::from(is_retransmitted);
        let address = qp.address_of(packet.message)?;
        let number = qp.number;
        let posted = qp.send(packet.message);
        let wr_id = posted.map(|posted| posted.wr_id);
        let with_data = posted.filter(|_| packet.length > 0);
        let content =
            with_data.and_then(|posted| content(posted, &self.memory, packet.offset, packet.length));
        if let Some(group) = address.host.group() {
            let data = (packet.length, content.as_deref());
            self.loop_back((number, group), &packet.headers, data, now);
        }
        self.set_timer(index, timer, now);
        // Of unreliable services: they end when their last packet is sent.
        self.end_sends(index, now);
        self.begin_local(index, now);
        self.schedule_request(index, now);
        Some(Outgoing { address, packet, is_retransmitted, content, wr_id })
    }

    /// The next answer without data, an acknowledgement or the result of an atomic operation; without one, the next datagram of communication management.
    /// It takes no turn.
    #[inline]
    pub fn answer(&self) -> Option<(AddressVector, PacketSize)> {
        if self.answering.is_empty() && self.agent.is_none() {
            return None;
        }
        self.some_answer()
    }

    fn some_answer(&self) -> Option<(AddressVector, PacketSize)> {
        let Some(&index) = self.answering.front() else {
            return self.management_packet().map(|(address, packet)| (address, packet.size()));
        };
        let qp = self.qps[index as usize].as_ref()?;
        Some((qp.attributes.address?, reliable(qp)?.peek_size()?))
    }

    /// Sends the packet of [`Device::answer`], or one of the same size.
    pub fn send_answer(&mut self, now: Time) -> Option<Outgoing> {
        self.changes += 1;
        let Some(index) = self.answering.pop_front() else { return self.send_management() };
        self.send_response(index, now)
    }

    fn send_response(&mut self, index: u32, now: Time) -> Option<Outgoing> {
        let qp = self.qps[index as usize].as_mut()?;
        qp.answers = Stage::Idle;
        let address = qp.attributes.address?;
        let responder = qp.responder.as_mut().and_then(Receiving::reliable_mut)?;
        let may_be_read = |(place, length): (Remote, u32)| {
            let range = (place.va, u64::from(length));
            let of = (qp.pd, qp.number);
            self.memory.allows_remote(of, place.r_key.0, range, AccessFlags::REMOTE_READ)
        };
        let data = responder.peek_data().filter(|&(_, length)| length > 0);
        let is_refused = data.is_some_and(|data| !may_be_read(data));
        if is_refused {
            responder.refuse_data();
        }
        let due = qp.answer_times.iter().take_while(|&&at| at <= now).count();
        let (mut packet, place) = responder.next_packet_of(due)?;
        packet.headers.bth.migrated = qp.migration.bit();
        while qp.answer_times.len() > responder.answers() {
            qp.answer_times.pop_front();
        }
        qp.counters.responses += 1;
        if let Operands::Acknowledge(aeth) = packet.headers.operands {
            match aeth.syndrome {
                Syndrome::Nak(NakCode::PsnSequenceError) => qp.counters.sequence_naks += 1,
                Syndrome::RnrNak(_) => qp.counters.rnr_naks += 1,
                _ => {}
            }
        }
        let bytes =
            if packet.length == 0 { None } else { self.memory.bytes(place.r_key.0, place.va, packet.length) };
        let content = bytes.map(Into::into);
        if is_refused {
            self.events.push_back(AsyncEvent::QueuePairAccess(qp.number));
            self.break_off(index, now);
        } else {
            self.execute_deferred(index, now);
            self.schedule_answer(index, now);
        }
        Some(Outgoing { address, packet, is_retransmitted: false, content, wr_id: None })
    }

    /// Ends of timers, and of fetches, up to `now`.
    pub fn expire(&mut self, now: Time) {
        self.changes += 1;
        while let Some((index, timer)) = self.timers.take(now) {
            if timer == Timer::Agent {
                self.run_agent(now);
                continue;
            }
            let Some(qp) = &mut self.qps[index as usize] else { continue };
            match timer {
                Timer::Request => {
                    if qp.requests == Stage::Fetched {
                        self.list_request(index);
                    }
                }
                Timer::Answer => {
                    if qp.answers == Stage::Fetched {
                        self.list_answer(index);
                    }
                }
                Timer::Agent => {}
                Timer::Local => self.execute_local(index, now),
                Timer::Overflow => self.end_overflowed(index, now),
                Timer::Ready | Timer::Retry => self.expire_connection(index, timer, now),
            }
        }
    }

    fn expire_connection(&mut self, index: u32, timer: Timer, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        if timer == Timer::Retry {
            qp.scheduled = Time::MAX;
            if qp.deadline > now {
                // It was set anew since, or is far.
                if qp.deadline < Time::MAX {
                    qp.scheduled = qp.deadline.min(now + LONGEST_STEP);
                    self.timers.set(qp.scheduled, (index, Timer::Retry));
                }
                return;
            }
            qp.deadline = Time::MAX;
            qp.counters.timeouts += 1;
        }
        let Some(requester) = qp.requester.as_mut().and_then(Sending::reliable) else { return };
        let mut reports =
            RequesterReports::new(&mut self.memory, &qp.sends, qp.first_send, &mut self.completions);
        reports.may_migrate = qp.migration.state() == MigrationState::Armed;
        if timer == Timer::Retry {
            requester.expire(&mut reports);
        } else {
            requester.ready(&mut reports);
        }
        let (timer, has_failed) = (reports.timer, reports.path_has_failed);
        if has_failed {
            self.fail_path(index);
        }
        self.carry_out(index, timer, None, now);
    }

    /// The earliest time at which [`Device::expire`] has something to do.
    #[inline]
    pub fn wake_at(&self) -> Time {
        self.timers.next()
    }

    pub(super) fn set_timer(&mut self, index: u32, timer: Option<bool>, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let (Some(runs), Some(time)) = (timer, qp.timeout()) else { return };
        qp.deadline = if runs { now + time } else { Time::MAX };
        if qp.deadline < qp.scheduled {
            qp.scheduled = qp.deadline.min(now + LONGEST_STEP);
            self.timers.set(qp.scheduled, (index, Timer::Retry));
        }
    }

    /// Carries out the reports of a requester.
    pub(super) fn carry_out(&mut self, index: u32, timer: Option<bool>, wait: Option<Time>, now: Time) {
        self.set_timer(index, timer, now);
        if let Some(time) = wait {
            self.timers.set(now + time, (index, Timer::Ready));
        }
        self.end_sends(index, now);
        let Some(qp) = &self.qps[index as usize] else { return };
        if qp.requester.as_ref().is_some_and(Sending::is_broken) {
            self.break_off(index, now);
            return;
        }
        self.begin_local(index, now);
        self.schedule_request(index, now);
    }

    fn list_request(&mut self, index: u32) {
        if let Some(qp) = &mut self.qps[index as usize] {
            qp.requests = Stage::Listed;
            self.listed.push_back((index, Side::Request));
        }
    }

    fn list_answer(&mut self, index: u32) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        qp.answers = Stage::Listed;
        let data = reliable(qp).and_then(Responder::peek_data);
        if data.is_some_and(|(_, length)| length > 0) {
            self.listed.push_back((index, Side::Answer));
        } else {
            self.answering.push_back(index);
        }
    }

    /// Begins to fetch the data of the next request of a queue pair, if there is one that may be sent.
    pub(super) fn schedule_request(&mut self, index: u32, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(requester) = &qp.requester else { return };
        let next = requester.peek_size();
        if qp.requests == Stage::Listed && next.is_none() {
            // It was acknowledged while it waited to be sent anew.
            qp.requests = Stage::Idle;
            self.listed.retain(|&other| other != (index, Side::Request));
        }
        if qp.requests != Stage::Idle || qp.state == QueuePairState::Error {
            return;
        }
        let is_drained = qp.state == QueuePairState::SendQueueDrain;
        // In SQD no request begins.
        let begins = |packet: &PacketSize| packet.offset == 0 && !requester.repeats();
        let Some(packet) = next.filter(|packet| !(is_drained && begins(packet))) else {
            qp.was_blocked = requester.has_more();
            if qp.tells_drained && !requester.awaits_responses() {
                qp.tells_drained = false;
                self.events.push_back(AsyncEvent::SendQueueDrained(qp.number));
            }
            return;
        };
        let is_late = std::mem::take(&mut qp.was_blocked) || requester.repeats();
        let Some(posted) = qp.send(packet.message) else { return };
        let is_read = !matches!(posted.opcode, WcOpcode::Send | WcOpcode::RdmaWrite);
        let may_be_used = match packet.offset {
            0 => self.memory.allows_list(qp.pd, &posted.list, is_read),
            // A region may be deregistered while the packets of a message are sent.
            offset => self.memory.holds(&posted.list, offset, packet.length),
        };
        if posted.inline.is_none() && !may_be_used {
            qp.failed = Some((packet.message, Status::LocalProtection));
            self.break_off(index, now);
            return;
        }
        let mut since = if is_late { posted.since.max(now) } else { posted.since };
        let message = if packet.offset == 0 { self.costs.message } else { Time::ZERO };
        let (bus, latency) = if posted.inline.is_some() || packet.length == 0 {
            (Time::ZERO, Time::ZERO)
        } else {
            since = self.translations.known(since, posted.pieces(packet.offset, packet.length));
            let va = posted.list.first().map_or(0, |sge| sge.addr).wrapping_add(u64::from(packet.offset));
            (self.costs.fetch(va, packet.length), self.costs.payload_fetch)
        };
        let work = self.costs.packet.max(message).max(bus);
        let ready = self.fetch(since, work) + latency;
        if ready <= now {
            self.list_request(index);
        } else if let Some(qp) = &mut self.qps[index as usize] {
            qp.requests = Stage::Fetched;
            self.timers.set_next(ready, (index, Timer::Request));
        }
    }

    /// Begins to fetch the data of the next answer of a queue pair, if there is one.
    pub(super) fn schedule_answer(&mut self, index: u32, now: Time) {
        let Some(qp) = &self.qps[index as usize] else { return };
        if qp.answers != Stage::Idle {
            return;
        }
        let Some(responder) = reliable(qp).filter(|responder| responder.answers() > 0) else { return };
        let since = qp.answer_times.front().copied().unwrap_or(now);
        let ready = match responder.peek_data() {
            Some((place, length)) if length > 0 => {
                let work = self.costs.packet.max(self.costs.fetch(0, length));
                let since = self.translations.known(since, [(place.va, length)].into_iter());
                self.fetch(since, work) + self.costs.payload_fetch
            }
            _ => since,
        };
        if ready <= now {
            self.list_answer(index);
        } else if let Some(qp) = &mut self.qps[index as usize] {
            qp.answers = Stage::Fetched;
            self.timers.set_next(ready, (index, Timer::Answer));
        }
    }

    /// Uses the bus for `work` from `since` on, or as soon as it is free. Returns the end.
    pub(super) fn fetch(&mut self, since: Time, work: Time) -> Time {
        self.fetch_free = since.max(self.fetch_free) + work;
        self.fetch_free
    }
}

/// Bytes of a part of a work request's data, as they are now.
fn content(posted: &Posted, memory: &Memory, offset: u32, length: u32) -> Option<Box<[u8]>> {
    let (start, end) = (offset as usize, (offset + length) as usize);
    match &posted.inline {
        Some(data) => data.get(start..end).map(Into::into),
        None => memory.gather(&posted.list, offset, length),
    }
}
