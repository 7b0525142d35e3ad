//! Headers of captured packets for multicast groups: datagrams with a global route header (IBA volume 1, sections 4.1.1 and 9.8).

use fabricsim_model::Packet;
use fabricsim_units::HostId;
use fabricsim_verbs::group_gid;
use fabricsim_wire::headers::{Address, Bth, Deth, Grh, Headers, Opcode, Operation, Service};
use fabricsim_wire::ids::{Gid, Guid, QKey, Qpn};

/// Queue pair of all receivers.
const ALL: Qpn = Qpn(0xff_ffff);
const Q_KEY: QKey = QKey(0x0b1b);

/// Global route header of a packet from a host to a group. `guids` are those of hosts.
pub(super) fn grh(source: HostId, group: u16, guids: &[u64]) -> Grh {
    Grh {
        sgid: Gid::new(Gid::DEFAULT_PREFIX, Guid(guids[source.index()])),
        dgid: group_gid(group),
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
