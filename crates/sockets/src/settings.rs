//! Settings of an endpoint.

use std::ops::Range;

use fabricsim_protocols::ordering::{Close, Mode, SourceOptions, TargetOptions, TimedOut};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::datagram::MAX_BYTES;
use crate::error::SocketError;

/// Ordering of packets between two processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DemoMode {
    /// At the target, by its reorder buffer.
    #[default]
    Ordered,
    /// At the source, which has one packet outstanding.
    SourceOrdered,
    /// Not at all.
    Unordered,
    /// The target drops packets out of sequence (RoCE).
    #[serde(rename = "go-back-n")]
    GoBackN,
    /// Not at all, with a bitmap at the target (Ultra Ethernet's RUD).
    Selective,
    /// The same in order, through the reorder buffer.
    SelectiveOrdered,
}

impl From<DemoMode> for Mode {
    fn from(mode: DemoMode) -> Self {
        match mode {
            DemoMode::Ordered => Self::Ordered,
            DemoMode::SourceOrdered => Self::SourceOrdered,
            DemoMode::Unordered => Self::Unordered,
            DemoMode::GoBackN => Self::GoBackN,
            DemoMode::Selective => Self::Selective,
            DemoMode::SelectiveOrdered => Self::SelectiveOrdered,
        }
    }
}

/// Settings of both endpoints; they must agree. Those with `x-option` are options of `fabricsim ordering-demo`;
/// `x-argument` is the name in Python if it differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Ordering of packets.
    #[schemars(extend("x-option" = "--mode"))]
    pub mode: DemoMode,
    /// Random bytes to be sent, at least one for each stream.
    #[schemars(
        range(min = 1, max = MAX_TRANSFER),
        extend("x-unit" = "bytes", "x-option" = "--bytes", "x-argument" = "size")
    )]
    pub bytes: u64,
    /// Exactly-once delivery, by replay buffers: each packet adds to a counter; the result comes back.
    #[schemars(extend("x-option" = "--exactly-once"))]
    pub exactly_once: bool,
    /// Streams into which the bytes are divided.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "streams", "x-option" = "--streams"))]
    pub streams: u16,
    /// Size of a packet.
    #[schemars(range(min = 1, max = MAX_BYTES), extend("x-unit" = "bytes", "x-option" = "--packet"))]
    pub packet_bytes: u16,
    /// Maximum packets of a stream in flight.
    #[schemars(
        range(min = 1, max = 32768),
        extend(
            "x-unit" = "packets",
            "x-option" = "--outstanding",
            "x-refusal" = "with 16 bits of SEQ must be from 1 to 32768, half of the sequence numbers"
        )
    )]
    pub outstanding: u16,
    /// Packets that fit into the target's reorder buffer.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "packets", "x-option" = "--reorder-buffer"))]
    pub reorder_buffer: u16,
    /// Connections at the target.
    #[schemars(range(min = 1, max = 16777216), extend("x-unit" = "connections", "x-option" = "--connections"))]
    pub connections: u32,
    /// Time without an answer after which a packet is retransmitted.
    #[schemars(range(min = 1, max = 4 * MAX_US), extend("x-unit" = "us"))]
    pub timeout_us: u64,
    /// Time in flight after which a packet counts as lost: endpoints drop older ones.
    #[schemars(range(min = 1, max = 4 * MAX_US), extend("x-unit" = "us"))]
    pub lifetime_us: u64,
    /// Time after which an unfinished transfer ends.
    #[schemars(range(min = 1, max = 86400), extend("x-unit" = "s", "x-option" = "--deadline"))]
    pub deadline_s: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: DemoMode::default(),
            bytes: 8_000_000,
            exactly_once: false,
            streams: 4,
            packet_bytes: 1024,
            outstanding: 128,
            reorder_buffer: 512,
            connections: 16,
            timeout_us: 25_000,
            lifetime_us: 22_500,
            deadline_s: 120,
        }
    }
}

/// The longest delay, in microseconds.
pub(crate) const MAX_US: u64 = 10_000_000;

/// The largest transfer, in bytes: both processes hold all of it.
const MAX_TRANSFER: u64 = 1 << 36;

/// Refuses a value outside the range of its field.
pub(crate) fn check_ranges<T: Serialize + JsonSchema>(settings: &T) -> Result<(), SocketError> {
    match fabricsim_spec::out_of_range(&fabricsim_spec::schema_of::<T>(), settings) {
        Ok(None) => Ok(()),
        Ok(Some(found)) => {
            let allowed = found.refusal.unwrap_or_else(|| format!("must be {}", found.range));
            Err(SocketError::Setting(format!("{} is {}: {allowed}", found.key, found.value)))
        }
        Err(_) => Err(SocketError::Setting(format!("a number is larger than {}, the largest", i64::MAX))),
    }
}

impl Settings {
    /// Reads and checks settings.
    pub fn read(json: &str) -> Result<Self, SocketError> {
        let settings: Self =
            serde_json::from_str(json).map_err(|error| SocketError::Setting(error.to_string()))?;
        check_ranges(&settings)?;
        if settings.exactly_once && !matches!(settings.mode, DemoMode::Ordered | DemoMode::SourceOrdered) {
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
        let most = u64::from(u32::MAX) * u64::from(settings.packet_bytes) * streams;
        if settings.bytes > most {
            let problem = format!("bytes is {}: must be from 1 to {most}", settings.bytes);
            return Err(SocketError::Setting(problem));
        }
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
