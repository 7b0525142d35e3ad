//! Netlists: the full output of `ibnetdiscover`, and ibsim's input, which is a superset of it.
//!
//! ibsim's own rules are those of `sim_net.c`: GUIDs that no line gives count up from 0x100000 (adapters) and 0x200000
//! (switches), `switchguids=`, `caguids=` and `hcaguids=` set the next one, `+` relative to the last absolute one. Links name nodes by
//! any text, and `w=`, `s=`, `e=` limit a port.

use super::line::{Line, text};
use crate::subnet::{Builder, EndRecord, NodeRecord};
use crate::{FileError, Finding, FindingKind, Guid, NodeId, NodeKind, PortId, Problem, Speed, Subnet, Width};

/// Beginnings of lines that tools print among the records.
const NOISE: [&str; 8] = ["DR path", "src/", "ibwarn", "Non-Chassis", "Chassis", "do ", "pdebug", "ibsim>"];

/// Lines of ibsim that are not read, and what the subnet lacks without them.
const NOT_READ: [(&str, &str); 2] = [
    ("include", "the nodes of that file are missing; put its lines here"),
    ("module", "names have no prefix; write them out"),
];

/// Lines that set a value of the next node.
const SETTINGS: [&str; 14] = [
    "vendid",
    "devid",
    "sysimgguid",
    "switchguids",
    "switchguid",
    "caguids",
    "caguid",
    "hcaguids",
    "hcaguid",
    "rtguids",
    "rtguid",
    "width",
    "speed",
    "extspeed",
];

/// Reads a netlist.
pub(super) fn read(bytes: &[u8], file: &str) -> Result<(Subnet, Vec<Finding>), FileError> {
    let text = text(bytes, file)?;
    let mut reader = Reader::new(file);
    for line in Line::all(file, text) {
        reader.line(line)?;
    }
    let Reader { mut builder, initiated, first, .. } = reader;
    if let Some((guid, port)) = initiated {
        builder.manager_by_guid(guid, port);
    } else if let Some(first) = first {
        builder.manager_by_first_port(first);
    }
    builder.finish()
}

struct Reader {
    builder: Builder,
    settings: Settings,
    /// Next GUIDs of adapters, switches, routers, and the bases for `+`.
    next: [u64; 3],
    base: [u64; 3],
    current: Option<NodeId>,
    initiated: Option<(Guid, Guid)>,
    first: Option<NodeId>,
}

#[derive(Default)]
struct Settings {
    vendor: u64,
    device: u64,
    system: Guid,
    /// GUID from the last `…guid=`, and that in its parentheses, by kind.
    guid: [Option<(Guid, Guid)>; 3],
}

fn slot(kind: NodeKind) -> usize {
    match kind {
        NodeKind::Adapter => 0,
        NodeKind::Switch => 1,
        NodeKind::Router => 2,
    }
}

impl Reader {
    fn new(file: &str) -> Self {
        Self {
            builder: Builder::new(file),
            settings: Settings::default(),
            next: [0x100000, 0x200000, 0x300000],
            base: [0x100000, 0x200000, 0x300000],
            current: None,
            initiated: None,
            first: None,
        }
    }

    fn line(&mut self, mut line: Line<'_>) -> Result<(), FileError> {
        let noise = |line: &Line<'_>| NOISE.iter().any(|noise| line.rest.starts_with(noise));
        line.blanks();
        if line.rest.is_empty() {
            self.current = None;
            return Ok(());
        }
        if line.skip("# Initiated from node ") {
            let node = line.hex("a GUID")?;
            line.blanks().expect("port")?;
            self.initiated = Some((Guid(node), Guid(line.blanks().hex("a GUID")?)));
            return Ok(());
        }
        if line.rest.starts_with('#') {
            return Ok(());
        }
        if line.rest.starts_with('[') || line.rest.starts_with('@') {
            let alias = line.skip("@");
            return self.end(line, alias);
        }
        for (word, kind) in [
            ("Switch", NodeKind::Switch),
            ("Hca", NodeKind::Adapter),
            ("Ca", NodeKind::Adapter),
            ("Rt", NodeKind::Router),
        ] {
            let mut rest = line;
            if rest.skip(word) && rest.rest.starts_with([' ', '\t']) {
                return self.node(rest, kind);
            }
        }
        if let Some(setting) = SETTINGS.iter().find(|setting| line.rest.starts_with(**setting)) {
            let mut rest = line;
            rest.skip(setting);
            if rest.blanks().rest.starts_with(['=', '+']) {
                return self.setting(setting, rest);
            }
        }
        if let Some((_, lack)) = NOT_READ.iter().find(|(word, _)| line.rest.starts_with(word)) {
            let text = format!("not read: {}: {lack}", line.rest);
            self.builder.find(FindingKind::Skipped, line.number, text);
            return Ok(());
        }
        if noise(&line) {
            let text = format!("skipped: {}", line.rest);
            self.builder.find(FindingKind::Skipped, line.number, text);
            return Ok(());
        }
        Err(line.expected("a record (Switch, Ca, Hca, Rt), a port ([n]), a setting (switchguid=, caguid=, ...) or a comment (#)"))
    }

    fn setting(&mut self, name: &str, mut line: Line<'_>) -> Result<(), FileError> {
        let relative = line.skip("+");
        if !relative {
            line.expect("=")?;
        }
        let value = line.blanks().number("a number")?;
        let kind = match name {
            "vendid" => {
                self.settings.vendor = value;
                return Ok(());
            }
            "devid" => {
                self.settings.device = value;
                return Ok(());
            }
            "sysimgguid" => {
                self.settings.system = Guid(value);
                return Ok(());
            }
            name if name.starts_with("switch") => NodeKind::Switch,
            name if name.starts_with("rt") => NodeKind::Router,
            name if name.contains("caguid") => NodeKind::Adapter,
            // enabled widths and speeds, not the active ones
            _ => return Ok(()),
        };
        let slot = slot(kind);
        if !relative {
            self.base[slot] = value;
        }
        self.next[slot] = if relative { self.base[slot].wrapping_add(value) } else { value };
        let port = if line.skip("(") { Guid(line.hex("a GUID")?) } else { Guid(0) };
        if !name.ends_with('s') {
            self.settings.guid[slot] = Some((Guid(self.next[slot]), port));
        }
        Ok(())
    }

    fn node(&mut self, mut line: Line<'_>, kind: NodeKind) -> Result<(), FileError> {
        let ports = line.blanks().decimal("a number of ports")?;
        if ports == 0 {
            return Err(line.error(Problem::PortCount(0)));
        }
        line.blanks().expect("\"")?;
        let key = line.until("\"")?;
        let mut record = NodeRecord::new(key, kind, line.number);
        record.ports = ports;
        let (guid, port_guid) = self.node_guid(key, kind, ports);
        record.guid = guid;
        record.port_guid = port_guid;
        record.vendor = std::mem::take(&mut self.settings.vendor) as u32;
        record.device = std::mem::take(&mut self.settings.device) as u16;
        record.system_guid = std::mem::take(&mut self.settings.system);
        key.clone_into(&mut record.description);
        if line.blanks().skip("#") {
            let (description, tail) = description(&mut line)?;
            record.description = description;
            record.enhanced_port_0 = tail.contains("enhanced port 0");
            if kind == NodeKind::Switch {
                record.lid = after(&line, tail, "lid ")?.unwrap_or(0);
                record.lmc = after(&line, tail, "lmc ")?.unwrap_or(0);
            }
        }
        let id = self.builder.node(record)?;
        self.first.get_or_insert(id);
        self.current = Some(id);
        Ok(())
    }

    /// GUID of a node: from `…guid=`, else from its name, else the next one of ibsim.
    fn node_guid(&mut self, key: &str, kind: NodeKind, ports: u64) -> (Guid, Guid) {
        let slot = slot(kind);
        let reserved = if kind == NodeKind::Switch { 1 } else { ports.saturating_add(1) };
        let digits = key.split_once('-').map_or("", |(_, digits)| digits);
        let named = if digits.len() == 16 { u64::from_str_radix(digits, 16).ok() } else { None };
        let (guid, port) = match (self.settings.guid[slot].take(), named) {
            (Some(given), _) => given,
            (None, Some(guid)) => (Guid(guid), Guid(0)),
            (None, None) => (Guid(self.next[slot]), Guid(0)),
        };
        self.next[slot] = guid.0.wrapping_add(reserved);
        (guid, port)
    }

    fn end(&mut self, mut line: Line<'_>, alias: bool) -> Result<(), FileError> {
        let Some(node) = self.current else {
            return Err(line.expected("a record (Switch, Ca, Hca, Rt) before its ports"));
        };
        line.expect("[")?;
        let mut end =
            EndRecord { port: line.decimal("a port number")?, line: line.number, ..EndRecord::default() };
        line.expect("]")?;
        if line.skip("(") {
            end.guid = Guid(line.hex("a GUID")?);
            line.expect(")")?;
        }
        line.blanks().expect("\"")?;
        line.until("\"").map(|key| key.clone_into(&mut end.peer))?;
        if alias {
            let text = format!("not read: alias {:?} of port {}: it has no cable", end.peer, end.port);
            self.builder.find(FindingKind::Skipped, line.number, text);
            return Ok(());
        }
        end.peer_port = 1;
        if line.blanks().skip("[") {
            end.peer_port = line.decimal("a port number")?;
            line.expect("]")?;
        }
        // `ibnetdiscover` writes a blank before it if both ends are ports of adapters or routers.
        if line.blanks().skip("(") {
            end.peer_guid = Guid(line.hex("a GUID")?);
            line.expect(")")?;
        }
        limits(&mut line, &mut end)?;
        if line.blanks().skip("#") {
            comment(&mut line, &mut end)?;
        } else if !line.rest.is_empty() {
            return Err(line.expected("a comment (#), w=, s= or e="));
        }
        self.builder.end(node, end)
    }
}

/// ibsim's `w=`, `s=` and `e=`: masks of enabled widths and speeds, of which the best is taken.
fn limits(line: &mut Line<'_>, end: &mut EndRecord) -> Result<(), FileError> {
    loop {
        line.blanks();
        let Some(option) = ["w=", "s=", "e="].into_iter().find(|option| line.skip(option)) else {
            return Ok(());
        };
        let value = line.number("a number")?;
        let best = |table: &[(u64, Speed)]| table.iter().find(|row| value & row.0 != 0).map(|row| row.1);
        match option {
            "w=" => {
                let widths = [(8, 12), (4, 8), (2, 4), (16, 2), (1, 1)];
                let lanes = widths.iter().find(|row| value & row.0 != 0).map(|row| row.1);
                end.width = lanes.and_then(Width::new);
            }
            "s=" => end.speed = end.speed.max(best(&[(4, Speed::Qdr), (2, Speed::Ddr), (1, Speed::Sdr)])),
            _ => {
                let table = [(8, Speed::Ndr), (4, Speed::Hdr), (2, Speed::Edr), (1, Speed::Fdr)];
                end.speed = end.speed.max(best(&table));
            }
        }
    }
}

/// Reads a description (in quotes, which it may contain, or bare) and returns it with the rest of the line.
fn description<'a>(line: &mut Line<'a>) -> Result<(String, &'a str), FileError> {
    if line.blanks().skip("\"") {
        let description = line.until_last("\"")?;
        return Ok((description.to_owned(), line.rest));
    }
    let ends = [" enhanced port ", " base port ", " lid ", " lmc "].map(|end| line.rest.find(end));
    let end = ends.into_iter().flatten().min().unwrap_or(line.rest.len());
    let (description, tail) = line.rest.split_at(end);
    Ok((description.trim().to_owned(), tail))
}

/// The number after `name` in `tail`.
fn after(line: &Line<'_>, tail: &str, name: &'static str) -> Result<Option<u64>, FileError> {
    match tail.split_once(name) {
        Some((_, rest)) => Line { rest, ..*line }.number("a number").map(Some),
        // the line was cut
        None if tail.ends_with(name.trim_end()) => Err(Line { rest: "", ..*line }.expected("a number")),
        None => Ok(None),
    }
}

/// Reads the comment of a port: `"description" lid L 4xEDR`, on adapters `lid L lmc M "description" lid L 4xEDR`.
fn comment(line: &mut Line<'_>, end: &mut EndRecord) -> Result<(), FileError> {
    let (own, rest) = line.rest.split_once('"').unwrap_or(("", line.rest));
    end.lid = after(line, own, "lid ")?.unwrap_or(0);
    end.lmc = after(line, own, "lmc ")?.unwrap_or(0);
    let (description, tail) = rest.rsplit_once('"').unwrap_or(("", rest));
    description.clone_into(&mut end.peer_description);
    end.peer_lid = after(line, tail, "lid ")?.unwrap_or(0);
    for word in tail.split_ascii_whitespace() {
        let Some((lanes, speed)) = word.split_once('x') else { continue };
        let Some(width) = lanes.parse().ok().and_then(Width::new) else { continue };
        end.width = Some(width);
        end.speed = speed.parse().ok();
        if end.speed.is_none() && speed != "???" {
            return Err(Line { rest: word, ..*line }.expected("a speed after the width (SDR to XDR, or ???)"));
        }
    }
    Ok(())
}

impl Builder {
    /// Declares the manager's port by the GUIDs of `# Initiated from`.
    fn manager_by_guid(&mut self, node: Guid, port: Guid) {
        if let Some(id) = self.find_port(node, port) {
            self.manager(id);
        }
    }

    /// Declares the first connected port of a node as the manager's: ibsim attaches to the first record.
    fn manager_by_first_port(&mut self, node: NodeId) {
        let port = self.first_port(node);
        self.manager(PortId { node, port });
    }
}
