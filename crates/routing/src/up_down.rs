//! Up and down a fat tree: up to a common ancestor, then down the only route to the destination. Free of deadlock,
//! because no packet goes up after it went down.
//!
//! Deterministic: d-mod-k (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real
//! life fat trees", 2010): from level l a packet for host d goes to parent `floor(d / (w_1 ... w_l)) mod w_(l+1)`.
//! The links upwards depend on the destination only, so each root, and each link downwards, serves destinations of its own.
//!
//! Adaptive and random: all parents are proposed, that of d-mod-k first; the switch takes the least loaded, or any.

use fabricsim_model::Hop;
use fabricsim_topology::{Graph, Node, TreeShape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{AnyPolicy, Dateline, Exit, LanePolicy, LinkRole};
use crate::route_table::RouteTable;
use crate::wiring::beyond;
use crate::{At, PortRouting};

/// Policy of a packet on the links upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upwards {
    /// By d-mod-k.
    Fixed,
    /// By the least loaded parent.
    Adaptive,
    /// By any parent.
    Random,
}

/// Up/down routing on a fat tree. Needs 8 bytes per host and level.
#[derive(Clone, Debug)]
pub struct UpDown {
    levels: usize,
    stages: Vec<Stage>,
    /// Ports of all switches: down by child number, then up by parent number.
    ports: Vec<PortNo>,
    /// For every host, what the switches of each level from 1 need to know of it.
    targets: Vec<Target>,
    upwards: Upwards,
    /// By switch and host, in small trees where every route is fixed.
    by_host: RouteTable,
    lanes: AnyPolicy,
}

/// A switch.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Number of its subtree among those of its level.
    subtree: u32,
    /// Place of its first port downwards, and upwards, in the list of all ports.
    down: u32,
    up: u32,
    parents: u16,
    level: u8,
}

/// A host, seen from a level.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The subtree of that level that it is in.
    subtree: u32,
    /// The child to go down to.
    child: u16,
    /// The parent to go up to (d-mod-k).
    parent: u16,
}

impl UpDown {
    /// Routing on the tree `shape` of `graph` with a lane policy.
    pub fn new(graph: &Graph, shape: &TreeShape, upwards: Upwards, lanes: AnyPolicy) -> Self {
        let (stages, ports) = stages(graph, shape);
        let mut targets = Vec::with_capacity(graph.hosts.len() * shape.children.len());
        for host in &graph.hosts {
            let stage = &stages[host.switch.index()];
            let children = &ports[stage.down as usize..stage.up as usize];
            let child = children.iter().position(|&port| port == host.port).unwrap_or_default();
            targets.extend(seen_from_levels(stage.subtree * shape.children[0] + child as u32, shape));
        }
        let dateline = Dateline::new(lanes.all().count);
        let by_host = RouteTable::none(dateline);
        let levels = shape.children.len();
        let mut routing = Self { levels, stages, ports, targets, upwards, by_host, lanes };
        if upwards == Upwards::Fixed {
            let route = |at, to| routing.lanes.compile(routing.fixed(at, to));
            routing.by_host = RouteTable::new(graph.switches.len(), graph.hosts.len(), dateline, route);
        }
        routing
    }

    /// The exit down, or up by d-mod-k.
    fn fixed(&self, at: SwitchId, to: HostId) -> Exit {
        let stage = &self.stages[at.index()];
        let target = self.targets[to.index() * self.levels + usize::from(stage.level) - 1];
        if stage.subtree != target.subtree {
            return self.exit(stage.up + u32::from(target.parent), LinkRole::Between);
        }
        let role = if stage.level == 1 { LinkRole::ToHost } else { LinkRole::Between };
        self.exit(stage.down + u32::from(target.child), role)
    }

    #[inline]
    fn exit(&self, port: u32, role: LinkRole) -> Exit {
        Exit { port: self.ports[port as usize], role }
    }

    /// The exit if there is no choice: down, or up the one port of the deterministic routing.
    #[inline]
    fn only_exit(&self, at: SwitchId, to: HostId) -> Option<Exit> {
        let stage = &self.stages[at.index()];
        let target = self.targets[to.index() * self.levels + usize::from(stage.level) - 1];
        let fixed = stage.subtree == target.subtree || self.upwards == Upwards::Fixed;
        fixed.then(|| self.fixed(at, to))
    }

    /// The hop if there is no choice, where there is no table.
    #[inline(never)]
    fn computed_hop(&self, at: At, to: HostId) -> Option<Hop> {
        self.only_exit(at.switch, to).map(|exit| self.hop(at, exit))
    }
}

impl PortRouting for UpDown {
    type Lanes = AnyPolicy;

    fn lanes(&self) -> &AnyPolicy {
        &self.lanes
    }

    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        if let Some(only) = self.only_exit(at.switch, to) {
            return each(only);
        }
        let stage = &self.stages[at.switch.index()];
        let target = self.targets[to.index() * self.levels + usize::from(stage.level) - 1];
        let (first, parents) = (u32::from(target.parent), u32::from(stage.parents));
        let ups = (first..parents).chain(0..first);
        ups.for_each(|parent| each(self.exit(stage.up + parent, LinkRole::Between)));
    }

    #[inline(always)]
    fn only_hop(&self, at: At, to: HostId) -> Option<Hop> {
        match self.by_host.hop(at.switch, at.in_port, at.lane, to) {
            Some(hop) => Some(hop),
            None => self.computed_hop(at, to),
        }
    }

    fn route_table(&self) -> Option<&RouteTable> {
        Some(&self.by_host)
    }

    #[inline]
    fn is_adaptive(&self) -> bool {
        self.upwards == Upwards::Adaptive
    }

    #[inline]
    fn is_random(&self) -> bool {
        self.upwards == Upwards::Random
    }
}

/// Digit `i`, from 1, of a switch's label `[level, digit h, ..., digit 1]`.
fn digit(coordinates: &[u32], i: usize) -> u32 {
    coordinates[coordinates.len() - i]
}

fn stages(graph: &Graph, shape: &TreeShape) -> (Vec<Stage>, Vec<PortNo>) {
    let height = shape.children.len();
    let mut ports = Vec::new();
    let mut stages = Vec::with_capacity(graph.switches.len());
    for (index, switch) in graph.switches.iter().enumerate() {
        let id = SwitchId(index as u32);
        let level = shape.level[index];
        let above = usize::from(level) + 1..=height;
        let subtree = above.rev().fold(0, |n, i| n * shape.children[i - 1] + digit(&switch.coordinates, i));
        let down = ports.len() as u32;
        ports.extend(by_digit(graph, id, 0..shape.down[index].0, usize::from(level)));
        let up = ports.len() as u32;
        ports.extend(by_digit(
            graph,
            id,
            shape.down[index].0..switch.ports.len() as u16,
            usize::from(level) + 1,
        ));
        let parents = (ports.len() as u32 - up) as u16;
        stages.push(Stage { subtree, down, up, parents, level });
    }
    (stages, ports)
}

/// Those of a switch's ports, in the order of digit `i` of the switches that they lead to; hosts by port.
fn by_digit(graph: &Graph, at: SwitchId, ports: std::ops::Range<u16>, i: usize) -> Vec<PortNo> {
    let mut sorted: Vec<(u32, PortNo)> = ports
        .map(PortNo)
        .map(|port| match beyond(graph, at, port).map(|end| end.node) {
            Some(Node::Switch(next)) => (digit(&graph.switches[next.index()].coordinates, i), port),
            _ => (u32::from(port.0), port),
        })
        .collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, port)| port).collect()
}

/// Returns the targets that the switches of level 1, 2, ... see for the host with number `host` in the tree.
fn seen_from_levels(host: u32, shape: &TreeShape) -> Vec<Target> {
    let mut subtree = host;
    let mut shifted = host;
    let levels = shape.children.iter().zip(&shape.parents).enumerate();
    levels
        .map(|(below, (children, parents))| {
            let child = (subtree % children) as u16;
            subtree /= children;
            shifted /= parents;
            let above = shape.parents.get(below + 1).map_or(0, |next| shifted % next);
            Target { subtree, child, parent: above as u16 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use fabricsim_topology::Shape;

    use fabricsim_units::Vl;

    use super::*;
    use crate::samples::{hosts, network};
    use crate::{Router, RoutingFunction, path};

    fn level(graph: &Graph, at: SwitchId) -> u32 {
        graph.switches[at.index()].coordinates[0]
    }

    const TREES: [&str; 3] = [
        "fat-tree = { arity = 4, levels = 3 }",
        "xgft = { children = [3, 2, 4], parents = [1, 2, 3] }",
        "xgft = { children = [6, 4], parents = [1, 3] }",
    ];

    /// D-mod-k: all packets for a host, from wherever they come, go up to the same root, and down the same route.
    #[test]
    fn each_destination_has_a_root_of_its_own() {
        for tree in TREES {
            let (graph, router) = network(tree, "", 1);
            let top = graph.switches.iter().map(|switch| switch.coordinates[0]).max().unwrap();
            let mut served: BTreeMap<SwitchId, BTreeSet<HostId>> = BTreeMap::new();
            for to in hosts(&graph) {
                for from in hosts(&graph) {
                    let route = path(&router, &graph, from, to);
                    if let Some((root, _)) = route.iter().find(|(at, _)| level(&graph, *at) == top) {
                        served.entry(*root).or_default().insert(to);
                    }
                }
            }
            let roots = graph.switches.iter().filter(|switch| switch.coordinates[0] == top).count();
            let all: usize = served.values().map(BTreeSet::len).sum();
            assert_eq!(all, graph.hosts.len(), "{tree}: a destination by two roots");
            assert_eq!(served.len(), roots, "{tree}: a root without work");
            // Evenly, as far as the numbers allow.
            let counts: Vec<usize> = served.values().map(BTreeSet::len).collect();
            let (fewest, most) = (graph.hosts.len() / roots, graph.hosts.len().div_ceil(roots));
            assert!(counts.iter().all(|n| (fewest..=most).contains(n)), "{tree}: {counts:?}");
        }
    }

    /// A k-ary n-tree carries every shift permutation without a link used twice (Zahavi 2010).
    #[test]
    fn shifts_do_not_meet() {
        let (graph, router) = network(TREES[0], "", 1);
        let n = graph.hosts.len() as u32;
        for shift in 1..n {
            let mut used = BTreeSet::new();
            for from in 0..n {
                for (at, hop) in path(&router, &graph, HostId(from), HostId((from + shift) % n)) {
                    assert!(used.insert((at, hop.port)), "shift by {shift}: {at} {}", hop.port);
                }
            }
        }
    }

    #[test]
    fn adaptive_offers_every_parent_and_one_child() {
        for tree in TREES {
            let (graph, router) = network(tree, "algorithm = \"up-down-adaptive\"", 2);
            let (_, random) = network(tree, "algorithm = \"up-down-random\"", 2);
            assert!(
                router.is_adaptive() && !router.is_random() && random.is_random() && !random.is_adaptive()
            );
            let (_, fixed) = network(tree, "", 2);
            let Shape::Tree(shape) = &graph.shape else { panic!("not a tree") };
            let (mut all, mut one) = (Vec::new(), Vec::new());
            for at in (0..graph.switches.len() as u32).map(SwitchId) {
                for to in hosts(&graph) {
                    all.clear();
                    one.clear();
                    router.hops(at, PortNo(0), Vl(0), to, &mut all);
                    fixed.hops(at, PortNo(0), Vl(0), to, &mut one);
                    assert_eq!(all[0], one[0], "d-mod-k first");
                    let ports: BTreeSet<PortNo> = all.iter().map(|hop| hop.port).collect();
                    let down = shape.down[at.index()];
                    if all[0].port < down {
                        assert_eq!(all.len(), 1);
                    } else {
                        let parents = graph.switches[at.index()].ports.len() as u16;
                        assert!(ports.into_iter().eq((down.0..parents).map(PortNo)), "{tree}");
                    }
                }
            }
        }
    }

    /// Whichever parent is taken, the packet arrives, up first and then down.
    #[test]
    fn all_ways_lead_there() {
        let (graph, router) = network(TREES[1], "algorithm = \"up-down-adaptive\"", 1);
        assert!(matches!(router, Router::UpDown(_)));
        for to in hosts(&graph) {
            for from in hosts(&graph) {
                let mut open = vec![(graph.hosts[from.index()].switch, false)];
                while let Some((at, went_down)) = open.pop() {
                    let mut hops = Vec::new();
                    router.hops(at, PortNo(0), Vl(0), to, &mut hops);
                    for hop in hops {
                        match beyond(&graph, at, hop.port).unwrap().node {
                            Node::Host(host) => assert_eq!(host, to),
                            Node::Switch(next) => {
                                let down = level(&graph, next) < level(&graph, at);
                                assert!(down || !went_down, "up after down");
                                open.push((next, down));
                            }
                        }
                    }
                }
            }
        }
    }
}
