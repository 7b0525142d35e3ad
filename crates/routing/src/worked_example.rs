//! The worked example of `docs/design/routing-and-lanes.md`: a routing algorithm and a lane policy, each complete.

use fabricsim_model::Lanes;
use fabricsim_topology::{Graph, GridShape, Shape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::deadlock::{Verdict, check_among};
use crate::lanes::{AllLanes, AnyPolicy, Dateline, Exit, LanePolicy, LinkRole, Step};
use crate::samples::{graph, hosts};
use crate::{At, PortRouting};

/// Clockwise on a ring, however long the route.
struct Clockwise<P> {
    /// Ports of each switch down and up the ring.
    ports: Vec<[PortNo; 2]>,
    /// By host: its switch and the port there.
    hosts: Vec<(SwitchId, PortNo)>,
    lanes: P,
}

impl<P: LanePolicy> Clockwise<P> {
    fn new(graph: &Graph, ring: &GridShape, lanes: P) -> Self {
        let port = |switch, up| ring.port(SwitchId(switch), 0, up).unwrap();
        let switches = 0..graph.switches.len() as u32;
        Self {
            ports: switches.map(|switch| [port(switch, false), port(switch, true)]).collect(),
            hosts: graph.hosts.iter().map(|host| (host.switch, host.port)).collect(),
            lanes,
        }
    }
}

impl<P: LanePolicy> PortRouting for Clockwise<P> {
    type Lanes = P;

    fn lanes(&self) -> &P {
        &self.lanes
    }

    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        let (switch, port) = self.hosts[to.index()];
        if switch == at.switch {
            return each(Exit { port, role: LinkRole::ToHost });
        }
        let [down, up] = self.ports[at.switch.index()];
        let crosses = at.switch.index() == self.ports.len() - 1;
        let role = if crosses { LinkRole::Dateline } else { LinkRole::Ring { continues_from: down } };
        each(Exit { port: up, role });
    }
}

/// Leaves the highest lane of a class to last links. Needs two lanes.
#[derive(Clone, Debug)]
struct Reserve {
    all: Lanes,
}

impl LanePolicy for Reserve {
    fn all(&self) -> Lanes {
        self.all
    }

    fn lanes(&self, step: Step) -> (Lanes, u8) {
        (Lanes::new(0, self.all.count - 1), step.stage)
    }

    fn requirement(&self) -> Option<(u8, String)> {
        Some((2, "any:0".to_owned()))
    }
}

fn is_free(policy: impl LanePolicy) -> bool {
    let graph = graph("ring = { switches = 5 }");
    let Shape::Grid(ring) = &graph.shape else { panic!("not a ring") };
    let lanes = policy.all().count;
    let routing = Clockwise::new(&graph, ring, policy);
    matches!(check_among(&routing, lanes, &graph, &[hosts(&graph).collect()]), Verdict::Free { .. })
}

#[test]
fn the_deadlock_check_reads_ports_and_lanes() {
    assert!(is_free(AnyPolicy::from(Dateline::new(2))));
    assert!(!is_free(AllLanes::new(2)));
    assert!(!is_free(Reserve { all: Lanes::new(0, 3) }));
}
