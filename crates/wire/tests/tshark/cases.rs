//! One packet of every kind, with contents that look random.

use fabricsim_units::Vl;
use fabricsim_wire::Record;
use fabricsim_wire::fcp::{Fcp, FcpOp};
use fabricsim_wire::field::Text;
use fabricsim_wire::headers::{Address, Deth, Grh, Headers, Lrh, Opcode, Operation, Service};
use fabricsim_wire::ids::{CcKey, Lid, QKey, Qpn, TransactionId};
use fabricsim_wire::mad::cm::{CmMad, CmMessage};
use fabricsim_wire::mad::congestion::{CongestionAttribute, CongestionMad};
use fabricsim_wire::mad::performance::{PerformanceAttribute, PerformanceMad};
use fabricsim_wire::mad::sa::{MultiPathRecord, NodeRecord, SaAttribute, SaMad};
use fabricsim_wire::mad::smp::{DirectedSmp, NodeDescription, Smp, SmpAttribute};
use fabricsim_wire::mad::{MAD_LEN, Mad, Method, Notice, Trap};
use fabricsim_wire::packet::{CNP_PAYLOAD, Packet};

use crate::common::scrambled;

/// Bytes of the largest case.
const BUFFER: usize = 512;

/// The packet's bytes, from LRH to VCRC.
fn emit(packet: &Packet<'_>) -> Vec<u8> {
    let mut buffer = [0; BUFFER];
    let len = packet.emit(&mut buffer).expect("it fits");
    buffer[..len].to_vec()
}

/// Route in the subnet. Virtual lane 15 is for subnet management only.
fn lrh(seed: u64) -> Lrh {
    let lrh = Lrh::parse(&scrambled::<8>(seed)).expect("8 bytes");
    Lrh {
        vl: Vl(lrh.vl.0 % 15),
        dlid: Lid(lrh.dlid.0 % 0xbfff + 1),
        slid: Lid(lrh.slid.0 % 0xbfff + 1),
        ..lrh
    }
}

/// Transport headers of an opcode to a queue pair that is not one of management.
fn headers(opcode: Opcode, seed: u64) -> Headers {
    let mut bytes = scrambled::<64>(seed);
    (bytes[0], bytes[1], bytes[5]) = (opcode.0, bytes[1] & 0xc0, bytes[5] & 0x7f | 1);
    Headers::parse(&bytes).expect("version 0")
}

/// Packets of every opcode of every service and CNP, local and global in turn.
pub(crate) fn transport() -> Vec<Vec<u8>> {
    let opcodes = Opcode::all().chain([Opcode::CNP]);
    let packets = opcodes.enumerate().map(|(index, opcode)| {
        let seed = index as u64;
        let grh = (index % 2 == 1).then(|| Grh::parse(&scrambled::<40>(seed)).expect("40 bytes"));
        let has_payload = opcode.operation().is_some_and(Operation::has_payload);
        let payload = scrambled::<32>(!seed);
        let payload = match opcode {
            Opcode::CNP => &CNP_PAYLOAD,
            _ if has_payload => &payload[..32 - index % 4],
            _ => &[],
        };
        emit(&Packet { lrh: lrh(seed), grh, transport: headers(opcode, seed), payload })
    });
    packets.collect()
}

/// Syndromes of an acknowledgement: each kind.
pub(crate) fn syndromes() -> Vec<Vec<u8>> {
    let acknowledge = Opcode::new(Service::Rc, Operation::Acknowledge).expect("RC has it");
    let packets = [0x1f, 0x0a, 0x2e, 0x60, 0x61, 0x62, 0x63, 0x64].map(|syndrome: u8| {
        let mut bytes = [0; 16];
        headers(acknowledge, 7).emit(&mut bytes).expect("16 bytes");
        bytes[12] = syndrome;
        let transport = Headers::parse(&bytes).expect("it was emitted");
        emit(&Packet { lrh: lrh(7), grh: None, transport, payload: &[] })
    });
    packets.to_vec()
}

/// A datagram between queue pairs 0, or 1.
fn datagram(mad: &Mad, seed: u64) -> Vec<u8> {
    let mut payload = [0; MAD_LEN];
    mad.emit(&mut payload).expect("256 bytes");
    let opcode = Opcode::new(Service::Ud, Operation::SendOnly).expect("UD has it");
    let mut transport = headers(opcode, seed);
    let is_subnet = matches!(mad, Mad::Smp(_) | Mad::DirectedSmp(_));
    let (qp, q_key) = if is_subnet { (0, 0) } else { (1, QKey::GENERAL_SERVICES.0) };
    transport.bth.dest_qp = Qpn(qp);
    transport.address = Address::Datagram(Deth { q_key: QKey(q_key), src_qp: Qpn(qp) });
    let lrh = lrh(seed);
    let lrh = if is_subnet { Lrh { vl: Vl(15), ..lrh } } else { lrh };
    emit(&Packet { lrh, grh: None, transport, payload: &payload })
}

/// A name that is text, as tshark prints other bytes in its own way.
fn description() -> NodeDescription {
    NodeDescription { text: Text::new("node-17 HCA-1") }
}

/// Datagrams of every class with every attribute.
pub(crate) fn datagrams() -> Vec<Vec<u8>> {
    let response = Method::GET_RESP;
    let mut packets = Vec::new();
    let mut add = |mad: Mad| {
        let seed = packets.len() as u64;
        packets.push(datagram(&mad, seed));
    };
    for (index, &(id, _)) in SmpAttribute::ALL.iter().enumerate() {
        let seed = 100 + index as u64;
        let attribute =
            SmpAttribute::parse(id, &scrambled::<64>(seed)).expect("64 bytes").expect("it is known");
        let attribute = match attribute {
            SmpAttribute::Notice(notice) => SmpAttribute::Notice(Notice { is_generic: false, ..notice }),
            SmpAttribute::NodeDescription(_) => SmpAttribute::NodeDescription(description()),
            other => other,
        };
        let smp = Smp::new(response, TransactionId(seed)).with(&attribute, 3).expect("it fits");
        add(Mad::Smp(smp));
        let path = DirectedSmp::new(response, TransactionId(seed), &[1, 2, 30]).expect("3 hops");
        let mut directed = path.with(&attribute, 3).expect("it fits");
        (directed.is_returning, directed.hop_pointer, directed.status) = (index % 2 == 1, 2, 0x1c);
        add(Mad::DirectedSmp(directed));
    }
    for (index, &(id, _)) in SaAttribute::ALL.iter().enumerate() {
        let seed = 200 + index as u64;
        let attribute =
            SaAttribute::parse(id, &scrambled::<200>(seed)).expect("200 bytes").expect("it is known");
        let attribute = match attribute {
            SaAttribute::Notice(mut record) => {
                record.notice.is_generic = false;
                SaAttribute::Notice(record)
            }
            SaAttribute::NodeRecord(record) => {
                SaAttribute::NodeRecord(NodeRecord { node_description: description(), ..record })
            }
            // More GIDs than there are would be read otherwise.
            SaAttribute::MultiPathRecord(record) => SaAttribute::MultiPathRecord(MultiPathRecord {
                source_count: 4,
                destination_count: 7,
                ..record
            }),
            other => other,
        };
        let sa = SaMad::new(response, TransactionId(seed)).with(&attribute, seed << 40).expect("it fits");
        add(Mad::Sa(sa));
    }
    for (index, &(id, _)) in CmMessage::ALL.iter().enumerate() {
        let seed = 300 + index as u64;
        let message = CmMessage::parse(id, &scrambled::<232>(seed)).expect("232 bytes").expect("it is known");
        add(Mad::Cm(CmMad::new(TransactionId(seed), &message).expect("it fits")));
    }
    for (index, &(id, _)) in PerformanceAttribute::ALL.iter().enumerate() {
        let seed = 400 + index as u64;
        let attribute = PerformanceAttribute::parse(id, &scrambled::<192>(seed)).expect("192 bytes");
        let mad = PerformanceMad::new(response, TransactionId(seed)).with(&attribute.expect("it is known"));
        add(Mad::Performance(mad.expect("it fits")));
    }
    for (index, &(id, _)) in CongestionAttribute::ALL.iter().enumerate() {
        let seed = 500 + index as u64;
        let attribute = CongestionAttribute::parse(id, &scrambled::<224>(seed)).expect("224 bytes");
        let mad = CongestionMad::new(response, TransactionId(seed), CcKey(seed));
        add(Mad::Congestion(mad.with(&attribute.expect("it is known"), 0).expect("it fits")));
    }
    packets
}

/// Traps of the subnet manager with their details. Not 259, in whose details tshark 4.0 reads 16 bits as an IPv6 address.
pub(crate) fn traps() -> Vec<Vec<u8>> {
    let numbers = [64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258];
    let packets = numbers.map(|number| {
        let details = Trap::parse(number, &scrambled::<54>(number.into())).expect("it is known").details();
        let notice = Notice { is_generic: true, trap_number: number, details, ..Notice::default() };
        let smp = Smp::new(Method::TRAP, TransactionId(1)).with(&SmpAttribute::Notice(notice), 0);
        datagram(&Mad::Smp(smp.expect("it fits")), number.into())
    });
    packets.to_vec()
}

/// Flow-control packets, as in every state of a link.
pub(crate) fn flow_control() -> Vec<Vec<u8>> {
    let packets = (0..16_u16).map(|index| {
        let op = if index < 8 { FcpOp::Normal } else { FcpOp::Init };
        let (total_blocks_sent, credit_limit) = (index * 257 % 4096, index * 1021 % 4096);
        let fcp = Fcp { op, total_blocks_sent, vl: Vl(index as u8 % 15), credit_limit };
        let mut bytes = [0; Fcp::WIRE_LEN];
        fcp.emit_packet(&mut bytes).expect("6 bytes");
        bytes.to_vec()
    });
    packets.collect()
}
