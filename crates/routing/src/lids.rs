//! LIDs of hosts and switches.

use std::borrow::Cow;

use fabricsim_spec::{Experiment, PathChoice, SubnetManager};
use fabricsim_subnet::{LidOptions, PortId, assign_lids};
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

/// The identity of an experiment's fabric: as it was read, with LIDs that are missing assigned, or made up: those that a run, `fabricsim route` and
/// `fabricsim export` have. The port of the first subnet manager gets the first LID, if there is one.
///
/// # Errors
///
/// No LIDs are left, or a host of a file has fewer.
pub fn identity_of<'a>(experiment: &Experiment, graph: &'a Graph) -> Result<Cow<'a, Identity>, String> {
    identity(graph, experiment.lmc(), experiment.subnet_manager.as_ref())
}

/// Port on which the first subnet manager runs.
fn manager_port(manager: &SubnetManager, graph: &Graph, identity: &Identity) -> Option<PortId> {
    let Some(name) = manager.nodes.first() else { return identity.hosts.first().copied() };
    if let Some(host) = graph.hosts.iter().position(|host| host.name == *name) {
        return Some(identity.hosts[host]);
    }
    let switch = graph.switches.iter().position(|switch| switch.name == *name)?;
    Some(PortId { node: identity.switches[switch], port: 0 })
}

/// [`identity_of`], with 2^`lmc` LIDs for each host.
///
/// # Errors
///
/// No LIDs are left, or a host of a file has fewer.
pub fn identity<'a>(
    graph: &'a Graph,
    lmc: u8,
    manager: Option<&SubnetManager>,
) -> Result<Cow<'a, Identity>, String> {
    let mut identity = match graph.identity.as_deref() {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(Identity::of(graph)?),
    };
    let lacks_lids = (0..graph.hosts.len() as u32).any(|host| identity.lid(HostId(host)) == 0)
        || identity.switches.iter().any(|&node| identity.subnet.node(node).ports[0].lid == 0);
    if lacks_lids {
        if let Some(port) = manager.and_then(|manager| manager_port(manager, graph, &identity)) {
            identity.to_mut().subnet.manager = Some(port);
        }
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
    use super::*;
    use crate::samples::graph;

    /// Those that a file lacks are assigned, of hosts as of switches; the others stay.
    #[test]
    fn missing_lids_are_assigned() {
        let plain = graph("mesh = { dimensions = [2], hosts_per_switch = 2 }");
        let known = identity(&plain, 0, None).unwrap().into_owned();
        let switches = known.switches.iter().map(|&node| PortId { node, port: 0 });
        let ports: Vec<PortId> = switches.chain(known.hosts.iter().copied()).collect();
        let lids = |of: &Identity| ports.iter().map(|&port| of.subnet.port(port).lid).collect::<Vec<_>>();
        assert!(lids(&known).iter().all(|&lid| lid > 0));
        for (missing, &port) in ports.iter().enumerate() {
            let mut lacking = known.clone();
            lacking.subnet.port_mut(port).lid = 0;
            let graph = Graph { identity: Some(Box::new(lacking)), ..plain.clone() };
            let found = lids(&identity(&graph, 0, None).unwrap());
            let mut others =
                found.iter().zip(lids(&known)).enumerate().filter(|(place, _)| *place != missing);
            assert!(others.all(|(_, (found, known))| *found == known), "{found:?}");
            assert!(found[missing] > 0, "{found:?}");
        }
    }

    #[test]
    fn the_managers_port_has_the_first_lid() {
        let graph = graph("mesh = { dimensions = [2, 2] }");
        let lid = |manager: Option<&str>, host: u32| {
            let nodes = manager.map(|name| vec![name.to_owned()]);
            let manager = nodes.map(|nodes| SubnetManager { nodes, ..SubnetManager::default() });
            identity(&graph, 0, manager.as_ref()).unwrap().lid(HostId(host))
        };
        let names: Vec<&str> = graph.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!((lid(Some(names[0]), 0), lid(Some(names[3]), 3)), (1, 1));
        assert!(lid(None, 0) > 1, "without a manager the first switch has it");
    }
}
