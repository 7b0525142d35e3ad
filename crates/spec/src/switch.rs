use fabricsim_units::{ByteTime, Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Age;

/// Properties of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// Queueing of packets in an input buffer.
    pub queueing: Queueing,
    /// Time at which a packet may leave, relative to its arrival.
    pub switching: Switching,
    /// Start of a packet that cuts through from a slower link into a faster one. `hold-output` is for `switching = "cut-through"` with
    /// `queueing = "fifo"` or `"voq"`.
    pub rate_mismatch: RateMismatch,
    /// From the arrival of a packet's head to the time it may be sent on.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub router_delay: Time,
    /// The part of `router_delay` that starts when a packet reaches the head of its queue: it may be sent this long after
    /// the packet before it has left, at the earliest (route computation and virtual-channel allocation of a router without
    /// lookahead). For `queueing = "fifo"` and `"voq"`; 0, by default, to `router_delay`.
    pub head_delay: Time,
    /// Time from the departure of a flow-control unit to that of the next one of the same queue, if that is longer than the link takes
    /// for it; an output may go on with a packet of another queue as soon as the link is free (the head-of-queue slot of the
    /// InfiniBand model for OMNeT++ in its reading of 2004). The input's read port is free again when the last unit of the packet
    /// begins to leave. For `queueing = "fifo"` and `"voq"` with `allocation = "maximal"`; 0, by default, to 1 s.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub unit_interval: Time,
    /// Virtual lanes (virtual channels) of every link, 1 to 16.
    #[schemars(range(min = 1, max = 16), extend("x-unit" = "lanes"))]
    pub virtual_lanes: u8,
    /// Number of equal groups into which the lanes of every link are divided. Packets of service class c use the c-th
    /// (InfiniBand: service levels and their lanes; routers: request and response channels).
    #[schemars(range(min = 1, max = 16), extend("x-unit" = "classes"))]
    pub service_classes: u8,
    /// Service classes that outputs serve before the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(max = 15)), extend("x-unit" = "1"))]
    pub priority_classes: Vec<u8>,
    /// The virtual lane of each service level, from level 0, at all ports (InfiniBand's SL2VL table). Then `service_class` of traffic is its
    /// service level, and lanes of different levels are not kept apart: several levels may share a lane. At most 16 levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(max = 15)), extend("x-unit" = "1"))]
    pub sl2vl: Option<Vec<u8>>,
    /// InfiniBand's arbitration among virtual lanes; by default the arbiter chooses among packets of all lanes alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vl_arbitration: Option<VlArbitration>,
    /// Unit in which buffer space is counted (InfiniBand: 64-byte blocks; abstract networks: a flit).
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "1 MiB"))]
    pub flow_control_unit: Bytes,
    /// Time at which buffer space is returned to the sender.
    pub credit_return: CreditReturn,
    /// Transport of credits from the end of a link that receives packets to the one that sends them.
    pub flow_control: FlowControlBy,
    /// With `flow_control = "pause"`: thresholds of the input buffers.
    #[serde(skip_serializing_if = "is_default_pause")]
    pub pause: Pause,
    /// With `flow_control = "packets"`: least time between two flow-control packets of a port for a lane. (The specification has only the
    /// longest time, 65 536 symbols.)
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 ms"))]
    pub flow_control_period: Time,
    /// With `flow_control = "packets"`: time for which a link carries nothing while it is trained anew, because an end has not heard a flow-control
    /// packet for 400 000 symbol times. It depends on the device; the default is an assumption.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub retraining_time: Time,
    /// Processing time of a credit, beyond the link's latency.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub credit_delay: Time,
    /// Output arbitration policy.
    pub arbiter: Arbiter,
    /// Matching of packets and outputs.
    pub allocation: Allocation,
    /// For `allocation = "separable"`: true if a packet requests its virtual lane and the crossbar in the same round. If
    /// false, it requests the crossbar from the round after it got its lane, which adds a round to `router_delay`.
    pub speculative: bool,
    /// For `queueing = "cioq"`: the staging buffers at the outputs, and the crossbar that fills them.
    pub staging: Staging,
    /// Buffer space that must be free at the other end of a link before a packet is sent.
    pub send_when: SendWhen,
    /// For `arbiter = "age-based"`: aging of packets.
    pub age: Age,
    /// Longest time that a packet may be at the head of its queue for an output before it is discarded (InfiniBand: `PortInfo.HOQLife`, 4.096
    /// us times a power of two; OpenSM sets 1.07 s). By default there is no limit. For `allocation = "maximal"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "60 s"))]
    pub head_of_queue_lifetime: Option<Time>,
    /// Packets in a row that `head_of_queue_lifetime` discards at a lane of an output, without one that is sent, after which the lane
    /// is stalled (InfiniBand: `VLStallCount`; OpenSM sets 7): for 8 times that lifetime it discards every packet that comes to the head of a queue.
    /// 0: lanes are never stalled.
    #[schemars(range(max = 7), extend("x-unit" = "packets"))]
    pub vl_stall_count: u8,
    /// Longest time that a packet may be in a switch: one that is or comes to the head of its queue later is discarded (InfiniBand:
    /// `SwitchInfo.LifeTimeValue`). By default there is no limit. For `allocation = "maximal"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "60 s"))]
    pub lifetime_limit: Option<Time>,
    /// Chance that a bit of a packet changes in a switch that it passes: from 0 to 0.001. No link finds it, since the switch computes the VCRC
    /// anew: the packet is lost at its receiver, which finds it by the ICRC.
    #[schemars(range(min = 0.0, max = 0.001), extend("x-unit" = "1"))]
    pub bit_error_rate: f64,
    /// Ports between switches and hosts that discard packets whose P_Key is not in their table, which is that of the host (InfiniBand:
    /// `PortInfo.PartitionEnforcementInbound` and `Outbound`; OpenSM's `part_enforce`). For experiments with `partitions`.
    pub partition_enforcement: PartitionEnforcement,
}

fn is_default_pause(pause: &Pause) -> bool {
    *pause == Pause::default()
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            queueing: Queueing::default(),
            switching: Switching::default(),
            rate_mismatch: RateMismatch::default(),
            router_delay: Time::ns(100),
            head_delay: Time::ZERO,
            unit_interval: Time::ZERO,
            virtual_lanes: 1,
            service_classes: 1,
            priority_classes: Vec::new(),
            sl2vl: None,
            vl_arbitration: None,
            flow_control_unit: Bytes(64),
            credit_return: CreditReturn::default(),
            flow_control: FlowControlBy::default(),
            pause: Pause::default(),
            flow_control_period: Time::ns(200),
            retraining_time: Time::ms(1),
            credit_delay: Time::ZERO,
            arbiter: Arbiter::default(),
            allocation: Allocation::default(),
            speculative: true,
            staging: Staging::default(),
            send_when: SendWhen::default(),
            age: Age::default(),
            head_of_queue_lifetime: None,
            vl_stall_count: 0,
            lifetime_limit: None,
            bit_error_rate: 0.0,
            partition_enforcement: PartitionEnforcement::default(),
        }
    }
}

impl Switch {
    /// Time of a byte of a packet that a switch sends over a link of `rate`: the link's, or what `unit_interval` leaves of it.
    pub fn byte_time(&self, rate: Rate) -> ByteTime {
        let link = rate.byte_time();
        if self.unit_interval == Time::ZERO {
            return link;
        }
        link.max(ByteTime::spread(self.unit_interval, self.flow_control_unit.0 as u32))
    }

    /// True if packets have lifetimes in switches.
    pub fn has_lifetimes(&self) -> bool {
        self.head_of_queue_lifetime.is_some() || self.lifetime_limit.is_some()
    }

    /// Virtual lanes of each service class.
    pub fn lanes_per_class(&self) -> u8 {
        self.virtual_lanes / self.service_classes.max(1)
    }
}

/// InfiniBand's arbitration among the virtual lanes of an output (section 7.6.9 of the specification): weighted round robin over whole
/// packets in two tables. The arbiter chooses among the packets of a lane.
///
/// The table of high priority goes first. An entry's turn lasts as long as its weight is not used up and its lane has a packet that can be
/// sent; a packet that exceeds the weight is still sent whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VlArbitration {
    /// Table of high priority, at most 64 entries.
    pub high: Vec<VlWeight>,
    /// Table of low priority, at most 64 entries.
    pub low: Vec<VlWeight>,
    /// What is sent of high priority while low priority waits, before a packet of low priority (Limit of High-Priority): 0 a packet, 255 without a
    /// limit, else in units of 4096 bytes.
    #[schemars(range(max = 255), extend("x-unit" = "4096 B"))]
    pub high_limit: u8,
}

/// An entry of an arbitration table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VlWeight {
    /// Virtual lane. InfiniBand has 15 for data at most; subnet management takes none of these.
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub vl: u8,
    /// Bytes of a turn in units of 64; 0 skips the entry.
    #[schemars(range(max = 255), extend("x-unit" = "64 B"))]
    pub weight: u8,
}

/// Matching of packets and outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// One output after the other takes a packet as soon as it can send one: no output stays idle if an
    /// input still free has a packet for it.
    #[default]
    Maximal,
    /// In rounds of one flow-control unit's time, as in a router's hardware: each input proposes one packet, each
    /// output takes one proposal, and a packet holds a virtual lane of its output before it is sent. For `fifo`
    /// queueing and the arbiters `round-robin` and `oldest-first`.
    Separable,
}

/// Queueing of packets in a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queueing {
    /// One queue per input port and virtual lane: a blocked head blocks those behind it.
    Fifo,
    /// A queue per input port, virtual lane and output port (virtual output queues).
    #[default]
    Voq,
    /// Combined input- and output-queued, as the SeaStar router (Abts & Weisser, SC07, section 1.2): one queue per input
    /// port and virtual lane, whose head moves on into a staging buffer of its output, one for each input port and lane.
    /// Outputs choose among the heads of their staging buffers.
    Cioq,
}

/// Staging buffers of a switch that is input- and output-queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Staging {
    /// Size of each: at every output, one for each input port and virtual lane. At least a packet.
    #[schemars(extend("x-minimum" = "1 B"))]
    pub buffer: Bytes,
    /// Rate at which an input buffer is read into staging buffers; by default that of the input's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time from the input buffer to the point where the output can choose the packet, for a packet that had to wait in the
    /// input buffer. It is part of `router_delay` for one that had not.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub delay: Time,
}

impl Default for Staging {
    fn default() -> Self {
        Self { buffer: Bytes(4096), rate: None, delay: Time::ZERO }
    }
}

/// Buffer space that must be free at the other end before a packet is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SendWhen {
    /// Space for the packet.
    #[default]
    PacketFits,
    /// Space for the largest packet (`host.mtu`), for packets of any size, as the SeaStar router.
    LargestPacketFits,
}

/// Time at which a packet may leave, relative to its arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// As soon as its head has arrived (virtual cut-through); into a faster output as `rate_mismatch` says.
    #[default]
    CutThrough,
    /// As soon as the whole packet has arrived.
    StoreAndForward,
}

/// Start of a packet that cuts through from a slower link into a faster one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateMismatch {
    /// So late that the output's link does not run dry; until then the output may send other packets.
    #[default]
    DelayStart,
    /// As soon as its head has arrived. The output sends each byte as it comes and is held until the packet's tail has passed: its link
    /// counts as busy, though it idles between the bytes (the InfiniBand model for OMNeT++, and wormhole routers).
    HoldOutput,
}

/// Time at which buffer space is returned to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditReturn {
    /// Block by block, as the packet leaves.
    #[default]
    Block,
    /// All at once, when the packet's tail has left.
    Packet,
}

/// Transport of credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControlBy {
    /// They take no part of the link's rate: the sender learns of each as it is free, one latency later.
    #[default]
    Ideal,
    /// InfiniBand's flow-control packets (section 7.9 of the specification), which take part of the link's rate, and which bit errors may lose:
    /// 8 bytes for each lane with news. For `flow_control_unit = "64 B"`, buffers of at most 128 KiB and `allocation = "maximal"`.
    Packets,
    /// No credits: Ethernet's priority flow control (PFC, IEEE 802.1Qbb). A port pauses a lane of the other end of its link as more than
    /// `switch.pause.xoff` is in its buffer, and resumes it, by frames of 84 bytes. For at most 8 lanes and `allocation = "maximal"`.
    Pause,
}

/// Thresholds of Ethernet's priority flow control, of each lane of an input buffer. Beyond XOFF there is headroom for what arrives until the
/// other end has stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pause {
    /// A lane with more in its buffer is paused. By default what the headroom leaves of the buffer that each link needs, so that nothing is
    /// lost; with more than that a packet may find no space, and is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "1 GiB"))]
    pub xoff: Option<Bytes>,
    /// A paused lane is resumed as no more is left in its buffer; at most `xoff`. By default `xoff` less two of the largest packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 GiB"))]
    pub xon: Option<Bytes>,
}

/// Direction of the packets whose P_Key the ports of switches to hosts check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionEnforcement {
    /// None: only adapters check.
    #[default]
    Off,
    /// Packets that arrive from hosts.
    In,
    /// Packets that leave to hosts.
    Out,
    /// Both, as OpenSM sets it.
    Both,
}

impl PartitionEnforcement {
    /// True if packets that arrive from hosts are checked.
    pub fn is_inbound(self) -> bool {
        matches!(self, Self::In | Self::Both)
    }

    /// True if packets that leave to hosts are checked.
    pub fn is_outbound(self) -> bool {
        matches!(self, Self::Out | Self::Both)
    }
}

/// Output arbitration policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbiter {
    /// Input ports in turn, and the virtual lanes of a port in turn.
    #[default]
    RoundRobin,
    /// Input ports in turn, but the output waits for an input whose turn it is and that has a packet which could be sent, while
    /// that input's read ports (`reads`) are busy with other outputs: it does not serve the next one in its place (the
    /// InfiniBand model for OMNeT++). Of outputs that can choose in one moment, those that were idle come first, by port, and
    /// those whose packet ends then after them.
    StrictRoundRobin,
    /// The packet that was injected first; ties in turn.
    OldestFirst,
    /// Any, with equal probability.
    Random,
    /// The lowest virtual lane; among equals, the lowest input port.
    FixedPriority,
    /// The packet with the greatest age, as the Cray XT counts it in eight bits (Abts & Weisser, SC07, section 2), with the
    /// parameters of `switch.age` at every router; ties in turn.
    AgeBased,
}
