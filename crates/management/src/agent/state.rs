//! Physical state of ports: cables that come and go, power.

use super::{Agent, Guid, IS_SM, Lid, Mtu, Node, PKey, PKeyTable, PortInfo, PortPhysicalState, PortState};
use fabricsim_subnet::{Port, Speed};

/// Codes of widths in `PortInfo`, by lanes.
const WIDTHS: [(u8, u8); 5] = [(1, 1), (4, 2), (8, 4), (12, 8), (2, 16)];

/// `PortInfo` of a port after power-on, without a cable.
pub(super) fn port(node: &Node, number: usize) -> PortInfo {
    let given = &node.ports[number];
    let (width, speed, extended) = codes(given);
    let is_management_port = node.is_switch() && number == 0;
    PortInfo {
        lid: Lid(given.lid),
        lmc: given.lmc,
        link_width_enabled: width,
        link_width_supported: width,
        link_width_active: width,
        link_speed_supported: 7,
        link_speed_enabled: 7,
        link_speed_active: speed,
        link_speed_ext_active: extended,
        link_speed_ext_supported: extended,
        link_speed_ext_enabled: extended,
        // The management port of a switch has no link that could be down.
        port_state: if is_management_port { PortState::ACTIVE } else { PortState::DOWN },
        port_physical_state: if is_management_port {
            PortPhysicalState::LINK_UP
        } else {
            PortPhysicalState::POLLING
        },
        link_down_default_state: 2,
        vl_cap: 5,
        operational_vls: 1,
        vl_arbitration_high_cap: 64,
        vl_arbitration_low_cap: 64,
        mtu_cap: Mtu(5),
        neighbor_mtu: Mtu(1),
        guid_cap: 1,
        subnet_timeout: 18,
        response_time: 16,
        ..PortInfo::default()
    }
}

/// Codes of the width, the speed up to QDR, and the speed above. 4x QDR is assumed where nothing is known.
fn codes(port: &Port) -> (u8, u8, u8) {
    let lanes = port.width.map_or(4, fabricsim_subnet::Width::lanes);
    let width = WIDTHS.iter().find(|code| code.0 == lanes).map_or(2, |code| code.1);
    let (speed, extended) = match port.speed {
        Some(Speed::Sdr) => (1, 0),
        Some(Speed::Ddr) => (2, 0),
        None | Some(Speed::Qdr | Speed::Fdr10) => (4, 0),
        Some(Speed::Fdr) => (4, 1),
        Some(Speed::Edr) => (4, 2),
        Some(Speed::Hdr) => (4, 4),
        Some(Speed::Ndr | Speed::Xdr) => (4, 8),
    };
    (width, speed, extended)
}

impl Agent {
    /// A manager runs on a port, or on none any more.
    pub fn set_manager(&mut self, number: u8, runs: bool) {
        if let Some(port) = self.ports.get_mut(usize::from(number)) {
            port.capability_mask =
                if runs { port.capability_mask | IS_SM } else { port.capability_mask & !IS_SM };
        }
    }

    /// Sets the largest packet that a port can take: the largest size of InfiniBand that is not above `bytes`.
    pub fn set_mtu(&mut self, number: u8, bytes: u64) {
        if let Some(port) = self.ports.get_mut(usize::from(number)) {
            // Codes 1 to 5: 256 to 4096 bytes.
            port.mtu_cap = Mtu((1..=5).rev().find(|code| 128 << code <= bytes).unwrap_or(1));
        }
    }

    /// GUID of a port; all ports of a switch have that of port 0.
    pub fn port_guid(&self, number: u8) -> Guid {
        let number = if self.is_switch() { 0 } else { usize::from(number) };
        self.port_guids.get(number).copied().unwrap_or_default()
    }

    /// The link of a port has come up: it waits to be configured.
    pub fn link_up(&mut self, number: u8) {
        self.change_link(number, PortState::INIT, PortPhysicalState::LINK_UP);
    }

    /// The link of a port has failed.
    pub fn link_down(&mut self, number: u8) {
        self.change_link(number, PortState::DOWN, PortPhysicalState::POLLING);
    }

    /// A manager knows the states of all ports: their changes up to now are acknowledged.
    pub fn acknowledge_changes(&mut self) {
        if let Some(switch) = &mut self.switch {
            switch.port_state_change = false;
        }
    }

    fn change_link(&mut self, number: u8, state: PortState, physical: PortPhysicalState) {
        let Some(port) = self.ports.get_mut(usize::from(number)).filter(|_| number > 0) else { return };
        (port.port_state, port.port_physical_state) = (state, physical);
        if let Some(switch) = &mut self.switch {
            switch.port_state_change = true;
        }
    }

    /// The keys that a port has before it gets others: full membership of the default partition.
    pub(super) fn default_keys() -> PKeyTable {
        let mut keys = PKeyTable::default();
        keys.p_keys.0[0] = PKey(0xffff);
        keys
    }
}
