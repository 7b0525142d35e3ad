//! P_Key tables of the fabric, as its agents have them.

use fabricsim_engine::{Engine, SwitchPort};
use fabricsim_model::Observer;

use super::SubnetState;

impl SubnetState {
    /// Sets the tables of all ports of a node.
    pub(super) fn apply_all_keys<B: Observer>(&self, node: usize, engine: &mut Engine<B>) {
        (1..=self.nodes[node].agent.port_count()).for_each(|port| self.apply_keys(node, port, engine));
    }

    /// Sets the table of a port, and what it checks: of a host, or of a switch towards a host. After power-on it has the default partition only, and
    /// checks nothing.
    pub(super) fn apply_keys<B: Observer>(&self, node: usize, port: u8, engine: &mut Engine<B>) {
        if !engine.has_p_keys() {
            return;
        }
        let state = &self.nodes[node];
        let keys = state.agent.keys(port);
        if state.switch.is_none() {
            if let Some(host) = self.host_at(node, port) {
                engine.set_p_keys_of_host(host, &keys);
            }
            return;
        }
        let cable = state.cables.get(usize::from(port)).copied().flatten();
        let host = cable.and_then(|cable| self.host_at(cable.peer.0, cable.peer.1));
        if let (Some(host), Some(info)) = (host, state.agent.port(port)) {
            let (inbound, outbound) =
                (info.partition_enforcement_inbound, info.partition_enforcement_outbound);
            engine.set_p_keys_of_switch_port(host, &SwitchPort { keys, inbound, outbound });
        }
    }
}
