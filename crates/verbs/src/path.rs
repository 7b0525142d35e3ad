//! Address vectors: the paths that packets of a queue pair or of an address handle take (IBA volume 1, section 10.2.2.3).

use fabricsim_units::{HostId, Rate};

/// Address vector (`ibv_ah_attr`). Of a packet that has arrived: where an answer to it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressVector {
    /// Host, or multicast group.
    pub host: HostId,
    /// LID of the host to which packets go, from 0 for its first one; `None`: the adapter chooses, as `routing.paths` says.
    pub path: Option<u8>,
    /// Service level.
    pub sl: u8,
    /// LID of the own port from which packets come, from 0 (`src_path_bits`).
    pub source_path: u8,
}

impl From<HostId> for AddressVector {
    fn from(host: HostId) -> Self {
        Self { host, ..Self::default() }
    }
}

impl AddressVector {
    /// True if a packet whose answer goes to `reverse` has come on this path, seen from its receiver.
    pub(crate) fn is_reverse(self, reverse: Self) -> bool {
        self.host == reverse.host && self.path == reverse.path && self.source_path == reverse.source_path
    }
}

/// The second path of a queue pair (`IBV_QP_ALT_PATH`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlternatePath {
    /// Where packets go.
    pub address: AddressVector,
    /// Partition of the port, by its place in the port's table.
    pub p_key_index: u16,
    /// Port, from 1.
    pub port: u8,
    /// Local ACK timeout, 0 (never) to 31: 4.096 us x 2^n.
    pub timeout: u8,
}

/// Path record of subnet administration, of two ports of a subnet (section 15.2.5.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Where packets go.
    pub address: AddressVector,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Rate of the slowest link.
    pub rate: Rate,
    /// Longest time of a packet on the path: 4.096 us x 2^n.
    pub packet_life_time: u8,
}

/// Longest time of a packet on any path of a subnet, as 4.096 us x 2^n: 34 ms. Subnet managers have a constant as well; that of OpenSM is 18, 1.1 s.
pub const PACKET_LIFE_TIME: u8 = 13;

impl PathRecord {
    /// Local ACK timeout of a connection: there and back.
    pub const fn ack_timeout(&self) -> u8 {
        self.packet_life_time + 1
    }
}
