//! Settings of an endpoint.

use std::ops::Range;

use fabricsim_protocols::ordering::{Close, Mode, OptionError, SourceOptions, TargetOptions, TimedOut};
use fabricsim_units::Time;
use serde::Deserialize;
use thiserror::Error;

use crate::datagram::MAX_BYTES;

/// Settings of both endpoints; they must agree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// "ordered", "source-ordered", "unordered", "go-back-n", "selective" or "selective-ordered".
    pub mode: String,
    /// Exactly-once delivery, by replay buffers: each packet carries a fetch-and-add besides its bytes.
    pub exactly_once: bool,
    /// Bytes of the transfer, at least one for each stream.
    pub bytes: u64,
    /// Streams into which the bytes are divided.
    pub streams: u16,
    /// Bytes of a packet, 1 to 1400.
    pub packet_bytes: u16,
    /// Cap on outstanding packets of a stream.
    pub outstanding: u16,
    /// Packets that fit into the target's reorder buffer.
    pub reorder_buffer: u16,
    /// Connections at the target.
    pub connections: u32,
    /// Time without an answer after which a packet is retransmitted, in microseconds.
    pub timeout_us: u64,
    /// Time in flight after which a packet counts as lost, in microseconds: endpoints drop older ones.
    pub lifetime_us: u64,
    /// Time after which an unfinished source gives up, in seconds, up to a day.
    pub deadline_s: u64,
}

/// Possible errors.
#[derive(Debug, Error)]
pub enum SocketError {
    /// A setting.
    #[error("{0}")]
    Setting(String),
    /// An option of the protocol.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A port.
    #[error("cannot bind UDP port {port}: {problem}; choose another port, or 0 for any free one")]
    Port {
        /// Its number.
        port: u16,
        /// Report of the operating system.
        problem: String,
    },
    /// The operating system.
    #[error("the socket does not work: {0}")]
    Io(#[from] std::io::Error),
    /// Memory for the bytes of the transfer.
    #[error("cannot allocate memory for a transfer of {0} bytes")]
    Memory(u64),
    /// Deadline exceeded.
    #[error("not complete after {0} s: {1}")]
    Deadline(u64, String),
    /// Stopped by request before completion.
    #[error("stopped")]
    Stopped,
}

/// The longest delay, in microseconds.
pub(crate) const MAX_US: u64 = 10_000_000;

/// The largest transfer, in bytes: both processes hold all of it.
const MAX_TRANSFER: u64 = 1 << 36;

pub(crate) fn within(setting: &str, value: u64, least: u64, most: u64) -> Result<(), SocketError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let problem = format!("{setting} is {value}: must be from {least} to {most}");
    Err(SocketError::Setting(problem))
}

const MODES: [(&str, Mode); 6] = [
    ("ordered", Mode::Ordered),
    ("source-ordered", Mode::SourceOrdered),
    ("unordered", Mode::Unordered),
    ("go-back-n", Mode::GoBackN),
    ("selective", Mode::Selective),
    ("selective-ordered", Mode::SelectiveOrdered),
];

impl Settings {
    /// Reads and checks settings.
    pub fn read(json: &str) -> Result<Self, SocketError> {
        let settings: Self =
            serde_json::from_str(json).map_err(|error| SocketError::Setting(error.to_string()))?;
        within("packet_bytes", u64::from(settings.packet_bytes), 1, MAX_BYTES as u64)?;
        within("reorder_buffer", u64::from(settings.reorder_buffer), 1, 0x7fff)?;
        within("timeout_us", settings.timeout_us, 1, 4 * MAX_US)?;
        within("lifetime_us", settings.lifetime_us, 1, 4 * MAX_US)?;
        within("deadline_s", settings.deadline_s, 1, 86_400)?;
        let mode = settings.mode()?;
        if settings.exactly_once && !matches!(mode, Mode::Ordered | Mode::SourceOrdered) {
            let problem = "exactly_once is for the modes ordered and source-ordered: the others have no replay \
                           buffers";
            return Err(SocketError::Setting(problem.to_owned()));
        }
        settings.source_options().check()?;
        settings.target_options().check()?;
        let streams = u64::from(settings.streams);
        if settings.bytes < streams {
            let problem = format!(
                "{} bytes are too few for {streams} streams: at least one for each is needed",
                settings.bytes
            );
            return Err(SocketError::Setting(problem));
        }
        let parts = u64::from(u32::MAX) * u64::from(settings.packet_bytes) * streams;
        within("bytes", settings.bytes, 1, parts.min(MAX_TRANSFER))?;
        Ok(settings)
    }

    /// The bytes of the transfer that stream `number` carries.
    pub(crate) fn stream(&self, number: u16) -> Range<u64> {
        let (count, number) = (u64::from(self.streams.max(1)), u64::from(number));
        self.bytes * number / count..self.bytes * (number + 1) / count
    }

    /// Parts of stream `number`.
    pub(crate) fn parts(&self, number: u16) -> u32 {
        let range = self.stream(number);
        (range.end - range.start).div_ceil(u64::from(self.packet_bytes.max(1))) as u32
    }

    /// Length of part `index` of stream `number`; `None` if the transfer has no such part.
    pub(crate) fn part_bytes(&self, number: u16, index: u32) -> Option<u64> {
        if number >= self.streams {
            return None;
        }
        let (range, packet) = (self.stream(number), u64::from(self.packet_bytes));
        let before = u64::from(index) * packet;
        let left = (range.end - range.start).checked_sub(before).filter(|&left| left > 0)?;
        Some(left.min(packet))
    }

    pub(crate) fn lifetime(&self) -> Time {
        Time::us(self.lifetime_us)
    }

    /// Ordering of packets.
    pub(crate) fn mode(&self) -> Result<Mode, SocketError> {
        let found = MODES.iter().find(|(name, _)| *name == self.mode);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            let (mode, names) = (&self.mode, names.join(", "));
            SocketError::Setting(format!("\"{mode}\" is not a mode: expected one of {names}"))
        })
    }

    pub(crate) fn source_options(&self) -> SourceOptions {
        SourceOptions {
            streams: self.streams,
            connections: self.streams,
            outstanding: self.outstanding,
            timeout: Time::us(self.timeout_us),
            lifetime: self.lifetime(),
            // The other packets that time out usually wait behind it in the reorder buffer.
            timed_out: TimedOut::Oldest,
            close: Close::End,
            ..SourceOptions::default()
        }
    }

    pub(crate) fn target_options(&self) -> TargetOptions {
        TargetOptions {
            connections: self.connections,
            reorder_capacity: self.reorder_buffer,
            reorder_ring: u32::from(self.reorder_buffer).next_power_of_two() * 2,
            // Room for the outstanding packets of a stream, twice: as many may wait for SYN.
            replay: 2
                * self.outstanding.min(0x3fff)
                * self.streams.min(0x3fff / self.outstanding.clamp(1, 0x3fff)).max(1),
            ..TargetOptions::default()
        }
    }
}
