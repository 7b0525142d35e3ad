//! The cheapest detour: a search (A*) among places and the direction by which a packet came there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_units::SwitchId;

/// A place of a packet: the router, and the direction by which it came (`None`: from a host).
pub(super) type Place = (SwitchId, Option<u8>);

/// Answer of a place to a search.
pub(super) enum Outlook {
    /// From here the route is known, with this number of links.
    Known(u32),
    /// At least this number of links.
    AtLeast(u32),
    /// The route from here is decided, and not to be taken by those who come so.
    Never,
}

/// Scratch space of searches.
pub(super) struct Search {
    directions: usize,
    /// Cost of the cheapest route found to each place, the place before it, and in which search that was.
    cost: Vec<u32>,
    before: Vec<u32>,
    /// Links that the route goes straight on at its end.
    run: Vec<u32>,
    round: Vec<u32>,
    this_round: u32,
    /// Estimate of the whole, estimate of the rest, place, and true if the rest is known.
    open: BinaryHeap<Reverse<(u32, u32, u32, bool)>>,
}

impl Search {
    pub(super) fn new(switches: usize, directions: usize) -> Self {
        let places = switches * (directions + 1);
        Self {
            directions,
            cost: vec![0; places],
            before: vec![0; places],
            run: vec![0; places],
            round: vec![0; places],
            this_round: 0,
            open: BinaryHeap::new(),
        }
    }

    /// The cheapest route from `start` to a place from which the route is known: its places, both ends included, and the
    /// links from its end. `outlook` and `moves` receive the number of links that the route came straight on; `moves` lists
    /// directions, what is behind them and what they cost.
    pub(super) fn run(
        &mut self,
        start: Place,
        outlook: impl Fn(Place, u32) -> Outlook,
        moves: impl Fn(Place, u32, &mut Vec<(u8, SwitchId, u32)>),
    ) -> Option<(Vec<Place>, u32)> {
        self.this_round += 1;
        self.open.clear();
        self.reach(self.index(start), (0, 0), u32::MAX, &outlook);
        let mut list = Vec::new();
        while let Some(Reverse((estimate, rest, index, known))) = self.open.pop() {
            let cost = self.cost[index as usize];
            if estimate != cost + rest {
                continue;
            }
            if known {
                return Some((self.way_to(index), rest));
            }
            list.clear();
            let (place, run) = (self.place(index), self.run[index as usize]);
            moves(place, run, &mut list);
            for &(direction, next, price) in &list {
                let run = if place.1 == Some(direction) { run + 1 } else { 1 };
                let next = self.index((next, Some(direction)));
                self.reach(next, (cost + price, run), index, &outlook);
            }
        }
        None
    }

    fn reach(
        &mut self,
        index: u32,
        (cost, run): (u32, u32),
        before: u32,
        outlook: impl Fn(Place, u32) -> Outlook,
    ) {
        let at = index as usize;
        if self.round[at] == self.this_round && self.cost[at] <= cost {
            return;
        }
        (self.round[at], self.cost[at], self.before[at]) = (self.this_round, cost, before);
        self.run[at] = run;
        let (rest, known) = match outlook(self.place(index), run) {
            Outlook::Known(rest) => (rest, true),
            Outlook::AtLeast(rest) => (rest, false),
            Outlook::Never => return,
        };
        self.open.push(Reverse((cost + rest, rest, index, known)));
    }

    fn way_to(&self, index: u32) -> Vec<Place> {
        let before = |&index: &u32| Some(self.before[index as usize]).filter(|&before| before != u32::MAX);
        let mut route: Vec<Place> =
            std::iter::successors(Some(index), before).map(|index| self.place(index)).collect();
        route.reverse();
        route
    }

    fn index(&self, (at, input): Place) -> u32 {
        let input = input.map_or(self.directions, usize::from);
        (at.index() * (self.directions + 1) + input) as u32
    }

    fn place(&self, index: u32) -> Place {
        let (at, input) = (index as usize / (self.directions + 1), index as usize % (self.directions + 1));
        (SwitchId(at as u32), (input < self.directions).then_some(input as u8))
    }
}
