//! From an experiment's ages to those of its switches.

use fabricsim_fabric::Switch as Fabric;
use fabricsim_fabric::age::{AgeRrSelect, Ager, TICKS, cycles};
use fabricsim_model::Random;
use fabricsim_spec::{Age, AgePhase, Arbiter, Bias, Experiment, SpecError};
use fabricsim_topology::{Graph, PerLink};
use fabricsim_units::{SwitchId, Vl};

/// Builder of switches whose packets age; absent if they do not.
pub(crate) struct AgingBuilder {
    age: Age,
    /// Seed of the run.
    seed: u64,
    select: AgeRrSelect,
    /// REQ_AGE_BIAS and RSP_AGE_BIAS at both ends of each link.
    bias: Vec<[u8; 2]>,
    /// The first lane of responses.
    responses: Vl,
}

impl AgingBuilder {
    /// Age clocks as the experiment configures them. The error names the key of a bias for a port that does not exist.
    pub(crate) fn new(experiment: &Experiment, graph: &Graph, file: &str) -> Result<Option<Self>, SpecError> {
        let switch = &experiment.switch;
        if switch.arbiter != Arbiter::AgeBased {
            return Ok(None);
        }
        let requests = per_link(&switch.age.bias).resolve(graph, "switch.age.bias", file)?;
        let responses = match &switch.age.response_bias {
            Some(bias) => per_link(bias).resolve(graph, "switch.age.response_bias", file)?,
            None => requests.clone(),
        };
        let classes = switch.service_classes.max(1);
        Ok(Some(Self {
            age: switch.age.clone(),
            seed: experiment.seed,
            select: AgeRrSelect(switch.age.rr_select.0),
            bias: requests
                .into_iter()
                .zip(responses)
                .map(|(request, response)| [request, response])
                .collect(),
            responses: Vl(classes.div_ceil(2) * switch.lanes_per_class()),
        }))
    }

    /// Returns the switch with aging.
    pub(crate) fn apply(&self, switch: Fabric, graph: &Graph, id: SwitchId) -> Fabric {
        let ports = graph.switches[id.index()].ports.iter();
        let bias = ports.map(|link| self.bias[link.index()]).collect();
        switch.with_ages(self.ager(id), self.select, bias, self.responses)
    }

    fn ager(&self, id: SwitchId) -> Ager {
        const PHASE: u64 = 0x7068_6173;
        let Age { period, cycle, phase, .. } = self.age;
        match phase {
            AgePhase::Common => Ager::new(period, cycle),
            AgePhase::Random => {
                let mut random = Random::new(self.seed, PHASE, u64::from(id.0));
                Ager::begun_before(period, cycle, random.below(TICKS * cycles(period)))
            }
        }
    }
}

fn per_link(bias: &Bias) -> PerLink<'_, u8> {
    let Bias { all, hosts, dimension, level, named } = bias;
    PerLink { all: *all, hosts: *hosts, dimension, level, named }
}
