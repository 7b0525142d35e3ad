//! A ring of switches: a one-dimensional torus.

use fabricsim_spec::SpecError;

use super::grid::Plan;
use super::naming::Scheme;
use crate::Graph;
use crate::builder_input::BuilderInput;

pub(crate) fn build(
    context: &BuilderInput<'_>,
    switches: u32,
    hosts_per_switch: u32,
) -> Result<Graph, SpecError> {
    let plan = Plan {
        kind: "ring",
        size_key: "switches",
        title: format!("ring of {switches}"),
        dimensions: vec![switches],
        wrap: vec![true],
        hosts_per_switch,
        sink: false,
        scheme: Scheme::Coordinates,
    };
    plan.build(context)
}
