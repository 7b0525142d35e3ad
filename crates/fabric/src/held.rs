//! Outputs that are held for packets that still arrive (`switch.rate_mismatch = "hold-output"`).
//!
//! A byte leaves as soon as it has arrived and the output's link can carry it. On a link the bytes follow each other at a constant rate, so the
//! time at which byte k leaves is the latest of a few lines over k: the output's own, and those of the slower links before it
//! ([`ByteLine`]). Lines of links that are at least as fast as the output never count: the packet leaves after its head has arrived.

use fabricsim_model::ByteLine;
use fabricsim_spec::CreditReturn;
use fabricsim_units::{ByteTime, Time};

use crate::{Arena, Ramp};

/// Time at which the last of `bytes` leaves.
pub(crate) fn last_of(lines: &[ByteLine], bytes: u32) -> Time {
    lines.iter().map(|line| line.at(bytes)).max().unwrap_or_default()
}

/// Puts the line `own`, by which a packet leaves a link that is free at `free_at`, before those of `arrivals` that delay it.
pub(crate) fn leave_by(arrivals: &mut Vec<ByteLine>, own: ByteLine, bytes: u32, free_at: Time) {
    arrivals.retain(|line| line.byte_time > own.byte_time && line.at(bytes) > free_at);
    arrivals.insert(0, own);
}

/// Calls `each` with the ramps of a packet's blocks of `unit` bytes, which leave at the latest of `lines`, in ascending order of
/// [`ByteLine::byte_time`].
pub(crate) fn ramps(
    how: CreditReturn,
    lines: &[ByteLine],
    (bytes, blocks): (u32, u32),
    unit: u32,
    mut each: impl FnMut(Ramp),
) {
    if how == CreditReturn::Packet {
        let base = last_of(lines, bytes);
        return each(Ramp { base, byte_time: ByteTime::default(), bytes, blocks });
    }
    let size = |block: u32| (block * unit).min(bytes);
    let (mut left, mut rest) = (0, lines);
    while left < blocks {
        let next = size(left + 1);
        let latest = (0..rest.len()).max_by_key(|&i| rest[i].at(next)).unwrap_or_default();
        let (line, steeper) = (rest[latest], &rest[latest + 1..]);
        // Once a steeper line is later, it stays later.
        let is_latest =
            |block: u32| steeper.iter().all(|other| other.at(size(block)) <= line.at(size(block)));
        let end = last_with(left + 1, blocks, is_latest);
        let before = size(left);
        let ramp = Ramp {
            base: line.at(before),
            byte_time: line.byte_time,
            bytes: size(end) - before,
            blocks: end - left,
        };
        each(ramp);
        (left, rest) = (end, steeper);
    }
}

/// The last number from `first` to `last` for which `holds`: for `first` and all numbers up to the one that is returned.
fn last_with(first: u32, last: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut yes, mut no) = (first, last + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}

impl Arena {
    /// The packet leaves by the line `own`. Returns the time at which its last byte arrives from a slower link; zero if it does not.
    pub(crate) fn leaves_by(&mut self, index: u32, own: ByteLine, bytes: u32) -> Time {
        match self.lines(index).as_mut_slice() {
            [] => Time::ZERO,
            [first, arrivals @ ..] => {
                *first = own;
                last_of(arrivals, bytes)
            }
        }
    }

    /// The packet arrives at a switch, where it may leave `delay` after it has left here.
    pub(crate) fn arrives_after(&mut self, index: u32, delay: Time) {
        let lines = self.lines(index);
        if lines.len() == 1 {
            lines.clear();
        }
        for line in lines {
            line.from += delay;
        }
    }

    /// Calls `each` with the ramps of a packet that leaves by the line `own`, to a host that accepts every byte as it arrives.
    pub(crate) fn accepted_by(
        &mut self,
        index: u32,
        own: ByteLine,
        how: CreditReturn,
        size: (u32, u32),
        unit: u32,
        each: impl FnMut(Ramp),
    ) {
        match self.lines(index).as_slice() {
            [] => ramps(how, &[own], size, unit, each),
            lines => ramps(how, lines, size, unit, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Random;
    use fabricsim_units::Rate;

    use super::*;

    fn line(from_ns: u64, ns_per_byte: u64) -> ByteLine {
        let byte_time = Rate::new(8_000_000_000 / ns_per_byte).unwrap().byte_time();
        ByteLine { from: Time::ns(from_ns), byte_time }
    }

    fn ramps_of(lines: &[ByteLine], size: (u32, u32), unit: u32) -> Vec<Ramp> {
        let mut found = Vec::new();
        ramps(CreditReturn::Block, lines, size, unit, |ramp| found.push(ramp));
        found
    }

    /// A packet of 100 bytes that has waited for 45 ns leaves by a link of 1 ns a byte, and comes over one of 4 ns a byte from 0 on: bytes 1 to 15
    /// are there when the link can carry them, the others leave as they arrive. Blocks of 10 bytes: the first leaves at 55 ns, the second at 80 ns.
    #[test]
    fn blocks_leave_as_they_arrive_once_the_output_has_caught_up() {
        let mut lines = vec![line(0, 4)];
        leave_by(&mut lines, line(45, 1), 100, Time::ns(145));
        assert_eq!(lines, [line(45, 1), line(0, 4)]);
        let found = ramps_of(&lines, (100, 10), 10);
        let [fast, slow] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((fast.time_of(1, 10), fast.blocks), (Time::ns(55), 1));
        assert_eq!((slow.time_of(1, 10), slow.time_of(9, 10), slow.blocks), (Time::ns(80), Time::ns(400), 9));
        assert_eq!(last_of(&lines, 100), Time::ns(400));
    }

    /// The tail of the packet above is there at 400 ns: an output that carries it from 299 ns on is held for 1 ns, one from 300 ns on is not.
    #[test]
    fn only_what_arrives_too_late_holds_an_output() {
        for (from, lines_left) in [(299, 2), (300, 1), (350, 1)] {
            let mut lines = vec![line(0, 4)];
            leave_by(&mut lines, line(from, 1), 100, Time::ns(from + 100));
            assert_eq!(lines.len(), lines_left, "{from}");
        }
        // Over a link that is no slower.
        let mut lines = vec![line(0, 1)];
        leave_by(&mut lines, line(0, 1), 100, Time::ns(100));
        assert_eq!(lines, [line(0, 1)]);
    }

    #[test]
    fn by_packet_all_blocks_leave_with_the_tail() {
        let mut found = Vec::new();
        let lines = [line(30, 1), line(0, 4)];
        ramps(CreditReturn::Packet, &lines, (95, 10), 10, |ramp| found.push(ramp));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].time_of(1, 10), found[0].time_of(10, 10)), (Time::ns(380), Time::ns(380)));
    }

    /// Over links of many rates, with any waiting at switches: each block leaves at the latest of the times at which its last byte leaves any of
    /// the links before, as if followed byte by byte.
    #[test]
    fn ramps_are_the_times_of_each_block_over_any_chain() {
        let mut random = Random::new(1, 2, 3);
        let mut in_pieces = 0;
        for case in 0..5_000 {
            let (bytes, unit) = (1 + random.below(700) as u32, 1 + random.below(64) as u32);
            let blocks = bytes.div_ceil(unit);
            let mut lines: Vec<ByteLine> = Vec::new();
            let mut each: Vec<Time> = vec![Time::ZERO; blocks as usize];
            let mut head = 0;
            for _ in 0..=random.below(5) {
                head += random.below(500);
                let own = line(head, [1, 2, 4, 5, 8][random.below(5) as usize]);
                for (block, time) in (1..).zip(&mut each) {
                    *time = own.at((block * unit).min(bytes)).max(*time);
                }
                leave_by(&mut lines, own, bytes, own.at(bytes));
            }
            let found = ramps_of(&lines, (bytes, blocks), unit);
            let times = found.iter().flat_map(|ramp| (1..=ramp.blocks).map(|i| ramp.time_of(i, unit)));
            assert_eq!(times.collect::<Vec<_>>(), each, "case {case}: {lines:?}");
            in_pieces += usize::from(found.len() > 2);
        }
        assert!(in_pieces > 50, "{in_pieces} packets leave by three lines or more");
    }
}
