//! Values that congestion control is counted in.

use std::ops::AddAssign;

/// Congestion record of a flow, within the window. Times are in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct FlowCongestion {
    /// Marked packets delivered (FECN).
    pub(crate) fecn: u64,
    /// Notifications that its source received (BECN).
    pub(crate) becn: u64,
    /// Time rate-limited.
    pub(crate) rate_limited: u64,
    /// Time in which the source's link was idle only because of the rate limit.
    pub(crate) blocked_by_cc: u64,
    /// Sum of level times time.
    pub(crate) level: u128,
    /// The largest and smallest level while it was rate-limited.
    pub(crate) levels: Option<(u32, u32)>,
}

/// The same in a bin of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct FlowBin {
    pub(crate) becn: u64,
    pub(crate) rate_limited: u64,
    pub(crate) blocked_by_cc: u64,
    /// Sum of level times time. At most that of 400 Gb/s over half a minute; more is counted as that.
    pub(crate) level: u64,
}

/// The whole fabric in a bin of a series, or within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct FabricCongestion {
    /// Packets marked.
    pub(crate) marked: u64,
    /// Notifications received.
    pub(crate) notified: u64,
    /// Picoseconds blocked by congestion control, summed over hosts.
    pub(crate) blocked_by_cc: u64,
    /// Packets without data that were received, and their bytes.
    pub(crate) control_packets: u64,
    pub(crate) control_bytes: u64,
}

impl FlowCongestion {
    /// Mean and strongest level over `window` picoseconds, where `free` is the level of a flow that is not rate-limited:
    /// 0 for an index, the link's rate for a rate.
    pub(crate) fn level(&self, window: u64, free: u32) -> (f64, f64) {
        let strongest = match self.levels {
            None => free,
            Some((largest, smallest)) => {
                if free == 0 {
                    largest
                } else {
                    smallest
                }
            }
        };
        (mean_level(self.level as f64, self.rate_limited, window, free), f64::from(strongest))
    }
}

impl FlowBin {
    /// Mean level over a bin of `length` picoseconds.
    pub(crate) fn mean_level(&self, length: u64, free: u32) -> f64 {
        mean_level(self.level as f64, self.rate_limited, length, free)
    }
}

/// `sum` of level times time over the time `held`; `free` for the rest of `length`. Flows of one source that are taken
/// together may be rate-limited for longer than that in sum: then the mean is over them.
fn mean_level(sum: f64, held: u64, length: u64, free: u32) -> f64 {
    let rest = length.saturating_sub(held) as f64;
    (sum + f64::from(free) * rest) / (held as f64 + rest)
}

impl AddAssign for FlowCongestion {
    fn add_assign(&mut self, other: Self) {
        self.fecn += other.fecn;
        self.becn += other.becn;
        self.rate_limited += other.rate_limited;
        self.blocked_by_cc += other.blocked_by_cc;
        self.level += other.level;
        self.levels = match (self.levels, other.levels) {
            (Some(mine), Some(theirs)) => Some((mine.0.max(theirs.0), mine.1.min(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

impl AddAssign for FlowBin {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.becn += other.becn;
        self.rate_limited += other.rate_limited;
        self.blocked_by_cc += other.blocked_by_cc;
        self.level = self.level.saturating_add(other.level);
    }
}

impl AddAssign for FabricCongestion {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.marked += other.marked;
        self.notified += other.notified;
        self.blocked_by_cc += other.blocked_by_cc;
        self.control_packets += other.control_packets;
        self.control_bytes += other.control_bytes;
    }
}
