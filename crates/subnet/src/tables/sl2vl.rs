//! Tables from service level to virtual lane: `opensm-sl2vl.dump` (`dump_sl2vl_tbl` in `osm_dump.c`).

use std::collections::BTreeMap;
use std::fmt::Write;

use super::dump::kind_name;
use crate::engines::LEVELS;
use crate::read::line::{Line, text};
use crate::subnet::{NodeId, PortId, Subnet};
use crate::{FileError, Finding, FindingKind, Guid, Problem};

/// Lane of each service level; 15 discards the packet.
pub type Lanes = [u8; LEVELS];

/// Lane that no data may use.
const MANAGEMENT: u8 = 15;

/// Lanes by node, input and output port, and service level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sl2Vl {
    /// Lanes where no table says otherwise.
    uniform: Lanes,
    /// Tables by node, then input and output port; 0 and the own port for adapters.
    tables: BTreeMap<NodeId, BTreeMap<(u8, u8), Lanes>>,
}

impl Sl2Vl {
    /// The same lanes everywhere: service level modulo the number of lanes.
    pub fn modulo(vls: u8) -> Self {
        let uniform = std::array::from_fn(|level| (level % usize::from(vls.max(1))) as u8);
        Self { uniform, tables: BTreeMap::new() }
    }

    /// Sets the lanes from an input to an output of a node.
    pub(crate) fn set(&mut self, node: NodeId, input: u8, output: u8, lanes: Lanes) {
        self.tables.entry(node).or_default().insert((input, output), lanes);
    }

    /// The tables of those nodes of `left` that `whole` has, found by their GUID.
    pub(crate) fn for_subnet(&self, whole: &Subnet, left: &Subnet) -> Self {
        let moved: BTreeMap<Guid, NodeId> = left.ids().map(|(id, node)| (node.guid, id)).collect();
        let tables = self.tables.iter().filter_map(|(&id, tables)| {
            let id = *moved.get(&whole.node(id).guid)?;
            Some((id, tables.clone()))
        });
        Self { uniform: self.uniform, tables: tables.collect() }
    }

    /// True if the lanes are the same on all inputs and outputs.
    pub fn is_uniform(&self) -> bool {
        self.tables.is_empty()
    }

    /// Lane on which a packet of a service level leaves a node by `output`, if it came by `input` (0: from the node itself).
    pub fn lane(&self, node: NodeId, input: u8, output: u8, level: u8) -> u8 {
        let table = self.tables.get(&node).and_then(|tables| tables.get(&(input, output)));
        table.unwrap_or(&self.uniform)[usize::from(level) % LEVELS]
    }

    /// Largest lane in use, apart from 15.
    pub fn most(&self) -> u8 {
        let all = self.tables.values().flat_map(BTreeMap::values).chain([&self.uniform]);
        all.flatten().copied().filter(|&lane| lane != MANAGEMENT).max().unwrap_or(0)
    }

    /// Largest lane that the tables of nodes have for some levels, apart from 15.
    pub(crate) fn most_of(&self, levels: impl Iterator<Item = u8>) -> u8 {
        let tables = || self.tables.values().flat_map(BTreeMap::values);
        let lanes = levels.flat_map(|level| tables().map(move |lanes| lanes[usize::from(level) % LEVELS]));
        lanes.filter(|&lane| lane != MANAGEMENT).max().unwrap_or(0)
    }

    /// Text of the tables as `opensm-sl2vl.dump` has it.
    pub fn to_dump(&self, subnet: &Subnet) -> String {
        let mut ports: Vec<PortId> = subnet
            .ids()
            .flat_map(|(node, record)| record.end_ports().map(move |port| PortId { node, port }))
            .collect();
        ports.sort_by_key(|&id| subnet.port(id).guid.map_key());
        let separator = format!("#{}", "-".repeat(56));
        let mut dump = String::new();
        for id in ports {
            let (node, port) = (subnet.node(id.node), subnet.port(id));
            let kind = kind_name(node.kind);
            let _ = writeln!(dump, "{kind} {}, base LID {}, \"{}\"", port.guid, port.lid, node.description);
            let _ = writeln!(dump, "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n{separator}");
            if node.is_switch() {
                let connected = node.ports.iter().enumerate().filter(|(_, port)| port.peer.is_some());
                for output in connected.map(|(output, _)| output as u8) {
                    for input in 0..=node.num_ports() {
                        self.row(&mut dump, id.node, input, output, (input, output));
                    }
                }
            } else {
                self.row(&mut dump, id.node, 0, id.port, (0, 0));
            }
            let _ = writeln!(dump, "{separator}\n");
        }
        dump
    }

    fn row(&self, dump: &mut String, node: NodeId, input: u8, output: u8, shown: (u8, u8)) {
        let _ = write!(dump, "{:<3} {:<3} :", shown.0, shown.1);
        for level in 0..LEVELS as u8 {
            let _ = write!(dump, " {:<2}", self.lane(node, input, output, level));
        }
        dump.push('\n');
    }

    /// Reads tables. Nodes, and pairs of a switch's ports, without lanes are findings: they get those of [`Sl2Vl::modulo`] with 15 lanes.
    ///
    /// # Errors
    ///
    /// A line that does not parse, a port or lane out of range, an unknown node, VL15 for data, a node with two tables.
    pub fn read(bytes: &[u8], file: &str, subnet: &Subnet) -> Result<(Self, Vec<Finding>), FileError> {
        let text = text(bytes, file)?;
        let owners = owners(subnet);
        let mut read = Self::modulo(LEVELS as u8 - 1);
        let mut current: Option<PortId> = None;
        for mut line in
            Line::all(file, text).filter(|line| !line.rest.is_empty() && !line.rest.starts_with('#'))
        {
            if let Some(guid) = heading(&mut line)? {
                let owner = owners.get(&guid).copied();
                current = Some(owner.ok_or_else(|| line.error(Problem::UnknownGuid { kind: "port", guid }))?);
                continue;
            }
            let Some(id) = current else { return Err(line.expected("a node before its rows")) };
            let (input, output, lanes) = row(&mut line)?;
            let node = subnet.node(id.node);
            let output = if node.is_switch() { output } else { u64::from(id.port) };
            for port in [input, output] {
                if port > u64::from(node.num_ports()) {
                    let (node, ports) = (node.description.clone(), node.num_ports());
                    return Err(line.error(Problem::PortRange { port, node, ports }));
                }
            }
            let tables = read.tables.entry(id.node).or_default();
            if tables.insert((input as u8, output as u8), lanes).is_some() {
                let text =
                    format!("second row from port {input} to port {output} of \"{}\"", node.description);
                return Err(line.error(Problem::Contradiction(text)));
            }
        }
        if read.tables.is_empty() {
            return Err(FileError::whole(file, Problem::Empty("SL2VL tables")));
        }
        let findings = read.lacking(subnet, file);
        Ok((read, findings))
    }

    /// Nodes without tables, and switches that lack rows for ports with cables.
    fn lacking(&self, subnet: &Subnet, file: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut find = |what: &str, all: usize, lacking: &[&str]| {
            if let Some(first) = lacking.first() {
                let count = lacking.len();
                let text = format!(
                    "{count} of {all} {what}, and get lane = service level, 0 for 15; the first is \"{first}\""
                );
                findings.push(Finding::new(FindingKind::NoLanes, file, 0, text));
            }
        };
        for (is_switch, what) in
            [(true, "switches have no SL2VL table here"), (false, "adapters have no SL2VL table here")]
        {
            let of_kind = || subnet.ids().filter(|(_, node)| node.is_switch() == is_switch);
            let without = of_kind().filter(|(id, _)| !self.tables.contains_key(id));
            let names: Vec<&str> = without.map(|(_, node)| node.description.as_str()).collect();
            find(what, of_kind().count(), &names);
        }
        let with = || subnet.ids().filter(|(id, node)| node.is_switch() && self.tables.contains_key(id));
        let partly = with().filter(|(id, node)| {
            let connected =
                || (1..=node.num_ports()).filter(|&port| node.ports[usize::from(port)].peer.is_some());
            let row = |input: u8, output: u8| self.tables[id].contains_key(&(input, output));
            connected().any(|output| connected().any(|input| input != output && !row(input, output)))
        });
        let names: Vec<&str> = partly.map(|(_, node)| node.description.as_str()).collect();
        find("SL2VL tables of switches lack rows for ports with cables", with().count(), &names);
        findings
    }
}

/// Ports by GUID.
pub(super) fn owners(subnet: &Subnet) -> BTreeMap<Guid, PortId> {
    let ports =
        subnet.ids().flat_map(|(node, record)| record.end_ports().map(move |port| PortId { node, port }));
    ports.map(|id| (subnet.port(id).guid, id)).collect()
}

/// Reads `Switch 0xGUID, base LID n, "description"`; none if the line is something else.
pub(super) fn heading(line: &mut Line<'_>) -> Result<Option<Guid>, FileError> {
    if !["Channel Adapter ", "Switch ", "Router "].into_iter().any(|kind| line.skip(kind)) {
        return Ok(None);
    }
    let guid = line.blanks().guid()?;
    line.expect(", base LID ")?;
    line.decimal("a LID")?;
    Ok(Some(guid))
}

fn row(line: &mut Line<'_>) -> Result<(u64, u64, Lanes), FileError> {
    let input = line.blanks().decimal("an input port")?;
    let output = line.blanks().decimal("an output port")?;
    line.blanks().expect(":")?;
    let mut lanes = [0; LEVELS];
    for (level, lane) in lanes.iter_mut().enumerate() {
        let value = line.blanks().decimal("a virtual lane for each of the 16 service levels")?;
        // level 15 may map to lane 15: such packets are discarded
        let allowed =
            value < u64::from(MANAGEMENT) || (value == u64::from(MANAGEMENT) && level == LEVELS - 1);
        if !allowed {
            return Err(line.error(Problem::Range {
                what: "virtual lane",
                value,
                allowed: "0 to 14; 15 is for management",
            }));
        }
        *lane = value as u8;
    }
    if !line.blanks().rest.is_empty() {
        return Err(line.expected("the end of the line after 16 lanes"));
    }
    Ok((input, output, lanes))
}
