//! The parking lot: a chain of switches (a one-dimensional mesh) and one host more on the last switch, the
//! destination of all. It is the last host, and the last of its switch: `H(n-1).h` with n switches and h senders
//! on each.

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
        kind: "parking-lot",
        size_key: "switches",
        title: format!("parking lot of {switches} switches"),
        dimensions: vec![switches],
        wrap: vec![false],
        hosts_per_switch,
        sink: true,
        scheme: Scheme::Coordinates,
    };
    plan.build(context)
}
