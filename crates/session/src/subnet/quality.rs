//! SL2VL tables and VL arbitration of the fabric, as its agents have them.

use std::sync::Arc;

use fabricsim_engine::{Engine, VlTables};
use fabricsim_management::Weights;
use fabricsim_model::Observer;
use fabricsim_units::Vl;

use super::SubnetState;

/// Number of service levels.
const LEVELS: u8 = 16;

impl SubnetState {
    /// Sets all SL2VL tables and weights of a node.
    pub(super) fn apply_quality<B: Observer>(&self, node: usize, engine: &mut Engine<B>) {
        let agent = &self.nodes[node].agent;
        let ports = 1..=agent.port_count();
        for output in ports.clone() {
            self.apply_weights(node, output, engine);
            let inputs = if agent.is_switch() { ports.clone() } else { 0..=0 };
            inputs.for_each(|input| self.apply_lanes(node, (input, output), engine));
        }
    }

    /// Sets the SL2VL table from an input to an output. After power-on the lane of a level is its number modulo that of the lanes.
    pub(super) fn apply_lanes<B: Observer>(
        &self,
        node: usize,
        (input, output): (u8, u8),
        engine: &mut Engine<B>,
    ) {
        let state = &self.nodes[node];
        let set = state.agent.lanes(input, output);
        let lane = |level: usize| set.map_or(level as u8 % self.plan.lanes, |table| table.0[level].0);
        let lanes: [u8; LEVELS as usize] = std::array::from_fn(lane);
        let Some(switch) = state.switch else {
            if let Some(host) = self.host_at(node, output) {
                engine.set_lanes_of_host(host, lanes);
            }
            return;
        };
        let port = |number| self.plan.identity.port(switch, number);
        if let (Some(input), Some(output)) = (port(input), port(output)) {
            engine.set_lanes_of_switch(switch, (input, output), lanes);
        }
    }

    /// Sets the weights by which a port arbitrates. After power-on every lane has the same.
    pub(super) fn apply_weights<B: Observer>(&self, node: usize, port: u8, engine: &mut Engine<B>) {
        let state = &self.nodes[node];
        let equal = || Weights {
            low: (0..self.plan.lanes).map(|lane| (Vl(lane), 1)).collect(),
            ..Weights::default()
        };
        let Weights { low, high, high_limit } = state.agent.weights(port).unwrap_or_else(equal);
        let tables = Arc::new(VlTables { high, low, high_limit });
        match state.switch {
            Some(switch) => {
                if let Some(output) = self.plan.identity.port(switch, port) {
                    engine.set_vl_tables(switch, output, &tables);
                }
            }
            None => {
                if let Some(host) = self.host_at(node, port) {
                    engine.set_vl_tables_of_host(host, &tables);
                }
            }
        }
    }
}
