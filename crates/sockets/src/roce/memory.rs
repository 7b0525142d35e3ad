//! Memory of an end: regions for the other end, and receive requests.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_protocols::infiniband::{
    Access, Atomic, Placement, Receive, Received, Remote, ResponderOutbox, Status,
};
use fabricsim_wire::ids::RKey;

use super::ReceivedMessage;

/// What the other end may do with a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// RDMA WRITE.
    pub write: bool,
    /// RDMA READ.
    pub read: bool,
    /// Atomic operations.
    pub atomic: bool,
}

/// Memory region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address of its first byte.
    pub va: u64,
    /// Key.
    pub r_key: RKey,
    /// Allowed operations.
    pub permissions: Permissions,
    /// Content.
    pub bytes: Vec<u8>,
}

impl Region {
    /// The bytes of an access, if it is inside.
    fn range(&self, va: u64, length: u32) -> Option<std::ops::Range<usize>> {
        let start = va.checked_sub(self.va)?;
        let end = start.checked_add(u64::from(length))?;
        (end <= self.bytes.len() as u64).then_some(start as usize..end as usize)
    }
}

/// Memory as the responder uses it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) regions: Vec<Region>,
    pub(super) receives: VecDeque<Receive>,
    /// Data of receive requests that messages have taken.
    buffers: BTreeMap<u64, Vec<u8>>,
    pub(super) received: VecDeque<ReceivedMessage>,
}

impl Memory {
    /// Content for a response; empty if the region is gone.
    pub(super) fn load(&self, remote: Remote, length: u32) -> &[u8] {
        let region = self.regions.iter().find(|region| region.r_key == remote.r_key);
        let range = region.and_then(|region| Some(&region.bytes[region.range(remote.va, length)?]));
        range.unwrap_or_default()
    }

    fn slice(&mut self, remote: Remote, length: u32) -> Option<&mut [u8]> {
        let region = self.regions.iter_mut().find(|region| region.r_key == remote.r_key)?;
        let range = region.range(remote.va, length)?;
        region.bytes.get_mut(range)
    }

    /// Ends all receive requests as flushed.
    pub(super) fn flush(&mut self) {
        for Receive { id, .. } in std::mem::take(&mut self.receives) {
            let (status, extra) = (Status::Flushed, fabricsim_protocols::infiniband::Extra::None);
            let received = Received { id, status, length: 0, extra, is_write: false, solicited: false };
            self.received.push_back(ReceivedMessage { received, data: Vec::new() });
        }
    }
}

/// Memory while a packet is received.
pub(super) struct Execution<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) payload: &'a [u8],
}

impl ResponderOutbox for Execution<'_> {
    fn allows(&mut self, remote: Remote, length: u32, access: Access) -> bool {
        let region = self.memory.regions.iter().find(|region| region.r_key == remote.r_key);
        region.is_some_and(|region| {
            let Permissions { write, read, atomic } = region.permissions;
            let is_permitted = match access {
                Access::Write => write,
                Access::Read => read,
                Access::Atomic => atomic,
            };
            is_permitted && region.range(remote.va, length).is_some()
        })
    }

    fn take_receive(&mut self) -> Option<Receive> {
        self.memory.receives.pop_front()
    }

    fn receives_left(&mut self) -> u32 {
        self.memory.receives.len() as u32
    }

    fn place(&mut self, placement: Placement, length: u32) {
        let payload = &self.payload[..self.payload.len().min(length as usize)];
        match placement {
            // Packets of a message are executed in order.
            Placement::Receive { id, .. } => {
                self.memory.buffers.entry(id).or_default().extend_from_slice(payload);
            }
            Placement::Region(remote) => {
                if let Some(bytes) = self.memory.slice(remote, payload.len() as u32) {
                    bytes.copy_from_slice(payload);
                }
            }
        }
    }

    /// Little-endian, as most machines have it.
    fn atomic(&mut self, remote: Remote, operation: Atomic) -> u64 {
        let Some(word) = self.memory.slice(remote, 8).and_then(|bytes| bytes.first_chunk_mut::<8>()) else {
            return 0;
        };
        let original = u64::from_le_bytes(*word);
        let new = match operation {
            Atomic::CompareSwap { compare, swap } if compare == original => swap,
            Atomic::CompareSwap { .. } => original,
            Atomic::FetchAdd(add) => original.wrapping_add(add),
        };
        *word = new.to_le_bytes();
        original
    }

    fn invalidate(&mut self, r_key: RKey) -> bool {
        let before = self.memory.regions.len();
        self.memory.regions.retain(|region| region.r_key != r_key);
        self.memory.regions.len() < before
    }

    fn complete(&mut self, received: Received) {
        let data = self.memory.buffers.remove(&received.id).unwrap_or_default();
        self.memory.received.push_back(ReceivedMessage { received, data });
    }
}
