//! The binary hypercube: a mesh of radix 2 in every dimension. Bit d of a switch's number is its coordinate d.

use fabricsim_spec::SpecError;

use super::grid::Plan;
use super::naming::Scheme;
use crate::Graph;
use crate::builder_input::BuilderInput;

pub(crate) fn build(
    context: &BuilderInput<'_>,
    dimensions: u32,
    hosts_per_switch: u32,
) -> Result<Graph, SpecError> {
    let plan = Plan {
        kind: "hypercube",
        size_key: "dimensions",
        title: format!("{dimensions}-dimensional hypercube"),
        dimensions: vec![2; dimensions as usize],
        wrap: vec![false; dimensions as usize],
        hosts_per_switch,
        sink: false,
        scheme: Scheme::Coordinates,
    };
    plan.build(context)
}
