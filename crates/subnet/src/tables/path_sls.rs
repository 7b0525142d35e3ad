//! Service levels of paths: OpenSM's path-record dump, and the list that ibdiagnet reads.

use std::fmt::Write;

use super::dump::kind_name;
use super::sl2vl::{heading, owners};
use crate::engines::{LEVELS, PathSls};
use crate::read::line::{Line, text};
use crate::subnet::{PortId, Subnet};
use crate::{FileError, MAX_LID, Problem};

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

    /// Reads path records: a dump, or a line `0xSOURCEGUID DLID SL` a path. Paths that are not named have level 0.
    ///
    /// # Errors
    ///
    /// A line that does not parse, an unknown port, a LID or level out of range.
    pub fn read(bytes: &[u8], file: &str, subnet: &Subnet) -> Result<Self, FileError> {
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
            if let Some(group) = group {
                levels.set(group, lid, level);
            }
        }
        if empty { Err(FileError::whole(file, Problem::Empty("path records"))) } else { Ok(levels) }
    }
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
