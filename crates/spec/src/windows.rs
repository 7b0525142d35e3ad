//! Parameters of congestion control with windows: Swift, HPCC, NSCC.

use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
/// 2020, algorithm 1 and section 3.1), named as there. Only the delay of the fabric counts: a host accepts packets as they come, or
/// its link's buffer fills.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Swift {
    /// Target of the round trip for a large window and no hops. By default twice `congestion_control.base_rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub base_target: Option<Time>,
    /// Added to the target for each switch on the way.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub hop_target: Time,
    /// Largest addition to the target for small windows: flow-based scaling. By default four times the base target, as in
    /// the paper (100 us and 25 us).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub fs_range: Option<Time>,
    /// Window in packets up to which all of `fs_range` is added.
    #[schemars(range(min = 0.001, max = 1000000.0), extend("x-unit" = "packets"))]
    pub fs_min_cwnd: f64,
    /// Window in packets from which none of it is added.
    #[schemars(range(min = 0.001, max = 1000000.0), extend("x-unit" = "packets"))]
    pub fs_max_cwnd: f64,
    /// Additive increase, in packets for each round trip.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "packets"))]
    pub ai: f64,
    /// Multiplicative decrease for each part of the delay beyond the target.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub beta: f64,
    /// Largest part by which the window decreases in a round trip.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub max_mdf: f64,
    /// Smallest window, in packets; below 1 a packet is sent every round trip divided by the window.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "packets"))]
    pub min_cwnd: f64,
    /// Largest window, in packets.
    #[schemars(range(min = 1.0, max = 1000000.0), extend("x-unit" = "packets"))]
    pub max_cwnd: f64,
}

impl Default for Swift {
    fn default() -> Self {
        Self {
            base_target: None,
            hop_target: Time::ZERO,
            fs_range: None,
            fs_min_cwnd: 0.1,
            fs_max_cwnd: 100.0,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd: 0.001,
            max_cwnd: 1000.0,
        }
    }
}

/// Parameters of HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1), with the defaults of its
/// section 5.1. Switches add the state of their outputs to packets (in-band network telemetry).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hpcc {
    /// Target utilisation of links (eta).
    #[schemars(range(min = 0.01, max = 1.0), extend("x-unit" = "1"))]
    pub eta: f64,
    /// Rounds of additive increase before a multiplicative one (maxStage).
    #[schemars(range(min = 0, max = 1000), extend("x-unit" = "1"))]
    pub max_stage: u16,
    /// Additive increase of the window (W_AI). By default what `flows` flows can share of the part of the bandwidth-delay product
    /// beyond `eta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 B", "x-allowed" = "at least 1 B, so that a flow can grow"))]
    pub additive_increase: Option<Bytes>,
    /// Number of flows at a bottleneck for which the default of `additive_increase` is computed (N).
    #[schemars(range(min = 1, max = 65535), extend("x-unit" = "flows"))]
    pub flows: u16,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self { eta: 0.95, max_stage: 5, additive_increase: None, flows: 100 }
    }
}

/// Parameters of NSCC, the network-signal congestion control of Ultra Ethernet (specification 1.0, 2025, section 3.6.13), with the
/// factors of its reference simulator htsim. Where the specification scales by the bandwidth-delay product, so do the defaults here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nscc {
    /// Target of the queueing delay. By default `congestion_control.base_rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub target_delay: Option<Time>,
    /// Queue of an output from which packets are marked. By default a fifth of the bandwidth-delay product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_min: Option<Bytes>,
    /// Queue from which all packets are marked. By default four fifths of the bandwidth-delay product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_max: Option<Bytes>,
    /// Multiplicative decrease for each part of the delay beyond the target (gamma).
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub gamma: f64,
    /// Weight of a new delay in its mean.
    #[schemars(range(min = 0.0001, max = 1.0), extend("x-unit" = "1"))]
    pub delay_weight: f64,
    /// Factor of the proportional increase, below the target and without marks (alpha).
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "1"))]
    pub proportional_increase: f64,
    /// Factor of the fair increase, above the target and without marks.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "1"))]
    pub fair_increase: f64,
    /// Factor of the increase in each period of adjustment (eta).
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "1"))]
    pub eta: f64,
    /// Fraction of the acknowledged bytes by which the window grows if there is no queue at all.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-unit" = "1"))]
    pub fast_increase: f64,
    /// Delay, in targets, from which the window is set to the bytes delivered in a round trip (quick adapt).
    #[schemars(range(min = 1.0, max = 1000.0), extend("x-unit" = "target delays"))]
    pub quick_adapt: f64,
    /// Largest window, in bandwidth-delay products.
    #[schemars(range(min = 0.1, max = 100.0), extend("x-unit" = "bandwidth-delay products"))]
    pub max_window: f64,
}

impl Default for Nscc {
    fn default() -> Self {
        Self {
            target_delay: None,
            k_min: None,
            k_max: None,
            gamma: 0.8,
            delay_weight: 0.0125,
            proportional_increase: 4.0,
            fair_increase: 5.0,
            eta: 0.15,
            fast_increase: 0.25,
            quick_adapt: 4.0,
            max_window: 1.5,
        }
    }
}
