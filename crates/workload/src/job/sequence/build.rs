//! Phases of an experiment, checked, as actions.

use std::sync::Arc;

use fabricsim_spec::{MicroBatches, Operation, Phase, PhaseSequence, RankGroup, name};
use fabricsim_units::{Bytes, Time};

use super::groups::{Dimensions, Group};
use super::lower::{self, Pipelined, Ready};
use super::{Plan, Schedule};
use crate::error::ErrorLocation;
use crate::programs::{self, Program, ProgramInput, part};
use crate::{Problem, WorkloadError};

/// The largest number of actions of a rank in an iteration.
const MOST_ACTIONS: u64 = 100_000;

impl Schedule {
    /// The schedule of a job of `ranks` ranks.
    pub(in crate::job) fn new(
        (place, key): (ErrorLocation<'_>, &str),
        ranks: u32,
        spec: &PhaseSequence,
    ) -> Result<Self, WorkloadError> {
        let dimensions = Dimensions::new((place, key), ranks, spec)?;
        let stages = dimensions.group(RankGroup::Pipeline);
        let builder = Builder { place, key, dimensions };
        let pipelined = spec.micro_batches.as_ref().map(|batches| builder.pipelined(batches)).transpose()?;
        let phases = builder.phases("phases", &spec.phases)?;
        let actions = lower::actions(&phases) + pipelined.as_ref().map_or(0, Pipelined::actions);
        if actions > MOST_ACTIONS {
            return Err(place.error(key, Problem::LongSequence { actions, most: MOST_ACTIONS }));
        }
        let steps = lower::steps(&phases) + pipelined.as_ref().map_or(0, |of| of.steps(stages.size));
        if steps == 0 {
            return Err(place.error(key, Problem::SilentSequence));
        }
        let Ok(all) = u32::try_from(steps) else {
            return Err(place.error(
                "iterations",
                Problem::TooManySteps { iterations: 1, steps, most: u64::from(u32::MAX) },
            ));
        };
        let plan = |stage| Arc::new(Plan::new(stage, stages, pipelined.as_ref(), &phases, all));
        Ok(Self { plans: (0..stages.size).map(plan).collect(), stages, steps })
    }
}

struct Builder<'a> {
    place: ErrorLocation<'a>,
    /// Key of the sequence.
    key: &'a str,
    dimensions: Dimensions,
}

impl Builder<'_> {
    fn pipelined(&self, spec: &MicroBatches) -> Result<Pipelined, WorkloadError> {
        let backward = self.phases("micro_batches.backward", &spec.backward)?;
        let last = self.phases("micro_batches.last_backward", &spec.last_backward)?;
        if !last.is_empty() && backward.is_empty() {
            let (with, why) = ("last_backward", "give the phases of the other backward passes as well");
            let key = format!("{}.micro_batches.backward", self.key);
            return Err(self.place.error(&key, Problem::Missing { with, why }));
        }
        Ok(Pipelined {
            count: spec.count,
            bytes: spec.message.get(),
            forward: self.phases("micro_batches.forward", &spec.forward)?,
            last: if last.is_empty() { backward.clone() } else { last },
            backward,
        })
    }

    fn phases(&self, key: &str, phases: &[Phase]) -> Result<Vec<Ready>, WorkloadError> {
        let each = phases.iter().enumerate();
        each.map(|(number, phase)| self.phase(&format!("{}.{key}.{number}", self.key), phase)).collect()
    }

    fn phase(&self, key: &str, spec: &Phase) -> Result<Ready, WorkloadError> {
        let group = self.dimensions.group(spec.group);
        let operation = spec.operation.as_ref().filter(|_| group.size > 1);
        let is_within_stage = !matches!(spec.group, RankGroup::All | RankGroup::Pipeline);
        let stages = self.dimensions.group(RankGroup::Pipeline).size;
        if operation.is_some() && stages > 1 && !is_within_stage && key.contains("micro_batches") {
            return Err(self.place.error(&format!("{key}.group"), Problem::GroupOfStages(stages)));
        }
        let programs = match operation {
            Some(operation) => self.programs(key, operation, group, spec.buckets)?,
            None => Vec::new(),
        };
        let parts = programs.len().max(1) as u32;
        let ps = |number| part(spec.compute.0, number, parts);
        Ok(Ready {
            computing: (0..parts).map(|number| Time(ps(number + 1) - ps(number))).collect(),
            programs,
            group,
            joins: spec.buckets > 1 && !spec.overlap,
            is_beside: spec.buckets > 1 || spec.overlap,
            repeat: spec.repeat,
        })
    }

    /// The program of each bucket.
    fn programs(
        &self,
        key: &str,
        operation: &Operation,
        group: Group,
        buckets: u32,
    ) -> Result<Vec<Arc<dyn Program>>, WorkloadError> {
        let refused = |why| {
            let operation = name(operation).to_owned();
            Err(self.place.error(&format!("{key}.buckets"), Problem::Buckets { buckets, operation, why }))
        };
        let all = operation.clone().message().map(|message| message.get());
        if buckets > 1 {
            match all {
                None => return refused("it has no `message` to divide; leave `buckets` out"),
                Some(all) if all < u64::from(buckets) => {
                    return refused("each needs a byte; lower `buckets` or raise `message`");
                }
                Some(_) => {}
            }
        }
        let key = format!("{key}.operation");
        let input = ProgramInput { place: self.place, key: &key, ranks: group.size };
        let one = |number: u32| {
            let mut operation = operation.clone();
            if let (Some(message), Some(all)) = (operation.message(), all) {
                *message = Bytes(part(all, number + 1, buckets) - part(all, number, buckets));
            }
            programs::new(&input, &operation)
        };
        (0..buckets).map(one).collect()
    }
}
