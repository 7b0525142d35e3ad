use fabricsim_spec::CctEntry;
use fabricsim_units::Time;

use crate::Table;

/// Credit starvation (InfiniBand Architecture Specification, annex A10): while an input buffer is filled to a threshold or more, the
/// credits of packets that leave it are returned late, so that the sender at the other end slows down.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Starvation {
    /// Blocks in each buffer, by (input, lane), and from how many on its credits are late.
    held: Table<u32>,
    from: Table<u32>,
    #[state(fixed)]
    delay: CctEntry,
}

impl Starvation {
    /// Buffers by (input, lane): credits are late while `from` blocks or more are held.
    pub fn new(from: Vec<u32>, delay: CctEntry) -> Self {
        Self { held: Table::new(vec![0; from.len()]), from: Table::new(from), delay }
    }

    #[inline]
    pub(super) fn fills(&mut self, buffer: usize, blocks: u32) {
        self.held[buffer] += blocks;
    }

    /// A packet leaves the buffer; returns the delay of its credits.
    #[inline]
    pub(super) fn empties(&mut self, buffer: usize, blocks: u32, packet_time: Time) -> Time {
        let starves = self.held[buffer] >= self.from[buffer];
        self.held[buffer] -= blocks;
        if starves { self.delay.of(packet_time) } else { Time::ZERO }
    }
}
