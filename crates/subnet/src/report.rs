//! What commands tell of a subnet: its parts and oddities, and what an engine or given tables do with it.

use serde::Serialize;
use thiserror::Error;

use crate::{
    Analysis, Counts, Cycle, Demand, Engine, FileError, Finding, Format, Guid, Import, LidError, LidOptions,
    LinkLoad, Options, Pairs, PathSls, Problem, RouteError, Sl2Vl, Spread, Subnet, TableFile, Tables,
    Traffic, analyse, assign_lids, check_tables, read, read_as, traffic,
};

/// A file: its bytes, and its name for messages.
pub type Named<'a> = (&'a [u8], &'a str);

/// The files of an import.
#[derive(Clone, Copy, Debug)]
pub struct SubnetFiles<'a> {
    /// The subnet.
    pub fabric: Named<'a>,
    /// Its format; known by its content if none is given.
    pub format: Option<Format>,
    /// Forwarding tables.
    pub tables: Option<Named<'a>>,
    /// Tables from service levels to virtual lanes.
    pub sl2vl: Option<Named<'a>>,
    /// Service levels of paths.
    pub path_sls: Option<Named<'a>>,
}

/// Nodes, cables, and what is odd about them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportReport {
    /// Format of the file.
    pub format: Format,
    /// Number of nodes and cables.
    pub counts: Counts,
    /// Oddities of the subnet and of its tables.
    pub findings: Vec<Finding>,
}

/// Reads the files of an import.
///
/// # Errors
///
/// A file that does not parse, or that contradicts itself or another.
pub fn import(files: &SubnetFiles<'_>) -> Result<(Subnet, ImportReport), FileError> {
    let (bytes, name) = files.fabric;
    let Import { subnet, format, mut findings } = match files.format {
        Some(format) => read_as(bytes, name, format)?,
        None => read(bytes, name)?,
    };
    if let Some((bytes, name)) = files.tables {
        let (tables, odd) = TableFile::read(bytes, name)?.bind(&subnet)?;
        findings.extend(odd);
        // Tables of a subnet that cannot be routed as a whole are still read: what is missing is a finding of the subnet.
        findings.extend(check_tables(&subnet, &tables, name).unwrap_or_default());
    }
    if let Some((bytes, name)) = files.sl2vl {
        Sl2Vl::read(bytes, name, &subnet)?;
    }
    if let Some((bytes, name)) = files.path_sls {
        PathSls::read(bytes, name, &subnet)?;
    }
    let report = ImportReport { format, counts: subnet.counts(), findings };
    Ok((subnet, report))
}

/// Where the tables of a subnet come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An engine computes them.
    Engine(Engine, Options),
    /// They are given, with service levels of paths and their lanes if known.
    Given(Box<(Tables, Option<PathSls>, Option<Sl2Vl>)>),
}

/// A deadlock verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// True if no dependency of channels is cyclic.
    pub free: bool,
    /// A cycle otherwise.
    pub cycle: Option<Cycle>,
}

/// What tables do with all paths between adapters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteReport {
    /// Name of the engine; `tables` if they were given.
    pub engine: String,
    /// Number of paths by their outcome.
    pub pairs: Pairs,
    /// Mean number of switches on a path.
    pub hops_mean: f64,
    /// Paths on each direction of each link between switches.
    pub link_load: Spread,
    /// Layers that the engine needs, or the lanes that given tables use.
    pub layers: usize,
    /// Deadlock verdict.
    pub deadlock: Verdict,
    /// The most loaded links.
    pub hot_links: Vec<LinkLoad>,
    /// Loads of patterns of traffic, and the effective bisection bandwidth.
    pub traffic: Traffic,
    /// Number of ports whose LID was assigned or changed.
    pub assigned_lids: usize,
}

/// A routed subnet: the report, and the tables as OpenSM dumps them.
#[derive(Clone, Debug)]
pub struct Routed {
    /// The report.
    pub report: RouteReport,
    /// Forwarding tables, in the form of `opensm-lfts.dump`.
    pub lfts: String,
    /// Lanes of service levels, in the form of `opensm-sl2vl.dump`.
    pub sl2vl: String,
    /// Service levels of paths, in the form of `opensm-path-records.dump`; empty if all are 0.
    pub path_sls: String,
}

/// Reason for which a subnet is not routed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutedError {
    /// The engine, or the subnet.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The LIDs.
    #[error(transparent)]
    Lids(#[from] LidError),
    /// The matrix of demands.
    #[error("{0}")]
    Matrix(String),
}

/// Assigns missing LIDs, routes a subnet and analyses the tables.
///
/// # Errors
///
/// The engine cannot route the subnet, or it has no LIDs left.
pub fn route(
    mut subnet: Subnet,
    lmc: Option<u8>,
    source: &Source,
    matrix: &[(String, String, f64)],
) -> Result<Routed, RoutedError> {
    let assigned_lids = assign_lids_for(&mut subnet, lmc, source)?;
    let matrix = demands(&subnet, matrix).map_err(RoutedError::Matrix)?;
    match source {
        Source::Engine(engine, options) => {
            let found = engine.route(&subnet, options)?;
            let sls = found.sls.as_ref();
            let analysis = analyse(&subnet, &found.tables, sls, &found.sl2vl)?;
            let traffic = traffic(&subnet, &found.tables, &matrix)?;
            let layers = usize::from(found.layers);
            let report = report(engine.to_string(), layers, analysis, traffic, assigned_lids);
            Ok(dumped(&subnet, report, &found.tables, sls, &found.sl2vl))
        }
        Source::Given(given) => {
            let (tables, sls, sl2vl) = given.as_ref();
            let sl2vl = sl2vl.clone().unwrap_or_else(|| Sl2Vl::modulo(8));
            let analysis = analyse(&subnet, tables, sls.as_ref(), &sl2vl)?;
            let traffic = traffic(&subnet, tables, &matrix)?;
            let report = report("tables".to_owned(), analysis.lanes, analysis, traffic, assigned_lids);
            Ok(dumped(&subnet, report, tables, sls.as_ref(), &sl2vl))
        }
    }
}

/// Demands between nodes by their names: the lowest port with a cable of each.
fn demands(subnet: &Subnet, matrix: &[(String, String, f64)]) -> Result<Vec<Demand>, String> {
    let demand = |(source, destination, weight): &(String, String, f64)| {
        let (source, destination) = (subnet.first_port(source)?, subnet.first_port(destination)?);
        Ok(Demand { source, destination, weight: *weight })
    };
    matrix.iter().map(demand).collect()
}

/// LIDs that tables are given for stay as they are.
fn assign_lids_for(subnet: &mut Subnet, lmc: Option<u8>, source: &Source) -> Result<usize, LidError> {
    match source {
        Source::Given(_) => Ok(0),
        Source::Engine(..) => {
            let options = LidOptions { lmc: lmc.unwrap_or(0), reassign: false };
            let lacks = subnet
                .nodes
                .iter()
                .any(|node| node.end_ports().any(|port| node.ports[usize::from(port)].lid == 0));
            if lmc.is_some() || lacks { assign_lids(subnet, options) } else { Ok(0) }
        }
    }
}

fn report(
    engine: String,
    layers: usize,
    analysis: Analysis,
    traffic: Traffic,
    assigned_lids: usize,
) -> RouteReport {
    RouteReport {
        engine,
        pairs: analysis.pairs,
        hops_mean: analysis.hops_mean,
        link_load: analysis.link_load,
        layers,
        deadlock: Verdict { free: analysis.cycle.is_none(), cycle: analysis.cycle },
        hot_links: analysis.hot_links,
        traffic,
        assigned_lids,
    }
}

fn dumped(
    subnet: &Subnet,
    report: RouteReport,
    tables: &Tables,
    sls: Option<&PathSls>,
    sl2vl: &Sl2Vl,
) -> Routed {
    Routed {
        report,
        lfts: tables.to_dump(subnet),
        sl2vl: sl2vl.to_dump(subnet),
        path_sls: sls.map(|sls| sls.to_dump(subnet)).unwrap_or_default(),
    }
}

/// Reads a file of GUIDs, one a line, as `root_guid_file` has them; `#` begins a comment.
///
/// # Errors
///
/// A line that is no GUID.
pub fn guids((bytes, file): Named<'_>) -> Result<Vec<Guid>, FileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FileError::whole(file, Problem::NotUtf8))?;
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()));
    let guid = |(number, line): (usize, &str)| {
        let digits = line.strip_prefix("0x").or_else(|| line.strip_prefix("0X")).unwrap_or(line);
        u64::from_str_radix(digits, 16).map(Guid).map_err(|_| {
            let found = line.chars().take(40).collect();
            FileError::at(file, number, Problem::Syntax { expected: "a GUID (hexadecimal)", found })
        })
    };
    lines.filter(|(_, line)| !line.is_empty()).map(guid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_read_line_by_line() {
        let read = |text: &str| guids((text.as_bytes(), "roots"));
        assert_eq!(read("0x2c\n# none\n\n2D # spine\n"), Ok(vec![Guid(0x2c), Guid(0x2d)]));
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(message("2c\nspine-1\n"), "roots:2: \"spine-1\": expected a GUID (hexadecimal)");
        assert_eq!(guids((&[0xff], "roots")).unwrap_err().to_string(), "roots: not UTF-8 text");
    }
}
