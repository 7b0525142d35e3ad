//! Headers of packets and datagrams.

use super::Fields;

/// Local route header.
pub(crate) const LRH: Fields = &[
    ("lrh.vl", "infiniband.lrh.vl"),
    ("lrh.sl", "infiniband.lrh.sl"),
    ("lrh.lnh", "infiniband.lrh.lnh"),
    ("lrh.dlid", "infiniband.lrh.dlid"),
    ("lrh.packet_length", "infiniband.lrh.pktlen"),
    ("lrh.slid", "infiniband.lrh.slid"),
];

/// Global route header.
pub(crate) const GRH: Fields = &[
    ("grh.traffic_class", "infiniband.grh.tclass"),
    ("grh.flow_label", "infiniband.grh.flowlabel"),
    ("grh.payload_length", "infiniband.grh.paylen"),
    ("grh.next_header", "infiniband.grh.nxthdr"),
    ("grh.hop_limit", "infiniband.grh.hoplmt"),
    ("grh.sgid", "infiniband.grh.sgid"),
    ("grh.dgid", "infiniband.grh.dgid"),
];

/// Base transport header.
pub(crate) const BTH: Fields = &[
    ("bth.opcode", "infiniband.bth.opcode"),
    ("bth.solicited", "infiniband.bth.se"),
    ("bth.migrated", "infiniband.bth.m"),
    ("bth.pad_count", "infiniband.bth.padcnt"),
    ("bth.p_key", "infiniband.bth.p_key"),
    ("bth.dest_qp", "infiniband.bth.destqp"),
    ("bth.ack_request", "infiniband.bth.a"),
    ("bth.psn", "infiniband.bth.psn"),
];

/// Datagram extended transport header.
pub(crate) const DETH: Fields =
    &[("deth.q_key", "infiniband.deth.q_key"), ("deth.src_qp", "infiniband.deth.srcqp")];

/// Extension headers. AtomicETH has the address and key of RETH; ImmDt and IETH are compared as bytes.
pub(crate) const EXTENSIONS: Fields = &[
    ("rdeth.ee_context", "infiniband.rdeth.eecnxt"),
    ("deth.q_key", "infiniband.deth.q_key"),
    ("deth.src_qp", "infiniband.deth.srcqp"),
    ("reth.va", "infiniband.reth.va"),
    ("reth.r_key", "infiniband.reth.r_key"),
    ("reth.dma_length", "infiniband.reth.dmalen"),
    ("atomiceth.va", "infiniband.reth.va"),
    ("atomiceth.r_key", "infiniband.reth.r_key"),
    ("atomiceth.swap_or_add", "infiniband.atomiceth.swapdt"),
    ("atomiceth.compare", "infiniband.atomiceth.cmpdt"),
    ("aeth.syndrome", "infiniband.aeth.syndrome"),
    ("aeth.msn", "infiniband.aeth.msn"),
    ("atomicacketh.original", "infiniband.atomicacketh.origremdt"),
];

/// Both checksums.
pub(crate) const CHECKSUMS: Fields =
    &[("icrc.value", "infiniband.invariant.crc"), ("vcrc.value", "infiniband.variant.crc")];

/// Flow-control packet.
pub(crate) const FCP: Fields = &[
    ("op", "infiniband_link.op"),
    ("total_blocks_sent", "infiniband_link.fctbs"),
    ("vl", "infiniband_link.vl"),
    ("credit_limit", "infiniband_link.fccl"),
    ("lpcrc.value", "infiniband_link.lpcrc"),
];

/// Header of datagrams.
pub(crate) const MAD: Fields = &[
    ("mad.base_version", "infiniband.mad.baseversion"),
    ("mad.class", "infiniband.mad.mgmtclass"),
    ("mad.class_version", "infiniband.mad.classversion"),
    ("mad.method", "infiniband.mad.method"),
    ("mad.transaction", "infiniband.mad.transactionid"),
    ("mad.attribute", "infiniband.mad.attributeid"),
    ("mad.modifier", "infiniband.mad.attributemodifier"),
];

/// Subnet management, routed by LID.
pub(crate) const SMP: Fields = &[("mad.m_key", "infiniband.smplid.mkey")];

/// Subnet management, by directed route.
pub(crate) const DIRECTED: Fields = &[
    ("mad.status", "infiniband.smpdirected.smpstatus"),
    ("mad.hop_pointer", "infiniband.smpdirected.hoppointer"),
    ("mad.hop_count", "infiniband.smpdirected.hopcount"),
    ("mad.m_key", "infiniband.smplid.mkey"),
    ("mad.dr_slid", "infiniband.smpdirected.drslid"),
    ("mad.dr_dlid", "infiniband.smpdirected.drdlid"),
];

/// Subnet administration.
pub(crate) const SA: Fields = &[
    ("mad.rmpp.version", "infiniband.rmpp.rmppversion"),
    ("mad.rmpp.kind", "infiniband.rmpp.rmpptype"),
    ("mad.rmpp.response_time", "infiniband.rmpp.rresptime"),
    ("mad.rmpp.status", "infiniband.rmpp.rmppstatus"),
    ("mad.sm_key", "infiniband.sa.smkey"),
    ("mad.attribute_offset", "infiniband.sa.attributeoffset"),
    ("mad.component_mask", "infiniband.sa.componentmask"),
];
