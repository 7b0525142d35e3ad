//! Routes over another switch, on any graph: along shortest paths to the switch of a host that is drawn at random, then along
//! shortest paths to the destination (Valiant 1982); or minimally, if less is ahead (UGAL-L: Singh 2005). Lanes are those of the
//! [`HopLadder`].

use fabricsim_model::{Hop, Packet, RouteState};
use fabricsim_topology::Graph;
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{Exit, HopLadder, LinkRole};
use crate::route_lengths::{lengths, longest};
use crate::{At, ForwardingTables, PortRouting, View};

/// The packet goes to the switch of host [`RouteState::via`] first.
const DETOUR: u8 = 1;
/// It has decided.
const DECIDED: u8 = 2;

/// Policy of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndirectPolicy {
    /// Over the switch of a host drawn at random.
    Valiant,
    /// Minimal, unless q_min H_min > q_val H_val + T.
    UgalLocal {
        /// T, in flow-control units.
        threshold: u32,
    },
}

/// Indirect routing on any graph.
#[derive(Clone, Debug)]
pub struct Indirect {
    tables: ForwardingTables,
    /// Links between switches by switch and destination.
    lengths: Vec<u16>,
    /// Links of the longest shortest path.
    diameter: u8,
    /// By host: its switch and the port there.
    hosts: Vec<(SwitchId, PortNo)>,
    /// Ports between switches of each switch.
    between: Vec<Vec<PortNo>>,
    policy: IndirectPolicy,
    /// Weights in place of H_min and H_val, if they are given.
    weights: Option<[u32; 2]>,
    lanes: HopLadder,
}

impl Indirect {
    /// Routing along `tables` of shortest paths with `lanes` virtual lanes; the lanes that are needed, if there are fewer.
    pub fn new(
        graph: &Graph,
        tables: ForwardingTables,
        policy: IndirectPolicy,
        lanes: u8,
    ) -> Result<Self, u32> {
        let lengths = lengths(&tables, graph);
        let diameter = longest(&lengths, graph);
        let lanes = HopLadder::new(graph, 2 * diameter, lanes)?;
        let hosts: Vec<(SwitchId, PortNo)> =
            graph.hosts.iter().map(|host| (host.switch, host.port)).collect();
        let mut between: Vec<Vec<PortNo>> = (graph.switches.iter())
            .map(|switch| (0..switch.ports.len() as u16).map(PortNo).collect())
            .collect();
        for (switch, port) in &hosts {
            between[switch.index()].retain(|other| other != port);
        }
        Ok(Self { tables, lengths, diameter: diameter as u8, hosts, between, policy, weights: None, lanes })
    }

    /// Weighs what is ahead of a minimal route and of a detour by these in place of the links of the routes.
    #[must_use]
    pub fn with_weights(self, weights: Option<[u32; 2]>) -> Self {
        Self { weights, ..self }
    }

    fn length(&self, at: SwitchId, to: HostId) -> u64 {
        self.lengths[at.index() * self.hosts.len() + to.index()].into()
    }

    /// The port along the shortest path.
    fn port(&self, at: SwitchId, to: HostId) -> PortNo {
        self.tables.port(at, to).unwrap_or(PortNo(0))
    }

    /// Decides where the packet goes first, where it is injected.
    fn decide<V: View>(&self, at: SwitchId, to: HostId, state: RouteState, view: &mut V) -> RouteState {
        let via = HostId(view.below(self.hosts.len() as u32));
        let over = self.hosts[via.index()].0;
        if over == at || over == self.hosts[to.index()].0 {
            return state;
        }
        if let IndirectPolicy::UgalLocal { threshold } = self.policy {
            let detour = self.length(at, via) + self.length(over, to);
            let links = [self.length(at, to), detour];
            let [minimal, detour] = self.weights.map_or(links, |weights| weights.map(u64::from));
            let mut ahead = |goal| u64::from(view.load(self.port(at, goal), self.lanes.after(state.place)));
            let (least, other) = (ahead(to) * minimal, ahead(via) * detour);
            if least <= other + u64::from(threshold) {
                return state;
            }
        }
        state.with(DETOUR).with_via(via.0)
    }
}

/// The exit by `port` to another switch.
const fn between(port: PortNo) -> Exit {
    Exit { port, role: LinkRole::Between }
}

impl PortRouting for Indirect {
    type Lanes = HopLadder;

    #[inline]
    fn lanes(&self) -> &HopLadder {
        &self.lanes
    }

    /// The minimal exit.
    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        each(Exit { port: self.port(at.switch, to), role: LinkRole::Either });
    }

    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, view: &mut V) -> Option<Hop> {
        let to = packet.destination;
        let (target, port) = self.hosts[to.index()];
        if target == at.switch {
            return Some(self.last_hop(port));
        }
        if !state.has(DECIDED) {
            *state = self.decide(at.switch, to, *state, view).with(DECIDED);
        } else if state.has(DETOUR) && self.hosts[state.via() as usize].0 == at.switch {
            *state = state.without(DETOUR).with_via(0);
        }
        let goal = if state.has(DETOUR) { HostId(state.via()) } else { to };
        Some(self.take(at, between(self.port(at.switch, goal)), state))
    }

    /// More than packets do, so that it need not be known where they go first: in every switch within a diameter of where it was
    /// injected, a packet may take any link, whether or not its detour goes on after that.
    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        let (target, port) = self.hosts[to.index()];
        if target == at.switch {
            return each(Exit { port, role: LinkRole::ToHost }, state);
        }
        let may_turn = (!state.has(DECIDED) || state.has(DETOUR)) && state.place < self.diameter;
        let state = state.with(DECIDED);
        each(between(self.port(at.switch, to)), state.without(DETOUR));
        if may_turn {
            let ports = self.between[at.switch.index()].iter();
            ports.for_each(|&port| each(between(port), state.with(DETOUR)));
        }
    }

    fn is_adaptive(&self) -> bool {
        matches!(self.policy, IndirectPolicy::UgalLocal { .. })
    }

    fn takes_detours(&self) -> bool {
        true
    }

    fn keeps_state(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::{Lanes, Random};
    use fabricsim_units::Vl;

    use super::*;
    use crate::deadlock::{Verdict, check, check_among};
    use crate::lanes::AllLanes;
    use crate::samples::{distances, graph, hosts, try_router};
    use crate::testing::{Recorded, network, packet, route};
    use crate::{Router, RoutingFunction, TableRouting, path, shortest_paths};

    /// Diameter 2, 3, 3 and, of a graph with coordinates that are not used, 1.
    const TOPOLOGIES: [(&str, u8); 4] = [
        ("slim-fly = { q = 3, hosts_per_switch = 2 }", 2),
        ("jellyfish = { switches = 14, degree = 3, hosts_per_switch = 2 }", 3),
        ("xpander = { degree = 3, lift = 3 }", 3),
        ("xpander = { degree = 4, lift = 1 }", 1),
    ];

    /// All decisions are free of deadlock, everybody arrives, and the n-th link is on the n-th lane.
    #[test]
    fn packets_arrive_and_climb_the_lanes() {
        for (topology, diameter) in TOPOLOGIES {
            for (algorithm, lanes) in
                [("minimal", diameter), ("valiant", 2 * diameter), ("ugal-l", 2 * diameter)]
            {
                let (graph, router) = network(topology, &format!("algorithm = \"{algorithm}\""), lanes);
                let verdict = check(&router, &graph);
                assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {algorithm}: {verdict:?}");
                let mut detours = 0;
                for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
                    let minimal = path(&router, &graph, from, to);
                    let least = distances(&graph, graph.hosts[to.index()].switch)
                        [graph.hosts[from.index()].switch.index()];
                    assert_eq!(minimal.len(), least + 1, "{topology} {algorithm}");
                    for (n, (_, hop)) in minimal[..least].iter().enumerate() {
                        assert_eq!(hop.lanes, Lanes::new(n as u8, 1), "{topology} {algorithm}");
                    }
                    if algorithm == "minimal" {
                        continue;
                    }
                    let links = route(&graph, &router, (from, to), u64::from(from.0 * 31 + to.0));
                    assert!(
                        links.len() >= least && links.len() <= 2 * usize::from(diameter),
                        "{topology}: {links:?}"
                    );
                    assert!(links.iter().enumerate().all(|(n, (_, lane))| lane.index() == n), "{links:?}");
                    detours += usize::from(links.len() > least);
                }
                assert_eq!(detours > 0, algorithm != "minimal", "{topology} {algorithm}");
                let error = try_router(&graph, topology, &format!("algorithm = \"{algorithm}\""), lanes - 1);
                if lanes > 1 {
                    let error = error.unwrap_err().to_string();
                    assert!(error.contains(&format!("`{algorithm}` needs {lanes} virtual lanes")), "{error}");
                }
            }
        }
    }

    /// The control of the ladder: the same routes on one lane can deadlock.
    #[test]
    fn shortest_paths_on_one_lane_can_deadlock() {
        for (topology, _) in &TOPOLOGIES[..3] {
            let graph = graph(topology);
            let tables = shortest_paths(&graph, &[], "e.toml").unwrap();
            let one = Router::from(TableRouting::new(tables, AllLanes::new(1)));
            assert!(matches!(check(&one, &graph), Verdict::Cyclic { .. }), "{topology}");
        }
    }

    /// The options that the deadlock check reads cover every choice of a packet, link by link, the end of a detour included.
    #[test]
    fn options_cover_every_choice() {
        for (topology, diameter) in TOPOLOGIES {
            for algorithm in ["valiant", "ugal-l"] {
                let (graph, router) =
                    network(topology, &format!("algorithm = \"{algorithm}\""), 2 * diameter);
                let Router::Indirect(router) = router else { panic!("not indirect") };
                for (seed, from) in (0..20).flat_map(|seed| hosts(&graph).map(move |from| (seed, from))) {
                    for to in hosts(&graph) {
                        covered(&graph, &router, (from, to), seed);
                    }
                }
                let lanes = 2 * diameter;
                let all: Vec<HostId> = hosts(&graph).collect();
                assert!(matches!(check_among(&router, lanes, &graph, &[all]), Verdict::Free { .. }));
            }
        }
    }

    fn covered(graph: &Graph, router: &Indirect, (from, to): (HostId, HostId), seed: u64) {
        let mut view = Recorded { random: Random::new(seed, from.0.into(), to.0.into()), asked: Vec::new() };
        let host = &graph.hosts[from.index()];
        let mut at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
        let (mut state, mut known) = (RouteState::default(), vec![RouteState::default()]);
        loop {
            let mut options = Vec::new();
            for &known in &known {
                router.options(at, to, known, &mut options);
            }
            let hop = RoutingFunction::choose(router, at, &packet(from, to), &mut state, &mut view).unwrap();
            known = options.iter().filter(|(option, _)| *option == hop).map(|&(_, state)| state).collect();
            assert!(!known.is_empty(), "{hop:?} is not among {options:?}");
            let end = crate::wiring::beyond(graph, at.switch, hop.port).unwrap();
            let fabricsim_topology::Node::Switch(switch) = end.node else { return };
            at = At { switch, in_port: end.port, lane: hop.lanes.first };
        }
    }

    /// With nothing ahead UGAL-L goes minimally; with the minimal port full it goes over another switch.
    #[test]
    fn ugal_compares_what_is_ahead() {
        let (graph, router) = network(TOPOLOGIES[0].0, "algorithm = \"ugal-l\"\nthreshold = 0", 4);
        let Router::Indirect(router) = router else { panic!("not indirect") };
        let (mut minimal, mut detours) = (0, 0);
        for (seed, to) in (0..50).flat_map(|seed| hosts(&graph).map(move |to| (seed, to))) {
            let (from, host) = (HostId(0), &graph.hosts[0]);
            let mut view = Recorded { random: Random::new(seed, 1, to.0.into()), asked: Vec::new() };
            let mut state = RouteState::default();
            let at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
            RoutingFunction::choose(&router, at, &packet(from, to), &mut state, &mut view).unwrap();
            let [(least, least_ahead), (other, other_ahead)] = view.asked[..] else { continue };
            let links = |port: PortNo, to: HostId| (port, router.length(host.switch, to));
            let (least, links_min) = links(least, to);
            assert_eq!(least, router.port(host.switch, to));
            if state.has(DETOUR) {
                let via = HostId(state.via());
                let links_val =
                    router.length(host.switch, via) + router.length(graph.hosts[via.index()].switch, to);
                assert!(u64::from(least_ahead) * links_min > u64::from(other_ahead) * links_val);
                assert_eq!(other, router.port(host.switch, via));
                detours += 1;
            } else {
                assert!(least_ahead == 0 || u64::from(least_ahead) * links_min <= u64::from(other_ahead) * 4);
                minimal += 1;
            }
        }
        assert!(minimal > 100 && detours > 100, "{minimal} {detours}");
    }

    #[test]
    fn keys_of_other_networks_are_refused() {
        let topology = TOPOLOGIES[0].0;
        let graph = graph(topology);
        for (routing, expected) in [
            ("algorithm = \"valiant\"\nvia = \"router\"", "routing.via: only on a dragonfly"),
            ("algorithm = \"par\"", "`par` needs a dragonfly; this topology is: Slim Fly"),
            ("algorithm = \"dal\"", "`dal` needs a HyperX"),
            ("algorithm = \"up-down\"", "`minimal` fits (and is what `auto` chooses)"),
            (
                "lane_policy = \"all\"",
                "routing.lane_policy: \"all\" does not fit `minimal` on this topology: use \"hops\"",
            ),
        ] {
            let error = try_router(&graph, topology, routing, 4).unwrap_err().to_string();
            assert!(error.contains(expected), "{routing}: {error}");
        }
        let ring = "ring = { switches = 5 }";
        let few = try_router(
            &crate::samples::graph(ring),
            ring,
            "algorithm = \"shortest-path\"\nlane_policy = \"hops\"",
            1,
        );
        let few = few.unwrap_err().to_string();
        assert!(few.contains("routing.lane_policy: \"hops\" needs 2 virtual lanes"), "{few}");
    }
}
