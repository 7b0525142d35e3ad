//! Shortest paths on any graph, as forwarding tables.
//!
//! Of several ports on shortest paths a switch takes the one that serves the fewest destinations so far, and among
//! those one by a hash of switch and destination: it spreads evenly, and neighbouring switches do not choose alike
//! (which would leave most roots of a fat tree unused). Not free of deadlock in general: see [`crate::check`].

use std::collections::VecDeque;

use fabricsim_spec::SpecError;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::ForwardingTables;
use crate::failed::check_whole;
use crate::wiring::beyond;

/// Forwarding tables along shortest paths that avoid the links `failed`, which are in ascending order. An error, which names the
/// experiment `file`, if a host cannot be reached from some switch, or if the tables would take more than 1 GiB.
pub fn shortest_paths(graph: &Graph, failed: &[LinkId], file: &str) -> Result<ForwardingTables, SpecError> {
    check_whole(graph, failed, file)?;
    shortest_paths_or(graph, failed, None, file)
}

/// [`shortest_paths`] with the entries of `otherwise` where there is no path: of tables for the whole graph, so that a route to a
/// host that is cut off ends at a failed link. Without `otherwise` that is an error.
pub(crate) fn shortest_paths_or(
    graph: &Graph,
    failed: &[LinkId],
    otherwise: Option<&ForwardingTables>,
    file: &str,
) -> Result<ForwardingTables, SpecError> {
    let mut tables = ForwardingTables::empty(graph, file)?;
    let mut hosts_of = vec![Vec::new(); graph.switches.len()];
    for (index, host) in graph.hosts.iter().enumerate() {
        hosts_of[host.switch.index()].push(HostId(index as u32));
    }
    let neighbours = neighbours(graph, failed);
    let mut load: Vec<Vec<u32>> = graph.switches.iter().map(|switch| vec![0; switch.ports.len()]).collect();
    let mut candidates = Vec::new();
    for (target, hosts) in hosts_of.iter().enumerate().filter(|(_, hosts)| !hosts.is_empty()) {
        let distance = distances(&neighbours, target);
        for (at, around) in neighbours.iter().enumerate() {
            if at == target {
                for &to in hosts {
                    tables.set(SwitchId(at as u32), to, graph.hosts[to.index()].port);
                }
                continue;
            }
            candidates.clear();
            let nearer =
                around.iter().filter(|(next, _)| distance[*next].checked_add(1) == Some(distance[at]));
            candidates.extend(nearer.map(|&(_, port)| port));
            if candidates.is_empty() {
                if let Some(otherwise) = otherwise {
                    let at = SwitchId(at as u32);
                    for &to in hosts {
                        if let Some(port) = otherwise.port(at, to) {
                            tables.set(at, to, port);
                        }
                    }
                    continue;
                }
                return Err(unreachable(graph, file, at, hosts[0]));
            }
            for &to in hosts {
                let least = |port: &&PortNo| (load[at][port.index()], hash(at, to, **port));
                let port = *candidates.iter().min_by_key(least).unwrap_or(&candidates[0]);
                load[at][port.index()] += 1;
                tables.set(SwitchId(at as u32), to, port);
            }
        }
    }
    Ok(tables)
}

/// Links between switches of the longest of the shortest paths between hosts that are joined.
pub(crate) fn longest_path(graph: &Graph, failed: &[LinkId]) -> u32 {
    let neighbours = neighbours(graph, failed);
    let mut ends: Vec<usize> = graph.hosts.iter().map(|host| host.switch.index()).collect();
    ends.dedup();
    let longest = ends.iter().map(|&target| {
        let distance = distances(&neighbours, target);
        ends.iter().map(|&end| distance[end]).filter(|&links| links < u32::MAX).max().unwrap_or(0)
    });
    longest.max().unwrap_or(0)
}

/// For each switch, the switches around it and the ports towards them, but for those of failed links.
fn neighbours(graph: &Graph, failed: &[LinkId]) -> Vec<Vec<(usize, PortNo)>> {
    let around = |(index, switch): (usize, &fabricsim_topology::SwitchNode)| {
        let ports = (0..switch.ports.len() as u16).map(PortNo);
        let works = |port: &PortNo| failed.binary_search(&switch.ports[port.index()]).is_err();
        ports
            .filter(works)
            .filter_map(|port| match beyond(graph, SwitchId(index as u32), port)?.node {
                Node::Switch(next) => Some((next.index(), port)),
                Node::Host(_) => None,
            })
            .collect()
    };
    graph.switches.iter().enumerate().map(around).collect()
}

/// Hops from every switch to `target`; `u32::MAX` where there is no route.
fn distances(neighbours: &[Vec<(usize, PortNo)>], target: usize) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    distance[target] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        for &(next, _) in &neighbours[at] {
            if distance[next] == u32::MAX {
                distance[next] = distance[at] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Mixes bits as SplitMix64 does.
fn hash(at: usize, to: HostId, port: PortNo) -> u64 {
    let mut z = ((at as u64) << 40) ^ (u64::from(port.0) << 32) ^ u64::from(to.0);
    z = (z ^ (z >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn unreachable(graph: &Graph, file: &str, at: usize, to: HostId) -> SpecError {
    let (switch, host) = (&graph.switches[at].name, &graph.hosts[to.index()].name);
    SpecError::at_key(file, "topology", format!("there is no route from switch {switch} to host {host}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path;
    use crate::samples::{graph, hosts, network};

    /// A switch that is cut off has no other switch nearer to it: all entries for its hosts are the old ones.
    #[test]
    fn entries_for_what_is_cut_off_are_the_old_ones() {
        for topology in
            ["grid = { dimensions = [3, 3], wrap = [true, false] }", "fat-tree = { arity = 2, levels = 3 }"]
        {
            let graph = graph(topology);
            let whole = shortest_paths(&graph, &[], "sample.toml").unwrap();
            for (lost, switch) in (0..).map(SwitchId).zip(&graph.switches) {
                let mut failed = switch.ports.clone();
                failed.sort();
                let left = shortest_paths_or(&graph, &failed, Some(&whole), "sample.toml").unwrap();
                for to in hosts(&graph).filter(|to| graph.hosts[to.index()].switch == lost) {
                    for at in (0..graph.switches.len() as u32).map(SwitchId) {
                        assert_eq!(left.port(at, to), whole.port(at, to), "{topology}: {at:?} to {to:?}");
                    }
                }
            }
        }
    }

    /// Every leaf uses its roots for destinations elsewhere alike, to within one.
    #[test]
    fn ties_are_spread_evenly() {
        let (graph, router) =
            network("fat-tree = { arity = 4, levels = 2 }", "algorithm = \"shortest-path\"", 1);
        for leaf in (0..4).map(SwitchId) {
            let mut counts = [0; 8];
            let from = graph.hosts.iter().position(|host| host.switch == leaf).unwrap();
            for to in hosts(&graph).filter(|to| graph.hosts[to.index()].switch != leaf) {
                counts[path(&router, &graph, HostId(from as u32), to)[0].1.port.index()] += 1;
            }
            assert_eq!(counts, [0, 0, 0, 0, 3, 3, 3, 3]);
        }
    }

    /// Switches do not choose alike: in three levels all roots have work, not only every fourth.
    #[test]
    fn all_roots_of_a_tree_are_used() {
        let (graph, router) =
            network("fat-tree = { arity = 4, levels = 3 }", "algorithm = \"shortest-path\"", 1);
        let mut used = vec![false; graph.switches.len()];
        for from in hosts(&graph) {
            for to in hosts(&graph) {
                for (at, _) in path(&router, &graph, from, to) {
                    used[at.index()] = true;
                }
            }
        }
        assert!(used.into_iter().all(|used| used));
    }

    /// Around any one failed link: the shortest of the paths that are left, and with lanes by hops no deadlock.
    #[test]
    fn paths_avoid_failed_links() {
        for topology in [
            "torus = { dimensions = [4, 3] }",
            "fat-tree = { arity = 2, levels = 3 }",
            "dragonfly = { p = 1, a = 3, h = 1 }",
            "slim-fly = { q = 3, hosts_per_switch = 1 }",
        ] {
            let graph = graph(topology);
            let between = |link: &&LinkId| matches!(graph.links[link.index()].a.node, Node::Switch(_));
            let links: Vec<LinkId> = (0..graph.links.len() as u32).map(LinkId).collect();
            for &failed in links.iter().filter(between) {
                let routing = "algorithm = \"shortest-path\"\nlane_policy = \"hops\"";
                let mut experiment = crate::samples::experiment(topology, routing, 8);
                experiment.links.failed = vec![graph.link_name(failed)];
                let router = crate::build(&experiment, &graph, std::path::Path::new("."), "e.toml").unwrap();
                assert!(matches!(crate::check(&router, &graph), crate::Verdict::Free { .. }), "{topology}");
                let mut rest = graph.clone();
                // Without the link: it becomes a second one of its first end to itself.
                rest.links[failed.index()].b = rest.links[failed.index()].a;
                for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
                    let taken = path(&router, &graph, from, to);
                    let least = crate::samples::distances(&rest, graph.hosts[to.index()].switch)
                        [graph.hosts[from.index()].switch.index()];
                    assert_eq!(taken.len(), least + 1, "{topology} without {}", graph.link_name(failed));
                    let crosses = |&(at, hop): &(SwitchId, fabricsim_model::Hop)| {
                        graph.switches[at.index()].ports[hop.port.index()] == failed
                    };
                    assert!(!taken.iter().any(crosses), "{topology} over {}", graph.link_name(failed));
                }
            }
        }
    }

    #[test]
    fn a_graph_in_two_pieces_is_refused() {
        let mut graph = graph("mesh = { dimensions = [3], hosts_per_switch = 1 }");
        // The cable between the last two switches becomes one between the first two.
        let cables: Vec<usize> = (0..graph.links.len())
            .filter(|&l| {
                matches!((graph.links[l].a.node, graph.links[l].b.node), (Node::Switch(_), Node::Switch(_)))
            })
            .collect();
        graph.links[cables[1]] = graph.links[cables[0]].clone();
        let error = shortest_paths(&graph, &[], "e.toml").unwrap_err().to_string();
        assert_eq!(error, "e.toml: topology: there is no route from switch S(2) to host H(0).0");
    }
}
