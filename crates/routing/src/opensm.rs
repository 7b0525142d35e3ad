//! Routing by an engine of OpenSM: its tables, and the layers of its service levels as virtual lanes.

use std::borrow::Cow;

use fabricsim_spec::{Experiment, SpecError, name};
use fabricsim_subnet::{Engine, Guid, LidOptions, Options, Routing, assign_lids};
use fabricsim_topology::{Graph, Identity};
use fabricsim_units::HostId;

use crate::fdbs::verify;
use crate::lanes::{AllLanes, AnyPolicy, Layers};
use crate::linear_tables::convert;
use crate::{Router, RoutingError, TableRouting};

const KEY: &str = "routing.engine";

/// The router of `routing.algorithm = "opensm"`.
pub(crate) fn build(experiment: &Experiment, graph: &Graph, file: &str) -> Result<Router, RoutingError> {
    let wrong = |key: &str, message: String| SpecError::at_key(file, key, message);
    let identity = identity(graph).map_err(|message| wrong("routing.algorithm", message))?;
    let lanes = experiment.switch.lanes_per_class();
    let (engine, options) = engine(experiment, graph, &identity, file)?;
    let found = engine.route(&identity.subnet, &options).map_err(|error| wrong(KEY, error.to_string()))?;
    let tables = convert(&found.tables, graph, &identity, file)?;
    verify(&tables, graph).map_err(|(_, problem)| wrong(KEY, format!("`{engine}`: {problem}")))?;
    Ok(TableRouting::new(tables, policy(&found, &identity, lanes)).into())
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
        ..Options::default()
    };
    Ok((engine, options))
}

/// The identity of the fabric: as it was read, with LIDs that are missing assigned, or made up.
pub fn identity(graph: &Graph) -> Result<Cow<'_, Identity>, String> {
    let mut identity = match graph.identity.as_deref() {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(Identity::of(graph)?),
    };
    let lacks_lids = (0..graph.hosts.len() as u32).any(|host| identity.lid(HostId(host)) == 0)
        || identity.switches.iter().any(|&node| identity.subnet.node(node).ports[0].lid == 0);
    if lacks_lids {
        assign_lids(&mut identity.to_mut().subnet, LidOptions::default())
            .map_err(|error| error.to_string())?;
    }
    Ok(identity)
}

/// GUIDs of root switches.
fn roots(names: &[String], graph: &Graph, identity: &Identity) -> Result<Vec<Guid>, String> {
    let guid = |name: &String| {
        if let Some(switch) = graph.switches.iter().position(|switch| switch.name == *name) {
            return Ok(identity.subnet.node(identity.switches[switch]).guid);
        }
        let all = graph.switches.iter().map(|switch| switch.name.as_str());
        let hint = fabricsim_spec::nearest(name, all).map(|near| format!("; did you mean {near}?"));
        Err(format!("no switch {name}{}", hint.unwrap_or_default()))
    };
    names.iter().map(guid).collect()
}

/// The lanes of an engine's paths.
fn policy(found: &Routing, identity: &Identity, lanes: u8) -> AnyPolicy {
    let Some(levels) = &found.sls else { return AllLanes::new(lanes).into() };
    let level = |from: HostId, to: HostId| levels.level(identity.lid(from), identity.lid(to)) % lanes;
    Layers::new(identity.hosts.len(), lanes, level).into()
}

#[cfg(test)]
mod tests {
    use crate::deadlock::{Verdict, check};
    use crate::samples::{graph, network, try_router};

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
