//! Capture files: pcap, pcapng and ERF in, pcapng out.
//!
//! Wireshark reads InfiniBand packets in records of Endace's format (ERF, link type 197), type 21 for packets and 25 for
//! flow-control packets; it refuses link type 247, which was assigned to InfiniBand.

mod bytes;
mod erf;
mod error;
mod pcap;
mod pcapng;
mod writer;

pub use erf::{ErfRecord, ErfType};
pub use error::{CaptureError, CaptureProblem};
pub use writer::{InterfaceId, InterfaceKind, OutgoingRecord, Writer};

/// Link type of a capture file (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet frames without frame check sequence.
    pub const ETHERNET: Self = Self(1);
    /// ERF records.
    pub const ERF: Self = Self(197);
    /// InfiniBand packets, from LRH to VCRC.
    pub const INFINIBAND: Self = Self(247);
}

/// An interface of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, if the file has one.
    pub name: Option<String>,
    /// Format of its records.
    pub link: LinkType,
}

/// A record of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Time since 1970 in nanoseconds.
    pub time_ns: u64,
    /// Place of its interface in [`Capture::interfaces`].
    pub interface: usize,
    /// Captured bytes, in the format of the interface's link type.
    pub data: &'a [u8],
    /// Length on the wire in bytes. Larger than that of `data` if the capture cut the record.
    pub original_len: usize,
    /// Comment, if the file has one.
    pub comment: Option<String>,
}

/// Content of a capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture<'a> {
    /// Interfaces, in the order of the file.
    pub interfaces: Vec<Interface>,
    /// Records, in the order of the file.
    pub records: Vec<Captured<'a>>,
}

/// Reads a capture file in any of the formats, which its first bytes tell apart. Errors name `file` and the record.
pub fn read<'a>(bytes: &'a [u8], file: &str) -> Result<Capture<'a>, CaptureError> {
    let located = |(record, problem): Located| CaptureError { file: file.to_owned(), record, problem };
    let magic = bytes.first_chunk::<4>().ok_or_else(|| located((None, CaptureProblem::Format)))?;
    match u32::from_be_bytes(*magic) {
        pcapng::MAGIC => pcapng::read(bytes),
        magic if pcap::Format::of(magic).is_some() => pcap::read(bytes),
        _ => erf::read(bytes),
    }
    .map_err(located)
}

/// A problem, and the number of the record from 1 if it is in one.
type Located = (Option<usize>, CaptureProblem);
