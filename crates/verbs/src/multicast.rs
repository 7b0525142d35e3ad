//! Multicast groups as an adapter knows them: their addresses, and the queue pairs that are attached to them (IBA volume 1, sections 10.5 and 11.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use fabricsim_units::HostId;
use fabricsim_wire::headers::Grh;
use fabricsim_wire::ids::{Gid, Guid, Lid, PKey, Qpn};

/// The first multicast LID. Groups have the LIDs from here on in their order.
const FIRST_LID: u16 = 0xc000;

/// First half of the GIDs of groups: transient, of the local site; groups are numbered in the second half.
const PREFIX: u64 = 0xff15_a01b_fe80_0000;

/// LID of a multicast group, by its number.
pub const fn group_lid(group: u16) -> Lid {
    Lid(FIRST_LID + group)
}

/// GID of a multicast group, by its number.
pub const fn group_gid(group: u16) -> Gid {
    Gid::new(PREFIX, Guid(group as u64))
}

/// Number of the multicast group with a LID; `None` for the LIDs of ports.
pub const fn group_of_lid(lid: Lid) -> Option<u16> {
    if lid.is_multicast() { Some(lid.0 - FIRST_LID) } else { None }
}

/// What an adapter knows of its subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubnetView {
    /// GUIDs of the ports of hosts, by host.
    pub guids: Arc<[u64]>,
    /// LIDs of the ports of hosts, by host.
    pub lids: Arc<[Lid]>,
    /// P_Key table of its port; empty: that of the default partition alone.
    pub p_keys: Vec<PKey>,
    /// Multicast groups of which its port is a member, ascending.
    pub groups: Vec<u16>,
}

impl SubnetView {
    /// GID of a host's port.
    pub(crate) fn gid(&self, host: HostId) -> Gid {
        let guid = self.guids.get(host.index()).copied().unwrap_or_default();
        Gid::new(Gid::DEFAULT_PREFIX, Guid(guid))
    }

    pub(crate) fn is_member(&self, group: u16) -> bool {
        self.groups.binary_search(&group).is_ok()
    }

    /// Global route header of a datagram from a host to a group, with `payload` bytes after it.
    pub(crate) fn route_header(&self, (source, group): (HostId, u16), payload: u32) -> Grh {
        Grh {
            sgid: self.gid(source),
            dgid: group_gid(group),
            hop_limit: 1,
            payload_length: payload as u16,
            next_header: fabricsim_wire::headers::NEXT_HEADER_IBA,
            ..Grh::default()
        }
    }
}

/// Attached queue pairs, by group, in the order in which they were attached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachments(BTreeMap<u16, Vec<Qpn>>);

impl Attachments {
    /// Attaches a queue pair; once more changes nothing.
    pub(crate) fn attach(&mut self, group: u16, qp: Qpn) {
        let attached = self.0.entry(group).or_default();
        if !attached.contains(&qp) {
            attached.push(qp);
        }
    }

    /// Detaches a queue pair. False if it was not attached.
    pub(crate) fn detach(&mut self, group: u16, qp: Qpn) -> bool {
        let Some(attached) = self.0.get_mut(&group) else { return false };
        let before = attached.len();
        attached.retain(|&other| other != qp);
        attached.len() < before
    }

    /// True if a queue pair is attached to a group.
    pub(crate) fn has(&self, qp: Qpn) -> bool {
        self.0.values().flatten().any(|&other| other == qp)
    }

    pub(crate) fn of(&self, group: u16) -> &[Qpn] {
        self.0.get(&group).map_or(&[], Vec::as_slice)
    }
}
