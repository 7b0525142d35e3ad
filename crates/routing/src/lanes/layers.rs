//! Lanes by layers: a path is on one lane from its source to its destination, that of the layer which keeps it free of deadlock (LASH:
//! Skeie, Lysne, Theiss 2002; DFSSSP: Domke, Hoefler, Nagel 2011).

use fabricsim_model::Lanes;
use fabricsim_units::HostId;

use super::{LanePolicy, Step};

/// The service level of every path, which is its layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Number of lanes of a service class.
    lanes: u8,
    /// Row of each source in `of_path`.
    rows: Vec<u32>,
    hosts: usize,
    /// Level by row of the source and destination. Sources whose paths have the same levels share a row.
    of_path: Vec<u8>,
}

impl Layers {
    /// The level of the path between two hosts.
    #[inline]
    pub(crate) fn of(&self, from: HostId, to: HostId) -> u8 {
        self.of_path[self.rows[from.index()] as usize * self.hosts + to.index()]
    }

    /// Number of layers, empty ones included.
    pub(crate) fn count(&self) -> u8 {
        self.of_path.iter().max().map_or(1, |&last| last + 1)
    }

    /// Layers on a number of `lanes`. `level` returns the service level of the path between two hosts; its lane is the level modulo that number.
    pub(crate) fn new(hosts: usize, lanes: u8, level: impl Fn(HostId, HostId) -> u8) -> Self {
        let mut known = std::collections::BTreeMap::new();
        let (mut rows, mut of_path) = (Vec::with_capacity(hosts), Vec::new());
        for from in (0..hosts as u32).map(HostId) {
            let row: Vec<u8> = (0..hosts as u32).map(|to| level(from, HostId(to))).collect();
            let next = known.len() as u32;
            let number = *known.entry(row).or_insert_with_key(|row| {
                of_path.extend_from_slice(row);
                next
            });
            rows.push(number);
        }
        Self { lanes, rows, hosts, of_path }
    }
}

impl LanePolicy for Layers {
    fn all(&self) -> Lanes {
        Lanes::new(0, self.lanes)
    }

    #[inline]
    fn injection(&self, from: HostId, to: HostId, class: u8) -> Lanes {
        Lanes::new(class * self.lanes + self.of(from, to) % self.lanes, 1)
    }

    #[inline]
    fn level(&self, from: HostId, to: HostId, _: u8) -> u8 {
        self.of(from, to)
    }

    fn has_levels_of_paths(&self) -> bool {
        true
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        (Lanes { first: step.at.lane, count: 1 }, 0)
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{PortNo, SwitchId, Vl};

    use super::*;
    use crate::At;
    use crate::lanes::{Exit, LinkRole};

    #[test]
    fn a_path_stays_on_the_lane_that_it_was_injected_on() {
        let layers = Layers::new(4, 3, |from, to| (from.0 % 2 + to.0) as u8);
        assert_eq!((layers.rows.clone(), layers.of_path.len()), (vec![0, 1, 0, 1], 8));
        assert_eq!(layers.injection(HostId(3), HostId(1), 0), Lanes::new(2, 1));
        assert_eq!(layers.injection(HostId(3), HostId(1), 2), Lanes::new(8, 1));
        assert_eq!(layers.injection(HostId(1), HostId(3), 0), Lanes::new(1, 1));
        assert_eq!((layers.level(HostId(1), HostId(3), 0), layers.count()), (4, 5));
        let at = At { switch: SwitchId(0), in_port: PortNo(0), lane: Vl(2) };
        let exit = Exit { port: PortNo(1), role: LinkRole::Either };
        assert_eq!(layers.lanes(Step { at, exit, stage: 0 }), (Lanes::new(2, 1), 0));
        assert_eq!(layers.all(), Lanes::new(0, 3));
    }
}
