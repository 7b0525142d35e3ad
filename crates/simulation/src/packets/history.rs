//! What a link carried before a packet.

use std::collections::VecDeque;

use fabricsim_units::{HostId, Time};

/// Packets of a link that are remembered. One that waits behind more of them counts only these.
const REMEMBERED: usize = 64;

/// A time for which something occupied a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Occupied {
    pub(super) start: Time,
    pub(super) end: Time,
    /// Source and destination of the packet; `None` of management datagrams and flow-control packets.
    pub(super) ends: Option<(HostId, HostId)>,
}

/// What a packet waited behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Behind {
    /// Time for which the link carried others.
    pub(super) busy: Time,
    /// Source and destination of the packets that took most of it: the earliest, if several took as much.
    pub(super) most: Option<(HostId, HostId)>,
}

/// The last packets of a link, in order.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(super) struct History {
    last: VecDeque<Occupied>,
}

impl History {
    /// Adds what begins after all others. What has been before ends by then, whatever was computed.
    pub(super) fn add(&mut self, occupied: Occupied) {
        for before in self.last.iter_mut().rev().take_while(|before| before.end > occupied.start) {
            before.end = occupied.start;
        }
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(occupied);
    }

    /// What occupied it from `ready` to `start`: the parts within that time.
    pub(super) fn during(&self, ready: Time, start: Time) -> Vec<Occupied> {
        let first = self.last.partition_point(|one| one.end <= ready);
        let within = self.last.range(first..).map(|one| Occupied {
            start: one.start.max(ready),
            end: one.end.min(start),
            ends: one.ends,
        });
        within.filter(|one| one.start < one.end).collect()
    }
}

/// What a packet waited behind, of what occupied its link meanwhile.
pub(super) fn behind(occupied: &[Occupied]) -> Behind {
    let mut found = Behind::default();
    let mut sums: Vec<((HostId, HostId), Time)> = Vec::new();
    for one in occupied {
        let time = one.end - one.start;
        found.busy += time;
        let Some(ends) = one.ends else { continue };
        match sums.iter_mut().find(|(known, _)| *known == ends) {
            Some((_, sum)) => *sum += time,
            None => sums.push((ends, time)),
        }
    }
    let most = sums.iter().map(|&(_, time)| time).max();
    found.most = sums.iter().find(|&&(_, time)| Some(time) == most).map(|&(ends, _)| ends);
    found
}

/// Time that is occupied by at least one.
pub(super) fn covered(mut occupied: Vec<Occupied>) -> Time {
    occupied.sort_by_key(|one| one.start);
    let (mut sum, mut until) = (Time::ZERO, Time::ZERO);
    for one in occupied {
        sum += one.end.saturating_sub(one.start.max(until));
        until = until.max(one.end);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupied(start: u64, end: u64, source: u32) -> Occupied {
        Occupied { start: Time(start), end: Time(end), ends: Some((HostId(source), HostId(9))) }
    }

    #[test]
    fn the_time_of_others_is_counted_once_and_by_pair() {
        let mut history = History::default();
        for one in [occupied(0, 10, 1), occupied(10, 30, 2), occupied(35, 50, 1), occupied(50, 55, 2)] {
            history.add(one);
        }
        history.add(Occupied { ends: None, ..occupied(55, 60, 0) });
        // 5 of the first, 20, 15, 5, and 5 of a management datagram; 5 idle.
        let of = |ready, start| behind(&history.during(Time(ready), Time(start)));
        let found = of(5, 60);
        assert_eq!(found, Behind { busy: Time(50), most: Some((HostId(2), HostId(9))) });
        let found = of(30, 50);
        assert_eq!(found, Behind { busy: Time(15), most: Some((HostId(1), HostId(9))) });
        assert_eq!(of(60, 60), Behind::default());
        assert_eq!(of(30, 35), Behind::default());
    }

    #[test]
    fn only_the_last_packets_are_remembered() {
        let mut history = History::default();
        (0..1000).for_each(|number| history.add(occupied(number, number + 1, number as u32)));
        assert_eq!(covered(history.during(Time(0), Time(1000))), Time(REMEMBERED as u64));
    }

    #[test]
    fn overlaps_count_once() {
        let all = vec![occupied(20, 30, 1), occupied(0, 10, 1), occupied(5, 12, 2), occupied(22, 25, 3)];
        assert_eq!(covered(all), Time(22));
        assert_eq!(covered(Vec::new()), Time::ZERO);
    }
}
