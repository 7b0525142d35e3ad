//! Options and counters of a manager, and what it sends.

use std::collections::BTreeMap;

use fabricsim_subnet::{Engine, Options};
use fabricsim_units::Time;
use fabricsim_wire::ids::PKey;
use fabricsim_wire::mad::smp::{DirectedSmp, Smp};

use crate::Weights;

/// Options of a manager, with OpenSM's names in brackets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Routing engine (`routing_engine`).
    pub engine: Engine,
    /// Its options.
    pub options: Options,
    /// LID mask control of adapters (`lmc`).
    pub lmc: u8,
    /// Requests outstanding at most (`max_wire_smps`).
    pub smps_on_wire: u16,
    /// Time for an answer (`transaction_timeout`).
    pub timeout: Time,
    /// Repetitions of a request without answer (`transaction_retries`).
    pub retries: u32,
    /// Time between light sweeps (`sweep_interval`); zero for none.
    pub sweep_interval: Time,
    /// Time between questions whether the master is alive (`sminfo_polling_timeout`).
    pub poll_interval: Time,
    /// Questions without an answer after which the master is lost (`polling_retry_number`).
    pub poll_retries: u32,
    /// Priority, 0 to 15 (`sm_priority`).
    pub priority: u8,
    /// Time for the computation of tables.
    pub routing_time: Time,
    /// What it sets for quality of service besides what the engine needs.
    pub quality: Quality,
    /// Multicast groups, each with the LID of its place in the list.
    pub groups: Vec<MulticastGroup>,
    /// Partitions that it sets.
    pub partitions: PartitionKeys,
}

/// A multicast group, whose members have joined before the manager starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastGroup {
    /// GUIDs of the ports that receive its packets, in ascending order.
    pub members: Vec<u64>,
    /// GUIDs of the ports that send to it, in ascending order.
    pub senders: Vec<u64>,
}

/// Quality of service that a manager sets (`qos`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Lane of each service level at all ports (`qos_sl2vl`).
    pub lanes: Option<[u8; 16]>,
    /// Weights at switches (`qos_swe_vlarb_low`, `..._high`, `qos_swe_high_limit`).
    pub of_switches: Option<Weights>,
    /// Weights at adapters (`qos_ca_...`).
    pub of_adapters: Option<Weights>,
}

/// Partitions that a manager sets besides the default one (`partition_config_file`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionKeys {
    /// P_Keys of the ports of adapters, by GUID of the node and number of the port; at most [`PartitionKeys::MOST`] each.
    pub keys: BTreeMap<(u64, u8), Vec<PKey>>,
    /// Ports of switches to adapters check packets that arrive there (`part_enforce in`).
    pub inbound: bool,
    /// They check packets that leave there (`part_enforce out`).
    pub outbound: bool,
}

impl PartitionKeys {
    /// Keys that fit in a block of a table beside that of the default partition.
    pub const MOST: usize = 31;
}

/// Counters of a manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests sent, repetitions included.
    pub sent: u64,
    /// Repetitions.
    pub repeated: u64,
    /// Requests given up.
    pub given_up: u64,
    /// Nodes that are further away than a directed route can go.
    pub unreachable: u64,
    /// Traps received.
    pub traps: u64,
    /// Light sweeps.
    pub light_sweeps: u64,
}

/// Datagram of a manager.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "it is sent at once")]
pub enum Outgoing {
    /// By directed route.
    Directed(DirectedSmp),
    /// To a LID.
    ByLid(u16, Smp),
}
