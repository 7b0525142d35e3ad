//! Graphs from files.

use fabricsim_spec::SpecError;

use crate::Graph;
use crate::build::Context;

pub(crate) fn build(context: &Context<'_>, path: &str) -> Result<Graph, SpecError> {
    let _ = context.base_dir;
    Err(context.error("topology.file.path", format!("{path} can not be read yet")))
}
