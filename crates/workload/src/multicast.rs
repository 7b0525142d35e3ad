//! Multicast groups: members, and the hosts that send to them.

use fabricsim_spec::{Experiment, Pattern};
use fabricsim_units::HostId;

use crate::WorkloadError;
use crate::select::Selector;

/// A multicast group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its name.
    pub name: String,
    /// Hosts that receive its packets, in ascending order.
    pub members: Vec<HostId>,
    /// Hosts that send to it, each with the service class or level of the traffic; in ascending order.
    pub senders: Vec<(u8, HostId)>,
}

/// The groups of an experiment, by number.
pub(crate) fn groups(
    experiment: &Experiment,
    selector: &Selector<'_>,
) -> Result<Vec<MulticastGroup>, WorkloadError> {
    let group = |(number, group): (usize, &fabricsim_spec::MulticastGroup)| {
        let mut members =
            selector.select(&group.members, &format!("multicast_groups.{number}.members"))?.hosts;
        members.sort_unstable();
        let mut senders = Vec::new();
        for (entry, traffic) in experiment.traffic.iter().enumerate() {
            if matches!(&traffic.pattern, Pattern::Multicast(name) if *name == group.name) {
                let sources = selector.select(&traffic.sources, &format!("traffic.{entry}.sources"))?.hosts;
                let sends = |host: &HostId| members.iter().any(|member| member != host);
                senders.extend(sources.into_iter().filter(sends).map(|host| (traffic.service_class, host)));
            }
        }
        senders.sort_unstable();
        senders.dedup();
        Ok(MulticastGroup { name: group.name.clone(), members, senders })
    };
    experiment.multicast_groups.iter().enumerate().map(group).collect()
}
