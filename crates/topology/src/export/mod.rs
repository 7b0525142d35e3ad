//! Graphs as text.

mod anynet;
mod dot;
mod layout;
mod names;
mod ned;
mod toml;

use thiserror::Error;

use crate::{Format, Graph};

/// Reason why a graph cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a BookSim network file cannot hold this graph: {0}; write .toml instead")]
pub struct ExportError(String);

/// Writes a graph.
///
/// - [`Format::Toml`] keeps everything but the regular shape: [`parse`](crate::parse) gives the graph back with links
///   of class [`Plain`](crate::LinkClass::Plain) between its switches.
/// - [`Format::Ned`] has the form of the thesis' scripts (Zeru 2016, section 3.5 and appendix A): submodules `HCA` and
///   `Switch` with `numSwitchPorts`, connections with delay in both directions. The generator of identifiers of the
///   original model is left out. Names that are not NED identifiers are changed: `S(0,1)` becomes `S_0_1`. Rates are
///   not written: the model takes them from its ini file.
/// - [`Format::Anynet`] numbers hosts and switches, and gives latencies in units of their greatest common divisor.
///   BookSim numbers ports itself.
/// - [`Format::Dot`] draws switches at their coordinates, trees with the roots on top, with rate and latency as a tooltip.
///
/// # Errors
///
/// Only for [`Format::Anynet`]: it knows no parallel links.
pub fn export(graph: &Graph, format: Format) -> Result<String, ExportError> {
    match format {
        Format::Toml => Ok(toml::write(graph)),
        Format::Ned => Ok(ned::write(graph)),
        Format::Anynet => anynet::write(graph).map_err(ExportError),
        Format::Dot => Ok(dot::write(graph)),
    }
}
