//! Congestion trees: congested outputs, the buffers blocked behind them, and the flows of their packets.
//!
//! An *outlet* is an output port and a virtual lane (the first, where packets may take several). It is *congested* if
//! the switch's congestion control says so, or without any if more waits for it than a part of an input buffer. One that has credits, or leads to a host, is the *root* of a tree; one that
//! has none waits for the buffer at the next switch, and so for the outlet that most of that buffer waits for: it is a
//! *branch* of that outlet's tree. (The port states of the InfiniBand Architecture Specification, annex A10: root and
//! victim of congestion.) Packets in a tree belong to a *contributor* if their path leads through the root, to a
//! *victim* otherwise.

mod outlets;
mod ways;

use fabricsim_engine::Snapshot;
use fabricsim_routing::{MulticastTables, Router};
use fabricsim_spec::Queueing;
use fabricsim_topology::Graph;
use fabricsim_units::HostId;

use outlets::{NONE, Outlets, Place, State, places};
use ways::Ways;

/// An output port of the fabric (see [`Observer`]) and a virtual lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub struct OutputLane {
    /// Sending port: a direction of a link.
    pub port: u32,
    /// Virtual lane; the first, where packets may take several.
    pub lane: u8,
}

/// Source and destination.
pub type Ends = (HostId, HostId);

/// A congestion tree at one time: a congested outlet and the packets that wait for it.
#[derive(Clone, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct CongestionTree {
    /// Root: the outlet that causes the congestion.
    pub root: OutputLane,
    /// Congested outlets without credits, that wait for the root or for each other; in order.
    pub branches: Vec<OutputLane>,
    /// Links from the root back to the farthest branch; 0 without branches.
    pub depth: u32,
    /// Blocks that wait for root and branches.
    pub waiting: u64,
    /// Flows with packets in the tree whose path leads through the root; in order.
    pub contributors: Vec<Ends>,
    /// Flows with packets in the tree, or blocked behind it, whose path does not lead through the root; in order.
    pub victims: Vec<Ends>,
}

/// All trees, by root. An outlet is congested if more waits for it than the part `fill` of the buffer behind its link;
/// with `None`, if its switch's congestion control says so.
pub fn congestion_trees(
    snapshot: &Snapshot,
    graph: &Graph,
    (router, multicast): (&Router, &MulticastTables),
    fill: Option<f64>,
) -> Vec<CongestionTree> {
    let outlets = Outlets::new(snapshot, fill);
    if !outlets.states.iter().any(|state| state.congested) {
        return Vec::new();
    }
    let places = places(&outlets.states, &mut outlets.parents());
    let mut forest = grow(&outlets.states, &places);
    let mut ways = Ways { graph, router, multicast, snapshot, hops: Vec::new() };
    sort_flows(&mut ways, &outlets, &places, &mut forest);
    forest.trees
}

/// The trees by root, and the number of the tree of each outlet that is a root.
struct Forest {
    trees: Vec<CongestionTree>,
    tree_of: Vec<u32>,
}

fn grow(states: &[State], places: &[Place]) -> Forest {
    let is_congested_root = |&root: &u32| {
        places[root as usize] == Place::Inside { root, depth: 0 } && states[root as usize].congested
    };
    let mut roots: Vec<u32> = (0..states.len() as u32).filter(is_congested_root).collect();
    roots.sort_unstable_by_key(|&root| states[root as usize].outlet);
    let tree = |&root: &u32| CongestionTree {
        root: states[root as usize].outlet,
        branches: Vec::new(),
        depth: 0,
        waiting: 0,
        contributors: Vec::new(),
        victims: Vec::new(),
    };
    let mut trees: Vec<CongestionTree> = roots.iter().map(tree).collect();
    let mut tree_of = vec![NONE; states.len()];
    roots.iter().zip(0..).for_each(|(&root, number)| tree_of[root as usize] = number);
    for (state, place) in states.iter().zip(places).filter(|(state, _)| state.congested) {
        let Place::Inside { root, depth } = *place else { continue };
        let tree = &mut trees[tree_of[root as usize] as usize];
        tree.waiting += u64::from(state.waiting);
        tree.depth = tree.depth.max(depth);
        if state.outlet != tree.root {
            tree.branches.push(state.outlet);
        }
    }
    for tree in &mut trees {
        tree.branches.sort_unstable();
    }
    Forest { trees, tree_of }
}

/// A flow with packets in a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    /// Number of the tree.
    tree: u32,
    ends: Ends,
    /// Buffer and outlet of the packet, and true if it is behind one for another output: the first of a flow counts.
    buffer: u32,
    outlet: OutputLane,
    is_behind: bool,
    pile: u32,
}

/// Separates contributors from victims.
fn sort_flows(ways: &mut Ways<'_>, outlets: &Outlets<'_>, places: &[Place], forest: &mut Forest) {
    let own = ways.snapshot.queueing == Queueing::Voq;
    let mut members: Vec<Member> = Vec::new();
    for (pile, number) in outlets.piles.iter().zip(0..) {
        let Place::Inside { root, .. } = places[pile.outlet as usize] else { continue };
        let tree = forest.tree_of[root as usize];
        let (buffer, outlet) = (pile.buffer, outlets.states[pile.outlet as usize].outlet);
        let mut before = None;
        for (place, packet) in ways.snapshot.packets(pile.queue).iter().enumerate() {
            let ends = (packet.source, packet.destination);
            if before != Some(ends) {
                let is_behind = !own && place > 0;
                members.push(Member { tree, ends, buffer, outlet, is_behind, pile: number });
            }
            before = Some(ends);
        }
    }
    members.sort_unstable();
    members.dedup_by_key(|member| (member.tree, member.ends));
    for Member { tree, ends, outlet, is_behind, pile, .. } in members {
        let tree = &mut forest.trees[tree as usize];
        let pile = (&outlets.piles[pile as usize], outlet);
        let contributes = ways.lead_through(tree.root.port, pile, is_behind, ends.1);
        if contributes { tree.contributors.push(ends) } else { tree.victims.push(ends) }
    }
}

#[cfg(test)]
mod tests {
    use super::outlets::tests::{BRANCH, HELD_UP, ROOT, parents, states};
    use super::*;

    #[test]
    fn trees_count_what_is_congested() {
        let of = states(&[ROOT, BRANCH, HELD_UP, BRANCH]);
        let mut parents = parents(4, &[(1, 0), (2, 1), (3, 2)]);
        let Forest { trees, tree_of } = grow(&of, &places(&of, &mut parents));
        let outlet = |port| OutputLane { port, lane: 0 };
        let [tree] = trees.as_slice() else { panic!("{trees:?}") };
        assert_eq!((tree.branches.as_slice(), tree.depth), ([outlet(1), outlet(3)].as_slice(), 3));
        assert_eq!((tree.waiting, tree_of), (30, vec![0, NONE, NONE, NONE]));
    }
}
