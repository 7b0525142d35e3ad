use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::{
    AllGather, AllReduce, AllToAll, AllToAllV, Barrier, Broadcast, Fft, NeighbourExchange, Program, Shift,
};
use crate::traffic::LARGEST_MESSAGE;

/// Computing and operations of an iteration: first the micro-batches, then the phases in order.
///
/// The ranks have a place in three dimensions, the first varies fastest: tensor, data, pipeline. The data dimension has the
/// ranks that the other two leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhaseSequence {
    /// Ranks in the tensor dimension.
    #[schemars(range(min = 1), extend("x-unit" = "ranks"))]
    pub tensor: u32,
    /// Ranks in the pipeline dimension: stages.
    #[schemars(range(min = 1), extend("x-unit" = "ranks"))]
    pub pipeline: u32,
    /// Ranks in an expert group, a part of the data dimension.
    #[schemars(range(min = 1), extend("x-unit" = "ranks"))]
    pub expert: u32,
    /// Micro-batches, which go through the stages of the pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_batches: Option<MicroBatches>,
    /// Phases after the micro-batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
}

impl Default for PhaseSequence {
    fn default() -> Self {
        Self { tensor: 1, pipeline: 1, expert: 1, micro_batches: None, phases: Vec::new() }
    }
}

/// Micro-batches of a pipeline. Every stage begins with as many forward passes as there are stages behind it, then backward
/// and forward passes take turns (the schedule 1F1B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicroBatches {
    /// Number of micro-batches.
    #[schemars(range(min = 1), extend("x-unit" = "micro-batches"))]
    pub count: u32,
    /// Size of the message to the next stage after a forward pass, and to the stage before after a backward pass.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = LARGEST_MESSAGE))]
    pub message: Bytes,
    /// Phases of a stage in a forward pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forward: Vec<Phase>,
    /// Phases of a stage in a backward pass; without any there are no backward passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backward: Vec<Phase>,
    /// Phases of the last backward pass in place of `backward`, for example with buckets of gradients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_backward: Vec<Phase>,
}

/// A rank computes, and takes part in an operation of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phase {
    /// Time that the rank computes.
    pub compute: Time,
    /// Operation after the computing. Among one rank it takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// Ranks that carry out the operation together.
    pub group: RankGroup,
    /// Equal parts of the computing and of the operation's bytes. With 2 or more the operation of a part begins when the part is
    /// computed and the operations of the parts before it are complete, while the rank computes the next part. The next phase
    /// begins when those of all parts are complete.
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "buckets"))]
    pub buckets: u32,
    /// True if the next phases do not wait for the operation, or for those of the buckets. It begins when the operations before
    /// it that nothing waits for are complete. The iteration ends when all are.
    pub overlap: bool,
    /// Number of times that the phase is carried out, for example layers.
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "times"))]
    pub repeat: u32,
}

impl Default for Phase {
    fn default() -> Self {
        Self {
            compute: Time::ZERO,
            operation: None,
            group: RankGroup::All,
            buckets: 1,
            overlap: false,
            repeat: 1,
        }
    }
}

/// Ranks of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankGroup {
    /// All ranks of the job.
    #[default]
    All,
    /// Ranks that differ in the tensor dimension alone.
    Tensor,
    /// Ranks that differ in the data dimension alone.
    Data,
    /// Ranks that differ in the pipeline dimension alone.
    Pipeline,
    /// Of those that differ in the data dimension alone, `expert` in a row.
    Expert,
    /// Of those that differ in the data dimension alone, the ranks with the same place in their expert groups.
    ExpertData,
}

/// Operation of a phase: a program of a group of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
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
}

impl Operation {
    /// The size that buckets divide, if it has one.
    pub fn message(&mut self) -> Option<&mut Bytes> {
        Some(match self {
            Self::AllToAll(AllToAll { message, .. })
            | Self::AllReduce(AllReduce { message, .. })
            | Self::AllGather(AllGather { message, .. })
            | Self::Broadcast(Broadcast { message, .. })
            | Self::NeighbourExchange(NeighbourExchange { message, .. })
            | Self::AllToAllV(AllToAllV { message, .. })
            | Self::Shift(Shift { message, .. }) => message,
            Self::Barrier(_) | Self::Fft(_) => return None,
        })
    }
}

impl Program {
    /// The operation that the program consists of; else the sequence.
    pub fn into_operation(self) -> Result<Operation, Box<PhaseSequence>> {
        Ok(match self {
            Self::AllToAll(spec) => Operation::AllToAll(spec),
            Self::AllReduce(spec) => Operation::AllReduce(spec),
            Self::AllGather(spec) => Operation::AllGather(spec),
            Self::Broadcast(spec) => Operation::Broadcast(spec),
            Self::Barrier(spec) => Operation::Barrier(spec),
            Self::Fft(spec) => Operation::Fft(spec),
            Self::NeighbourExchange(spec) => Operation::NeighbourExchange(spec),
            Self::AllToAllV(spec) => Operation::AllToAllV(spec),
            Self::Shift(spec) => Operation::Shift(spec),
            Self::Sequence(sequence) => return Err(Box::new(sequence)),
            Self::Training(training) => return Err(Box::new(training.sequence())),
        })
    }
}
