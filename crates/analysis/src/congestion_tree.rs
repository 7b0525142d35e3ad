//! Congestion trees: congested outputs, the buffers blocked behind them, and the flows of their packets.
//!
//! An *outlet* is an output port and a virtual lane (the first, where packets may take several). It is *congested* if
//! the switch's congestion control says so, or without any if more waits for it than a part of an input buffer. One that has credits, or leads to a host, is the *root* of a tree; one that
//! has none waits for the buffer at the next switch, and so for the outlet that most of that buffer waits for: it is a
//! *branch* of that outlet's tree. (The port states of the InfiniBand Architecture Specification, annex A10: root and
//! victim of congestion.) Packets in a tree belong to a *contributor* if their path leads through the root, to a
//! *victim* otherwise.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fabricsim_engine::{Queue, Snapshot};
use fabricsim_routing::{MulticastTables, Router, RoutingFunction};
use fabricsim_spec::Queueing;
use fabricsim_topology::{End, Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

/// An output port of the fabric (see [`Observer`]) and a virtual lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputLane {
    /// Sending port: a direction of a link.
    pub port: u32,
    /// Virtual lane; the first, where packets may take several.
    pub lane: u8,
}

/// Source and destination.
pub type Ends = (HostId, HostId);

/// A congestion tree at one time: a congested outlet and the packets that wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Packets in an input buffer that wait for the same outlet, or behind one that does.
struct Backlog<'a> {
    /// The buffer: the sending port that leads to it, and the lane.
    buffer: (u32, u8),
    outlet: OutputLane,
    queue: &'a Queue,
}

/// Known state of an outlet.
struct State {
    waiting: u32,
    congested: bool,
    /// True if one of the heads has credits.
    has_credits: bool,
    to_host: bool,
    /// Number of lanes from the outlet's own on.
    lanes: u8,
}

impl State {
    /// True if it waits for a buffer of the next switch.
    fn is_blocked(&self) -> bool {
        !self.has_credits && !self.to_host
    }
}

type States = BTreeMap<OutputLane, State>;

/// The root of the tree that an outlet belongs to, and the links to it.
type Places = BTreeMap<OutputLane, Option<(OutputLane, u32)>>;

/// All trees, by root. An outlet is congested if more waits for it than the part `fill` of the buffer behind its link;
/// with `None`, if its switch's congestion control says so.
pub fn congestion_trees(
    snapshot: &Snapshot,
    graph: &Graph,
    (router, multicast): (&Router, &MulticastTables),
    fill: Option<f64>,
) -> Vec<CongestionTree> {
    let (mut piles, mut states) = (Vec::new(), States::new());
    for queue in &snapshot.queues {
        gather(snapshot, queue, fill, &mut piles, &mut states);
    }
    if !states.values().any(|state| state.congested) {
        return Vec::new();
    }
    piles.sort_unstable_by_key(|pile| (pile.buffer, pile.outlet));
    let places = places(&states, &mut parents(&states, &piles));
    let mut trees = grow(&states, &places);
    let mut ways = Ways { graph, router, multicast, snapshot, hops: Vec::new() };
    sort_flows(&mut ways, &piles, &places, &mut trees);
    trees.into_values().collect()
}

/// Adds a queue to the piles, and to the state of the outlet that it waits for.
fn gather<'a>(
    snapshot: &Snapshot,
    queue: &'a Queue,
    fill: Option<f64>,
    piles: &mut Vec<Backlog<'a>>,
    states: &mut States,
) {
    let lanes = snapshot.ahead(queue);
    let outlet = OutputLane { port: queue.output, lane: lanes[0].lane.0 };
    let to_host = queue.to_host;
    let state = states.entry(outlet).or_insert(State {
        waiting: 0,
        congested: false,
        has_credits: false,
        to_host,
        lanes: 0,
    });
    state.waiting += queue.blocks;
    state.has_credits |= !to_host && snapshot.has_space(queue, queue.head_blocks);
    state.lanes = state.lanes.max(lanes.len() as u8);
    state.congested = match (fill, queue.congested) {
        (None, Some(congested)) => congested,
        (fill, _) => f64::from(state.waiting) > f64::from(lanes[0].capacity) * fill.unwrap_or(1.0),
    };
    piles.push(Backlog { buffer: (queue.input, queue.lane.0), outlet, queue });
}

/// For each outlet that waits for a buffer the outlet that most of that buffer waits for, if that one is congested or
/// waits itself.
fn parents(states: &States, piles: &[Backlog<'_>]) -> BTreeMap<OutputLane, OutputLane> {
    let parent = |(&outlet, state): (&OutputLane, &State)| {
        let mut held: BTreeMap<OutputLane, u32> = BTreeMap::new();
        for lane in outlet.lane..outlet.lane + state.lanes {
            for pile in in_buffer(piles, (outlet.port, lane)) {
                *held.entry(pile.outlet).or_default() += pile.queue.blocks;
            }
        }
        let holds_up = |next: &OutputLane| states[next].congested || states[next].is_blocked();
        let most = held.into_iter().filter(|(next, _)| holds_up(next));
        most.max_by_key(|&(next, blocks)| (blocks, Reverse(next))).map(|(next, _)| (outlet, next))
    };
    states.iter().filter(|(_, state)| state.is_blocked()).filter_map(parent).collect()
}

/// The piles of a buffer; all are sorted by buffer.
fn in_buffer<'a, 'b>(piles: &'b [Backlog<'a>], buffer: (u32, u8)) -> &'b [Backlog<'a>] {
    let from = piles.partition_point(|pile| pile.buffer < buffer);
    let count = piles[from..].partition_point(|pile| pile.buffer == buffer);
    &piles[from..from + count]
}

/// Follows every outlet that is congested or waits for a buffer to the root of its tree. A cycle (of a deadlock) is cut
/// at its first outlet, a congested one if there is one.
fn places(states: &States, parents: &mut BTreeMap<OutputLane, OutputLane>) -> Places {
    let mut places = Places::new();
    for (&start, _) in states.iter().filter(|(_, state)| state.congested || state.is_blocked()) {
        let (mut way, mut at) = (Vec::new(), start);
        let mut place = loop {
            if let Some(&known) = places.get(&at) {
                break known;
            }
            if let Some(from) = way.iter().position(|&seen| seen == at) {
                let cut = way[from..].iter().min_by_key(|&&outlet| (!states[&outlet].congested, outlet));
                cut.map(|outlet| parents.remove(outlet));
                (way, at) = (Vec::new(), start);
                continue;
            }
            let Some(&next) = parents.get(&at) else {
                let root = states[&at].congested.then_some((at, 0));
                places.insert(at, root);
                break root;
            };
            way.push(at);
            at = next;
        };
        for outlet in way.into_iter().rev() {
            place = place.map(|(root, depth)| (root, depth + 1));
            places.insert(outlet, place);
        }
    }
    places
}

fn grow(states: &States, places: &Places) -> BTreeMap<OutputLane, CongestionTree> {
    let mut trees = BTreeMap::new();
    for (&outlet, place) in places {
        let Some((root, depth)) = place.filter(|_| states[&outlet].congested) else { continue };
        let tree = trees.entry(root).or_insert_with(|| CongestionTree {
            root,
            branches: Vec::new(),
            depth: 0,
            waiting: 0,
            contributors: Vec::new(),
            victims: Vec::new(),
        });
        tree.waiting += u64::from(states[&outlet].waiting);
        tree.depth = tree.depth.max(depth);
        if outlet != root {
            tree.branches.push(outlet);
        }
    }
    trees
}

/// A flow with packets in a tree: the root, the flow, the pile, and true if a packet of it is behind one for another
/// output.
type Member = (OutputLane, Ends, usize, bool);

/// Separates contributors from victims.
fn sort_flows(
    ways: &mut Ways<'_>,
    piles: &[Backlog<'_>],
    places: &Places,
    trees: &mut BTreeMap<OutputLane, CongestionTree>,
) {
    let own = ways.snapshot.queueing == Queueing::Voq;
    let mut members: Vec<Member> = Vec::new();
    for (i, pile) in piles.iter().enumerate() {
        let Some(&Some((root, _))) = places.get(&pile.outlet) else { continue };
        let mut before = None;
        for (place, packet) in ways.snapshot.packets(pile.queue).iter().enumerate() {
            let ends = (packet.source, packet.destination);
            if before != Some(ends) {
                members.push((root, ends, i, !own && place > 0));
            }
            before = Some(ends);
        }
    }
    members.sort_unstable();
    members.dedup_by_key(|&mut (root, ends, ..)| (root, ends));
    for (root, ends, pile, behind) in members {
        let Some(tree) = trees.get_mut(&root) else { continue };
        let contributes = ways.lead_through(root.port, &piles[pile], behind, ends.1);
        if contributes { tree.contributors.push(ends) } else { tree.victims.push(ends) }
    }
}

/// Paths of packets from where they are.
struct Ways<'a> {
    graph: &'a Graph,
    router: &'a Router,
    multicast: &'a MulticastTables,
    snapshot: &'a Snapshot,
    hops: Vec<fabricsim_model::Hop>,
}

impl Ways<'_> {
    /// True if the path of a packet from a pile leads through a sending port. If the routing leaves a choice: the path that
    /// always takes the first hop. `behind`: the packet may be for another output than the pile's.
    fn lead_through(&mut self, port: u32, pile: &Backlog<'_>, behind: bool, to: HostId) -> bool {
        if let Some(group) = to.group() {
            return self.tree_leads_through(port, pile, behind, group);
        }
        let (mut at, mut lane) = (pile.outlet.port, Vl(pile.outlet.lane));
        if behind {
            (at, lane) = self.next((pile.queue.switch, pile.queue.in_port), pile.queue.lane, to);
        }
        for _ in 0..2 * self.graph.links.len() {
            if at == port {
                return true;
            }
            match arrival(self.graph, at) {
                End { node: Node::Host(_), .. } => return false,
                End { node: Node::Switch(switch), port } => (at, lane) = self.next((switch, port), lane, to),
            }
        }
        false
    }

    /// [`Ways::lead_through`] for a packet for a multicast group: one of its copies takes the port.
    fn tree_leads_through(&self, port: u32, pile: &Backlog<'_>, behind: bool, group: u16) -> bool {
        let outputs = |at: SwitchId, input: PortNo| {
            let ports = self.multicast.ports(at, group).iter().filter(move |&&port| port != input);
            ports.map(move |&port| self.sending_port(at, port))
        };
        let mut left: Vec<u32> = if behind {
            outputs(pile.queue.switch, pile.queue.in_port).collect()
        } else {
            vec![pile.outlet.port]
        };
        // Tables that change meanwhile could lead in a cycle.
        for _ in 0..2 * self.graph.links.len() {
            let Some(at) = left.pop() else { return false };
            if at == port {
                return true;
            }
            if let End { node: Node::Switch(switch), port } = arrival(self.graph, at) {
                left.extend(outputs(switch, port));
            }
        }
        false
    }

    fn sending_port(&self, at: SwitchId, port: PortNo) -> u32 {
        let link = self.graph.switches[at.index()].ports[port.index()];
        let from_a = self.graph.links[link.index()].a == End { node: Node::Switch(at), port };
        2 * link.0 + u32::from(!from_a)
    }

    fn next(&mut self, (at, in_port): (SwitchId, PortNo), lane: Vl, to: HostId) -> (u32, Vl) {
        // The routing knows the lanes of one service class.
        let class = self.snapshot.class_base(lane);
        let lane = Vl(lane.0 - class);
        let only = self.router.only_hop(at, in_port, lane, to);
        let hop = only.unwrap_or_else(|| {
            self.hops.clear();
            self.router.hops(at, in_port, lane, to, &mut self.hops);
            self.hops[0]
        });
        (self.sending_port(at, hop.port), Vl(hop.lanes.first.0 + class))
    }
}

/// Returns the end to which a sending port leads.
fn arrival(graph: &Graph, port: u32) -> End {
    let link = &graph.links[(port / 2) as usize];
    if port.is_multiple_of(2) { link.b } else { link.a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlet(port: u32) -> OutputLane {
        OutputLane { port, lane: 0 }
    }

    /// Outlets by number: true if it is congested, true if it has credits.
    fn states(of: &[(bool, bool)]) -> States {
        let state = |&(congested, has_credits): &(bool, bool)| State {
            waiting: 10,
            congested,
            has_credits,
            to_host: false,
            lanes: 1,
        };
        of.iter().enumerate().map(|(i, of)| (outlet(i as u32), state(of))).collect()
    }

    fn placed(of: &[(bool, bool)], waits_for: &[(u32, u32)]) -> Vec<Option<(u32, u32)>> {
        let mut parents = waits_for.iter().map(|&(from, to)| (outlet(from), outlet(to))).collect();
        let places = places(&states(of), &mut parents);
        let place = |i| places.get(&outlet(i)).copied().flatten().map(|(root, depth)| (root.port, depth));
        (0..of.len() as u32).map(place).collect()
    }

    const ROOT: (bool, bool) = (true, true);
    const BRANCH: (bool, bool) = (true, false);
    const HELD_UP: (bool, bool) = (false, false);

    #[test]
    fn branches_lead_to_their_root_also_through_outlets_that_are_not_congested() {
        let of = [ROOT, BRANCH, HELD_UP, BRANCH, (false, true)];
        let found = placed(&of, &[(1, 0), (2, 1), (3, 2)]);
        assert_eq!(found, [Some((0, 0)), Some((0, 1)), Some((0, 2)), Some((0, 3)), None]);
    }

    #[test]
    fn what_waits_for_nothing_congested_is_a_root_only_if_it_is_congested() {
        assert_eq!(placed(&[HELD_UP, HELD_UP, BRANCH], &[(1, 0)]), [None, None, Some((2, 0))]);
    }

    #[test]
    fn a_circle_has_one_root() {
        let of = [HELD_UP, BRANCH, BRANCH, BRANCH];
        let found = placed(&of, &[(0, 1), (1, 2), (2, 0), (3, 2)]);
        assert_eq!(found, [Some((1, 1)), Some((1, 0)), Some((1, 2)), Some((1, 3))]);
        assert_eq!(placed(&[HELD_UP; 2], &[(0, 1), (1, 0)]), [None, None]);
    }

    #[test]
    fn trees_count_what_is_congested() {
        let of = states(&[ROOT, BRANCH, HELD_UP, BRANCH]);
        let mut parents = [(1, 0), (2, 1), (3, 2)].map(|(a, b)| (outlet(a), outlet(b))).into();
        let trees = grow(&of, &places(&of, &mut parents));
        let tree = &trees[&outlet(0)];
        assert_eq!((tree.branches.as_slice(), tree.depth), ([outlet(1), outlet(3)].as_slice(), 3));
        assert_eq!((trees.len(), tree.waiting), (1, 30));
    }
}
