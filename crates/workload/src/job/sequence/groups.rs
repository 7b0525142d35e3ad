//! Groups of ranks by dimension.

use fabricsim_spec::{PhaseSequence, RankGroup};

use crate::error::ErrorLocation;
use crate::{Problem, WorkloadError};

/// Ranks that differ in one dimension alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Difference of the numbers of neighbours.
    stride: u32,
    /// Number of ranks, 1 or more.
    pub(super) size: u32,
}

impl Group {
    /// Place of a rank in its group.
    pub(super) fn place(self, rank: u32) -> u32 {
        rank / self.stride % self.size
    }

    /// The rank at a place in the group of `rank`.
    pub(super) fn rank(self, rank: u32, place: u32) -> u32 {
        rank - self.place(rank) * self.stride + place * self.stride
    }
}

/// Dimensions of the ranks of a job: tensor is fastest, then data, then pipeline. (The order of Megatron-LM: D. Narayanan et al.,
/// "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Dimensions {
    tensor: u32,
    data: u32,
    pipeline: u32,
    expert: u32,
}

impl Dimensions {
    pub(super) fn new(
        (place, of): (ErrorLocation<'_>, &str),
        ranks: u32,
        spec: &PhaseSequence,
    ) -> Result<Self, WorkloadError> {
        let divided = |key: &str, written: u32, ranks: u32, whole: &str| {
            if written > 0 && ranks.is_multiple_of(written) {
                return Ok(ranks / written);
            }
            let whole = format!("the {ranks} {whole}");
            Err(place.error(&format!("{of}.{key}"), Problem::Dimension { written, whole, ranks }))
        };
        let rest = divided("tensor", spec.tensor, ranks, "ranks of the job")?;
        let data = divided("pipeline", spec.pipeline, rest, "ranks that the tensor dimension leaves")?;
        divided("expert", spec.expert, data, "ranks of the data dimension")?;
        Ok(Self { tensor: spec.tensor, data, pipeline: spec.pipeline, expert: spec.expert })
    }

    pub(super) fn group(self, group: RankGroup) -> Group {
        let Self { tensor, data, pipeline, expert } = self;
        let (stride, size) = match group {
            RankGroup::All => (1, tensor * data * pipeline),
            RankGroup::Tensor => (1, tensor),
            RankGroup::Data => (tensor, data),
            RankGroup::Pipeline => (tensor * data, pipeline),
            RankGroup::Expert => (tensor, expert),
            RankGroup::ExpertData => (tensor * expert, data / expert),
        };
        Group { stride, size }
    }
}
