//! Multicast forwarding tables of the fabric, as its agents have them.

use std::ops::Range;

use fabricsim_engine::Engine;
use fabricsim_management::{Agent, MulticastGroup};
use fabricsim_model::Observer;

use super::SubnetState;

impl SubnetState {
    /// Sets the tables of a switch for the groups of the block of multicast LIDs that begins at `first`.
    pub(super) fn apply_multicast_block<B: Observer>(&self, node: usize, first: u16, engine: &mut Engine<B>) {
        let lids = Agent::multicast_lids(first);
        let groups = 0..engine.multicast_groups();
        self.apply_groups(node, groups, |lid| lids.contains(&lid), engine);
    }

    /// Sets the tables of a switch for all groups.
    pub(super) fn apply_multicast<B: Observer>(&self, node: usize, engine: &mut Engine<B>) {
        self.apply_groups(node, 0..engine.multicast_groups(), |_| true, engine);
    }

    fn apply_groups<B: Observer>(
        &self,
        node: usize,
        groups: Range<u16>,
        is_chosen: impl Fn(u16) -> bool,
        engine: &mut Engine<B>,
    ) {
        let state = &self.nodes[node];
        let Some(switch) = state.switch else { return };
        for group in groups.filter(|&group| is_chosen(MulticastGroup::lid(group))) {
            let ports = state.agent.multicast_ports(MulticastGroup::lid(group));
            let ports: Vec<_> =
                ports.into_iter().filter_map(|port| self.plan.identity.port(switch, port)).collect();
            engine.set_multicast_ports(switch, group, &ports);
        }
    }
}
