//! The subnet managers of an experiment, on its fabric.

use std::sync::Arc;

use fabricsim_management::{MulticastGroup, PartitionKeys, Quality, Settings, Weights};
use fabricsim_spec::{
    Experiment, PathChoice, SpecError, SubnetManager, SubnetStart, VlArbitration, VlWeight,
};
use fabricsim_subnet::{LidOptions, PortId, assign_lids};
use fabricsim_topology::{Graph, Identity, failed_links};
use fabricsim_units::{HostId, LinkId, Time, Vl, nearest};
use fabricsim_wire::ids::PKey;
use fabricsim_workload::Partitions;

/// Lane of service levels whose packets are discarded.
const DISCARDED: u8 = 15;

/// Subnet management of an experiment.
#[derive(Clone, Debug)]
pub struct SubnetPlan {
    /// Nodes, GUIDs and physical ports. LIDs are those that the files of the fabric state; managers assign the others.
    pub identity: Identity,
    /// Managers with their ports and the names of their nodes, the one with the highest priority first.
    pub managers: Vec<ManagerPlan>,
    /// True if everything is configured at the start.
    pub is_configured: bool,
    /// True if switches report changed links.
    pub traps: bool,
    /// Time of a manager for a datagram.
    pub manager_time: Time,
    /// Time of an agent for an answer.
    pub response_time: Time,
    /// Time of a switch to pass on a datagram with a directed route.
    pub forwarding_time: Time,
    /// Datagrams from a port that wait for an agent at most.
    pub buffer: usize,
    /// Time after which a trap is repeated that no manager has acknowledged.
    pub trap_timeout: Time,
    /// Links that do not work from the start.
    pub failed: Vec<LinkId>,
    /// Virtual lanes of data.
    pub lanes: u8,
    /// LIDs of each host to which packets are sent.
    pub paths: u8,
}

/// A manager.
#[derive(Clone, Debug)]
pub struct ManagerPlan {
    /// Its port; port 0 of a switch.
    pub port: PortId,
    /// Name of its host or switch.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
}

impl SubnetPlan {
    /// The plan of `experiment` on `graph`; none without a section `subnet_manager`.
    ///
    /// # Errors
    ///
    /// A name that no host has, or a fabric that is no InfiniBand subnet. They name the experiment `file`.
    pub(crate) fn new(
        experiment: &Experiment,
        graph: &Graph,
        groups: &[fabricsim_workload::MulticastGroup],
        file: &str,
    ) -> Result<Option<Arc<Self>>, SpecError> {
        let Some(given) = &experiment.subnet_manager else { return Ok(None) };
        let wrong = |message| SpecError::at_key(file, "subnet_manager", message);
        let identity = match graph.identity.as_deref() {
            Some(known) => known.clone(),
            None => Identity::of(graph).map_err(wrong)?,
        };
        let (engine, options) = fabricsim_routing::engine(experiment, graph, &identity, file)?;
        let places = manager_places(given, graph, &identity, file)?;
        let settings = |number: usize| Settings {
            engine,
            options: options.clone(),
            lmc: given.lmc,
            smps_on_wire: given.smps_on_wire,
            timeout: given.timeout,
            retries: given.retries,
            sweep_interval: given.sweep_interval,
            poll_interval: given.poll_interval,
            poll_retries: given.poll_retries,
            priority: 15 - number.min(15) as u8,
            routing_time: given.routing_time,
            quality: quality(experiment),
            groups: groups.iter().map(|group| joined(group, &identity)).collect(),
            partitions: PartitionKeys::default(),
        };
        Ok(Some(Arc::new(Self {
            managers: places
                .into_iter()
                .enumerate()
                .map(|(number, (name, port))| ManagerPlan { port, name, settings: settings(number) })
                .collect(),
            identity,
            is_configured: given.start == SubnetStart::Configured,
            traps: given.traps,
            manager_time: given.manager_time,
            response_time: given.response_time,
            forwarding_time: given.forwarding_time,
            buffer: usize::from(given.vl15_buffer),
            trap_timeout: given.timeout,
            failed: failed_links(graph, &experiment.links, file)?,
            lanes: experiment.switch.lanes_per_class(),
            paths: if experiment.routing.paths == PathChoice::First { 1 } else { 1 << given.lmc },
        })))
    }
}

impl SubnetPlan {
    /// The plan with the partitions that managers set.
    ///
    /// # Errors
    ///
    /// A host is in more partitions than a table has entries. It names the experiment `file`.
    pub(crate) fn with_partitions(
        mut self: Arc<Self>,
        (experiment, graph): (&Experiment, &Graph),
        partitions: &Partitions,
        file: &str,
    ) -> Result<Arc<Self>, SpecError> {
        let rule = experiment.switch.partition_enforcement;
        let mut given = PartitionKeys {
            inbound: rule.is_inbound(),
            outbound: rule.is_outbound(),
            ..PartitionKeys::default()
        };
        for (host, port) in (0..).map(HostId).zip(&self.identity.hosts) {
            let keys: Vec<PKey> = partitions.keys_of(host).into_iter().map(PKey).collect();
            if keys.len() > PartitionKeys::MOST {
                let (name, count, most) = (&graph.hosts[host.index()].name, keys.len(), PartitionKeys::MOST);
                let message =
                    format!("{name} is in {count}: with a subnet manager a host may be in {most} at most");
                return Err(SpecError::at_key(file, "partitions", message));
            }
            given.keys.insert((self.identity.subnet.node(port.node).guid.0, port.port), keys);
        }
        for manager in &mut Arc::make_mut(&mut self).managers {
            manager.settings.partitions = given.clone();
        }
        Ok(self)
    }

    /// The identity with the LIDs that the first manager assigns to the whole subnet; none if there are too few.
    pub fn addressed(&self) -> Option<Identity> {
        let manager = self.managers.first()?;
        let mut identity = self.identity.clone();
        identity.subnet.manager = Some(manager.port);
        let options = LidOptions { lmc: manager.settings.lmc, reassign: false };
        assign_lids(&mut identity.subnet, options).ok()?;
        Some(identity)
    }
}

/// A group as managers know it.
fn joined(group: &fabricsim_workload::MulticastGroup, identity: &Identity) -> MulticastGroup {
    let guids = |hosts: &mut dyn Iterator<Item = HostId>| {
        let mut guids: Vec<u64> =
            hosts.map(|host| identity.subnet.port(identity.hosts[host.index()]).guid.0).collect();
        guids.sort_unstable();
        guids.dedup();
        guids
    };
    MulticastGroup {
        members: guids(&mut group.members.iter().copied()),
        senders: guids(&mut group.senders.iter().map(|&(_, host)| host)),
    }
}

/// What managers set for quality of service.
fn quality(experiment: &Experiment) -> Quality {
    let lanes = experiment.switch.sl2vl.as_ref();
    // Levels that no traffic has get the lane by which packets are discarded.
    let lanes =
        lanes.map(|lanes| std::array::from_fn(|level| lanes.get(level).copied().unwrap_or(DISCARDED)));
    Quality {
        lanes,
        of_switches: experiment.switch.vl_arbitration.as_ref().map(weights),
        of_adapters: experiment.host.vl_arbitration.as_ref().map(weights),
    }
}

fn weights(given: &VlArbitration) -> Weights {
    let entries = |list: &[VlWeight]| list.iter().map(|entry| (Vl(entry.vl), entry.weight)).collect();
    Weights { low: entries(&given.low), high: entries(&given.high), high_limit: given.high_limit }
}

fn manager_places(
    given: &SubnetManager,
    graph: &Graph,
    identity: &Identity,
    file: &str,
) -> Result<Vec<(String, PortId)>, SpecError> {
    let of_host = |host: usize| (graph.hosts[host].name.clone(), identity.hosts[host]);
    if given.nodes.is_empty() {
        return Ok(vec![of_host(0)]);
    }
    let find = |(number, name): (usize, &String)| {
        if let Some(host) = graph.hosts.iter().position(|host| host.name == *name) {
            return Ok(of_host(host));
        }
        if let Some(switch) = graph.switches.iter().position(|switch| switch.name == *name) {
            return Ok((name.clone(), PortId { node: identity.switches[switch], port: 0 }));
        }
        let hosts = graph.hosts.iter().map(|host| host.name.as_str());
        let all = hosts.chain(graph.switches.iter().map(|switch| switch.name.as_str()));
        let hint = nearest(name, all).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let message = format!("no host or switch {name}{hint}");
        Err(SpecError::at_key(file, &format!("subnet_manager.nodes.{number}"), message))
    };
    given.nodes.iter().enumerate().map(find).collect()
}

#[cfg(test)]
mod tests;
