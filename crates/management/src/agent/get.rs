//! Attributes that the agent reports.

use fabricsim_subnet::NO_PORT;
use fabricsim_wire::field::Table;
use fabricsim_wire::mad::smp::{
    GuidInfo, LinearForwardingTable, NodeInfo, PKeyTable, PortInfo, SmpAttribute,
};

use super::{Agent, BLOCK, INVALID, NOT_SUPPORTED};

/// An attribute, or the status that says why there is none.
type Found = Result<SmpAttribute, u16>;

impl Agent {
    /// The attribute of the kind of `requested`.
    pub(super) fn get(&self, requested: &SmpAttribute, modifier: u32, in_port: u8) -> Found {
        match requested {
            SmpAttribute::NodeDescription(_) => Ok(SmpAttribute::NodeDescription(self.description)),
            SmpAttribute::NodeInfo(_) => Ok(SmpAttribute::NodeInfo(self.node_info(in_port))),
            SmpAttribute::SwitchInfo(_) => self.switch.map(SmpAttribute::SwitchInfo).ok_or(NOT_SUPPORTED),
            SmpAttribute::GUIDInfo(_) => Ok(self.guid_info(modifier, in_port)),
            SmpAttribute::PortInfo(_) => self.port_info(modifier, in_port).map(SmpAttribute::PortInfo),
            SmpAttribute::P_KeyTable(_) => {
                let key = self.key_block(modifier, in_port)?;
                let found = self.p_keys.get(&key).copied();
                let initial = || if key.1 == 0 { Self::default_keys() } else { PKeyTable::default() };
                Ok(SmpAttribute::P_KeyTable(found.unwrap_or_else(initial)))
            }
            SmpAttribute::SLtoVLMappingTable(_) => {
                let found = self.sl_to_vl.get(&self.lane_ports(modifier, in_port)?).copied();
                Ok(SmpAttribute::SLtoVLMappingTable(found.unwrap_or_default()))
            }
            SmpAttribute::VLArbitrationTable(_) => {
                let found = self.arbitration.get(&self.arbitration_half(modifier, in_port)?).copied();
                Ok(SmpAttribute::VLArbitrationTable(found.unwrap_or_default()))
            }
            SmpAttribute::MulticastForwardingTable(_) => {
                self.get_multicast(modifier).map(SmpAttribute::MulticastForwardingTable)
            }
            SmpAttribute::LinearForwardingTable(_) => {
                let first = self.first_lid(modifier)?;
                let entry = |offset: usize| self.routes.get(first + offset).copied().unwrap_or(NO_PORT);
                let ports = Table(std::array::from_fn(entry));
                Ok(SmpAttribute::LinearForwardingTable(LinearForwardingTable { ports }))
            }
            _ => Err(NOT_SUPPORTED),
        }
    }

    fn node_info(&self, in_port: u8) -> NodeInfo {
        NodeInfo { port_guid: self.port_guid(in_port.max(1)), local_port_num: in_port, ..self.info }
    }

    fn port_info(&self, modifier: u32, in_port: u8) -> Result<PortInfo, u16> {
        let number = self.port_number(modifier, in_port)?;
        let port = self.ports.get(usize::from(number)).ok_or(INVALID)?;
        Ok(PortInfo { local_port_num: in_port, ..*port })
    }

    /// Port that the modifier of `PortInfo` selects: for an adapter 0 is the one on which the request arrived.
    pub(super) fn port_number(&self, modifier: u32, in_port: u8) -> Result<u8, u16> {
        let number = u8::try_from(modifier & 0xff).unwrap_or(u8::MAX);
        if number > self.info.num_ports {
            return Err(INVALID);
        }
        Ok(if number == 0 && !self.is_switch() { in_port.max(1) } else { number })
    }

    fn guid_info(&self, modifier: u32, in_port: u8) -> SmpAttribute {
        let mut found = GuidInfo::default();
        if modifier == 0 {
            found.guids.0[0] = self.port_guid(in_port.max(1));
        }
        SmpAttribute::GUIDInfo(found)
    }

    /// Port and block of a table of partition keys.
    pub(super) fn key_block(&self, modifier: u32, in_port: u8) -> Result<(u8, u16), u16> {
        let (port, block) = ((modifier >> 16) as u8, modifier as u16);
        if port > self.info.num_ports || block >= self.info.partition_cap.div_ceil(32) {
            return Err(INVALID);
        }
        Ok((if self.is_switch() { port } else { in_port.max(1) }, block))
    }

    /// Input and output port of a table of virtual lanes; adapters have one for each port.
    pub(super) fn lane_ports(&self, modifier: u32, in_port: u8) -> Result<(u8, u8), u16> {
        let (input, output) = ((modifier >> 8) as u8, modifier as u8);
        if !self.is_switch() {
            return Ok((0, in_port.max(1)));
        }
        if input.max(output) > self.info.num_ports { Err(INVALID) } else { Ok((input, output)) }
    }

    /// Port and half, 1 to 4, of an arbitration table.
    pub(super) fn arbitration_half(&self, modifier: u32, in_port: u8) -> Result<(u8, u8), u16> {
        let (half, port) = ((modifier >> 16) as u8, modifier as u8);
        if !(1..=4).contains(&half) || port > self.info.num_ports {
            return Err(INVALID);
        }
        Ok((if self.is_switch() { port } else { in_port.max(1) }, half))
    }

    /// First LID of a block of the linear forwarding table.
    pub(super) fn first_lid(&self, modifier: u32) -> Result<usize, u16> {
        let switch = self.switch.ok_or(NOT_SUPPORTED)?;
        let first = (modifier as usize).saturating_mul(BLOCK);
        if first < usize::from(switch.linear_fdb_cap) { Ok(first) } else { Err(INVALID) }
    }
}
