mod files;
mod stray;

use std::path::Path;

use fabricsim_spec::{Algorithm, Experiment, SpecError, Ties};
use fabricsim_topology::{Graph, GridShape, Shape, failed_links};

use self::files::{read_levels, read_tables};
use self::stray::refuse_stray;
use crate::algorithm::{MOST_LANES, resolve, unsuitable};
use crate::lanes::chosen;
use crate::look_up_tables::table_request;
use crate::route_lengths::{lengths, longest};
use crate::{
    DimensionOrder, LookUpTables, Router, RoutingError, TableRouting, UpDown, Upwards, shortest_paths,
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

const fn upwards(algorithm: Algorithm) -> Upwards {
    match algorithm {
        Algorithm::UpDownAdaptive => Upwards::Adaptive,
        Algorithm::UpDownRandom => Upwards::Random,
        _ => Upwards::Fixed,
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_spec::name;
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
        let identity = crate::identity(&graph, 0, None).unwrap();
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
