//! InfiniBand wire formats.
//!
//! Each format is two types: a *meaning*, a plain value without bytes, and a *view*, which reads fields from bytes in
//! place. Both come from one table of fields ([`Record`]). Parsing never reads outside the bytes that it gets and never
//! panics; emitting writes into a buffer of the caller and does not allocate. There is no state here: the rules by which
//! headers are filled in belong to protocols.
//!
//! - [`headers`]: LRH, GRH, BTH and its extensions, opcodes
//! - [`packet`]: whole packets with both checksums, and [`fcp`], flow-control packets
//! - [`crc`]: ICRC, VCRC, LPCRC
//! - [`mad`]: management datagrams and their attributes
//! - [`roce`]: the same packets in Ethernet frames
//! - [`capture`]: capture files in and out
//! - [`dissect`]: the packets of a capture file as values that can be serialised
//!
//! Sections are those of the InfiniBand Architecture Specification, volume 1.

pub mod capture;
pub mod crc;
pub mod dissect;
mod error;
pub mod fcp;
pub mod field;
pub mod headers;
pub mod ids;
pub mod mad;
pub mod packet;
mod psn;
mod record;
pub mod roce;

pub use error::WireError;
pub use psn::Psn;
pub use record::Record;
