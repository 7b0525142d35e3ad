//! Graphs from files: [`toml`], [`csv`], [`graphml`], [`ned`], [`anynet`], [`infiniband`].

mod anynet;
mod csv;
mod draft;
mod edges;
mod graphml;
mod infiniband;
mod ned;
mod overruled;
mod toml;

use std::io::Read;
use std::path::Path;

use fabricsim_spec::{InlineFormat, SpecError};
use fabricsim_units::nearest;

use crate::Graph;
use crate::builder_input::BuilderInput;
use crate::limits::MAX_PORTS;
use crate::links::{Classes, Defaults, by_class};

pub use overruled::overruled;

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
    /// `.csv`: a line for each link, after a line with the names of the columns: `a` and `b` (or `source` and `target`, or `from` and `to`), and as
    /// wanted `a_port`, `b_port`, `rate`, `latency`, `buffer`, `packet_overhead`, `reads`, `bit_error_rate`, `mtu`, and `cables`, the number of
    /// parallel ones. An empty cell leaves the value of the experiment's `[links]`; lines that begin with `#` are comments. A node with
    /// one link is a host, all others are switches.
    Csv,
    /// `.graphml`: nodes with the attributes `name` (else their identifier is the name) and `kind` (`switch` or `host`; else a node with one link is a
    /// host), `coordinates` of switches (`0,2`: where to draw it), and edges with those of the columns of `.csv`, `cables` among them. Two edges of opposite directions in a directed graph are one cable. Other
    /// attributes are left out.
    Graphml,
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
const ENDINGS: [(&str, Format); 6] = [
    ("toml", Format::Toml),
    ("csv", Format::Csv),
    ("graphml", Format::Graphml),
    ("ned", Format::Ned),
    ("anynet", Format::Anynet),
    ("dot", Format::Dot),
];

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
            "the ending `.{ending}` names no graph format: allowed are .toml, .csv, .graphml, .ned, .anynet, .dot{hint}"
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
    parse_with(bytes, format, file, defaults, None)
}

/// The same with hosts on every switch of a graph that has none.
fn parse_with(
    bytes: &[u8],
    format: Format,
    file: &str,
    defaults: &Defaults<'_>,
    hosts_per_switch: Option<u32>,
) -> Result<Graph, SpecError> {
    let parameters = by_class(defaults, Classes::Plain)?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        SpecError::at_line(file, line, "this is not UTF-8 text")
    })?;
    let only_switches = hosts_per_switch.is_some();
    let (mut draft, identity) = match format {
        Format::Toml => (toml::read(text, file)?, None),
        Format::Csv => (csv::read(text, file)?.into_draft(only_switches), None),
        Format::Graphml => (graphml::read(text, file)?.into_draft(only_switches), None),
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
    match (hosts_per_switch, draft.hosts.first()) {
        (Some(per_switch), None) => draft.add_hosts(per_switch),
        (Some(_), Some(host)) => {
            let text = format!("{} is a host: hosts_per_switch is for graphs without hosts", host.name);
            return Err(SpecError::at_line(file, host.line, text));
        }
        (None, None) if matches!(format, Format::Csv | Format::Graphml) && !draft.switches.is_empty() => {
            let text = "no node has one link only, so that there is no host: give hosts_per_switch";
            return Err(SpecError::at_line(file, 1, text));
        }
        (None, _) => {}
    }
    let graph = draft.finish(file, &parameters, defaults.flow_control_unit)?;
    Ok(Graph { identity, ..graph })
}

/// Line (from 1) of a byte.
fn line_at(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|&&b| b == b'\n').count() + 1
}

/// `topology.file`
pub(crate) fn build(
    context: &BuilderInput<'_>,
    path: &str,
    hosts_per_switch: Option<u32>,
) -> Result<Graph, SpecError> {
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
    check_hosts(context, "topology.file.hosts_per_switch", hosts_per_switch)?;
    parse_with(&bytes, format, &full.display().to_string(), &context.defaults(), hosts_per_switch)
}

/// `topology.inline`
pub(crate) fn build_inline(
    context: &BuilderInput<'_>,
    format: InlineFormat,
    text: &str,
    hosts_per_switch: Option<u32>,
) -> Result<Graph, SpecError> {
    let format = match format {
        InlineFormat::Toml => Format::Toml,
        InlineFormat::Csv => Format::Csv,
        InlineFormat::Graphml => Format::Graphml,
    };
    check_hosts(context, "topology.inline.hosts_per_switch", hosts_per_switch)?;
    let file = format!("{}: topology.inline.text", context.file);
    parse_with(text.as_bytes(), format, &file, &context.defaults(), hosts_per_switch)
}

fn check_hosts(
    context: &BuilderInput<'_>,
    key: &str,
    hosts_per_switch: Option<u32>,
) -> Result<(), SpecError> {
    match hosts_per_switch {
        Some(0) => Err(context.error(key, "0 is not allowed: must be 1 to 1024")),
        Some(n) if u64::from(n) > MAX_PORTS => {
            Err(context.error(key, format!("{n} is not allowed: must be 1 to {MAX_PORTS}")))
        }
        _ => Ok(()),
    }
}

/// Starts of lines.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn of(&self, at: usize) -> usize {
        self.0.partition_point(|&newline| newline < at) + 1
    }
}
