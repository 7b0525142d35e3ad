//! Headers of packets, in the order in which they follow each other (IBA volume 1, chapters 7 to 9).

mod bth;
mod extension;
mod feth;
mod grh;
mod lrh;
mod opcode;
mod operation;
mod raw;
mod service;
mod stack;
mod syndrome;
mod syndrome_codes;

pub use bth::{Bth, BthView};
pub use extension::{
    Aeth, AethView, AtomicAckEth, AtomicAckEthView, AtomicEth, AtomicEthView, Deth, DethView, Ieth, IethView,
    ImmDt, ImmDtView, Rdeth, RdethView, Reth, RethView, Xrceth, XrcethView,
};
pub use feth::{Feth, FethView, PlacementType, SelectivityLevel};
pub use grh::{Grh, GrhView, NEXT_HEADER_IBA};
pub use lrh::{Lrh, LrhView, NextHeader};
pub use opcode::{Extension, Extensions, Opcode, OpcodeKind};
pub use operation::{Operation, Position};
pub use raw::{RawHeader, RawHeaderView};
pub use service::Service;
pub use stack::{Address, Headers, Operands};
pub use syndrome::{NakCode, Syndrome};
pub use syndrome_codes::{CreditCode, RnrTimer};
