//! `opensm.fdbs`: forwarding tables with hops (`dump_ucast_routes` in `osm_dump.c`).

use std::fmt::Write;

use super::Tables;
use super::dump::line;
use crate::engines::{HopMatrix, Hops, NO_PATH, NO_PORT};
use crate::fabric::{EndPort, Fabric, NONE, Peer};
use crate::subnet::Subnet;
use crate::{RouteError, Routing};

impl Routing {
    /// Text of the tables as `opensm.fdbs` has it, with the hops that the engine tells OpenSM: torus-2QoS tells it none.
    ///
    /// # Errors
    ///
    /// The subnet is not the one that was routed.
    pub fn to_fdbs(&self, subnet: &Subnet) -> Result<String, RouteError> {
        self.tables.to_fdbs(subnet, &self.hops)
    }
}

impl Tables {
    pub(super) fn to_fdbs(&self, subnet: &Subnet, hops: &Hops) -> Result<String, RouteError> {
        let fabric = Fabric::new(subnet)?;
        let mut text = String::new();
        for (at, &id) in self.switches().iter().enumerate() {
            let guid = subnet.node(id).guid;
            line(&mut text, format_args!("dump_ucast_routes: Switch {guid}\nLID    : Port : Hops : Optimal"));
            for (lid, &port) in self.row(at).iter().enumerate().skip(1) {
                let _ = write!(text, "0x{lid:04X} : ");
                let end = fabric.lid_ends.get(lid).copied().filter(|&end| end != NONE && port != NO_PORT);
                match (end.map(|end| &fabric.ends[end as usize]), hops) {
                    (None, _) => text.push_str("UNREACHABLE"),
                    (Some(end), Hops::Least(hops)) => least_hops(&mut text, &fabric, hops, (at, port), end),
                    (Some(end), Hops::OfPaths) => match self.hops(&fabric, (at, lid), end) {
                        Some(hops) => drop(write!(text, "{port:03}  : {hops:02}   : yes")),
                        None => drop(write!(text, "{port:03}  : HOPS UNKNOWN")),
                    },
                    (Some(end), Hops::Untold) => untold_hops(&mut text, (at, port), end),
                }
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// Links from a switch to a LID's port by the tables; none if it is not reached.
    fn hops(&self, fabric: &Fabric<'_>, (mut at, lid): (usize, usize), end: &EndPort) -> Option<usize> {
        for hops in 0..fabric.len() {
            let port = *self.row(at).get(lid)?;
            if at == end.switch as usize && port == end.port {
                return Some(hops + usize::from(!end.is_switch));
            }
            let Some(&Peer::Switch(next, _)) = fabric.peers(at).get(usize::from(port)) else { return None };
            at = next as usize;
        }
        None
    }
}

fn least_hops(
    text: &mut String,
    fabric: &Fabric<'_>,
    hops: &HopMatrix,
    (at, port): (usize, u8),
    end: &EndPort,
) {
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
            Peer::Switch(next, _) => u32::from(hops.least(next as usize, target)) + 1,
            _ => u32::from(NO_PATH),
        };
        let (count, best) = (count + beyond, u32::from(least) + beyond);
        let _ = write!(text, "{port:03}  : {count:02}   : No {best} hop path possible via port {via}!");
    }
}

/// Without hop counts OpenSM knows its own adapters only, and takes 255, its count for no path, and one more for the best.
fn untold_hops(text: &mut String, (at, port): (usize, u8), end: &EndPort) {
    if at == end.switch as usize && !end.is_switch {
        let _ = write!(text, "{port:03}  : 01   : No 0 hop path possible via port {}!", end.port);
    } else {
        let _ = write!(text, "{port:03}  : HOPS UNKNOWN");
    }
}
