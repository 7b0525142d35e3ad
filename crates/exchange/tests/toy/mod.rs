//! Partitions that send each other letters, and notice when one comes late, early or twice.

use std::collections::BTreeSet;

use fabricsim_exchange::{Post, Stop, Windows};

/// Latency of letters.
pub(crate) const LOOKAHEAD: u64 = 10;

/// A letter that was sent in a window, and does something at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Letter {
    pub(crate) sender: usize,
    pub(crate) window: u64,
    pub(crate) time: u64,
}

/// The partitions of a thread. An event at a time sends a letter to the next partition.
#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) first: usize,
    /// Events of each partition, by time and sender.
    pub(crate) events: Vec<BTreeSet<(u64, usize)>>,
    /// All partitions, those of other threads included.
    pub(crate) partitions: usize,
    /// The window after which this thread stops all.
    pub(crate) stops_after: u64,
    /// True if its lookahead is not the same in each window.
    pub(crate) varies: bool,
    /// Windows so far.
    pub(crate) window: u64,
    /// Partition, time and sender of each event handled, in order.
    pub(crate) handled: Vec<(usize, u64, usize)>,
    /// Order of letters.
    pub(crate) taken: Vec<(usize, Letter)>,
}

impl Toy {
    /// The partitions `first..first + count`; those in `begin` have an event at time 0, 1 and so on.
    pub(crate) fn new((first, count): (usize, usize), partitions: usize, begin: &[usize]) -> Self {
        let events = |place: usize| {
            let own = begin.iter().enumerate().filter(|(_, begun)| **begun == place);
            own.map(|(time, _)| (time as u64, place)).collect()
        };
        Self {
            first,
            events: (first..first + count).map(events).collect(),
            partitions,
            stops_after: u64::MAX,
            varies: false,
            window: 0,
            handled: Vec::new(),
            taken: Vec::new(),
        }
    }

    fn handle(&mut self, place: usize, end: u64, post: &mut Post<'_, Letter>) -> u64 {
        let mut earliest = u64::MAX;
        while let Some(&(time, sender)) = self.events[place].first()
            && time < end
        {
            self.events[place].pop_first();
            let own = self.first + place;
            self.handled.push((own, time, sender));
            let letter = Letter { sender: own, window: self.window + 1, time: time + LOOKAHEAD };
            post.send(own, (own + 1) % self.partitions, letter);
            earliest = earliest.min(letter.time);
        }
        earliest
    }
}

impl Windows for Toy {
    type Letter = Letter;

    fn next_time(&mut self) -> u64 {
        let times = self.events.iter().filter_map(|events| events.first());
        times.map(|(time, _)| *time).min().unwrap_or(u64::MAX)
    }

    fn lookahead(&mut self) -> u64 {
        let of = |place| LOOKAHEAD - ((self.first + place) as u64 + self.window) % 3;
        if self.varies { (0..self.events.len()).map(of).min().unwrap_or(LOOKAHEAD) } else { LOOKAHEAD }
    }

    fn run(&mut self, end: u64, post: &mut Post<'_, Letter>) -> u64 {
        (0..self.events.len()).map(|place| self.handle(place, end, post)).min().unwrap_or(u64::MAX)
    }

    fn take(&mut self, receiver: usize, letter: Letter, end: u64) {
        assert!(letter.time >= end, "late: {letter:?} in a window that ended at {end}");
        assert_eq!(letter.window, self.window, "of another window: {letter:?}");
        self.taken.push((receiver, letter));
        assert!(self.events[receiver - self.first].insert((letter.time, letter.sender)), "twice: {letter:?}");
    }

    fn ended(&mut self, window: u64, _end: u64) -> Stop {
        assert_eq!(window, self.window + 1);
        self.window = window;
        if window == self.stops_after { Stop::Yes } else { Stop::No }
    }
}
