//! Choices that the paper leaves open, as options.

use fabricsim_spec as spec;
use fabricsim_units::Time;

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

impl SourceOptions {
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
