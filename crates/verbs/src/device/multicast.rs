//! Datagrams to multicast groups.

use fabricsim_protocols::infiniband::{GRH_BYTES, QueuePairKind};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Record;
use fabricsim_wire::headers::{Headers, Operation};
use fabricsim_wire::ids::{Gid, Lid, Qpn};

use super::Device;
use crate::error::{VerbsError, busy, invalid};
use crate::multicast::SubnetView;
use crate::multicast::{group_gid, group_lid, group_of_lid};
use crate::queue_pair::QueuePair;

/// Bytes of a packet between its global route header and its payload, and of ICRC: BTH, DETH, ICRC.
const TRANSPORT_BYTES: u32 = 12 + 8 + 4;

/// Where a datagram to a group comes from: its host, and the queue pair if it is one of this adapter.
#[derive(Clone, Copy)]
struct Origin {
    host: HostId,
    group: u16,
    qp: Option<Qpn>,
}

impl Device {
    /// Tells the adapter GUIDs of the subnet, and the multicast groups of its port.
    pub fn set_subnet(&mut self, subnet: SubnetView) {
        self.subnet = subnet;
    }

    /// Attaches a queue pair of UD to a multicast group, of which the port is a member (`ibv_attach_mcast`).
    pub fn attach_mcast(&mut self, qp: Qpn, gid: Gid, lid: Lid) -> Result<(), VerbsError> {
        let fail = |text: String| invalid(format!("attach_mcast: queue pair {}: {text}", qp.0));
        let kind = self.qp(qp)?.init.kind;
        if kind != QueuePairKind::Ud {
            return Err(fail(format!("{kind}: must be UD")));
        }
        let group = self.member_group(lid).map_err(fail)?;
        if gid != group_gid(group) {
            return Err(fail(format!("gid = {gid}: that of the LID {:#06x} is {}", lid.0, group_gid(group))));
        }
        self.attachments.attach(group, qp);
        Ok(())
    }

    /// Detaches a queue pair from a multicast group (`ibv_detach_mcast`).
    pub fn detach_mcast(&mut self, qp: Qpn, gid: Gid, lid: Lid) -> Result<(), VerbsError> {
        self.qp(qp)?;
        let group = group_of_lid(lid).filter(|&group| group_gid(group) == gid);
        if group.is_some_and(|group| self.attachments.detach(group, qp)) {
            return Ok(());
        }
        let text = format!("is not attached to the group {gid} with LID {:#06x}", lid.0);
        Err(invalid(format!("detach_mcast: queue pair {} {text}", qp.0)))
    }

    /// Number of the group with a multicast LID, of which the port must be a member.
    pub(super) fn member_group(&self, lid: Lid) -> Result<u16, String> {
        let Some(group) = group_of_lid(lid) else {
            return Err(format!("lid = {:#06x}: must be 0xc000 to 0xfffe", lid.0));
        };
        if self.subnet.is_member(group) {
            return Ok(group);
        }
        let groups = self.subnet.groups.iter().map(|&group| format!("{:#06x}", group_lid(group).0));
        let groups: Vec<String> = groups.collect();
        let own = if groups.is_empty() { "no group".to_owned() } else { groups.join(", ") };
        Err(format!("lid = {:#06x}: the port is a member of {own}", lid.0))
    }

    /// A queue pair may be destroyed if it is attached to no group.
    pub(super) fn check_detached(&self, qp: Qpn) -> Result<(), VerbsError> {
        if self.attachments.has(qp) {
            return Err(busy(format!("destroy_qp: queue pair {} is attached to a multicast group", qp.0)));
        }
        Ok(())
    }

    /// A datagram to a multicast group has arrived from another host. Every attached queue pair has a copy.
    pub fn receive_copy(
        &mut self,
        (host, group): (HostId, u16),
        headers: &Headers,
        data: (u32, Option<&[u8]>),
        now: Time,
    ) {
        self.changes += 1;
        self.deliver_copies(Origin { host, group, qp: None }, headers, data, now);
    }

    /// A datagram to a multicast group leaves. Other attached queue pairs of this adapter have a copy as well; the sender has none.
    pub(super) fn loop_back(
        &mut self,
        (qp, group): (Qpn, u16),
        headers: &Headers,
        data: (u32, Option<&[u8]>),
        now: Time,
    ) {
        self.deliver_copies(Origin { host: self.host, group, qp: Some(qp) }, headers, data, now);
    }

    fn deliver_copies(
        &mut self,
        of: Origin,
        headers: &Headers,
        (length, content): (u32, Option<&[u8]>),
        now: Time,
    ) {
        let attached = self.attachments.of(of.group).to_vec();
        if attached.is_empty() && of.qp.is_none() {
            self.counters.unattached += 1;
        }
        let operation = headers.bth.opcode.operation().unwrap_or(Operation::SendOnly);
        for qp in attached.into_iter().filter(|&qp| Some(qp) != of.qp) {
            let Some(index) = self.index(qp) else { continue };
            let Some(pair) = &mut self.qps[index as usize] else { continue };
            if !receives(pair) {
                pair.counters.dropped += 1;
                continue;
            }
            let grh = self.subnet.route_header((of.host, of.group), TRANSPORT_BYTES + length);
            let grh = grh.to_bytes::<{ GRH_BYTES as usize }>().ok();
            let of = (of.host.into(), grh.as_ref().map(<[u8; 40]>::as_slice));
            self.receive_request(index, (headers, operation), (length, content), of, now);
        }
    }
}

fn receives(pair: &QueuePair) -> bool {
    use fabricsim_protocols::infiniband::QueuePairState::{Error, Init, Reset};
    !matches!(pair.state, Reset | Init | Error)
}
