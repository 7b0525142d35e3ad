use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Adapter, Capture, CongestionControl, Faults, Host, Job, Links, Measure, Mpi, MulticastGroup, Partition,
    QueuePairs, Routing, RoutingEngine, Run, SubnetManager, Sweep, Switch, Switches, Topology, Traffic,
    Transport, Tune,
};

/// One experiment: a network, its traffic, and the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// A line for tables and plots.
    #[serde(default)]
    pub title: String,
    /// Purpose of the experiment, and sources of its numbers.
    #[serde(default)]
    pub description: String,
    /// The seed of every random stream. Same experiment, same seed: same bits.
    #[serde(default = "one")]
    #[schemars(extend("x-unit" = "1"))]
    pub seed: u64,
    /// Switches, hosts and cables.
    pub topology: Topology,
    /// Rate, latency and buffers of the links.
    #[serde(default)]
    pub links: Links,
    /// Properties of every switch.
    #[serde(default)]
    pub switch: Switch,
    /// Switches that have failed.
    #[serde(default, skip_serializing_if = "Switches::is_empty")]
    pub switches: Switches,
    /// Sending and receiving at every host.
    #[serde(default)]
    pub host: Host,
    /// Ordering and completeness of messages.
    #[serde(default)]
    pub transport: Transport,
    /// Queue pairs of InfiniBand, by which hosts send their messages; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_pairs: Option<QueuePairs>,
    /// Channel adapters of programs that use verbs.
    #[serde(default)]
    pub adapter: Adapter,
    /// Protocols and processor times of MPI, of rank programs.
    #[serde(default)]
    pub mpi: Mpi,
    /// Routing of packets.
    #[serde(default)]
    pub routing: Routing,
    /// Congestion control: rate limits of sources when the fabric is congested.
    #[serde(default)]
    pub congestion_control: CongestionControl,
    /// Links and switches that fail while traffic flows.
    #[serde(default)]
    pub faults: Faults,
    /// InfiniBand's subnet manager in packets; none by default: forwarding tables are there from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_manager: Option<SubnetManager>,
    /// Names for sets of hosts, each a list of host names, patterns with `*`, or other groups.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Partitions of an InfiniBand subnet, besides the default one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<Partition>,
    /// Multicast groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub multicast_groups: Vec<MulticastGroup>,
    /// Traffic. Every entry is a stream of messages on each of its sources.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
    /// Parallel programs whose ranks wait for each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Phases, end, execution.
    pub run: Run,
    /// Selection of what is recorded.
    #[serde(default)]
    pub measure: Measure,
    /// Packets that cross chosen links, as a file for Wireshark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Points that `fabricsim sweep` runs.
    #[serde(default)]
    pub sweep: Sweep,
    /// Objectives and parameters of `fabricsim tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tune>,
}

impl Experiment {
    /// LID mask control: a host has two to the power of this LIDs.
    pub fn lmc(&self) -> u8 {
        self.subnet_manager.as_ref().map_or(self.routing.lmc, |manager| manager.lmc)
    }

    /// Number of service levels that traffic may have, if SL2VL tables say their virtual lanes. `None` without such tables: each
    /// service class has lanes of its own.
    pub fn service_levels(&self) -> Option<u8> {
        use RoutingEngine::{Dfsssp, Lash, Nue, Torus2Qos};
        let Routing { engine, path_sls, sl2vl: file, .. } = &self.routing;
        let number = match (&self.switch.sl2vl, file) {
            (Some(lanes), _) => lanes.len().clamp(1, 16) as u8,
            (None, Some(_)) => 16,
            (None, None) if *engine == Some(Torus2Qos) => 1,
            (None, None) => return None,
        };
        let are_of_paths = path_sls.is_some() || matches!(engine, Some(Dfsssp | Lash | Nue | Torus2Qos));
        Some(if are_of_paths { 1 } else { number })
    }
}

const fn one() -> u64 {
    1
}
