//! Bytes of datagrams on links, for captures.

use fabricsim_management::SMP_BYTES;
use fabricsim_units::Vl;
use fabricsim_wire::Record;
use fabricsim_wire::headers::{Address, Bth, Deth, Headers, Lrh, Opcode, Operands, Operation, Service};
use fabricsim_wire::ids::{Lid, PKey};
use fabricsim_wire::mad::MAD_LEN;
use fabricsim_wire::packet::Packet;

use super::Datagram;

/// The packet of a datagram, from LRH to VCRC: unreliable, between queue pairs 0, on virtual lane 15.
pub(super) fn packet(datagram: &Datagram) -> [u8; SMP_BYTES as usize] {
    let mut mad = [0; MAD_LEN];
    let (slid, dlid, written) = match datagram {
        Datagram::Directed(smp) => (Lid::PERMISSIVE, Lid::PERMISSIVE, smp.emit(&mut mad)),
        Datagram::ByLid { from, to, smp } => (Lid(*from), Lid(*to), smp.emit(&mut mad)),
    };
    let opcode = Opcode::new(Service::Ud, Operation::SendOnly).unwrap_or_default();
    let transport = Headers {
        bth: Bth { opcode, p_key: PKey::DEFAULT, ..Bth::default() },
        operands: Operands::None,
        address: Address::Datagram(Deth::default()),
    };
    let lrh = Lrh { vl: Vl(15), slid, dlid, ..Lrh::default() };
    let mut bytes = [0; SMP_BYTES as usize];
    let emitted = Packet { lrh, grh: None, transport, payload: &mad }.emit(&mut bytes);
    debug_assert!(written.is_ok() && emitted == Ok(bytes.len()));
    bytes
}
