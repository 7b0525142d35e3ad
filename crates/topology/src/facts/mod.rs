//! Numbers that describe a graph.

mod bisection;
mod distance;

pub use bisection::Bisection;

use crate::{Graph, Node};

/// Facts about a graph that `describe` prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Full-duplex links, those of the hosts included.
    pub links: usize,
    /// Links between switches.
    pub switch_links: usize,
    /// Ports of the switch that has the fewest.
    pub ports_min: usize,
    /// Ports of the switch that has the most.
    pub ports_max: usize,
    /// Largest number of links between switches on a shortest path from a host to a host. `None` where the graph
    /// has no regular shape and is too large to search.
    pub diameter: Option<u32>,
    /// Mean number of links between switches on a shortest path, over all pairs of two different hosts. `None` as
    /// above, and with one host only.
    pub mean_hops: Option<f64>,
    /// Links that join two halves of the network; `None` without a regular shape, and with one switch.
    pub bisection: Option<Bisection>,
}

/// The facts of a graph. Closed forms for grids, trees and HyperX, a search from every switch else.
pub fn facts(graph: &Graph) -> Facts {
    let between = |link: &&crate::Link| matches!(link.a.node, Node::Switch(_));
    let ports = || graph.switches.iter().map(|switch| switch.ports.len());
    let distances = distance::distances(graph);
    Facts {
        switches: graph.switches.len(),
        hosts: graph.hosts.len(),
        links: graph.links.len(),
        switch_links: graph.links.iter().filter(between).count(),
        ports_min: ports().min().unwrap_or(0),
        ports_max: ports().max().unwrap_or(0),
        diameter: distances.as_ref().map(|d| d.largest),
        mean_hops: distances.as_ref().and_then(|d| d.mean(graph.hosts.len())),
        bisection: bisection::bisection(graph),
    }
}
