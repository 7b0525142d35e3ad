//! Times that an adapter and its host take.

use fabricsim_units::{ByteTime, Time};

use crate::translations::TranslationCosts;

/// Bytes that the adapter reads from memory at once (tutorial, section III-G).
pub const LINE: u64 = 64;

/// Times of an adapter and of the host's calls.
///
/// A work request passes these stages one after the other; each stage works on the next one meanwhile:
/// call, doorbell, fetch of the payload, link; at the other end processing, write of the payload, completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Processor time of a call that posts a work request.
    pub post: Time,
    /// Processor time of a call that posts a receive request.
    pub post_receive: Time,
    /// Processor time of a call that polls a completion queue and finds something.
    pub poll: Time,
    /// From the end of a posting call until the adapter has the work request; at least 1 ns.
    pub doorbell: Time,
    /// From the doorbell until the adapter has read a work request from memory; zero if it comes with the doorbell.
    pub request_fetch: Time,
    /// From the request of the adapter for data in memory to the first byte.
    pub payload_fetch: Time,
    /// Time per byte over the bus (PCIe) from memory.
    pub bus: ByteTime,
    /// Least time from one message to the next.
    pub message: Time,
    /// Least time from one packet to the next.
    pub packet: Time,
    /// From the arrival of a packet until it is executed and answered.
    pub receive: Time,
    /// From the execution of a packet until its data is visible in memory; at least 1 ns.
    pub payload_write: Time,
    /// From the execution of a packet, and from the write of its data, until its completion is visible; at least 1 ns.
    pub completion: Time,
    /// From a completion until a program that sleeps runs again.
    pub wake_up: Time,
    /// Lines of 64 bytes fetched for each line on the link, if the payload does not begin at a multiple of 64.
    pub unaligned: u32,
    /// Largest payload that a work request can hold itself, in bytes.
    pub max_inline: u32,
    /// The cache of address translations; `None`: they are all known.
    pub translation: Option<TranslationCosts>,
}

impl Costs {
    /// No time but the least: 1 ns for the doorbell, for data and for completions.
    pub const LEAST: Self = Self {
        post: Time::ZERO,
        post_receive: Time::ZERO,
        poll: Time::ZERO,
        doorbell: Time::ns(1),
        request_fetch: Time::ZERO,
        payload_fetch: Time::ZERO,
        bus: ByteTime::ZERO,
        message: Time::ZERO,
        packet: Time::ZERO,
        receive: Time::ZERO,
        payload_write: Time::ns(1),
        completion: Time::ns(1),
        wake_up: Time::ZERO,
        unaligned: 1,
        max_inline: 128,
        translation: None,
    };

    /// From the end of a posting call until the adapter can begin with the work request.
    pub fn request(&self) -> Time {
        self.doorbell + self.request_fetch
    }

    /// Time over the bus for `length` bytes of memory from the address `va`, in whole lines.
    pub fn fetch(&self, va: u64, length: u32) -> Time {
        if length == 0 {
            return Time::ZERO;
        }
        let lines = u64::from(length).div_ceil(LINE);
        let lines = if va.is_multiple_of(LINE) { lines } else { lines * u64::from(self.unaligned) };
        self.bus.duration((lines * LINE).min(u64::from(u32::MAX)) as u32)
    }

    /// Longest time for which nothing that a program does now is noticed by the fabric, and the other way round.
    pub fn horizon(&self) -> Time {
        self.doorbell.min(self.completion)
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Rate;

    use super::*;

    #[test]
    fn memory_is_read_in_lines() {
        let bus = Rate::new(8_000_000_000).map(Rate::byte_time).unwrap_or_default();
        let costs = Costs { bus, unaligned: 2, ..Costs::LEAST };
        let cases = [(0, 0, 0), (0, 1, 64), (0, 64, 64), (64, 65, 128), (1, 64, 128), (32, 65, 256)];
        for (va, length, bytes) in cases {
            assert_eq!(costs.fetch(va, length), Time::ns(bytes), "{length} B at {va}");
        }
    }
}
