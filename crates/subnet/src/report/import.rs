//! Report on the files of a subnet: its parts, and what is odd about them.

use std::borrow::Cow;

use serde::Serialize;

use super::{Named, Source, assign_missing_lids};
use crate::analysis::check_tables_at;
use crate::engines::LEVELS;
use crate::{Counts, FileError, Finding, Format, Import, PathSls, Sl2Vl, Subnet, TableFile, read, read_as};

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
    /// Virtual lanes that paths need by their service levels and the SL2VL tables: 1 without either.
    pub virtual_lanes: u8,
    /// LID mask control that all ports of adapters with cables have at least.
    pub lmc: u8,
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
    let with_lids = with_lids(&subnet, files);
    if let Some((bytes, name)) = files.tables {
        let file = TableFile::read(bytes, name)?;
        let (tables, odd) = file.bind(&with_lids)?;
        findings.extend(odd);
        // Tables of a subnet that cannot be routed as a whole are still read: what is missing is a finding of the subnet.
        findings.extend(check_tables_at(&with_lids, &tables, (name, &file.lines())).unwrap_or_default());
    }
    let sl2vl = files.sl2vl.map(|(bytes, name)| Sl2Vl::read(bytes, name, &with_lids)).transpose()?;
    let levels = files.path_sls.map(|(bytes, name)| PathSls::read(bytes, name, &with_lids)).transpose()?;
    drop(with_lids);
    let (sl2vl, levels) = (keep(sl2vl, &mut findings), keep(levels, &mut findings));
    let virtual_lanes = virtual_lanes(levels.as_ref(), sl2vl.as_ref());
    let report = ImportReport { format, counts: subnet.counts(), findings, virtual_lanes, lmc: lmc(&subnet) };
    Ok((subnet, report))
}

/// The subnet in which tables and service levels name LIDs. Files such as ibsim's netlists have none: then those that OpenSM would assign, as in
/// [`super::route`].
fn with_lids<'a>(subnet: &'a Subnet, files: &SubnetFiles<'_>) -> Cow<'a, Subnet> {
    if files.tables.is_none() && files.path_sls.is_none() {
        return Cow::Borrowed(subnet);
    }
    let mut assigned = subnet.clone().connected();
    match assign_missing_lids(&mut assigned, None, true) {
        Ok(1..) => Cow::Owned(assigned),
        // There are LIDs, or not enough for all ports: the check says which are missing.
        _ => Cow::Borrowed(subnet),
    }
}

/// Reads the tables of a subnet, and the service levels of paths and their lanes that belong to them. Also what is odd about them.
///
/// # Errors
///
/// A file that does not parse, or that contradicts the subnet.
pub fn given(
    subnet: &Subnet,
    (tables, levels, lanes): (Named<'_>, Option<Named<'_>>, Option<Named<'_>>),
) -> Result<(Source, Vec<Finding>), FileError> {
    let (tables, mut findings) = TableFile::read(tables.0, tables.1)?.bind(subnet)?;
    let levels = levels.map(|(bytes, name)| PathSls::read(bytes, name, subnet)).transpose()?;
    let lanes = lanes.map(|(bytes, name)| Sl2Vl::read(bytes, name, subnet)).transpose()?;
    let (levels, lanes) = (keep(levels, &mut findings), keep(lanes, &mut findings));
    Ok((Source::Given(Box::new((tables, levels, lanes))), findings))
}

/// Least LID mask control of the adapters' ports with cables; 0 without any.
fn lmc(subnet: &Subnet) -> u8 {
    let adapters = subnet.nodes.iter().filter(|node| !node.is_switch());
    let ports = adapters.flat_map(|node| &node.ports).filter(|port| port.peer.is_some());
    ports.map(|port| port.lmc).min().unwrap_or(0)
}

/// What was read; its findings go to `all`.
fn keep<T>(read: Option<(T, Vec<Finding>)>, all: &mut Vec<Finding>) -> Option<T> {
    let (value, findings) = read?;
    all.extend(findings);
    Some(value)
}

/// Virtual lanes of the service levels in use: those of the paths, or all levels if paths have none. Without SL2VL tables a level is on the
/// lane of its number.
fn virtual_lanes(levels: Option<&PathSls>, sl2vl: Option<&Sl2Vl>) -> u8 {
    let most = match (levels, sl2vl) {
        (None, None) => None,
        (None, Some(tables)) => Some(tables.most_of(0..LEVELS as u8)),
        (Some(levels), None) => levels.levels().max(),
        (Some(levels), Some(tables)) => Some(tables.most_of(levels.levels())),
    };
    most.map_or(1, |lane| lane + 1)
}
