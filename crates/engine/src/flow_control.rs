//! Flow-control packets: what depends on the network.

use fabricsim_fabric::flow_control::{BLOCK, WINDOW};
use fabricsim_spec::{Experiment, FlowControlBy, SpecError};
use fabricsim_topology::Graph;
use fabricsim_units::{Bytes, LinkId};

/// Refuses buffers beyond the blocks that flow-control packets can announce.
pub(crate) fn check(experiment: &Experiment, graph: &Graph, file: &str) -> Result<(), SpecError> {
    if experiment.switch.flow_control == FlowControlBy::Ideal {
        return Ok(());
    }
    let most = Bytes(u64::from(BLOCK) * u64::from(WINDOW));
    let Some(number) = graph.links.iter().position(|link| link.parameters.buffer > most) else {
        return Ok(());
    };
    let message = format!(
        "the buffer of {} has {} for each lane: flow-control packets count at most {most}; give less, or use \"ideal\"",
        graph.link_name(LinkId(number as u32)),
        graph.links[number].parameters.buffer,
    );
    Err(SpecError::at_key(file, "switch.flow_control", message))
}
