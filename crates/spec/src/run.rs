use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phases, end, execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time before the measurement.
    #[serde(default)]
    pub warmup: Time,
    /// Length of the measurement; with `steady_state`, the longest.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-allowed" = "a time above 0, for example \"1 us\""))]
    pub duration: Time,
    /// Phase after the measurement.
    #[serde(default)]
    pub drain: Drain,
    /// Longest drain; by default ten times warm-up and duration together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "6048000 s"))]
    pub drain_limit: Option<Time>,
    /// End the measurement as soon as the mean latency is known this well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// Partitions that the fabric is divided into, each with its own event queue. The result does not depend on their number.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "partitions"))]
    pub partitions: u32,
    /// Threads that advance the partitions, of which there are at least as many. They take part where windows hold enough events. The result
    /// does not depend on their number. By default, `fabricsim run` uses all cores where that clearly pays, and a sweep one for each point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "threads"))]
    pub threads: Option<u32>,
    /// Run although the channel dependency graph has a cycle.
    #[serde(default)]
    pub allow_deadlock: bool,
}

const fn one() -> u32 {
    1
}

/// Phase after the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// The run ends; packets in flight are reported as in flight.
    #[default]
    None,
    /// Sources go on until every packet created during the measurement has arrived.
    Measured,
    /// Sources stop, and the network empties.
    Empty,
}

/// Steady-state detection by batch means: the warm-up is prolonged until neither the mean latency nor the throughput of batches drifts (of the two,
/// what `of` needs), the measurement ends when all confidence intervals are narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SteadyState {
    /// Required half-width of each confidence interval, relative to the value.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0, "x-unit" = "1"))]
    pub precision: f64,
    /// What the measurement makes known this well: numbers of the summary.
    #[schemars(length(min = 1))]
    pub of: Vec<SteadyMetric>,
    /// Confidence level.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0, "x-unit" = "1"))]
    pub confidence: f64,
    /// Length of a batch; by default a fortieth of `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub batch: Option<Time>,
}

impl Default for SteadyState {
    fn default() -> Self {
        Self { precision: 0.02, of: vec![SteadyMetric::LatencyMean], confidence: 0.95, batch: None }
    }
}

/// Number of the summary whose precision may end a measurement. Those of latency are of the packets delivered in the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SteadyMetric {
    /// The mean latency.
    #[serde(rename = "latency_ns.mean")]
    LatencyMean,
    /// The median of the latency.
    #[serde(rename = "latency_ns.p50")]
    LatencyP50,
    /// The latency that 99 of 100 packets do not exceed.
    #[serde(rename = "latency_ns.p99")]
    LatencyP99,
    /// The latency that 999 of 1000 packets do not exceed.
    #[serde(rename = "latency_ns.p999")]
    LatencyP999,
    /// The throughput of the whole fabric.
    #[serde(rename = "accepted_gbps")]
    AcceptedGbps,
}

impl SteadyMetric {
    /// Its name in the summary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LatencyMean => "latency_ns.mean",
            Self::LatencyP50 => "latency_ns.p50",
            Self::LatencyP99 => "latency_ns.p99",
            Self::LatencyP999 => "latency_ns.p999",
            Self::AcceptedGbps => "accepted_gbps",
        }
    }

    /// The thousandths of the packets that do not exceed it, if it is a quantile of the latency.
    pub const fn per_mille(self) -> Option<u32> {
        match self {
            Self::LatencyP50 => Some(500),
            Self::LatencyP99 => Some(990),
            Self::LatencyP999 => Some(999),
            Self::LatencyMean | Self::AcceptedGbps => None,
        }
    }
}

/// Selection of what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Width of a time bin of the series; by default the whole run divided by 140.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub bin: Option<Time>,
    /// Flows that are recorded on their own.
    pub flows: FlowDetail,
    /// Time series per link as well as counters.
    pub link_series: bool,
    /// Without congestion control: a virtual lane of an output counts as congested, in tables of congestion trees, when
    /// more waits for it than this part of an input buffer, above 0. With congestion control its threshold is used.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1", "x-allowed" = "a part of an input buffer above 0, for example 0.5"))]
    pub congestion_fill: f64,
    /// Interval between samples of congestion trees; by default a hundredth of `run.duration` (a 25th where directions of links have more than
    /// 524288 lanes in all), and in a drain that lasts longer than that a hundredth of its time so far. A run that may end early, with its jobs or
    /// in its steady state, begins with a 64th of that (a 16th), which doubles after 40 samples and then after every 20. With fewer than 20
    /// samples in the measurement no times are computed from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub congestion_interval: Option<Time>,
    /// Performance counters of every port of every switch, as the SeaStar router has them (Abts & Weisser, SC07, table 4):
    /// tables `router_ports` and `router_dimensions`. Their cycle is `switch.age.cycle`.
    pub router_counters: bool,
    /// Counters of every port of every switch and adapter by their names in InfiniBand (`PortXmitData`, `PortXmitWait`, ...), as `perfquery`
    /// prints them: table `port_counters`.
    pub port_counters: bool,
    /// With a `transport` that orders: number of first events of its packets at hosts that are recorded one by one, for sequence
    /// charts (table `exchanges`), 0 to 1000000.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-unit" = "events"))]
    pub exchanges: u32,
    /// Packets that are recorded link by link (table `packet_hops`), by sender and receiver: `"H0 -> H5"`, each a name or a pattern with
    /// `*`. With `"H0 -> H5 #17"` only packet 17 of the sender, counted from 0 as in captures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<String>,
    /// Maximum number of rows of the table `packet_hops`, one for each link that a packet crosses, 1 to 10000000. Later ones are counted.
    #[serde(skip_serializing_if = "is_default_number_of_hops")]
    #[schemars(range(min = 1, max = 10_000_000), extend("x-unit" = "rows"))]
    pub packet_hops: u32,
}

/// Rows of the table `packet_hops` at most, by default.
const PACKET_HOPS: u32 = 100_000;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_default_number_of_hops(number: &u32) -> bool {
    *number == PACKET_HOPS
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            bin: None,
            flows: FlowDetail::Auto,
            link_series: false,
            congestion_fill: 0.5,
            congestion_interval: None,
            router_counters: false,
            port_counters: false,
            exchanges: 0,
            packets: Vec::new(),
            packet_hops: PACKET_HOPS,
        }
    }
}

/// Flows that are recorded on their own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, fabricsim_state::Value,
)]
#[serde(rename_all = "kebab-case")]
pub enum FlowDetail {
    /// Every (source, destination) pair while there are at most 4096, else one flow per source.
    #[default]
    Auto,
    /// Every (source, destination) pair that occurs.
    Pairs,
    /// One flow per source.
    Sources,
}
