//! No restriction: every link on all lanes of the service class. Free of deadlock where the ports alone are, as on trees and meshes.

use fabricsim_model::Lanes;

use super::{Exit, LanePolicy, Step, entry};
use crate::route::Route;

/// All lanes of the service class.
#[derive(Clone, Copy, Debug)]
pub struct AllLanes(Lanes);

impl AllLanes {
    /// All of `lanes` lanes, 1 or more.
    pub const fn new(lanes: u8) -> Self {
        Self(Lanes::new(0, lanes))
    }
}

impl LanePolicy for AllLanes {
    #[inline]
    fn all(&self) -> Lanes {
        self.0
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        (self.0, step.stage)
    }

    fn compile(&self, exit: Exit) -> Option<Route> {
        Some(entry(exit.port, self.0))
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{PortNo, SwitchId, Vl};

    use crate::At;
    use crate::lanes::AllLanes;
    use crate::lanes::{Exit, LanePolicy, LinkRole, Step};

    #[test]
    fn every_link_has_all_lanes() {
        let policy = AllLanes::new(3);
        let at = At { switch: SwitchId(0), in_port: PortNo(1), lane: Vl(2) };
        for role in [LinkRole::Between, LinkRole::Dateline, LinkRole::Leg(1)] {
            let exit = Exit { port: PortNo(4), role };
            let (lanes, stage) = policy.lanes(Step { at, exit, stage: 0 });
            assert_eq!((lanes, stage), (policy.all(), 0));
            assert_eq!(policy.compile(exit).unwrap().hop.lanes, policy.all());
        }
    }
}
