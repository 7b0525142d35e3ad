//! RouteTable around failed links that dimension order alone cannot avoid.
//!
//! For each target the routers from which dimension order meets a failed link are found, and from each of them the
//! cheapest route, by allowed turns, to a place from which dimension order or another detour leads on. A turn that is
//! not allowed yet costs as much as [`NEW_TURN`] links, so that detours share theirs. Along a detour the entry of a
//! router may depend on the input port; all other packets keep their route.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fabricsim_units::SwitchId;

use super::grid::Grid;
use super::layout::Layout;
use super::search::{Outlook, Place, Search};
use super::sides::Sides;
use super::tables::{HERE, Tables, Target};
use super::turns::{Turn, Turns};

/// Links that a detour may be longer to save another turn.
const NEW_TURN: u32 = 4;

/// Reason why failed links cannot be avoided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoWay {
    /// The turns do not lead from a switch to a target.
    Turns(SwitchId, Target),
    /// The detours of a router differ too much.
    Rules(SwitchId),
}

/// A place of a detour.
#[derive(Clone, Copy, Debug)]
struct Step {
    output: u8,
    /// Links to the target.
    rest: u32,
    /// Of these, how many go straight on.
    straight: u32,
}

/// The places of all detours to one target.
type Detours = BTreeMap<Place, Step>;

pub(super) struct Detourer<'a> {
    grid: &'a Grid<'a>,
    layout: &'a Layout,
    tables: &'a mut Tables,
    turns: Turns<'a>,
    sides: Sides,
    search: Search,
    /// Target for which a switch was last found to meet a failed link.
    bad: Vec<u32>,
    round: u32,
}

impl<'a> Detourer<'a> {
    pub(super) fn new(
        grid: &'a Grid<'a>,
        layout: &'a Layout,
        order: &[usize],
        sides: Sides,
        tables: &'a mut Tables,
    ) -> Self {
        let search = Search::new(grid.len(), grid.directions);
        let turns = Turns::new(grid, layout, order);
        Self { grid, layout, tables, turns, sides, search, bad: vec![0; grid.len()], round: 0 }
    }

    /// Leads all packets around the failed links: first those for other partitions, since where they come into theirs
    /// matters for the rest.
    pub(super) fn avoid(mut self) -> Result<(), NoWay> {
        for (target, starts) in self.broken() {
            let bad = self.meet(target, &starts);
            let mut detours = Detours::new();
            for &at in &bad {
                self.settle(target, (at, None), &mut detours)?;
            }
            for place in self.entrances(target, &bad) {
                self.settle(target, place, &mut detours)?;
            }
            self.write(target, &detours)?;
        }
        Ok(())
    }

    /// The targets to which some router's entry leads over a failed link, with these routers.
    fn broken(&self) -> BTreeMap<Target, Vec<SwitchId>> {
        let mut broken: BTreeMap<Target, Vec<SwitchId>> = BTreeMap::new();
        let mut members = vec![Vec::new(); usize::from(self.layout.partitions())];
        for (at, &(partition, _)) in self.tables.numbers.iter().enumerate() {
            members[usize::from(partition)].push(SwitchId(at as u32));
        }
        for at in (0..self.grid.len() as u32).map(SwitchId) {
            let own = self.partition(at);
            let is_failed = |d: u8| self.grid.port(at, d).is_some() && self.grid.next(at, d).is_none();
            if !(0..self.grid.directions as u8).any(is_failed) {
                continue;
            }
            let others = (0..self.layout.partitions()).filter(|&p| p != own).map(Target::Partition);
            let targets = others.chain(members[usize::from(own)].iter().map(|&to| Target::Switch(to)));
            for target in targets {
                let entry = self.tables.entry(at, target);
                if entry != HERE && is_failed(entry) {
                    broken.entry(target).or_default().push(at);
                }
            }
        }
        broken
    }

    /// The switches from which dimension order leads over one of `starts`, these first, and marks them.
    fn meet(&mut self, target: Target, starts: &[SwitchId]) -> Vec<SwitchId> {
        self.round += 1;
        let mut bad = Vec::new();
        let mut queue: VecDeque<SwitchId> = starts.iter().copied().collect();
        while let Some(at) = queue.pop_front() {
            if std::mem::replace(&mut self.bad[at.index()], self.round) == self.round {
                continue;
            }
            bad.push(at);
            for direction in 0..self.grid.directions as u8 {
                let Some(before) = self.grid.next(at, direction ^ 1) else { continue };
                if self.concerns(before, target) && self.tables.entry(before, target) == direction {
                    queue.push_back(before);
                }
            }
        }
        bad
    }

    /// Places of `bad` where packets come into the target's partition.
    fn entrances(&self, target: Target, bad: &[SwitchId]) -> Vec<Place> {
        let Target::Switch(to) = target else { return Vec::new() };
        let partition = self.partition(to);
        let comes_in = |at: SwitchId, direction: u8| {
            let Some(before) = self.grid.next(at, direction ^ 1) else { return false };
            let inputs = (0..self.grid.directions as u8).map(Some).chain([None]);
            let target = Target::Partition(partition);
            self.partition(before) != partition
                && inputs.into_iter().any(|input| self.tables.direction(before, input, target) == direction)
        };
        let directions = 0..self.grid.directions as u8;
        let places = bad.iter().flat_map(|&at| directions.clone().map(move |d| (at, d)));
        places.filter(|&(at, d)| comes_in(at, d)).map(|(at, d)| (at, Some(d))).collect()
    }

    /// Finds the route from a place, by turns that are all allowed then.
    fn settle(&mut self, target: Target, start: Place, detours: &mut Detours) -> Result<(), NoWay> {
        loop {
            let Some((route, rest)) = self.find(target, start, detours) else {
                return Err(NoWay::Turns(start.0, target));
            };
            let steps: Vec<(Place, u8)> =
                route.windows(2).filter_map(|pair| Some((pair[0], pair[1].1?))).collect();
            let mut new = BTreeSet::new();
            for &((at, input), output) in &steps {
                if let (Turn::Unknown, Some(input)) = (self.turns.of(at, input, output), input) {
                    new.insert((at, input, output));
                }
            }
            if new.into_iter().all(|(at, input, output)| self.turns.allow(at, input, output)) {
                let mut straight = route.last().map_or(0, |&end| self.view(target).straight(end, detours));
                for (links, (place, output)) in (rest + 1..).zip(steps.into_iter().rev()) {
                    straight = if place.1 == Some(output) { straight + 1 } else { 0 };
                    detours.insert(place, Step { output, rest: links, straight });
                }
                return Ok(());
            }
        }
    }

    fn find(&mut self, target: Target, start: Place, detours: &Detours) -> Option<(Vec<Place>, u32)> {
        let Self { grid, layout, tables, turns, sides, search, bad, round } = self;
        let view = View { grid, layout, tables, turns, sides, bad, round: *round, target };
        search.run(
            start,
            |place, run| view.outlook(place, run, detours),
            |place, run, list| view.moves(place, run, list),
        )
    }

    fn view(&self, target: Target) -> View<'_> {
        let Self { grid, layout, tables, turns, sides, bad, round, .. } = self;
        View { grid, layout, tables, turns, sides, bad, round: *round, target }
    }

    /// Writes detours into the tables.
    fn write(&mut self, target: Target, detours: &Detours) -> Result<(), NoWay> {
        let inputs = self.grid.directions;
        let mut rules: BTreeMap<SwitchId, Vec<u8>> = BTreeMap::new();
        for at in detours.keys().map(|place| place.0) {
            rules.entry(at).or_insert_with(|| {
                let usual = self.tables.entry(at, target);
                vec![detours.get(&(at, None)).map_or(usual, |step| step.output); inputs + 1]
            });
        }
        for (&(at, input), &Step { output, .. }) in detours {
            if let (Some(rule), Some(input)) = (rules.get_mut(&at), input) {
                rule[usize::from(input)] = output;
            }
        }
        for (at, rule) in rules {
            if rule.iter().all(|output| *output == rule[0]) {
                self.tables.set(at, target, rule[0]);
            } else if !self.tables.set_rule(at, target, rule) {
                return Err(NoWay::Rules(at));
            }
        }
        Ok(())
    }

    fn partition(&self, at: SwitchId) -> u16 {
        self.tables.numbers[at.index()].0
    }

    /// True if the switch has an entry for the target.
    fn concerns(&self, at: SwitchId, target: Target) -> bool {
        concerns(self.tables, at, target)
    }
}

fn concerns(tables: &Tables, at: SwitchId, target: Target) -> bool {
    let partition = tables.numbers[at.index()].0;
    match target {
        Target::Partition(to) => partition != to,
        Target::Switch(to) => partition == tables.numbers[to.index()].0,
    }
}

/// Input of a search for a target.
struct View<'a> {
    grid: &'a Grid<'a>,
    layout: &'a Layout,
    tables: &'a Tables,
    turns: &'a Turns<'a>,
    sides: &'a Sides,
    bad: &'a [u32],
    round: u32,
    target: Target,
}

impl View<'_> {
    fn has_arrived(&self, at: SwitchId) -> bool {
        match self.target {
            Target::Switch(to) => at == to,
            Target::Partition(_) => !concerns(self.tables, at, self.target),
        }
    }

    fn outlook(&self, place: Place, run: u32, detours: &Detours) -> Outlook {
        let (at, input) = place;
        if self.has_arrived(at) {
            return Outlook::Known(0);
        }
        let rest = match detours.get(&place) {
            Some(step) => Some(step.rest),
            None => self.follows(place).then(|| self.usual_length(at)),
        };
        let Some(rest) = rest else { return Outlook::AtLeast(self.at_least(at)) };
        let longest = input.map_or(u32::MAX, |input| self.turns.longest(at, input));
        if run + self.straight(place, detours) <= longest { Outlook::Known(rest) } else { Outlook::Never }
    }

    /// True if dimension order leads from a place to the target.
    fn follows(&self, (at, input): Place) -> bool {
        let usual = self.tables.entry(at, self.target);
        self.bad[at.index()] != self.round && self.turns.of(at, input, usual) == Turn::Allowed
    }

    /// Links straight on from a place from which the route is known.
    fn straight(&self, (mut at, input): Place, detours: &Detours) -> u32 {
        if let Some(step) = detours.get(&(at, input)) {
            return step.straight;
        }
        let mut links = 0;
        while !self.has_arrived(at) && input == Some(self.tables.entry(at, self.target)) {
            let Some(next) = input.and_then(|input| self.grid.next(at, input)) else { break };
            (at, links) = (next, links + 1);
        }
        links
    }

    /// Links of the route by dimension order, which is whole.
    fn usual_length(&self, mut at: SwitchId) -> u32 {
        let mut links = 0;
        while !self.has_arrived(at) {
            let Some(next) = self.grid.next(at, self.tables.entry(at, self.target)) else { break };
            (at, links) = (next, links + 1);
        }
        links
    }

    /// No route has fewer links.
    fn at_least(&self, at: SwitchId) -> u32 {
        let dimensions = 0..self.grid.directions / 2;
        dimensions.map(|d| self.to_target(d, self.grid.coordinate(at, d))).sum()
    }

    /// Links of a dimension from a coordinate to the target.
    fn to_target(&self, d: usize, coordinate: u32) -> u32 {
        match self.target {
            Target::Switch(to) => self.grid.distance(d, coordinate, self.grid.coordinate(to, d)),
            Target::Partition(to) => {
                let (first, end) = self.layout.range(to, d);
                if (first..end).contains(&coordinate) {
                    return 0;
                }
                self.grid.distance(d, coordinate, first).min(self.grid.distance(d, coordinate, end - 1))
            }
        }
    }

    /// Lists the moves of a packet from a place: to switches that have an entry for the target, or to the target.
    fn moves(&self, (at, input): Place, run: u32, list: &mut Vec<(u8, SwitchId, u32)>) {
        for output in 0..self.grid.directions as u8 {
            let Some(next) = self.grid.next(at, output) else { continue };
            let is_too_far = input == Some(output) && run >= self.turns.longest(at, output);
            if is_too_far || !self.has_arrived(next) && !concerns(self.tables, next, self.target) {
                continue;
            }
            match self.turns.of(at, input, output) {
                Turn::Allowed => list.push((output, next, 1)),
                Turn::Unknown => list.push((output, next, 1 + NEW_TURN + self.sides.price(at))),
                Turn::Forbidden => {}
            }
        }
    }
}
