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
pub enum ExportError {
    /// BookSim's format knows no such graph.
    #[error("a BookSim network file cannot hold this graph: {0}; write .toml instead")]
    Anynet(String),
    /// Files of subnets are only read.
    #[error("an InfiniBand subnet is only read: write .toml instead")]
    Subnet,
}

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
/// [`Format::Anynet`] knows no parallel links; [`Format::Subnet`] is only read.
pub fn export(graph: &Graph, format: Format) -> Result<String, ExportError> {
    match format {
        Format::Toml => Ok(toml::write(graph)),
        Format::Ned => Ok(ned::write(graph)),
        Format::Anynet => anynet::write(graph).map_err(ExportError::Anynet),
        Format::Dot => Ok(dot::write(graph)),
        Format::Subnet => Err(ExportError::Subnet),
    }
}
