//! The value that all later layers work on: switches, hosts, cables, and the regular shape if there is one.

use fabricsim_spec::LinkParameters;
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::{Groups, Identity};

/// A fabric as a graph. Indices of the vectors are the identifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Description, one line: `"3x3 mesh, 2 hosts per switch"`.
    pub title: String,
    /// Switches, by [`SwitchId`].
    pub switches: Vec<SwitchNode>,
    /// Hosts, by [`HostId`].
    pub hosts: Vec<HostNode>,
    /// Full-duplex links, by [`LinkId`].
    pub links: Vec<Link>,
    /// Construction of the graph, for routing algorithms.
    pub shape: Shape,
    /// GUIDs, LIDs and physical ports, if it was made from a subnet.
    pub identity: Option<Box<Identity>>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchNode {
    /// Its name, unique among switches and hosts.
    pub name: String,
    /// Its position: coordinates in a grid or hypercube, (level, digits...) in a tree, a position for drawing else.
    pub coordinates: Vec<u32>,
    /// The link at each port, by [`PortNo`].
    pub ports: Vec<LinkId>,
}

/// A host. It has one link.
#[derive(Clone, Debug, PartialEq)]
pub struct HostNode {
    /// Its name, unique among switches and hosts.
    pub name: String,
    /// The switch it is on.
    pub switch: SwitchId,
    /// The port of that switch.
    pub port: PortNo,
    /// The link between them.
    pub link: LinkId,
}

/// A switch or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A switch.
    Switch(SwitchId),
    /// A host.
    Host(HostId),
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    /// Node into which it is plugged.
    pub node: Node,
    /// Port into which it is plugged (0 for a host).
    pub port: PortNo,
}

/// A full-duplex link. For a host link, end `a` is the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// First end.
    pub a: End,
    /// Second end.
    pub b: End,
    /// Kind of the link.
    pub class: LinkClass,
    /// Rate, latency, buffers, after all overrides.
    pub parameters: LinkParameters,
}

/// Classes of links that an experiment can give parameters to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkClass {
    /// Between a host and a switch.
    Host,
    /// Along a dimension of a grid, hypercube or HyperX, from 0.
    Dimension(u8),
    /// Between level n and n + 1 of a tree; the switches next to the hosts are level 1.
    Level(u8),
    /// Within a group of a dragonfly or megafly, or a part of a Slim Fly.
    Local,
    /// Between groups of a dragonfly or megafly, or the parts of a Slim Fly.
    Global,
    /// Between switches of a graph without regular shape.
    Plain,
}

/// The regular construction, for routing algorithms that need it.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Mesh, torus, mixed, ring, parking lot, hypercube (radix 2 mesh in every dimension).
    Grid(GridShape),
    /// k-ary n-tree or XGFT.
    Tree(TreeShape),
    /// Dragonfly.
    Dragonfly(DragonflyShape),
    /// Megafly (dragonfly+).
    Megafly(MegaflyShape),
    /// HyperX.
    HyperX(HyperXShape),
    /// A direct network whose routes are found by search: Slim Fly, Jellyfish, Xpander.
    Direct,
    /// Anything else.
    Irregular,
}

/// A grid. A switch's coordinates are in its [`SwitchNode`].
#[derive(Clone, Debug, PartialEq)]
pub struct GridShape {
    /// Radix of each dimension.
    pub dimensions: Vec<u32>,
    /// True if the dimension is a torus.
    pub wrap: Vec<bool>,
    /// Port of switch s towards lower (0) and higher (1) coordinates of dimension d:
    /// `towards[(s * dimensions + d) * 2 + direction]`; `None` at a mesh's border and where the radix is 1.
    pub towards: Vec<Option<PortNo>>,
}

impl GridShape {
    /// Port of `switch` along `dimension`, towards higher coordinates if `up`.
    pub fn port(&self, switch: SwitchId, dimension: usize, up: bool) -> Option<PortNo> {
        self.towards[(switch.index() * self.dimensions.len() + dimension) * 2 + usize::from(up)]
    }
}

/// An extended generalised fat tree. A switch's coordinates are `[level, digit h, ..., digit 1]` as in Öhring et al.:
/// digit i is a child number (below m_i) for i above the level, a parent number (below w_i) at and below it.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeShape {
    /// Children m_1..m_h of a node at level 1..h.
    pub children: Vec<u32>,
    /// Parents w_1..w_h of a node at level 0..h-1.
    pub parents: Vec<u32>,
    /// For each switch: its level, from 1.
    pub level: Vec<u8>,
    /// For each switch: its ports towards the hosts are `0..down[s]`, those towards the roots come after.
    pub down: Vec<PortNo>,
}

/// A dragonfly. Router r of group G is switch G a + r, at the coordinates `[G, r]`; its ports are its p hosts, the other
/// routers of its group in ascending order, and its h global links.
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflyShape {
    /// Hosts on every router (p).
    pub hosts: u32,
    /// Routers in a group (a).
    pub routers: u32,
    /// Global links of a router (h).
    pub globals: u32,
    /// Groups and how they are joined; global port k is port k mod h of router k / h.
    pub groups: Groups,
}

/// A megafly. The switches of a group are its leaves, at `[group, 0, leaf]`, then its spines, at `[group, 1, spine]`. Ports
/// of a leaf: its hosts, then the spines; of a spine: the leaves, then its global links.
#[derive(Clone, Debug, PartialEq)]
pub struct MegaflyShape {
    /// Hosts on every leaf.
    pub hosts: u32,
    /// Leaves in a group.
    pub leaves: u32,
    /// Spines in a group.
    pub spines: u32,
    /// Global links of a spine (h).
    pub globals: u32,
    /// Groups and how they are joined; global port k is port k mod h of spine k / h.
    pub groups: Groups,
}

/// A HyperX. A switch's coordinates are in its [`SwitchNode`], the first runs fastest. Ports: the hosts, then for each
/// dimension the other switches of the line in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct HyperXShape {
    /// Switches along each dimension.
    pub dimensions: Vec<u32>,
    /// Hosts on every switch.
    pub hosts: u32,
}

impl Graph {
    /// The end of `link` that is not at `node`.
    pub fn far_end(&self, link: LinkId, node: Node) -> End {
        let link = &self.links[link.index()];
        if link.a.node == node { link.b } else { link.a }
    }

    /// Name of a switch or host.
    pub fn name(&self, node: Node) -> &str {
        match node {
            Node::Switch(s) => &self.switches[s.index()].name,
            Node::Host(h) => &self.hosts[h.index()].name,
        }
    }

    /// Name of a link: the names of its ends, joined by a hyphen.
    pub fn link_name(&self, link: LinkId) -> String {
        let link = &self.links[link.index()];
        format!("{}-{}", self.name(link.a.node), self.name(link.b.node))
    }

    /// Name of a direction of a link, of which there is one: `"SW11->SW12"`, or `"SW11->SW12 #2"` for the second of
    /// several parallel cables, numbered in the order of the links. Sending port `2 l` is link l from a to b,
    /// `2 l + 1` back.
    pub fn port_name(&self, sending_port: u32) -> String {
        let name = self.ends_name(sending_port);
        match self.cable_number(LinkId(sending_port / 2)) {
            Some(number) => format!("{name} #{number}"),
            None => name,
        }
    }

    /// Name of a direction of a link by its ends alone, which parallel cables have in common: `"SW11->SW12"`.
    pub fn ends_name(&self, sending_port: u32) -> String {
        let link = &self.links[(sending_port / 2) as usize];
        let (from, to) = if sending_port.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) };
        format!("{}->{}", self.name(from.node), self.name(to.node))
    }

    /// Number of a link among the parallel ones between the same two switches, from 1; `None` without such.
    pub(crate) fn cable_number(&self, link: LinkId) -> Option<usize> {
        let ends = |link: LinkId| (self.links[link.index()].a.node, self.links[link.index()].b.node);
        let (Node::Switch(a), Node::Switch(b)) = ends(link) else { return None };
        let (there, back) = ((Node::Switch(a), Node::Switch(b)), (Node::Switch(b), Node::Switch(a)));
        let ports = self.switches[a.index()].ports.iter().copied();
        let mut cables: Vec<LinkId> =
            ports.filter(|&other| ends(other) == there || ends(other) == back).collect();
        cables.sort_unstable();
        cables.dedup();
        (cables.len() > 1).then(|| cables.iter().take_while(|&&other| other <= link).count())
    }
}
