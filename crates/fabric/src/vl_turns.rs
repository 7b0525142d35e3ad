//! Turns of virtual lanes at an output by InfiniBand's tables of weights (section 7.6.9): one of high priority, one of low priority, and a
//! limit on what the first may send while the second waits.

use std::sync::Arc;

use fabricsim_units::Vl;

/// Bytes of a unit of weight.
const UNIT: u32 = 64;

/// Bytes of a unit of the limit of high priority.
const LIMIT_UNIT: u64 = 4096;

/// Value of the limit that stands for none.
const NO_LIMIT: u8 = 255;

/// An entry of a table: a lane and its weight in units of 64 bytes. Weight 0 skips the entry.
pub type VlEntry = (Vl, u8);

/// The tables of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VlTables {
    /// Of high priority.
    pub high: Vec<VlEntry>,
    /// Of low priority.
    pub low: Vec<VlEntry>,
    /// What is sent of high priority while low priority waits: 0 a packet, 255 without a limit, else in units of 4096 bytes.
    pub high_limit: u8,
}

/// The entry of a table whose turn it is, and the bytes that it may still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
struct Turn {
    entry: usize,
    left: u32,
}

impl Default for Turn {
    /// Before the first entry.
    fn default() -> Self {
        Self { entry: usize::MAX, left: 0 }
    }
}

impl Turn {
    /// The turn with which `entries` go on if the lanes of a set (a bit each) have something to send: the same as long as it has weight
    /// left, else the next. None if no entry has a lane of the set.
    fn next(self, entries: &[VlEntry], lanes: u16) -> Option<Self> {
        let may = |entry: usize| {
            let (lane, weight) = entries[entry];
            weight > 0 && lanes >> lane.0 & 1 == 1
        };
        if self.left > 0 && self.entry < entries.len() && may(self.entry) {
            return Some(self);
        }
        let count = entries.len();
        let next =
            (1..=count).map(|step| self.entry.wrapping_add(step) % count.max(1)).find(|&entry| may(entry))?;
        Some(Self { entry: next, left: u32::from(entries[next].1) * UNIT })
    }
}

/// Turns of the lanes of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, fabricsim_state::State)]
pub struct VlTurns {
    #[state(fixed)]
    tables: Arc<VlTables>,
    high: Turn,
    low: Turn,
    /// Bytes of high priority since low priority began to wait.
    high_bytes: u64,
}

impl VlTurns {
    /// Turns by `tables`, each before its first entry.
    pub fn new(tables: &Arc<VlTables>) -> Self {
        Self { tables: Arc::clone(tables), ..Self::default() }
    }

    /// The lane that sends next, among those of a set (a bit each); none if no table has one.
    #[must_use]
    pub fn lane(&self, lanes: u16) -> Option<Vl> {
        let tables = &*self.tables;
        let (high, low) = (self.high.next(&tables.high, lanes), self.low.next(&tables.low, lanes));
        match (high, low) {
            (Some(turn), low) if low.is_none() || within_limit(self.high_bytes, tables.high_limit) => {
                Some(tables.high[turn.entry].0)
            }
            (_, Some(turn)) => Some(tables.low[turn.entry].0),
            (high, None) => high.map(|turn| tables.high[turn.entry].0),
        }
    }

    /// A packet of `bytes` leaves on `lane`, which was chosen among a set of lanes.
    pub fn sent(&mut self, lanes: u16, (lane, bytes): (Vl, u32)) {
        let Self { tables, high, low, high_bytes } = self;
        let (next_high, next_low) = (high.next(&tables.high, lanes), low.next(&tables.low, lanes));
        let weighed = bytes.next_multiple_of(UNIT);
        let charged = |turn: Turn| Turn { left: turn.left.saturating_sub(weighed), ..turn };
        if let Some(turn) = next_high.filter(|turn| tables.high[turn.entry].0 == lane)
            && (next_low.is_none() || within_limit(*high_bytes, tables.high_limit))
        {
            *high = charged(turn);
            *high_bytes = if next_low.is_some() { *high_bytes + u64::from(bytes) } else { 0 };
        } else if let Some(turn) = next_low.filter(|turn| tables.low[turn.entry].0 == lane) {
            *low = charged(turn);
            *high_bytes = 0;
        }
    }
}

/// True if high priority goes first although low priority waits: it has sent `high_bytes` since.
fn within_limit(high_bytes: u64, limit: u8) -> bool {
    limit == NO_LIMIT || high_bytes < (u64::from(limit) * LIMIT_UNIT).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(high: &[(u8, u8)], low: &[(u8, u8)], high_limit: u8) -> VlTables {
        let entries = |list: &[(u8, u8)]| list.iter().map(|&(lane, weight)| (Vl(lane), weight)).collect();
        VlTables { high: entries(high), low: entries(low), high_limit }
    }

    /// Lanes that send in turn, if all of `lanes` always have packets of these sizes.
    fn order(tables: &VlTables, lanes: u16, bytes: impl Fn(u8) -> u32, count: usize) -> Vec<u8> {
        let mut turns = VlTurns::new(&Arc::new(tables.clone()));
        let send = |_| {
            let lane = turns.lane(lanes).unwrap();
            turns.sent(lanes, (lane, bytes(lane.0)));
            lane.0
        };
        (0..count).map(send).collect()
    }

    #[test]
    fn whole_packets_by_weight() {
        // Weights of 2 and 4 units: a packet of 128 bytes, then two.
        let low = tables(&[], &[(0, 2), (1, 4)], 0);
        assert_eq!(order(&low, 0b11, |_| 128, 7), [0, 1, 1, 0, 1, 1, 0]);
        // What exceeds the weight is still sent whole: 300 bytes count as 320, 1 byte as 64.
        assert_eq!(order(&low, 0b11, |_| 300, 4), [0, 1, 0, 1]);
        assert_eq!(order(&low, 0b11, |_| 1, 7), [0, 0, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn entries_without_weight_or_packets_are_skipped() {
        let low = tables(&[], &[(0, 1), (1, 0), (2, 1), (3, 1)], 0);
        assert_eq!(order(&low, 0b1111, |_| 64, 5), [0, 2, 3, 0, 2]);
        assert_eq!(order(&low, 0b0101, |_| 64, 4), [0, 2, 0, 2]);
        let turns = VlTurns::new(&Arc::new(low));
        assert_eq!(turns.lane(0b0010), None);
        assert_eq!(turns.lane(0), None);
    }

    #[test]
    fn high_priority_goes_first_within_its_limit() {
        let of = |limit| tables(&[(1, 255)], &[(0, 255)], limit);
        assert_eq!(order(&of(0), 0b11, |_| 1024, 4), [1, 0, 1, 0], "a packet each");
        // 4096 bytes, then a packet of low priority.
        assert_eq!(order(&of(1), 0b11, |_| 1024, 11), [1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1]);
        assert_eq!(order(&of(255), 0b11, |_| 1024, 4), [1, 1, 1, 1], "without a limit");
        assert_eq!(order(&of(0), 0b01, |_| 1024, 2), [0, 0]);
        assert_eq!(order(&of(0), 0b10, |_| 1024, 2), [1, 1]);
    }

    #[test]
    fn only_what_is_sent_while_low_priority_waits_counts_against_the_limit() {
        let tables = tables(&[(1, 255)], &[(0, 255)], 1);
        let mut turns = VlTurns::new(&Arc::new(tables));
        (0..10).for_each(|_| turns.sent(0b10, (Vl(1), 1024)));
        assert_eq!(turns.lane(0b11), Some(Vl(1)));
        (0..4).for_each(|_| turns.sent(0b11, (Vl(1), 1024)));
        assert_eq!(turns.lane(0b11), Some(Vl(0)));
    }

    #[test]
    fn a_lane_in_several_entries_has_their_sum() {
        let low = tables(&[], &[(0, 1), (1, 1), (0, 1)], 0);
        let sent = order(&low, 0b11, |_| 64, 300);
        let of_0: usize = sent.iter().map(|&lane| usize::from(lane == 0)).sum();
        assert_eq!(of_0, 200);
    }
}
