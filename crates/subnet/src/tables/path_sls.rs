//! Service levels of paths: OpenSM's path-record dump, and the list that ibdiagnet reads.

use std::fmt::Write;

use super::dump::kind_name;
use super::sl2vl::{heading, owners};
use crate::engines::{LEVELS, PathSls};
use crate::read::line::{Line, text};
use crate::subnet::{PortId, Subnet, port_name};
use crate::{FileError, Finding, FindingKind, MAX_LID, Problem};

/// Ports that send and receive data, by OpenSM's order.
fn adapters(subnet: &Subnet) -> Vec<PortId> {
    let nodes = subnet.ids().filter(|(_, node)| !node.is_switch());
    let mut ports: Vec<PortId> =
        nodes.flat_map(|(node, record)| record.end_ports().map(move |port| PortId { node, port })).collect();
    ports.sort_by_key(|&id| subnet.port(id).guid.map_key());
    ports
}

impl PathSls {
    /// Text as Mellanox's OpenSM dumps path records: for each adapter's port, level by LID.
    pub fn to_dump(&self, subnet: &Subnet) -> String {
        let ports = adapters(subnet);
        let mut lids: Vec<(u32, PortId)> =
            ports.iter().flat_map(|&id| subnet.port(id).lids().map(move |lid| (lid, id))).collect();
        lids.sort_unstable();
        let mut dump = String::new();
        for &source in &ports {
            let (node, port) = (subnet.node(source.node), subnet.port(source));
            let kind = kind_name(node.kind);
            let _ = writeln!(
                dump,
                "{kind} {}, base LID {}, \"{}\"\n# LID : SL",
                port.guid, port.lid, node.description
            );
            for &(lid, _) in lids.iter().filter(|(_, id)| *id != source) {
                let _ = writeln!(dump, "0x{lid:04x} : {}", self.level(port.lid, lid as u16));
            }
        }
        dump
    }

    /// Reads path records: a dump, or a line `0xSOURCEGUID DLID SL` a path. Paths that are not named have level 0, which is a finding, as LIDs are that no
    /// port has.
    ///
    /// # Errors
    ///
    /// A line that does not parse, an unknown port, a LID or level out of range.
    pub fn read(bytes: &[u8], file: &str, subnet: &Subnet) -> Result<(Self, Vec<Finding>), FileError> {
        let text = text(bytes, file)?;
        let ports = adapters(subnet);
        let owners = owners(subnet);
        let groups: std::collections::BTreeMap<PortId, usize> =
            ports.iter().enumerate().map(|(group, &id)| (id, group)).collect();
        let sources: Vec<_> = ports.iter().map(|&id| subnet.port(id).lids()).collect();
        let all = subnet
            .nodes
            .iter()
            .flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)].lids().end));
        let max_lid = all.max().unwrap_or(1).saturating_sub(1) as u16;
        let mut levels = Self::of_sources(&sources, max_lid);
        levels.name_none();
        let known = lids_of_adapters(&sources, max_lid);
        let mut findings = Vec::new();
        let mut current = None;
        let mut empty = true;
        for mut line in
            Line::all(file, text).filter(|line| !line.rest.is_empty() && !line.rest.starts_with('#'))
        {
            let find = |line: &Line<'_>, guid| {
                owners
                    .get(&guid)
                    .copied()
                    .ok_or_else(|| line.error(Problem::UnknownGuid { kind: "port", guid }))
            };
            if let Some(guid) = heading(&mut line)? {
                current = Some(groups.get(&find(&line, guid)?).copied());
                empty = false;
                continue;
            }
            let group = if line.rest.contains(':') {
                current.ok_or_else(|| line.expected("a source (Channel Adapter 0x...) before its rows"))?
            } else {
                let guid = line.guid()?;
                empty = false;
                groups.get(&find(&line, guid)?).copied()
            };
            let (lid, level) = row(&mut line)?;
            if let Some(group) = group
                && let Some(before) = levels.set(group, lid, level)
            {
                let from = port_name(subnet, ports[group]);
                let text =
                    format!("the path from {from} to LID {lid} has level {level} here, and {before} before");
                return Err(line.error(Problem::Contradiction(text)));
            }
            if !known.get(usize::from(lid)).copied().unwrap_or(false) {
                let text = format!("LID {lid} is not that of an adapter's port");
                findings.push(Finding::new(FindingKind::UnknownLid, file, line.number, text));
            }
        }
        if empty {
            return Err(FileError::whole(file, Problem::Empty("path records")));
        }
        findings.extend(settle(&mut levels, &known, subnet, &ports, file));
        Ok((levels, findings))
    }
}

/// True for the LIDs of adapters' ports.
fn lids_of_adapters(sources: &[std::ops::Range<u32>], max_lid: u16) -> Vec<bool> {
    let mut known = vec![false; usize::from(max_lid) + 1];
    for lids in sources {
        known[lids.start as usize..lids.end as usize].fill(true);
    }
    known
}

/// Gives the paths that were not named level 0; a finding if there are any.
fn settle(
    levels: &mut PathSls,
    known: &[bool],
    subnet: &Subnet,
    ports: &[PortId],
    file: &str,
) -> Option<Finding> {
    let (mut all, mut lacking, mut first) = (0, 0, None);
    for (source, &port) in ports.iter().enumerate() {
        let own = subnet.port(port).lids();
        for lid in (0..known.len() as u32).filter(|lid| !own.contains(lid)) {
            let is_new = levels.settle(source, lid as u16);
            if known[lid as usize] {
                all += 1;
                lacking += u32::from(is_new);
                first = first.or(is_new.then_some((port, lid)));
            }
        }
        for lid in own {
            levels.settle(source, lid as u16);
        }
    }
    let (port, lid) = first?;
    let from = port_name(subnet, port);
    let text = format!(
        "{lacking} of {all} paths have no service level here, and get 0; the first is from {from} to LID {lid}"
    );
    Some(Finding::new(FindingKind::NoLevel, file, 0, text))
}

fn row(line: &mut Line<'_>) -> Result<(u16, u8), FileError> {
    let value = line.blanks().number("a LID")?;
    let lid = u16::try_from(value).ok().filter(|lid| (1..=MAX_LID).contains(lid));
    let lid = lid.ok_or_else(|| line.error(Problem::LidRange(value)))?;
    line.blanks().skip(":");
    let value = line.blanks().decimal("a service level")?;
    if value >= LEVELS as u64 {
        return Err(line.error(Problem::Range { what: "service level", value, allowed: "0 to 15" }));
    }
    if !line.blanks().rest.is_empty() {
        return Err(line.expected("the end of the line"));
    }
    Ok((lid, value as u8))
}
