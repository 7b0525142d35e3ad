//! Assembly of a subnet from the records of a file, with the checks that all formats share.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{self, port_name};
use super::record::{EndRecord, NodeRecord};
use super::{Finding, FindingKind, MAX_LID, MAX_LMC, MAX_PORT, Node, NodeId, NodeKind, Port, PortId, Subnet};
use crate::{FileError, Guid, Problem};

/// Collects records and makes a subnet of them.
#[derive(Debug)]
pub(crate) struct Builder {
    file: String,
    subnet: Subnet,
    /// Nodes by key.
    keys: BTreeMap<String, NodeId>,
    ends: Vec<(NodeId, EndRecord)>,
    /// Nodes that were declared by a link only.
    implied: BTreeSet<NodeId>,
    findings: Vec<Finding>,
}

impl Builder {
    /// A builder of a subnet that `file` describes.
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            subnet: Subnet::default(),
            keys: BTreeMap::new(),
            ends: Vec::new(),
            implied: BTreeSet::new(),
            findings: Vec::new(),
        }
    }

    /// Adds a finding.
    pub(crate) fn find(&mut self, kind: FindingKind, line: usize, text: impl Into<String>) {
        self.findings.push(Finding::new(kind, &self.file, line, text));
    }

    fn error(&self, line: usize, problem: Problem) -> FileError {
        FileError::at(&self.file, line, problem)
    }

    /// The node with this key.
    pub(crate) fn get(&self, key: &str) -> Option<NodeId> {
        self.keys.get(key).copied()
    }

    /// Adds a node.
    pub(crate) fn node(&mut self, record: NodeRecord) -> Result<NodeId, FileError> {
        if let Some(&first) = self.keys.get(&record.key) {
            let first = self.subnet.node(first).line;
            return Err(self.error(record.line, Problem::DuplicateNode { name: record.key, first }));
        }
        if record.ports > u64::from(MAX_PORT) {
            return Err(self.error(record.line, Problem::PortCount(record.ports)));
        }
        let id = NodeId(self.subnet.nodes.len() as u32);
        let mut ports = vec![Port::default(); record.ports as usize + 1];
        if record.kind == NodeKind::Switch {
            let guid = if record.port_guid.is_known() { record.port_guid } else { record.guid };
            for port in &mut ports {
                port.guid = guid;
            }
            ports[0].lid = self.lid(record.line, record.lid)?;
            ports[0].lmc = self.lmc(record.line, record.lmc)?;
        }
        self.subnet.nodes.push(Node {
            kind: record.kind,
            guid: record.guid,
            system_guid: if record.system_guid.is_known() { record.system_guid } else { record.guid },
            vendor: record.vendor,
            device: record.device,
            revision: record.revision,
            description: record.description,
            enhanced_port_0: record.enhanced_port_0,
            ports,
            line: record.line,
        });
        self.keys.insert(record.key, id);
        Ok(id)
    }

    fn lid(&self, line: usize, lid: u64) -> Result<u16, FileError> {
        u16::try_from(lid)
            .ok()
            .filter(|&lid| lid <= MAX_LID)
            .ok_or_else(|| self.error(line, Problem::LidRange(lid)))
    }

    fn lmc(&self, line: usize, lmc: u64) -> Result<u8, FileError> {
        u8::try_from(lmc)
            .ok()
            .filter(|&lmc| lmc <= MAX_LMC)
            .ok_or_else(|| self.error(line, Problem::LmcRange(lmc)))
    }

    /// Declares the port on which the subnet manager runs.
    pub(crate) fn manager(&mut self, manager: PortId) {
        self.subnet.manager = Some(manager);
    }

    /// The port with these GUIDs, or the only port of the node.
    pub(crate) fn find_port(&self, node: Guid, port: Guid) -> Option<PortId> {
        let (id, record) = self.subnet.ids().find(|(_, record)| record.guid == node)?;
        if record.is_switch() {
            return Some(PortId { node: id, port: 0 });
        }
        let number = record.ports.iter().position(|state| state.guid == port && port.is_known());
        Some(PortId { node: id, port: number.unwrap_or_else(|| usize::from(self.first_port(id))) as u8 })
    }

    /// The first port of a node that a cable connects; 0 on switches.
    pub(crate) fn first_port(&self, node: NodeId) -> u8 {
        if self.subnet.node(node).is_switch() {
            return 0;
        }
        let ports = self.ends.iter().filter(|(id, _)| *id == node).map(|(_, end)| end.port as u8);
        ports.min().unwrap_or(1)
    }

    /// Sets what a line states about a port without a cable, or with one.
    pub(crate) fn port(&mut self, node: NodeId, end: &EndRecord) -> Result<PortId, FileError> {
        let port = self.place(node, end.port, end.line)?;
        let lid = self.lid(end.line, end.lid)?;
        let lmc = self.lmc(end.line, end.lmc)?;
        let is_switch = self.subnet.node(node).is_switch();
        if !is_switch && end.guid.is_known() {
            self.subnet.port_mut(port).guid = end.guid;
        }
        let addressed = PortId { node, port: self.subnet.node(node).addressed_port(port.port) };
        if lid != 0 {
            let state = self.subnet.port_mut(addressed);
            if state.lid != 0 && state.lid != lid {
                let text = format!("LID {lid}, but the port has LID {} above", state.lid);
                return Err(self.error(end.line, Problem::Contradiction(text)));
            }
            state.lid = lid;
        }
        if !is_switch && lmc != 0 {
            self.subnet.port_mut(addressed).lmc = lmc;
        }
        let state = self.subnet.port_mut(port);
        state.width = end.width.or(state.width);
        state.speed = end.speed.or(state.speed);
        Ok(port)
    }

    /// Adds an end of a cable.
    pub(crate) fn end(&mut self, node: NodeId, end: EndRecord) -> Result<(), FileError> {
        self.port(node, &end)?;
        self.ends.push((node, end));
        Ok(())
    }

    /// A port of a node; grows nodes whose number of ports is not known.
    fn place(&mut self, node: NodeId, port: u64, line: usize) -> Result<PortId, FileError> {
        let implied = self.implied.contains(&node) || self.subnet.node(node).ports.len() == 1;
        let record = &mut self.subnet.nodes[node.index()];
        let ports = record.num_ports();
        if port == 0 || port > u64::from(if implied { MAX_PORT } else { ports }) {
            let node = record.description.clone();
            return Err(self.error(line, Problem::PortRange { port, node, ports: ports.max(1) }));
        }
        if port > u64::from(ports) {
            let guid = if record.is_switch() { record.ports[0].guid } else { Guid(0) };
            record.ports.resize(port as usize + 1, Port { guid, ..Port::default() });
            self.implied.insert(node);
        }
        Ok(PortId { node, port: port as u8 })
    }

    /// The node that a link mentions; declared with what the link says if it has no record.
    fn peer(&mut self, end: &EndRecord) -> Result<NodeId, FileError> {
        if let Some(&id) = self.keys.get(&end.peer) {
            return Ok(id);
        }
        let (kind, digits) = match end.peer.split_once('-') {
            Some(("S", digits)) => (NodeKind::Switch, digits),
            Some(("R", digits)) => (NodeKind::Router, digits),
            Some((_, digits)) => (NodeKind::Adapter, digits),
            None => (NodeKind::Adapter, ""),
        };
        let mut record = NodeRecord::new(&end.peer, kind, end.line);
        record.guid = Guid(u64::from_str_radix(digits, 16).unwrap_or(0));
        if !record.guid.is_known() {
            record.guid = end.peer_guid;
        }
        record.description.clone_from(&end.peer_description);
        if record.description.is_empty() {
            record.description.clone_from(&end.peer);
        }
        record.lid = if kind == NodeKind::Switch { end.peer_lid } else { 0 };
        let text = format!("\"{}\" ({}) has no record of its own", record.description, end.peer);
        let id = self.node(record)?;
        self.implied.insert(id);
        self.find(FindingKind::NoRecord, end.line, text);
        Ok(id)
    }

    /// Connects all ends and checks the result.
    ///
    /// # Errors
    ///
    /// A port with two cables, a GUID or LID that two nodes or ports have, a port that a node does not have.
    pub(crate) fn finish(mut self) -> Result<(Subnet, Vec<Finding>), FileError> {
        if self.subnet.nodes.is_empty() {
            return Err(FileError::whole(&self.file, Problem::Empty("nodes")));
        }
        let ends = std::mem::take(&mut self.ends);
        let mut stated: BTreeMap<PortId, (PortId, usize)> = BTreeMap::new();
        for (node, end) in &ends {
            let this = PortId { node: *node, port: end.port as u8 };
            let peer_node = self.peer(end)?;
            let peer = self.place(peer_node, end.peer_port, end.line)?;
            if this == peer {
                let text = format!(
                    "{} is connected to itself, by a loopback plug: left out",
                    port_name(&self.subnet, this)
                );
                self.findings.push(Finding::new(FindingKind::Loopback, &self.file, end.line, text));
                continue;
            }
            if let Some((first, _)) =
                stated.insert(this, (peer, end.line)).filter(|&(first, _)| first != peer)
            {
                return Err(self.two_cables(end.line, this, first, peer));
            }
            self.hear_about(peer, end)?;
        }
        self.connect(&stated)?;
        self.derive_guids();
        self.check_guids()?;
        check_lids(&self.subnet, &self.file)?;
        self.findings.extend(finding::whole(&self.subnet, &self.file));
        for (id, node) in self.subnet.ids() {
            for port in node.end_ports().filter(|&port| node.ports[usize::from(port)].lid == 0) {
                let text = format!("{} has no LID", port_name(&self.subnet, PortId { node: id, port }));
                self.findings.push(Finding::new(FindingKind::NoLid, &self.file, node.line, text));
            }
        }
        Ok((self.subnet, self.findings))
    }

    fn two_cables(&self, line: usize, at: PortId, first: PortId, second: PortId) -> FileError {
        let node = self.subnet.node(at.node).description.clone();
        let name = |id| port_name(&self.subnet, id);
        self.error(line, Problem::TwoCables { port: at.port, node, first: name(first), second: name(second) })
    }

    /// Uses what a line says about the peer where the peer's own record is silent.
    fn hear_about(&mut self, peer: PortId, end: &EndRecord) -> Result<(), FileError> {
        let lid = self.lid(end.line, end.peer_lid)?;
        let node = self.subnet.node(peer.node);
        let addressed = PortId { node: peer.node, port: node.addressed_port(peer.port) };
        if !node.is_switch() && end.peer_guid.is_known() && !self.subnet.port(peer).guid.is_known() {
            self.subnet.port_mut(peer).guid = end.peer_guid;
        }
        let own = self.subnet.port(addressed).lid;
        if own == 0 {
            self.subnet.port_mut(addressed).lid = lid;
        } else if lid != 0 && lid != own {
            let text = format!("{} has LID {own}, its peer states {lid}", port_name(&self.subnet, addressed));
            self.find(FindingKind::LidMismatch, end.line, text);
        }
        Ok(())
    }

    fn connect(&mut self, stated: &BTreeMap<PortId, (PortId, usize)>) -> Result<(), FileError> {
        for (&this, &(peer, line)) in stated {
            match stated.get(&peer) {
                Some(&(back, back_line)) if back != this => {
                    return Err(self.two_cables(line.max(back_line), peer, this, back));
                }
                Some(_) => self.compare_ends(this, peer, line),
                None => {
                    let name = |id| port_name(&self.subnet, id);
                    let text = format!("{} states a cable to {}, which does not", name(this), name(peer));
                    self.find(FindingKind::OneSided, line, text);
                }
            }
            if let Some(other) = self.subnet.port(peer).peer.filter(|&other| other != this) {
                return Err(self.two_cables(line, peer, other, this));
            }
            self.subnet.port_mut(this).peer = Some(peer);
            self.subnet.port_mut(peer).peer = Some(this);
        }
        Ok(())
    }

    fn compare_ends(&mut self, this: PortId, peer: PortId, line: usize) {
        let rate = |id: PortId| {
            let port = self.subnet.port(id);
            port.width.zip(port.speed)
        };
        let (Some(a), Some(b)) = (rate(this), rate(peer)) else { return };
        if this < peer && a != b {
            let name = |id| port_name(&self.subnet, id);
            let text = format!("{}: {}{}, but {}: {}{}", name(this), a.0, a.1, name(peer), b.0, b.1);
            self.find(FindingKind::UnequalEnds, line, text);
        }
    }

    /// Gives adapters' ports without a GUID one: node GUID plus port number, the usual scheme.
    fn derive_guids(&mut self) {
        let mut derived = 0;
        for node in self.subnet.nodes.iter_mut().filter(|node| !node.is_switch() && node.guid.is_known()) {
            for (number, port) in node.ports.iter_mut().enumerate().skip(1) {
                if port.peer.is_some() && !port.guid.is_known() {
                    port.guid = Guid(node.guid.0.wrapping_add(number as u64));
                    derived += 1;
                }
            }
        }
        if derived > 0 {
            let text =
                format!("{derived} ports of adapters have no GUID: node GUID plus port number is used");
            self.find(FindingKind::Derived, 0, text);
        }
    }

    /// No two nodes share a node GUID, no two nodes a port GUID.
    fn check_guids(&self) -> Result<(), FileError> {
        let mut nodes: BTreeMap<Guid, usize> = BTreeMap::new();
        let mut ports: BTreeMap<Guid, (NodeId, usize)> = BTreeMap::new();
        for (id, node) in self.subnet.ids() {
            if node.guid.is_known()
                && let Some(first) = nodes.insert(node.guid, node.line)
            {
                return Err(self.error(node.line, Problem::DuplicateGuid { guid: node.guid, first }));
            }
            for port in node.end_ports() {
                let guid = node.ports[usize::from(port)].guid;
                if !guid.is_known() {
                    let text = format!("{} has no GUID", port_name(&self.subnet, PortId { node: id, port }));
                    return Err(self.error(node.line, Problem::Contradiction(text)));
                }
                if let Some((_, first)) = ports.insert(guid, (id, node.line)) {
                    return Err(self.error(node.line, Problem::DuplicateGuid { guid, first }));
                }
            }
        }
        Ok(())
    }
}

/// Checks that every LID belongs to one port, and that blocks of 2^LMC LIDs are aligned and in range.
pub(crate) fn check_lids(subnet: &Subnet, file: &str) -> Result<(), FileError> {
    let mut owners: BTreeMap<u32, PortId> = BTreeMap::new();
    for (id, node) in subnet.ids() {
        for port in node.end_ports() {
            let this = PortId { node: id, port };
            let lids = node.ports[usize::from(port)].lids();
            if lids.end > u32::from(MAX_LID) + 1 {
                return Err(FileError::at(file, node.line, Problem::LidRange(u64::from(lids.end) - 1)));
            }
            for lid in lids {
                if let Some(first) = owners.insert(lid, this) {
                    let (port, first) = (port_name(subnet, this), port_name(subnet, first));
                    return Err(FileError::at(file, node.line, Problem::DuplicateLid { lid, port, first }));
                }
            }
        }
    }
    Ok(())
}
