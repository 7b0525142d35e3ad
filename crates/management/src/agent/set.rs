//! Attributes that a manager sets.

use fabricsim_subnet::{MAX_LID, MAX_LMC, NO_PORT};
use fabricsim_units::Vl;
use fabricsim_wire::field::Table;
use fabricsim_wire::ids::{Lid, PKey};
use fabricsim_wire::mad::smp::{
    LinearForwardingTable, PortInfo, PortState, SlToVlMappingTable, SmpAttribute, SwitchInfo,
};

use super::{Agent, BLOCK, Effect, INVALID, NOT_SUPPORTED};
use crate::Weights;

impl Agent {
    /// Sets an attribute. An error is the status of the answer; then nothing has changed.
    pub(super) fn set(
        &mut self,
        attribute: &SmpAttribute,
        modifier: u32,
        in_port: u8,
        effects: &mut Vec<Effect>,
    ) -> Result<(), u16> {
        match attribute {
            SmpAttribute::PortInfo(wanted) => self.set_port(wanted, modifier, in_port, effects),
            SmpAttribute::SwitchInfo(wanted) => self.set_switch(wanted, effects),
            SmpAttribute::LinearForwardingTable(block) => self.set_routes(block, modifier, effects),
            SmpAttribute::SLtoVLMappingTable(lanes) => {
                let ports = self.lane_ports(modifier, in_port)?;
                // Virtual lane 15 is for subnet management: a service level with it is discarded, which is said with 15.
                self.sl_to_vl.insert(ports, *lanes);
                effects.push(Effect::Lanes(ports.0, ports.1));
                Ok(())
            }
            SmpAttribute::VLArbitrationTable(half) => {
                let place = self.arbitration_half(modifier, in_port)?;
                let has_15 = half.entries.0.iter().any(|entry| entry.weight > 0 && entry.vl == Vl(15));
                if has_15 {
                    return Err(INVALID);
                }
                self.arbitration.insert(place, *half);
                effects.push(Effect::Arbitration(place.0));
                Ok(())
            }
            SmpAttribute::MulticastForwardingTable(block) => self.set_multicast(block, modifier, effects),
            SmpAttribute::P_KeyTable(keys) => {
                let place = self.key_block(modifier, in_port)?;
                self.p_keys.insert(place, *keys);
                effects.push(Effect::Keys(place.0));
                Ok(())
            }
            _ => Err(NOT_SUPPORTED),
        }
    }

    fn set_port(
        &mut self,
        wanted: &PortInfo,
        modifier: u32,
        in_port: u8,
        effects: &mut Vec<Effect>,
    ) -> Result<(), u16> {
        let number = self.port_number(modifier, in_port)?;
        let has_address = !self.is_switch() || number == 0;
        let port = self.ports.get_mut(usize::from(number)).ok_or(INVALID)?;
        if has_address && (wanted.lid.0 == 0 || wanted.lid.0 > MAX_LID || wanted.lmc > MAX_LMC) {
            return Err(INVALID);
        }
        let state = next_state(port.port_state, wanted.port_state)?;
        if has_address {
            if (port.lid, port.lmc) != (wanted.lid, wanted.lmc) {
                effects.push(Effect::Lid(number));
            }
            (port.lid, port.lmc, port.master_sm_lid) = (wanted.lid, wanted.lmc, wanted.master_sm_lid);
            (port.gid_prefix, port.m_key, port.subnet_timeout) =
                (wanted.gid_prefix, wanted.m_key, wanted.subnet_timeout);
        }
        port.neighbor_mtu = wanted.neighbor_mtu;
        port.operational_vls = wanted.operational_vls;
        if port.vl_high_limit != wanted.vl_high_limit {
            port.vl_high_limit = wanted.vl_high_limit;
            effects.push(Effect::Arbitration(number));
        }
        let enforced = (wanted.partition_enforcement_inbound, wanted.partition_enforcement_outbound);
        if enforced != (port.partition_enforcement_inbound, port.partition_enforcement_outbound) {
            (port.partition_enforcement_inbound, port.partition_enforcement_outbound) = enforced;
            effects.push(Effect::Keys(number));
        }
        (port.hoq_life, port.vl_stall_count) = (wanted.hoq_life, wanted.vl_stall_count);
        if state != port.port_state {
            port.port_state = state;
            effects.push(Effect::PortState(number));
        }
        Ok(())
    }

    fn set_switch(&mut self, wanted: &SwitchInfo, effects: &mut Vec<Effect>) -> Result<(), u16> {
        let switch = self.switch.as_mut().ok_or(NOT_SUPPORTED)?;
        if wanted.linear_fdb_top.0 >= switch.linear_fdb_cap {
            return Err(INVALID);
        }
        let (before, after) = (switch.linear_fdb_top, wanted.linear_fdb_top);
        switch.linear_fdb_top = after;
        switch.life_time_value = wanted.life_time_value;
        // The bit is cleared by writing it.
        switch.port_state_change &= !wanted.port_state_change;
        let (low, high) = (before.min(after).0, before.max(after).0);
        if low != high {
            let blocks = low / BLOCK as u16..=high / BLOCK as u16;
            effects.extend(blocks.map(|block| Effect::Routes(block * BLOCK as u16)));
        }
        Ok(())
    }

    fn set_routes(
        &mut self,
        block: &LinearForwardingTable,
        modifier: u32,
        effects: &mut Vec<Effect>,
    ) -> Result<(), u16> {
        let first = self.first_lid(modifier)?;
        if self.routes.len() < first + BLOCK {
            self.routes.resize(first + BLOCK, NO_PORT);
        }
        self.routes[first..first + BLOCK].copy_from_slice(&block.ports.0);
        effects.push(Effect::Routes(first as u16));
        Ok(())
    }

    /// LIDs of the block of 64 that begins at `first`.
    pub fn block(first: u16) -> std::ops::Range<u16> {
        first..first.saturating_add(BLOCK as u16)
    }

    /// The table of virtual lanes from an input to an output port, if a manager has set it.
    pub fn lanes(&self, input: u8, output: u8) -> Option<&Table<Vl, 16>> {
        self.sl_to_vl.get(&(input, output)).map(|SlToVlMappingTable { vls }| vls)
    }

    /// P_Keys of a port besides full membership of the default partition.
    pub fn keys(&self, port: u8) -> Vec<PKey> {
        let blocks = self.p_keys.range((port, 0)..=(port, u16::MAX));
        let keys = blocks.flat_map(|(_, block)| block.p_keys.0);
        keys.filter(|&key| key != PKey::default() && key != PKey::DEFAULT).collect()
    }

    /// Weights by which a port arbitrates; `None` if no manager has set them.
    pub fn weights(&self, port: u8) -> Option<Weights> {
        let entries = |first: u8| -> Vec<(Vl, u8)> {
            let halves =
                [first, first + 1].into_iter().filter_map(|half| self.arbitration.get(&(port, half)));
            let all = halves.flat_map(|half| half.entries.0.iter());
            all.filter(|entry| entry.weight > 0).map(|entry| (entry.vl, entry.weight)).collect()
        };
        let (low, high) = (entries(1), entries(3));
        let high_limit = self.port(port)?.vl_high_limit;
        (!low.is_empty() || !high.is_empty()).then_some(Weights { low, high, high_limit })
    }

    /// All has been lost but what the vendor has written: power was off. Ports are down.
    pub fn power_off(&mut self) {
        for port in &mut self.ports {
            (port.lid, port.lmc, port.master_sm_lid) = (Lid(0), 0, Lid(0));
            port.vl_high_limit = 0;
            (port.partition_enforcement_inbound, port.partition_enforcement_outbound) = (false, false);
        }
        for number in 1..=self.info.num_ports {
            self.link_down(number);
        }
        if let Some(switch) = &mut self.switch {
            (switch.linear_fdb_top, switch.port_state_change) = (Lid(0), false);
        }
        self.routes.clear();
        self.sl_to_vl.clear();
        self.arbitration.clear();
        self.multicast.clear();
        self.p_keys.clear();
    }
}

/// State of a port after a request for another one (section 7.2.7): a port is armed, then active; down begins anew.
fn next_state(now: PortState, wanted: PortState) -> Result<PortState, u16> {
    match (now, wanted) {
        (now, PortState::NO_CHANGE) => Ok(now),
        (PortState::INIT | PortState::ARMED, PortState::ARMED) => Ok(PortState::ARMED),
        (PortState::ARMED | PortState::ACTIVE, PortState::ACTIVE) => Ok(PortState::ACTIVE),
        // The link is trained at once: it has a cable.
        (PortState::INIT | PortState::ARMED | PortState::ACTIVE, PortState::DOWN) => Ok(PortState::INIT),
        (PortState::DOWN, PortState::DOWN) => Ok(PortState::DOWN),
        _ => Err(INVALID),
    }
}
