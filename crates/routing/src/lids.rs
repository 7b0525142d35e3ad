//! LIDs of hosts and switches.

use std::borrow::Cow;

use fabricsim_spec::{Experiment, PathChoice};
use fabricsim_subnet::{LidOptions, assign_lids};
use fabricsim_topology::{Graph, Identity};
use fabricsim_units::HostId;

/// LIDs of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    /// LID mask control: a host has 2^`lmc` LIDs.
    pub(crate) lmc: u8,
    /// Number of those that sources use.
    pub(crate) used: u8,
}

impl Paths {
    /// The LIDs of an experiment.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let lmc = experiment.lmc();
        Self { lmc, used: if experiment.routing.paths == PathChoice::First { 1 } else { 1 << lmc } }
    }
}

/// The identity of the fabric: as it was read, with LIDs that are missing assigned, or made up, 2^`lmc` for each host.
///
/// # Errors
///
/// No LIDs are left, or a host of a file has fewer.
pub fn identity(graph: &Graph, lmc: u8) -> Result<Cow<'_, Identity>, String> {
    let mut identity = match graph.identity.as_deref() {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(Identity::of(graph)?),
    };
    let lacks_lids = (0..graph.hosts.len() as u32).any(|host| identity.lid(HostId(host)) == 0)
        || identity.switches.iter().any(|&node| identity.subnet.node(node).ports[0].lid == 0);
    if lacks_lids {
        assign_lids(&mut identity.to_mut().subnet, LidOptions { lmc, reassign: false })
            .map_err(|error| error.to_string())?;
    }
    let fewer = identity.hosts.iter().position(|&port| identity.subnet.port(port).lmc < lmc);
    match fewer {
        Some(host) => {
            let given = identity.subnet.port(identity.hosts[host]).lmc;
            Err(format!(
                "host {} has LMC {given} in the file of the fabric, not {lmc}",
                graph.hosts[host].name
            ))
        }
        None => Ok(identity),
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_subnet::PortId;

    use super::*;
    use crate::samples::graph;

    /// Those that a file lacks are assigned, of hosts as of switches; the others stay.
    #[test]
    fn missing_lids_are_assigned() {
        let plain = graph("mesh = { dimensions = [2], hosts_per_switch = 2 }");
        let known = identity(&plain, 0).unwrap().into_owned();
        let switches = known.switches.iter().map(|&node| PortId { node, port: 0 });
        let ports: Vec<PortId> = switches.chain(known.hosts.iter().copied()).collect();
        let lids = |of: &Identity| ports.iter().map(|&port| of.subnet.port(port).lid).collect::<Vec<_>>();
        assert!(lids(&known).iter().all(|&lid| lid > 0));
        for (missing, &port) in ports.iter().enumerate() {
            let mut lacking = known.clone();
            lacking.subnet.port_mut(port).lid = 0;
            let graph = Graph { identity: Some(Box::new(lacking)), ..plain.clone() };
            let found = lids(&identity(&graph, 0).unwrap());
            let mut others =
                found.iter().zip(lids(&known)).enumerate().filter(|(place, _)| *place != missing);
            assert!(others.all(|(_, (found, known))| *found == known), "{found:?}");
            assert!(found[missing] > 0, "{found:?}");
        }
    }
}
