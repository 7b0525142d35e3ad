//! Text of forwarding tables: `opensm-lfts.dump`, `ibroute` and `dump_lfts.sh`, `opensm.fdbs`.

use std::fmt::Write;

use serde::Serialize;

use super::Tables;
use crate::engines::{Engine, HopMatrix, NO_PATH, NO_PORT, Options};
use crate::subnet::{Node, NodeKind, PortId, Subnet};
use crate::{RouteError, Routing, fabric::Fabric, fabric::NONE};

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

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

fn destination(text: &mut String, subnet: &Subnet, owner: PortId) {
    let node = subnet.node(owner.node);
    let guid = subnet.port(owner).guid;
    let _ = write!(text, "{} portguid {guid}: '{}'", kind_name(node.kind), node.description);
}

impl Routing {
    /// Text of the tables as `opensm.fdbs` has it (`dump_ucast_routes` in `osm_dump.c`), with the engine's hop counts.
    ///
    /// # Errors
    ///
    /// The subnet is not the one that was routed.
    pub fn to_fdbs(&self, subnet: &Subnet) -> Result<String, RouteError> {
        self.tables.to_fdbs(subnet, &self.hops)
    }
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

    fn to_fdbs(&self, subnet: &Subnet, hops: &HopMatrix) -> Result<String, RouteError> {
        let fabric = Fabric::new(subnet)?;
        let mut text = String::new();
        for (at, &id) in self.switches().iter().enumerate() {
            let guid = subnet.node(id).guid;
            line(&mut text, format_args!("dump_ucast_routes: Switch {guid}\nLID    : Port : Hops : Optimal"));
            for (lid, &port) in self.row(at).iter().enumerate().skip(1) {
                let _ = write!(text, "0x{lid:04X} : ");
                fdbs_entry(&mut text, &fabric, hops, at, lid, port);
                text.push('\n');
            }
        }
        Ok(text)
    }
}

fn fdbs_entry(text: &mut String, fabric: &Fabric<'_>, hops: &HopMatrix, at: usize, lid: usize, port: u8) {
    let end = fabric.lid_ends.get(lid).copied().filter(|&end| end != NONE);
    let Some(end) = end.filter(|_| port != NO_PORT).map(|end| fabric.ends[end as usize]) else {
        text.push_str("UNREACHABLE");
        return;
    };
    let target = end.switch as usize;
    let beyond = u32::from(!end.is_switch);
    let least = if end.switch == NONE { NO_PATH } else { hops.least(at, target) };
    if least == NO_PATH {
        let _ = write!(text, "{port:03}  : HOPS UNKNOWN");
    } else if at == target || hops.ports(at, target).any(|best| best == usize::from(port)) {
        let _ = write!(text, "{port:03}  : {:02}   : yes", u32::from(least) + beyond);
    } else {
        let via = hops.ports(at, target).next().unwrap_or(usize::from(NO_PORT));
        let count = match fabric.peers(at)[usize::from(port)] {
            crate::fabric::Peer::Switch(next, _) => u32::from(hops.least(next as usize, target)) + 1,
            _ => u32::from(NO_PATH),
        };
        let (count, best) = (count + beyond, u32::from(least) + beyond);
        let _ = write!(text, "{port:03}  : {count:02}   : No {best} hop path possible via port {via}!");
    }
}
