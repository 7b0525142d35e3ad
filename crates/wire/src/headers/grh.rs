use crate::ids::Gid;
use crate::record::record;

/// GRH.NxtHdr of a packet of InfiniBand's transport.
pub const NEXT_HEADER_IBA: u8 = 0x1b;

record! {
    /// Global route header, in the format of an IPv6 header (IBA volume 1, section 8.3).
    Grh, GrhView, 40 {
        /// Traffic class. ICRC does not cover it.
        traffic_class: u8 = 0:4, 8;
        /// Flow label, 20 bits. ICRC does not cover it.
        flow_label: u32 = 1:4, 20;
        /// Bytes after GRH to ICRC, which is included.
        payload_length: u16 = 4:0, 16;
        /// Protocol of the next header: [`NEXT_HEADER_IBA`].
        next_header: u8 = 6:0, 8;
        /// Routers that may still forward the packet. ICRC does not cover it.
        hop_limit: u8 = 7:0, 8;
        /// Source.
        sgid: Gid = 8:0, 128;
        /// Destination.
        dgid: Gid = 24:0, 128;
    }
    view only {
        /// IP version, 6.
        version: u8 = 0:0, 4 => 6_u8;
    }
}
