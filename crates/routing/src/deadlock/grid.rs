//! Proof that one line per dimension stands for a whole grid under dimension order.
//!
//! Dependencies lead from a dimension to itself or to a later one in the order, so a cycle stays in one dimension,
//! and there in one line, since moving along a dimension leaves the other coordinates alone. Within a line
//! direction and class of lanes depend on the coordinates in that dimension and on the lane that the packet has in
//! it, on nothing else: packets that turn in are treated as those that are injected, and packets that turn off or
//! go on in another dimension at some coordinate as those that stay there. (With radix 2 the cable depends on more;
//! but there no packet goes on within the dimension.) So all lines of a dimension have the same dependencies, those
//! of the packets among the hosts of one line: if these have no cycle, the grid has none, and the reverse.
//!
//! The same holds for look-up tables without failed links: a packet goes along a dimension with the coordinates before
//! it corrected, so that its route there depends on the coordinates of that dimension, by partitions or one by one.

use fabricsim_topology::{Graph, GridShape};
use fabricsim_units::HostId;

/// The first host of every switch that has one.
pub(super) fn one_host_per_switch(graph: &Graph) -> Vec<HostId> {
    first_hosts(graph).into_iter().flatten().collect()
}

/// For each dimension, one host on each switch of a line along it; `None` if a switch there has no host.
pub(super) fn one_line_per_dimension(graph: &Graph, shape: &GridShape) -> Option<Vec<Vec<HostId>>> {
    let hosts = first_hosts(graph);
    let corner = &graph.switches.first()?.coordinates;
    let on_line = |at: &[u32], dimension: usize| (0..at.len()).all(|d| d == dimension || at[d] == corner[d]);
    let line = |dimension: usize| {
        let switches = graph.switches.iter().zip(&hosts);
        switches
            .filter(|(switch, _)| on_line(&switch.coordinates, dimension))
            .map(|(_, host)| *host)
            .collect()
    };
    (0..shape.dimensions.len()).map(line).collect()
}

fn first_hosts(graph: &Graph) -> Vec<Option<HostId>> {
    let mut first = vec![None; graph.switches.len()];
    for (index, host) in graph.hosts.iter().enumerate() {
        first[host.switch.index()].get_or_insert(HostId(index as u32));
    }
    first
}
