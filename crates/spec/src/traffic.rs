use std::fmt;

use fabricsim_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::OrderingMode;

/// Largest size of a message.
pub const LARGEST_MESSAGE: Bytes = Bytes(1 << 48);

/// Largest load of a stream. More than 1 is more than the link accepts: a queue grows at the source.
pub const LARGEST_LOAD: f64 = 10.0;

/// A stream of messages on each of the sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// A name for tables and plots, and for `--set traffic.NAME.load=...` instead of the number of the entry: unique, no number.
    #[serde(default)]
    pub name: String,
    /// Sending hosts: names, patterns with `*`, groups; by default all.
    #[serde(default = "all")]
    pub sources: Vec<String>,
    /// Receiving hosts for the patterns that draw (`uniform`, `hot-spot`); by default all.
    #[serde(default = "all")]
    pub destinations: Vec<String>,
    /// Destinations of messages.
    pub pattern: Pattern,
    /// Treatment of sources whose destination would be themselves.
    #[serde(default)]
    pub self_flows: SelfFlows,
    /// Drawing of destinations: for every message, or for every packet.
    #[serde(default)]
    pub draw_per: DrawPer,
    /// Times at which messages are created.
    #[serde(default)]
    pub injection: Injection,
    /// Offered load as a fraction of the source's link rate. Give `load` or `rate`; neither for `saturating`
    /// and `window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = LARGEST_LOAD), extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub load: Option<f64>,
    /// Offered load of each source as a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// For `bernoulli`: the time slot in which a message is created or not; by default the time of the message's
    /// mean size on the source's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub slot: Option<Time>,
    /// For `on-off`: mean length of a burst (exponential).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Time>,
    /// For `on-off`: mean length of a silence (exponential).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Time>,
    /// Service class of its packets (see `switch.service_classes`).
    #[serde(default)]
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub service_class: u8,
    /// Partition of its packets; by default the default partition. Its sources are members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Size of a message: `"64 KiB"`, or a distribution.
    pub message: MessageSize,
    /// Time at which the sources start.
    #[serde(default)]
    pub start: Time,
    /// Time at which they stop creating messages; by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Total number of messages that each source creates; by default no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "messages"))]
    pub messages: Option<u64>,
    /// For `window`: messages of a source that may be without their response at once, 1 or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "messages"))]
    pub window: Option<u32>,
    /// Ordering of packets, if it differs from `transport.mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<OrderingMode>,
    /// For messages of a `transport`: their packets are not ready all at once but one by one, in each time slot of a packet of
    /// `host.mtu` on the source's link one with this probability, above 0 to 1. The load of such a source, with `injection =
    /// "saturating"`, is nearly this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub packet_load: Option<f64>,
    /// Response that the receiver of a message sends when all of it has arrived. With `window` there must be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
}

/// Response that the receiver of a message sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Its size: `"8 B"`, or a distribution.
    pub message: MessageSize,
    /// Service class of its packets (see `switch.service_classes`).
    #[serde(default)]
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub service_class: u8,
    /// From the arrival of the message's last byte to the creation of the response.
    #[serde(default)]
    pub delay: Time,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Destinations of messages. With N hosts numbered from 0; the bit patterns need N to be a power of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Any destination but oneself, with equal probability.
    Uniform,
    /// Any destination, oneself included, with equal probability.
    UniformWithSelf,
    /// The host whose coordinates are exchanged (halves of the bits without coordinates).
    Transpose,
    /// All bits of the host number inverted.
    BitComplement,
    /// The bits of the host number in reverse order.
    BitReverse,
    /// The bits of the host number rotated left by one.
    BitShuffle,
    /// Half-way round each dimension: (ceil(k/2) - 1) further.
    Tornado,
    /// One further in each dimension, wrapping.
    Neighbour,
    /// A random permutation without fixed points, drawn once from the seed.
    RandomPermutation,
    /// The i-th source sends to the i-th host of the list.
    Permutation(Vec<String>),
    /// All to one host.
    To(String),
    /// To all members of a multicast group but oneself, in one packet that switches replicate.
    Multicast(String),
    /// Some hosts are hot: they get a fraction of the messages, the rest are uniform.
    HotSpot(HotSpot),
    /// On a dragonfly or megafly: any host of the group that is this number further than the source's, wrapping (ADV+n).
    GroupOffset(#[schemars(range(min = 1), extend("x-unit" = "groups"))] u32),
}

/// Treatment of messages whose destination is their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelfFlows {
    /// No such messages: a source whose only destination is itself (the diagonal of `transpose`, the receiver of `to`) sends
    /// nothing, and patterns that draw leave the source out, but for `uniform-with-self`.
    #[default]
    Skip,
    /// Their packets go to the source's switch and back to the source; they count as offered and delivered load (BookSim).
    Send,
}

/// Hot destinations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// The hot hosts: names, patterns, groups; the hot fraction is shared equally.
    pub hosts: Vec<String>,
    /// Fraction of the messages that goes to the hot hosts, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub fraction: f64,
}

/// Drawing of destinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawPer {
    /// All packets of a message go to one host.
    #[default]
    Message,
    /// Every packet goes to a host of its own.
    Packet,
}

/// Times at which messages are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Injection {
    /// In every time slot with the probability that gives the load.
    #[default]
    Bernoulli,
    /// At exponentially distributed intervals.
    Poisson,
    /// At constant intervals; the first at `start`.
    Constant,
    /// Always one more message than can be sent ("flood").
    Saturating,
    /// At link rate in bursts, silent in between, both exponentially distributed.
    OnOff,
    /// A closed loop: `window` messages at `start`, and one more whenever a response has arrived.
    Window,
}

/// Size of a message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageSize {
    /// Always the same.
    Fixed(#[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))] Bytes),
    /// Drawn for every message.
    Drawn(SizeDistribution),
}

// Written by hand, so that a wrong size or distribution is reported with its own message.
impl<'de> Deserialize<'de> for MessageSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl<'de> Visitor<'de> for SizeVisitor {
            type Value = MessageSize;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size like \"64 KiB\", or a table with `uniform`, `choice` or `exponential`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageSize, E> {
                text.parse().map(MessageSize::Fixed).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MessageSize, A::Error> {
                SizeDistribution::deserialize(MapAccessDeserializer::new(map)).map(MessageSize::Drawn)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// A distribution of message sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizeDistribution {
    /// Every size from `min` to `max` with equal probability.
    Uniform {
        /// Smallest size.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
        min: Bytes,
        /// Largest size.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
        max: Bytes,
    },
    /// One of a list, by weight.
    Choice(Vec<WeightedSize>),
    /// Exponential, rounded up to a byte, cut at `max`.
    Exponential {
        /// Mean before cutting.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
        mean: Bytes,
        /// Largest size.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
        max: Bytes,
    },
}

/// A size and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// The size.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub size: Bytes,
    /// Its weight, relative to the others.
    #[schemars(range(min = 0.0), extend("x-unit" = "1"))]
    pub weight: f64,
}
