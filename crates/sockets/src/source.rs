//! The sending process.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_protocols::ordering::{Source, SourceOutbox, StreamId};
use fabricsim_units::{HostId, Time};
use serde::Serialize;

use crate::clock::{Clock, rest};
use crate::datagram::{self, MAX_DATAGRAM, Role};
use crate::error::SocketError;
use crate::port::{self, is_nothing};
use crate::settings::Settings;
use crate::token::Token;

/// Identifier of the other end in the state machines.
pub(crate) const PEER: HostId = HostId(1);

/// Interval between two announcements.
pub(crate) const HELLO: Time = Time::ms(20);

/// Packets sent between two reads of answers.
const BURST: usize = 16;

/// Datagrams read at most between two bursts, so that no flood of them keeps the source from its deadline.
const MOST_READ: usize = 256;

/// Counters of the source.
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
    /// Datagrams without the session's token, or with another format than an answer.
    pub ignored: u64,
}

/// A packet's payload at the source: its part of the data.
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

/// Records acknowledgements.
struct AckRecord {
    bytes: u64,
    wrong_results: u64,
    exactly_once: bool,
}

impl SourceOutbox<Chunk> for AckRecord {
    fn acknowledged(&mut self, _: StreamId, chunk: Chunk, result: u64) {
        self.bytes += chunk.last - chunk.first;
        self.wrong_results += u64::from(self.exactly_once && result != u64::from(chunk.index));
    }

    /// The loop of [`run_source`] offers to every stream in each turn.
    fn room(&mut self, _: StreamId) {}

    fn finished(&mut self, _: StreamId) {}
}

/// Sends `data` to the target of the session, through the proxy at `port` of this machine, until all is acknowledged and
/// all connections are closed.
///
/// # Errors
/// A setting is out of range, `stop`, the deadline, or sockets do not work.
pub fn run_source(
    port: u16,
    token: &Token,
    data: &[u8],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<SourceReport, SocketError> {
    let socket = port::open(0)?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?;
    if data.len() as u64 != settings.bytes {
        let problem = format!("{} bytes, but {} were agreed", data.len(), settings.bytes);
        return Err(SocketError::Setting(problem));
    }
    let mut sender = Sender::new(settings, token)?;
    let mut streams = open(&mut sender.source, settings)?;
    let limit = Deadline { clock: Clock::start(), seconds: settings.deadline_s, stop };
    meet(&socket, token, &limit)?;
    let (clock, mut buffer) = (&limit.clock, Vec::with_capacity(MAX_DATAGRAM));
    let (begun, mut finished) = (clock.now(), Time::ZERO);
    while !sender.source.is_idle() || sender.notes.bytes < settings.bytes {
        let now = clock.now();
        limit
            .check(now, || format!("{} of {} bytes are acknowledged", sender.notes.bytes, settings.bytes))?;
        let mut worked = sender.receive(&socket, clock)?;
        // With the time from before the read, so that no answer counts as older than it is.
        sender.source.expire(now, &mut sender.notes);
        for stream in &mut streams {
            stream.offer(&mut sender.source, settings.packet_bytes);
        }
        for _ in 0..BURST {
            let now = clock.now();
            let Some(packet) = sender.source.next(now) else { break };
            let part = packet
                .payload
                .map(|chunk| (chunk.stream, chunk.index, &data[chunk.first as usize..chunk.last as usize]));
            datagram::write(&mut buffer, Role::Source, token, clock.stamp(now), &packet.header, part);
            // A full socket buffer or an absent peer counts as a loss.
            let _ = socket.send(&buffer);
            worked = true;
        }
        if sender.notes.bytes == settings.bytes && finished == Time::ZERO {
            finished = clock.now();
        }
        if !worked {
            rest();
        }
    }
    Ok(sender.report(finished.saturating_sub(begun).as_secs_f64()))
}

/// A source without its socket: answers in.
struct Sender<'a> {
    settings: &'a Settings,
    token: &'a Token,
    source: Source<Chunk>,
    notes: AckRecord,
    ignored: u64,
}

impl<'a> Sender<'a> {
    fn new(settings: &'a Settings, token: &'a Token) -> Result<Self, SocketError> {
        let source = Source::new(settings.source_options())?;
        let notes = AckRecord { bytes: 0, wrong_results: 0, exactly_once: settings.exactly_once };
        Ok(Self { settings, token, source, notes, ignored: 0 })
    }

    /// Receives up to `MOST_READ` answers. True if there were any datagrams.
    fn receive(&mut self, socket: &UdpSocket, clock: &Clock) -> Result<bool, SocketError> {
        let mut bytes: datagram::Buffer = [0; MAX_DATAGRAM + 1];
        for read in 0..MOST_READ {
            match socket.recv(&mut bytes) {
                Ok(length) => self.take(&bytes[..length], clock, clock.now()),
                Err(error) if is_nothing(&error) => return Ok(read > 0),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Receives a datagram at `now`.
    fn take(&mut self, bytes: &[u8], clock: &Clock, now: Time) {
        let opened = datagram::open(bytes, self.token).filter(|(role, _)| *role == Role::Target);
        // The answer to a repeated announcement is empty.
        if opened.is_some_and(|(_, rest)| rest.is_empty()) {
            return;
        }
        match opened.and_then(|(_, rest)| datagram::read(rest)) {
            Some(datagram) if !clock.is_over(datagram.sent, now, self.settings.lifetime()) => {
                self.source.arrive(PEER, datagram.header, &mut self.notes);
            }
            Some(_) => {}
            None => self.ignored += 1,
        }
    }

    fn report(&self, seconds: f64) -> SourceReport {
        let counters = self.source.counters();
        SourceReport {
            bytes: self.notes.bytes,
            seconds,
            sent: counters.sent.get(),
            resent: counters.resent.get(),
            slow: counters.slow.get(),
            timeouts: counters.timeouts.get(),
            no_connection: counters.no_connection.get(),
            buffer_full: counters.buffer_full.get(),
            wrong_results: self.notes.wrong_results,
            ignored: self.ignored,
        }
    }
}

/// Opens the streams, among which the bytes are divided.
fn open(source: &mut Source<Chunk>, settings: &Settings) -> Result<Vec<Progress>, SocketError> {
    let mode = settings.mode.into();
    let open = |stream: u16| {
        let id = source.open(PEER, mode, settings.exactly_once);
        let id = id.ok_or_else(|| SocketError::Setting("too many streams".to_owned()))?;
        let range = settings.stream(stream);
        Ok(Progress { id, next: range.start, end: range.end, index: 0, stream })
    };
    (0..settings.streams).map(open).collect()
}

impl Progress {
    /// Offers packets as far as there is room.
    fn offer(&mut self, source: &mut Source<Chunk>, packet_bytes: u16) {
        while self.next < self.end && source.has_room(self.id) {
            let last = (self.next + u64::from(packet_bytes)).min(self.end);
            let chunk = Chunk { stream: self.stream, index: self.index, first: self.next, last };
            source.offer(self.id, chunk, last == self.end);
            (self.next, self.index) = (last, self.index + 1);
        }
    }
}

/// Time at which to give up.
struct Deadline<'a> {
    clock: Clock,
    seconds: u64,
    stop: &'a AtomicBool,
}

impl Deadline<'_> {
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
fn meet(socket: &UdpSocket, token: &Token, limit: &Deadline<'_>) -> Result<(), SocketError> {
    let (mut bytes, mut ask): (datagram::Buffer, _) = ([0; MAX_DATAGRAM + 1], Time::ZERO);
    loop {
        let now = limit.clock.now();
        limit.check(now, || "no target".to_owned())?;
        if now >= ask {
            let _ = socket.send(&datagram::announcement(Role::Source, token));
            ask = now + HELLO;
        }
        match socket.recv(&mut bytes) {
            Ok(length) if datagram::open(&bytes[..length], token) == Some((Role::Target, &[])) => {
                return Ok(());
            }
            Ok(_) => {}
            Err(error) if is_nothing(&error) => rest(),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
