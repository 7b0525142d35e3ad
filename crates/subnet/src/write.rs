//! Writers of subnets, in each format that is read.

use std::fmt::Write;

use crate::subnet::{Node, NodeId, NodeKind, Port, PortId, Subnet};
use crate::{Format, Guid};

impl Subnet {
    /// Text of the subnet in a format. Nodes keep their order, but in `opensm-subnet.lst`, which is sorted as OpenSM sorts it.
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Ibnetdiscover => self.to_netlist(true),
            Format::Ibsim => self.to_netlist(false),
            Format::IbnetdiscoverPorts => self.to_port_list(),
            Format::OpensmSubnet => self.to_subnet_lst(),
        }
    }

    fn to_netlist(&self, heading: bool) -> String {
        let mut text = String::new();
        if heading {
            text.push_str("#\n# Topology file: exported\n#\n");
            if let Some(manager) = self.manager {
                let (node, port) = (self.node(manager.node).guid.0, self.port(manager).guid.0);
                let _ = writeln!(text, "# Initiated from node {node:016x} port {port:016x}");
            }
        }
        for (id, _) in self.ids() {
            self.netlist_node(&mut text, id);
        }
        text
    }

    fn netlist_node(&self, text: &mut String, id: NodeId) {
        let node = self.node(id);
        let (kind, name) = match node.kind {
            NodeKind::Switch => ("switch", "Switch"),
            NodeKind::Adapter => ("ca", "Ca"),
            NodeKind::Router => ("rt", "Rt"),
        };
        let _ = writeln!(text, "\nvendid=0x{:x}\ndevid=0x{:x}", node.vendor, node.device);
        let _ = write!(text, "sysimgguid=0x{:x}\n{kind}guid=0x{:x}", node.system_guid.0, node.guid.0);
        let (ports, key, description) = (node.num_ports(), key(node), &node.description);
        if node.is_switch() {
            let base = if node.enhanced_port_0 { "enhanced" } else { "base" };
            let port = &node.ports[0];
            let _ = writeln!(text, "({:x})", port.guid.0);
            let _ = write!(text, "{name}\t{ports} \"{key}\"\t\t# \"{description}\" {base} port 0 ");
            let _ = writeln!(text, "lid {} lmc {}", port.lid, port.lmc);
        } else {
            let _ = writeln!(text, "\n{name}\t{ports} \"{key}\"\t\t# \"{description}\"");
        }
        for (number, port) in node.ports.iter().enumerate() {
            let Some(peer) = port.peer else { continue };
            self.netlist_port(text, PortId { node: id, port: number as u8 }, port, peer);
        }
    }

    fn netlist_port(&self, text: &mut String, id: PortId, port: &Port, peer: PortId) {
        let (far, far_lid) = (self.node(peer.node), self.lid_of(peer));
        let is_switch = self.node(id.node).is_switch();
        let _ = write!(text, "[{}]", id.port);
        if !is_switch {
            let _ = write!(text, "({:x}) ", port.guid.0);
        }
        let _ = write!(text, "\t\"{}\"[{}]", key(far), peer.port);
        if !far.is_switch() {
            let _ = write!(text, "({:x}) ", self.port(peer).guid.0);
        }
        text.push_str("\t\t# ");
        if !is_switch {
            let _ = write!(text, "lid {} lmc {} ", port.lid, port.lmc);
        }
        let _ = writeln!(text, "\"{}\" lid {far_lid}{}", far.description, rate(port, ' ', ""));
    }

    fn to_port_list(&self) -> String {
        let mut text = String::new();
        for (id, node) in self.ids() {
            for (number, port) in node.ports.iter().enumerate().skip(1).rev() {
                let own = PortId { node: id, port: number as u8 };
                let is_silent = port.peer.is_none() && !node.is_switch();
                if is_silent {
                    continue;
                }
                self.list_end(&mut text, own);
                text.push_str(&rate(port, ' ', " "));
                match port.peer {
                    Some(peer) => {
                        text.push_str(" - ");
                        self.list_end(&mut text, peer);
                        let far = &self.node(peer.node).description;
                        let _ = writeln!(text, " ( '{}' - '{far}' )", node.description);
                    }
                    None => {
                        let _ = writeln!(text, "{:36}'{}'", "", node.description);
                    }
                }
            }
        }
        text
    }

    fn list_end(&self, text: &mut String, id: PortId) {
        let node = self.node(id.node);
        let kind = match node.kind {
            NodeKind::Switch => "SW",
            NodeKind::Adapter => "CA",
            NodeKind::Router => "RT",
        };
        let _ = write!(text, "{kind} {:5} {:2} {}", self.lid_of(id), id.port, self.port(id).guid);
    }

    fn to_subnet_lst(&self) -> String {
        let mut ids: Vec<NodeId> = self.ids().map(|(id, _)| id).collect();
        ids.sort_by_key(|&id| self.node(id).guid.map_key());
        let mut text = String::new();
        for id in ids {
            for (number, port) in self.node(id).ports.iter().enumerate().skip(1) {
                let Some(peer) = port.peer else { continue };
                self.lst_end(&mut text, PortId { node: id, port: number as u8 }, true);
                self.lst_end(&mut text, peer, false);
                let width = port.width.map_or("??".to_owned(), |width| width.to_string());
                let speed = port.speed.map_or("??", crate::Speed::opensm_name);
                let _ = writeln!(text, "PHY={width} LOG=ACT SPD={speed}");
            }
        }
        text
    }

    /// An end of a link. OpenSM prints the vendor and device of the second end with 32 bits.
    fn lst_end(&self, text: &mut String, id: PortId, first: bool) {
        let node = self.node(id.node);
        let kind = match node.kind {
            NodeKind::Switch => "SW",
            NodeKind::Adapter => "CA",
            NodeKind::Router => "Rt",
        };
        let manages = self.manager.is_some_and(|manager| {
            manager.node == id.node && node.addressed_port(manager.port) == node.addressed_port(id.port)
        });
        let hex = |guid: Guid| format!("{:016x}", guid.0);
        let port = self.port(id);
        let _ = write!(text, "{{ {kind}{} Ports:{:02X}", if manages { "-SM" } else { "" }, node.num_ports());
        let _ = write!(text, " SystemGUID:{} NodeGUID:{}", hex(node.system_guid), hex(node.guid));
        let _ = write!(text, " PortGUID:{} ", hex(port.guid));
        if first {
            let _ = write!(text, "VenID:{:06X} DevID:{:04X}", node.vendor, node.device);
        } else {
            let _ = write!(text, "VenID:{:08X} DevID:{:04X}0000", node.vendor, node.device);
        }
        let (lid, number) = (self.lid_of(id), id.port);
        let _ = write!(
            text,
            " Rev:{:08X} {{{}}} LID:{lid:04X} PN:{number:02X} }} ",
            node.revision, node.description
        );
    }
}

/// Key of a node in netlists.
fn key(node: &Node) -> String {
    let letter = match node.kind {
        NodeKind::Switch => 'S',
        NodeKind::Adapter => 'H',
        NodeKind::Router => 'R',
    };
    format!("{letter}-{:016x}", node.guid.0)
}

/// Width and speed of a link, after `before` and with `between`; nothing if neither is known.
fn rate(port: &Port, before: char, between: &str) -> String {
    match (port.width, port.speed) {
        (None, None) if between.is_empty() => String::new(),
        (width, speed) => {
            let width = width.map_or("4x".to_owned(), |width| width.to_string());
            let speed = speed.map_or("???".to_owned(), |speed| speed.to_string());
            format!("{before}{width}{between}{speed}")
        }
    }
}
