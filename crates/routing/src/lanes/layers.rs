//! Lanes by layers: a path is on one lane from its source to its destination, that of the layer which keeps it free of deadlock (LASH:
//! Skeie, Lysne, Theiss 2002; DFSSSP: Domke, Hoefler, Nagel 2011).

use fabricsim_model::Lanes;
use fabricsim_units::HostId;

use super::{Destination, Exit, LanePolicy, Step};
use crate::At;

/// The service level of every path, which is its layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Number of lanes of a service class.
    lanes: u8,
    /// Row of each source in `of_path`.
    rows: Vec<u32>,
    hosts: usize,
    /// LIDs of each host.
    paths: u8,
    /// Level by row of the source, destination and LID. Sources whose paths have the same levels share a row.
    of_path: Vec<u8>,
}

impl Layers {
    /// The level of the path between two hosts.
    #[inline]
    pub(crate) fn of(&self, from: HostId, to: Destination) -> u8 {
        let paths = usize::from(self.paths);
        let row = self.rows[from.index()] as usize * self.hosts;
        self.of_path[(row + to.host.index()) * paths + usize::from(to.path)]
    }

    /// Number of layers, empty ones included.
    pub(crate) fn count(&self) -> u8 {
        self.of_path.iter().max().map_or(1, |&last| last + 1)
    }

    /// Layers on a number of `lanes`, for hosts with a number of LIDs each. `level` returns the service level of the path between two hosts; its lane is the level modulo that number.
    pub(crate) fn new(
        (hosts, paths): (usize, u8),
        lanes: u8,
        level: impl Fn(HostId, Destination) -> u8,
    ) -> Self {
        let mut known = std::collections::BTreeMap::new();
        let (mut rows, mut of_path) = (Vec::with_capacity(hosts), Vec::new());
        for from in (0..hosts as u32).map(HostId) {
            let to = (0..hosts as u32).map(HostId);
            let to = to.flat_map(|host| (0..paths).map(move |path| Destination { host, path }));
            let row: Vec<u8> = to.map(|to| level(from, to)).collect();
            let next = known.len() as u32;
            let number = *known.entry(row).or_insert_with_key(|row| {
                of_path.extend_from_slice(row);
                next
            });
            rows.push(number);
        }
        Self { lanes, rows, hosts, paths, of_path }
    }
}

impl LanePolicy for Layers {
    fn all(&self) -> Lanes {
        Lanes::new(0, self.lanes)
    }

    #[inline]
    fn injection(&self, from: HostId, to: Destination, class: u8) -> Lanes {
        Lanes::new(class * self.lanes + self.of(from, to) % self.lanes, 1)
    }

    fn injects_by_class(&self) -> bool {
        false
    }

    /// The lane of the first layer.
    fn tree_injection(&self, _: HostId, class: u8) -> Lanes {
        Lanes::new(class * self.lanes, 1)
    }

    fn tree_lanes(&self, at: At, _: Exit, _: u8) -> Lanes {
        Lanes::one(at.lane)
    }

    #[inline]
    fn level(&self, from: HostId, to: Destination, _: u8) -> u8 {
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
        let layers = Layers::new((4, 1), 3, |from, to| (from.0 % 2 + to.host.0) as u8);
        assert_eq!((layers.rows.clone(), layers.of_path.len()), (vec![0, 1, 0, 1], 8));
        assert_eq!(layers.injection(HostId(3), HostId(1).into(), 0), Lanes::new(2, 1));
        assert_eq!(layers.injection(HostId(3), HostId(1).into(), 2), Lanes::new(8, 1));
        assert_eq!(layers.injection(HostId(1), HostId(3).into(), 0), Lanes::new(1, 1));
        assert_eq!((layers.level(HostId(1), HostId(3).into(), 0), layers.count()), (4, 5));
        let at = At { switch: SwitchId(0), in_port: PortNo(0), lane: Vl(2) };
        let exit = Exit { port: PortNo(1), role: LinkRole::Either };
        assert_eq!(layers.lanes(Step { at, exit, stage: 0 }), (Lanes::new(2, 1), 0));
        assert_eq!(layers.all(), Lanes::new(0, 3));
    }

    #[test]
    fn each_lid_of_a_host_has_its_level() {
        let layers = Layers::new((3, 2), 8, |from, to| (from.0 + 2 * to.host.0) as u8 + 8 * to.path);
        let to = Destination { host: HostId(2), path: 1 };
        assert_eq!(
            (layers.level(HostId(1), to, 0), layers.injection(HostId(1), to, 0)),
            (13, Lanes::new(5, 1))
        );
        assert_eq!(layers.level(HostId(1), HostId(2).into(), 0), 5);
    }
}
