//! Broadcast of output loads by the switches of a partition, for routing that uses loads of other switches.

use fabricsim_fabric::LoadBroadcast;
use fabricsim_routing::{BroadcastOutputs, Router, RoutingFunction};
use fabricsim_units::SwitchId;

/// Output loads that a partition broadcasts.
#[derive(Clone, fabricsim_state::Value)]
pub(crate) struct Publisher {
    /// Number of the switch in the partition, its output, and the number of that among all broadcast outputs.
    pub(crate) outputs: Vec<(u32, usize, u32)>,
    /// Next epoch.
    pub(crate) epoch: u64,
}

impl Publisher {
    /// Publisher of the switches of a partition, with the load broadcast for all; `None` if the routing uses no broadcast loads.
    pub(crate) fn new(
        routing: &Router,
        switches: impl Iterator<Item = SwitchId>,
    ) -> Option<(Self, LoadBroadcast)> {
        let BroadcastOutputs { delay, outputs } = routing.broadcast_outputs()?;
        let load_broadcast = LoadBroadcast::new(outputs.len(), delay);
        let own: Vec<SwitchId> = switches.collect();
        let numbered = outputs.into_iter().enumerate();
        let outputs = numbered.filter_map(|(number, (at, port))| {
            let switch = own.iter().position(|&switch| switch == at)?;
            Some((switch as u32, port.index(), number as u32))
        });
        Some((Self { outputs: outputs.collect(), epoch: 0 }, load_broadcast))
    }
}
