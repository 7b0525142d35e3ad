//! Source rate control: marking of packets, notification of the source, and its reaction.

use fabricsim_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cct, CctEntry, CctiTimer, Hpcc, Nscc, Swift};

/// Congestion control: rate limits of sources when the fabric is congested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CongestionControl {
    /// Algorithm at work. The parameters of the others are kept and not used.
    pub algorithm: CongestionAlgorithm,
    /// Notification of a source by a destination that its packets were marked.
    pub notification: Notification,
    /// Parameters of `infiniband`.
    pub infiniband: InfiniBandCongestion,
    /// Parameters of `dcqcn`.
    pub dcqcn: Dcqcn,
    /// Parameters of `swift`.
    pub swift: Swift,
    /// Parameters of `hpcc`.
    pub hpcc: Hpcc,
    /// Parameters of `nscc`.
    pub nscc: Nscc,
    /// Round trip of a packet without contention, on the longest route; for `swift`, `hpcc` and `nscc`. By default that of a packet
    /// of the MTU's size and its acknowledgement on this network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub base_rtt: Option<Time>,
}

/// Algorithms of congestion control.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, fabricsim_state::Value,
)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionAlgorithm {
    /// Sources send as fast as they get credits.
    #[default]
    None,
    /// InfiniBand congestion control (InfiniBand Architecture Specification, annex A10).
    Infiniband,
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn,
    /// Swift: a window that follows the delay (Kumar et al., SIGCOMM 2020).
    Swift,
    /// HPCC: a window that follows the state of the links of the path, which packets collect (Li et al., SIGCOMM 2019).
    Hpcc,
    /// NSCC: a window that follows marks and delay (Ultra Ethernet 1.0, 2025).
    Nscc,
}

impl CongestionAlgorithm {
    /// True if sources have windows, so that packets are acknowledged.
    pub const fn has_windows(self) -> bool {
        matches!(self, Self::Swift | Self::Hpcc | Self::Nscc)
    }
}

/// Notification of a source by a destination that its packets were marked (FECN to BECN).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Notification {
    /// Packet that carries the notification.
    pub by: NotifyBy,
    /// Size of that packet, headers included.
    #[schemars(extend("x-minimum" = "1 B"))]
    pub size: Bytes,
    /// Service class that it travels in (see `switch.service_classes`).
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub service_class: u8,
    /// True if a host sends it before data that waits.
    pub first: bool,
    /// From the arrival of the marked packet to the time when the notification may be sent.
    pub delay: Time,
    /// Packets of a source that an acknowledgement covers, with `swift`, `hpcc` and `nscc`, which acknowledge packets with any `by`.
    /// The last packet of a message is acknowledged at once.
    #[schemars(range(min = 1, max = 65535), extend("x-unit" = "packets"))]
    pub every: u16,
    /// Longest time for which a packet waits for others to be acknowledged with it.
    pub timeout: Time,
}

impl Default for Notification {
    fn default() -> Self {
        Self {
            by: NotifyBy::Cnp,
            size: Bytes(64),
            service_class: 0,
            first: true,
            delay: Time::ZERO,
            every: 1,
            timeout: Time::us(1),
        }
    }
}

/// Packet in which a destination notifies a source of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotifyBy {
    /// In a congestion notification packet of its own, one for each marked packet.
    #[default]
    Cnp,
    /// In the acknowledgement of the message that the marked packet belongs to. Destinations then acknowledge every
    /// message.
    Acknowledgement,
}

/// Parameters of InfiniBand congestion control, named as in annex A10 of the specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InfiniBandCongestion {
    /// Threshold of an output port's virtual lane, 0 to 15: 0 marks nothing, 1 marks late, 15 early. Threshold w is
    /// crossed when (16 - w)/16 of a virtual lane's input buffer are filled.
    #[schemars(range(max = 15), extend("x-unit" = "1/16 of a buffer", "x-allowed" = "0 (marks nothing), or 1 (late) to 15 (early, as soon as a sixteenth of a buffer is filled)"))]
    pub threshold: u8,
    /// The lane leaves the congested state when its fill is below this threshold; a larger number is a
    /// lower fill. By default one more than `threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 16), extend("x-unit" = "1/16 of a buffer"))]
    pub reset_threshold: Option<u8>,
    /// Fill that is compared with the threshold: all packets of the switch that wait for the output and lane, or those of
    /// one input buffer.
    pub threshold_on: ThresholdOn,
    /// Rate at which eligible packets are marked, 0 to 65535.
    #[schemars(extend("x-unit" = "packets"))]
    pub marking_rate: u16,
    /// Packets that the marking rate counts.
    pub marking_rate_counts: MarkingRateCounts,
    /// Smallest packet that is marked, in flow-control units.
    #[schemars(extend("x-unit" = "flow-control units"))]
    pub packet_size: u8,
    /// Output ports that mark although they have no credits (as victims of congestion further on, not
    /// its root).
    pub victim_mask: VictimMask,
    /// Other values for some output ports and lanes; later entries win.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortCongestion>,
    /// Fill of an input buffer, as a threshold of 0 to 15, from which its credits are returned late; 0: never.
    #[schemars(range(max = 15), extend("x-unit" = "1/16 of a buffer", "x-allowed" = "0 (marks nothing), or 1 (late) to 15 (early, as soon as a sixteenth of a buffer is filled)"))]
    pub credit_starvation_threshold: u8,
    /// Delay of the late credits: `"shift:multiplier"`, relative to the packet's time as in the table.
    pub credit_starvation_return_delay: CctEntry,
    /// The congestion control table: injection rate delays, in the order of the index.
    pub cct: Cct,
    /// Unit with an index of its own.
    pub control: ControlPer,
    /// Added to the index for each notification.
    #[schemars(extend("x-unit" = "1"))]
    pub ccti_increase: u8,
    /// Largest index; by default the last of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 16383), extend("x-unit" = "1"))]
    pub ccti_limit: Option<u16>,
    /// Smallest index.
    #[schemars(range(max = 16383), extend("x-unit" = "1"))]
    pub ccti_min: u16,
    /// Time after which an index is decreased by one: a whole number in units of 1.024 us, as in the specification, or
    /// a time.
    pub ccti_timer: CctiTimer,
    /// Start of the timer.
    pub timer_starts: TimerStart,
    /// Index from which an event is counted.
    #[schemars(extend("x-unit" = "1"))]
    pub trigger_threshold: u16,
    /// The packet that the delay is relative to.
    pub delay_relative_to: DelayRelativeTo,
}

impl Default for InfiniBandCongestion {
    fn default() -> Self {
        Self {
            threshold: 2,
            reset_threshold: None,
            threshold_on: ThresholdOn::default(),
            marking_rate: 1,
            marking_rate_counts: MarkingRateCounts::default(),
            packet_size: 1,
            victim_mask: VictimMask::default(),
            ports: Vec::new(),
            credit_starvation_threshold: 0,
            credit_starvation_return_delay: CctEntry { shift: 0, multiplier: 0 },
            cct: Cct::default(),
            control: ControlPer::default(),
            ccti_increase: 1,
            ccti_limit: None,
            ccti_min: 0,
            ccti_timer: CctiTimer::Units(150),
            timer_starts: TimerStart::default(),
            trigger_threshold: 1,
            delay_relative_to: DelayRelativeTo::default(),
        }
    }
}

/// Packets that the marking rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingRateCounts {
    /// The packets between two marked ones, as in the specification: with 1, every other packet is marked.
    #[default]
    Between,
    /// The packets from a marked one to the next: with 1, every packet is marked; 0 is as 1.
    FromMarkToMark,
}

impl MarkingRateCounts {
    /// Eligible packets that are sent unmarked between two marked ones.
    pub fn unmarked(self, marking_rate: u16) -> u16 {
        match self {
            Self::Between => marking_rate,
            Self::FromMarkToMark => marking_rate.saturating_sub(1),
        }
    }
}

/// Fill that is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdOn {
    /// All packets in all input buffers that wait for the output and lane together.
    #[default]
    Output,
    /// The packets in one input buffer that wait for the output and lane, compared with that buffer's size.
    Buffer,
}

/// Output ports that mark although they have no credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VictimMask {
    /// Those to hosts: a host that accepts packets slowly does not mark, its switch does.
    #[default]
    Hosts,
    /// None.
    None,
    /// All.
    All,
}

/// Other values for some output ports and lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortCongestion {
    /// Ports by the direction of their link: `"SW11->SW12"`; `*` stands for anything.
    pub ports: Vec<String>,
    /// Lanes; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(max = 15)), extend("x-unit" = "1"))]
    pub lanes: Option<Vec<u8>>,
    /// Threshold, 0 to 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 15), extend("x-unit" = "1/16 of a buffer", "x-allowed" = "0 (marks nothing), or 1 (late) to 15 (early, as soon as a sixteenth of a buffer is filled)"))]
    pub threshold: Option<u8>,
    /// Threshold at which the congested state is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 16), extend("x-unit" = "1/16 of a buffer"))]
    pub reset_threshold: Option<u8>,
    /// Rate at which eligible packets are marked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "packets"))]
    pub marking_rate: Option<u16>,
    /// Smallest packet that is marked, in flow-control units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "flow-control units"))]
    pub packet_size: Option<u8>,
    /// True if the port marks although it has no credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_mask: Option<bool>,
}

/// Unit with an index of its own into the congestion control table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPer {
    /// Every queue pair: every destination of a host.
    #[default]
    QueuePair,
    /// Every service level: all that a host sends in one service class.
    ServiceLevel,
}

/// Start of the timer that decreases an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerStart {
    /// Always: all indices of a host are decreased at multiples of its period.
    #[default]
    Always,
    /// From the notification that finds the index at its minimum.
    Notification,
    /// From the latest notification: each starts it anew.
    EachNotification,
}

/// The packet that an injection rate delay is relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayRelativeTo {
    /// The one that was sent before the delay.
    #[default]
    Packet,
    /// The largest one, for packets of any size.
    Mtu,
}

/// Parameters of DCQCN. The defaults are those of table 14 in Zhu et al., "Congestion Control for Large-Scale RDMA
/// Deployments", SIGCOMM 2015.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dcqcn {
    /// Queue of an output from which packets are marked.
    pub k_min: Bytes,
    /// Queue from which all packets are marked.
    pub k_max: Bytes,
    /// Probability of a mark just below `k_max`, 0 to 1.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub p_max: f64,
    /// Least time between two notifications of a flow.
    pub cnp_interval: Time,
    /// Weight of a new estimate of congestion, 0 to 1.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub g: f64,
    /// Time without a notification after which the estimate shrinks.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub alpha_timer: Time,
    /// Period of the timer that raises the rate.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub rate_timer: Time,
    /// Bytes sent after which the rate is raised.
    #[schemars(extend("x-minimum" = "1 B"))]
    pub byte_counter: Bytes,
    /// Steps of fast recovery.
    #[schemars(extend("x-unit" = "steps"))]
    pub fast_recovery: u16,
    /// Step of additive increase.
    pub additive_increase: Rate,
    /// Step of hyper increase.
    pub hyper_increase: Rate,
    /// Least rate of a flow.
    pub min_rate: Rate,
}

impl Default for Dcqcn {
    fn default() -> Self {
        let mbps =
            |n: u64| Rate::new(n * 1_000_000).unwrap_or_else(|| unreachable!("a rate within the range"));
        Self {
            k_min: Bytes(5_000),
            k_max: Bytes(200_000),
            p_max: 0.01,
            cnp_interval: Time::us(50),
            g: 1.0 / 256.0,
            alpha_timer: Time::us(55),
            rate_timer: Time::us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            additive_increase: mbps(40),
            hyper_increase: mbps(400),
            min_rate: mbps(40),
        }
    }
}
