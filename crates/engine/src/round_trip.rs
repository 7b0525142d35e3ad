//! Round trips in an empty network.

use fabricsim_routing::{Router, path};
use fabricsim_spec::Experiment;
use fabricsim_topology::Graph;
use fabricsim_units::{HostId, Time};

/// Maximum number of host pairs whose round trip is computed.
const MOST_PAIRS: usize = 4096;

/// The longest time that a packet of the MTU's size and its answer take without contention, among the pairs that
/// are computed, without waits for a slower link.
pub(crate) fn round_trip(experiment: &Experiment, graph: &Graph, router: &Router) -> Time {
    let hosts = graph.hosts.len();
    let pairs = hosts * hosts.saturating_sub(1);
    let step = pairs.div_ceil(MOST_PAIRS).max(1);
    let pair = |number: usize| (number / (hosts - 1), number % (hosts - 1));
    let ends = (0..pairs).step_by(step).map(pair).map(|(from, to)| (from, to + usize::from(to >= from)));
    let one_way = |from, to| one_way(experiment, graph, router, (from, to));
    ends.map(|(from, to)| one_way(from, to) + one_way(to, from)).max().unwrap_or_default()
}

fn one_way(experiment: &Experiment, graph: &Graph, router: &Router, (from, to): (usize, usize)) -> Time {
    let host = |host: usize| &graph.links[graph.hosts[host].link.index()].parameters;
    let mtu = experiment.host.mtu.0 as u32;
    let mut time = host(from).latency + host(to).rate.byte_time().duration(mtu);
    for (here, hop) in path(router, graph, HostId(from as u32), HostId(to as u32)) {
        let next = graph.switches[here.index()].ports[hop.port.index()];
        time += graph.links[next.index()].parameters.latency + experiment.switch.router_delay;
    }
    time
}

#[cfg(test)]
mod tests;
