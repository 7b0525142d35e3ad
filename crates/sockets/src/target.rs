//! The receiving process.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_protocols::ordering::{Header, Operation, Target, TargetOutbox, Ticket};
use fabricsim_units::{HostId, Time};
use serde::Serialize;

use crate::clock::{Clock, rest};
use crate::datagram::{self, Datagram, MAX_DATAGRAM, Part, Role};
use crate::error::SocketError;
use crate::port::{self, is_nothing};
use crate::settings::Settings;
use crate::source::{HELLO, PEER};
use crate::token::Token;

/// Counters of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TargetReport {
    /// REQs received, all copies.
    pub received: u64,
    /// Of these, the first of each packet.
    pub first: u64,
    /// Of these, those that came after a later one of their stream.
    pub out_of_order: u64,
    /// Datagrams that were older than the lifetime, and dropped.
    pub too_old: u64,
    /// Datagrams without the session's token or beyond the agreed transfer, and dropped.
    pub ignored: u64,
    /// Delivered bytes beyond the agreed ones, which are not kept: copies, in modes that do not order.
    pub excess_bytes: u64,
    /// Operations carried out.
    pub delivered: u64,
    /// Of these, those that had waited in the reorder buffer.
    pub reordered: u64,
    /// Of these, those that were not the next of their stream.
    pub order_violations: u64,
    /// REQs whose operation had been carried out.
    pub duplicates: u64,
    /// Maximum number of packets in the reorder buffer.
    pub most_reordered: u64,
    /// Maximum number of open connections.
    pub most_connections: u64,
    /// True if no connection, packet or result is left.
    pub idle: bool,
}

/// A stream as it is received. Its memory is that of the agreed transfer, allocated in advance.
#[derive(Debug)]
struct Received {
    bytes: Vec<u8>,
    /// Delivered bytes beyond the agreed ones: a part that was delivered twice.
    excess: u64,
    /// The number that comes next.
    next: u32,
    /// The parts that have come.
    seen: Vec<bool>,
    /// One after the last part that has come.
    beyond: u32,
    /// The word to which each packet's operation adds.
    word: u64,
}

impl Received {
    fn new(settings: &Settings, number: u16) -> Result<Self, SocketError> {
        let range = settings.stream(number);
        let (mut bytes, mut seen) = (Vec::new(), Vec::new());
        let parts = settings.parts(number) as usize;
        let allocated = usize::try_from(range.end - range.start).is_ok_and(|length| {
            bytes.try_reserve_exact(length).is_ok() && seen.try_reserve_exact(parts).is_ok()
        });
        if !allocated {
            return Err(SocketError::Memory(settings.bytes));
        }
        seen.resize(parts, false);
        Ok(Self { bytes, excess: 0, next: 0, seen, beyond: 0, word: 0 })
    }

    /// Records an arrived packet. Returns, for the first of its number, whether it came after a later one.
    fn see(&mut self, index: u32) -> Option<bool> {
        let seen = self.seen.get_mut(index as usize).filter(|seen| !**seen)?;
        *seen = true;
        let is_late = index < self.beyond;
        self.beyond = self.beyond.max(index + 1);
        Some(is_late)
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() <= self.bytes.capacity() {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.excess += bytes.len() as u64;
        }
    }
}

/// Target memory, and the queue of answers.
struct Memory {
    streams: Vec<Received>,
    answers: Vec<Header>,
    done: Vec<(Ticket, u64)>,
    order_violations: u64,
}

impl Memory {
    /// Records an arrived packet. Returns, for the first copy of a part, whether it came after a later part of its stream.
    fn see(&mut self, part: Option<&Part>) -> Option<bool> {
        let part = part?;
        self.streams.get_mut(usize::from(part.stream))?.see(part.index)
    }

    /// Operations are visible as soon as they are delivered. The last one that a synchronization operation counts releases it:
    /// then that is delivered as well.
    fn carry_out(&mut self, target: &mut Target<Part>) {
        let mut done = Vec::new();
        while !self.done.is_empty() {
            std::mem::swap(&mut done, &mut self.done);
            for (ticket, result) in done.drain(..) {
                target.visible(ticket, result, self);
            }
        }
        self.done = done;
    }
}

impl TargetOutbox<Part> for Memory {
    fn respond(&mut self, _: HostId, header: Header) {
        self.answers.push(header);
    }

    fn deliver(&mut self, ticket: Ticket, part: Part) {
        let Some(stream) = self.streams.get_mut(usize::from(part.stream)) else { return };
        // A copy of the last packet, which may arrive twice unless exactly-once delivery is requested.
        let again = part.index + 1 == stream.next;
        if !again {
            self.order_violations += u64::from(part.index != stream.next);
            stream.append(part.bytes());
            stream.next = part.index + 1;
        }
        self.done.push((ticket, Operation::FetchAdd(1).execute(&mut stream.word)));
    }
}

/// A target without its socket: datagrams in, answers out.
struct Receiver<'a> {
    settings: &'a Settings,
    token: &'a Token,
    target: Target<Part>,
    memory: Memory,
    report: TargetReport,
}

impl<'a> Receiver<'a> {
    fn new(settings: &'a Settings, token: &'a Token) -> Result<Self, SocketError> {
        let streams = (0..settings.streams).map(|number| Received::new(settings, number));
        let streams = streams.collect::<Result<_, _>>()?;
        let memory = Memory { streams, answers: Vec::new(), done: Vec::new(), order_violations: 0 };
        let target = Target::new(settings.target_options())?;
        Ok(Self { settings, token, target, memory, report: TargetReport::default() })
    }

    /// Receives a datagram at `now`. The answers are then in `memory.answers`.
    fn take(&mut self, bytes: &[u8], clock: &Clock, now: Time) {
        let Some(datagram) = self.of_session(bytes) else {
            self.report.ignored += 1;
            return;
        };
        if clock.is_over(datagram.sent, now, self.settings.lifetime()) {
            self.report.too_old += 1;
            return;
        }
        if let Some(late) = self.memory.see(datagram.part.as_ref()) {
            self.report.first += 1;
            self.report.out_of_order += u64::from(late);
        }
        self.target.arrive(PEER, datagram.header, datagram.part, &mut self.memory);
        self.memory.carry_out(&mut self.target);
    }

    /// A datagram of this session's source whose part, if it has one, is one of the agreed transfer.
    fn of_session(&self, bytes: &[u8]) -> Option<Datagram> {
        let (role, rest) = datagram::open(bytes, self.token)?;
        let datagram = datagram::read(rest).filter(|_| role == Role::Source)?;
        let is_agreed = |part: &Part| {
            self.settings.part_bytes(part.stream, part.index) == Some(part.bytes().len() as u64)
        };
        datagram.part.as_ref().is_none_or(is_agreed).then_some(datagram)
    }

    /// The bytes of each stream in the order of delivery, and the counters.
    fn finish(self) -> (Vec<Vec<u8>>, TargetReport) {
        let (counters, streams) = (self.target.counters(), self.memory.streams);
        let report = TargetReport {
            received: counters.received.get(),
            delivered: counters.delivered.get(),
            reordered: counters.reordered.get(),
            duplicates: counters.duplicates.get(),
            order_violations: self.memory.order_violations,
            excess_bytes: streams.iter().map(|stream| stream.excess).sum(),
            most_reordered: self.target.reorder_buffer().most(),
            most_connections: self.target.most_connections(),
            idle: self.target.is_idle(),
            ..self.report
        };
        (streams.into_iter().map(|stream| stream.bytes).collect(), report)
    }
}

/// Receives until `stop`; returns the bytes of each stream in the order of delivery.
///
/// # Errors
/// A setting is out of range, memory for the transfer cannot be allocated, or sockets do not work.
pub fn run_target(
    port: u16,
    token: &Token,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(Vec<Vec<u8>>, TargetReport), SocketError> {
    let socket = port::open(0)?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?;
    let mut receiver = Receiver::new(settings, token)?;
    let (clock, mut hello) = (Clock::start(), Time::ZERO);
    let mut buffer = Vec::with_capacity(MAX_DATAGRAM);
    let mut bytes: datagram::Buffer = [0; MAX_DATAGRAM + 1];
    while !stop.load(Ordering::Relaxed) {
        let length = match socket.recv(&mut bytes) {
            Ok(length) => Some(length),
            Err(error) if is_nothing(&error) => None,
            Err(error) => return Err(error.into()),
        };
        let now = clock.now();
        // The proxy learns the target's address from its first announcement.
        if now >= hello && receiver.target.counters().received.get() == 0 {
            let _ = socket.send(&datagram::announcement(Role::Target, token));
            hello = now + HELLO;
        }
        let Some(length) = length else {
            rest();
            continue;
        };
        receiver.take(&bytes[..length], &clock, now);
        for answer in receiver.memory.answers.drain(..) {
            // With the time of the lifetime check, so that both together are within two lifetimes.
            datagram::write(&mut buffer, Role::Target, token, clock.stamp(now), &answer, None);
            let _ = socket.send(&buffer);
        }
    }
    Ok(receiver.finish())
}

#[cfg(test)]
mod tests;
