//! Text of forwarding tables: `opensm-lfts.dump`, `ibroute` and `dump_lfts.sh`, `opensm.fdbs`.

use std::fmt::Write;

use serde::Serialize;

use super::Tables;
use crate::RouteError;
use crate::engines::{Engine, Options};
use crate::subnet::{Node, NodeKind, PortId, Subnet};

/// Form of a file of forwarding tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableForm {
    /// `opensm-lfts.dump`, which OpenSM's `file` engine reads.
    Dump,
    /// Output of `ibroute`, and of `dump_lfts.sh` for all switches.
    Ibroute,
    /// `opensm.fdbs`: with hops.
    Fdbs,
}

/// Name of a kind of node in OpenSM's and infiniband-diags' files.
pub(crate) fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Switch => "Switch",
        NodeKind::Adapter => "Channel Adapter",
        NodeKind::Router => "Router",
    }
}

/// Ports by LID, for messages about destinations.
pub(crate) fn lid_owners(subnet: &Subnet, max_lid: u16) -> Vec<Option<PortId>> {
    let mut owners = vec![None; usize::from(max_lid) + 1];
    for (id, node) in subnet.ids() {
        for port in node.end_ports() {
            for lid in node.ports[usize::from(port)].lids() {
                if let Some(owner) = owners.get_mut(lid as usize) {
                    *owner = Some(PortId { node: id, port });
                }
            }
        }
    }
    owners
}

impl Tables {
    /// Text of the tables as `opensm-lfts.dump` has it (`dump_ucast_lfts` in `osm_dump.c`).
    pub fn to_dump(&self, subnet: &Subnet) -> String {
        let mut text = String::new();
        let owners = lid_owners(subnet, self.max_lid());
        for (index, &id) in self.switches().iter().enumerate() {
            let node = subnet.node(id);
            let (lid, guid, description) = (node.ports[0].lid, node.guid, &node.description);
            let most = self.max_lid();
            line(
                &mut text,
                format_args!("Unicast lids [0-{most}] of switch Lid {lid} guid {guid} ('{description}'):"),
            );
            for (lid, port) in self.entries(index, node) {
                let _ = write!(text, "0x{lid:04x} {port:03} # ");
                match owners[lid] {
                    Some(owner) => destination(&mut text, subnet, owner),
                    None => text.push_str("unknown node and type"),
                }
                text.push('\n');
            }
            line(&mut text, format_args!("{most} lids dumped"));
        }
        text
    }

    /// Text of the tables as `ibroute` prints it, switch by switch.
    pub fn to_ibroute(&self, subnet: &Subnet) -> String {
        let mut text = String::new();
        let owners = lid_owners(subnet, self.max_lid());
        for (index, &id) in self.switches().iter().enumerate() {
            let node = subnet.node(id);
            let (lid, guid, description) = (node.ports[0].lid, node.guid, &node.description);
            let most = self.max_lid();
            line(
                &mut text,
                format_args!(
                    "Unicast lids [0x0-0x{most:x}] of switch Lid {lid} guid {guid} ({description}):"
                ),
            );
            text.push_str("  Lid  Out   Destination\n       Port     Info \n");
            let mut valid = 0;
            for (lid, port) in self.entries(index, node) {
                let _ = write!(text, "0x{lid:04x} {port:03} : (");
                match owners[lid] {
                    Some(owner) => destination(&mut text, subnet, owner),
                    None => text.push_str("unknown node and type"),
                }
                text.push_str(")\n");
                valid += 1;
            }
            line(&mut text, format_args!("{valid} valid lids dumped "));
        }
        text
    }

    /// Entries of a switch that lead to one of its ports.
    fn entries<'a>(&'a self, index: usize, node: &'a Node) -> impl Iterator<Item = (usize, u8)> + 'a {
        let entries = self.row(index).iter().copied().enumerate();
        entries.filter(|&(_, port)| usize::from(port) < node.ports.len())
    }
}

pub(super) fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

fn destination(text: &mut String, subnet: &Subnet, owner: PortId) {
    let node = subnet.node(owner.node);
    let guid = subnet.port(owner).guid;
    let _ = write!(text, "{} portguid {guid}: '{}'", kind_name(node.kind), node.description);
}

impl Tables {
    /// Text of the tables in a form. Hops in `opensm.fdbs` are those of shortest paths.
    ///
    /// # Errors
    ///
    /// The subnet has no shortest paths: it cannot be routed.
    pub fn to_text(&self, subnet: &Subnet, form: TableForm) -> Result<String, RouteError> {
        match form {
            TableForm::Dump => Ok(self.to_dump(subnet)),
            TableForm::Ibroute => Ok(self.to_ibroute(subnet)),
            TableForm::Fdbs => {
                let shortest = Engine::MinHop.route(subnet, &Options::default())?;
                self.to_fdbs(subnet, &shortest.hops)
            }
        }
    }
}
