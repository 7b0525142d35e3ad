use fabricsim_model::Lanes;
use fabricsim_units::{PortNo, SwitchId, Time};

/// View that a routing function has of a switch when it chooses a packet's hop.
pub trait View {
    /// Flow-control units that wait in this switch for `port`, which leads to a switch, and those that are in use, as far as this
    /// switch knows, of the buffers at the other end of its link: of all lanes of the packet's service class. What is in
    /// flight there, and credits that return, count as in use: nothing is taken off for the round trip.
    ///
    /// `lanes` are those that the packet may take at that port. With `routing.load = "credits-of-lane"` the load is what is in use of
    /// the buffers of these lanes alone; otherwise they are not read.
    fn load(&mut self, port: PortNo, lanes: Lanes) -> u32;

    /// True if [`View::load`] is more than `limit`.
    fn exceeds(&mut self, port: PortNo, lanes: Lanes, limit: u32) -> bool {
        self.load(port, lanes) > limit
    }

    /// Flow-control units of the buffers at the other end of the link of `port`, for `lanes`.
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32;

    /// Load that was ahead some time ago at the output of this number in [`BroadcastOutputs::outputs`].
    fn broadcast_load(&self, number: u32) -> u32;

    /// A number from 0 to `n - 1`, drawn for this packet at this switch. `n` is 1 or more.
    fn below(&mut self, n: u32) -> u32;
}

/// Outputs whose loads other switches can see, some time later.
#[derive(Clone, Debug)]
pub struct BroadcastOutputs {
    /// Delay: not zero, and no less than the latency of any link between a switch that looks and one that it looks at.
    pub delay: Time,
    /// The outputs, by number.
    pub outputs: Vec<(SwitchId, PortNo)>,
}

#[cfg(test)]
mod tests {
    use fabricsim_model::{Random, RouteState};
    use fabricsim_topology::{Graph, Node};
    use fabricsim_units::{HostId, Vl};

    use super::*;
    use crate::samples::hosts;
    use crate::testing::{LanesAsked, network, packet};
    use crate::wiring::beyond;
    use crate::{At, Router, RoutingFunction};

    const FLY: &str = "dragonfly = { p = 1, a = 4, h = 2 }";

    /// Lanes are wide enough for two to each slot of a route.
    const NETWORKS: [(&str, &str, u8); 8] = [
        (FLY, "algorithm = \"ugal-l\"", 6),
        (FLY, "algorithm = \"ugal-l\"\nvia = \"router\"", 8),
        (FLY, "algorithm = \"par\"", 8),
        (FLY, "algorithm = \"par\"\nvia = \"router\"", 10),
        (FLY, "algorithm = \"par-6/2\"\nthreshold = 0", 12),
        ("megafly = { p = 1, leaves = 2, spines = 2, h = 1 }", "algorithm = \"ugal-l\"", 4),
        ("hyperx = { dimensions = [3, 4] }", "algorithm = \"dal\"", 8),
        ("slim-fly = { q = 3, hosts_per_switch = 1 }", "algorithm = \"ugal-l\"", 8),
    ];

    /// Requests whose lanes are those of a hop that the packet may take, hop by hop.
    #[derive(Default)]
    struct Count {
        loads: u32,
        capacities: u32,
        /// Loads read after the first hop.
        later: u32,
    }

    fn follow(graph: &Graph, router: &Router, ends: (HostId, HostId), seed: u64, count: &mut Count) {
        let host = &graph.hosts[ends.0.index()];
        let mut at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
        let (mut state, mut view) = (RouteState::default(), LanesAsked::new(Random::new(seed, 1, 2)));
        loop {
            let mut options = Vec::new();
            router.options(at, ends.1, state, &mut options);
            let hop = router.choose(at, &packet(ends.0, ends.1), &mut state, &mut view).unwrap();
            let asked = view.get_mut();
            let taken = |&(port, lanes): &(PortNo, Lanes)| {
                let hop = options.iter().find(|(hop, _)| hop.port == port);
                hop.is_some_and(|(hop, _)| {
                    assert_eq!(lanes, hop.lanes, "port {port:?} at {at:?}");
                    true
                })
            };
            let loads = asked.loads.drain(..).filter(taken).count() as u32;
            count.loads += loads;
            count.capacities += asked.capacities.drain(..).filter(taken).count() as u32;
            let Node::Switch(switch) = beyond(graph, at.switch, hop.port).unwrap().node else { return };
            count.later += if at.switch == host.switch { 0 } else { loads };
            at = At {
                switch,
                in_port: beyond(graph, at.switch, hop.port).unwrap().port,
                lane: hop.lanes.first,
            };
        }
    }

    /// The load that is read of a port is that of the lanes that the packet takes there, and so is the capacity of PAR-6/2.
    #[test]
    fn load_is_read_of_the_lanes_that_the_packet_takes() {
        for (topology, routing, lanes) in NETWORKS {
            let (graph, router) = network(topology, &format!("{routing}\nload = \"credits-of-lane\""), lanes);
            let mut count = Count::default();
            for seed in 0..20 {
                for ends in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
                    follow(&graph, &router, ends, seed, &mut count);
                }
            }
            assert!(count.loads > 100, "{routing}");
            assert_eq!(count.capacities > 100, routing.contains("6/2"), "{routing}");
            let decides_again = ["par", "dal"].iter().any(|name| routing.contains(name));
            assert_eq!(count.later > 100, decides_again, "{routing}");
        }
    }

    /// With the other values the capacity is that of all lanes.
    #[test]
    fn capacity_is_of_all_lanes_where_the_load_is() {
        for load in ["waiting-and-credits", "credits"] {
            let routing = format!("algorithm = \"par-6/2\"\nload = \"{load}\"\nthreshold = 0");
            let (graph, router) = network(FLY, &routing, 12);
            let host = &graph.hosts[0];
            let at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
            for to in hosts(&graph).skip(1) {
                let mut view = LanesAsked::new(Random::new(3, 1, u64::from(to.0)));
                router.choose(at, &packet(HostId(0), to), &mut RouteState::default(), &mut view).unwrap();
                // 6 slots of local and 2 of global links; one host, then three local ports.
                for (port, lanes) in view.into_inner().capacities {
                    let all = if port.0 < 4 { 12 } else { 4 };
                    assert_eq!(lanes, Lanes::new(0, all), "{load} {port:?}");
                }
            }
        }
    }
}
