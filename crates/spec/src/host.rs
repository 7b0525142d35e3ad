use fabricsim_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VlArbitration;

/// Sending and receiving at every host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// Largest packet, headers included. Messages are cut into packets of at most this size.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "1 MiB"))]
    pub mtu: Bytes,
    /// Messages of a host that may be in the course of sending at once, served in turn packet by packet; with 1,
    /// a blocked message blocks all behind it (head of line at the source).
    #[schemars(range(min = 1), extend("x-unit" = "messages", "x-refusal" = "a host has 1 open message or more"))]
    pub open_messages: u16,
    /// Rate at which the host reads received packets from the input buffer.
    pub sink: Sink,
    /// InfiniBand's arbitration among the virtual lanes of adapters; by default open messages take turns, whatever their lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vl_arbitration: Option<VlArbitration>,
    /// Maximum number of pending responses of a host, 1 or more. While this number of responses has been created and not wholly sent,
    /// requests stay in its input buffer, with the packets behind them on their virtual lane. By default no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "responses", "x-refusal" = "give room for 1 response or more"))]
    pub response_queue: Option<u32>,
    /// Messages between ranks of a job on the same host (`jobs.ranks_per_host`): over NVLink, PCIe, or shared memory.
    #[serde(skip_serializing_if = "is_default_local")]
    pub local: LocalLink,
}

/// The way between ranks on the same host. It is no part of the network: each rank sends its messages one after the other, whatever other ranks do. What
/// a sequence does beside its computing (`overlap`), and the messages of its pipeline, have each a way of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalLink {
    /// Rate at which a rank sends; by default bytes take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time of a message besides that of its bytes.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub latency: Time,
}

fn is_default_local(local: &LocalLink) -> bool {
    *local == LocalLink::default()
}

impl Default for Host {
    fn default() -> Self {
        Self {
            mtu: Bytes(2048),
            open_messages: 1,
            sink: Sink::default(),
            vl_arbitration: None,
            response_queue: None,
            local: LocalLink::default(),
        }
    }
}

/// The receiving side of a host. By default it accepts packets as fast as they come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sink {
    /// Rate of the host bus behind the input buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The sink works this long, then pauses (the thesis' `hiccupDelay`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "604800 s"))]
    pub pause_every: Option<Time>,
    /// Length of a pause (the thesis' `hiccupDuration`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "604800 s"))]
    pub pause_for: Option<Time>,
}
