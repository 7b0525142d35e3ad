//! Coordinates of the switches of a torus, found from a seed.
//!
//! Cubes of eight places (squares in two dimensions) are completed one switch at a time: a corner is the switch that is linked to its two
//! neighbours in a face; behind a complete face, the switch beyond a pivot is the one that forms faces with the pivot's neighbours.
//! Links whose ends are placed are used up, so that they mislead no later search. Places are found in OpenSM's order, since it is the
//! order in which destinations are distributed over parallel links (`locate_sw` in `osm_torus.c`).

use super::config::{Seed, TorusConfig};
use crate::RouteError;
use crate::fabric::{Fabric, NONE};

/// Coordinates.
pub(super) type Place = [usize; 3];

/// Directions of a switch's groups of links: x, y, z, each down, then up; then its end ports.
pub(super) const ENDS: usize = 6;

/// Missing corners (as bits) that are not found in ascending order, and their order.
const ORDERS: [(u8, [usize; 3]); 5] =
    [(0x17, [4, 1, 2]), (0x2b, [5, 0, 3]), (0x4d, [6, 0, 3]), (0x8e, [7, 1, 2]), (0xb2, [1, 7, 4])];

/// Dimensions of the face that completes a cube but for one corner, by corner.
const LAST: [[usize; 2]; 8] = [[0, 1], [0, 2], [1, 2], [0, 1], [0, 2], [0, 2], [1, 2], [0, 1]];

/// True if faces may complete a cube with these missing corners: one, an edge, an edge and a neighbour, or a corner with all its
/// neighbours. OpenSM has no rule for other patterns.
fn has_rule(missing: &[usize]) -> bool {
    let is_near = |a: usize, b: usize| (a ^ b).is_power_of_two();
    let is_hub = |hub: &usize| missing.iter().all(|&other| other == *hub || is_near(*hub, other));
    (1..=4).contains(&missing.len()) && missing.iter().any(is_hub)
}

/// Corners of a cube with these dimensions.
fn corners(dimensions: &[usize]) -> Vec<usize> {
    let all: usize = dimensions.iter().map(|dimension| 1 << dimension).sum();
    (0..8).filter(|corner| corner & !all == 0).collect()
}

/// Switches by place.
pub(super) struct Torus<'a> {
    fabric: &'a Fabric<'a>,
    pub(super) config: &'a TorusConfig,
    at: Vec<u32>,
    /// Place of each switch.
    pub(super) places: Vec<Option<Place>>,
    /// Switches in the order in which they were found.
    pub(super) found: Vec<usize>,
    /// Ports by switch and direction.
    pub(super) groups: Vec<[Vec<u8>; 7]>,
    /// True for ports (of the fabric's dense array) whose link is used up.
    used: Vec<bool>,
    links: usize,
    /// A group that overflows.
    overflow: Option<usize>,
}

pub(super) fn fail<T>(reason: impl Into<String>) -> Result<T, RouteError> {
    Err(RouteError::NotTorus(reason.into()))
}

impl<'a> Torus<'a> {
    pub(super) fn new(fabric: &'a Fabric<'a>, config: &'a TorusConfig) -> Result<Self, RouteError> {
        let count = config.sizes.iter().product::<usize>();
        let mut torus = Self {
            fabric,
            config,
            at: vec![NONE; count],
            places: vec![None; fabric.len()],
            found: Vec::new(),
            groups: vec![Default::default(); fabric.len()],
            used: vec![false; fabric.num_ports()],
            links: 0,
            overflow: None,
        };
        let seed = torus.usable_seed()?;
        torus.plant(&seed)?;
        loop {
            let before = torus.links;
            for k in 0..config.sizes[2] {
                for j in 0..config.sizes[1] {
                    for i in 0..config.sizes[0] {
                        torus.complete([i, j, k]);
                    }
                }
            }
            if torus.links == before {
                break;
            }
        }
        if let Some(at) = torus.overflow {
            return fail(format!(
                "{} has more parallel links than portgroup_max_ports",
                fabric.switch_name(at)
            ));
        }
        Ok(torus)
    }

    /// The first seed whose switches are all there, checked.
    fn usable_seed(&self) -> Result<Seed, RouteError> {
        for (number, seed) in self.config.seeds.iter().enumerate() {
            let mut origins = seed.links.iter().flatten().map(|link| link.0);
            let first = origins.next();
            if origins.any(|origin| Some(origin) != first) {
                return fail(format!("the links of seed {} have no common switch", number + 1));
            }
            for (dimension, name) in ["x", "y", "z"].into_iter().enumerate() {
                let given = seed.links[2 * dimension..2 * dimension + 2].iter().flatten().count();
                let size = self.config.sizes[dimension];
                let needed =
                    if size == 4 && !self.config.mesh[dimension] { 2 } else { usize::from(size > 1) };
                if given < needed {
                    let which = if needed == 2 {
                        format!("{name}p_link and {name}m_link")
                    } else {
                        format!("{name}p_link or {name}m_link")
                    };
                    return fail(format!("seed {} has no {which}", number + 1));
                }
            }
            if seed
                .links
                .iter()
                .flatten()
                .all(|&(a, b)| self.fabric.find(a).is_some() && self.fabric.find(b).is_some())
            {
                return Ok(seed.clone());
            }
        }
        fail("switches of the seeds are not in the subnet")
    }

    fn plant(&mut self, seed: &Seed) -> Result<(), RouteError> {
        let wrap = |value: i64, size: usize| value.rem_euclid(size as i64) as usize;
        let sizes = self.config.sizes;
        let origin: Place = std::array::from_fn(|d| wrap(-seed.datelines[d], sizes[d]));
        for dimension in 0..3 {
            for (side, step) in [(1, 1), (0, -1)] {
                let Some((a, b)) = seed.links[2 * dimension + side] else { continue };
                let mut place = origin;
                place[dimension] = wrap(step - seed.datelines[dimension], sizes[dimension]);
                for (place, guid) in [(origin, a), (place, b)] {
                    let Some(switch) = self.fabric.find(guid) else { continue };
                    if !self.install(place, Some(switch)) {
                        return fail(format!(
                            "{} is in the seed at two places",
                            self.fabric.switch_name(switch)
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn slot(&self, place: Place) -> usize {
        let [x, y, _] = self.config.sizes;
        (place[2] * y + place[1]) * x + place[0]
    }

    /// The switch at a place.
    pub(super) fn get(&self, place: Place) -> Option<usize> {
        let at = self.at[self.slot(place)];
        (at != NONE).then_some(at as usize)
    }

    /// A place moved along a dimension, around the ring.
    fn moved(&self, mut place: Place, dimension: usize, step: i64) -> Place {
        let size = self.config.sizes[dimension] as i64;
        place[dimension] = (place[dimension] as i64 + step).rem_euclid(size) as usize;
        place
    }

    /// Puts a switch at a place; true if one is there afterwards.
    fn install(&mut self, place: Place, switch: Option<usize>) -> bool {
        let slot = self.slot(place);
        if self.at[slot] != NONE {
            return true;
        }
        let Some(switch) = switch.filter(|&switch| self.places[switch].is_none()) else { return false };
        self.at[slot] = switch as u32;
        self.places[switch] = Some(place);
        self.found.push(switch);
        true
    }

    /// Neighbours of a switch by links that are not used up.
    fn neighbours(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.fabric.first_port(at);
        self.fabric
            .switch_links(at)
            .filter(move |&(port, ..)| !self.used[first + port])
            .map(|(_, next, _)| next)
    }

    /// The fourth switch of a face: linked to `a` and `c`, not `b` between them.
    fn face_corner(&self, a: usize, b: usize, c: usize) -> Option<usize> {
        self.neighbours(a).filter(|&far| far != b).find(|&far| self.neighbours(far).any(|next| next == c))
    }

    /// The switch beyond `pivot`, away from `behind`: it forms faces with all of `sides`.
    fn beyond(&self, pivot: usize, behind: usize, sides: &[usize]) -> Option<usize> {
        let fits = |far: usize| sides.iter().all(|&side| self.face_corner(side, pivot, far).is_some());
        self.neighbours(pivot).filter(|&far| far != behind).find(|&far| fits(far))
    }

    /// Uses up all links between two neighbours along a dimension.
    fn link(&mut self, dimension: usize, from: usize, to: usize) {
        if from == to {
            return;
        }
        let ports: Vec<(usize, usize)> = self
            .fabric
            .switch_links(from)
            .filter(|&(port, next, _)| next == to && !self.used[self.fabric.first_port(from) + port])
            .map(|(port, _, back)| (port, back))
            .collect();
        for (port, back) in ports {
            if self.groups[from][2 * dimension + 1].len().max(self.groups[to][2 * dimension].len())
                >= self.config.group
            {
                self.overflow = Some(from);
                return;
            }
            self.used[self.fabric.first_port(from) + port] = true;
            self.used[self.fabric.first_port(to) + back] = true;
            self.groups[from][2 * dimension + 1].push(port as u8);
            self.groups[to][2 * dimension].push(back as u8);
            self.links += 1;
        }
    }

    /// Dimensions with more than one switch.
    fn dimensions(&self) -> Vec<usize> {
        (0..3).filter(|&dimension| self.config.sizes[dimension] > 1).collect()
    }

    /// A corner of the cube at a place: bits 0, 1, 2 step along x, y, z.
    fn corner(&self, place: Place, corner: usize) -> Place {
        let step = |place, dimension: usize| self.moved(place, dimension, (corner >> dimension & 1) as i64);
        step(step(step(place, 0), 1), 2)
    }

    /// Completes the cube at a place as far as possible.
    fn complete(&mut self, place: Place) {
        let dimensions = self.dimensions();
        let wraps = |dimension: usize| place[dimension] + 1 == self.config.sizes[dimension];
        if dimensions.iter().any(|&dimension| self.config.mesh[dimension] && wraps(dimension)) {
            return;
        }
        loop {
            self.link_cube(place, &dimensions);
            if !self.complete_face(place, &dimensions) && !self.go_beyond(place, &dimensions) {
                self.link_cube(place, &dimensions);
                return;
            }
        }
    }

    fn link_cube(&mut self, place: Place, dimensions: &[usize]) {
        let corners = corners(dimensions);
        for &dimension in dimensions {
            for &corner in corners.iter().filter(|&&corner| corner >> dimension & 1 == 0) {
                let ends =
                    [corner, corner | 1 << dimension].map(|corner| self.get(self.corner(place, corner)));
                if let [Some(from), Some(to)] = ends {
                    self.link(dimension, from, to);
                }
            }
        }
    }

    /// Finds one missing corner of a face with three switches.
    fn complete_face(&mut self, place: Place, dimensions: &[usize]) -> bool {
        let switches: [Option<usize>; 8] = std::array::from_fn(|corner| self.get(self.corner(place, corner)));
        let mut corners: Vec<usize> =
            corners(dimensions).into_iter().filter(|&corner| switches[corner].is_none()).collect();
        if !has_rule(&corners) {
            return false;
        }
        let last = (corners.len() == 1 && dimensions.len() == 3).then(|| LAST[corners[0]]);
        let missing = corners.iter().fold(0u8, |bits, corner| bits | 1 << corner);
        if let Some((_, order)) = ORDERS.iter().find(|row| row.0 == missing) {
            corners = order.to_vec();
        }
        for corner in corners {
            for (slot, &a) in dimensions.iter().enumerate() {
                for &b in &dimensions[slot + 1..] {
                    if last.is_some_and(|last| last != [a, b]) {
                        continue;
                    }
                    let face = [corner ^ 1 << a, corner ^ 1 << a ^ 1 << b, corner ^ 1 << b]
                        .map(|corner| switches[corner]);
                    let [Some(one), Some(opposite), Some(other)] = face else { continue };
                    let found = self.face_corner(one, opposite, other);
                    if found.is_some() && self.install(self.corner(place, corner), found) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Finds a switch beyond a face (an edge in two dimensions) whose other side is empty.
    fn go_beyond(&mut self, place: Place, dimensions: &[usize]) -> bool {
        let switches: [Option<usize>; 8] = std::array::from_fn(|corner| self.get(self.corner(place, corner)));
        let mut targets = corners(dimensions);
        if dimensions.len() == 3 {
            targets.reverse();
        }
        for &dimension in dimensions {
            let others: Vec<usize> = dimensions.iter().copied().filter(|&other| other != dimension).collect();
            for side in [0, 1] {
                let is_beyond = |corner: &usize| corner >> dimension & 1 == side;
                if targets.iter().any(|corner| is_beyond(corner) && switches[*corner].is_some()) {
                    continue;
                }
                for &target in targets.iter().filter(|corner| is_beyond(corner)) {
                    let pivot_corner = target ^ 1 << dimension;
                    let Some(pivot) = switches[pivot_corner] else { continue };
                    let sides: Vec<usize> =
                        others.iter().filter_map(|&other| switches[pivot_corner ^ 1 << other]).collect();
                    let pivot_place = self.corner(place, pivot_corner);
                    let back = self.moved(pivot_place, dimension, if side == 1 { -1 } else { 1 });
                    let Some(behind) = self.get(back) else { continue };
                    if sides.is_empty()
                        || sides.len() < others.len()
                        || !self.are_rings_safe(pivot_place, &others)
                    {
                        continue;
                    }
                    let found = self.beyond(pivot, behind, &sides);
                    if found.is_some() && self.install(self.corner(place, target), found) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Rings of four switches: a step either way leads to the same switch, so two others must be known.
    fn are_rings_safe(&mut self, place: Place, dimensions: &[usize]) -> bool {
        for &dimension in dimensions {
            if self.config.sizes[dimension] != 4 || self.config.mesh[dimension] {
                continue;
            }
            let ring: [Option<usize>; 4] =
                std::array::from_fn(|step| self.get(self.moved(place, dimension, step as i64 - 2)));
            if ring.iter().enumerate().filter(|(step, switch)| *step != 2 && switch.is_some()).count() < 2 {
                return false;
            }
            for step in 0..4 {
                if let (Some(from), Some(to)) = (ring[step], ring[(step + 1) % 4]) {
                    self.link(dimension, from, to);
                }
            }
        }
        true
    }

    /// Number of switches along a dimension.
    pub(super) fn size(&self, dimension: usize) -> usize {
        self.config.sizes[dimension]
    }
}
