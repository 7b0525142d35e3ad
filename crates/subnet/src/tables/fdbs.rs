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
                    (Some(end), Hops::Least(hops)) => {
                        self.least_hops(&mut text, &fabric, (hops, false), (at, port), end);
                    }
                    (Some(end), Hops::LeastAndPaths(hops)) => {
                        self.least_hops(&mut text, &fabric, (hops, true), (at, port), end);
                    }
                    (Some(_), Hops::Told(hops)) => match hops[at * (usize::from(self.max_lid()) + 1) + lid] {
                        NO_PATH => drop(write!(text, "{port:03}  : HOPS UNKNOWN")),
                        hops => drop(write!(text, "{port:03}  : {hops:02}   : yes")),
                    },
                    (Some(end), Hops::Untold) => untold_hops(&mut text, (at, port), end),
                }
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// Links from a switch to another one by the tables; none if it is not reached.
    fn hops(&self, fabric: &Fabric<'_>, mut at: usize, target: usize) -> Option<u32> {
        let lid = usize::from(fabric.ends[fabric.switch_ends[target] as usize].lid);
        for hops in 0..fabric.len() {
            if at == target {
                return Some(hops as u32);
            }
            let port = *self.row(at).get(lid)?;
            let Some(&Peer::Switch(next, _)) = fabric.peers(at).get(usize::from(port)) else { return None };
            at = next as usize;
        }
        None
    }

    fn least_hops(
        &self,
        text: &mut String,
        fabric: &Fabric<'_>,
        (hops, of_paths): (&HopMatrix, bool),
        (at, port): (usize, u8),
        end: &EndPort,
    ) {
        let target = end.switch as usize;
        let least = if end.switch == NONE { NO_PATH } else { hops.least(at, target) };
        if least == NO_PATH {
            let _ = write!(text, "{port:03}  : HOPS UNKNOWN");
            return;
        }
        let lid = fabric.ends[fabric.switch_ends[target] as usize].lid;
        let path = (of_paths && at != target).then(|| self.row(at)[usize::from(lid)]);
        let count = |port: u8| {
            let counted = path.filter(|&path| path == port).and_then(|_| self.hops(fabric, at, target));
            counted.unwrap_or_else(|| match fabric.peers(at).get(usize::from(port)) {
                Some(&Peer::Switch(next, _)) => u32::from(hops.least(next as usize, target)) + 1,
                _ => u32::from(NO_PATH),
            })
        };
        let beyond = u32::from(!end.is_switch);
        let (counted, best) = (count(port) + beyond, u32::from(least) + beyond);
        if at == target || counted == best {
            let _ = write!(text, "{port:03}  : {best:02}   : yes");
        } else {
            let mut ports = hops.ports(at, target).map(|port| port as u8);
            let via = ports.find(|&port| count(port) == u32::from(least)).unwrap_or(NO_PORT);
            let _ = write!(text, "{port:03}  : {counted:02}   : No {best} hop path possible via port {via}!");
        }
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
