//! The packet aging of the Cray SeaStar router, bit for bit (Abts and Weisser, "Age-Based Packet Arbitration in
//! Large-Radix k-ary n-cubes", SC07, section 2, procedures 1 to 3).
//!
//! A packet carries an 8-bit age. A router adds a bias to it on arrival and, while the packet waits, one for each
//! roll of a chip-wide countdown timer. It does so without touching the packet: at arrival the *timestamp* of the
//! router is subtracted, at each arbitration the timestamp of that time step is added ([`AgeHeader`]). The 8-bit
//! timestamp rolls over; so that a packet never stays for two roll-overs, packets are counted by the *epoch* in
//! which they arrived, and the timestamp stands still at 255, with arbitration by age *inhibited*, until the
//! packets of the previous epoch are gone.
//!
//! [`Ager`] is the state of one router: its clock, epoch and counters. Time comes in with [`Ager::advance`].
//!
//! Differences from the printed text:
//!
//! - **Procedure 2, line 8** saturates if `S8 OR (S9 AND head8)`, where S is the 10-bit sum and head8 the borrow of the
//!   subtraction at arrival. With a borrow S is 512 more than the age, so S9 is always set, and the printed line
//!   gives 255 to every packet that arrived with an age below the timestamp. The condition must be
//!   `S8 OR (S9 AND NOT head8)`; the tests hold both against unbounded integers.
//! - **Counters** of packets have 11 bits in the paper, 0 to 2047, but the buffers of a router hold more packets of one
//!   flit (7 x 4 x 96 + 7 x 24 x 16 = 5376). Here they have 32 bits, and a count below zero is a failed assertion.
//!   The paper does not specify the hardware's behaviour at 2048; a real router that stays below is the same as this one.

mod clock;
mod header;
mod select;
#[cfg(test)]
mod tests;

use fabricsim_units::Time;

use clock::Clock;
pub use header::AgeHeader;
pub use select::AgeRrSelect;

/// AGE_CLOCK_PERIOD that the paper calls the default (section 4): 4096 cycles, 8.2 us at 500 MHz.
pub const DEFAULT_PERIOD: u32 = 0x1000;
/// The default REQ_AGE_BIAS and RSP_AGE_BIAS of every port (section 2.1).
pub const DEFAULT_BIAS: u8 = 1;
/// The largest bias: the fields of PORT_CONFIG have 3 bits (procedure 1, lines 3 and 5).
pub const MAX_BIAS: u8 = 7;

/// Router cycles in which a waiting packet ages by one: AGE_CLOCK_PERIOD, where 0 stands for 2^32.
pub fn cycles(period: u32) -> u64 {
    if period == 0 { 1 << 32 } else { u64::from(period) }
}

/// Ticks of the age clock after which timestamp and epoch come round.
pub const TICKS: u64 = 512;

/// The aging of one router: timestamp, epoch, inhibit flag and packet counters (table 2).
///
/// Every call is preceded by [`Ager::advance`] to the time of the call. Calls of one time step may come in any order.
#[derive(Clone, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Ager {
    clock: Clock,
    /// Packets that are in the router, by the epoch in which they arrived.
    counts: [u32; 2],
}

impl Ager {
    /// The aging of a router without packets, at time 0 with timestamp 0 in epoch 0. `period` is AGE_CLOCK_PERIOD in
    /// router cycles, where 0 means 2^32 (the countdown wraps); `cycle` is the router clock's, 2 ns at 500 MHz, and
    /// at least 1 ps. The n-th tick of the clock is at n x `cycle`.
    pub fn new(period: u32, cycle: Time) -> Self {
        Self::begun_before(period, cycle, 0)
    }

    /// The same for a router that has been without packets for `before` cycles at time 0.
    pub fn begun_before(period: u32, cycle: Time, before: u64) -> Self {
        Self { clock: Clock::new(period, cycle, before), counts: [0; 2] }
    }

    /// Procedure 3 for all ticks of the router clock up to `now`, which never goes back. Packets come and go only
    /// through this object, so the ticks between two calls are computed, not simulated one by one.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        self.clock.advance(now, self.counts);
    }

    /// Procedure 1: a packet arrives with `age`, at a port with the given bias for its class.
    #[inline]
    pub fn receive(&mut self, age: u8, bias: u8) -> AgeHeader {
        let epoch = self.clock.epoch;
        self.counts[usize::from(epoch)] += 1;
        AgeHeader::arriving(age.saturating_add(bias), epoch, self.clock.timestamp)
    }

    /// Procedure 2, lines 1 to 11: the age of a packet that is in the router.
    #[inline(always)]
    pub fn age(&self, header: AgeHeader) -> u8 {
        header.age_at(self.clock.epoch, self.clock.timestamp)
    }

    /// Procedure 2, lines 13 and 14: a packet leaves with the age that is returned.
    ///
    /// # Panics
    /// If no packet of its epoch is in the router: the caller sent a packet that it never received.
    #[inline]
    pub fn send(&mut self, header: AgeHeader) -> u8 {
        let age = self.age(header);
        let epoch = usize::from(header.in_epoch());
        let count = self.counts[epoch].checked_sub(1).expect("a packet leaves that never came");
        self.counts[epoch] = count;
        if count == 0 {
            self.clock.drained(self.counts);
        }
        age
    }

    /// True if arbitration by age is inhibited. Outputs are arbitrated in turn meanwhile (section 2.2).
    #[inline(always)]
    pub fn inhibited(&self) -> bool {
        self.clock.inhibited
    }

    /// The free-running counter that marks the passing of time, 0 to 255.
    pub fn timestamp(&self) -> u8 {
        self.clock.timestamp
    }

    /// The current epoch: `false` is 0 and `true` is 1.
    pub fn epoch(&self) -> bool {
        self.clock.epoch
    }

    /// Packets that are in the router, by the epoch in which they arrived.
    pub fn counts(&self) -> [u32; 2] {
        self.counts
    }
}
