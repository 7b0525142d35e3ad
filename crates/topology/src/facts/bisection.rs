//! Bisection: the links between two halves of the switches (grids) or of the hosts (trees).

use crate::{Graph, GridShape, HyperXShape, Link, LinkClass, Node, Shape, TreeShape};

/// A cut of a network into two halves that differ by one at most.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    /// Full-duplex links in the cut.
    pub links: u64,
    /// Data rate across the cut in each direction, in bits per second, where all links that may be in it have the
    /// same rate.
    pub bits_per_second: Option<u64>,
    /// True if it is known that no cut has fewer links. If not, `links` is an upper bound.
    pub exact: bool,
}

pub(super) fn bisection(graph: &Graph) -> Option<Bisection> {
    match &graph.shape {
        Shape::Grid(shape) => grid(graph, shape),
        Shape::Tree(shape) => tree(graph, shape),
        Shape::HyperX(shape) => hyperx(graph, shape),
        Shape::Dragonfly(_) | Shape::Megafly(_) | Shape::Direct => Some(first_half(graph)),
        Shape::Irregular => None,
    }
}

/// Cut the dimension whose middle has the fewest links; if its radix is odd, its middle layer is cut in the same way
/// along the next, until a radix is even. With radices k_1 >= k_2 >= ... of which k_a is the first even one that is
/// C_1 + ... + C_a with C_i = k_(i+1) k_(i+2) ..., twice that on a torus. It is exact where all dimensions wrap or none
/// does (Aroca, Fernández Anta: Bisection (Band)Width of Product Networks with Application to Data Centers, 2014);
/// for even k it is the well-known k^(n-1) of a mesh and 2 k^(n-1) of a torus (Dally, Towles 2004, section 5.2).
fn grid(graph: &Graph, shape: &GridShape) -> Option<Bisection> {
    let mut dimensions: Vec<(u64, u64)> = shape
        .dimensions
        .iter()
        .zip(&shape.wrap)
        .filter(|&(&radix, _)| radix > 1)
        .map(|(&radix, &wrap)| (u64::from(radix), 1 + u64::from(wrap)))
        .collect();
    if dimensions.is_empty() {
        return None;
    }
    // Fewest links first: radix / ways is largest.
    dimensions.sort_by(|a, b| (b.0 * a.1).cmp(&(a.0 * b.1)));
    let mut links = 0;
    for (place, &(radix, ways)) in dimensions.iter().enumerate() {
        links += ways * dimensions[place + 1..].iter().map(|&(radix, _)| radix).product::<u64>();
        if radix % 2 == 0 {
            break;
        }
    }
    let exact = dimensions.iter().all(|&(_, ways)| ways == dimensions[0].1);
    let between = |link: &&Link| link.class != LinkClass::Host;
    Some(Bisection { links, bits_per_second: rate(graph, links, between), exact })
}

/// Cut the smallest even dimension, whose lines of 2 m switches have m^2 links in the cut; of an odd dimension of 2 m + 1
/// switches m^2 + m, with the middle layer cut in the same way along the next. Smallest first is best, since a line of k
/// switches has k / 4 links in the cut for each of its switches.
fn hyperx(graph: &Graph, shape: &HyperXShape) -> Option<Bisection> {
    let mut sizes: Vec<u64> =
        shape.dimensions.iter().map(|&size| u64::from(size)).filter(|&size| size > 1).collect();
    if sizes.is_empty() {
        return None;
    }
    sizes.sort_unstable_by_key(|&size| (size % 2, size));
    let mut links = 0;
    for (place, &size) in sizes.iter().enumerate() {
        let half = size / 2;
        links += half * (half + size % 2) * sizes[place + 1..].iter().product::<u64>();
        if size % 2 == 0 {
            break;
        }
    }
    let between = |link: &&Link| link.class != LinkClass::Host;
    Some(Bisection { links, bits_per_second: rate(graph, links, between), exact: false })
}

/// The links between the first half of the switches and the others: whole groups, but for the middle one of an odd number
/// of groups, which is cut through.
fn first_half(graph: &Graph) -> Bisection {
    let half = graph.switches.len() / 2;
    let first = |node: Node| matches!(node, Node::Switch(switch) if switch.index() < half);
    let is_cut = |link: &&Link| link.class != LinkClass::Host && first(link.a.node) != first(link.b.node);
    let cut: Vec<&Link> = graph.links.iter().filter(is_cut).collect();
    let bits_per_second = cut.iter().map(|link| link.parameters.rate.bits_per_second()).sum();
    Bisection { links: cut.len() as u64, bits_per_second: Some(bits_per_second), exact: false }
}

/// Halves by the highest digit, if m_h is even: each top switch reaches half of its children across the cut. Exact for
/// k-ary n-trees (half the hosts: Petrini, Vanneschi 1997); a bound for other trees, which may be slimmer below.
fn tree(graph: &Graph, shape: &TreeShape) -> Option<Bisection> {
    let height = shape.children.len();
    if height < 2 || !shape.children[height - 1].is_multiple_of(2) {
        return None;
    }
    let top = shape.level.iter().filter(|&&level| usize::from(level) == height).count() as u64;
    let children = u64::from(shape.children[height - 1]);
    let links = top * (children / 2);
    let exact = (1..height).all(|level| shape.parents[level] == shape.children[level - 1]);
    let between = |link: &&Link| link.class == LinkClass::Level(height as u8 - 1);
    Some(Bisection { links, bits_per_second: rate(graph, links, between), exact })
}

/// Rate of `links` of the links that may be in the cut, if they are alike.
fn rate(graph: &Graph, links: u64, between: impl Fn(&&Link) -> bool) -> Option<u64> {
    let mut rates = graph.links.iter().filter(between).map(|link| link.parameters.rate);
    let first = rates.next()?;
    rates.all(|rate| rate == first).then(|| links.saturating_mul(first.bits_per_second()))
}
