use std::collections::VecDeque;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

/// Number of starts that are tried in search of a short cycle.
const STARTS: usize = 256;

/// A cycle of the graph that is given by each node's successors, if there is one: a short one, that begins at its
/// lowest node.
pub(super) fn short_cycle(successors: &[Vec<u32>]) -> Option<Vec<u32>> {
    let edges =
        successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from as u32, to)));
    let graph = DiGraph::<(), ()>::from_edges(edges);
    let components = kosaraju_scc(&graph).into_iter();
    let components = components.map(|nodes| nodes.into_iter().map(|n| n.index() as u32).collect::<Vec<_>>());
    let cyclic =
        components.filter(|nodes| nodes.len() > 1 || successors[nodes[0] as usize].contains(&nodes[0]));
    let mut smallest = cyclic.min_by_key(|nodes| (nodes.len(), nodes.iter().min().copied()))?;
    smallest.sort_unstable();
    let mut inside = vec![false; successors.len()];
    for &node in &smallest {
        inside[node as usize] = true;
    }
    let cycles = smallest.iter().take(STARTS).filter_map(|&start| cycle_through(start, successors, &inside));
    let mut shortest = cycles.min_by_key(Vec::len)?;
    let lowest = shortest.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(place, _)| place);
    shortest.rotate_left(lowest);
    Some(shortest)
}

/// The shortest cycle through `start` that stays inside.
fn cycle_through(start: u32, successors: &[Vec<u32>], inside: &[bool]) -> Option<Vec<u32>> {
    let mut before = vec![None; successors.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for &next in successors[at as usize].iter().filter(|&&next| inside[next as usize]) {
            if next == start {
                let mut cycle: Vec<u32> =
                    std::iter::successors(Some(at), |&node| before[node as usize]).collect();
                cycle.reverse();
                return Some(cycle);
            }
            if before[next as usize].is_none() {
                before[next as usize] = Some(at);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_cycle_is_found() {
        // 0 -> 1 -> 2 -> 3 -> 0 with the short cut 2 -> 1, and a tail.
        assert_eq!(short_cycle(&[vec![1], vec![2], vec![3, 1], vec![0], vec![0]]), Some(vec![1, 2]));
        assert_eq!(short_cycle(&[vec![], vec![1]]), Some(vec![1]));
        assert_eq!(short_cycle(&[vec![1, 2], vec![2], vec![]]), None);
        assert_eq!(short_cycle(&[]), None);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let n = 1_000_000;
        let chain: Vec<Vec<u32>> = (0..n).map(|node| vec![node + 1]).chain([vec![]]).collect();
        assert_eq!(short_cycle(&chain), None);
    }
}
