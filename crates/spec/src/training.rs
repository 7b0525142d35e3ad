use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::{AllReduce, AllReduceAlgorithm, AllToAllV, Job, Program};
use crate::sequence::{MicroBatches, Operation, Phase, PhaseSequence, RankGroup};

/// A step of training of a transformer: the sequence that follows from the sizes of the model and the parallel dimensions.
///
/// A token takes 2 operations for each parameter in a forward pass and 4 in a backward pass (D. Narayanan et al., "Efficient
/// large-scale language model training on GPU clusters using Megatron-LM", SC 2021, without the term of the attention).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Parameters of the model, those of experts included.
    #[schemars(range(min = 1), extend("x-unit" = "1"))]
    pub parameters: u64,
    /// Layers of the model; a multiple of `pipeline`.
    #[schemars(range(min = 1), extend("x-unit" = "layers"))]
    pub layers: u32,
    /// Values of a token between layers.
    #[schemars(range(min = 1), extend("x-unit" = "1"))]
    pub hidden: u32,
    /// Tokens of a micro-batch.
    #[schemars(range(min = 1), extend("x-unit" = "tokens"))]
    pub tokens: u32,
    /// Operations that a rank does in a second, as reached in computing (not the peak of the processor).
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1/s"))]
    pub flops: f64,
    /// Micro-batches of an iteration.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "micro-batches"))]
    pub micro_batches: u32,
    /// See [`PhaseSequence::tensor`].
    #[serde(default = "one")]
    pub tensor: u32,
    /// See [`PhaseSequence::pipeline`].
    #[serde(default = "one")]
    pub pipeline: u32,
    /// See [`PhaseSequence::expert`].
    #[serde(default = "one")]
    pub expert: u32,
    /// Size of a value between layers, and of a gradient.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 16), extend("x-unit" = "B"))]
    pub bytes_per_value: u32,
    /// Parts of the gradients, by layers. With 2 or more the sum of a part over the data dimension goes on beside the rest of the
    /// last backward pass, else it begins after that pass.
    #[serde(default = "one")]
    #[schemars(range(min = 1), extend("x-unit" = "buckets"))]
    pub buckets: u32,
    /// Experts in every layer (mixture of experts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
}

const fn one() -> u32 {
    1
}

const fn two() -> u32 {
    2
}

/// Experts in every layer. Tokens go to the ranks of their experts and back (two all-to-alls), in either direction of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts in a layer; a multiple of `expert`.
    #[schemars(range(min = 1), extend("x-unit" = "experts"))]
    pub count: u32,
    /// Parameters of the experts of all layers.
    #[schemars(range(min = 1), extend("x-unit" = "1"))]
    pub parameters: u64,
    /// Experts that a token goes to.
    #[serde(default = "two")]
    #[schemars(range(min = 1), extend("x-unit" = "experts"))]
    pub per_token: u32,
    /// Tokens of the busiest rank of an expert group over the mean; at most `expert`. Another rank is the busiest in each layer. The
    /// experts' computing takes as long as that of the busiest rank.
    #[serde(default = "even")]
    #[schemars(range(min = 1.0), extend("x-unit" = "1"))]
    pub imbalance: f64,
}

const fn even() -> f64 {
    1.0
}

impl Training {
    /// The sequence of an iteration. Its values are those that [`crate::check`] allows.
    pub fn sequence(&self) -> PhaseSequence {
        let of_stage = self.layers / self.pipeline.max(1);
        let layers = |from: u32, to: u32, passes: u64| self.layers(from, to, passes);
        let is_overlapped = self.buckets > 1;
        let cut = |number: u32| (u64::from(of_stage) * u64::from(number) / u64::from(self.buckets)) as u32;
        let last_backward = (0..self.buckets).filter(|_| is_overlapped).flat_map(|number| {
            let mut phases = layers(cut(number), cut(number + 1), 2);
            phases.append(&mut self.gradients(true));
            phases
        });
        PhaseSequence {
            tensor: self.tensor,
            pipeline: self.pipeline,
            expert: self.expert,
            micro_batches: Some(MicroBatches {
                count: self.micro_batches,
                message: size(self.activations(), u64::from(self.tensor)),
                forward: layers(0, of_stage, 1),
                backward: layers(0, of_stage, 2),
                last_backward: last_backward.collect(),
            }),
            phases: if is_overlapped { Vec::new() } else { self.gradients(false) },
        }
    }

    /// Bytes that all ranks of a tensor group exchange after a part of a layer.
    pub(crate) fn activations(&self) -> u128 {
        u128::from(self.tokens) * u128::from(self.hidden) * u128::from(self.bytes_per_value)
    }

    /// Bytes of the gradients of all ranks that hold one copy of them.
    pub(crate) fn gradient_bytes(&self, parameters: u64) -> u128 {
        u128::from(parameters) * u128::from(self.bytes_per_value)
    }

    fn ranks_of_copy(&self) -> u64 {
        u64::from(self.tensor) * u64::from(self.pipeline)
    }

    /// Computing of a rank in a layer in a forward pass, of parameters of all layers.
    fn time(&self, parameters: f64) -> Time {
        let operations = 2.0 * f64::from(self.tokens) * parameters / f64::from(self.layers.max(1));
        // A conversion to integers cuts what is too large for them.
        Time((operations / f64::from(self.tensor) / self.flops * 1e12).round() as u64)
    }

    /// Some layers of a stage; a backward pass computes twice as much as a forward pass.
    fn layers(&self, from: u32, to: u32, passes: u64) -> Vec<Phase> {
        let dense = self.parameters - self.experts.as_ref().map_or(0, |experts| experts.parameters);
        let time = Time(self.time(dense as f64).0.saturating_mul(passes));
        let reduce = Operation::AllReduce(AllReduce {
            algorithm: AllReduceAlgorithm::Ring,
            message: size(self.activations(), 1),
        });
        let operation = Some(reduce).filter(|_| self.tensor > 1);
        let part = |compute| Phase {
            compute,
            operation: operation.clone(),
            group: RankGroup::Tensor,
            ..Phase::default()
        };
        match &self.experts {
            // Two halves: attention and feed-forward network.
            None => vec![Phase { repeat: (2 * (to - from)).max(1), ..part(Time(time.0 / 2)) }],
            Some(experts) => {
                let of_expert = self.expert_time(experts, passes);
                let layer = |layer: u32| {
                    let [there, back] = [false, true].map(|back| self.exchange(experts, layer, back));
                    [part(time), there, part(of_expert), back]
                };
                (from..to).flat_map(layer).collect()
            }
        }
    }

    fn expert_time(&self, experts: &Experts, passes: u64) -> Time {
        let active = experts.parameters as f64 * f64::from(experts.per_token) / f64::from(experts.count);
        Time(self.time(active * experts.imbalance).0.saturating_mul(passes))
    }

    /// Tokens to the ranks of their experts, or back.
    fn exchange(&self, experts: &Experts, layer: u32, back: bool) -> Phase {
        let parts = u64::from(self.tensor) * u64::from(self.expert);
        let operation = Operation::AllToAllV(AllToAllV {
            message: size(self.activations() * u128::from(experts.per_token), parts),
            imbalance: experts.imbalance,
            hot: layer % self.expert.max(1),
            back,
        });
        Phase { operation: Some(operation), group: RankGroup::Expert, ..Phase::default() }
    }

    /// Sums of a bucket's gradients over the ranks with the same parameters.
    fn gradients(&self, overlap: bool) -> Vec<Phase> {
        let of_experts = self.experts.as_ref().map_or(0, |experts| experts.parameters);
        let buckets = u64::from(self.buckets);
        let sum = |parameters: u64, group: RankGroup, ranks: u64| {
            let message = size(self.gradient_bytes(parameters), ranks * buckets);
            let operation = Operation::AllReduce(AllReduce { algorithm: AllReduceAlgorithm::Ring, message });
            Phase { operation: Some(operation), group, overlap, ..Phase::default() }
        };
        let ranks = self.ranks_of_copy();
        let mut phases = vec![sum(self.parameters - of_experts, RankGroup::Data, ranks)];
        if of_experts > 0 {
            phases.push(sum(of_experts, RankGroup::ExpertData, ranks * u64::from(self.expert)));
        }
        phases
    }
}

/// A part of `bytes`, 1 or more.
fn size(bytes: u128, parts: u64) -> Bytes {
    Bytes(u64::try_from(bytes / u128::from(parts.max(1))).unwrap_or(u64::MAX).max(1))
}

/// The jobs as TOML, training steps as the sequences that they are; `None` if there is no training step.
pub fn expanded_jobs(jobs: &[Job]) -> Option<String> {
    #[derive(Serialize)]
    struct List {
        jobs: Vec<Job>,
    }
    let expanded = |job: &Job| match &job.program {
        Program::Training(training) => Job { program: Program::Sequence(training.sequence()), ..job.clone() },
        _ => job.clone(),
    };
    let has_any = jobs.iter().any(|job| matches!(job.program, Program::Training(_)));
    has_any.then(|| toml::to_string(&List { jobs: jobs.iter().map(expanded).collect() }).ok()).flatten()
}
