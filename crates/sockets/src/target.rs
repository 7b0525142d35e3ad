//! The receiving process.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_protocols::ordering::{Header, Operation, Target, TargetOutbox, Ticket};
use fabricsim_units::{HostId, Time};
use serde::Serialize;

use crate::clock::{Clock, rest};
use crate::datagram::{self, Datagram, MAX_DATAGRAM, Part, Role};
use crate::port::{self, is_nothing};
use crate::settings::{Settings, SocketError};
use crate::source::{HELLO, PEER};

/// What the target has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TargetReport {
    /// REQs received, all copies.
    pub received: u64,
    /// Of these, the first of each packet.
    pub first: u64,
    /// Of these, those that came after a later one of their stream.
    pub out_of_order: u64,
    /// Datagrams that were older than the lifetime, and dropped for that.
    pub too_old: u64,
    /// Operations carried out.
    pub delivered: u64,
    /// Of these, those that had waited in the reorder buffer.
    pub reordered: u64,
    /// Of these, those that were not the next of their stream.
    pub order_violations: u64,
    /// REQs whose operation had been carried out.
    pub duplicates: u64,
    /// The most packets in the reorder buffer at a time.
    pub most_reordered: u64,
    /// The most connections at a time.
    pub most_connections: u64,
    /// Does it hold nothing any more?
    pub idle: bool,
}

/// A stream as it is received.
#[derive(Debug, Default)]
struct Received {
    bytes: Vec<u8>,
    /// The number that comes next.
    next: u32,
    /// Which numbers have come.
    seen: Vec<bool>,
    /// The word to which each packet's operation adds.
    word: u64,
}

/// A source can not be further ahead of what has been delivered: half of the sequence numbers.
const AHEAD: u32 = 1 << 15;

impl Received {
    /// Notes that a packet has come. The first of its number: whether it came after a later one.
    fn see(&mut self, index: u32) -> Option<bool> {
        let place = index as usize;
        if self.seen.get(place) == Some(&true) || index > self.next + AHEAD {
            return None;
        }
        let is_late = place < self.seen.len();
        if !is_late {
            self.seen.resize(place + 1, false);
        }
        self.seen[place] = true;
        Some(is_late)
    }
}

/// Target memory, and the way back.
struct Memory {
    streams: Vec<Received>,
    answers: Vec<Header>,
    done: Vec<(Ticket, u64)>,
    order_violations: u64,
}

impl Memory {
    /// Notes that a packet has come. The first copy of a part: whether it came after a later part of its stream.
    fn see(&mut self, part: Option<&Part>) -> Option<bool> {
        let part = part?;
        self.streams.get_mut(usize::from(part.stream))?.see(part.index)
    }

    /// Operations are visible as soon as they are delivered.
    fn carry_out(&mut self, target: &mut Target<Part>) {
        let mut done = std::mem::take(&mut self.done);
        for (ticket, result) in done.drain(..) {
            target.visible(ticket, result, self);
        }
        debug_assert!(self.done.is_empty());
        self.done = done;
    }
}

impl TargetOutbox<Part> for Memory {
    fn respond(&mut self, _: HostId, header: Header) {
        self.answers.push(header);
    }

    fn deliver(&mut self, ticket: Ticket, part: Part) {
        let Some(stream) = self.streams.get_mut(usize::from(part.stream)) else { return };
        // A copy of the last packet, which may come twice where exactly once is not asked for.
        let again = part.index + 1 == stream.next;
        if !again {
            self.order_violations += u64::from(part.index != stream.next);
            stream.bytes.extend_from_slice(part.bytes());
            stream.next = part.index + 1;
        }
        self.done.push((ticket, Operation::FetchAdd(1).execute(&mut stream.word)));
    }
}

/// Receives until `stop`; returns the bytes of each stream in the order of delivery.
///
/// # Errors
/// A setting is out of range, or sockets do not work.
pub fn run_target(
    port: u16,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(Vec<Vec<u8>>, TargetReport), SocketError> {
    let socket = port::open(0)?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?;
    let mut target = Target::new(settings.target_options())?;
    let streams = (0..settings.streams).map(|_| Received::default()).collect();
    let mut memory = Memory { streams, answers: Vec::new(), done: Vec::new(), order_violations: 0 };
    let mut report = TargetReport::default();
    let (clock, mut hello) = (Clock::start(), Time::ZERO);
    let mut buffer = Vec::with_capacity(MAX_DATAGRAM);
    while !stop.load(Ordering::Relaxed) {
        let received = receive(&socket)?;
        let now = clock.now();
        let Some(datagram) = received else {
            // The proxy learns where the target is from the first thing that it says.
            if now >= hello && target.counters().received.get() == 0 {
                let _ = socket.send(&[Role::Target as u8]);
                hello = now + HELLO;
            }
            rest();
            continue;
        };
        if clock.is_over(datagram.sent, now, settings.lifetime()) {
            report.too_old += 1;
            continue;
        }
        if let Some(late) = memory.see(datagram.part.as_ref()) {
            report.first += 1;
            report.out_of_order += u64::from(late);
        }
        target.arrive(PEER, datagram.header, datagram.part, &mut memory);
        memory.carry_out(&mut target);
        for answer in memory.answers.drain(..) {
            // With the time at which the packet was found young enough, so that both together are within two lifetimes.
            datagram::write(&mut buffer, Role::Target, clock.stamp(now), &answer, None);
            let _ = socket.send(&buffer);
        }
    }
    let counters = target.counters();
    report.received = counters.received.get();
    report.delivered = counters.delivered.get();
    report.reordered = counters.reordered.get();
    report.duplicates = counters.duplicates.get();
    report.order_violations = memory.order_violations;
    report.most_reordered = target.reorder_buffer().most();
    report.most_connections = target.most_connections();
    report.idle = target.is_idle();
    Ok((memory.streams.into_iter().map(|stream| stream.bytes).collect(), report))
}

/// The next packet of the source, if one has come.
fn receive(socket: &UdpSocket) -> Result<Option<Datagram>, SocketError> {
    let mut bytes = [0; MAX_DATAGRAM];
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) => match datagram::read(&bytes[..length]) {
                Some(datagram) if datagram.role == Role::Source => return Ok(Some(datagram)),
                _ => {}
            },
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
