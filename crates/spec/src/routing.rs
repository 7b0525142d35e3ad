use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Routing of packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// The routing algorithm.
    pub algorithm: Algorithm,
    /// For `dimension-order` and `look-up-tables`: the order of the dimensions; by default ascending (x first).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(max = 31)), extend("x-unit" = "1"))]
    pub order: Option<Vec<u32>>,
    /// For `dimension-order`: direction of a packet round a ring when both directions are equally long; by default
    /// `balanced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ties: Option<Ties>,
    /// For `opensm`: the routing engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<RoutingEngine>,
    /// For `opensm` with `updn` or `ftree`: names of the root switches (`root_guid_file`); by default the engine finds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// For `table`: the forwarding tables, relative to the experiment file: `.fdbs`, or, for a fabric from an InfiniBand subnet, what
    /// OpenSM (`opensm-lfts.dump`, `opensm.fdbs`), `dump_lfts.sh` or `ibroute` write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// For `table` with tables by LID: service levels of paths, relative to the experiment file: path records as `fabricsim route --path-sls`
    /// writes them, or lines `0xGUID DLID SL`. A path is on the virtual lane of its level, modulo the number of lanes
    /// (`lane_policy = "layers"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_sls: Option<String>,
    /// For `table` with tables by LID: virtual lanes of service levels at every pair of an input and an output, relative to the experiment
    /// file, as `opensm-sl2vl.dump` has them. Then `service_class` of traffic is its service level, 0 to 15, unless `path_sls` has the
    /// levels of paths (`lane_policy = "service-levels"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sl2vl: Option<String>,
    /// For `opensm`, and `table` with tables by LID: LID mask control. A host has 2^`lmc` LIDs, with routes of their own. With a subnet manager:
    /// `subnet_manager.lmc`.
    #[schemars(range(max = 7), extend("x-unit" = "1"))]
    pub lmc: u8,
    /// For hosts with several LIDs: the one to which a packet is sent.
    pub paths: PathChoice,
    /// Virtual lanes that a packet may take, from those of its service class; by default what makes the algorithm free of deadlock on its
    /// topology, or `all`. A policy that does not fit the algorithm is refused with those that do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane_policy: Option<LanePolicy>,
    /// For `look-up-tables`: blocks of each dimension, of which each combination is a global partition of the
    /// switches' numbers: at most 8 partitions of at most 4096 switches. A dimension can only be divided if all
    /// before it in the order are divided into single coordinates. By default the smallest sufficient number of partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)), extend("x-unit" = "blocks"))]
    pub partitions: Option<Vec<u32>>,
    /// For algorithms that route over another group or switch: the first target; by default `group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// For `ugal-l`, `ugal-g`, `piggyback`, `par` and `dal`: T, in packets of `host.mtu`, of the rule by which they leave the minimal
    /// path. For `par-6/2`: with this load or less at the minimal port, no other port is considered. By default 3; 0 where
    /// `trigger` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "packets", "x-allowed" = "a number of packets from 0 to 1000000"))]
    pub threshold: Option<f64>,
    /// For `ugal-l`, `ugal-g` and `piggyback`: two whole numbers, 1 to 1000, that take the place of H_min and H_val in the rule; by default
    /// they are the links between switches of either path. `[1, 2]` is the rule of BookSim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1, max = 1000)), extend("x-unit" = "1"))]
    pub weights: Option<[u32; 2]>,
    /// For `up-down-adaptive`: number of ports that are drawn at random, each among all, at every switch on the way up; the packet takes the
    /// least loaded of them (2: the power of two choices, Mitzenmacher 2001). 1 to 65535; by default all ports are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535), extend("x-unit" = "ports"))]
    pub choices: Option<u16>,
    /// For algorithms that choose by load: the load of a port.
    pub load: Load,
    /// For algorithms that choose by load: if true, the hop is chosen as the head of the packet arrives at the switch, and kept (lookahead
    /// routing, BookSim). By default it is chosen `switch.router_delay` later, and with `queueing = "fifo"` at the head of its queue.
    pub lookahead: bool,
    /// For `ugal-g` and `piggyback`: the least age of the loads that a router knows of the other routers of its group; at least the
    /// latency of the links within groups, its default. The loads are at most 1.5 times as old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_delay: Option<Time>,
    /// For `piggyback`: a global link is congested if more is ahead than this, in packets of `host.mtu`, beyond twice the mean of
    /// its router's global links. By default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "packets", "x-allowed" = "a number of packets from 0 to 1000000"))]
    pub congested: Option<f64>,
    /// For `par-6/2`, in place of `threshold`, or beside it: the least part, 0 to 1, of the buffers behind the minimal port that must be in use, or
    /// waited for, before another port is considered. By default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub trigger: Option<f64>,
    /// For `par-6/2`: a port is taken instead of the minimal one if the part of its buffers in use is at most this part, 0 to
    /// 1, of the minimal port's; a local one instead of a global one, if so is the mean of the router's other global ones. By
    /// default 0.45.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub ratio: Option<f64>,
    /// Choice among the virtual lanes that the algorithm allows a packet.
    pub lane_selection: Selection,
}

/// Choice among the LIDs of a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathChoice {
    /// Always the first.
    #[default]
    First,
    /// In turn, for each packet from a source to a destination: packets may overtake each other.
    InTurn,
    /// By source, destination and entry of the traffic list: a flow has one path.
    Hashed,
    /// The one to which the source has sent the fewest bytes; ties to the first. Packets may overtake each other.
    LeastLoaded,
    /// The one that an address vector names (`ah_attr.dlid` of programs that use verbs); of other hosts the first.
    Addressed,
}

/// A routing engine of OpenSM, by its name there (`routing_engine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RoutingEngine {
    /// Shortest paths, balanced over ports.
    #[serde(rename = "minhop")]
    MinHop,
    /// Shortest paths without a turn from down to up, seen from the roots.
    #[serde(rename = "updn")]
    UpDown,
    /// Shortest paths without a turn from up to down, seen from the switches with adapters.
    #[serde(rename = "dnup")]
    DownUp,
    /// Up and down a fat tree, balanced for shift patterns.
    #[serde(rename = "ftree")]
    FatTree,
    /// Shortest paths by the order of ports: dimension order on meshes whose ports are cabled alike.
    #[serde(rename = "dor")]
    DimensionOrder,
    /// Shortest paths, in layers free of deadlock by pairs of switches.
    #[serde(rename = "lash")]
    Lash,
    /// Shortest paths, balanced over the whole fabric.
    #[serde(rename = "sssp")]
    Sssp,
    /// The paths of `sssp`, in layers free of deadlock.
    #[serde(rename = "dfsssp")]
    Dfsssp,
    /// Paths that are free of deadlock within the given virtual lanes, by routing in the graph of channel dependencies.
    #[serde(rename = "nue")]
    Nue,
    /// Dimension order on a mesh or torus of up to three dimensions, free of deadlock with two virtual lanes by service levels whose lanes depend on
    /// input and output, also with failed links or a failed switch. On a topology from a file: `table` with the files that
    /// `fabricsim route --engine torus-2QoS` writes.
    #[serde(rename = "torus-2QoS")]
    Torus2Qos,
}

/// The routing algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Choice by topology: `dimension-order` on grids, rings and hypercubes, `up-down` on trees, `minimal` on dragonflies,
    /// megaflies, HyperX, Slim Flies, Jellyfish and Xpanders, else `shortest-path`.
    #[default]
    Auto,
    /// One dimension after the other; on a torus the virtual lanes are split at a dateline.
    DimensionOrder,
    /// On grids of up to 32768 switches: one dimension after the other by the tables of Cray's SeaStar router, a global
    /// and a local one; around failed links (`links.failed`). On a torus a packet moves from the lower to the upper
    /// virtual lanes as it crosses the dateline.
    LookUpTables,
    /// On a fat tree: up by the destination's digits (d-mod-k), then down.
    UpDown,
    /// On a fat tree: up by the port with the least ahead, of all or of `choices` drawn at random, then down.
    UpDownAdaptive,
    /// On a fat tree: up by any port, drawn anew at every switch, then down.
    UpDownRandom,
    /// On any graph: shortest paths, ties by destination. Not free of deadlock in general.
    ShortestPath,
    /// Forwarding tables from a file.
    Table,
    /// On any graph: the tables that an engine of OpenSM, the InfiniBand subnet manager, computes (`engine`); engines with layers of service
    /// levels give each path the virtual lane of its layer.
    Opensm,
    /// On a dragonfly or megafly: the shortest path between groups. On a HyperX: the dimensions in order. On a graph without coordinates and
    /// levels (Slim Fly, Jellyfish, Xpander, from a file): as `shortest-path` with `lane_policy = "hops"`. 2 virtual lanes on a
    /// dragonfly, 1 on a megafly and HyperX, else the number of links between switches of the longest path.
    Minimal,
    /// Over another group (dragonfly, megafly) or switch (HyperX; the switch of a random host on a graph without coordinates and levels), drawn
    /// at random (Valiant 1982; Kim et al. 2008). On a dragonfly 3 virtual lanes, 4 with `via = "router"`; 2 on a megafly and HyperX; else
    /// twice the number of `minimal`.
    Valiant,
    /// On a dragonfly, megafly, or graph without coordinates and levels: `minimal`, or `valiant` if q_min H_min > q_val H_val + T where a packet is injected, with what is ahead at
    /// the router's own outputs, q, and the links of the path, H (Kim et al. 2008). Lanes as `valiant`.
    UgalL,
    /// On a dragonfly: as `ugal-l`, with the load of the first global link of each path as that router broadcast it to its group, `state_delay`
    /// before (Kim et al. 2008, there without delay).
    UgalG,
    /// On a dragonfly: as `ugal-l`, and `valiant` as well if the minimal path's global link was broadcast as congested (Jiang, Kim, Dally 2009).
    Piggyback,
    /// On a dragonfly: `minimal`, or `valiant` if q_min > 2 q_val + T, decided at the first router and, after a local link, again at
    /// the second (progressive adaptive routing: Jiang, Kim, Dally 2009). 4 virtual lanes, 5 with `via = "router"`.
    Par,
    /// On a dragonfly: progressive adaptive with detours in every group (García et al. 2013). 6 virtual lanes.
    #[serde(rename = "par-6/2")]
    Par62,
    /// On a HyperX: in every dimension by the link to the destination's coordinate or, once, to another one, whichever has less
    /// ahead (dimensionally-adaptive, load-balanced: Ahn et al. 2009); a detour counts as q_min > 2 q + T. 2 virtual lanes for
    /// each dimension of more than 2 switches, 1 for one of 2.
    Dal,
}

/// Lane policy: the virtual lanes of its service class that a packet may take on a link between switches. The last link, to a host, is on
/// any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LanePolicy {
    /// All lanes. By default for `up-down`, `up-down-adaptive`, `up-down-random`, `shortest-path` and `table`; possible for `dimension-order` and
    /// `look-up-tables`, where rings of four or more switches can deadlock.
    All,
    /// Two classes of lanes along rings of four or more switches: the upper half if the route crosses the dateline, between the
    /// highest coordinate and 0 (Dally, Seitz 1987). By default for `dimension-order` and `look-up-tables`. Free of deadlock with
    /// two lanes.
    Dateline,
    /// The n-th lanes on the n-th link between switches: free of deadlock on any graph (Günther 1981). Needs as many lanes as the
    /// longest route has links between switches. By default for `dal`, and for `minimal`, `valiant` and `ugal-l` on a graph without
    /// coordinates and levels; possible for `dimension-order`, `up-down`, `up-down-adaptive`, `up-down-random`, `shortest-path` and `table`.
    Hops,
    /// The n-th lanes on the n-th leg of a route over another group or switch: for `minimal`, `valiant` and `ugal-l` on a megafly, and
    /// `minimal` and `valiant` on a HyperX.
    Legs,
    /// Lanes by the place of a link in the longest route of the algorithm, local and global links counted apart (García et al., ICPP
    /// 2013): for all algorithms on a dragonfly.
    Slots,
    /// The lane of the layer that the engine has put a path into, on all its links: for `opensm`, and for `table` with `path_sls`.
    Layers,
    /// The lane of the packet's service level by the SL2VL table of its input and output: with `switch.sl2vl` or `routing.sl2vl`, and for the engine
    /// `torus-2QoS`.
    ServiceLevels,
}

/// Load of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Packets that wait in the switch for the port, and the used space of the buffers at the other end of its link: on trees of
    /// the lane that is used least.
    #[default]
    WaitingAndCredits,
    /// Used space of the buffers at the other end, of all lanes together (BookSim).
    Credits,
    /// For `ugal-l`, `par`, `par-6/2` and `dal`: used space of the buffers at the other end, of those lanes alone that the routing allows the
    /// packet at that port (FOGSim). `trigger` and `ratio` are then parts of the buffers of these lanes.
    CreditsOfLane,
}

/// First target of a path over another group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// To any router of that group.
    Group,
    /// To a router of it, drawn at random.
    Router,
    /// For `ugal-l`, `ugal-g` and `piggyback` on a dragonfly: to the router of a host, drawn among all hosts. If that is in the group of the
    /// source or of the destination, the packet takes the minimal path (BookSim).
    Host,
}

/// Direction of a packet round a ring when both directions are equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Up from odd coordinates, down from even ones: all packets of a flow in the same direction, both directions used equally.
    Balanced,
    /// Either, drawn for every packet.
    Random,
}

/// Choice among several allowed virtual lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// In turn, skipping those without space for the packet.
    #[default]
    RoundRobin,
    /// The one with most free space downstream; ties in turn.
    MostCredits,
    /// The lowest that has space for the packet.
    Lowest,
    /// Always the same for a source and destination.
    ByFlow,
}
