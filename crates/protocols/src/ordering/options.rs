//! Choices that the paper leaves open, as options, and their allowed values.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use fabricsim_spec as spec;
use fabricsim_units::Time;
use thiserror::Error;

use super::{Seq, SequenceSpace, mutation::Mutation};

/// Packets that carry their distance from the oldest unacknowledged one (as Ultra Ethernet's `syn_offset`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StartOffset {
    /// None: the target waits for SYN (section III-D-2).
    #[default]
    Never,
    /// Those sent before the source knows that the target holds a connection.
    UntilFirstAck,
    /// Every packet, which frees replay buffers, too.
    Always,
}

/// Treatment of new packets by a source after a rejection because no connection was free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnNoConnection {
    /// They are sent until the oldest packet has been rejected for a second time.
    #[default]
    Continue,
    /// They wait at once.
    Halt,
}

/// Retransmission of packets that were rejected because no connection was free, once there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// One at a time, the oldest first (as figure 12 needs).
    #[default]
    OneAtATime,
    /// All at once.
    Burst,
}

/// Time of retransmission of a packet that found the reorder buffer full, or no replay buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resend {
    /// Once it is the oldest that has not been acknowledged.
    #[default]
    Oldest,
    /// One for each acknowledgement that comes later.
    Progress,
}

/// Packets of an ordered stream that are retransmitted when their time has run out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimedOut {
    /// Each (as figure 6 has it), also those that only wait behind a lost one in the reorder buffer.
    #[default]
    Each,
    /// The oldest that has not been acknowledged; the next one when that has been.
    Oldest,
}

/// Time at which an ordered stream's connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Close {
    /// As soon as nothing is outstanding.
    #[default]
    Idle,
    /// At the end of the stream.
    End,
}

/// Options of a source endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceOptions {
    /// Streams open at a time, 1 to 32767.
    pub streams: u16,
    /// Connection identifiers, 1 to 32767.
    pub connections: u16,
    /// Largest number of packets of a stream that have been sent and not been acknowledged, 1 or more.
    pub outstanding: u16,
    /// Packets of an ordered stream that have to wait before it takes a connection, 1 to `outstanding`.
    pub fast_from: u16,
    /// Bits of SEQ, 3 to 16.
    pub sequence_bits: u8,
    /// SEQ of the first packet of an ordered stream.
    pub first_sequence: Seq,
    /// True to send without knowing whether the target has a connection.
    pub speculative: bool,
    /// Offsets in packets.
    pub start_offset: StartOffset,
    /// New packets after a rejection.
    pub no_connection: OnNoConnection,
    /// Rejected packets when there is a connection.
    pub recovery: Recovery,
    /// Packets that found a buffer full.
    pub resend: Resend,
    /// Packets without answer.
    pub timed_out: TimedOut,
    /// End of connections.
    pub close: Close,
    /// A packet without answer for this long is retransmitted.
    pub timeout: Time,
    /// The longest time that a packet can be in the network; more than 0.
    pub lifetime: Time,
    /// Packets that a stream keeps at most, so that the window of a test can be smaller than SEQ allows.
    #[cfg(test)]
    pub(crate) kept: u16,
    /// A deliberate defect.
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

/// The options of an experiment.
impl From<&spec::Transport> for SourceOptions {
    fn from(transport: &spec::Transport) -> Self {
        Self {
            streams: transport.streams,
            connections: transport.connections,
            outstanding: transport.outstanding,
            fast_from: transport.fast_from,
            sequence_bits: transport.sequence_bits,
            first_sequence: Seq(0),
            speculative: transport.speculative,
            start_offset: match transport.start_offset {
                spec::StartOffset::Never => StartOffset::Never,
                spec::StartOffset::UntilFirstAck => StartOffset::UntilFirstAck,
                spec::StartOffset::Always => StartOffset::Always,
            },
            no_connection: match transport.no_connection {
                spec::OnNoConnection::Continue => OnNoConnection::Continue,
                spec::OnNoConnection::Halt => OnNoConnection::Halt,
            },
            recovery: match transport.recovery {
                spec::Recovery::OneAtATime => Recovery::OneAtATime,
                spec::Recovery::Burst => Recovery::Burst,
            },
            resend: match transport.resend {
                spec::Resend::Oldest => Resend::Oldest,
                spec::Resend::Progress => Resend::Progress,
            },
            timed_out: match transport.timed_out {
                spec::TimedOut::Each => TimedOut::Each,
                spec::TimedOut::Oldest => TimedOut::Oldest,
            },
            close: match transport.close {
                spec::Close::Idle => Close::Idle,
                spec::Close::End => Close::End,
            },
            timeout: transport.timeout,
            lifetime: transport.lifetime,
            #[cfg(test)]
            kept: u16::MAX,
            #[cfg(test)]
            mutation: None,
        }
    }
}

/// The defaults of an experiment.
impl Default for SourceOptions {
    fn default() -> Self {
        Self::from(&spec::Transport::default())
    }
}

/// Options of a target endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetOptions {
    /// Connections held at a time, 1 or more.
    pub connections: u32,
    /// Packets that wait in the reorder buffer at a time, its associative cache included.
    pub reorder_capacity: u16,
    /// Slots of the reorder buffer's ring: a power of two.
    pub reorder_ring: u32,
    /// Entries of the associative cache for packets whose slot is taken.
    pub reorder_cache: u16,
    /// Replay buffers.
    pub replay: u16,
    /// Bits of SEQ, as the sources'.
    pub sequence_bits: u8,
    /// A deliberate defect.
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

/// The options of an experiment.
impl From<&spec::Transport> for TargetOptions {
    fn from(transport: &spec::Transport) -> Self {
        let target = &transport.target;
        Self {
            connections: target.connections,
            reorder_capacity: target.reorder_buffer,
            reorder_ring: target.ring(),
            reorder_cache: target.reorder_cache,
            replay: target.replay_buffers,
            sequence_bits: transport.sequence_bits,
            #[cfg(test)]
            mutation: None,
        }
    }
}

/// The defaults of an experiment.
impl Default for TargetOptions {
    fn default() -> Self {
        Self::from(&spec::Transport::default())
    }
}

/// An option that is out of range: its name, and the problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option} {problem}")]
pub struct OptionError {
    /// The field.
    pub option: &'static str,
    /// Description of the problem and of the allowed values.
    pub problem: String,
}

/// Ranges of options, as the fields of an experiment's `transport` state them; read once, since every host checks its options.
struct Ranges {
    streams: RangeInclusive<u64>,
    connections: RangeInclusive<u64>,
    sequence_bits: RangeInclusive<u64>,
    fast_from: RangeInclusive<u64>,
    target_connections: RangeInclusive<u64>,
    reorder_capacity: RangeInclusive<u64>,
    reorder_ring: RangeInclusive<u64>,
    replay: RangeInclusive<u64>,
}

static RANGES: LazyLock<Ranges> = LazyLock::new(|| {
    let range = |field: &str| spec::numbers_at(&format!("transport.{field}"));
    Ranges {
        streams: range("streams"),
        connections: range("connections"),
        sequence_bits: range("sequence_bits"),
        fast_from: range("fast_from"),
        target_connections: range("target.connections"),
        reorder_capacity: range("target.reorder_buffer"),
        reorder_ring: range("target.reorder_ring"),
        replay: range("target.replay_buffers"),
    }
});

fn within(option: &'static str, value: u32, range: &RangeInclusive<u64>) -> Result<(), OptionError> {
    if range.contains(&u64::from(value)) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(OptionError { option, problem: format!("is {value}: must be from {least} to {most}") })
}

impl SourceOptions {
    /// Checks that all options are in range, and that they fit together.
    pub fn check(&self) -> Result<(), OptionError> {
        within("streams", u32::from(self.streams), &RANGES.streams)?;
        within("connections", u32::from(self.connections), &RANGES.connections)?;
        within("sequence_bits", u32::from(self.sequence_bits), &RANGES.sequence_bits)?;
        let half = SequenceSpace::new(self.sequence_bits).half();
        if u32::from(self.outstanding) > half || self.outstanding == 0 {
            let bits = self.sequence_bits;
            let problem = format!(
                "is {}: with {bits} bits of SEQ must be from 1 to {half}, half of the sequence numbers",
                self.outstanding
            );
            return Err(OptionError { option: "outstanding", problem });
        }
        let fast_from = *RANGES.fast_from.start()..=u64::from(self.outstanding);
        within("fast_from", u32::from(self.fast_from), &fast_from)?;
        for (option, time) in [("timeout", self.timeout), ("lifetime", self.lifetime)] {
            if time == Time::ZERO {
                return Err(OptionError { option, problem: "is 0: must be longer".to_owned() });
            }
        }
        Ok(())
    }

    /// Packets that a stream keeps: more than may be outstanding, since a packet that has been acknowledged stays while a
    /// copy of it may be in the network, and must not block the others.
    pub(crate) fn window(&self) -> u16 {
        let half = SequenceSpace::new(self.sequence_bits).half();
        let window = (4 * u32::from(self.outstanding)).min(half) as u16;
        #[cfg(test)]
        let window = window.min(self.kept);
        window
    }

    /// Returns the time after the last copy of a packet from which neither it nor an answer to it can be in the network.
    pub fn quiet_time(&self) -> Time {
        self.lifetime.saturating_add(self.lifetime)
    }

    /// True if this defect is built in.
    #[inline]
    #[cfg(test)]
    pub(crate) fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    #[inline]
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "defects exist only in tests")]
    pub(crate) const fn mutated(&self, _: Mutation) -> bool {
        false
    }
}

impl TargetOptions {
    /// Checks that all options are in range.
    pub fn check(&self) -> Result<(), OptionError> {
        within("connections", self.connections, &RANGES.target_connections)?;
        within("reorder_capacity", u32::from(self.reorder_capacity), &RANGES.reorder_capacity)?;
        within("replay", u32::from(self.replay), &RANGES.replay)?;
        within("sequence_bits", u32::from(self.sequence_bits), &RANGES.sequence_bits)?;
        let ring = &RANGES.reorder_ring;
        if !self.reorder_ring.is_power_of_two() || !ring.contains(&u64::from(self.reorder_ring)) {
            let (least, most) = (ring.start(), ring.end());
            let problem = format!("is {}: must be a power of two from {least} to {most}", self.reorder_ring);
            return Err(OptionError { option: "reorder_ring", problem });
        }
        Ok(())
    }

    /// True if this defect is built in.
    #[inline]
    #[cfg(test)]
    pub(crate) fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    #[inline]
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "defects exist only in tests")]
    pub(crate) const fn mutated(&self, _: Mutation) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_allowed() {
        assert_eq!(SourceOptions::default().check(), Ok(()));
        assert_eq!(TargetOptions::default().check(), Ok(()));
    }

    #[test]
    fn the_sequence_space_has_to_hold_the_cap_twice() {
        let options = SourceOptions { outstanding: 25, sequence_bits: 5, ..SourceOptions::default() };
        let error = options.check().expect_err("32 numbers are too few for 25 packets");
        assert_eq!(
            error.to_string(),
            "outstanding is 25: with 5 bits of SEQ must be from 1 to 16, half of the sequence numbers"
        );
        assert_eq!(SourceOptions { sequence_bits: 6, ..options }.check(), Ok(()));
    }

    #[test]
    fn sizes_are_checked() {
        let target = TargetOptions::default();
        let told = |options: TargetOptions| options.check().map_err(|error| error.to_string());
        for (options, message) in [
            (
                TargetOptions { reorder_capacity: 0, ..target },
                "reorder_capacity is 0: must be from 1 to 32767",
            ),
            (TargetOptions { replay: 0, ..target }, "replay is 0: must be from 1 to 32767"),
            (TargetOptions { connections: 0, ..target }, "connections is 0: must be from 1 to 16777216"),
            (TargetOptions { sequence_bits: 2, ..target }, "sequence_bits is 2: must be from 3 to 16"),
            (TargetOptions { sequence_bits: 17, ..target }, "sequence_bits is 17: must be from 3 to 16"),
            (
                TargetOptions { reorder_ring: 50, ..target },
                "reorder_ring is 50: must be a power of two from 1 to 65536",
            ),
            (
                TargetOptions { reorder_ring: 0, ..target },
                "reorder_ring is 0: must be a power of two from 1 to 65536",
            ),
        ] {
            assert_eq!(told(options), Err(message.to_owned()));
        }
        let source = SourceOptions::default();
        let told = |options: SourceOptions| options.check().map_err(|error| error.to_string());
        for (options, message) in [
            (SourceOptions { connections: 0, ..source }, "connections is 0: must be from 1 to 32767"),
            (
                SourceOptions { connections: 40_000, ..source },
                "connections is 40000: must be from 1 to 32767",
            ),
            (SourceOptions { streams: 0, ..source }, "streams is 0: must be from 1 to 32767"),
            (SourceOptions { streams: 40_000, ..source }, "streams is 40000: must be from 1 to 32767"),
            (SourceOptions { timeout: Time::ZERO, ..source }, "timeout is 0: must be longer"),
            (SourceOptions { lifetime: Time::ZERO, ..source }, "lifetime is 0: must be longer"),
            (
                SourceOptions { outstanding: 0, ..source },
                "outstanding is 0: with 16 bits of SEQ must be from 1 to 32768, half of the sequence numbers",
            ),
        ] {
            assert_eq!(told(options), Err(message.to_owned()));
        }
    }

    /// The reference of keys lists the experiment's defaults; the state machines and the sockets start from these.
    #[test]
    fn defaults_are_those_of_an_experiment() {
        let transport = spec::Transport::default();
        let (source, target) = (SourceOptions::default(), TargetOptions::default());
        assert_eq!((source.timeout, source.lifetime), (transport.timeout, transport.lifetime));
        assert_eq!((source.timeout, source.lifetime), (Time::ms(1), Time::ms(1)));
        assert_eq!((target.connections, target.reorder_capacity, target.replay), (4096, 256, 1024));
        assert_eq!((target.reorder_ring, target.reorder_cache), (512, 8));
        assert_eq!((source.streams, source.connections, source.outstanding), (64, 256, 128));
        assert_eq!((source.sequence_bits, target.sequence_bits), (16, 16));
        assert_eq!((source.check(), target.check()), (Ok(()), Ok(())));
    }

    #[test]
    fn a_lifetime_without_end_is_allowed() {
        let options = SourceOptions { lifetime: Time::MAX, ..SourceOptions::default() };
        assert_eq!((options.check(), options.quiet_time()), (Ok(()), Time::MAX));
    }
}
