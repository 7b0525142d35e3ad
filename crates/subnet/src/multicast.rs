//! Spanning trees of multicast groups, as OpenSM builds them (`osm_mcast_mgr.c`): around the switch from which the farthest member is the fewest
//! hops away, along the first port, by number, of each shortest path.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{NodeId, PortId, Subnet};

/// A cable from a switch to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The port of this switch.
    pub port: u16,
    /// The place of the other switch in the list.
    pub to: usize,
    /// The port of the other switch.
    pub to_port: u16,
}

/// The cables of each switch in ascending order of ports; switches in ascending order of GUIDs.
pub type Cables = [Vec<Cable>];

/// The first multicast LID. The last is 0xFFFE.
pub const FIRST_MULTICAST_LID: u16 = 0xc000;

/// Ports by which the switches of a subnet send packets for a group, but for the one that a packet comes in by: those of the tree that connects the
/// switches of `members` and `senders` and lead to members.
pub fn ports(subnet: &Subnet, members: &[PortId], senders: &[PortId]) -> BTreeMap<NodeId, BTreeSet<u8>> {
    let mut switches: Vec<NodeId> =
        subnet.ids().filter(|(_, node)| node.is_switch()).map(|(id, _)| id).collect();
    switches.sort_by_key(|&id| subnet.node(id).guid);
    let place: BTreeMap<NodeId, usize> = (0..).zip(&switches).map(|(place, &id)| (id, place)).collect();
    let cables = |&id: &NodeId| {
        let ports = (0_u16..).zip(&subnet.node(id).ports).skip(1);
        let cable = |(port, state): (u16, &crate::Port)| {
            let peer = state.peer?;
            Some(Cable { port, to: *place.get(&peer.node)?, to_port: peer.port.into() })
        };
        ports.filter_map(cable).collect()
    };
    let cables: Vec<Vec<Cable>> = switches.iter().map(cables).collect();
    let beside = |&port: &PortId| subnet.port(port).peer.filter(|peer| place.contains_key(&peer.node));
    let switches_of = |ports: &[PortId]| -> Vec<usize> {
        ports.iter().filter_map(beside).map(|port| place[&port.node]).collect()
    };
    let between = spanning_tree(&cables, &switches_of(members), &switches_of(senders));
    let mut all: BTreeMap<NodeId, BTreeSet<u8>> = BTreeMap::new();
    for (&switch, ports) in switches.iter().zip(between).filter(|(_, ports)| !ports.is_empty()) {
        all.insert(switch, ports.into_iter().map(|port| port as u8).collect());
    }
    for port in members.iter().filter_map(beside) {
        all.entry(port.node).or_default().insert(port.port);
    }
    all
}

/// Ports between switches, by switch in ascending order, of the tree that connects the switches `members` and `senders`, without the ports behind
/// which there are no members. In each connected part of the fabric there is a tree.
pub fn spanning_tree(cables: &Cables, members: &[usize], senders: &[usize]) -> Vec<Vec<u16>> {
    let mut ports = vec![Vec::new(); cables.len()];
    let mut left: BTreeMap<usize, bool> = senders.iter().map(|&sender| (sender, false)).collect();
    left.extend(members.iter().map(|&member| (member, true)));
    while let Some((&first, _)) = left.first_key_value() {
        let distance = distances(cables, first);
        let (part, others) = left.into_iter().partition(|&(end, _)| distance[end] != FAR);
        add_tree(cables, &part, &mut ports);
        left = others;
    }
    for ports in &mut ports {
        ports.sort_unstable();
    }
    ports
}

/// Distance of a switch that cannot be reached.
const FAR: u32 = u32::MAX;

/// Adds the tree of switches that can reach each other, each with whether it has members.
fn add_tree(cables: &Cables, ends: &BTreeMap<usize, bool>, ports: &mut [Vec<u16>]) {
    let distances: Vec<Vec<u32>> = ends.keys().map(|&end| distances(cables, end)).collect();
    let farthest = |switch: usize| distances.iter().map(|distance| distance[switch]).max().unwrap_or(0);
    let Some(root) = (0..cables.len()).min_by_key(|&switch| farthest(switch)) else { return };
    // For each cable of the tree, the switches with members behind it.
    let mut behind: BTreeMap<(usize, u16), (&Cable, usize)> = BTreeMap::new();
    for (&has_members, distance) in ends.values().zip(&distances) {
        let mut at = root;
        // The first port of every shortest path: two paths that meet have come the same way.
        while let Some(cable) = first_nearer(&cables[at], distance, at) {
            behind.entry((at, cable.port)).or_insert((cable, 0)).1 += usize::from(has_members);
            at = cable.to;
        }
    }
    let all = ends.values().filter(|&&has_members| has_members).count();
    for ((at, port), (cable, members)) in behind {
        if members > 0 {
            ports[at].push(port);
        }
        if members < all {
            ports[cable.to].push(cable.to_port);
        }
    }
}

/// The first cable that leads nearer to the switch to which `distance` is known; `None` there.
fn first_nearer<'a>(cables: &'a [Cable], distance: &[u32], at: usize) -> Option<&'a Cable> {
    cables.iter().find(|cable| distance[cable.to].checked_add(1) == Some(distance[at]))
}

/// Hops from every switch to `target`.
fn distances(cables: &Cables, target: usize) -> Vec<u32> {
    let mut distance = vec![FAR; cables.len()];
    let mut queue = VecDeque::from([target]);
    distance[target] = 0;
    while let Some(at) = queue.pop_front() {
        for cable in &cables[at] {
            if distance[cable.to] == FAR {
                distance[cable.to] = distance[at] + 1;
                queue.push_back(cable.to);
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cables between switches, each port in order of the list.
    fn cables(switches: usize, pairs: &[(usize, usize)]) -> Vec<Vec<Cable>> {
        let mut cables = vec![Vec::new(); switches];
        for &(a, b) in pairs {
            let (port, to_port) =
                (cables[a].len() as u16 + 1, cables[b].len() as u16 + 1 + u16::from(a == b));
            cables[a].push(Cable { port, to: b, to_port });
            cables[b].push(Cable { port: to_port, to: a, to_port: port });
        }
        cables
    }

    /// The number of copies of a packet from `from` that arrive at each switch, and the switches where a copy does not go on.
    fn reached(cables: &Cables, ports: &[Vec<u16>], from: usize) -> (Vec<u32>, Vec<usize>) {
        let (mut count, mut ends) = (vec![0; cables.len()], Vec::new());
        let mut copies = vec![(from, 0_u16)];
        while let Some((at, input)) = copies.pop() {
            count[at] += 1;
            assert!(count[at] < 3, "a copy comes back");
            let before = copies.len();
            let outputs =
                cables[at].iter().filter(|cable| cable.port != input && ports[at].contains(&cable.port));
            copies.extend(outputs.map(|cable| (cable.to, cable.to_port)));
            if copies.len() == before {
                ends.push(at);
            }
        }
        (count, ends)
    }

    /// A chain of five: its middle is the root, and the ends of the chain without members are left out.
    #[test]
    fn a_tree_has_no_more_than_it_needs() {
        let chain = cables(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(spanning_tree(&chain, &[1, 3], &[]), [vec![], vec![2], vec![1, 2], vec![1], vec![]]);
        assert_eq!(spanning_tree(&chain, &[2], &[]), vec![Vec::<u16>::new(); 5]);
        // Packets of a sender at an end go to the members, and none go to the sender.
        assert_eq!(spanning_tree(&chain, &[1, 3], &[4]), [vec![], vec![2], vec![1, 2], vec![1], vec![1]]);
        assert_eq!(spanning_tree(&chain, &[2], &[0, 4]), [vec![1], vec![2], vec![], vec![1], vec![1]]);
    }

    /// Of a ring of four with members everywhere, the first switch is the root, and the far one is reached by its first port.
    #[test]
    fn the_first_switch_and_the_first_port_are_chosen() {
        let ring = cables(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        // 0 - 1 - 2 and 0 - 3: the cable 2 - 3 is not used.
        assert_eq!(spanning_tree(&ring, &[0, 1, 2, 3], &[]), [vec![1, 2], vec![1, 2], vec![1], vec![2]]);
    }

    #[test]
    fn each_part_of_a_fabric_has_its_tree() {
        let parts = cables(5, &[(0, 1), (3, 4)]);
        assert_eq!(spanning_tree(&parts, &[0, 1, 3, 4], &[]), [vec![1], vec![1], vec![], vec![1], vec![1]]);
    }

    proptest! {
        /// From any member or sender, every member of its part is reached by exactly one copy, and no copy ends where there is none,
        /// whatever the fabric: several cables between two switches, cycles, parts.
        #[test]
        fn one_copy_reaches_each_member(
            switches in 1_usize..12,
            pairs in prop::collection::vec((0_usize..12, 0_usize..12), 0..30),
            ends in prop::collection::vec((0_usize..12, any::<bool>()), 1..8),
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (a % switches, b % switches)).filter(|(a, b)| a != b).collect();
            let of = |member: bool| -> Vec<usize> {
                ends.iter().filter(|end| end.1 == member).map(|end| end.0 % switches).collect()
            };
            let (members, senders) = (of(true), of(false));
            let cables = cables(switches, &pairs);
            let ports = spanning_tree(&cables, &members, &senders);
            for &from in members.iter().chain(&senders) {
                let ((reached, ends), distance) = (reached(&cables, &ports, from), distances(&cables, from));
                for &to in &members {
                    prop_assert_eq!(reached[to], u32::from(distance[to] != FAR));
                }
                let has_member = members.iter().any(|&to| distance[to] != FAR);
                prop_assert!(!has_member || ends.iter().all(|at| members.contains(at)), "{:?}", ends);
            }
        }
    }
}
