//! Lanes by slots: on a dragonfly a packet takes the lanes of its place in the longest route that the algorithm allows (García et
//! al., ICPP 2013).

use fabricsim_model::Lanes;
use fabricsim_units::{PortNo, Vl};

use super::{LanePolicy, Step};
use crate::At;

/// Kind of the link at a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To a host.
    Host,
    /// To another router of the group.
    Local,
    /// To another group.
    Global,
}

/// Kinds of the links of a switch: ports of hosts first, then the local ones, then the global ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortKinds {
    /// The first local and the first global port.
    first_local: u16,
    first_global: u16,
}

impl PortKinds {
    pub(crate) const fn new(hosts: u16, locals: u16) -> Self {
        Self { first_local: hosts, first_global: hosts + locals }
    }

    #[inline]
    const fn of(self, port: PortNo) -> Kind {
        if port.0 < self.first_local {
            Kind::Host
        } else if port.0 < self.first_global {
            Kind::Local
        } else {
            Kind::Global
        }
    }
}

/// Lanes by the longest route of an algorithm, link by link. A packet takes the first slot after its present one whose kind is that of
/// the link it goes over (as FOGSim's `vcMngmt::nextChannel`; García et al., ICPP 2013): so slots only ascend, and since
/// every slot has lanes of its own, there is no cyclic dependency.
///
/// The stage of a packet is its slot, from 1; 0 where it was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    kinds: &'static [Kind],
    ports: PortKinds,
    /// The lanes of each slot.
    lanes: [Lanes; MOST_SLOTS + 1],
    /// The next slot after each for local and for global links.
    next: [[u8; MOST_SLOTS + 1]; 2],
    /// All lanes that are used of local and of global links.
    used: [Lanes; 2],
    all: Lanes,
}

const MOST_SLOTS: usize = 8;

/// The longest routes of algorithms.
pub(crate) mod templates {
    use super::Kind;

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
}

impl Slots {
    /// The longest route `kinds` on `lanes` lanes, shared evenly among the slots of a link; the lanes that are needed, if there are
    /// fewer.
    pub(crate) fn new(kinds: &'static [Kind], ports: PortKinds, lanes: u8) -> Result<Self, u8> {
        let needed = needed(kinds);
        let width = lanes / needed;
        if width == 0 {
            return Err(needed);
        }
        let mut next = [0; 2];
        let place = |&kind: &Kind| {
            let next = &mut next[usize::from(kind == Kind::Global)];
            *next += 1;
            *next - 1
        };
        let places: Vec<u8> = kinds.iter().map(place).collect();
        Ok(Self { all: Lanes::new(0, lanes), ..Self::on_lanes(kinds, ports, &places, width) })
    }

    /// The longest route `kinds` on the lanes that are given for each slot, whether or not they keep packets apart.
    pub(crate) fn on_lanes(kinds: &'static [Kind], ports: PortKinds, places: &[u8], width: u8) -> Self {
        let mut lanes = [Lanes::new(0, width); MOST_SLOTS + 1];
        let mut next = [[kinds.len() as u8; MOST_SLOTS + 1]; 2];
        let mut used = [Lanes::new(0, width); 2];
        for (slot, (&kind, &place)) in kinds.iter().zip(places).enumerate().rev() {
            let link = usize::from(kind == Kind::Global);
            lanes[slot + 1] = Lanes::new(place * width, width);
            next[link][..=slot].fill(slot as u8 + 1);
            used[link].count = used[link].count.max((place + 1) * width);
        }
        let all = Lanes::new(0, used[0].count.max(used[1].count));
        Self { kinds, ports, lanes, next, used, all }
    }

    /// The kinds of a switch's links.
    #[inline]
    pub(crate) const fn kind(&self, port: PortNo) -> Kind {
        self.ports.of(port)
    }

    /// The slot of the next link, of this kind, after `slot`; and its lanes. (The last slot, if there is no other: it does
    /// not happen as long as packets keep to the routes that the policy was made for.)
    #[inline]
    pub(crate) fn next(&self, slot: u8, kind: Kind) -> (u8, Lanes) {
        let next = self.next[usize::from(kind == Kind::Global)][usize::from(slot)];
        (next, self.lanes[usize::from(next)])
    }

    /// The slot of a link of this kind that a packet is on if it came by `lane`.
    fn slot(&self, kind: Kind, lane: Vl) -> u8 {
        let is_it = |&(slot, k): &(usize, &Kind)| *k == kind && self.lanes[slot + 1].contains(lane);
        self.kinds.iter().enumerate().find(is_it).map_or(0, |(slot, _)| slot as u8 + 1)
    }

    /// All lanes that are used of links of this kind.
    #[inline]
    pub(crate) fn used(&self, kind: Kind) -> Lanes {
        self.used[usize::from(kind == Kind::Global)]
    }

    /// True if a packet in this slot has gone over a global link.
    #[inline]
    pub(crate) fn has_left(&self, slot: u8) -> bool {
        slot >= self.next[1][0]
    }
}

/// Lanes that a route needs of every link: one for each local link on it, or for each global one.
fn needed(kinds: &[Kind]) -> u8 {
    let count = |kind| kinds.iter().filter(|&&k| k == kind).count() as u8;
    count(Kind::Local).max(count(Kind::Global))
}

impl LanePolicy for Slots {
    #[inline]
    fn all(&self) -> Lanes {
        self.all
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        let (slot, lanes) = self.next(step.stage, self.kind(step.exit.port));
        (lanes, slot)
    }

    fn stage(&self, at: At) -> u8 {
        self.slot(self.kind(at.in_port), at.lane)
    }

    /// The longest route in letters: `l0 g0 l1`.
    fn requirement(&self) -> Option<(u8, String)> {
        let link = |(slot, kind): (usize, &Kind)| {
            let letter = if *kind == Kind::Global { 'g' } else { 'l' };
            format!("{letter}{}", self.lanes[slot + 1].first)
        };
        let links: Vec<String> = self.kinds.iter().enumerate().map(link).collect();
        Some((needed(self.kinds), links.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::templates::*;
    use super::*;

    const L: Kind = Kind::Local;
    const G: Kind = Kind::Global;

    fn slots(kinds: &'static [Kind], lanes: u8) -> Result<Slots, u8> {
        Slots::new(kinds, PortKinds::new(1, 3), lanes)
    }

    #[test]
    fn the_next_slot_is_the_first_of_its_kind() {
        let policy = slots(SIX_TWO, 6).unwrap();
        assert_eq!(policy.requirement(), Some((6, "l0 l1 g0 l2 l3 g1 l4 l5".to_owned())));
        let route = |kinds: &[Kind]| {
            let step = |slot: &mut u8, &kind: &Kind| {
                let (next, lanes) = policy.next(*slot, kind);
                *slot = next;
                Some(lanes.first.0)
            };
            kinds.iter().scan(0, step).collect::<Vec<_>>()
        };
        assert_eq!(route(&[L, G, L]), [0, 0, 2]);
        assert_eq!(route(&[G, L, L, G, L]), [0, 2, 3, 1, 4]);
        assert_eq!(route(SIX_TWO), [0, 1, 0, 2, 3, 1, 4, 5]);
        assert_eq!([0, 2, 3, 6].map(|slot| policy.has_left(slot)), [false, false, true, true]);
        assert_eq!((policy.used(L), policy.used(G)), (Lanes::new(0, 6), Lanes::new(0, 2)));
    }

    #[test]
    fn what_algorithms_need() {
        let routes = [MINIMAL, BY_GROUP, BY_ROUTER, PROGRESSIVE_BY_GROUP, PROGRESSIVE_BY_ROUTER, SIX_TWO];
        assert_eq!(routes.map(needed), [2, 3, 4, 4, 5, 6]);
        assert_eq!(slots(SIX_TWO, 5), Err(6));
        let wide = slots(MINIMAL, 5).unwrap();
        assert_eq!(wide.next(0, G), (2, Lanes::new(0, 2)));
        assert_eq!(wide.next(2, L), (3, Lanes::new(2, 2)));
        assert_eq!([0, 1, 2, 3].map(|lane| wide.slot(L, Vl(lane))), [1, 1, 3, 3]);
    }

    #[test]
    fn ports_of_a_switch_are_hosts_then_local_then_global() {
        let kinds = [0, 1, 3, 4].map(|port| slots(MINIMAL, 2).unwrap().kind(PortNo(port)));
        assert_eq!(kinds, [Kind::Host, L, L, G]);
    }
}
