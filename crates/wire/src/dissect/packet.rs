use std::fmt::Write;

use serde::Serialize;

use super::{ChecksumRecord, Encapsulation, MadRecord};
use crate::error::WireError;
use crate::fcp::Fcp;
use crate::headers::{
    Address, Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Grh, Headers, Ieth, ImmDt, Lrh, Opcode,
    Operands, Operation, Rdeth, Reth, Service, Xrceth,
};
use crate::ids::Qpn;
use crate::mad::{MAD_LEN, Mad};
use crate::packet::{PacketView, pad_count};
use crate::roce::{Ethernet, Ipv4, Network, RoceView, Udp};

/// Bytes of a message that a record has: more than any header of MPI.
pub const FIRST_BYTES: usize = 72;

/// BTH with what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BthRecord {
    /// The header.
    #[serde(flatten)]
    pub bth: Bth,
    /// Bytes of padding.
    pub pad_count: usize,
}

/// Flow-control packet with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FcpRecord {
    /// The packet.
    #[serde(flatten)]
    pub fcp: Fcp,
    /// Link packet checksum.
    pub lpcrc: ChecksumRecord,
}

/// A packet: its headers, as far as they can be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DissectedPacket {
    /// Format of the packet.
    pub encapsulation: Encapsulation,
    /// The packet in a few words, for example `RC SEND Only` or `SubnGet(NodeInfo)`.
    pub summary: String,
    /// What is wrong with the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Flow-control packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fcp: Option<FcpRecord>,
    /// Ethernet header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethernet: Option<Ethernet>,
    /// IPv4 header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4>,
    /// IPv6 header, which has the format of GRH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Grh>,
    /// UDP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
    /// Local route header.
    pub lrh: Option<Lrh>,
    /// Global route header.
    pub grh: Option<Grh>,
    /// Base transport header.
    pub bth: Option<BthRecord>,
    /// Extension headers.
    #[serde(flatten)]
    pub extensions: ExtensionsRecord,
    /// Bytes of payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_length: Option<usize>,
    /// First bytes of a SEND or RDMA WRITE, in hexadecimal digits, at most [`FIRST_BYTES`] of them: there are the headers of what programs
    /// exchange. None of other packets, of management datagrams, and of zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bytes: Option<String>,
    /// Management datagram.
    pub mad: Option<MadRecord>,
    /// Invariant checksum.
    pub icrc: Option<ChecksumRecord>,
    /// Variant checksum.
    pub vcrc: Option<ChecksumRecord>,
}

/// Extension headers of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExtensionsRecord {
    /// Reliable datagram extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdeth: Option<Rdeth>,
    /// Extended reliable connected extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xrceth: Option<Xrceth>,
    /// Datagram extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deth: Option<Deth>,
    /// Flush extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feth: Option<Feth>,
    /// RDMA extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reth: Option<Reth>,
    /// Atomic extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomiceth: Option<AtomicEth>,
    /// Acknowledgement extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aeth: Option<Aeth>,
    /// Atomic acknowledgement extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomicacketh: Option<AtomicAckEth>,
    /// Immediate data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immdt: Option<ImmDt>,
    /// Invalidate extended transport header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ieth: Option<Ieth>,
}

impl From<&Headers> for ExtensionsRecord {
    fn from(headers: &Headers) -> Self {
        let mut record = Self::default();
        match headers.address {
            Address::None => {}
            Address::Datagram(deth) => record.deth = Some(deth),
            Address::Xrc(xrceth) => record.xrceth = Some(xrceth),
            Address::RdRequest(rdeth, deth) => (record.rdeth, record.deth) = (Some(rdeth), Some(deth)),
            Address::RdResponse(rdeth) => record.rdeth = Some(rdeth),
        }
        match headers.operands {
            Operands::None => {}
            Operands::Rdma(reth) => record.reth = Some(reth),
            Operands::RdmaImmediate(reth, immdt) => (record.reth, record.immdt) = (Some(reth), Some(immdt)),
            Operands::Atomic { va, r_key, swap_or_add, compare } => {
                record.atomiceth = Some(AtomicEth { va, r_key, swap_or_add, compare });
            }
            Operands::Acknowledge(aeth) => record.aeth = Some(aeth),
            Operands::AtomicAcknowledge(aeth, result) => {
                (record.aeth, record.atomicacketh) = (Some(aeth), Some(result));
            }
            Operands::Immediate(immdt) => record.immdt = Some(immdt),
            Operands::Invalidate(ieth) => record.ieth = Some(ieth),
            Operands::Flush(feth, reth) => (record.feth, record.reth) = (Some(feth), Some(reth)),
        }
        record
    }
}

impl DissectedPacket {
    /// A record that cannot be read.
    pub(super) fn malformed(problem: String) -> Self {
        Self { summary: "malformed".to_owned(), problem: Some(problem), ..Self::default() }
    }

    /// A packet, from LRH to VCRC.
    pub(super) fn infiniband(bytes: &[u8]) -> Self {
        let view = match PacketView::new(bytes) {
            Ok(view) => view,
            Err(error) => {
                let malformed = Self::malformed(error.to_string());
                return Self { encapsulation: Encapsulation::Infiniband, ..malformed };
            }
        };
        let mut record = Self {
            encapsulation: Encapsulation::Infiniband,
            lrh: Some(view.lrh()),
            icrc: view.icrc().map(ChecksumRecord::from),
            vcrc: Some(view.vcrc().into()),
            ..Self::default()
        };
        if view.is_raw() {
            "raw packet".clone_into(&mut record.summary);
            record.payload_length = Some(view.content().len());
            return record;
        }
        match view.grh() {
            Ok(grh) => record.grh = grh,
            Err(error) => record.problem = Some(error.to_string()),
        }
        record.transport(view.transport());
        record
    }

    /// A flow-control packet; bytes after it are padding.
    pub(super) fn flow_control(bytes: &[u8]) -> Self {
        let encapsulation = Encapsulation::FlowControl;
        match Fcp::parse_packet(bytes) {
            Ok((fcp, lpcrc)) => {
                let summary = format!("flow control VL {}", fcp.vl);
                let fcp = Some(FcpRecord { fcp, lpcrc: lpcrc.into() });
                Self { encapsulation, summary, fcp, ..Self::default() }
            }
            Err(error) => Self { encapsulation, ..Self::malformed(error.to_string()) },
        }
    }

    /// An Ethernet frame.
    pub(super) fn ethernet(frame: &[u8]) -> Self {
        let view = match RoceView::new(frame) {
            Ok(Some(view)) => view,
            Ok(None) => return Self { summary: "not RoCE".to_owned(), ..Self::default() },
            Err(error) => return Self::malformed(error.to_string()),
        };
        let mut record = Self { icrc: Some(view.icrc.into()), ..Self::default() };
        match view.network {
            Network::V1(grh) => {
                (record.encapsulation, record.grh) = (Encapsulation::RoceV1, Some(grh));
            }
            Network::V2Ipv4(ip, udp) => {
                record.encapsulation = Encapsulation::RoceV2;
                (record.ipv4, record.udp) = (Some(ip), Some(udp));
            }
            Network::V2Ipv6(ip, udp) => {
                record.encapsulation = Encapsulation::RoceV2;
                (record.ipv6, record.udp) = (Some(ip), Some(udp));
            }
        }
        record.transport(view.transport());
        record.ethernet = Some(view.ethernet);
        record
    }

    /// Adds transport headers and datagram.
    fn transport(&mut self, parsed: Result<(Headers, &[u8]), WireError>) {
        let (headers, payload) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                "malformed".clone_into(&mut self.summary);
                self.problem.get_or_insert_with(|| error.to_string());
                return;
            }
        };
        let bth = headers.bth;
        self.bth = Some(BthRecord { bth, pad_count: pad_count(payload.len()) });
        self.extensions = (&headers).into();
        self.payload_length = Some(payload.len());
        self.summary = bth.opcode.to_string();
        if let Some(Ok(mad)) = is_mad(&headers, payload).then(|| Mad::parse(payload)) {
            let mad = MadRecord::from(&mad);
            self.summary = mad.summary();
            self.mad = Some(mad);
        } else {
            self.first_bytes = first_bytes(bth.opcode, payload);
        }
    }
}

/// The first bytes of a message, if the packet has them and they are not all zero.
fn first_bytes(opcode: Opcode, payload: &[u8]) -> Option<String> {
    let begins = matches!(
        opcode.operation()?,
        Operation::SendFirst
            | Operation::SendOnly
            | Operation::SendOnlyImm
            | Operation::WriteFirst
            | Operation::WriteOnly
            | Operation::WriteOnlyImm
    );
    let first = &payload[..payload.len().min(FIRST_BYTES)];
    if !begins || first.iter().all(|&byte| byte == 0) {
        return None;
    }
    Some(first.iter().fold(String::with_capacity(2 * first.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// True for datagrams of queue pairs 0 and 1 with the version and length of management datagrams.
fn is_mad(headers: &Headers, payload: &[u8]) -> bool {
    let is_management = |qpn| qpn == Qpn::SUBNET_MANAGEMENT || qpn == Qpn::GENERAL_SERVICES;
    headers.bth.opcode.service() == Some(Service::Ud)
        && is_management(headers.bth.dest_qp)
        && payload.len() == MAD_LEN
        && payload[0] == 1
}
