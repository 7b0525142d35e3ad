//! Priority flow control of Ethernet (PFC: IEEE 802.1Qbb, 2011; now in IEEE 802.1Q, clause 36): the receiving end of a link pauses and
//! resumes each priority, which is a virtual lane here. A sender knows nothing of the buffer behind its link but whether a lane is paused.
//!
//! A packet counts as in the buffer from when it may be sent on at the switch. If then more than the XOFF threshold is in the buffer of its lane,
//! the port sends a pause frame as soon as its link is free, before data; if no more than the XON threshold is left, a frame that resumes
//! the lane. What arrives until the sender has stopped takes the space above XOFF, the headroom. A packet that finds no
//! space is lost.
//!
//! Left out: a pause ends only by a frame (switches repeat theirs before its time is over, at a cost of 84 bytes in two million), and
//! frames are not lost.

mod control;
mod lanes;
mod send;
#[cfg(test)]
mod tests;

pub use control::{Admission, PauseControl};
pub(crate) use send::deliver;
pub use send::{hear_pause, send_pauses};

/// Bytes of a pause frame on a link: the smallest frame, with its preamble and the gap behind it (IEEE 802.3, clauses 4A.4.2 and 31B).
pub const PAUSE_BYTES: u32 = 64 + 8 + 12;

/// Thresholds of each lane of an input buffer, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct PauseThresholds {
    /// The buffer.
    pub capacity: u32,
    /// A lane with more in its buffer is paused.
    pub xoff: u32,
    /// A paused lane is resumed as no more is left in its buffer.
    pub xon: u32,
}

/// Content of a pause frame: lanes, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct PauseFrame {
    /// Lanes that are paused from now on.
    pub paused: u16,
    /// Lanes that are resumed.
    pub resumed: u16,
}

impl PauseFrame {
    /// True if it changes nothing, so that none is sent.
    pub fn is_empty(self) -> bool {
        self.paused | self.resumed == 0
    }
}
