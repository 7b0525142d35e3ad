//! Time, data sizes, rates, identifiers, and suggestions for unknown names.
//!
//! Simulated time is an integer number of picoseconds; sizes are integer bytes; rates are integer bits per
//! second. Each parses from, and prints as, the text that a person writes: `"40 ns"`, `"64 KiB"`, `"32 Gb/s"`.
//! Identifiers are newtypes over `u32`, so that a host is never confused with a switch.

mod bytes;
mod id;
mod nearest;
mod number_of;
mod quantity;
mod rate;
mod time;

pub use bytes::Bytes;
pub use id::{FlowId, HostId, LinkId, PortNo, SwitchId, Vl};
pub use nearest::nearest;
pub use number_of::number_of;
pub use quantity::QuantityError;
pub use rate::{ByteTime, Rate};
pub use time::Time;
