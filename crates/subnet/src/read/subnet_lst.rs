//! `opensm-subnet.lst`: a line a direction, with both ends (`osm_dump.c`).

use super::line::{Line, text};
use crate::subnet::{Builder, EndRecord, NodeRecord};
use crate::{FileError, Finding, Guid, NodeId, NodeKind, PortId, Speed, Subnet};

/// True if a line looks like one of this format.
pub(super) fn matches(line: &str) -> bool {
    ["{ SW", "{ CA", "{ Rt"].iter().any(|start| line.starts_with(start))
}

/// Reads the list of links.
pub(super) fn read(bytes: &[u8], file: &str) -> Result<(Subnet, Vec<Finding>), FileError> {
    let text = text(bytes, file)?;
    let mut builder = Builder::new(file);
    for mut line in Line::all(file, text).filter(|line| !line.rest.is_empty() && !line.rest.starts_with('#'))
    {
        row(&mut builder, &mut line)?;
    }
    builder.finish()
}

/// An end of a link.
struct End {
    record: NodeRecord,
    port: u64,
    port_guid: Guid,
    manages: bool,
}

fn row(builder: &mut Builder, line: &mut Line<'_>) -> Result<(), FileError> {
    let own = end(line)?;
    let peer = end(line)?;
    line.blanks().expect("PHY=")?;
    let width = line.word().parse().ok();
    line.blanks().expect("LOG=")?;
    line.word();
    line.blanks().expect("SPD=")?;
    let speed = Speed::from_opensm_name(line.word());
    let record = EndRecord {
        port: own.port,
        guid: own.port_guid,
        lid: own.record.lid,
        width,
        speed,
        peer: peer.record.key.clone(),
        peer_port: peer.port,
        peer_guid: peer.port_guid,
        peer_lid: peer.record.lid,
        line: line.number,
        ..EndRecord::default()
    };
    let node = node(builder, &own)?;
    let peer_node = self::node(builder, &peer)?;
    for (node, end) in [(node, &own), (peer_node, &peer)] {
        if end.manages {
            let port = if end.record.kind == NodeKind::Switch { 0 } else { end.port };
            builder.manager(PortId { node, port: u8::try_from(port).unwrap_or(0) });
        }
    }
    builder.end(node, record)
}

fn node(builder: &mut Builder, end: &End) -> Result<NodeId, FileError> {
    match builder.get(&end.record.key) {
        Some(id) => Ok(id),
        None => builder.node(NodeRecord { lid: 0, ..end.record.clone() }),
    }
}

fn end(line: &mut Line<'_>) -> Result<End, FileError> {
    line.blanks().expect("{ ")?;
    let kind = [("SW", NodeKind::Switch), ("CA", NodeKind::Adapter), ("Rt", NodeKind::Router)]
        .into_iter()
        .find(|(name, _)| line.skip(name))
        .map(|row| row.1)
        .ok_or_else(|| line.expected("SW, CA or Rt"))?;
    let manages = line.skip("-SM");
    let mut field = |name: &'static str| {
        line.blanks().expect(name)?;
        line.hex("hexadecimal digits")
    };
    let ports = field("Ports:")?;
    let system_guid = Guid(field("SystemGUID:")?);
    let guid = field("NodeGUID:")?;
    let port_guid = Guid(field("PortGUID:")?);
    let vendor = field("VenID:")?;
    let device = field("DevID:")?;
    let revision = field("Rev:")?;
    line.blanks().expect("{")?;
    let description = line.until("} LID:")?.to_owned();
    let lid = line.hex("hexadecimal digits")?;
    line.blanks().expect("PN:")?;
    let port = line.hex("hexadecimal digits")?;
    line.blanks().expect("}")?;
    let mut record = NodeRecord::new(&format!("{guid:016x}"), kind, line.number);
    record.guid = Guid(guid);
    record.system_guid = system_guid;
    record.port_guid = port_guid;
    record.ports = ports;
    record.vendor = vendor as u32;
    // the second end of a line has the 16 bits in the upper half (cl_ntoh32 of a 16-bit field)
    record.device = if device > 0xffff { device >> 16 } else { device } as u16;
    record.revision = revision as u32;
    record.description = description;
    record.lid = lid;
    Ok(End { record, port, port_guid, manages })
}
