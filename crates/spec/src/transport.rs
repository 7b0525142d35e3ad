use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport of hosts, which delivers messages completely and in order over a network that keeps no order. A message is a stream of the
/// protocols (Eberle & Dennison, SC18): its packets are the stream's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transport {
    /// Ordering of packets, if the traffic does not state it.
    pub mode: OrderingMode,
    /// Exactly-once delivery (EOD) of the modes that order by the ordering protocols: operations that are not idempotent are carried
    /// out once.
    pub exactly_once: bool,
    /// Size of an answer (ACK, NACK, FIN-ACK) and of a FIN.
    #[schemars(extend("x-minimum" = "1 B"))]
    pub answer: Bytes,
    /// Service class of answers and FINs (see `switch.service_classes`).
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub service_class: u8,
    /// From the delivery of an operation to target memory to its being visible there.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub memory_delay: Time,
    /// Streams that a source has open at a time, from the first packet to the last acknowledgement; 1 to 2^`cid_bits`.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "streams", "x-allowed" = "a whole number from 1 to 2^`transport.cid_bits`, at most 32767"))]
    pub streams: u16,
    /// Connection identifiers that a source may use at a time, 1 to 2^`cid_bits`.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "connections", "x-allowed" = "a whole number from 1 to 2^`transport.cid_bits`, at most 32767"))]
    pub connections: u16,
    /// Bits of a connection identifier (CID), 1 to 15 (at most 32767 identifiers).
    #[schemars(range(min = 1, max = 15), extend("x-unit" = "bits"))]
    pub cid_bits: u8,
    /// Bits of a sequence number (SEQ), 3 to 16.
    #[schemars(range(min = 3, max = 16), extend("x-unit" = "bits"))]
    pub sequence_bits: u8,
    /// Largest number of packets of a stream that have been sent and not been acknowledged, from 1 to half of the sequence numbers.
    #[schemars(range(min = 1, max = 32768), extend("x-unit" = "packets", "x-allowed" = "a whole number of packets from 1 to 2^(`transport.sequence_bits` - 1)"))]
    pub outstanding: u16,
    /// Packets of an ordered stream that must wait to be sent before it takes a connection (fast mode); until then it goes on in slow
    /// mode. 1: fast from its first packet on. With 2, streams whose packets come one by one, at less than one per round trip, need no
    /// connections (section III-C). 1 to `outstanding`. Exactly-once streams always have connections.
    #[schemars(range(min = 1, max = 32768), extend("x-unit" = "packets", "x-allowed" = "a whole number of packets from 1 to `transport.outstanding`"))]
    pub fast_from: u16,
    /// True if packets are sent before it is known whether the target has a connection (speculative set-up).
    pub speculative: bool,
    /// Packets that carry their distance from the oldest unacknowledged one.
    pub start_offset: StartOffset,
    /// Treatment of new packets by a source after a rejection because no connection was free.
    pub no_connection: OnNoConnection,
    /// Retransmission of packets that were rejected because no connection was free, once there is one.
    pub recovery: Recovery,
    /// Time of retransmission of a packet that found the reorder buffer full, or no replay buffer.
    pub resend: Resend,
    /// Packets of an ordered stream that are retransmitted when their time has run out.
    pub timed_out: TimedOut,
    /// Time at which the connection of an ordered stream is closed.
    pub close: Close,
    /// A packet without answer for this long is retransmitted.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub timeout: Time,
    /// The longest time that a packet can be in the network.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub lifetime: Time,
    /// Probability that a packet is lost when it reaches its receiver, 0 to less than 1.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0, "x-unit" = "1"))]
    pub loss: f64,
    /// Resources of a receiving host.
    pub target: TransportTarget,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            mode: OrderingMode::default(),
            exactly_once: false,
            answer: Bytes(16),
            service_class: 0,
            memory_delay: Time::ZERO,
            streams: 64,
            connections: 256,
            cid_bits: 15,
            sequence_bits: 16,
            outstanding: 128,
            fast_from: 1,
            speculative: true,
            start_offset: StartOffset::default(),
            no_connection: OnNoConnection::default(),
            recovery: Recovery::default(),
            resend: Resend::default(),
            timed_out: TimedOut::default(),
            close: Close::default(),
            timeout: Time::us(1000),
            lifetime: Time::us(1000),
            loss: 0.0,
            target: TransportTarget::default(),
        }
    }
}

impl Transport {
    /// Largest number of packets of a stream in flight that sequence numbers can tell apart: half of the numbers.
    pub const fn most_outstanding(&self) -> u32 {
        1 << (self.sequence_bits - 1)
    }
}

/// Resources of a receiving host for the ordering protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransportTarget {
    /// Maximum number of connections at a time, 1 to 16777216.
    #[schemars(range(min = 1, max = 16777216), extend("x-unit" = "connections"))]
    pub connections: u32,
    /// Capacity of the reorder buffer in packets (of the MTU's size), its associative cache included; 1 to 32767.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "packets", "x-refusal" = "it must hold at least one packet, and at most 32767"))]
    pub reorder_buffer: u16,
    /// Slots of the reorder buffer's ring, a power of two up to 65536. By default the next one to twice `reorder_buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "slots", "x-refusal" = "give a power of two up to 65536"))]
    pub reorder_ring: Option<u32>,
    /// Entries of the associative cache for packets whose slot is taken.
    #[schemars(range(max = 32767), extend("x-unit" = "packets"))]
    pub reorder_cache: u16,
    /// Replay buffers, 1 to 32767.
    #[schemars(range(min = 1, max = 32767), extend("x-unit" = "buffers"))]
    pub replay_buffers: u16,
}

impl Default for TransportTarget {
    fn default() -> Self {
        Self {
            connections: 4096,
            reorder_buffer: 256,
            reorder_ring: None,
            reorder_cache: 8,
            replay_buffers: 1024,
        }
    }
}

impl TransportTarget {
    /// Slots of the reorder buffer's ring.
    pub fn ring(&self) -> u32 {
        self.reorder_ring
            .unwrap_or_else(|| (2 * u32::from(self.reorder_buffer)).next_power_of_two().min(1 << 16))
    }
}

/// Ordering of the packets of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderingMode {
    /// Not at all, and nothing is acknowledged.
    #[default]
    None,
    /// Not at all; every packet is acknowledged.
    Unordered,
    /// At the source: one packet is outstanding (slow mode of the ordered transfer).
    SourceOrdered,
    /// At the target, by its reorder buffer (fast mode of the ordered transfer, with slow mode where connections run out).
    Ordered,
    /// The last packet is the synchronization operation; the source sends it when all else is acknowledged (a flush).
    SourceSynchronized,
    /// The last packet is the synchronization operation; the target holds it until all else is visible.
    Synchronized,
    /// In sequence at the target, which drops packets out of sequence (RoCE).
    #[serde(rename = "go-back-n")]
    GoBackN,
    /// In order of arrival, with a bitmap at the target (Ultra Ethernet's RUD).
    Selective,
    /// The same in order, through the reorder buffer.
    SelectiveOrdered,
}

/// Packets that carry their distance from the oldest unacknowledged one (as Ultra Ethernet's `syn_offset`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnNoConnection {
    /// They are sent until the oldest packet has been rejected for a second time.
    #[default]
    Continue,
    /// They wait at once.
    Halt,
}

/// Retransmission of packets that were rejected because no connection was free, once there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// One at a time, the oldest first.
    #[default]
    OneAtATime,
    /// All at once.
    Burst,
}

/// Time of retransmission of a packet that found the reorder buffer full, or no replay buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resend {
    /// Once it is the oldest that has not been acknowledged.
    #[default]
    Oldest,
    /// One for each acknowledgement that comes later.
    Progress,
}

/// Packets of an ordered stream that are retransmitted when their time has run out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimedOut {
    /// Each, also those that only wait behind a lost one in the reorder buffer (figure 6).
    #[default]
    Each,
    /// The oldest that has not been acknowledged; the next one when that has been.
    Oldest,
}

/// Time at which an ordered stream's connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// As soon as nothing is outstanding.
    #[default]
    Idle,
    /// At the end of the stream.
    End,
}
