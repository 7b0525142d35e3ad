use fabricsim_model::{Hop, Lanes};
use fabricsim_units::Vl;

/// Service classes of a link: equal groups of adjacent lanes, class 0 first (`switch.service_classes`). A packet stays in its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceClasses {
    lanes: u8,
}

impl ServiceClasses {
    /// Classes of `lanes` virtual lanes each, 1 or more.
    pub const fn new(lanes: u8) -> Self {
        Self { lanes }
    }

    /// The first lane of the class of `lane`.
    #[inline]
    pub const fn base(self, lane: Vl) -> u8 {
        lane.0 - lane.0 % self.lanes
    }

    /// Lanes of a link, from lanes within the class that begins at lane `base`.
    #[inline(always)]
    pub const fn on_link(base: u8, lanes: Lanes) -> Lanes {
        Lanes::new(lanes.first.0 + base, lanes.count)
    }

    /// The same for the lanes of a hop.
    #[inline(always)]
    pub fn hop(base: u8, hop: Hop) -> Hop {
        Hop { lanes: Self::on_link(base, hop.lanes), ..hop }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::PortNo;

    use super::*;

    #[test]
    fn classes_are_groups_of_adjacent_lanes() {
        let classes = ServiceClasses::new(3);
        assert_eq!([0, 2, 3, 5, 6].map(|lane| classes.base(Vl(lane))), [0, 0, 3, 3, 6]);
        let hop = Hop { port: PortNo(1), lanes: Lanes::new(1, 2) };
        assert_eq!(ServiceClasses::hop(3, hop).lanes, Lanes::new(4, 2));
    }
}
