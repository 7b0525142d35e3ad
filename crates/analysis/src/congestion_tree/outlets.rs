//! Outlets with waiting packets, and the tree that each belongs to.

use std::cmp::Reverse;

use fabricsim_engine::{Queue, Snapshot};

use super::OutputLane;

/// No outlet, pile or buffer.
pub(super) const NONE: u32 = u32::MAX;

/// Packets in an input buffer that wait for the same outlet, or behind one that does.
pub(super) struct Backlog<'a> {
    /// Place of the buffer: the sending port that leads to it, and the lane.
    pub(super) buffer: u32,
    /// Number of the outlet.
    pub(super) outlet: u32,
    pub(super) queue: &'a Queue,
    /// The next pile of the same buffer.
    next: u32,
}

/// Known state of an outlet.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) outlet: OutputLane,
    pub(super) waiting: u32,
    pub(super) congested: bool,
    /// True if one of the heads has credits.
    pub(super) has_credits: bool,
    pub(super) to_host: bool,
    /// Number of lanes from the outlet's own on.
    pub(super) lanes: u8,
}

impl State {
    /// True if it waits for a buffer of the next switch.
    pub(super) fn is_blocked(&self) -> bool {
        !self.has_credits && !self.to_host
    }
}

/// The outlets for which packets wait, with numbers of their own, and the piles of all buffers.
pub(super) struct Outlets<'a> {
    lanes: usize,
    /// Number of each outlet, by its place.
    numbers: Vec<u32>,
    pub(super) states: Vec<State>,
    pub(super) piles: Vec<Backlog<'a>>,
    /// A pile of each buffer, by its place.
    piles_of: Vec<u32>,
}

impl<'a> Outlets<'a> {
    /// All of a snapshot. `fill`: see [`super::congestion_trees`].
    pub(super) fn new(snapshot: &'a Snapshot, fill: Option<f64>) -> Self {
        let places = snapshot.sending_ports * snapshot.lane_count;
        let mut outlets = Self {
            lanes: snapshot.lane_count,
            numbers: vec![NONE; places],
            states: Vec::new(),
            piles: Vec::with_capacity(snapshot.queues.len()),
            piles_of: vec![NONE; places],
        };
        for queue in &snapshot.queues {
            outlets.gather(snapshot, queue, fill);
        }
        outlets
    }

    fn place(&self, port: u32, lane: u8) -> usize {
        port as usize * self.lanes + usize::from(lane)
    }

    /// Adds a queue to the piles, and to the state of the outlet that it waits for.
    fn gather(&mut self, snapshot: &Snapshot, queue: &'a Queue, fill: Option<f64>) {
        let lanes = snapshot.ahead(queue);
        let outlet = OutputLane { port: queue.output, lane: lanes[0].lane.0 };
        let place = self.place(outlet.port, outlet.lane);
        if self.numbers[place] == NONE {
            self.numbers[place] = self.states.len() as u32;
            let to_host = queue.to_host;
            let (waiting, congested, has_credits, lanes) = (0, false, false, 0);
            self.states.push(State { outlet, waiting, congested, has_credits, to_host, lanes });
        }
        let number = self.numbers[place];
        let state = &mut self.states[number as usize];
        state.waiting += queue.blocks;
        state.has_credits |= !queue.to_host && snapshot.has_space(queue, queue.head_blocks);
        state.lanes = state.lanes.max(lanes.len() as u8);
        state.congested = match (fill, queue.congested) {
            (None, Some(congested)) => congested,
            (fill, _) => f64::from(state.waiting) > f64::from(lanes[0].capacity) * fill.unwrap_or(1.0),
        };
        let buffer = self.place(queue.input, queue.lane.0);
        let next = std::mem::replace(&mut self.piles_of[buffer], self.piles.len() as u32);
        self.piles.push(Backlog { buffer: buffer as u32, outlet: number, queue, next });
    }

    /// The piles of a buffer.
    fn in_buffer(&self, buffer: usize) -> impl Iterator<Item = &Backlog<'a>> {
        let pile = |number: u32| self.piles.get(number as usize);
        std::iter::successors(pile(self.piles_of[buffer]), move |last| pile(last.next))
    }

    /// For each outlet that waits for a buffer the outlet that most of that buffer waits for, if that one is congested or
    /// waits itself; else [`NONE`].
    pub(super) fn parents(&self) -> Vec<u32> {
        let mut held: Vec<(u32, u32)> = Vec::new();
        let parent = |state: &State| {
            if !state.is_blocked() {
                return NONE;
            }
            held.clear();
            let first = self.place(state.outlet.port, state.outlet.lane);
            for pile in (first..first + usize::from(state.lanes)).flat_map(|buffer| self.in_buffer(buffer)) {
                match held.iter_mut().find(|(outlet, _)| *outlet == pile.outlet) {
                    Some((_, blocks)) => *blocks += pile.queue.blocks,
                    None => held.push((pile.outlet, pile.queue.blocks)),
                }
            }
            let state_of = |outlet: u32| &self.states[outlet as usize];
            let holds_up =
                |&&(next, _): &&(u32, u32)| state_of(next).congested || state_of(next).is_blocked();
            let most = held.iter().filter(holds_up);
            let most = most.max_by_key(|&&(next, blocks)| (blocks, Reverse(state_of(next).outlet)));
            most.map_or(NONE, |&(next, _)| next)
        };
        self.states.iter().map(parent).collect()
    }
}

/// The tree of an outlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Not known yet.
    Unknown,
    /// In no tree.
    Outside,
    /// In the tree with this root.
    Inside {
        /// Number of the root.
        root: u32,
        /// Links from the root back to the outlet.
        depth: u32,
    },
}

/// Follows every outlet that is congested or waits for a buffer to the root of its tree. A cycle (of a deadlock) is cut
/// at its first outlet, a congested one if there is one.
pub(super) fn places(states: &[State], parents: &mut [u32]) -> Vec<Place> {
    let mut places = vec![Place::Unknown; states.len()];
    let mut steps = vec![NONE; states.len()];
    let mut way: Vec<u32> = Vec::new();
    for (start, state) in states.iter().enumerate() {
        if !(state.congested || state.is_blocked()) {
            continue;
        }
        let mut place = loop {
            let end = follow(start as u32, parents, &places, (&mut steps, &mut way));
            let at = end as usize;
            let circle = way.get(steps[at] as usize..).unwrap_or_default();
            let order = |&&outlet: &&u32| {
                let State { outlet, congested, .. } = states[outlet as usize];
                (!congested, outlet)
            };
            let cut = circle.iter().min_by_key(order).copied();
            for &outlet in &way {
                steps[outlet as usize] = NONE;
            }
            if let Some(outlet) = cut {
                parents[outlet as usize] = NONE;
                continue;
            }
            if places[at] == Place::Unknown {
                let root = Place::Inside { root: end, depth: 0 };
                places[at] = if states[at].congested { root } else { Place::Outside };
            }
            break places[at];
        };
        for &outlet in way.iter().rev() {
            if let Place::Inside { depth, .. } = &mut place {
                *depth += 1;
            }
            places[outlet as usize] = place;
        }
    }
    places
}

/// Follows the parents of an outlet to one without a parent, or of known place, or on the way already, and returns that. The way holds
/// those before it, and `steps` their places on it.
fn follow(start: u32, parents: &[u32], places: &[Place], (steps, way): (&mut [u32], &mut Vec<u32>)) -> u32 {
    way.clear();
    let mut at = start;
    loop {
        let outlet = at as usize;
        if places[outlet] != Place::Unknown || steps[outlet] != NONE || parents[outlet] == NONE {
            return at;
        }
        steps[outlet] = way.len() as u32;
        way.push(at);
        at = parents[outlet];
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Outlets by number: true if it is congested, true if it has credits.
    pub(in super::super) fn states(of: &[(bool, bool)]) -> Vec<State> {
        let state = |(number, &(congested, has_credits)): (usize, &(bool, bool))| State {
            outlet: OutputLane { port: number as u32, lane: 0 },
            waiting: 10,
            congested,
            has_credits,
            to_host: false,
            lanes: 1,
        };
        of.iter().enumerate().map(state).collect()
    }

    /// The outlets that wait for another one, as pairs, as parents.
    pub(in super::super) fn parents(outlets: usize, waits_for: &[(u32, u32)]) -> Vec<u32> {
        let mut parents = vec![NONE; outlets];
        for &(from, to) in waits_for {
            parents[from as usize] = to;
        }
        parents
    }

    fn placed(of: &[(bool, bool)], waits_for: &[(u32, u32)]) -> Vec<Option<(u32, u32)>> {
        let places = places(&states(of), &mut parents(of.len(), waits_for));
        let place = |place: &Place| match *place {
            Place::Inside { root, depth } => Some((root, depth)),
            Place::Outside | Place::Unknown => None,
        };
        places.iter().map(place).collect()
    }

    pub(in super::super) const ROOT: (bool, bool) = (true, true);
    pub(in super::super) const BRANCH: (bool, bool) = (true, false);
    pub(in super::super) const HELD_UP: (bool, bool) = (false, false);

    #[test]
    fn branches_lead_to_their_root_also_through_outlets_that_are_not_congested() {
        let of = [ROOT, BRANCH, HELD_UP, BRANCH, (false, true)];
        let found = placed(&of, &[(1, 0), (2, 1), (3, 2)]);
        assert_eq!(found, [Some((0, 0)), Some((0, 1)), Some((0, 2)), Some((0, 3)), None]);
    }

    #[test]
    fn what_waits_for_nothing_congested_is_a_root_only_if_it_is_congested() {
        assert_eq!(placed(&[HELD_UP, HELD_UP, BRANCH], &[(1, 0)]), [None, None, Some((2, 0))]);
    }

    #[test]
    fn a_circle_has_one_root() {
        let of = [HELD_UP, BRANCH, BRANCH, BRANCH];
        let found = placed(&of, &[(0, 1), (1, 2), (2, 0), (3, 2)]);
        assert_eq!(found, [Some((1, 1)), Some((1, 0)), Some((1, 2)), Some((1, 3))]);
        assert_eq!(placed(&[HELD_UP; 2], &[(0, 1), (1, 0)]), [None, None]);
    }
}
