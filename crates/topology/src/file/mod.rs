//! Graphs from files: [`toml`], [`ned`], [`anynet`], [`infiniband`].

mod anynet;
mod draft;
mod infiniband;
mod ned;
mod toml;

use std::io::Read;
use std::path::Path;

use fabricsim_spec::{SpecError, nearest};

use crate::Graph;
use crate::builder_input::BuilderInput;
use crate::links::{Classes, Defaults, by_class};

/// File format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.toml`: this project's own. Tables `[[switch]]`, `[[host]]`, `[[link]]`:
    ///
    /// ```toml
    /// title = "one cable"
    ///
    /// [[switch]]
    /// name = "A"              # unique among switches and hosts
    /// ports = 2               # optional: how many there are; each must be used
    /// coordinates = [0, 0]    # optional: where to draw it
    ///
    /// [[host]]
    /// name = "h1"
    ///
    /// [[host]]
    /// name = "h2"
    ///
    /// [[link]]
    /// a = "h1"
    /// b = "A"
    /// b_port = 0              # optional (also a_port): else the lowest free one
    /// rate = "32 Gb/s"        # optional, as are the others: else by [links] of the experiment
    /// latency = "5 ns"
    /// buffer = "64 KiB"
    /// packet_overhead = "8 B"
    /// reads = 1
    /// bit_error_rate = 1e-12
    ///
    /// [[link]]
    /// a = "h2"
    /// b = "A"
    /// ```
    Toml,
    /// `.ned`: OMNeT++ network description of the InfiniBand model: submodules of type `HCA` and `Switch`
    /// (with `numSwitchPorts`), connections of their gates `out`, `in`, `out[port]`, `in[port]` in both directions,
    /// with `delay` and `datarate`. Submodules of other types (the model's `IDGenerator`) are left out.
    Ned,
    /// `.anynet`: BookSim 2 `network_file`: lines `router 0 node 0 router 1 15`. A number after a node or router is
    /// the latency of that link in cycles; a cycle is the latency that the experiment's `[links]` gives the link.
    /// Nodes become hosts `N<number>`, routers switches `R<number>`; ports are the nodes, then the routers, each
    /// in ascending order, as BookSim has them.
    Anynet,
    /// An InfiniBand subnet, known by its content, whatever the ending: `ibnetdiscover` (full, or `-p`), an ibsim netlist,
    /// `opensm-subnet.lst`. Descriptions become names; a port of an adapter is a host; GUIDs, LIDs and physical port numbers
    /// are the graph's [`Identity`](crate::Identity). Nodes without a cable are left out.
    Subnet,
    /// `.dot`: Graphviz, written only.
    Dot,
}

/// File name endings and their formats.
const ENDINGS: [(&str, Format); 4] =
    [("toml", Format::Toml), ("ned", Format::Ned), ("anynet", Format::Anynet), ("dot", Format::Dot)];

/// Largest graph file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 30;

impl Format {
    /// Returns the format of a file by its ending, or, with another ending, by its content.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Result<Self, String> {
        Self::of_path(path).or_else(|message| match fabricsim_subnet::detect(bytes) {
            Some(_) => Ok(Self::Subnet),
            None => Err(format!(
                "{message}; nor is it an InfiniBand subnet as ibnetdiscover, ibsim or OpenSM write it"
            )),
        })
    }

    /// Returns the format that a file name's ending indicates. The error lists the valid endings.
    pub fn of_path(path: &Path) -> Result<Self, String> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if let Some((_, format)) = ENDINGS.iter().find(|(name, _)| *name == ending) {
            return Ok(*format);
        }
        let hint = nearest(ending, ENDINGS.map(|(name, _)| name)).filter(|_| !ending.is_empty());
        let hint = hint.map(|name| format!("; did you mean `.{name}`?")).unwrap_or_default();
        Err(format!(
            "the ending `.{ending}` names no graph format: allowed are .toml, .ned, .anynet, .dot{hint}"
        ))
    }
}

/// Reads a graph. `file` is its name, for messages. Parameters that the file does not give are taken from
/// `defaults`: `links.all`, then `links.hosts`; what the file gives wins over those. (`links.named`, which wins over
/// the file, is for [`build`](crate::build) to apply.)
///
/// # Errors
///
/// They name the file, the line and the problem: text that is not UTF-8, is cut off or not of the format; a link
/// to a node or port that does not exist; a port that is used twice or not at all; a host without a link or with
/// two; duplicate names; a graph that is not connected.
pub fn parse(bytes: &[u8], format: Format, file: &str, defaults: &Defaults<'_>) -> Result<Graph, SpecError> {
    let parameters = by_class(defaults, Classes::Plain)?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        SpecError::at_line(file, line, "this is not UTF-8 text")
    })?;
    let (draft, identity) = match format {
        Format::Toml => (toml::read(text, file)?, None),
        Format::Ned => (ned::read(text, file)?, None),
        Format::Anynet => (anynet::read(text, file, &parameters)?, None),
        Format::Subnet => {
            let (draft, identity) = infiniband::read(bytes, file)?;
            (draft, Some(Box::new(identity)))
        }
        Format::Dot => {
            return Err(SpecError::at_line(file, 1, "Graphviz files are only written, not read"));
        }
    };
    let graph = draft.finish(file, &parameters, defaults.flow_control_unit)?;
    Ok(Graph { identity, ..graph })
}

/// Line (from 1) of a byte.
fn line_at(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|&&b| b == b'\n').count() + 1
}

/// `topology.file`
pub(crate) fn build(context: &BuilderInput<'_>, path: &str) -> Result<Graph, SpecError> {
    let key = "topology.file.path";
    let full = context.base_dir.join(path);
    // Other endings are those of InfiniBand subnets; or a slip.
    let failed = |error: std::io::Error| {
        let ending = Format::of_path(&full).err().map(|message| format!("; {message}")).unwrap_or_default();
        context.error(key, format!("cannot read {}: {error}{ending}", full.display()))
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&full).map_err(failed)?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(context.error(key, format!("{} is larger than 1 GiB", full.display())));
    }
    let format = Format::of_file(&full, &bytes).map_err(|message| context.error(key, message))?;
    parse(&bytes, format, &full.display().to_string(), &context.defaults())
}
