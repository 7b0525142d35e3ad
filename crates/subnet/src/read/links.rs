//! The list of ports: `ibnetdiscover -p`. It has port GUIDs and no node GUIDs.

use super::line::{Line, text};
use crate::subnet::{Builder, EndRecord, NodeRecord};
use crate::{FileError, Finding, FindingKind, Guid, NodeId, NodeKind, Subnet};

const KINDS: [(&str, NodeKind); 3] =
    [("CA", NodeKind::Adapter), ("SW", NodeKind::Switch), ("RT", NodeKind::Router)];

/// A port as a line names it.
struct End<'a> {
    kind: NodeKind,
    lid: u64,
    port: u64,
    guid: Guid,
    description: &'a str,
}

/// True if a line looks like one of this format.
pub(super) fn matches(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next().is_some_and(|word| KINDS.iter().any(|(name, _)| *name == word));
    let mut number = || words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    kind && number() && number() && words.next().is_some_and(|word| word.starts_with("0x"))
}

/// Reads a list of ports.
pub(super) fn read(bytes: &[u8], file: &str) -> Result<(Subnet, Vec<Finding>), FileError> {
    let text = text(bytes, file)?;
    let mut builder = Builder::new(file);
    let (mut adapters, mut down) = (0, 0);
    for mut line in Line::all(file, text).filter(|line| !line.rest.is_empty()) {
        if !KINDS
            .iter()
            .any(|(name, _)| line.rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
        {
            if line.rest.starts_with("DR path") || line.rest.starts_with('#') || line.rest.starts_with("src/")
            {
                builder.find(FindingKind::Skipped, line.number, format!("skipped: {}", line.rest));
                continue;
            }
            return Err(line.expected("CA, SW or RT"));
        }
        let (new, is_down) = row(&mut builder, &mut line)?;
        adapters += new;
        down += usize::from(is_down);
    }
    if down > 0 {
        builder.find(FindingKind::Down, 0, format!("{down} ports are down or have no cable"));
    }
    if adapters > 0 {
        let text = format!("{adapters} adapters: the format has no node GUIDs, port GUIDs stand for them");
        builder.find(FindingKind::Derived, 0, text);
    }
    builder.finish()
}

/// Reads a line. Returns the number of adapters that it declares, and whether the port is down.
fn row(builder: &mut Builder, line: &mut Line<'_>) -> Result<(usize, bool), FileError> {
    let mut own = end(line)?;
    let mut record = EndRecord { port: own.port, line: line.number, ..EndRecord::default() };
    let rate = line.blanks().word();
    record.width = rate.parse().ok();
    if !rate.ends_with('x') {
        return Err(line.expected("a width (1x, 2x, 4x, 8x, 12x) before it"));
    }
    record.speed = line.blanks().word().parse().ok();
    if !line.blanks().skip("- ") {
        // the port is down; the description has quotes but for old versions
        own.description =
            line.rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(line.rest);
        let (id, new) = node(builder, &own, line)?;
        record.lid = own.lid;
        (record.width, record.speed) = (None, None);
        builder.port(id, &record)?;
        return Ok((usize::from(new), true));
    }
    let mut peer = end(line)?;
    line.blanks().expect("( '")?;
    (own.description, peer.description) = {
        let both = line.until_last("' )")?;
        both.split_once("' - '").ok_or_else(|| line.expected("two descriptions: ( 'a' - 'b' )"))?
    };
    let (id, new) = node(builder, &own, line)?;
    record.lid = own.lid;
    record.guid = own.guid;
    record.peer = key(&peer);
    record.peer_port = peer.port;
    record.peer_guid = peer.guid;
    record.peer_lid = peer.lid;
    peer.description.clone_into(&mut record.peer_description);
    builder.end(id, record)?;
    Ok((usize::from(new), false))
}

fn end<'a>(line: &mut Line<'a>) -> Result<End<'a>, FileError> {
    let word = line.blanks().word();
    let kind = KINDS.iter().find(|(name, _)| *name == word).map(|row| row.1);
    let kind = kind.ok_or_else(|| line.expected("CA, SW or RT before it"))?;
    let lid = line.blanks().decimal("a LID")?;
    let port = line.blanks().decimal("a port number")?;
    let guid = line.blanks().guid()?;
    Ok(End { kind, lid, port, guid, description: "" })
}

/// Key of a node: its letter and the GUID of the port.
fn key(end: &End<'_>) -> String {
    let letter = match end.kind {
        NodeKind::Switch => 'S',
        NodeKind::Adapter => 'H',
        NodeKind::Router => 'R',
    };
    format!("{letter}-{:016x}", end.guid.0)
}

fn node(builder: &mut Builder, end: &End<'_>, line: &Line<'_>) -> Result<(NodeId, bool), FileError> {
    let key = key(end);
    if let Some(id) = builder.get(&key) {
        return Ok((id, false));
    }
    let mut record = NodeRecord::new(&key, end.kind, line.number);
    record.guid = end.guid;
    end.description.clone_into(&mut record.description);
    let id = builder.node(record)?;
    let adapter = end.kind != NodeKind::Switch;
    if adapter {
        let state = EndRecord { port: end.port, guid: end.guid, line: line.number, ..EndRecord::default() };
        builder.port(id, &state)?;
    }
    Ok((id, adapter))
}
