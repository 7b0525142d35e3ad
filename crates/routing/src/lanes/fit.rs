//! Combinations of algorithms and lane policies (`routing.lane_policy`).

use fabricsim_spec::{Algorithm, Experiment, LanePolicy as Name, SpecError, name};
use fabricsim_topology::{Graph, Shape};

use super::{AllLanes, AnyPolicy, Dateline, HopLadder};
use crate::service_levels::of_traffic;

const KEY: &str = "routing.lane_policy";

/// The policies that an algorithm can be combined with on this graph, the default first; none if the algorithm does not fit the
/// graph.
fn fitting(algorithm: Algorithm, graph: &Graph) -> &'static [Name] {
    match (&graph.shape, algorithm) {
        (Shape::Grid(_), Algorithm::DimensionOrder) => &[Name::Dateline, Name::All, Name::Hops],
        (Shape::Grid(_), Algorithm::LookUpTables) => &[Name::Dateline, Name::All],
        (Shape::Tree(_), Algorithm::UpDown | Algorithm::UpDownAdaptive | Algorithm::UpDownRandom)
        | (_, Algorithm::ShortestPath | Algorithm::Table) => &[Name::All, Name::Hops],
        (_, Algorithm::Opensm) => &[Name::Layers],
        (
            Shape::Dragonfly(_),
            Algorithm::Minimal
            | Algorithm::Valiant
            | Algorithm::UgalL
            | Algorithm::UgalG
            | Algorithm::Piggyback
            | Algorithm::Par
            | Algorithm::Par62,
        ) => &[Name::Slots],
        (Shape::Megafly(_), Algorithm::Minimal | Algorithm::Valiant | Algorithm::UgalL)
        | (Shape::HyperX(_), Algorithm::Minimal | Algorithm::Valiant) => &[Name::Legs],
        (Shape::Direct | Shape::Irregular, Algorithm::Minimal | Algorithm::Valiant | Algorithm::UgalL)
        | (Shape::HyperX(_), Algorithm::Dal) => &[Name::Hops],
        _ => &[],
    }
}

/// Refuses a lane policy that the algorithm cannot be combined with.
pub(crate) fn refuse_unfit(
    given: Option<Name>,
    algorithm: Algorithm,
    graph: &Graph,
    file: &str,
) -> Result<(), SpecError> {
    let fitting = fitting(algorithm, graph);
    let Some(given) = given.filter(|given| !fitting.is_empty() && !fitting.contains(given)) else {
        return Ok(());
    };
    let allowed: Vec<String> = fitting.iter().map(|policy| format!("\"{}\"", name(policy))).collect();
    let allowed = match allowed.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        all => all.join(""),
    };
    let algorithm = name(&algorithm);
    let message = format!("\"{}\" does not fit `{algorithm}` on this topology: use {allowed}", name(&given));
    Err(SpecError::at_key(file, KEY, message))
}

/// The lane policy for an algorithm that works with several: the given one, or the default. `longest` returns the number of links between
/// switches of the longest route.
pub(crate) fn chosen(
    experiment: &Experiment,
    algorithm: Algorithm,
    graph: &Graph,
    longest: impl FnOnce() -> u32,
    file: &str,
) -> Result<AnyPolicy, SpecError> {
    if let Some(policy) = of_traffic(experiment, graph, file)? {
        return Ok(policy);
    }
    let lanes = experiment.switch.lanes_per_class();
    let default = fitting(algorithm, graph).first().copied();
    Ok(match experiment.routing.lane_policy.or(default) {
        Some(Name::Dateline) => Dateline::new(lanes).into(),
        Some(Name::Hops) => HopLadder::new(graph, longest(), lanes)
            .map_err(|needed| too_few_for_hops(needed, lanes, file))?
            .into(),
        Some(Name::All | Name::Legs | Name::Slots | Name::Layers | Name::ServiceLevels) | None => {
            AllLanes::new(lanes).into()
        }
    })
}

fn too_few_for_hops(needed: u32, lanes: u8, file: &str) -> SpecError {
    let message = format!(
        "\"hops\" needs {needed} virtual lanes in each service class, the links of the longest route, and there are {lanes}"
    );
    SpecError::at_key(file, KEY, message)
}

#[cfg(test)]
mod tests {
    use crate::deadlock::{Verdict, check};
    use crate::samples::{graph, network, try_router};

    #[test]
    fn policies_that_do_not_fit_are_refused_with_those_that_do() {
        for (topology, routing, expected) in [
            (
                "torus = { dimensions = [4, 4] }",
                "lane_policy = \"slots\"",
                "routing.lane_policy: \"slots\" does not fit `dimension-order` on this topology: use \"dateline\", \"all\" or \"hops\"",
            ),
            (
                "dragonfly = { p = 1, a = 2, h = 1 }",
                "algorithm = \"par\"\nlane_policy = \"hops\"",
                "routing.lane_policy: \"hops\" does not fit `par` on this topology: use \"slots\"",
            ),
            (
                "hyperx = { dimensions = [3, 3] }",
                "algorithm = \"valiant\"\nlane_policy = \"hops\"",
                "\"hops\" does not fit `valiant` on this topology: use \"legs\"",
            ),
            (
                "fat-tree = { arity = 2, levels = 3 }",
                "lane_policy = \"dateline\"",
                "\"dateline\" does not fit `up-down` on this topology: use \"all\" or \"hops\"",
            ),
            (
                "fat-tree = { arity = 2, levels = 3 }",
                "lane_policy = \"hops\"",
                "\"hops\" needs 4 virtual lanes",
            ),
            ("torus = { dimensions = [4, 5] }", "lane_policy = \"hops\"", "\"hops\" needs 4 virtual lanes"),
            ("mesh = { dimensions = [3, 4] }", "lane_policy = \"hops\"", "\"hops\" needs 5 virtual lanes"),
        ] {
            let error = try_router(&graph(topology), topology, routing, 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nshould have\n{expected}");
        }
    }

    /// On a torus the ports of dimension order are free of deadlock with two classes, or with a lane for each hop, but not on all lanes.
    #[test]
    fn the_deadlock_check_reads_the_policy() {
        let torus = "torus = { dimensions = [5, 4] }";
        for (policy, lanes, free) in [
            ("all", 4, false),
            ("dateline", 2, true),
            ("dateline", 1, false),
            ("hops", 4, true),
            ("hops", 9, true),
        ] {
            for more in ["", "\nties = \"random\""] {
                let (graph, router) = network(torus, &format!("lane_policy = \"{policy}\"{more}"), lanes);
                let verdict = check(&router, &graph);
                assert_eq!(matches!(verdict, Verdict::Free { .. }), free, "{policy} {lanes}: {verdict:?}");
                assert_eq!(router.lanes_needed().is_some(), policy == "hops");
            }
        }
        let tables = "algorithm = \"look-up-tables\"\nlane_policy = \"all\"";
        let (graph, router) = network(torus, tables, 2);
        assert!(matches!(check(&router, &graph), Verdict::Cyclic { .. }));
        for upwards in ["up-down", "up-down-adaptive", "up-down-random"] {
            let routing = format!("algorithm = \"{upwards}\"\nlane_policy = \"hops\"");
            let (graph, router) = network("fat-tree = { arity = 2, levels = 3 }", &routing, 4);
            assert!(matches!(check(&router, &graph), Verdict::Free { .. }), "{upwards}");
            assert_eq!(router.lanes_needed(), Some((4, "any:0 any:1 any:2 any:3".to_owned())));
        }
    }

    #[test]
    fn defaults_can_be_stated() {
        for (topology, routing) in [
            ("torus = { dimensions = [4] }", "lane_policy = \"dateline\""),
            ("dragonfly = { p = 1, a = 2, h = 1 }", "lane_policy = \"slots\""),
            ("megafly = { p = 1, leaves = 2, spines = 2, h = 1 }", "lane_policy = \"legs\""),
            ("hyperx = { dimensions = [3, 3] }", "algorithm = \"dal\"\nlane_policy = \"hops\""),
            ("slim-fly = { q = 3, hosts_per_switch = 1 }", "lane_policy = \"hops\""),
        ] {
            let graph = graph(topology);
            let (stated, lines) = (format!("{routing}\n"), routing.lines().count());
            let default: String = stated.lines().take(lines - 1).collect();
            let [stated, default] = [&stated, &default]
                .map(|routing| try_router(&graph, topology, routing, 6).unwrap().lanes_needed());
            assert_eq!(stated, default, "{topology}");
        }
    }
}
