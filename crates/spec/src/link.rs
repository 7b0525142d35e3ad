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
    /// Links along a dimension of a grid or hypercube: `"0"`, `"1"`, ... or `"x"`, `"y"`, `"z"`.
    pub dimension: BTreeMap<String, LinkOverride>,
    /// Links between two levels of a fat tree: `"1"` joins level 1 (leaf switches) and level 2.
    pub level: BTreeMap<String, LinkOverride>,
    /// Single links by the names of their ends: `"SW11-SW12"`. Either order.
    pub named: BTreeMap<String, LinkOverride>,
}

/// What a link is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParameters {
    /// Data rate after line encoding, each direction.
    pub rate: Rate,
    /// Propagation latency, each direction; at least 1 ps.
    pub latency: Time,
    /// Input buffer at each receiving end, per virtual lane.
    pub buffer: Bytes,
    /// Bytes that a packet occupies on the link beyond its own (flow-control packets, delimiters).
    pub packet_overhead: Bytes,
    /// Packets that a switch's input port can send to outputs at once (input speed-up; the thesis'
    /// `maxBeingSent`); 0: as many as there are outputs.
    pub reads: u16,
}

impl Default for LinkParameters {
    fn default() -> Self {
        Self {
            rate: Rate::new(100_000_000_000).unwrap_or_else(|| unreachable!("within the range of rates")),
            latency: Time::ns(10),
            buffer: Bytes(32 * 1024),
            packet_overhead: Bytes(0),
            reads: 1,
        }
    }
}

/// Some of a link's parameters.
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
}

impl LinkOverride {
    /// Replaces what this override gives.
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
    }
}
