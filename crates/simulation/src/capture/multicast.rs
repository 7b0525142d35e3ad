//! Headers of captured packets for multicast groups: datagrams with a global route header (IBA volume 1, sections 4.1.1 and 9.8).

use fabricsim_model::Packet;
use fabricsim_units::HostId;
use fabricsim_wire::headers::{Address, Bth, Deth, Grh, Headers, Opcode, Operation, Service};
use fabricsim_wire::ids::{Gid, Guid, Lid, QKey, Qpn};

/// The first multicast LID. Groups have the LIDs from here on in their order.
const FIRST_LID: u16 = 0xc000;
/// First half of the GIDs: transient, of the local site; groups are numbered in the second half.
const PREFIX: u64 = 0xff15_a01b_fe80_0000;
/// Queue pair of all receivers.
const ALL: Qpn = Qpn(0xff_ffff);
const Q_KEY: QKey = QKey(0x0b1b);

/// LID of a group.
pub(super) const fn lid(group: u16) -> Lid {
    Lid(FIRST_LID + group)
}

/// Global route header of a packet from a host to a group. `guids` are those of hosts.
pub(super) fn grh(source: HostId, group: u16, guids: &[u64]) -> Grh {
    Grh {
        sgid: Gid::new(Gid::DEFAULT_PREFIX, Guid(guids[source.index()])),
        dgid: Gid::new(PREFIX, Guid(group.into())),
        hop_limit: 1,
        ..Grh::default()
    }
}

/// Transport headers of a packet whose other headers are those of `sent`: every packet is a datagram of its own.
pub(super) fn transport(packet: &Packet, sent: Headers) -> Headers {
    let opcode = Opcode::new(Service::Ud, Operation::SendOnly).unwrap_or(sent.bth.opcode);
    let deth = Deth { q_key: Q_KEY, src_qp: Qpn(u32::from(packet.stream) + 2) };
    Headers { bth: Bth { opcode, dest_qp: ALL, ..sent.bth }, address: Address::Datagram(deth), ..sent }
}
