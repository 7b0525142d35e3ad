use std::collections::BTreeMap;

use fabricsim_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of all links, then of classes of links, then of single links: the more specific wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Links {
    /// All links.
    pub all: LinkParameters,
    /// Links between a host and a switch.
    pub hosts: LinkOverride,
    /// Links along a dimension of a grid, hypercube or HyperX: `"0"`, `"1"`, ... or `"x"`, `"y"`, `"z"`.
    pub dimension: BTreeMap<String, LinkOverride>,
    /// Links between two levels of a fat tree: `"1"` joins level 1 (leaf switches) and level 2.
    pub level: BTreeMap<String, LinkOverride>,
    /// Links of a dragonfly or megafly: `local` within a group, `global` between groups.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kind: BTreeMap<String, LinkOverride>,
    /// Single links by the names of their ends: `"SW11-SW12"`, in either order; or by a port of a switch, its physical number: `"SW11/3"`.
    pub named: BTreeMap<String, LinkOverride>,
    /// Links that have failed, by the names of their ends as in `named`: they carry nothing. `look-up-tables`, `shortest-path`
    /// and `opensm` find routes around them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Consequence of bit errors.
    pub errors: LinkErrors,
    /// Retransmission by links with a bit error rate, with `errors = "retry"`.
    pub retry: LinkRetry,
}

/// Consequence of bit errors on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkErrors {
    /// The link layer retransmits what fails (`links.retry`): nothing is lost.
    #[default]
    Retry,
    /// A packet with a bit error is lost at the end of the link, which finds it by the packet's CRC (InfiniBand: VCRC). Only a transport
    /// retransmits it.
    Lose,
}

/// The link layer of links with errors: go-back-N, by default in micropackets as the Cray SeaStar's (Abts & Weisser, SC07,
/// section 1.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkRetry {
    /// Bytes of a packet in a micropacket, the unit that is checked, acknowledged and retransmitted.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "4096 B"))]
    pub data: Bytes,
    /// Bits of a micropacket on the wire, each of which can fail; the link's rate does not depend on them.
    #[schemars(range(min = 8, max = 65536), extend("x-unit" = "bits"))]
    pub bits: u32,
    /// Micropackets that may be in flight without an acknowledgement. They must cover the round trip: the way there and
    /// back, a micropacket each way, and the delay. By default the number that this takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "micropackets"))]
    pub window: Option<u32>,
    /// Time that both ends take together, from the last bit of a micropacket to the answer and from that to the first bit
    /// of the repetition.
    #[schemars(extend("x-maximum" = "1 ms"))]
    pub delay: Time,
}

impl Default for LinkRetry {
    fn default() -> Self {
        Self { data: Bytes(16), bits: 168, window: None, delay: Time::ZERO }
    }
}

impl LinkRetry {
    /// Time of a micropacket on a link.
    pub fn micropacket(&self, link: &LinkParameters) -> Time {
        link.rate.byte_time().duration(self.data.0 as u32)
    }

    /// From the start of a micropacket on a link to the start of its repetition, or of the micropacket that its acknowledgement releases.
    pub fn round_trip(&self, link: &LinkParameters) -> Time {
        (link.latency + self.micropacket(link)) * 2 + self.delay
    }

    /// Chance that a micropacket fails on a link, so that it is retransmitted.
    pub fn failure(&self, link: &LinkParameters) -> f64 {
        -(f64::from(self.bits) * (-link.bit_error_rate).ln_1p()).exp_m1()
    }

    /// Part of its rate that a link carries at best, always busy with whole micropackets: each failure costs a round trip.
    pub fn throughput(&self, link: &LinkParameters) -> f64 {
        let failure = self.failure(link);
        let cost = self.round_trip(link).0 as f64 / self.micropacket(link).0.max(1) as f64;
        (1.0 - failure) / (1.0 - failure + failure * cost)
    }

    /// The least window with which a link without errors never waits for acknowledgements.
    pub fn least_window(&self, link: &LinkParameters) -> u64 {
        self.round_trip(link).0.div_ceil(self.micropacket(link).0.max(1))
    }
}

/// Parameters of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParameters {
    /// Data rate after line encoding, each direction.
    pub rate: Rate,
    /// Propagation latency, each direction; at least 1 ps.
    #[schemars(extend("x-minimum" = "1 ps", "x-maximum" = "1 s", "x-refusal" = "a link takes at least 1 ps, and at most 1 s"))]
    pub latency: Time,
    /// Input buffer at each receiving end, per virtual lane.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "1 GiB"))]
    pub buffer: Bytes,
    /// Bytes that a packet occupies on the link beyond its own (flow-control packets, delimiters).
    #[schemars(extend("x-maximum" = "64 KiB"))]
    pub packet_overhead: Bytes,
    /// Packets that a switch's input port can send to outputs at once (input speed-up; the thesis'
    /// `maxBeingSent`); 0: the number of outputs.
    #[schemars(extend("x-unit" = "packets"))]
    pub reads: u16,
    /// Chance that a bit on the wire fails, in each direction: from 0 to 0.001. The consequence is in `links.errors`: by default,
    /// failed micropackets are retransmitted.
    #[schemars(range(min = 0.0, max = 0.001), extend("x-unit" = "1"))]
    pub bit_error_rate: f64,
    /// Largest packet, in each direction, from 1 B to 1 MiB (InfiniBand: `PortInfo.NeighborMTU`). By default `host.mtu`, or more. Sources cut messages
    /// at the smallest of their path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "1 MiB"))]
    pub mtu: Option<Bytes>,
}

impl Default for LinkParameters {
    fn default() -> Self {
        Self {
            rate: Rate::new(100_000_000_000).unwrap_or_else(|| unreachable!("within the range of rates")),
            latency: Time::ns(10),
            buffer: Bytes(32 * 1024),
            packet_overhead: Bytes(0),
            reads: 1,
            bit_error_rate: 0.0,
            mtu: None,
        }
    }
}

/// A subset of a link's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkOverride {
    /// See [`LinkParameters::rate`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// See [`LinkParameters::latency`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Time>,
    /// See [`LinkParameters::buffer`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// See [`LinkParameters::packet_overhead`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_overhead: Option<Bytes>,
    /// See [`LinkParameters::reads`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<u16>,
    /// See [`LinkParameters::bit_error_rate`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// See [`LinkParameters::mtu`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

impl LinkOverride {
    /// Replaces the parameters that this override gives.
    pub fn apply(&self, parameters: &mut LinkParameters) {
        fn set<T: Clone>(value: Option<&T>, target: &mut T) {
            if let Some(value) = value {
                *target = value.clone();
            }
        }
        set(self.rate.as_ref(), &mut parameters.rate);
        set(self.latency.as_ref(), &mut parameters.latency);
        set(self.buffer.as_ref(), &mut parameters.buffer);
        set(self.packet_overhead.as_ref(), &mut parameters.packet_overhead);
        set(self.reads.as_ref(), &mut parameters.reads);
        set(self.bit_error_rate.as_ref(), &mut parameters.bit_error_rate);
        if self.mtu.is_some() {
            parameters.mtu = self.mtu;
        }
    }
}
