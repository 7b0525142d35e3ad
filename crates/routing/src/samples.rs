//! Small networks for tests.

use std::path::Path;

use fabricsim_spec::Experiment;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, SwitchId};

use crate::{Router, RoutingError, build};

/// An experiment with this topology and routing, both as TOML.
pub(crate) fn experiment(topology: &str, routing: &str, lanes: u8) -> Experiment {
    let text = format!(
        "[topology]\n{topology}\n[routing]\n{routing}\n[switch]\nvirtual_lanes = {lanes}\n[run]\nduration = \"1 us\"\n"
    );
    fabricsim_spec::read(&text, "sample.toml", &[]).unwrap()
}

pub(crate) fn graph(topology: &str) -> Graph {
    fabricsim_topology::build(&experiment(topology, "", 1), Path::new("."), "sample.toml").unwrap()
}

pub(crate) fn try_router(
    graph: &Graph,
    topology: &str,
    routing: &str,
    lanes: u8,
) -> Result<Router, RoutingError> {
    build(&experiment(topology, routing, lanes), graph, Path::new("."), "sample.toml")
}

/// The graph and its router.
pub(crate) fn network(topology: &str, routing: &str, lanes: u8) -> (Graph, Router) {
    let graph = graph(topology);
    let router = try_router(&graph, topology, routing, lanes).unwrap();
    (graph, router)
}

pub(crate) fn hosts(graph: &Graph) -> impl Iterator<Item = HostId> + Clone + use<> {
    (0..graph.hosts.len() as u32).map(HostId)
}

/// Links between switches from each switch to `target`, found link by link until nothing gets nearer.
pub(crate) fn distances(graph: &Graph, target: SwitchId) -> Vec<usize> {
    let mut distance = vec![usize::MAX; graph.switches.len()];
    distance[target.index()] = 0;
    loop {
        let before = distance.clone();
        for link in &graph.links {
            if let (Node::Switch(a), Node::Switch(b)) = (link.a.node, link.b.node) {
                let (a, b) = (a.index(), b.index());
                distance[a] = distance[a].min(distance[b].saturating_add(1));
                distance[b] = distance[b].min(distance[a].saturating_add(1));
            }
        }
        if distance == before {
            return distance;
        }
    }
}
