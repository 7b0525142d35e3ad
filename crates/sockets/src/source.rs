//! The sending process.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_protocols::ordering::{Source, SourceOutbox, StreamId};
use fabricsim_units::{HostId, Time};
use serde::Serialize;

use crate::clock::{Clock, rest};
use crate::datagram::{self, MAX_DATAGRAM, Role};
use crate::port::{self, is_nothing};
use crate::settings::{Settings, SocketError};

/// The other end, as the state machines name it.
pub(crate) const PEER: HostId = HostId(1);

/// Between two attempts to find one another.
pub(crate) const HELLO: Time = Time::ms(20);

/// Packets sent between two looks at what has come.
const BURST: usize = 16;

/// What the source has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SourceReport {
    /// Bytes that were acknowledged.
    pub bytes: u64,
    /// From the first packet to the last acknowledgement.
    pub seconds: f64,
    /// REQs sent, all copies.
    pub sent: u64,
    /// Of these, copies after the first.
    pub resent: u64,
    /// Of all, those in slow mode.
    pub slow: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// Rejections: no connection.
    pub no_connection: u64,
    /// Rejections: reorder buffer full.
    pub buffer_full: u64,
    /// Results of fetch-and-add that are not those of the only execution.
    pub wrong_results: u64,
}

/// A packet's payload at the source: which part of the data it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    stream: u16,
    index: u32,
    first: u64,
    last: u64,
}

/// A stream that is being sent.
#[derive(Debug)]
struct Progress {
    id: StreamId,
    next: u64,
    end: u64,
    index: u32,
    stream: u16,
}

/// Notes what is acknowledged.
struct Notes {
    bytes: u64,
    wrong_results: u64,
    exactly_once: bool,
}

impl SourceOutbox<Chunk> for Notes {
    fn acknowledged(&mut self, _: StreamId, chunk: Chunk, result: u64) {
        self.bytes += chunk.last - chunk.first;
        self.wrong_results += u64::from(self.exactly_once && result != u64::from(chunk.index));
    }

    fn finished(&mut self, _: StreamId) {}
}

/// Sends `data` to whom the proxy at `port` of this machine knows as the target, until all is acknowledged and all
/// connections are closed.
///
/// # Errors
/// A setting is out of range, `stop`, the deadline, or sockets do not work.
pub fn run_source(
    port: u16,
    data: &[u8],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<SourceReport, SocketError> {
    let socket = port::open(0)?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?;
    let mut source = Source::new(settings.source_options())?;
    let mut streams = open(&mut source, data.len() as u64, settings)?;
    let mut notes = Notes { bytes: 0, wrong_results: 0, exactly_once: settings.exactly_once };
    let limit = Limit { clock: Clock::start(), seconds: settings.deadline_s, stop };
    meet(&socket, &limit)?;
    let (clock, mut buffer) = (&limit.clock, Vec::with_capacity(MAX_DATAGRAM));
    let (begun, mut finished) = (clock.now(), Time::ZERO);
    while !source.is_idle() || notes.bytes < data.len() as u64 {
        let now = clock.now();
        limit.check(now, || format!("{} of {} bytes are acknowledged", notes.bytes, data.len()))?;
        let mut worked = receive(&socket, &mut source, &mut notes, clock, settings.lifetime())?;
        // By the time from before: no answer that has just come is older than the machine thinks.
        source.expire(now, &mut notes);
        for stream in &mut streams {
            stream.offer(&mut source, settings.packet_bytes);
        }
        for _ in 0..BURST {
            let now = clock.now();
            let Some(packet) = source.next(now) else { break };
            let part = packet
                .payload
                .map(|chunk| (chunk.stream, chunk.index, &data[chunk.first as usize..chunk.last as usize]));
            datagram::write(&mut buffer, Role::Source, clock.stamp(now), &packet.header, part);
            // A full socket buffer or an absent peer is a loss like any other.
            let _ = socket.send(&buffer);
            worked = true;
        }
        if notes.bytes == data.len() as u64 && finished == Time::ZERO {
            finished = clock.now();
        }
        if !worked {
            rest();
        }
    }
    let counters = source.counters();
    Ok(SourceReport {
        bytes: notes.bytes,
        seconds: finished.saturating_sub(begun).as_secs_f64(),
        sent: counters.sent.get(),
        resent: counters.resent.get(),
        slow: counters.slow.get(),
        timeouts: counters.timeouts.get(),
        no_connection: counters.no_connection.get(),
        buffer_full: counters.buffer_full.get(),
        wrong_results: notes.wrong_results,
    })
}

/// Opens the streams, among which the bytes are divided.
fn open(source: &mut Source<Chunk>, bytes: u64, settings: &Settings) -> Result<Vec<Progress>, SocketError> {
    let (count, mode) = (u64::from(settings.streams), settings.mode()?);
    if bytes < count {
        return Err(SocketError::Setting(format!("{bytes} bytes are too few for {count} streams")));
    }
    let open = |stream: u64| {
        let id = source.open(PEER, mode, settings.exactly_once);
        let id = id.ok_or_else(|| SocketError::Setting("there are too many streams".to_owned()))?;
        let (next, end) = (bytes * stream / count, bytes * (stream + 1) / count);
        Ok(Progress { id, next, end, index: 0, stream: stream as u16 })
    };
    (0..count).map(open).collect()
}

impl Progress {
    /// Offers what there is room for.
    fn offer(&mut self, source: &mut Source<Chunk>, packet_bytes: u16) {
        while self.next < self.end && source.has_room(self.id) {
            let last = (self.next + u64::from(packet_bytes)).min(self.end);
            let chunk = Chunk { stream: self.stream, index: self.index, first: self.next, last };
            source.offer(self.id, chunk, last == self.end);
            (self.next, self.index) = (last, self.index + 1);
        }
    }
}

/// When to give up.
struct Limit<'a> {
    clock: Clock,
    seconds: u64,
    stop: &'a AtomicBool,
}

impl Limit<'_> {
    fn check(&self, now: Time, state: impl FnOnce() -> String) -> Result<(), SocketError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SocketError::Stopped);
        }
        if now > Time::ms(self.seconds * 1000) {
            return Err(SocketError::Deadline(self.seconds, state()));
        }
        Ok(())
    }
}

/// Waits until the proxy knows a target.
fn meet(socket: &UdpSocket, limit: &Limit<'_>) -> Result<(), SocketError> {
    let (mut bytes, mut ask) = ([0; MAX_DATAGRAM], Time::ZERO);
    loop {
        let now = limit.clock.now();
        limit.check(now, || "there is no target".to_owned())?;
        if now >= ask {
            let _ = socket.send(&[Role::Source as u8]);
            ask = now + HELLO;
        }
        match socket.recv(&mut bytes) {
            Ok(1) if Role::of(bytes[0]) == Some(Role::Target) => return Ok(()),
            Ok(_) => {}
            Err(error) if is_nothing(&error) => rest(),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes in all answers that have come. True: there were any.
fn receive(
    socket: &UdpSocket,
    source: &mut Source<Chunk>,
    notes: &mut Notes,
    clock: &Clock,
    lifetime: Time,
) -> Result<bool, SocketError> {
    let mut bytes = [0; MAX_DATAGRAM];
    let mut any = false;
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) => {
                any = true;
                if let Some(datagram) = datagram::read(&bytes[..length])
                    && datagram.role == Role::Target
                    && !clock.is_over(datagram.sent, clock.now(), lifetime)
                {
                    source.arrive(PEER, datagram.header, notes);
                }
            }
            Err(error) if is_nothing(&error) => return Ok(any),
            Err(error) => return Err(error.into()),
        }
    }
}
