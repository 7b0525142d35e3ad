//! Queues that have been owed a turn, and lanes whose credits are kept for those that are ([`super::owed`]).

use fabricsim_model::Lanes;
use fabricsim_units::Vl;

/// The short queues of a switch.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct ShortQueues {
    /// Of each output, input and lane of its short queues: the one owed a turn for longest, or served longest ago, first.
    pub(super) queues: Box<[Vec<(u16, Vl)>]>,
    /// Number in all.
    count: u32,
}

impl ShortQueues {
    pub(super) fn new(ports: usize) -> Self {
        Self { queues: vec![Vec::new(); ports].into_boxed_slice(), count: 0 }
    }

    /// True if no queue is short.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, output: usize, input: usize, lane: Vl) {
        self.queues[output].push((input as u16, lane));
        self.count += 1;
    }

    /// The queue is served: it is the last one from now on, or is not short any more if it is `empty`.
    pub(super) fn served(&mut self, output: usize, (input, lane): (usize, Vl), empty: bool) {
        let queues = &mut self.queues[output];
        if let Some(place) = queues.iter().position(|&of| of == (input as u16, lane)) {
            queues.remove(place);
            if empty {
                self.count -= 1;
            } else {
                queues.push((input as u16, lane));
            }
        }
    }
}

/// A set of lanes, a bit each, whose credits are kept for packets that are owed a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept(u16);

impl Kept {
    /// True if all of `lanes` are kept for other packets.
    #[inline]
    pub(super) fn covers(self, lanes: Lanes) -> bool {
        self.0 != 0 && bits(lanes) & !self.0 == 0
    }

    /// The set of `lanes`.
    pub(super) fn of(lanes: Lanes) -> Self {
        Self(bits(lanes))
    }

    pub(super) fn keep(&mut self, lanes: Lanes) {
        self.0 |= bits(lanes);
    }
}

fn bits(lanes: Lanes) -> u16 {
    lanes.iter().fold(0, |all, lane| all | 1 << lane.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_kept_as_a_whole_set() {
        let mut kept = Kept::default();
        assert!(!kept.covers(Lanes::new(0, 1)));
        kept.keep(Lanes::new(1, 2));
        assert!(kept.covers(Lanes::new(1, 2)) && kept.covers(Lanes::new(2, 1)));
        assert!(!kept.covers(Lanes::new(0, 2)) && !kept.covers(Lanes::new(2, 2)), "a lane of them is free");
    }

    #[test]
    fn the_queue_served_last_is_the_last() {
        let mut short = ShortQueues::new(2);
        assert!(short.is_empty());
        short.add(1, 7, Vl(0));
        short.add(1, 3, Vl(2));
        short.add(0, 3, Vl(2));
        short.served(1, (7, Vl(2)), true);
        assert_eq!(short.queues[1], [(7, Vl(0)), (3, Vl(2))], "none of that lane");
        short.served(1, (7, Vl(0)), false);
        assert_eq!(short.queues[1], [(3, Vl(2)), (7, Vl(0))]);
        short.served(1, (3, Vl(2)), true);
        short.served(1, (7, Vl(0)), true);
        assert!(!short.is_empty());
        short.served(0, (3, Vl(2)), true);
        assert!(short.is_empty());
    }
}
