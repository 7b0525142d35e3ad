use std::collections::BTreeSet;
use std::path::Path;

use fabricsim_spec::{Experiment, read};
use fabricsim_units::PortNo;

use crate::{Graph, Node, build};

/// An experiment with the given `[topology]` and whatever else.
pub(crate) fn experiment(text: &str) -> Experiment {
    read(&format!("{text}\n[run]\nduration = \"1 ms\"\n"), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn try_graph(text: &str) -> Result<Graph, String> {
    let experiment = experiment(text);
    let checked = fabricsim_spec::check_ranges(&experiment, "test.toml");
    checked.and_then(|()| build(&experiment, Path::new("."), "test.toml")).map_err(|error| error.to_string())
}

pub(crate) fn graph(text: &str) -> Graph {
    let graph = try_graph(text).unwrap_or_else(|e| panic!("{e}"));
    assert_consistent(&graph);
    graph
}

pub(crate) fn error(text: &str) -> String {
    try_graph(text).map_or_else(|error| error, |graph| panic!("{} was built", graph.title))
}

/// Every end of every link is where the nodes say it is.
pub(crate) fn assert_consistent(graph: &Graph) {
    let ports = 0..2 * graph.links.len() as u32;
    let names: BTreeSet<String> = ports.clone().map(|port| graph.port_name(port)).collect();
    assert_eq!(names.len(), ports.len(), "names of sending ports are unique");
    let mut ends = 0;
    for (index, link) in graph.links.iter().enumerate() {
        for end in [link.a, link.b] {
            ends += 1;
            match end.node {
                Node::Switch(s) => {
                    assert_eq!(graph.switches[s.index()].ports[end.port.index()].index(), index);
                }
                Node::Host(h) => {
                    let host = &graph.hosts[h.index()];
                    assert_eq!((end.port, host.link.index()), (PortNo(0), index));
                    let far = graph.far_end(host.link, end.node);
                    assert_eq!((far.node, far.port), (Node::Switch(host.switch), host.port));
                }
            }
        }
    }
    let ports: usize = graph.switches.iter().map(|s| s.ports.len()).sum();
    assert_eq!(ends, ports + graph.hosts.len());
}

/// For a switch: the name of the node behind each port.
pub(crate) fn neighbours(graph: &Graph, switch: &str) -> String {
    let s = graph.switches.iter().position(|s| s.name == switch).unwrap_or_else(|| panic!("no {switch}"));
    let node = Node::Switch(fabricsim_units::SwitchId(s as u32));
    let names = graph.switches[s].ports.iter().map(|&link| graph.name(graph.far_end(link, node).node));
    names.collect::<Vec<_>>().join(" ")
}
