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
#[derive(Clone, Debug, fabricsim_state::State)]
pub enum Detection {
    /// InfiniBand: a threshold with hysteresis on the blocks that wait for the output in all input buffers together.
    Output(#[state(each)] Vec<Threshold>),
    /// The same for each input buffer on its own; by (output, lane, input).
    Buffer(#[state(each)] Vec<Threshold>),
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
    /// True if it has data.
    pub is_data: bool,
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
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Detector {
    #[state(fixed)]
    ports: usize,
    #[state(fixed)]
    lanes: usize,
    /// True if inputs are watched separately.
    #[state(fixed)]
    by_input: bool,
    /// By (output, lane), or by (output, lane, input).
    places: Table<WaitingBlocks>,
    /// By output: lanes, a bit for each, that had to wait for credits before the last packets that left, of the size of the largest in all.
    waited: Table<u16>,
    /// Blocks that have left since a lane had to wait for credits; by (output, lane).
    since: Table<u32>,
    /// Blocks of the largest packet so far.
    largest: u32,
    detection: Detection,
    #[state(each)]
    starvation: Option<Starvation>,
}

/// Blocks that wait for an output and lane, of one input or of all.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
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
        let (waited, since) = (Table::new(vec![0; ports]), Table::new(vec![0; ports * lanes]));
        let mut detector =
            Self { ports, lanes, by_input, places, waited, since, largest: 0, detection, starvation: None };
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
    pub fn leaves_quietly(
        &mut self,
        input: usize,
        (output, lane): (usize, Vl),
        (blocks, is_data): (u32, bool),
    ) -> bool {
        let number = self.place(output, lane, input);
        let place = &mut self.places[number];
        let quiet = place.waiting <= place.quiet_up_to;
        if quiet {
            place.waiting -= blocks;
            self.had_to_wait((output, lane), (blocks, is_data));
        }
        quiet
    }

    /// A packet of `blocks` leaves: true if its lane had to wait for credits, for it or for those of a packet of the largest size before it.
    /// A short packet with data finds credits that are not enough for a full one: they do not make a root of a victim.
    #[inline(always)]
    fn had_to_wait(&mut self, (output, lane): (usize, Vl), (blocks, is_data): (u32, bool)) -> bool {
        let bit = 1 << lane.0;
        if self.waited[output] & bit == 0 {
            return false;
        }
        let since = &mut self.since[output * self.lanes + lane.index()];
        *since += blocks;
        if *since >= self.largest || !is_data {
            self.waited[output] &= !bit;
        }
        true
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
        let of_output = self.since.iter_mut().skip(output * self.lanes).take(self.lanes);
        of_output.enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0).for_each(|(_, since)| *since = 0);
    }

    /// A packet leaves; only `eligible` ones (with data) are marked. `random` gives its random stream at this switch.
    #[inline]
    pub fn leaves(
        &mut self,
        departure: Departure,
        eligible: bool,
        random: impl FnOnce() -> Random,
    ) -> DepartureEffect {
        let Departure { input, in_lane, output, lane, blocks, is_data, packet_time } = departure;
        let had_credits = !self.had_to_wait((output, lane), (blocks, is_data));
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
mod tests;
