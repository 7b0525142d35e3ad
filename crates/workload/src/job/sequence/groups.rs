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

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Megatron-LM's documentation: 16 ranks, 2 in the tensor and 4 in the pipeline dimension.
    #[test]
    fn groups_are_those_of_megatron() {
        let spec = PhaseSequence { tensor: 2, pipeline: 4, ..PhaseSequence::default() };
        let place = ErrorLocation { file: "a.toml", list: "jobs", entry: 0 };
        let dimensions = Dimensions::new((place, "program"), 16, &spec).unwrap();
        let members = |group, rank| -> Vec<u32> {
            let group = dimensions.group(group);
            (0..group.size).map(|place| group.rank(rank, place)).collect()
        };
        assert_eq!(members(RankGroup::Tensor, 5), [4, 5]);
        assert_eq!(members(RankGroup::Data, 5), [5, 7]);
        assert_eq!(members(RankGroup::Pipeline, 5), [1, 5, 9, 13]);
        assert!(members(RankGroup::All, 5).into_iter().eq(0..16));
    }

    #[test]
    fn expert_groups_divide_the_data_dimension() {
        let spec = PhaseSequence { tensor: 2, expert: 2, ..PhaseSequence::default() };
        let place = ErrorLocation { file: "a.toml", list: "jobs", entry: 0 };
        let dimensions = Dimensions::new((place, "program"), 16, &spec).unwrap();
        // The data group of rank 5 is 1, 3, 5 ... 15.
        let (expert, data) = (dimensions.group(RankGroup::Expert), dimensions.group(RankGroup::ExpertData));
        assert_eq!([0, 1].map(|place| expert.rank(5, place)), [5, 7]);
        assert_eq!([0, 1, 2, 3].map(|place| data.rank(5, place)), [1, 5, 9, 13]);
        assert_eq!((expert.place(7), data.place(9)), (1, 2));
    }
}
