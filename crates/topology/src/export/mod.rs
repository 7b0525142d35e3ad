//! Graphs as text.

mod anynet;
mod csv;
mod dot;
mod graphml;
mod layout;
mod names;
mod ned;
mod toml;

use fabricsim_spec::LinkParameters;
use thiserror::Error;

use crate::{Format, Graph};

/// Reason why a graph cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// BookSim's format knows no such graph.
    #[error("a BookSim network file cannot hold this graph: {0}; write .toml instead")]
    Anynet(String),
    /// A table of links knows hosts by their number of links.
    #[error("a table of links cannot hold this graph: {0}; write .toml or .graphml instead")]
    Csv(String),
    /// Files of subnets are only read.
    #[error("an InfiniBand subnet is only read: write .toml instead")]
    Subnet,
}

/// Writes a graph.
///
/// - [`Format::Toml`] keeps everything but the regular shape: [`parse`](crate::parse) gives the graph back with links
///   of class [`Plain`](crate::LinkClass::Plain) between its switches.
/// - [`Format::Graphml`] keeps the same but for the title, and [`Format::Csv`] all links with their attributes and ports, but not the order of switches and
///   where to draw them.
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
/// [`Format::Anynet`] knows no parallel links, [`Format::Csv`] no switch with one link; [`Format::Subnet`] is only read.
pub fn export(graph: &Graph, format: Format) -> Result<String, ExportError> {
    match format {
        Format::Toml => Ok(toml::write(graph)),
        Format::Csv => csv::write(graph).map_err(ExportError::Csv),
        Format::Graphml => Ok(graphml::write(graph)),
        Format::Ned => Ok(ned::write(graph)),
        Format::Anynet => anynet::write(graph).map_err(ExportError::Anynet),
        Format::Dot => Ok(dot::write(graph)),
        Format::Subnet => Err(ExportError::Subnet),
    }
}

/// Parameters of a link as texts, in the order of the keys of a file; an empty one is not given.
fn attributes(of: &LinkParameters) -> [(&'static str, String); 7] {
    let errors = if of.bit_error_rate > 0.0 { format!("{:?}", of.bit_error_rate) } else { String::new() };
    [
        ("rate", of.rate.to_string()),
        ("latency", of.latency.to_string()),
        ("buffer", of.buffer.to_string()),
        ("packet_overhead", of.packet_overhead.to_string()),
        ("reads", of.reads.to_string()),
        ("bit_error_rate", errors),
        ("mtu", of.mtu.map(|mtu| mtu.to_string()).unwrap_or_default()),
    ]
}
