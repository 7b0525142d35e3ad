use std::io::Read;
use std::path::Path;

use fabricsim_spec::{Algorithm, Experiment, LanePolicy, Load, PathChoice, SpecError, Ties, name};
use fabricsim_topology::{Graph, GridShape, Shape, failed_links};

use crate::algorithm::{MOST_LANES, resolve, unsuitable};
use crate::lanes::{AnyPolicy, chosen, refuse_unfit};
use crate::lids::Paths;
use crate::look_up_tables::table_request;
use crate::route_lengths::{lengths, longest};
use crate::service_levels::refuse;
use crate::{
    DimensionOrder, ForwardingTables, LookUpTables, Router, RoutingError, TableRouting, TablesError,
    TablesProblem, UpDown, Upwards, shortest_paths,
};

/// Topologies that are grids.
const GRIDS: &str = "a mesh, torus, grid, hypercube, ring or chain";

/// The router that `experiment` asks for on `graph`. Relative paths start at `base_dir`; `file` is the experiment's
/// name for error messages.
pub fn build(
    experiment: &Experiment,
    graph: &Graph,
    base_dir: &Path,
    file: &str,
) -> Result<Router, RoutingError> {
    let routing = &experiment.routing;
    let lanes = experiment.switch.virtual_lanes;
    if lanes == 0 || lanes > MOST_LANES {
        let message = format!("{lanes} virtual lanes: there are 1 to {MOST_LANES}");
        return Err(SpecError::at_key(file, "switch.virtual_lanes", message).into());
    }
    let algorithm = resolve(routing.algorithm, graph);
    refuse_stray(experiment, algorithm, graph, file)?;
    let policy = |longest: &dyn Fn() -> u32| chosen(experiment, algorithm, graph, longest, file);
    Ok(match algorithm {
        Algorithm::DimensionOrder => match &graph.shape {
            Shape::Grid(shape) => {
                let lanes = policy(&|| diameter(shape))?;
                DimensionOrder::new(graph, shape, routing.order.as_deref(), lanes, file)?
                    .with_random_ties(routing.ties == Some(Ties::Random))
                    .into()
            }
            _ => return Err(unsuitable(file, algorithm, GRIDS, graph).into()),
        },
        Algorithm::LookUpTables => match &graph.shape {
            Shape::Grid(shape) => {
                let failed = failed_links(graph, &experiment.links, file)?;
                let request = table_request(experiment, &failed);
                LookUpTables::new(graph, shape, request, policy(&|| u32::MAX)?, file)?.into()
            }
            _ => return Err(unsuitable(file, algorithm, GRIDS, graph).into()),
        },
        Algorithm::UpDown | Algorithm::UpDownAdaptive | Algorithm::UpDownRandom => match &graph.shape {
            Shape::Tree(shape) => {
                let lanes = policy(&|| 2 * (shape.children.len() as u32 - 1))?;
                UpDown::new(graph, shape, upwards(algorithm), lanes).into()
            }
            _ => return Err(unsuitable(file, algorithm, "a fat tree", graph).into()),
        },
        Algorithm::Minimal
        | Algorithm::Valiant
        | Algorithm::UgalL
        | Algorithm::UgalG
        | Algorithm::Piggyback
        | Algorithm::Par
        | Algorithm::Par62
        | Algorithm::Dal => crate::direct::build(algorithm, experiment, graph, file)?,
        Algorithm::Table => {
            let tables = read_tables(experiment, graph, base_dir, file)?;
            let lanes = if routing.path_sls.is_some() || routing.sl2vl.is_some() {
                read_levels(experiment, graph, base_dir, file)?
            } else {
                policy(&|| longest(&lengths(&tables[0], graph), graph))?
            };
            TableRouting::with_paths(tables, lanes).into()
        }
        Algorithm::Opensm => crate::opensm::build(experiment, graph, file)?,
        Algorithm::ShortestPath | Algorithm::Auto => {
            let failed = failed_links(graph, &experiment.links, file)?;
            let tables = shortest_paths(graph, &failed, file)?;
            let lanes = policy(&|| longest(&lengths(&tables, graph), graph))?;
            TableRouting::new(tables, lanes).into()
        }
    })
}

/// Links of the longest minimal route on a grid.
fn diameter(shape: &GridShape) -> u32 {
    let longest = |(&radix, &wrap): (&u32, &bool)| if wrap { radix / 2 } else { radix - 1 };
    shape.dimensions.iter().zip(&shape.wrap).map(longest).sum()
}

/// Refuses keys that the algorithm has no use for.
fn refuse_stray(
    experiment: &Experiment,
    algorithm: Algorithm,
    graph: &Graph,
    file: &str,
) -> Result<(), SpecError> {
    use Algorithm::{
        Dal, DimensionOrder, LookUpTables, Opensm, Par, Par62, Piggyback, Table, UgalG, UgalL,
        UpDownAdaptive, Valiant,
    };
    let routing = &experiment.routing;
    let keys: [(&str, bool, &[Algorithm]); 18] = [
        ("routing.order", routing.order.is_some(), &[DimensionOrder, LookUpTables]),
        ("routing.ties", routing.ties.is_some(), &[DimensionOrder]),
        ("routing.partitions", routing.partitions.is_some(), &[LookUpTables]),
        ("routing.tables", routing.tables.is_some(), &[Table]),
        ("routing.path_sls", routing.path_sls.is_some(), &[Table]),
        ("routing.sl2vl", routing.sl2vl.is_some(), &[Table]),
        ("routing.lmc", routing.lmc > 0, &[Table, Opensm]),
        ("routing.paths", routing.paths != PathChoice::First, &[Table, Opensm]),
        ("routing.engine", routing.engine.is_some(), &[Opensm]),
        ("routing.roots", routing.roots.is_some(), &[Opensm]),
        ("routing.via", routing.via.is_some(), &[Valiant, UgalL, UgalG, Piggyback, Par]),
        ("routing.threshold", routing.threshold.is_some(), &[UgalL, UgalG, Piggyback, Par, Par62, Dal]),
        ("routing.weights", routing.weights.is_some(), &[UgalL, UgalG, Piggyback]),
        ("routing.choices", routing.choices.is_some(), &[UpDownAdaptive]),
        ("routing.state_delay", routing.state_delay.is_some(), &[UgalG, Piggyback]),
        ("routing.congested", routing.congested.is_some(), &[Piggyback]),
        ("routing.trigger", routing.trigger.is_some(), &[Par62]),
        ("routing.ratio", routing.ratio.is_some(), &[Par62]),
    ];
    for (key, is_given, users) in keys {
        if is_given && !users.contains(&algorithm) {
            let users: Vec<String> = users.iter().map(|&user| format!("`{}`", name(&user))).collect();
            let message = format!("only for {}, not for `{}`", listed(&users), name(&algorithm));
            return Err(SpecError::at_key(file, key, message));
        }
    }
    refuse_policy(experiment, algorithm, graph, file)?;
    refuse_load(routing.load, algorithm, file)?;
    if algorithm == Opensm && experiment.subnet_manager.is_some() && !experiment.links.failed.is_empty() {
        let message = "a subnet manager discovers all links at the start: give `faults.plan` with failures at a time instead";
        return Err(SpecError::at_key(file, "links.failed", message));
    }
    if !experiment.links.failed.is_empty() && !avoids_failed(algorithm, graph) {
        let message = format!(
            "`{}` does not go around failed links: set `routing.algorithm` to \"shortest-path\" with `lane_policy = \"hops\"`, to \
             \"opensm\", or on a mesh, torus, grid or hypercube to \"look-up-tables\"",
            name(&algorithm)
        );
        return Err(SpecError::at_key(file, "links.failed", message));
    }
    Ok(())
}

/// Refuses a lane policy that does not fit the algorithm. Paths with service levels have the lanes of these.
fn refuse_policy(
    experiment: &Experiment,
    algorithm: Algorithm,
    graph: &Graph,
    file: &str,
) -> Result<(), SpecError> {
    let given = experiment.routing.lane_policy;
    refuse(experiment, algorithm, file)?;
    let (fitting, key) = if experiment.service_levels().is_some() {
        (LanePolicy::ServiceLevels, "SL2VL tables")
    } else if experiment.routing.path_sls.is_some() {
        (LanePolicy::Layers, "`routing.path_sls`")
    } else {
        return refuse_unfit(given, algorithm, graph, file);
    };
    match given {
        Some(other) if other != fitting => {
            let message = format!("\"{}\" does not fit {key}: use \"{}\"", name(&other), name(&fitting));
            Err(SpecError::at_key(file, "routing.lane_policy", message))
        }
        _ => Ok(()),
    }
}

/// Refuses the load of lanes alone for algorithms that do not read it: those that do not choose by load, those that read the loads
/// that others broadcast, which are of all lanes, and those on trees, where every lane is open to every packet.
fn refuse_load(load: Load, algorithm: Algorithm, file: &str) -> Result<(), SpecError> {
    use Algorithm::{Dal, Par, Par62, UgalL};
    let users = [UgalL, Par, Par62, Dal];
    if load != Load::CreditsOfLane || users.contains(&algorithm) {
        return Ok(());
    }
    let message = format!(
        "\"credits-of-lane\" is only for {}, not for `{}`: use \"waiting-and-credits\" or \"credits\"",
        listed(&users.map(|user| format!("`{}`", name(&user)))),
        name(&algorithm)
    );
    Err(SpecError::at_key(file, "routing.load", message))
}

/// True if the routing of `experiment` finds routes around failed links.
pub(crate) fn goes_around(experiment: &Experiment, graph: &Graph) -> bool {
    avoids_failed(resolve(experiment.routing.algorithm, graph), graph)
}

/// True if the algorithm avoids failed links on this graph, or does not fit it anyway.
fn avoids_failed(algorithm: Algorithm, graph: &Graph) -> bool {
    match algorithm {
        Algorithm::LookUpTables | Algorithm::ShortestPath | Algorithm::Opensm => true,
        Algorithm::Minimal | Algorithm::Valiant | Algorithm::UgalL => {
            !matches!(graph.shape, Shape::Dragonfly(_) | Shape::Megafly(_) | Shape::HyperX(_))
        }
        _ => false,
    }
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.join(""),
    }
}

const fn upwards(algorithm: Algorithm) -> Upwards {
    match algorithm {
        Algorithm::UpDownAdaptive => Upwards::Adaptive,
        Algorithm::UpDownRandom => Upwards::Random,
        _ => Upwards::Fixed,
    }
}

fn read_tables(
    experiment: &Experiment,
    graph: &Graph,
    base_dir: &Path,
    file: &str,
) -> Result<Vec<ForwardingTables>, RoutingError> {
    let Some(name) = &experiment.routing.tables else {
        let message = "routing by `table` needs the key `tables`: a file of forwarding tables (.fdbs)";
        return Err(SpecError::at_key(file, "routing", message).into());
    };
    let (bytes, name) = read_file(&base_dir.join(name), largest_file(graph) << experiment.lmc())?;
    if crate::linear_tables::is_linear(&bytes) {
        return crate::linear_tables::read(&bytes, &name, graph, Paths::of(experiment));
    }
    if experiment.lmc() > 0 {
        let message = "only for tables by LID, not for `.fdbs`";
        return Err(SpecError::at_key(file, "routing.lmc", message).into());
    }
    Ok(vec![crate::fdbs::read(&bytes, &name, graph)?])
}

/// The lanes of service levels in files: those of paths, and SL2VL tables.
fn read_levels(
    experiment: &Experiment,
    graph: &Graph,
    base_dir: &Path,
    file: &str,
) -> Result<AnyPolicy, RoutingError> {
    let routing = &experiment.routing;
    let read = |name: &Option<String>, most| {
        name.as_ref().map(|name| read_file(&base_dir.join(name), (1 << 20) + most)).transpose()
    };
    // A line for each pair of adapters, or of ports of a switch, of about 40 and 60 bytes at most.
    let levels = read(&routing.path_sls, 64 * (graph.hosts.len() as u64).pow(2))?;
    let pairs: u64 = graph.switches.iter().map(|switch| (switch.ports.len() as u64 + 1).pow(2)).sum();
    let tables = read(&routing.sl2vl, 128 * (pairs + graph.hosts.len() as u64))?;
    crate::linear_tables::read_levels((levels, tables), experiment, graph, file)
}

/// Bytes of a file of at most `most` bytes, and its name for messages.
fn read_file(path: &Path, most: u64) -> Result<(Vec<u8>, String), RoutingError> {
    let unreadable = |why: String| TablesError {
        file: path.display().to_string(),
        line: None,
        problem: Box::new(TablesProblem::Unreadable(why)),
    };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    opened.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > most {
        let why = format!("the file has more than {most} bytes, far more than the tables of this network");
        return Err(unreadable(why).into());
    }
    Ok((bytes, path.display().to_string()))
}

/// More bytes than a file of forwarding tables for `graph` has: an entry has up to four, a row its name; twice that and
/// a mebibyte leave room for spaces and comments.
fn largest_file(graph: &Graph) -> u64 {
    // A line for each LID, with the name of its port.
    let row = 256 * (graph.hosts.len() + graph.switches.len()) as u64 + 256;
    (1 << 20) + 2 * row * graph.switches.len() as u64
}

#[cfg(test)]
mod tests {
    use fabricsim_subnet::{Engine, Options};

    use super::*;
    use crate::samples::{graph, try_router};

    const FLY: &str = "dragonfly = { p = 1, a = 2, h = 1 }";

    fn message(topology: &str, routing: &str, lanes: u8) -> String {
        try_router(&graph(topology), topology, routing, lanes).unwrap_err().to_string()
    }

    #[test]
    fn auto_takes_what_fits() {
        let cases = [
            ("mesh = { dimensions = [2, 2] }", "dimension-order"),
            ("ring = { switches = 3 }", "dimension-order"),
            ("parking-lot = { switches = 3 }", "dimension-order"),
            ("hypercube = { dimensions = 3 }", "dimension-order"),
            ("fat-tree = { arity = 2, levels = 2 }", "up-down"),
            ("xgft = { children = [2, 2], parents = [1, 2] }", "up-down"),
            ("single-switch = { hosts = 2 }", "shortest-path"),
        ];
        for (topology, expected) in cases {
            assert_eq!(name(&resolve(Algorithm::Auto, &graph(topology))), expected, "{topology}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        let (mesh, tree) = ("mesh = { dimensions = [2, 2] }", "fat-tree = { arity = 2, levels = 2 }");
        let cases = [
            (
                message(tree, "algorithm = \"dimension-order\"", 1),
                "routing.algorithm: `dimension-order` needs a mesh",
            ),
            (message(tree, "algorithm = \"dimension-order\"", 1), "`up-down` fits"),
            (
                message(mesh, "algorithm = \"up-down\"", 1),
                "`up-down` needs a fat tree; this topology is: 2x2 mesh",
            ),
            (message(mesh, "algorithm = \"up-down-adaptive\"", 1), "`dimension-order` fits"),
            (
                message(tree, "order = [0]", 1),
                "routing.order: only for `dimension-order` and `look-up-tables`, not for `up-down`",
            ),
            (message(tree, "ties = \"random\"", 1), "routing.ties: only for `dimension-order`"),
            (message(mesh, "algorithm = \"up-down-random\"", 1), "`up-down-random` needs a fat tree"),
            (
                message(mesh, "tables = \"x.fdbs\"", 1),
                "routing.tables: only for `table`, not for `dimension-order`",
            ),
            (message(mesh, "algorithm = \"table\"", 1), "needs the key `tables`"),
            (
                message(tree, "algorithm = \"up-down-adaptive\"\nload = \"credits-of-lane\"", 1),
                "routing.load: \"credits-of-lane\" is only for `ugal-l`, `par`, `par-6/2` and `dal`, not for `up-down-adaptive`: use \
                 \"waiting-and-credits\" or \"credits\"",
            ),
            (message(mesh, "load = \"credits-of-lane\"", 1), "not for `dimension-order`: use"),
            (message(FLY, "algorithm = \"ugal-g\"\nload = \"credits-of-lane\"", 16), "not for `ugal-g`: use"),
            (
                message(FLY, "algorithm = \"piggyback\"\nload = \"credits-of-lane\"", 16),
                "not for `piggyback`: use",
            ),
            (message(mesh, "", 0), "switch.virtual_lanes: 0 virtual lanes: there are 1 to 16"),
            (message(mesh, "", 17), "17 virtual lanes"),
        ];
        for (message, part) in cases {
            assert!(message.contains(part), "{message}\nshould have\n{part}");
        }
        let missing = message(mesh, "algorithm = \"table\"\ntables = \"no such.fdbs\"", 1);
        assert!(missing.contains("no such.fdbs: the forwarding tables cannot be read: "), "{missing}");
    }

    /// 2 x 2 switches of three ports with a host each: 4 x 4 pairs of hosts; 4 x 4 pairs of ports, the switch's own included, of each
    /// switch, and the hosts.
    #[test]
    fn files_that_are_far_too_large_are_refused() {
        let topology = "mesh = { dimensions = [2, 2], hosts_per_switch = 1 }";
        let folder = std::env::temp_dir().join(format!("fabricsim-sizes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let graph = graph(topology);
        let identity = crate::identity(&graph, 0).unwrap();
        let routed = Engine::Dfsssp.route(&identity.subnet, &Options::default()).unwrap();
        std::fs::write(folder.join("dump"), routed.tables.to_dump(&identity.subnet)).unwrap();
        std::fs::write(folder.join("large"), vec![b'\n'; 2 << 20]).unwrap();
        let refused = |files: &str| {
            let routing = format!("algorithm = \"table\"\n{files}");
            let experiment = crate::samples::experiment(topology, &routing, 3);
            build(&experiment, &graph, &folder, "e.toml").unwrap_err().to_string()
        };
        let mebibyte = 1 << 20;
        let cases = [
            ("tables = \"large\"", mebibyte + 2 * 4 * 256 * 9),
            ("tables = \"dump\"\npath_sls = \"large\"", mebibyte + 64 * 16),
            ("tables = \"dump\"\nsl2vl = \"large\"", mebibyte + 128 * (4 * 16 + 4)),
        ];
        let found = cases.map(|(files, most)| (refused(files), format!("has more than {most} bytes")));
        std::fs::remove_dir_all(&folder).unwrap();
        for (message, expected) in found {
            assert!(message.contains(&expected), "{message}\nshould have\n{expected}");
        }
    }

    #[test]
    fn tables_come_from_a_file_beside_the_experiment() {
        let topology = "mesh = { dimensions = [2], hosts_per_switch = 1 }";
        let folder = std::env::temp_dir().join(format!("fabricsim-routing-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("two.fdbs"), "0: 255 0 1\n1: 255 1 0\n").unwrap();
        let experiment =
            crate::samples::experiment(topology, "algorithm = \"table\"\ntables = \"two.fdbs\"", 3);
        let router = build(&experiment, &graph(topology), &folder, "e.toml");
        std::fs::remove_dir_all(&folder).unwrap();
        let router = router.unwrap();
        assert_eq!(router.virtual_lanes(), 3);
        assert!(matches!(router, Router::TableRouting(_)));
    }
}
