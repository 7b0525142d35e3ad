//! Distances between hosts, in links between switches.

use std::collections::VecDeque;

use fabricsim_units::SwitchId;

use crate::{Graph, GridShape, HyperXShape, Node, Shape, TreeShape};

/// Over all ordered pairs of hosts.
pub(super) struct Distances {
    /// The largest.
    pub(super) largest: u32,
    /// Their sum.
    pub(super) sum: u128,
}

impl Distances {
    /// Mean over the pairs of different hosts.
    pub(super) fn mean(&self, hosts: usize) -> Option<f64> {
        let pairs = hosts as u128 * (hosts as u128).saturating_sub(1);
        (pairs > 0).then(|| self.sum as f64 / pairs as f64)
    }
}

pub(super) fn distances(graph: &Graph) -> Option<Distances> {
    match &graph.shape {
        Shape::Grid(shape) => Some(grid(graph, shape)),
        Shape::Tree(shape) => Some(tree(shape)),
        Shape::HyperX(shape) => Some(hyperx(graph, shape)),
        Shape::Dragonfly(_) | Shape::Megafly(_) | Shape::Direct | Shape::Irregular => search(graph),
    }
}

/// The distance is a sum over the dimensions, so only the number of hosts at each coordinate matters.
fn grid(graph: &Graph, shape: &GridShape) -> Distances {
    let mut all = Distances { largest: 0, sum: 0 };
    for (d, (&radix, &wrap)) in shape.dimensions.iter().zip(&shape.wrap).enumerate() {
        let mut hosts = vec![0_u128; radix as usize];
        for host in &graph.hosts {
            hosts[graph.switches[host.switch.index()].coordinates[d] as usize] += 1;
        }
        let (sum, largest) = if wrap { around(&hosts) } else { along(&hosts) };
        all.sum += sum;
        all.largest += largest;
    }
    all
}

/// One link for every coordinate that differs.
fn hyperx(graph: &Graph, shape: &HyperXShape) -> Distances {
    let hosts = graph.hosts.len() as u128;
    let apart = |&size: &u32| hosts * (hosts - hosts / u128::from(size));
    Distances {
        largest: shape.dimensions.iter().filter(|&&size| size > 1).count() as u32,
        sum: shape.dimensions.iter().map(apart).sum(),
    }
}

/// In a line: all pairs with one host on each side cross a cable, in both orders.
fn along(hosts: &[u128]) -> (u128, u32) {
    let all: u128 = hosts.iter().sum();
    let mut before = 0;
    let mut sum = 0;
    for count in hosts {
        before += count;
        sum += 2 * before * (all - before);
    }
    (sum, hosts.len() as u32 - 1)
}

/// In a ring; every switch of a torus has the same number of hosts.
fn around(hosts: &[u128]) -> (u128, u32) {
    let radix = hosts.len();
    let from_one: usize = (0..radix).map(|place| place.min(radix - place)).sum();
    (hosts[0] * hosts[0] * (radix * from_one) as u128, (radix / 2) as u32)
}

/// Two hosts whose labels differ in digit l and in none above meet at level l, after l - 1 links up and as many down.
fn tree(shape: &TreeShape) -> Distances {
    let hosts: u128 = shape.children.iter().map(|&m| u128::from(m)).product();
    let mut all = Distances { largest: 0, sum: 0 };
    let mut below = 1;
    for (up, &children) in (0..).zip(&shape.children) {
        let within = below * u128::from(children);
        all.sum += hosts * (within - below) * 2 * u128::from(up);
        if within > below {
            all.largest = 2 * up;
        }
        below = within;
    }
    all
}

/// Maximum number of steps of a search, switches times ports: about a second.
const MOST_STEPS: u64 = 200_000_000;

fn search(graph: &Graph) -> Option<Distances> {
    let count = graph.switches.len();
    let steps = count as u64 * (count + graph.links.len()) as u64;
    if steps > MOST_STEPS {
        return None;
    }
    let mut hosts = vec![0_u128; count];
    graph.hosts.iter().for_each(|host| hosts[host.switch.index()] += 1);
    let mut all = Distances { largest: 0, sum: 0 };
    for from in (0..count).filter(|&s| hosts[s] > 0) {
        for (to, distance) in from_switch(graph, SwitchId(from as u32)).into_iter().enumerate() {
            if hosts[to] > 0 {
                let distance = distance?;
                all.sum += hosts[from] * hosts[to] * u128::from(distance);
                all.largest = all.largest.max(distance);
            }
        }
    }
    Some(all)
}

/// Distance of every switch from one.
fn from_switch(graph: &Graph, from: SwitchId) -> Vec<Option<u32>> {
    let mut distance = vec![None; graph.switches.len()];
    distance[from.index()] = Some(0);
    let mut open = VecDeque::from([(from, 0)]);
    while let Some((at, steps)) = open.pop_front() {
        for &link in &graph.switches[at.index()].ports {
            if let Node::Switch(next) = graph.far_end(link, Node::Switch(at)).node
                && distance[next.index()].is_none()
            {
                distance[next.index()] = Some(steps + 1);
                open.push_back((next, steps + 1));
            }
        }
    }
    distance
}
