//! InfiniBand's flow control of a link, as it is on the wire (section 7.9 of the specification; MacArthur et al., "A Survey of End-System
//! Optimizations for High-Speed Networks", 2017, section II-D, with one correction).
//!
//! Each end of a link has four counters for every virtual lane, in blocks of 64 bytes and modulo 4096: [`LaneCounters`]. Flow-control
//! packets carry totals, not differences: one that is lost is made good by the next one, and so are the credits of data packets that are lost.
//!
//! [`LinkEnd`] decides when an end sends a flow-control packet for a lane, and notices that none has come for too long.
//!
//! The tutorial prints the credit limit as the receiver's ABR plus the *maximum* of its free blocks and 2048. It is the minimum: the maximum
//! promises space that is not there.

mod end;
mod ports;
mod send;
#[cfg(test)]
mod tests;

pub use end::{FlowTimes, LinkEnd};
pub use ports::{FlowControl, NO_ERRORS};
pub use send::{WIRE_BYTES, refresh, send_flow_control};

/// Symbol times without a flow-control packet for a lane after which a link is trained anew, as bytes of four physical lanes.
pub const WATCHDOG_BYTES: u32 = 4 * end::WATCHDOG as u32;

/// Size of a block in bytes.
pub const BLOCK: u32 = 64;

/// Counters count modulo this number of blocks.
const MODULUS: u16 = 4096;

/// Most blocks that may be sent beyond those that the other end is known to have received: half of the modulus, so that
/// a limit ahead is distinguished from one behind.
pub const WINDOW: u16 = MODULUS / 2;

/// Content of a flow-control packet for a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Credits {
    /// FCTBS: blocks that its sender has sent on the lane.
    pub total_blocks_sent: u16,
    /// FCCL: blocks that its receiver may have sent on the lane.
    pub credit_limit: u16,
}

/// Counters of a virtual lane at an end of a link: two of the sender, two of the receiver in the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneCounters {
    /// TBS: blocks sent since the link was initialised.
    total_blocks_sent: u16,
    /// CL: the value of TBS up to which this end may send.
    credit_limit: u16,
    /// ABR: blocks received since the link was initialised, and those that were lost on the way.
    adjusted_blocks_received: u16,
    /// FB: free blocks of the input buffer.
    free_blocks: u32,
}

impl LaneCounters {
    /// A lane of a link that has just been initialised, with `free_blocks` in its input buffer. It may send nothing yet.
    pub fn new(free_blocks: u32) -> Self {
        Self { total_blocks_sent: 0, credit_limit: 0, adjusted_blocks_received: 0, free_blocks }
    }

    /// Free blocks of the input buffer.
    pub fn free_blocks(&self) -> u32 {
        self.free_blocks
    }

    /// Blocks that this end may send now.
    pub fn credits(&self) -> u16 {
        let ahead = difference(self.credit_limit, self.total_blocks_sent);
        if ahead <= WINDOW { ahead } else { 0 }
    }

    /// True if this end may send a packet of `blocks`: 0 <= (CL - (TBS + N)) <= 2048, modulo 4096.
    pub fn may_send(&self, blocks: u16) -> bool {
        difference(self.credit_limit, sum(self.total_blocks_sent, blocks)) <= WINDOW
    }

    /// A packet is sent.
    pub fn send(&mut self, blocks: u16) {
        self.total_blocks_sent = sum(self.total_blocks_sent, blocks);
    }

    /// A good packet has arrived. False if the buffer has no space for it: then it is lost, and the other end has broken the rules.
    pub fn receive(&mut self, blocks: u16) -> bool {
        let Some(free) = self.free_blocks.checked_sub(blocks.into()) else { return false };
        self.free_blocks = free;
        self.adjusted_blocks_received = sum(self.adjusted_blocks_received, blocks);
        true
    }

    /// Blocks have left the input buffer.
    pub fn release(&mut self, blocks: u32) {
        self.free_blocks += blocks;
    }

    /// The flow-control packet that is sent now.
    pub fn announce(&self) -> Credits {
        let promised = self.free_blocks.min(WINDOW.into()) as u16;
        Credits {
            total_blocks_sent: self.total_blocks_sent,
            credit_limit: sum(self.adjusted_blocks_received, promised),
        }
    }

    /// A flow-control packet has arrived. Links keep the order of what they carry: all data that its sender had sent before has arrived, or is
    /// lost.
    pub fn hear(&mut self, credits: Credits) {
        self.credit_limit = credits.credit_limit % MODULUS;
        self.adjusted_blocks_received = credits.total_blocks_sent % MODULUS;
    }
}

fn sum(a: u16, b: u16) -> u16 {
    (a % MODULUS + b % MODULUS) % MODULUS
}

fn difference(a: u16, b: u16) -> u16 {
    (a % MODULUS + MODULUS - b % MODULUS) % MODULUS
}
