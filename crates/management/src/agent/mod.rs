//! Subnet management agent: what a node knows and does for a manager.

mod get;
mod multicast;
mod set;
mod state;

use std::collections::BTreeMap;

use fabricsim_subnet::{NO_PORT, Node, NodeKind};
use fabricsim_wire::field::Text;
use fabricsim_wire::ids::{Guid, Lid, PKey};
use fabricsim_wire::mad::Method;
use fabricsim_wire::mad::smp::{
    DirectedSmp, Mtu, MulticastForwardingTable, NodeDescription, NodeInfo, NodeType, PKeyTable, PortInfo,
    PortPhysicalState, PortState, SlToVlMappingTable, SwitchInfo, VlArbitrationTable,
};

/// Status of an answer: the combination of method and attribute is not supported.
const NOT_SUPPORTED: u16 = 0x0c;
/// Status of an answer: a field or the modifier has a value that is not allowed.
const INVALID: u16 = 0x1c;

/// Entries of a block of a forwarding table.
const BLOCK: usize = 64;

/// Entries of a table of P_Keys.
const KEYS: u16 = 32;

/// Largest multiple of [`BLOCK`] up to which a linear forwarding table reaches.
const TABLE: u16 = 0xc000;

/// Entries of a multicast forwarding table.
const MULTICAST_TABLE: u16 = 0x3fff;

/// `PortInfo.CapabilityMask`: a subnet manager runs on the port.
pub(crate) const IS_SM: u32 = 1 << 1;

/// What a node does from now on because of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The logical state of a port changed.
    PortState(u8),
    /// The LID of a port changed.
    Lid(u8),
    /// Entries of the forwarding table of a block of 64 LIDs changed; the first of them.
    Routes(u16),
    /// The SL2VL table from an input to an output port changed; of an adapter the input is 0.
    Lanes(u8, u8),
    /// What a port arbitrates by among virtual lanes changed.
    Arbitration(u8),
    /// Entries of the multicast forwarding table of a block of 32 LIDs changed; the first of them.
    Multicast(u16),
    /// The P_Keys of a port changed, or whether it checks them.
    Keys(u8),
}

/// Agent of a node.
#[derive(Clone, Debug)]
pub struct Agent {
    info: NodeInfo,
    description: NodeDescription,
    port_guids: Vec<Guid>,
    /// By number; 0 is the management port of a switch.
    ports: Vec<PortInfo>,
    /// A switch's tables.
    switch: Option<SwitchInfo>,
    /// Output ports by LID.
    routes: Vec<u8>,
    /// Tables by input and output port.
    sl_to_vl: BTreeMap<(u8, u8), SlToVlMappingTable>,
    /// Halves of tables by port.
    arbitration: BTreeMap<(u8, u8), VlArbitrationTable>,
    /// Blocks of multicast forwarding tables by attribute modifier.
    multicast: BTreeMap<u32, MulticastForwardingTable>,
    /// Blocks by port.
    p_keys: BTreeMap<(u8, u16), PKeyTable>,
}

impl Agent {
    /// The agent of a node after power-on. All ports are down; LIDs are those that `node` has, as adapters keep them.
    pub fn new(node: &Node) -> Self {
        let node_type = match node.kind {
            NodeKind::Switch => NodeType::SWITCH,
            NodeKind::Adapter => NodeType::CHANNEL_ADAPTER,
            NodeKind::Router => NodeType::ROUTER,
        };
        let is_switch = node.is_switch();
        let switch = is_switch.then(|| SwitchInfo {
            linear_fdb_cap: TABLE,
            multicast_fdb_cap: MULTICAST_TABLE,
            life_time_value: 0x12,
            enhanced_port_0: node.enhanced_port_0,
            partition_enforcement_cap: KEYS,
            inbound_enforcement_cap: true,
            outbound_enforcement_cap: true,
            ..SwitchInfo::default()
        });
        Self {
            info: NodeInfo {
                base_version: 1,
                class_version: 1,
                node_type,
                num_ports: node.num_ports(),
                system_image_guid: Guid(node.system_guid.0),
                node_guid: Guid(node.guid.0),
                partition_cap: KEYS,
                device_id: node.device,
                revision: node.revision,
                vendor_id: node.vendor,
                ..NodeInfo::default()
            },
            description: NodeDescription { text: Text::new(&node.description) },
            port_guids: node.ports.iter().map(|port| Guid(port.guid.0)).collect(),
            ports: (0..node.ports.len()).map(|number| state::port(node, number)).collect(),
            switch,
            routes: Vec::new(),
            sl_to_vl: BTreeMap::new(),
            arbitration: BTreeMap::new(),
            multicast: BTreeMap::new(),
            p_keys: BTreeMap::new(),
        }
    }

    /// True for a switch.
    pub fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Number of physical ports.
    pub fn port_count(&self) -> u8 {
        self.info.num_ports
    }

    /// A port; 0 is the management port of a switch.
    pub fn port(&self, number: u8) -> Option<&PortInfo> {
        self.ports.get(usize::from(number))
    }

    /// True if data packets may leave by a port.
    pub fn is_active(&self, number: u8) -> bool {
        self.port(number).is_some_and(|port| port.port_state == PortState::ACTIVE)
    }

    /// LID that addresses a port; of a switch the one of port 0.
    pub fn lid(&self, number: u8) -> Lid {
        let number = if self.is_switch() { 0 } else { number };
        self.port(number).map(|port| port.lid).unwrap_or_default()
    }

    /// LID of the master subnet manager, as the port was configured; 0 if it was not.
    pub fn master(&self, number: u8) -> Lid {
        let number = if self.is_switch() { 0 } else { number };
        self.port(number).map(|port| port.master_sm_lid).unwrap_or_default()
    }

    /// Port by which a switch forwards packets for a LID; `None` if it discards them.
    pub fn route(&self, lid: u16) -> Option<u8> {
        let top = self.switch?.linear_fdb_top.0;
        let port = *self.routes.get(usize::from(lid)).filter(|_| lid <= top)?;
        (port != NO_PORT).then_some(port)
    }

    /// Answers a request which came by `in_port` (0: from the node itself) and is for this node. Adds the effects. The answer has the
    /// method, the status and the data of a response; other fields are those of the request.
    pub fn answer(&mut self, request: &DirectedSmp, in_port: u8, effects: &mut Vec<Effect>) -> DirectedSmp {
        let answered = match (request.method, request.attribute()) {
            (Method::GET, Some(attribute)) => self.get(&attribute, request.modifier, in_port),
            (Method::SET, Some(attribute)) => self
                .set(&attribute, request.modifier, in_port, effects)
                .and_then(|()| self.get(&attribute, request.modifier, in_port)),
            _ => Err(NOT_SUPPORTED),
        };
        let mut answer = DirectedSmp { method: Method::GET_RESP, ..*request };
        match answered.and_then(|found| answer.with(&found, request.modifier).map_err(|_| INVALID)) {
            Ok(with_data) => DirectedSmp { status: 0, ..with_data },
            Err(status) => {
                answer.status = status;
                answer
            }
        }
    }
}

#[cfg(test)]
mod tests;
