use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sequence::PhaseSequence;
use crate::traffic::LARGEST_MESSAGE;
use crate::training::Training;

/// A parallel program: ranks on hosts that send to each other, wait for each other and compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// A name for tables and plots; by default that of the program.
    #[serde(default)]
    pub name: String,
    /// Hosts that the ranks are placed on: names, patterns with `*`, groups; by default all. One rank a host, or `ranks_per_host`.
    #[serde(default = "all")]
    pub hosts: Vec<String>,
    /// Number of ranks, 2 or more; by default as many as the hosts have places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("x-unit" = "ranks"))]
    pub ranks: Option<u32>,
    /// Ranks on each host, such as its accelerators; they are neighbours in number. Messages between them do not enter the network
    /// (`host.local`).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "ranks"))]
    pub ranks_per_host: u32,
    /// Placement of ranks on the hosts.
    #[serde(default)]
    pub placement: Placement,
    /// Program of the ranks.
    pub program: Program,
    /// Number of iterations. A rank begins its next iteration as soon as it has ended the last.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "iterations"))]
    pub iterations: u32,
    /// Time at which the ranks begin.
    #[serde(default)]
    pub start: Time,
    /// Service class of the packets (see `switch.service_classes`).
    #[serde(default)]
    #[schemars(range(max = 15), extend("x-unit" = "1"))]
    pub service_class: u8,
    /// Steps of a rank that may be in progress at once, where the program's steps do not depend on each other.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "steps"))]
    pub outstanding: u32,
    /// Time that a rank needs after each step before it goes on: software, adding up vectors.
    #[serde(default)]
    pub step_delay: Time,
    /// Name of a job before this one: a rank begins when the rank of that job on its host has ended, and not before `start`. A rank on a host
    /// without one begins at `start`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Placement of ranks on hosts, in the order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Placement {
    /// Rank i on the i-th host; with n ranks a host, the first n on the first, and so on. With a list of single hosts: any placement.
    #[default]
    Linear,
    /// On hosts drawn at random from the seed.
    Random,
    /// Every n-th host, then every n-th beginning with the second, and so on.
    Strided(#[schemars(range(min = 1), extend("x-unit" = "hosts"))] u32),
}

/// Program of a job's ranks: a collective operation of MPI, or the communication of a kind of application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Program {
    /// Every rank has a block for every other (`MPI_Alltoall`).
    AllToAll(AllToAll),
    /// The vectors of all ranks are added up, and every rank gets the sum (`MPI_Allreduce`).
    AllReduce(AllReduce),
    /// Every rank gets the blocks of all (`MPI_Allgather`).
    AllGather(AllGather),
    /// One rank's data goes to all others along a binomial tree (`MPI_Bcast`).
    Broadcast(Broadcast),
    /// No rank goes on before all have come (`MPI_Barrier`): dissemination.
    Barrier(Barrier),
    /// The three global transposes of a one-dimensional parallel FFT (HPC Challenge MPI-FFTE).
    Fft(Fft),
    /// Every rank exchanges messages with its neighbours in a process grid.
    NeighbourExchange(NeighbourExchange),
    /// Every rank has a block for every other, those for one rank larger (`MPI_Alltoallv`).
    AllToAllV(AllToAllV),
    /// Every rank sends to the rank a number of places after it (`MPI_Sendrecv` along a ring).
    Shift(Shift),
    /// Computing and operations one after the other, among groups of ranks, or beside each other.
    Sequence(PhaseSequence),
    /// A step of training of a transformer, by the sizes of its model: a preset of `sequence`.
    Training(Training),
}

/// Every rank has a block for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Algorithm.
    #[serde(default)]
    pub algorithm: AllToAllAlgorithm,
    /// Size of the block for each other rank.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
}

/// Algorithm of an all-to-all among p ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllToAllAlgorithm {
    /// p - 1 steps; in step k rank r exchanges with rank r XOR k where p is a power of two, else it sends to r + k and
    /// receives from r - k.
    #[default]
    Pairwise,
    /// p - 1 steps to the next rank, each passing on what is not for itself: the messages get shorter by a block a step.
    Ring,
    /// ceil(log2 p) steps with about half of all blocks each (Bruck et al. 1997).
    Bruck,
}

/// The vectors of all ranks are added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllReduce {
    /// Algorithm.
    #[serde(default)]
    pub algorithm: AllReduceAlgorithm,
    /// Size of the vector.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
}

/// Algorithm of an all-reduce among p ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllReduceAlgorithm {
    /// log2 p exchanges of the whole vector; where p is no power of two, the ranks beyond it hand their vectors to others
    /// before and get the sum after.
    #[default]
    RecursiveDoubling,
    /// 2 (p - 1) steps with a p-th of the vector each.
    Ring,
    /// Recursive halving, then recursive doubling, of parts of the vector (Rabenseifner 2004); the ranks beyond a power of
    /// two as above.
    Rabenseifner,
}

/// Every rank gets the blocks of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllGather {
    /// Algorithm.
    #[serde(default)]
    pub algorithm: AllGatherAlgorithm,
    /// Size of each rank's block.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
}

/// Algorithm of an all-gather among p ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllGatherAlgorithm {
    /// p - 1 steps with one block each.
    #[default]
    Ring,
    /// ceil(log2 p) steps; the messages double (Bruck et al. 1997).
    Bruck,
}

/// One rank's data goes to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Broadcast {
    /// The rank that has it.
    #[serde(default)]
    #[schemars(extend("x-unit" = "1"))]
    pub root: u32,
    /// Its size.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
}

/// No rank goes on before all have come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Barrier {
    /// Size of a message.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
}

impl Default for Barrier {
    fn default() -> Self {
        Self { message: Bytes(8) }
    }
}

/// The transposes of a parallel FFT of n elements on p ranks: three all-to-alls with blocks of n / p^2 elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fft {
    /// Elements of the whole vector, n.
    #[schemars(range(min = 1), extend("x-unit" = "elements"))]
    pub elements: u64,
    /// Size of an element (a complex number of double precision has 16 B).
    #[serde(default = "complex")]
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub element_size: Bytes,
    /// Algorithm of each transpose.
    #[serde(default)]
    pub algorithm: AllToAllAlgorithm,
    /// Time that a rank computes after each of the three transposes.
    #[serde(default)]
    pub compute: Time,
}

const fn complex() -> Bytes {
    Bytes(16)
}

/// Every rank exchanges messages with its neighbours in a process grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeighbourExchange {
    /// Ranks in each dimension, the first varies fastest; their product is the number of ranks.
    #[schemars(inner(range(min = 1)), extend("x-unit" = "ranks"))]
    pub grid: Vec<u32>,
    /// True if the ranks at opposite ends of a dimension have each other as neighbours.
    #[serde(default = "yes")]
    pub periodic: bool,
    /// Size of the message to each neighbour.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
    /// Time that a rank computes after each exchange.
    #[serde(default)]
    pub compute: Time,
}

const fn yes() -> bool {
    true
}

/// Every rank has a block for every other: all are sent at once. The blocks of one rank have `imbalance` times the mean size,
/// those of the others the rest in equal parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAllV {
    /// Mean size of a block.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
    /// Size of a block of the rank `hot` over the mean size; at most the number of ranks.
    #[serde(default = "even")]
    #[schemars(range(min = 1.0), extend("x-unit" = "1"))]
    pub imbalance: f64,
    /// The rank with the largest blocks.
    #[serde(default)]
    #[schemars(extend("x-unit" = "1"))]
    pub hot: u32,
    /// False if the rank `hot` receives the largest blocks, true if it sends them (what it received goes back).
    #[serde(default)]
    pub back: bool,
}

const fn even() -> f64 {
    1.0
}

/// Every rank sends to the one `by` places after it, and receives from the one `by` places before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// Size of the message.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
    /// Number of places, modulo the number of ranks.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "ranks"))]
    pub by: u32,
}
