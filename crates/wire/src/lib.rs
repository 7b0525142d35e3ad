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
//!
//! ```
//! use fabricsim_wire::headers::{Bth, Headers, Lrh, Opcode, Operands, Operation, Reth, Service};
//! use fabricsim_wire::ids::{Lid, Qpn, RKey};
//! use fabricsim_wire::packet::{Packet, PacketView};
//!
//! let opcode = Opcode::new(Service::Rc, Operation::WriteOnly).expect("RC has RDMA WRITE");
//! let transport = Headers {
//!     bth: Bth { opcode, dest_qp: Qpn(0x87b1b3), ack_request: true, ..Bth::default() },
//!     operands: Operands::Rdma(Reth { va: 0x1000, r_key: RKey(7), dma_length: 5 }),
//!     ..Headers::default()
//! };
//! let lrh = Lrh { slid: Lid(1), dlid: Lid(4), ..Lrh::default() };
//! let mut buffer = [0; 256];
//! let len = Packet { lrh, grh: None, transport, payload: b"bytes" }.emit(&mut buffer)?;
//!
//! let view = PacketView::new(&buffer[..len])?;
//! assert!(view.vcrc().is_right() && view.icrc().is_some_and(|icrc| icrc.is_right()));
//! assert_eq!(view.transport()?, (transport, &b"bytes"[..]));
//! # Ok::<(), fabricsim_wire::WireError>(())
//! ```

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
mod zeros;

pub use error::WireError;
pub use psn::Psn;
pub use record::Record;
