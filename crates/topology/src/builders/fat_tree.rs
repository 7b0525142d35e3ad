//! The k-ary n-tree (Petrini, Vanneschi 1997): XGFT(n; k, ..., k; 1, k, ..., k).

use fabricsim_spec::SpecError;

use super::xgft;
use crate::Graph;
use crate::builder_input::BuilderInput;

pub(crate) fn build(context: &BuilderInput<'_>, arity: u32, levels: u32) -> Result<Graph, SpecError> {
    let children = vec![arity; levels as usize];
    let mut parents = children.clone();
    parents[0] = 1;
    let title = format!("{arity}-ary {levels}-tree");
    xgft::Plan { keys: ["topology.fat-tree.levels"; 2], title, children, parents }.build(context)
}
