//! Lane policies of experiments with SL2VL tables: those of `switch.sl2vl`, of a file, or of an engine.

use fabricsim_spec::{Algorithm, Experiment, SpecError, name};
use fabricsim_subnet::{PathSls, Sl2Vl};
use fabricsim_topology::{Graph, Identity};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{
    AllLanes, AnyPolicy, Destination, LEVELS, LanesOfLevels, Layers, ServiceLevels, Sl2VlTables,
};
use crate::lids::Paths;

/// A level without a lane.
const NONE: u8 = u8::MAX;

/// The tables of a subnet, by the graph's numbers.
struct OfSubnet<'a> {
    tables: &'a Sl2Vl,
    identity: &'a Identity,
}

impl Sl2VlTables for OfSubnet<'_> {
    fn uniform(&self) -> Option<LanesOfLevels> {
        let node = *self.identity.switches.first()?;
        let lane = |level| self.tables.lane(node, 0, 0, level as u8);
        self.tables.is_uniform().then(|| std::array::from_fn(lane))
    }

    fn of_host(&self, host: HostId) -> LanesOfLevels {
        let own = self.identity.hosts[host.index()];
        std::array::from_fn(|level| self.tables.lane(own.node, 0, own.port, level as u8))
    }

    fn of_switch(&self, switch: SwitchId, input: PortNo, output: PortNo) -> LanesOfLevels {
        let node = self.identity.switches[switch.index()];
        let [input, output] = [input, output].map(|port| self.identity.number(switch, port));
        std::array::from_fn(|level| self.tables.lane(node, input, output, level as u8))
    }
}

/// The lanes of `switch.sl2vl`. Other levels have none.
fn given(experiment: &Experiment) -> Option<LanesOfLevels> {
    let lanes = experiment.switch.sl2vl.as_ref()?;
    Some(std::array::from_fn(|level| lanes.get(level).copied().unwrap_or(NONE)))
}

/// The policy of `switch.sl2vl` for traffic of several levels; none without that key.
pub(crate) fn of_traffic(
    experiment: &Experiment,
    graph: &Graph,
    file: &str,
) -> Result<Option<AnyPolicy>, SpecError> {
    given(experiment).map(|lanes| by_level(experiment, graph, None, &lanes, file)).transpose()
}

/// The policy of paths with service levels `levels`, or without, by SL2VL tables, if there are any. Without tables, a path is on the
/// lane of its level modulo the number of lanes.
pub(crate) fn of_subnet(
    experiment: &Experiment,
    graph: &Graph,
    identity: &Identity,
    (levels, tables): (Option<&PathSls>, Option<&Sl2Vl>),
    file: &str,
) -> Result<AnyPolicy, SpecError> {
    let hosts = (identity.hosts.len(), Paths::of(experiment).used);
    let level = |levels: &PathSls, from, to: Destination| {
        levels.level(identity.lid(from), identity.lid(to.host) + u16::from(to.path))
    };
    let paths = || levels.map(|levels| Layers::new(hosts, LEVELS as u8, |from, to| level(levels, from, to)));
    if let Some(tables) = tables {
        return by_level(experiment, graph, paths(), &OfSubnet { tables, identity }, file);
    }
    if let Some(lanes) = given(experiment) {
        return by_level(experiment, graph, paths(), &lanes, file);
    }
    let lanes = experiment.switch.lanes_per_class();
    Ok(match levels {
        Some(levels) => Layers::new(hosts, lanes, |from, to| level(levels, from, to)).into(),
        None => AllLanes::new(lanes).into(),
    })
}

fn by_level(
    experiment: &Experiment,
    graph: &Graph,
    paths: Option<Layers>,
    tables: &impl Sl2VlTables,
    file: &str,
) -> Result<AnyPolicy, SpecError> {
    let lanes = experiment.switch.virtual_lanes;
    let levels = experiment.service_levels().unwrap_or(1);
    match ServiceLevels::new(graph, tables, (lanes, levels), paths) {
        Ok(policy) if experiment.subnet_manager.is_some() => Ok(policy.expanded(graph).into()),
        Ok(policy) => Ok(policy.into()),
        Err(NONE) => {
            let message = "the engine's paths have more service levels than this key has lanes";
            Err(SpecError::at_key(file, "switch.sl2vl", message))
        }
        Err(lane) => {
            let message =
                format!("a service level in use has lane {lane}, and links have {lanes} virtual lanes");
            Err(SpecError::at_key(file, "switch.virtual_lanes", message))
        }
    }
}

/// Refuses SL2VL tables for routing without forwarding tables.
pub(crate) fn refuse(experiment: &Experiment, algorithm: Algorithm, file: &str) -> Result<(), SpecError> {
    let has_tables = matches!(algorithm, Algorithm::ShortestPath | Algorithm::Table | Algorithm::Opensm);
    if has_tables || experiment.switch.sl2vl.is_none() {
        return Ok(());
    }
    let message = format!(
        "only with forwarding tables: set `routing.algorithm` to \"shortest-path\", \"table\" or \"opensm\", not `{}`",
        name(&algorithm)
    );
    Err(SpecError::at_key(file, "switch.sl2vl", message))
}

#[cfg(test)]
mod tests {
    use fabricsim_units::HostId;

    use crate::deadlock::{Verdict, check};
    use crate::samples::{graph, hosts, network, try_router};
    use crate::{Router, RoutingFunction};

    const TORUS_2QOS: &str = "algorithm = \"opensm\"\nengine = \"torus-2QoS\"";
    const TORI: [&str; 5] = [
        "torus = { dimensions = [5, 5] }",
        "torus = { dimensions = [4, 6], hosts_per_switch = 3 }",
        "torus = { dimensions = [4, 3, 5] }",
        "mesh = { dimensions = [4, 3] }",
        "grid = { dimensions = [4, 5], wrap = [false, true] }",
    ];

    /// By the check of the simulator, which follows every packet with its service level; without the levels the same tables deadlock.
    #[test]
    fn torus_2qos_is_free_of_deadlock_by_its_levels() {
        for topology in TORI {
            let (graph, router) = network(topology, TORUS_2QOS, 2);
            let verdict = check(&router, &graph);
            assert!(matches!(verdict, Verdict::Free { .. }), "{topology}: {verdict:?}");
            assert!(router.keeps_state() && router.has_levels_of_paths());
            let Router::TableRouting(mut tables) = router else { panic!("tables") };
            tables.set_lanes(crate::lanes::AllLanes::new(2).into());
            let without: Router = tables.into();
            assert!(!without.has_levels_of_paths(), "packets have the level of their traffic");
            let is_free = matches!(check(&without, &graph), Verdict::Free { .. });
            assert_eq!(is_free, topology.starts_with("mesh"), "{topology}");
        }
    }

    /// The levels of paths that a subnet manager sets are those of packets, and choose their lane: modulo the lanes without SL2VL tables.
    #[test]
    fn levels_of_paths_can_be_set() {
        let (graph, mut router) =
            network("mesh = { dimensions = [3, 2] }", "algorithm = \"shortest-path\"", 2);
        let level = |from: HostId, to: HostId| ((from.0 + 2 * to.0) % 5) as u8;
        assert!(!router.has_levels_of_paths());
        router.set_levels(graph.hosts.len(), 2, |from, to| level(from, to.host));
        assert!(router.has_levels_of_paths());
        for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
            assert_eq!(router.service_level(from, to.into(), 0), level(from, to));
            let lanes = router.injection_lanes(from, to.into(), 0);
            assert_eq!((lanes.first.0, lanes.count), (level(from, to) % 2, 1));
        }
    }

    #[test]
    fn what_service_levels_do_not_fit_is_refused() {
        let torus = "torus = { dimensions = [4, 4] }";
        for (routing, lanes, expected) in [
            (TORUS_2QOS, 1, "torus-2QoS"),
            (
                "algorithm = \"opensm\"\nengine = \"torus-2QoS\"\nlane_policy = \"layers\"",
                2,
                "does not fit SL2VL tables",
            ),
            ("lane_policy = \"service-levels\"", 2, "does not fit `dimension-order`"),
            ("sl2vl = \"x\"", 2, "routing.sl2vl: only for `table`"),
        ] {
            let error = try_router(&graph(torus), torus, routing, lanes).unwrap_err().to_string();
            assert!(error.contains(expected), "{routing}: {error}");
        }
        let tree = "fat-tree = { arity = 2, levels = 2 }";
        let error = try_router(&graph(tree), tree, TORUS_2QOS, 2).unwrap_err().to_string();
        assert!(error.contains("torus-2QoS"), "{error}");
    }
}
