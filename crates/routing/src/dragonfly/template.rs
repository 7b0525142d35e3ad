//! Lane of a hop: its place in the longest route that the algorithm allows.

use std::fmt;

use fabricsim_model::Lanes;
use fabricsim_units::Vl;

/// Kind of the link at a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Host,
    Local,
    Global,
}

/// The longest route of an algorithm, link by link. A packet takes the first slot after its present one whose kind is that of
/// the link it goes over (as FOGSim's `vcMngmt::nextChannel`; García et al., ICPP 2013): so slots only ascend, and since
/// every slot has lanes of its own, no packets can wait for each other in a circle.
///
/// Slots are counted from 1; a packet that has just been injected is at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    kinds: &'static [Kind],
    /// The lanes of each slot.
    lanes: [Lanes; MOST_SLOTS + 1],
    /// The next slot after each for local and for global links.
    next: [[u8; MOST_SLOTS + 1]; 2],
    /// All lanes that are used of local and of global links.
    all: [Lanes; 2],
}

const MOST_SLOTS: usize = 8;

const L: Kind = Kind::Local;
const G: Kind = Kind::Global;

/// Minimal routes.
pub(crate) const MINIMAL: &[Kind] = &[L, G, L];
/// Over another group.
pub(crate) const BY_GROUP: &[Kind] = &[L, G, L, G, L];
/// Over a router of another group.
pub(crate) const BY_ROUTER: &[Kind] = &[L, G, L, L, G, L];
/// Over another group, decided at the first or second router.
pub(crate) const PROGRESSIVE_BY_GROUP: &[Kind] = &[L, L, G, L, G, L];
/// Over a router of another group, decided at the first or second router.
pub(crate) const PROGRESSIVE_BY_ROUTER: &[Kind] = &[L, L, G, L, L, G, L];
/// With a detour in each group.
pub(crate) const SIX_TWO: &[Kind] = &[L, L, G, L, L, G, L, L];

impl Template {
    /// The route `kinds` on `lanes` lanes, shared evenly among the slots of a link; `None` if there are too few.
    pub(crate) fn new(kinds: &'static [Kind], lanes: u8) -> Option<Self> {
        let width = lanes / needed(kinds);
        let mut next = [0; 2];
        let place = |&kind: &Kind| {
            let next = &mut next[usize::from(kind == Kind::Global)];
            *next += 1;
            *next - 1
        };
        let places: Vec<u8> = kinds.iter().map(place).collect();
        (width > 0).then(|| Self::on_lanes(kinds, &places, width))
    }

    /// The route `kinds` on the lanes that are given for each slot, whether or not they keep packets apart.
    pub(super) fn on_lanes(kinds: &'static [Kind], places: &[u8], width: u8) -> Self {
        let mut lanes = [Lanes::new(0, width); MOST_SLOTS + 1];
        let mut next = [[kinds.len() as u8; MOST_SLOTS + 1]; 2];
        let mut all = [Lanes::new(0, width); 2];
        for (slot, (&kind, &place)) in kinds.iter().zip(places).enumerate().rev() {
            let link = usize::from(kind == Kind::Global);
            lanes[slot + 1] = Lanes::new(place * width, width);
            next[link][..=slot].fill(slot as u8 + 1);
            all[link].count = all[link].count.max((place + 1) * width);
        }
        Self { kinds, lanes, next, all }
    }

    /// The slot of the next link, of this kind, after `slot`; and its lanes. (The last slot, where there is no other: it does
    /// not happen as long as packets keep to the routes that the template was made for.)
    #[inline]
    pub(crate) fn next(&self, slot: u8, kind: Kind) -> (u8, Lanes) {
        let next = self.next[usize::from(kind == Kind::Global)][usize::from(slot)];
        (next, self.lanes[usize::from(next)])
    }

    /// The slot of a link of this kind that a packet is on if it came by `lane`.
    pub(crate) fn slot(&self, kind: Kind, lane: Vl) -> u8 {
        let is_it = |&(slot, k): &(usize, &Kind)| *k == kind && self.lanes[slot + 1].contains(lane);
        self.kinds.iter().enumerate().find(is_it).map_or(0, |(slot, _)| slot as u8 + 1)
    }

    /// All lanes that are used of links of this kind.
    #[inline]
    pub(crate) fn all(&self, kind: Kind) -> Lanes {
        self.all[usize::from(kind == Kind::Global)]
    }

    /// True if a packet in this slot has gone over a global link.
    #[inline]
    pub(crate) fn has_left(&self, slot: u8) -> bool {
        slot >= self.next[1][0]
    }
}

/// Lanes that a route needs of every link: one for each local link on it, or for each global one.
pub(crate) fn needed(kinds: &[Kind]) -> u8 {
    let count = |kind| kinds.iter().filter(|&&k| k == kind).count() as u8;
    count(Kind::Local).max(count(Kind::Global))
}

/// A route in letters: `l0 g0 l1`.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (slot, kind) in self.kinds.iter().enumerate() {
            let letter = if *kind == Kind::Global { 'g' } else { 'l' };
            let space = if slot == 0 { "" } else { " " };
            write!(f, "{space}{letter}{}", self.lanes[slot + 1].first.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_slot_is_the_first_of_its_kind() {
        let template = Template::new(SIX_TWO, 6).unwrap();
        assert_eq!(template.to_string(), "l0 l1 g0 l2 l3 g1 l4 l5");
        let route = |kinds: &[Kind]| {
            let step = |slot: &mut u8, &kind: &Kind| {
                let (next, lanes) = template.next(*slot, kind);
                *slot = next;
                Some(lanes.first.0)
            };
            kinds.iter().scan(0, step).collect::<Vec<_>>()
        };
        assert_eq!(route(&[L, G, L]), [0, 0, 2]);
        assert_eq!(route(&[G, L, L, G, L]), [0, 2, 3, 1, 4]);
        assert_eq!(route(SIX_TWO), [0, 1, 0, 2, 3, 1, 4, 5]);
        assert_eq!([0, 2, 3, 6].map(|slot| template.has_left(slot)), [false, false, true, true]);
        assert_eq!((template.all(L), template.all(G)), (Lanes::new(0, 6), Lanes::new(0, 2)));
    }

    #[test]
    fn what_algorithms_need() {
        let routes = [MINIMAL, BY_GROUP, BY_ROUTER, PROGRESSIVE_BY_GROUP, PROGRESSIVE_BY_ROUTER, SIX_TWO];
        assert_eq!(routes.map(needed), [2, 3, 4, 4, 5, 6]);
        assert_eq!(Template::new(SIX_TWO, 5), None);
        let wide = Template::new(MINIMAL, 5).unwrap();
        assert_eq!(wide.next(0, G), (2, Lanes::new(0, 2)));
        assert_eq!(wide.next(2, L), (3, Lanes::new(2, 2)));
        assert_eq!([0, 1, 2, 3].map(|lane| wide.slot(L, Vl(lane))), [1, 1, 3, 3]);
    }
}
