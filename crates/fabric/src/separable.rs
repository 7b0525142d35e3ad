//! Separable allocation in rounds, as the canonical virtual-channel router does it (Dally & Towles, "Principles and
//! Practices of Interconnection Networks", 2004, chapter 16 and section 19.3.1). The packet at the head of an input
//! buffer first gets a virtual lane of its output for itself, then a crossbar grant. It requests both in
//! the same round, for the crossbar at lower priority than packets that have a lane, and goes at once if it gets both
//! (Peh & Dally, "A delay model and speculative architecture for pipelined routers", HPCA 2001).
//!
//! Both allocators are input first and take one step a round, with round-robin arbiters that move on when their choice
//! is served. They leave outputs idle that some packet could use: inputs choose without knowing each other's choice,
//! a packet cannot change its lane when that is full, and the crossbar grant of a packet that gets no lane is lost.

use fabricsim_model::Lanes;
use fabricsim_units::{Time, Vl};

/// A packet at the head of an input buffer.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
pub(crate) struct Head {
    pub(crate) input: usize,
    pub(crate) lane: Vl,
    pub(crate) output: usize,
    pub(crate) packet: u32,
    pub(crate) blocks: u32,
    /// Lanes that it may take; only its own if it has one.
    pub(crate) allowed: Lanes,
    /// The smaller goes first: the injection time if age counts, else equal for all.
    pub(crate) rank: Time,
    /// Time at which it has arrived and the packet before it has left.
    pub(crate) here_at: Time,
    /// True if it has a lane of its own.
    pub(crate) bound: bool,
    /// True if it may request the crossbar: the output and the input are free, and there is space.
    pub(crate) asks: bool,
    /// The lane that it requests, and then gets, in this round.
    pub(crate) got: Option<Vl>,
}

/// An input buffer.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct Buffer {
    /// The lane of an output, of all of them, that is requested first.
    turn: usize,
    /// Time at which the last packet sent from here has left.
    left_at: Time,
    bound: bool,
}

/// A lane of an output.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct OutLane {
    /// The buffer, of all of them, that goes first.
    turn: usize,
    /// Time from which it is free; [`Time::MAX`] while a packet waits with it.
    free_at: Time,
    /// The head that asks and goes first, in the present round.
    best: Option<usize>,
}

/// Round-robin turns at a port: as an input of lanes and of outputs, as an output of inputs.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct Turns {
    lane: usize,
    output: usize,
    input: usize,
}

/// The allocators of a switch.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Separable {
    cycle: Time,
    /// True if a head without a lane requests the crossbar as well.
    speculative: bool,
    ports: usize,
    lanes: usize,
    buffers: Vec<Buffer>,
    out_lanes: Vec<OutLane>,
    turns: Vec<Turns>,
    /// By input and output, the head that asks; by input, the head that it has chosen.
    asking: Vec<Option<usize>>,
    chosen: Vec<Option<usize>>,
    /// The heads of the present round.
    pub(crate) heads: Vec<Head>,
}

/// Distance of `place` from `turn`, going up and around.
fn distance(place: usize, turn: usize, size: usize) -> usize {
    if place >= turn { place - turn } else { place + size - turn }
}

/// The place after `place`, going around.
fn after(place: usize, size: usize) -> usize {
    if place + 1 == size { 0 } else { place + 1 }
}

impl Separable {
    /// Allocators that take a step every `cycle`, which is not zero.
    pub(crate) fn new((cycle, speculative): (Time, bool), ports: usize, lanes: usize) -> Self {
        Self {
            cycle,
            speculative,
            ports,
            lanes,
            buffers: vec![Buffer::default(); ports * lanes],
            out_lanes: vec![OutLane::default(); ports * lanes],
            turns: vec![Turns::default(); ports],
            asking: vec![None; ports * ports],
            chosen: vec![None; ports],
            heads: Vec::new(),
        }
    }

    /// The first round at `time` or later: rounds are at whole multiples of the cycle.
    pub(crate) fn round_from(&self, time: Time) -> Time {
        Time(time.0.div_ceil(self.cycle.0).saturating_mul(self.cycle.0))
    }

    fn place(&self, port: usize, lane: Vl) -> usize {
        port * self.lanes + lane.index()
    }

    /// True if the head of an input buffer has a lane of its output.
    pub(crate) fn is_bound(&self, input: usize, lane: Vl) -> bool {
        self.buffers[self.place(input, lane)].bound
    }

    /// Returns the time at which the last packet sent from an input buffer has left.
    pub(crate) fn left_at(&self, input: usize, lane: Vl) -> Time {
        self.buffers[self.place(input, lane)].left_at
    }

    /// Time from which a lane of an output is free.
    pub(crate) fn free_at(&self, output: usize, lane: Vl) -> Time {
        self.out_lanes[self.place(output, lane)].free_at
    }

    /// Allocates lanes: each head without a lane requests one, and each lane grants one request. Fills [`Head::got`].
    pub(crate) fn allocate_lanes(&mut self, now: Time) {
        let size = self.ports * self.lanes;
        self.out_lanes.iter_mut().for_each(|lane| lane.best = None);
        for i in 0..self.heads.len() {
            let head = &self.heads[i];
            if head.bound || head.here_at > now {
                continue;
            }
            let buffer = self.place(head.input, head.lane);
            let turn = self.buffers[buffer].turn;
            let free = head.allowed.iter().filter(|&lane| self.free_at(head.output, lane) <= now);
            let wanted = free.min_by_key(|&lane| distance(self.place(head.output, lane), turn, size));
            let Some(lane) = wanted else { continue };
            let place = self.place(head.output, lane);
            let turn = self.out_lanes[place].turn;
            let key = |head: &Head| (head.rank, distance(self.place(head.input, head.lane), turn, size));
            if self.out_lanes[place].best.is_none_or(|best| key(head) < key(&self.heads[best])) {
                self.out_lanes[place].best = Some(i);
            }
        }
        for place in 0..size {
            let Some(best) = self.out_lanes[place].best else { continue };
            let head = &mut self.heads[best];
            head.got = Some(Vl((place % self.lanes) as u8));
            let buffer = head.input * self.lanes + head.lane.index();
            self.buffers[buffer].turn = after(place, size);
            self.out_lanes[place].turn = after(buffer, size);
        }
    }

    /// Allocates the crossbar: each input chooses one of the heads that request it, and each output one of the inputs that request
    /// it. Puts the heads chosen into `matched`.
    pub(crate) fn allocate_crossbar(&mut self, matched: &mut Vec<usize>) {
        self.merge_lanes();
        for input in 0..self.ports {
            let turn = self.turns[input].output;
            let asking = self.asking[input * self.ports..][..self.ports].iter().flatten();
            self.chosen[input] = asking.copied().min_by_key(|&i| {
                let head = &self.heads[i];
                (!head.bound, head.rank, distance(head.output, turn, self.ports))
            });
        }
        for output in 0..self.ports {
            let turn = self.turns[output].input;
            let asking = self.chosen.iter().flatten().copied().filter(|&i| self.heads[i].output == output);
            let best = asking.min_by_key(|&i| {
                let head = &self.heads[i];
                (!head.bound, head.rank, distance(head.input, turn, self.ports))
            });
            let Some(best) = best else { continue };
            let head = &self.heads[best];
            self.turns[output].input = after(head.input, self.ports);
            self.turns[head.input].output = after(output, self.ports);
            self.turns[head.input].lane = after(head.lane.index(), self.lanes);
            matched.push(best);
        }
    }

    /// Keeps one of the lanes of an input that request the same output.
    fn merge_lanes(&mut self) {
        self.asking.fill(None);
        let speculative = self.speculative;
        let asking = |head: &Head| head.asks && (speculative || head.bound);
        for (i, head) in self.heads.iter().enumerate().filter(|(_, head)| asking(head)) {
            let turn = self.turns[head.input].lane;
            let key = |head: &Head| (!head.bound, head.rank, distance(head.lane.index(), turn, self.lanes));
            let asking = &mut self.asking[head.input * self.ports + head.output];
            if asking.is_none_or(|other| key(head) < key(&self.heads[other])) {
                *asking = Some(i);
            }
        }
    }

    /// The head keeps `lane` until it goes.
    pub(crate) fn bind(&mut self, head: &Head, lane: Vl) {
        let (buffer, place) = (self.place(head.input, head.lane), self.place(head.output, lane));
        self.buffers[buffer].bound = true;
        self.out_lanes[place].free_at = Time::MAX;
    }

    /// The head goes, on `lane`, and has left at `end`.
    pub(crate) fn leave(&mut self, head: &Head, lane: Vl, end: Time) {
        self.release(head.input, head.lane, (head.output, lane), end);
    }

    /// The head of an input buffer has left at `end`, with the lane of an output if it had one.
    pub(crate) fn release(&mut self, input: usize, in_lane: Vl, (output, out_lane): (usize, Vl), end: Time) {
        let (buffer, place) = (self.place(input, in_lane), self.place(output, out_lane));
        self.buffers[buffer].bound = false;
        self.buffers[buffer].left_at = end;
        self.out_lanes[place].free_at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(7);

    /// A head from (input, lane) to an output, on any of two lanes.
    fn head(input: usize, lane: u8, output: usize) -> Head {
        Head {
            input,
            lane: Vl(lane),
            output,
            packet: 0,
            blocks: 1,
            allowed: Lanes::new(0, 2),
            rank: Time::ZERO,
            here_at: Time::ZERO,
            bound: false,
            asks: true,
            got: None,
        }
    }

    fn bound(input: usize, lane: u8, output: usize) -> Head {
        Head { bound: true, ..head(input, lane, output) }
    }

    fn lanes(separable: &mut Separable, heads: &[Head]) -> Vec<Option<u8>> {
        separable.heads = heads.to_vec();
        separable.allocate_lanes(NOW);
        separable.heads.iter().map(|head| head.got.map(|lane| lane.0)).collect()
    }

    fn crossbar(separable: &mut Separable, heads: &[Head]) -> Vec<usize> {
        let mut matched = Vec::new();
        separable.heads = heads.to_vec();
        separable.allocate_crossbar(&mut matched);
        matched
    }

    #[test]
    fn heads_that_request_the_same_lane_are_served_in_turn() {
        let mut separable = Separable::new((Time(1), true), 3, 2);
        let heads = [head(0, 0, 2), head(1, 0, 2)];
        assert_eq!(lanes(&mut separable, &heads), [Some(0), None], "both request lane 0");
        // The first now asks for lane 1, whose turn begins with it; at lane 0 it is the other's turn.
        assert_eq!(lanes(&mut separable, &heads), [Some(1), Some(0)]);
    }

    #[test]
    fn allocated_lanes_are_not_requested() {
        let mut separable = Separable::new((Time(1), true), 3, 2);
        separable.bind(&head(0, 1, 2), Vl(0));
        assert_eq!(lanes(&mut separable, &[head(1, 0, 2), head(1, 1, 2)]), [Some(1), None]);
        separable.bind(&head(1, 0, 2), Vl(1));
        assert_eq!(lanes(&mut separable, &[head(1, 1, 2)]), [None]);
        separable.leave(&head(0, 1, 2), Vl(0), NOW);
        assert_eq!(lanes(&mut separable, &[head(1, 1, 2)]), [Some(0)]);
    }

    #[test]
    fn inputs_choose_without_knowing_each_other() {
        let mut separable = Separable::new((Time(1), true), 4, 2);
        let heads = [bound(0, 0, 2), bound(1, 0, 2), bound(1, 1, 3)];
        // Input 1 asks for output 2 and loses it: output 3 stays idle.
        assert_eq!(crossbar(&mut separable, &heads), [0]);
        // At output 2 it is now the turn of input 1.
        assert_eq!(crossbar(&mut separable, &heads), [1]);
        // Input 1 now begins with output 3.
        assert_eq!(crossbar(&mut separable, &heads), [0, 2]);
    }

    #[test]
    fn heads_with_a_lane_go_first_then_the_oldest() {
        let mut separable = Separable::new((Time(1), true), 4, 2);
        assert_eq!(crossbar(&mut separable, &[head(0, 0, 2), bound(1, 0, 2)]), [1]);
        let old = Head { rank: Time(1), ..bound(3, 1, 2) };
        let young = Head { rank: Time(2), ..bound(0, 0, 2) };
        assert_eq!(crossbar(&mut separable, &[young, old]), [1]);
    }

    #[test]
    fn without_speculation_only_heads_with_a_lane_ask_for_the_crossbar() {
        let mut separable = Separable::new((Time(1), false), 4, 2);
        assert_eq!(crossbar(&mut separable, &[head(0, 0, 2), bound(1, 0, 3)]), [1]);
        assert_eq!(crossbar(&mut separable, &[head(0, 0, 2), head(1, 0, 3)]), [0; 0]);
    }

    #[test]
    fn rounds_are_at_multiples_of_the_cycle() {
        let separable = Separable::new((Time(1000), true), 2, 1);
        assert_eq!([0, 1, 1000, 1001].map(|t| separable.round_from(Time(t)).0), [0, 1000, 1000, 2000]);
        assert_eq!(separable.round_from(Time::MAX), Time::MAX);
    }
}
