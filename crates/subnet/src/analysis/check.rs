//! Faults of tables: missing entries, holes, wrong ports, loops.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::engines::NO_PORT;
use crate::fabric::{Fabric, NONE, Peer};
use crate::tables::lid_owners;
use crate::{Finding, FindingKind, Guid, PortId, RouteError, Subnet, Tables};

/// Number of LIDs that a finding names.
const NAMED: usize = 5;

/// Finds LIDs without an entry, entries that lead to no cable, to another port than the LID's, or for LIDs that no port has, and loops.
///
/// # Errors
///
/// The subnet has no switches, LIDs are missing, or it has several parts.
pub fn check_tables(subnet: &Subnet, tables: &Tables, file: &str) -> Result<Vec<Finding>, RouteError> {
    check_tables_at(subnet, tables, (file, &BTreeMap::new()))
}

/// The same for tables of a file that begin at known lines.
///
/// # Errors
///
/// As of [`check_tables`].
pub(crate) fn check_tables_at(
    subnet: &Subnet,
    tables: &Tables,
    (file, lines): (&str, &BTreeMap<Guid, usize>),
) -> Result<Vec<Finding>, RouteError> {
    let fabric = Fabric::new(subnet)?;
    let owners = lid_owners(subnet, tables.max_lid().max(fabric.max_lid()));
    let place = Place { file, lines };
    let mut findings: Vec<Finding> = (0..fabric.len())
        .into_par_iter()
        .flat_map_iter(|at| entries(&fabric, tables, &owners, at, &place))
        .collect();
    let lids: Vec<usize> = (1..fabric.lid_ends.len()).filter(|&lid| fabric.lid_ends[lid] != NONE).collect();
    let loops: Vec<Finding> =
        lids.par_iter().filter_map(|&lid| find_loop(&fabric, tables, lid, &place)).collect();
    findings.extend(loops);
    Ok(findings)
}

/// Number of entries that lead to the port of an adapter, router or switch that is not the LID's.
pub(super) fn misdelivered(fabric: &Fabric<'_>, tables: &Tables) -> u64 {
    let owners = lid_owners(fabric.subnet, tables.max_lid().max(fabric.max_lid()));
    let of_switch = |at: usize| {
        let row = tables.row(at).iter().zip(&owners).enumerate();
        row.filter(|&(lid, (&port, &owner))| {
            owner.is_some_and(|owner| is_wrong(fabric, at, (lid, port), owner))
        })
        .count() as u64
    };
    (0..fabric.len()).into_par_iter().map(of_switch).sum()
}

/// True if an entry leads to a port with LIDs that is not the owner of this one.
fn is_wrong(fabric: &Fabric<'_>, at: usize, (lid, port): (usize, u8), owner: PortId) -> bool {
    if port == 0 {
        return fabric.switch_lid(at) != lid;
    }
    match fabric.peers(at).get(usize::from(port)) {
        Some(&Peer::End(end)) if end != NONE => fabric.ends[end as usize].id != owner,
        _ => false,
    }
}

/// File of tables, and the line at which that of a switch begins.
struct Place<'a> {
    file: &'a str,
    lines: &'a BTreeMap<Guid, usize>,
}

impl Place<'_> {
    fn finding(&self, kind: FindingKind, switch: Guid, text: String) -> Finding {
        Finding::new(kind, self.file, self.lines.get(&switch).copied().unwrap_or(0), text)
    }
}

fn entries(
    fabric: &Fabric<'_>,
    tables: &Tables,
    owners: &[Option<PortId>],
    at: usize,
    place: &Place<'_>,
) -> Vec<Finding> {
    let row = tables.row(at);
    let (mut missing, mut holes, mut wrong, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (lid, owner) in owners.iter().enumerate().skip(1) {
        let port = row.get(lid).copied().unwrap_or(NO_PORT);
        let no_cable = || matches!(fabric.peers(at).get(usize::from(port)), None | Some(Peer::None));
        match owner {
            Some(_) if port == NO_PORT => missing.push(lid),
            Some(_) if port > 0 && no_cable() => holes.push(lid),
            Some(owner) if is_wrong(fabric, at, (lid, port), *owner) => wrong.push(lid),
            None if port != NO_PORT => unknown.push(lid),
            _ => {}
        }
    }
    let name = fabric.switch_name(at);
    let groups = [
        (FindingKind::NoEntry, missing, "no entry for"),
        (FindingKind::Hole, holes, "entries that lead nowhere for"),
        (FindingKind::WrongPort, wrong, "entries that lead to another port for"),
        (FindingKind::UnknownLid, unknown, "entries for"),
    ];
    let text = |kind, lids: &[usize], what| {
        let named: Vec<String> = lids.iter().take(NAMED).map(usize::to_string).collect();
        let more = if lids.len() > NAMED { ", ..." } else { "" };
        let unknown = if kind == FindingKind::UnknownLid { " that no port has" } else { "" };
        format!("switch {name}: {what} {} LIDs{unknown} ({}{more})", lids.len(), named.join(", "))
    };
    let groups = groups.into_iter().filter(|(_, lids, _)| !lids.is_empty());
    groups.map(|(kind, lids, what)| place.finding(kind, fabric.guid(at), text(kind, &lids, what))).collect()
}

/// A loop on the way to a LID.
fn find_loop(fabric: &Fabric<'_>, tables: &Tables, lid: usize, place: &Place<'_>) -> Option<Finding> {
    let mut state = vec![0u32; fabric.len()];
    for start in 0..fabric.len() {
        let mark = start as u32 + 1;
        let mut at = start;
        while state[at] == 0 {
            state[at] = mark;
            let port = tables.row(at).get(lid).copied().unwrap_or(NO_PORT);
            match fabric.peers(at).get(usize::from(port)) {
                Some(&Peer::Switch(next, _)) if port != 0 => at = next as usize,
                _ => break,
            }
            if state[at] == mark {
                return Some(name_loop(fabric, tables, lid, at, place));
            }
        }
    }
    None
}

fn name_loop(fabric: &Fabric<'_>, tables: &Tables, lid: usize, start: usize, place: &Place<'_>) -> Finding {
    let mut names = vec![fabric.switch_name(start)];
    let mut at = start;
    while let Some(&Peer::Switch(next, _)) = fabric.peers(at).get(usize::from(tables.row(at)[lid])) {
        at = next as usize;
        names.push(fabric.switch_name(at));
        if at == start {
            break;
        }
    }
    place.finding(FindingKind::Loop, fabric.guid(start), format!("LID {lid} loops: {}", names.join(" - ")))
}
