//! Switches and links in Nue's order, and the complete channel-dependency graph between them.

use crate::Tables;
use crate::engines::heap::Heap;
use crate::fabric::Fabric;

/// Distance of what is not reached.
pub(super) const FAR: u64 = u64::MAX / 4;

/// No link or channel.
pub(super) const NO: u32 = u32::MAX;

/// A switch.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Switch of the fabric.
    pub(super) switch: usize,
    /// First of its links, and the end.
    pub(super) links: std::ops::Range<usize>,
    /// LIDs at the switch, its own included; modulo 256 as in OpenSM.
    terminals: u64,
    /// Distance to the destination.
    pub(super) distance: u64,
    /// Link by which the switch was reached.
    pub(super) used: u32,
    /// Other links that could have been used.
    pub(super) stack: Vec<u32>,
    /// Hops to the destination as OpenSM counts them: only where a search goes forward.
    pub(super) hops: u8,
    /// Step back after which the switch was found.
    pub(super) found_after: i32,
    /// Link of the spanning tree to the switch.
    pub(super) escape: u32,
    pub(super) in_hull: bool,
    pub(super) has_destinations: bool,
}

/// A link in the direction away from destinations.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Port of `to`.
    back: u8,
    /// The link in the other direction.
    pub(super) reverse: u32,
    pub(super) weight: u64,
    /// Distance of the channel in the last search.
    pub(super) distance: u64,
}

/// The network. Channels are links; the channel of a destination at node n is number `links + n`.
pub(super) struct Network {
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    /// Node of each switch of the fabric.
    pub(super) node_of: Vec<usize>,
    /// First dependency of each channel, and their number at the end.
    pub(super) first_edge: Vec<u32>,
    /// Channel at the end of each dependency.
    pub(super) edge_to: Vec<u32>,
    pub(super) node_heap: Heap,
    pub(super) link_heap: Heap,
}

impl Network {
    pub(super) fn new(fabric: &Fabric<'_>) -> Self {
        // OpenSM sorts by LIDs in network byte order
        let key = |at: usize| (fabric.switch_lid(at) as u16).swap_bytes();
        let mut order: Vec<usize> = (0..fabric.len()).collect();
        order.sort_by_key(|&at| key(at));
        let mut node_of = vec![0; fabric.len()];
        order.iter().enumerate().for_each(|(node, &at)| node_of[at] = node);
        let routed = fabric
            .ends
            .iter()
            .filter(|end| crate::engines::sssp::kind(fabric, end) != crate::NodeKind::Router);
        let total: u64 = routed.map(|end| 1 << end.lmc).sum();
        let loads = crate::engines::sssp::destinations(fabric);
        let mut links: Vec<Link> = Vec::new();
        let mut nodes = Vec::with_capacity(order.len());
        let mut link_of = vec![NO; fabric.num_ports()];
        for &switch in &order {
            let first = links.len();
            for (port, next, back) in fabric.switch_links(switch) {
                // While a switch fails, a sweep may find one side of a link only: no path may go back on it.
                if !fabric.switch_links(next).any(|(other, to, _)| other == back && to == switch) {
                    continue;
                }
                link_of[fabric.first_port(switch) + port] = links.len() as u32;
                links.push(Link {
                    from: node_of[switch] as u32,
                    to: node_of[next] as u32,
                    back: back as u8,
                    reverse: NO,
                    weight: total * total,
                    distance: 0,
                });
            }
            nodes.push(Node {
                switch,
                links: first..links.len(),
                terminals: loads[switch] & 0xff,
                distance: FAR,
                used: NO,
                stack: Vec::new(),
                hops: 0,
                found_after: -1,
                escape: NO,
                in_hull: false,
                has_destinations: false,
            });
        }
        for link in &mut links {
            link.reverse = link_of[fabric.first_port(order[link.to as usize]) + usize::from(link.back)];
        }
        let (first_edge, edge_to) = dependencies(&nodes, &links);
        let (node_heap, link_heap) = (Heap::new(nodes.len()), Heap::new(links.len()));
        Self { nodes, links, node_of, first_edge, edge_to, node_heap, link_heap }
    }

    /// Dependencies of a channel.
    pub(super) fn edges(&self, channel: u32) -> std::ops::Range<usize> {
        self.first_edge[channel as usize] as usize..self.first_edge[channel as usize + 1] as usize
    }

    /// The dependency between two channels.
    pub(super) fn edge(&self, from: u32, to: u32) -> Option<usize> {
        self.edges(from).find(|&edge| self.edge_to[edge] == to)
    }

    /// Channel of a destination at a node.
    pub(super) fn source_channel(&self, node: usize) -> u32 {
        (self.links.len() + node) as u32
    }

    /// True if two channels go back and forth between two switches.
    pub(super) fn turns_back(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.links[a as usize], &self.links[b as usize]);
        a.from == b.to && a.to == b.from
    }

    /// Writes the paths of the last search into tables, and the hops of the last search: OpenSM does not count those of escape paths.
    pub(super) fn write(
        &self,
        (tables, hops): (&mut Tables, &mut [u8]),
        lid: usize,
        (destination, port): (usize, Option<u8>),
    ) {
        let width = usize::from(tables.max_lid()) + 1;
        for (index, node) in self.nodes.iter().enumerate() {
            let port = match node.used {
                NO if index == destination => port,
                NO => None,
                link => Some(self.links[link as usize].back),
            };
            if let Some(port) = port {
                tables.row_mut(node.switch)[lid] = port;
                hops[node.switch * width + lid] = node.hops;
            }
        }
    }

    /// Adds the sources of the last search to the weights of the links on their paths.
    pub(super) fn add_weights(&mut self, destination: usize) {
        for start in (0..self.nodes.len()).filter(|&start| start != destination) {
            let weight = self.nodes[start].terminals;
            let mut at = start;
            // paths have no loops: the bound is for fabrics that were not reached
            for _ in 0..self.nodes.len() {
                let used = self.nodes[at].used;
                if at == destination || used == NO {
                    break;
                }
                let link = &mut self.links[used as usize];
                link.weight += weight;
                at = link.from as usize;
            }
        }
    }
}

/// Dependencies of all channels: on the links of the next switch, but the one back.
fn dependencies(nodes: &[Node], links: &[Link]) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0];
    let mut to = Vec::new();
    for link in links {
        to.extend(
            nodes[link.to as usize]
                .links
                .clone()
                .map(|next| next as u32)
                .filter(|&next| next != link.reverse),
        );
        first.push(to.len() as u32);
    }
    for node in nodes {
        to.extend(node.links.clone().map(|next| next as u32));
        first.push(to.len() as u32);
    }
    (first, to)
}
