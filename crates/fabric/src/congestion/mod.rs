//! Congestion detection: a switch counts the packets that wait for each of its outputs and virtual lanes, and marks packets (FECN)
//! of those that are congested. The reaction of sources is in `fabricsim_protocols::pacing`.
//!
//! Adding a way of detection: a file with its rule per output and lane, and a line in [`Detection`].

mod red;
mod starvation;
mod threshold;

pub use red::{Red, RedRule};
pub use starvation::Starvation;
pub use threshold::{Threshold, ThresholdRule, fill};

use fabricsim_model::Random;
use fabricsim_units::{Time, Vl};

use crate::Table;

/// Detection of congestion at an output's lane; rules by (output, lane).
#[derive(Clone, Debug)]
pub enum Detection {
    /// InfiniBand: a threshold with hysteresis on the blocks that wait for the output in all input buffers together.
    Output(Vec<Threshold>),
    /// The same for each input buffer on its own; by (output, lane, input).
    Buffer(Vec<Threshold>),
    /// DCQCN: a probability that grows with the queue.
    Red(Red),
}

/// A packet that leaves an output, as detection sees it.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Input that it came by, and the lane there.
    pub input: usize,
    /// Lane that it came by.
    pub in_lane: Vl,
    /// Output.
    pub output: usize,
    /// The lane of the output that it waited for.
    pub lane: Vl,
    /// Its size in flow-control units.
    pub blocks: u32,
    /// Its time on the output's link.
    pub packet_time: Time,
}

/// Consequences for a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepartureEffect {
    /// True if it is marked (FECN).
    pub marked: bool,
    /// Additional delay of the credits of its buffer.
    pub credits_late: Time,
}

/// Congestion detector of a switch.
#[derive(Clone, Debug)]
pub struct Detector {
    ports: usize,
    lanes: usize,
    /// True if inputs are watched separately.
    by_input: bool,
    /// By (output, lane), or by (output, lane, input).
    places: Table<WaitingBlocks>,
    /// By output: lanes, a bit for each, that had to wait for credits since a packet that waited for them left last.
    waited: Table<u16>,
    /// Blocks of the largest packet so far.
    largest: u32,
    detection: Detection,
    starvation: Option<Starvation>,
}

/// Blocks that wait for an output and lane, of one input or of all.
#[derive(Clone, Copy, Debug, Default)]
struct WaitingBlocks {
    /// Blocks.
    waiting: u32,
    /// Number of blocks up to which the state cannot change, so that counting is enough.
    quiet_up_to: u32,
}

impl Detector {
    /// A detector for a switch with the given numbers of ports and lanes.
    pub fn new(ports: usize, lanes: usize, detection: Detection) -> Self {
        let by_input = matches!(detection, Detection::Buffer(_));
        let count = ports * lanes * if by_input { ports } else { 1 };
        let places = Table::new(vec![WaitingBlocks::default(); count]);
        let waited = Table::new(vec![0; ports]);
        let mut detector =
            Self { ports, lanes, by_input, places, waited, largest: 0, detection, starvation: None };
        (0..count).for_each(|place| detector.find_quiet(place));
        detector
    }

    /// Returns credits late where input buffers fill.
    pub fn with_starvation(mut self, starvation: Starvation) -> Self {
        self.starvation = Some(starvation);
        (0..self.places.len()).for_each(|place| self.find_quiet(place));
        self
    }

    #[inline(always)]
    fn place(&self, output: usize, lane: Vl, input: usize) -> usize {
        let place = output * self.lanes + lane.index();
        if self.by_input { place * self.ports + input } else { place }
    }

    /// Updates [`WaitingBlocks::quiet_up_to`] of an entry.
    #[inline]
    fn find_quiet(&mut self, place: usize) {
        self.places[place].quiet_up_to = match &self.detection {
            _ if self.starvation.is_some() => 0,
            Detection::Output(rules) | Detection::Buffer(rules) => rules[place].quiet_up_to(),
            Detection::Red(red) => red.quiet_up_to(),
        };
    }

    /// A packet of `blocks` in an input buffer waits for an output and lane from now on.
    #[inline(always)]
    pub fn waits(&mut self, (input, in_lane): (usize, Vl), (output, lane): (usize, Vl), blocks: u32) {
        let number = self.place(output, lane, input);
        self.largest = self.largest.max(blocks);
        let place = &mut self.places[number];
        place.waiting += blocks;
        if place.waiting > place.quiet_up_to {
            self.grown(number, input * self.lanes + in_lane.index(), blocks);
        }
    }

    #[inline(never)]
    fn grown(&mut self, place: usize, buffer: usize, blocks: u32) {
        match &mut self.detection {
            Detection::Output(rules) | Detection::Buffer(rules) => {
                rules[place].grown(self.places[place].waiting);
            }
            Detection::Red(_) => {}
        }
        if let Some(starvation) = &mut self.starvation {
            starvation.fills(buffer, blocks);
        }
        self.find_quiet(place);
    }

    /// A packet of `blocks` leaves; true if it has no effect. If false, the caller must call [`Detector::leaves`].
    #[inline(always)]
    pub fn leaves_quietly(&mut self, input: usize, (output, lane): (usize, Vl), blocks: u32) -> bool {
        let number = self.place(output, lane, input);
        let place = &mut self.places[number];
        let quiet = place.waiting <= place.quiet_up_to;
        if quiet {
            place.waiting -= blocks;
            self.waited[output] &= !(1 << lane.0);
        }
        quiet
    }

    /// A packet of `blocks` that waits for an output, of the input port `input`, waits for lane `to` from now on, not for lane
    /// `from`.
    pub fn changes_lane(&mut self, input: usize, output: usize, (from, to): (Vl, Vl), blocks: u32) {
        for (lane, grows) in [(from, false), (to, true)] {
            let number = self.place(output, lane, input);
            let waiting = self.places[number].waiting;
            let waiting = if grows { waiting + blocks } else { waiting - blocks };
            self.places[number].waiting = waiting;
            if let Detection::Output(rules) | Detection::Buffer(rules) = &mut self.detection {
                if grows { rules[number].grown(waiting) } else { rules[number].shrunk(waiting) }
            }
            self.find_quiet(number);
        }
    }

    /// True if the rule distinguishes roots of congestion, which have credits, from victims, which wait for them.
    pub fn needs_credits(&self) -> bool {
        !matches!(self.detection, Detection::Red(_))
    }

    /// Blocks of the largest packet so far.
    #[inline]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// `lanes`, a bit for each, of an output wait for credits, and for nothing else: they are victims of congestion elsewhere,
    /// whatever the port's other lanes do (annex A10 decides for each port and virtual lane).
    #[inline]
    pub fn wait_for_credits(&mut self, output: usize, lanes: u16) {
        self.waited[output] |= lanes;
    }

    /// A packet leaves; only `eligible` ones (with data) are marked. `random` gives its random stream at this switch.
    #[inline]
    pub fn leaves(
        &mut self,
        departure: Departure,
        eligible: bool,
        random: impl FnOnce() -> Random,
    ) -> DepartureEffect {
        let Departure { input, in_lane, output, lane, blocks, packet_time } = departure;
        let had_credits = self.waited[output] >> lane.0 & 1 == 0;
        self.waited[output] &= !(1 << lane.0);
        let place = self.place(output, lane, input);
        let before = self.places[place].waiting;
        self.places[place].waiting = before - blocks;
        let marked = match &mut self.detection {
            Detection::Output(rules) | Detection::Buffer(rules) => {
                let marked = eligible && rules[place].marks(blocks, had_credits);
                rules[place].shrunk(before - blocks);
                marked
            }
            Detection::Red(red) => eligible && red.marks(before, random),
        };
        let credits_late = match &mut self.starvation {
            Some(starvation) => starvation.empties(input * self.lanes + in_lane.index(), blocks, packet_time),
            None => Time::ZERO,
        };
        self.find_quiet(place);
        DepartureEffect { marked, credits_late }
    }

    /// Blocks that wait for an output's lane.
    pub fn waiting(&self, output: usize, lane: Vl) -> u32 {
        let place = output * self.lanes + lane.index();
        match self.detection {
            Detection::Buffer(_) => {
                let inputs = self.places.iter().skip(place * self.ports).take(self.ports);
                inputs.map(|place| place.waiting).sum()
            }
            _ => self.places[place].waiting,
        }
    }

    /// True if the output's lane is in the congested state.
    pub fn is_congested(&self, output: usize, lane: Vl) -> bool {
        let place = output * self.lanes + lane.index();
        match &self.detection {
            Detection::Output(rules) => rules[place].is_congested(),
            Detection::Buffer(rules) => {
                rules[place * self.ports..][..self.ports].iter().any(Threshold::is_congested)
            }
            Detection::Red(red) => red.is_congested(self.places[place].waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: ThresholdRule =
        ThresholdRule { enter: Some(10), leave: 6, unmarked: 0, packet_size: 1, victim_mask: false };

    fn departure(input: usize, blocks: u32) -> Departure {
        let packet_time = Time::ns(100);
        Departure { input, in_lane: Vl(0), output: 2, lane: Vl(0), blocks, packet_time }
    }

    fn leaves(detector: &mut Detector, departure: Departure) -> DepartureEffect {
        detector.leaves(departure, true, || Random::new(1, 1, 1))
    }

    #[test]
    fn inputs_add_up_or_stand_alone() {
        for (alone, congested) in [(false, true), (true, false)] {
            let (count, detection): (_, fn(_) -> _) =
                if alone { (9, Detection::Buffer) } else { (3, Detection::Output) };
            let mut detector = Detector::new(3, 1, detection(vec![Threshold::new(RULE); count]));
            detector.waits((0, Vl(0)), (2, Vl(0)), 6);
            detector.waits((1, Vl(0)), (2, Vl(0)), 6);
            assert_eq!((detector.waiting(2, Vl(0)), detector.is_congested(2, Vl(0))), (12, congested));
            assert_eq!(leaves(&mut detector, departure(0, 6)).marked, congested);
            assert_eq!((detector.waiting(2, Vl(0)), detector.is_congested(2, Vl(0))), (6, false));
        }
    }

    #[test]
    fn lanes_of_a_port_are_roots_or_victims_each_on_its_own() {
        let rules = vec![Threshold::new(RULE); 3 * 2];
        let mut detector = Detector::new(3, 2, Detection::Output(rules));
        for lane in [Vl(0), Vl(1)] {
            detector.waits((0, lane), (2, lane), 40);
        }
        let marked = |detector: &mut Detector, lane| {
            let departure = Departure { in_lane: lane, lane, ..departure(0, 4) };
            leaves(detector, departure).marked
        };
        detector.wait_for_credits(2, 0b01);
        assert!(marked(&mut detector, Vl(1)), "lane 1 has credits");
        assert!(!marked(&mut detector, Vl(0)), "lane 0 had to wait, although lane 1 was sending");
        assert!(marked(&mut detector, Vl(0)), "and did not have to wait a second time");
    }

    #[test]
    fn a_packet_may_come_to_wait_for_another_lane() {
        let mut detector = Detector::new(3, 2, Detection::Output(vec![Threshold::new(RULE); 3 * 2]));
        detector.waits((0, Vl(0)), (2, Vl(0)), 20);
        detector.changes_lane(0, 2, (Vl(0), Vl(1)), 20);
        let found = [Vl(0), Vl(1)].map(|lane| (detector.waiting(2, lane), detector.is_congested(2, lane)));
        assert_eq!(found, [(0, false), (20, true)]);
    }

    #[test]
    fn packets_without_data_are_not_marked() {
        let mut detector = Detector::new(3, 1, Detection::Output(vec![Threshold::new(RULE); 3]));
        detector.waits((0, Vl(0)), (2, Vl(0)), 20);
        assert!(!detector.leaves(departure(0, 1), false, || Random::new(1, 1, 1)).marked);
        assert!(leaves(&mut detector, departure(0, 1)).marked);
        let red = Red::new(RedRule { k_min: 4, k_max: 8, p_max: 0.5 });
        let mut detector = Detector::new(3, 1, Detection::Red(red));
        detector.waits((0, Vl(0)), (2, Vl(0)), 9);
        assert!(!detector.leaves(departure(0, 1), false, || Random::new(1, 1, 1)).marked);
        assert!(leaves(&mut detector, departure(0, 4)).marked, "8 blocks wait");
        assert!(!leaves(&mut detector, departure(0, 1)).marked, "4 blocks wait");
    }

    #[test]
    fn credits_of_a_full_buffer_come_late() {
        let starvation = Starvation::new(vec![8; 3], "1:3".parse().unwrap());
        let detection = Detection::Output(vec![Threshold::new(RULE); 3]);
        let mut detector = Detector::new(3, 1, detection).with_starvation(starvation);
        detector.waits((0, Vl(0)), (2, Vl(0)), 5);
        detector.waits((1, Vl(0)), (2, Vl(0)), 9);
        assert_eq!(leaves(&mut detector, departure(0, 5)).credits_late, Time::ZERO);
        // 9, 8 and 7 blocks of the buffer are in use: they are late from 8 on.
        assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ns(150));
        assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ns(150));
        assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ZERO);
    }

    fn places() -> impl Iterator<Item = (usize, usize, u8)> {
        (0..3).flat_map(|input| (0..3).flat_map(move |output| (0..2).map(move |lane| (input, output, lane))))
    }

    /// Every output and lane has a state of its own, and with [`Detection::Buffer`] every input for it.
    #[test]
    fn outputs_lanes_and_inputs_are_watched_apart() {
        for alone in [false, true] {
            let new = || {
                let rules = vec![Threshold::new(RULE); if alone { 18 } else { 6 }];
                let detection = if alone { Detection::Buffer(rules) } else { Detection::Output(rules) };
                Detector::new(3, 2, detection)
            };
            for (input, output, lane) in places() {
                let mut detector = new();
                detector.waits((input, Vl(1)), (output, Vl(lane)), 12);
                for (_, other, other_lane) in places() {
                    let same = (other, other_lane) == (output, lane);
                    assert_eq!(detector.waiting(other, Vl(other_lane)), if same { 12 } else { 0 });
                    assert_eq!(detector.is_congested(other, Vl(other_lane)), same);
                }
                let leaving = Departure { output, lane: Vl(lane), in_lane: Vl(1), ..departure(input, 1) };
                assert!(leaves(&mut detector, leaving).marked);
                assert_eq!(detector.waiting(output, Vl(lane)), 11);
            }
            let mut detector = new();
            for (input, output, lane) in places() {
                detector.waits((input, Vl(0)), (output, Vl(lane)), 6);
            }
            for (_, output, lane) in places() {
                assert_eq!(detector.waiting(output, Vl(lane)), 18);
                assert_eq!(detector.is_congested(output, Vl(lane)), !alone, "6 of each input, 18 in all");
            }
        }
    }

    /// The buffer of each input and lane has a threshold of its own.
    #[test]
    fn buffers_starve_apart() {
        for (input, in_lane) in (0..3).flat_map(|input| [(input, 0_u8), (input, 1)]) {
            let mut beyond = vec![1000; 6];
            beyond[2 * input + usize::from(in_lane)] = 8;
            for (other, other_lane) in (0..3).flat_map(|input| [(input, 0_u8), (input, 1)]) {
                let starvation = Starvation::new(beyond.clone(), "1:3".parse().unwrap());
                let detection = Detection::Output(vec![Threshold::new(RULE); 6]);
                let mut detector = Detector::new(3, 2, detection).with_starvation(starvation);
                detector.waits((other, Vl(other_lane)), (2, Vl(0)), 20);
                let late =
                    leaves(&mut detector, Departure { in_lane: Vl(other_lane), ..departure(other, 1) });
                let same = (input, in_lane) == (other, other_lane);
                assert_eq!(late.credits_late, if same { Time::ns(150) } else { Time::ZERO });
            }
        }
    }

    /// Changes without effect on the rules are handled by [`Detector::leaves_quietly`] and counted all the
    /// same.
    #[test]
    fn few_blocks_come_and_go_quietly() {
        let mut detector = Detector::new(3, 1, Detection::Output(vec![Threshold::new(RULE); 3]));
        detector.waits((0, Vl(0)), (2, Vl(0)), 10);
        assert!(detector.leaves_quietly(0, (2, Vl(0)), 4));
        assert_eq!(detector.waiting(2, Vl(0)), 6);
        detector.waits((0, Vl(0)), (2, Vl(0)), 5);
        assert!(!detector.leaves_quietly(0, (2, Vl(0)), 4), "11 wait, and it is congested");
        assert_eq!(detector.waiting(2, Vl(0)), 11, "it is left to `leaves`");
        let red = Red::new(RedRule { k_min: 10, k_max: 20, p_max: 0.5 });
        let mut detector = Detector::new(3, 1, Detection::Red(red));
        for (blocks, congested) in [(10, false), (1, true)] {
            detector.waits((0, Vl(0)), (2, Vl(0)), blocks);
            assert_eq!(detector.is_congested(2, Vl(0)), congested);
            assert_eq!(detector.leaves_quietly(0, (2, Vl(0)), 0), !congested);
        }
    }
}
