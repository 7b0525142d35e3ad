//! Datelines (Dally, Seitz 1987; Dally, Towles, "Principles and Practices of Interconnection Networks", section 14.2.3): along a ring
//! the lanes are split into two classes, and the dependencies of neither class close the ring.
//!
//! The dateline is the link between the highest coordinate and 0. A packet takes the upper class if its exit has the role
//! [`LinkRole::Dateline`]; otherwise it starts a ring on the lower class, and keeps its class while it continues. Two kinds of routing
//! give that role, and the rule is free of deadlock with both:
//!
//! - Dimension order gives it to every link of a route up to the dateline and over it, so that a packet has one class all along the
//!   ring. Minimal routes of either class do not close the ring: those of the upper class end before its middle and begin after it.
//!   It is also what `dim_order_torus` of BookSim does.
//! - SeaStar's tables give it to the link over the dateline alone: packets start on the lower class and move to the upper one.

use fabricsim_model::{Hop, Lanes};
use fabricsim_units::{PortNo, Vl};

use super::{Exit, LanePolicy, LinkRole, Step, entry};
use crate::route::Route;

/// Lanes by datelines: the lower half of the lanes of a service class, and the upper one. An odd lane belongs to the lower half; a single
/// lane is not split.
#[derive(Clone, Copy, Debug)]
pub struct Dateline {
    /// The lowest lane of the upper class.
    split: u8,
    /// Lower and upper class.
    classes: [Lanes; 2],
    all: Lanes,
}

impl Dateline {
    /// Datelines with `lanes` lanes, 1 or more.
    pub(crate) fn new(lanes: u8) -> Self {
        let lower = lanes.div_ceil(2);
        let all = Lanes::new(0, lanes);
        let classes =
            if lanes > 1 { [Lanes::new(0, lower), Lanes::new(lower, lanes - lower)] } else { [all; 2] };
        Self { split: classes[1].first.0, classes, all }
    }

    /// The hop of a table entry for a packet that arrived on `in_port` and `lane`.
    #[inline(always)]
    pub(crate) fn hop(self, route: Route, in_port: PortNo, lane: Vl) -> Hop {
        // Selected as whole words: field by field it takes twice as many instructions.
        let word = |lanes: Lanes| u16::from_le_bytes([lanes.first.0, lanes.count]);
        let [lower, upper] = self.classes.map(word);
        let class = if lane.0 >= self.split { upper } else { lower };
        let lanes = if route.continues_from == in_port { class } else { word(route.hop.lanes) };
        let [first, count] = lanes.to_le_bytes();
        Hop { port: route.hop.port, lanes: Lanes { first: Vl(first), count } }
    }

    #[inline]
    fn route(self, exit: Exit) -> Route {
        match exit.role {
            LinkRole::Ring { continues_from } => {
                Route { hop: Hop { port: exit.port, lanes: self.classes[0] }, continues_from }
            }
            LinkRole::Dateline => entry(exit.port, self.classes[1]),
            LinkRole::ToHost | LinkRole::Between | LinkRole::Either | LinkRole::Leg(_) => {
                entry(exit.port, self.all)
            }
        }
    }
}

impl LanePolicy for Dateline {
    #[inline]
    fn all(&self) -> Lanes {
        self.all
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        (self.hop(self.route(step.exit), step.at.in_port, step.at.lane).lanes, step.stage)
    }

    fn compile(&self, exit: Exit) -> Option<Route> {
        Some(self.route(exit))
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::SwitchId;

    use super::*;
    use crate::At;

    #[test]
    fn packets_that_continue_keep_their_class_up_to_the_dateline() {
        let policy = Dateline::new(5);
        let (lower, upper) = (Lanes::new(0, 3), Lanes::new(3, 2));
        let lanes = |role, in_port, lane| {
            let at = At { switch: SwitchId(0), in_port: PortNo(in_port), lane: Vl(lane) };
            policy.lanes(Step { at, exit: Exit { port: PortNo(1), role }, stage: 0 }).0
        };
        let ring = LinkRole::Ring { continues_from: PortNo(0) };
        for lane in 0..5 {
            let class = if lane < 3 { lower } else { upper };
            assert_eq!(lanes(ring, 0, lane), class);
            assert_eq!(lanes(ring, 2, lane), lower, "a packet that starts along the ring");
            assert_eq!(lanes(LinkRole::Dateline, lane.into(), lane), upper);
            assert_eq!(lanes(LinkRole::Between, 0, lane), policy.all());
        }
    }

    #[test]
    fn a_single_lane_is_not_split() {
        let policy = Dateline::new(1);
        assert_eq!(policy.classes, [Lanes::new(0, 1); 2]);
    }
}
