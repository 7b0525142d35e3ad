//! Times that collectors share.

use fabricsim_model::Packet;
use fabricsim_units::Time;

use crate::grid::{Axis, Bin};
use crate::{Batch, Window};

/// Times that all collectors share.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Timeline {
    /// The measurement.
    pub(crate) window: Window,
    /// The bins of all series but those of links and transports.
    pub(crate) axis: Axis,
}

/// Delivery of a packet, computed once for all collectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Bin of the time of delivery.
    pub(crate) bin: Bin,
    /// True if the packet was delivered within the window.
    pub(crate) accepted: bool,
    /// True if it was created within the window.
    pub(crate) created_within: bool,
    /// From creation to delivery, in picoseconds.
    pub(crate) total: u64,
    /// From the first byte on the wire to delivery, in picoseconds.
    pub(crate) network: u64,
}

impl Delivery {
    #[inline]
    pub(crate) fn new(timeline: &mut Timeline, now: Time, packet: &Packet) -> Self {
        Self {
            bin: timeline.axis.bin(now),
            accepted: timeline.window.contains(now),
            created_within: timeline.window.contains(packet.created),
            total: (now - packet.created).0,
            network: (now - packet.injected).0,
        }
    }

    /// The packet alone.
    #[inline]
    pub(crate) fn batch(&self, packet: &Packet) -> Batch {
        Batch { packets: 1, latency: u128::from(self.total), bytes: u64::from(packet.bytes) }
    }
}
