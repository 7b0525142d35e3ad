//! Routing by an engine of OpenSM: its tables, and the layers of its service levels as virtual lanes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fabricsim_spec::{Experiment, SpecError, name};
use fabricsim_subnet::{Engine, Guid, NodeId, NodeKind, Options, PortId, Seed, Subnet, TorusConfig};
use fabricsim_topology::{End, Graph, GridShape, Identity, Node, Shape, failed_links};
use fabricsim_units::{LinkId, SwitchId};

use crate::failed::check_whole;
use crate::fdbs::verify_paths;
use crate::lids::{Paths, identity_of};
use crate::linear_tables::convert;
use crate::service_levels::of_subnet;
use crate::wiring::beyond;
use crate::{Router, RoutingError, TableRouting, TablesProblem};

const KEY: &str = "routing.engine";

const ROUTERS_LEFT_OUT: &str = "; `sssp`, `dfsssp` and `nue` leave routers out, as OpenSM's do: take \
     `minhop`, `updn`, `dor` or `lash`, or remove the router";

/// The router of `routing.algorithm = "opensm"`, around the links that have failed.
pub(crate) fn build(experiment: &Experiment, graph: &Graph, file: &str) -> Result<Router, RoutingError> {
    let failed = failed_links(graph, &experiment.links, file)?;
    check_whole(graph, &failed, file)?;
    around(experiment, graph, &failed, None, file)
}

/// The router while the links `failed` do not work. Nodes that are cut off keep their entries in `otherwise`, tables for the whole graph,
/// so that routes to them end at a failed link. Without `otherwise` that is an error.
pub(crate) fn around(
    experiment: &Experiment,
    graph: &Graph,
    failed: &[LinkId],
    otherwise: Option<&TableRouting>,
    file: &str,
) -> Result<Router, RoutingError> {
    let wrong = |key: &str, message: String| SpecError::at_key(file, key, message);
    let paths = Paths::of(experiment);
    let identity = identity_of(experiment, graph).map_err(|message| wrong("routing.algorithm", message))?;
    let (engine, options) = engine(experiment, graph, &identity, file)?;
    let (subnet, switches) = what_is_left(graph, &identity, failed);
    let found = engine.route(&subnet, &options).map_err(|error| wrong(KEY, error.to_string()))?;
    let mut tables = convert(&found.tables, &switches, graph, (&identity, paths), file)?;
    for (path, tables) in (0_u8..).zip(&mut tables) {
        if let Some(otherwise) = otherwise {
            tables.fill(otherwise.of_path(path), graph);
        } else {
            let lid = |to| usize::from(identity.lid(to)) + usize::from(path);
            verify_paths(tables, graph, &lid).map_err(|(_, problem)| {
                let has_router = || subnet.nodes.iter().any(|node| node.kind == NodeKind::Router);
                let leaves_out = matches!(problem, TablesProblem::NoRoute { .. }) && !engine.routes_routers();
                let note = if leaves_out && has_router() { ROUTERS_LEFT_OUT } else { "" };
                wrong(KEY, format!("`{engine}`: {problem}{note}"))
            })?;
        }
    }
    let sl2vl = (engine == Engine::Torus2Qos).then_some(&found.sl2vl);
    let policy = of_subnet(experiment, graph, &identity, (found.sls.as_ref(), sl2vl), file)?;
    Ok(TableRouting::with_paths(tables, policy).into())
}

/// The subnet without the links `failed`, and its switches: the part with the manager, or the largest.
fn what_is_left<'a>(
    graph: &Graph,
    identity: &'a Identity,
    failed: &[LinkId],
) -> (Cow<'a, Subnet>, BTreeMap<NodeId, SwitchId>) {
    if failed.is_empty() {
        return (Cow::Borrowed(&identity.subnet), identity.by_node());
    }
    let subnet = subnet_without(graph, identity, failed).main_part();
    let guid = |&node: &NodeId| identity.subnet.node(node).guid;
    let by_guid: BTreeMap<Guid, SwitchId> =
        identity.switches.iter().map(guid).zip((0..).map(SwitchId)).collect();
    let switches = subnet.ids().filter_map(|(id, node)| Some((id, *by_guid.get(&node.guid)?))).collect();
    (Cow::Owned(subnet), switches)
}

/// The subnet of the fabric without the cables of the links `failed`.
pub fn subnet_without(graph: &Graph, identity: &Identity, failed: &[LinkId]) -> Subnet {
    let mut subnet = identity.subnet.clone();
    for link in failed {
        subnet.disconnect(port_of(identity, graph.links[link.index()].a));
    }
    subnet
}

/// The physical port at the end of a link.
fn port_of(identity: &Identity, end: End) -> PortId {
    match end.node {
        Node::Switch(switch) => {
            PortId { node: identity.switches[switch.index()], port: identity.number(switch, end.port) }
        }
        Node::Host(host) => identity.hosts[host.index()],
    }
}

/// The engine of `routing.algorithm = "opensm"` and its options, on a fabric with this identity.
///
/// # Errors
///
/// No engine is named, or a root is no switch. They name the experiment `file`.
pub fn engine(
    experiment: &Experiment,
    graph: &Graph,
    identity: &Identity,
    file: &str,
) -> Result<(Engine, Options), SpecError> {
    let wrong = |key: &str, message: String| SpecError::at_key(file, key, message);
    let Some(engine) = experiment.routing.engine else {
        let message = "routing by `opensm` needs the key `engine`, such as \"minhop\" or \"dfsssp\"";
        return Err(wrong("routing", message.to_owned()));
    };
    let engine = name(&engine).parse().map_err(|error| wrong(KEY, format!("{error}")))?;
    let roots = experiment.routing.roots.as_deref().map(|names| roots(names, graph, identity)).transpose();
    let options = Options {
        roots: roots.map_err(|message| wrong("routing.roots", message))?,
        vls: experiment.switch.lanes_per_class().min(15),
        torus: match (engine, &graph.shape) {
            (Engine::Torus2Qos, Shape::Grid(shape)) => torus(shape, graph, identity),
            _ => None,
        },
        ..Options::default()
    };
    Ok((engine, options))
}

/// GUIDs of root switches.
fn roots(names: &[String], graph: &Graph, identity: &Identity) -> Result<Vec<Guid>, String> {
    let guid = |name: &String| {
        if let Some(switch) = graph.switches.iter().position(|switch| switch.name == *name) {
            return Ok(identity.subnet.node(identity.switches[switch]).guid);
        }
        let all = graph.switches.iter().map(|switch| switch.name.as_str());
        let hint = fabricsim_units::nearest(name, all).map(|near| format!("; did you mean {near}?"));
        Err(format!("no switch {name}{}", hint.unwrap_or_default()))
    };
    names.iter().map(guid).collect()
}

/// The description of a grid of at most three dimensions as a torus: sizes, and the links of the first switch.
fn torus(shape: &GridShape, graph: &Graph, identity: &Identity) -> Option<TorusConfig> {
    let guid = |switch: SwitchId| identity.subnet.node(identity.switches[switch.index()]).guid;
    let (mut sizes, mut mesh, mut links) = ([1; 3], [true; 3], [None; 6]);
    if shape.dimensions.len() > sizes.len() {
        return None;
    }
    let origin = SwitchId(0);
    for (dimension, (&radix, &wrap)) in shape.dimensions.iter().zip(&shape.wrap).enumerate() {
        sizes[dimension] = radix as usize;
        mesh[dimension] = !wrap || radix <= 2;
        for up in [false, true].into_iter().filter(|_| !mesh[dimension] || radix > 1) {
            let neighbour = shape.port(origin, dimension, up).and_then(|port| beyond(graph, origin, port));
            if let Some(End { node: Node::Switch(neighbour), .. }) = neighbour {
                links[2 * dimension + usize::from(up)] = Some((guid(origin), guid(neighbour)));
            }
        }
    }
    let group = graph.switches.iter().map(|switch| switch.ports.len() + 1).max()?;
    Some(TorusConfig {
        sizes,
        mesh,
        seeds: vec![Seed { links, datelines: [0; 3] }],
        port_order: Vec::new(),
        group,
    })
}

#[cfg(test)]
mod tests {
    use fabricsim_subnet::{Engine, Options};
    use fabricsim_units::{HostId, SwitchId};

    use crate::deadlock::{Verdict, check};
    use crate::lids::Paths;
    use crate::linear_tables::convert;
    use crate::samples::{experiment, graph, network, try_router};
    use crate::{Destination, Router, RoutingFunction};

    const FABRICS: [&str; 4] = [
        "mesh = { dimensions = [3, 4], hosts_per_switch = 2 }",
        "torus = { dimensions = [5, 5] }",
        "fat-tree = { arity = 3, levels = 3 }",
        "dragonfly = { p = 2, a = 4, h = 2 }",
    ];

    /// Engines with layers are free of deadlock on every fabric, by the check of the simulator, which knows nothing of theirs; the same
    /// tables without layers are not.
    #[test]
    fn layers_keep_any_fabric_free_of_deadlock() {
        for topology in FABRICS {
            for engine in ["lash", "dfsssp"] {
                let (graph, router) =
                    network(topology, &format!("algorithm = \"opensm\"\nengine = \"{engine}\""), 8);
                let verdict = check(&router, &graph);
                assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {engine}: {verdict:?}");
            }
        }
        let (graph, router) = network(FABRICS[1], "algorithm = \"opensm\"\nengine = \"sssp\"", 8);
        assert!(matches!(check(&router, &graph), Verdict::Cyclic { .. }));
    }

    #[test]
    fn engines_route_every_fabric_that_they_fit() {
        for topology in FABRICS {
            for engine in ["minhop", "dnup", "dor", "sssp"] {
                let graph = graph(topology);
                let routing = format!("algorithm = \"opensm\"\nengine = \"{engine}\"");
                assert!(try_router(&graph, topology, &routing, 1).is_ok(), "{topology} {engine}");
            }
        }
    }

    const ONE: Paths = Paths { lmc: 0, used: 1 };
    const AROUND: &str = "[links]\nfailed = [\"S(0,0)-S(0,1)\", \"S(2,2)-S(3,2)\"]";

    /// Tables around failed links are those of the engine on the subnet without these cables.
    #[test]
    fn engines_go_around_failed_links() {
        let (topology, graph) = (FABRICS[1], graph(FABRICS[1]));
        for engine in ["minhop", "dor", "sssp", "dfsssp", "nue"] {
            let routing = format!("algorithm = \"opensm\"\nengine = \"{engine}\"\n{AROUND}");
            let router = try_router(&graph, topology, &routing, 8).unwrap();
            let identity = crate::identity(&graph, 0, None).unwrap();
            let mut left = identity.subnet.clone();
            assert_eq!((left.fail("S(0,0)->S(0,1)"), left.fail("S(2,2)->S(3,2)")), (Ok(1), Ok(1)));
            let options = Options { vls: 8, ..Options::default() };
            let found = engine.parse::<Engine>().unwrap().route(&left, &options).unwrap();
            let expected =
                convert(&found.tables, &identity.by_node(), &graph, (&identity, ONE), "sample.toml").unwrap();
            let Router::TableRouting(tables) = router else { panic!("{engine}") };
            assert!(*tables.tables() == expected[0], "{engine}");
        }
    }

    /// Each LID of a host has the routes that the engine gives it, on the lanes of its level, and they are free of deadlock together.
    #[test]
    fn each_lid_has_its_routes() {
        const LMC: u8 = 2;
        for (topology, engine) in [(FABRICS[1], "dfsssp"), (FABRICS[0], "lash"), (FABRICS[2], "minhop")] {
            let keys =
                format!("algorithm = \"opensm\"\nengine = \"{engine}\"\nlmc = {LMC}\npaths = \"in-turn\"");
            let (graph, router) = network(topology, &keys, 8);
            let identity = crate::identity(&graph, LMC, None).unwrap();
            let options = Options { vls: 8, ..Options::default() };
            let found = engine.parse::<Engine>().unwrap().route(&identity.subnet, &options).unwrap();
            let verdict = check(&router, &graph);
            assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {engine}: {verdict:?}");
            let Router::TableRouting(tables) = &router else { panic!("{engine}") };
            let mut differ = 0;
            for to in (0..graph.hosts.len() as u32).map(HostId) {
                for path in 0..1 << LMC {
                    let lid = identity.lid(to) + u16::from(path);
                    for (row, node) in found.tables.switches().iter().enumerate() {
                        let at = identity.by_node()[node];
                        let port = identity.port(at, found.tables.row(row)[usize::from(lid)]);
                        assert_eq!(tables.of_path(path).port(at, to), port, "{engine} {at:?} {to:?} {path}");
                        differ += usize::from(port != tables.tables().port(at, to));
                    }
                    let (from, to) = (HostId(0), Destination { host: to, path });
                    let level = found.sls.as_ref().map_or(0, |sls| sls.level(identity.lid(from), lid));
                    assert_eq!(router.service_level(from, to, 0), level, "{engine} {to:?}");
                }
            }
            // LASH has one route for all LIDs of a host.
            assert_eq!(differ > 0, engine != "lash", "{engine}");
        }
    }

    /// A switch that is cut off keeps its routes, all others are routed around it.
    #[test]
    fn new_routes_leave_out_what_is_cut_off() {
        let (topology, routing) = (FABRICS[1], "algorithm = \"opensm\"\nengine = \"minhop\"");
        let (graph, router) = network(topology, routing, 1);
        let experiment = experiment(topology, routing, 1);
        let lost = SwitchId(7);
        let mut failed = graph.switches[lost.index()].ports.clone();
        failed.sort();
        let after = crate::reroute(&experiment, &graph, &router, &failed, "sample.toml").unwrap();
        let (Router::TableRouting(before), Router::TableRouting(after)) = (router, after) else { panic!() };
        for (to, host) in (0..).map(HostId).zip(&graph.hosts) {
            for at in (0..graph.switches.len() as u32).map(SwitchId) {
                let port = after.tables().port(at, to).unwrap();
                if host.switch == lost || at == lost {
                    assert_eq!(Some(port), before.tables().port(at, to));
                } else {
                    let link = graph.switches[at.index()].ports[port.index()];
                    assert!(!failed.contains(&link), "{at:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_routed_is_refused_with_the_reason() {
        for (topology, routing, expected) in [
            (FABRICS[0], "algorithm = \"opensm\"", "routing: routing by `opensm` needs the key `engine`"),
            (
                FABRICS[0],
                "engine = \"minhop\"",
                "routing.engine: only for `opensm`, not for `dimension-order`",
            ),
            (FABRICS[0], "algorithm = \"opensm\"\nengine = \"updn\"", "routing.engine: updn: found no roots"),
            (
                FABRICS[0],
                "algorithm = \"opensm\"\nengine = \"updn\"\nroots = [\"S(0,9)\"]",
                "routing.roots: no switch S(0,9); did you mean S(0,0)?",
            ),
            (FABRICS[0], "lmc = 1", "routing.lmc: only for `table` and `opensm`, not for `dimension-order`"),
            (FABRICS[2], "algorithm = \"opensm\"\nengine = \"ftree\"\nlmc = 1", "routing.engine: ftree"),
            (
                FABRICS[1],
                "algorithm = \"opensm\"\nengine = \"lash\"",
                "routing.engine: lash: 1 virtual lanes do not suffice",
            ),
        ] {
            let error = try_router(&graph(topology), topology, routing, 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nshould have\n{expected}");
        }
    }
}
