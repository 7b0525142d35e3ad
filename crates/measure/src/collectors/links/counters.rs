//! Counters of a lane of a sending port.

/// Use of a lane within the window: [`BUSY`], [`BYTES`], [`PACKETS`] and [`STALLED`].
pub(crate) type LaneCounters = [u64; 4];

/// Picoseconds in which packets were sent.
pub(crate) const BUSY: usize = 0;
/// Bytes of the packets whose sending began.
pub(crate) const BYTES: usize = 1;
/// Packets whose sending began.
pub(crate) const PACKETS: usize = 2;
/// Picoseconds in which the idle port had a packet, but no credits for it.
pub(crate) const STALLED: usize = 3;
