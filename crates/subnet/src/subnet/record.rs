//! Records of a file: a node, an end of a cable.

use super::{NodeKind, Speed, Width};
use crate::Guid;

/// Declaration of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeRecord {
    /// Key by which links name the node.
    pub(crate) key: String,
    /// Kind.
    pub(crate) kind: NodeKind,
    /// GUID of the node.
    pub(crate) guid: Guid,
    /// GUID of the system; 0 for that of the node.
    pub(crate) system_guid: Guid,
    /// GUID of a switch's port 0; 0 for that of the node.
    pub(crate) port_guid: Guid,
    /// Vendor.
    pub(crate) vendor: u32,
    /// Device.
    pub(crate) device: u16,
    /// Revision.
    pub(crate) revision: u32,
    /// Number of ports; 0 to grow with the ports that links mention.
    pub(crate) ports: u64,
    /// Description.
    pub(crate) description: String,
    /// True for an enhanced port 0.
    pub enhanced_port_0: bool,
    /// Base LID of a switch; 0 if none.
    pub(crate) lid: u64,
    /// LMC of a switch.
    pub(crate) lmc: u64,
    /// Line.
    pub(crate) line: usize,
}

impl NodeRecord {
    /// A record with a key, a kind, and nothing else known.
    pub(crate) fn new(key: &str, kind: NodeKind, line: usize) -> Self {
        Self {
            key: key.to_owned(),
            kind,
            guid: Guid(0),
            system_guid: Guid(0),
            port_guid: Guid(0),
            vendor: 0,
            device: 0,
            revision: 0,
            ports: 0,
            description: String::new(),
            enhanced_port_0: false,
            lid: 0,
            lmc: 0,
            line,
        }
    }
}

/// An end of a cable as a line states it: a port, its own properties, and its peer.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndRecord {
    /// Number of the port.
    pub(crate) port: u64,
    /// GUID of the port; 0 if not stated.
    pub(crate) guid: Guid,
    /// Base LID of the port; 0 if not stated.
    pub(crate) lid: u64,
    /// LMC of the port.
    pub(crate) lmc: u64,
    /// Width.
    pub(crate) width: Option<Width>,
    /// Speed.
    pub(crate) speed: Option<Speed>,
    /// Key of the peer's node.
    pub(crate) peer: String,
    /// Number of the peer's port.
    pub(crate) peer_port: u64,
    /// GUID of the peer's port; 0 if not stated.
    pub(crate) peer_guid: Guid,
    /// LID of the peer; 0 if not stated.
    pub(crate) peer_lid: u64,
    /// Description of the peer's node.
    pub(crate) peer_description: String,
    /// Line.
    pub(crate) line: usize,
}
