use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switches, hosts and cables. Exactly one kind is given, as a table: `[topology.mesh]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// A mesh in every dimension (k-ary n-mesh, mixed radix).
    Mesh(Grid),
    /// A torus in every dimension (k-ary n-cube, mixed radix).
    Torus(Grid),
    /// Mesh or torus chosen per dimension by `wrap`.
    Grid(Grid),
    /// A binary hypercube of `2^dimensions` switches.
    Hypercube {
        /// Number of dimensions, 1 to 20.
        #[schemars(range(min = 1, max = 20), extend("x-unit" = "dimensions"))]
        dimensions: u32,
        /// Hosts on every switch.
        #[serde(default = "one")]
        #[schemars(range(min = 1), extend("x-unit" = "hosts", "x-refusal" = "every switch has 1 host or more"))]
        hosts_per_switch: u32,
    },
    /// A k-ary n-tree: `arity^levels` hosts, `levels` levels of `arity^(levels-1)` switches (Petrini, Vanneschi 1997).
    FatTree {
        /// Down ports, and up ports, of a switch (k).
        #[schemars(range(min = 2, max = 512), extend("x-unit" = "ports"))]
        arity: u32,
        /// Levels of switches (n).
        #[schemars(range(min = 1, max = 32), extend("x-unit" = "levels"))]
        levels: u32,
    },
    /// An extended generalised fat tree XGFT(h; m1..mh; w1..wh) (Öhring et al. 1995). Level 0 are the hosts.
    Xgft {
        /// Children of a node at level 1, 2, ... h.
        #[schemars(inner(range(min = 1)), extend("x-unit" = "nodes"))]
        children: Vec<u32>,
        /// Parents of a node at level 0, 1, ... h-1.
        #[schemars(inner(range(min = 1)), extend("x-unit" = "nodes"))]
        parents: Vec<u32>,
    },
    /// A chain of switches; the last has one host more, the destination of all (parking lot).
    ParkingLot {
        /// Switches in the chain.
        #[schemars(range(min = 1, max = 16000000), extend("x-unit" = "switches"))]
        switches: u32,
        /// Sending hosts on every switch.
        #[serde(default = "one")]
        #[schemars(range(min = 1), extend("x-unit" = "hosts", "x-refusal" = "every switch has 1 host or more"))]
        hosts_per_switch: u32,
    },
    /// A ring of switches (a one-dimensional torus).
    Ring {
        /// Switches in the ring, 3 or more.
        #[schemars(range(min = 3, max = 16000000), extend("x-unit" = "switches"))]
        switches: u32,
        /// Hosts on every switch.
        #[serde(default = "one")]
        #[schemars(range(min = 1), extend("x-unit" = "hosts", "x-refusal" = "every switch has 1 host or more"))]
        hosts_per_switch: u32,
    },
    /// Hosts on one switch.
    SingleSwitch {
        /// Number of hosts.
        #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
        hosts: u32,
    },
    /// A dragonfly: groups of routers that are all joined within a group, and groups that are all joined (Kim, Dally,
    /// Scott, Abts 2008).
    Dragonfly(Dragonfly),
    /// A megafly (dragonfly+): groups of leaf and spine switches, each leaf joined to each spine, and groups that are all
    /// joined by links between spines (Flajslik et al. 2018; Shpiner et al. 2017).
    Megafly(Megafly),
    /// A HyperX: in every dimension all switches of a line are joined (Ahn et al. 2009). Two dimensions are a flattened
    /// butterfly, one a full mesh.
    #[serde(rename = "hyperx")]
    HyperX {
        /// Switches along each dimension: `[sx, sy, ...]`. Each 1 or more.
        #[schemars(inner(range(min = 1)), extend("x-unit" = "switches"))]
        dimensions: Vec<u32>,
        /// Hosts on every switch.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
        hosts_per_switch: u32,
    },
    /// A Slim Fly: the graph of McKay, Miller and Širáň for q, of diameter 2 (Besta, Hoefler 2014).
    SlimFly(SlimFly),
    /// A Jellyfish: a random graph in which every switch has the same number of links (Singla, Hong, Popa, Godfrey 2012).
    Jellyfish(Jellyfish),
    /// An Xpander: a random lift of the complete graph (Valadarsky, Shahaf, Dinitz, Schapira 2016).
    Xpander(Xpander),
    /// Any graph, read from a file: `.toml` (nodes, links), `.csv` (links), `.graphml`, `.ned` (OMNeT++), `.anynet` (BookSim), or an InfiniBand
    /// subnet.
    File {
        /// The file, relative to the experiment file.
        path: String,
        /// Hosts on every switch, where the file has no hosts; else a node with one link is a host in `.csv` and `.graphml`.
        #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        hosts_per_switch: Option<u32>,
    },
    /// Any graph, in the experiment itself, as it would be in a file.
    Inline {
        /// Format of the text.
        format: InlineFormat,
        /// The graph.
        text: String,
        /// Hosts on every switch, where the text has no hosts; else a node with one link is a host in `csv` and `graphml`.
        #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        hosts_per_switch: Option<u32>,
    },
}

/// Format of a graph in the experiment itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InlineFormat {
    /// Switches, hosts and links as tables.
    Toml,
    /// A line for each link, after a line with the names of the columns.
    Csv,
    /// GraphML, an XML format.
    Graphml,
}

/// A mesh or torus of any number of dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Radix of each dimension, x first: `[kx, ky, kz]`. Each 1 or more.
    #[schemars(inner(range(min = 1)), extend("x-unit" = "switches"))]
    pub dimensions: Vec<u32>,
    /// Hosts on every switch.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "hosts", "x-refusal" = "every switch has 1 host or more"))]
    pub hosts_per_switch: u32,
    /// Names and port numbers of switches and hosts.
    #[serde(default)]
    pub naming: Naming,
    /// Only for kind `grid`: for each dimension, true for a torus, false for a mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap: Option<Vec<bool>>,
}

/// A dragonfly, in the letters of Kim et al. (2008).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// Hosts on every router.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
    pub p: u32,
    /// Routers in a group.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "routers"))]
    pub a: u32,
    /// Global links of a router.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "links"))]
    pub h: u32,
    /// Groups, 2 to `a h + 1`; by default `a h + 1`, with one link between every two groups. With fewer groups every two
    /// have several links, as evenly as the ports allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("x-unit" = "groups"))]
    pub g: Option<u32>,
    /// Assignment of global ports to groups.
    #[serde(default)]
    pub arrangement: Arrangement,
}

/// A megafly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Megafly {
    /// Hosts on every leaf.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
    pub p: u32,
    /// Leaf switches in a group.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "switches"))]
    pub leaves: u32,
    /// Spine switches in a group.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "switches"))]
    pub spines: u32,
    /// Global links of a spine.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "links"))]
    pub h: u32,
    /// Groups, 2 to `spines h + 1`; by default that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("x-unit" = "groups"))]
    pub g: Option<u32>,
    /// Assignment of global ports to groups.
    #[serde(default)]
    pub arrangement: Arrangement,
}

/// A Slim Fly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlimFly {
    /// A prime power of 3 or more. With q = 4 w + δ, δ one of -1, 0 and 1, there are 2 q² switches of (3 q - δ) / 2 links to others.
    #[schemars(range(min = 3, max = 2828), extend("x-unit" = "1"))]
    pub q: u32,
    /// Hosts on every switch; by default half the number of its links to other switches, rounded up, as in the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
    pub hosts_per_switch: Option<u32>,
}

/// A Jellyfish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jellyfish {
    /// Number of switches, 2 or more.
    #[schemars(range(min = 2), extend("x-unit" = "switches"))]
    pub switches: u32,
    /// Links of a switch to others, all different; less than the number of switches. Switches times degree is even.
    #[schemars(range(min = 1), extend("x-unit" = "links"))]
    pub degree: u32,
    /// Hosts on every switch.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
    pub hosts_per_switch: u32,
    /// Seed of the graph alone: runs of different `seed` have the same graph.
    #[serde(default = "one_seed")]
    #[schemars(extend("x-unit" = "1"))]
    pub seed: u64,
}

/// An Xpander.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xpander {
    /// Links of a switch to others, one to each other group; there are `degree + 1` groups.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "links"))]
    pub degree: u32,
    /// Switches of a group.
    #[schemars(range(min = 1), extend("x-unit" = "switches"))]
    pub lift: u32,
    /// Hosts on every switch.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "hosts"))]
    pub hosts_per_switch: u32,
    /// Seed of the graph alone: runs of different `seed` have the same graph.
    #[serde(default = "one_seed")]
    #[schemars(extend("x-unit" = "1"))]
    pub seed: u64,
}

/// Assignment of a group's global ports to other groups. Global ports of a group are numbered k = r h + i, for port i
/// of its router (or spine) r (Camarero, Vallejo, Beivide 2014; Hastings et al. 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// Port k leads to the k-th of the other groups in ascending order (also: consecutive).
    #[default]
    Absolute,
    /// Port k of group G leads to group G - (k + 1), modulo g (also: relative).
    Palmtree,
    /// Ports 2 n and 2 n + 1 of group G lead to groups G + (n + 1) and G - (n + 1), modulo g.
    Circulant,
}

/// Names of the switches and hosts of a grid, and numbers of their ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// `S(x,y,z)` and `H(x,y,z).i`, all from 0; x runs fastest. Hosts first, then - and + port per dimension.
    #[default]
    Coordinates,
    /// As in the thesis of Zeru (2016), section 3.3: `SW<row><column>` and `H<row><column><i>` from 1 in 2D,
    /// `SW<y><x><z>` in 3D, ports by tables 3.1-3.3. 2D mesh, 2D torus and 3D mesh only.
    Thesis,
}

const fn one() -> u32 {
    1
}

const fn one_seed() -> u64 {
    1
}
