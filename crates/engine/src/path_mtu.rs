//! Path MTUs: the largest packet that each source may send to each destination, if links carry less than `host.mtu`.

use fabricsim_model::Observer;
use fabricsim_routing::{has_small_links, path_mtus};
use fabricsim_spec::{Allocation, CongestionAlgorithm, Experiment, OrderingMode, SpecError};
use fabricsim_topology::Graph;
use fabricsim_units::{Bytes, LinkId, SwitchId};

use crate::adapter::{Adapter, Protocol};
use crate::engine::Engine;

/// The network that paths are in.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    graph: Graph,
    host_mtu: Bytes,
}

impl Paths {
    /// `None` if every link carries what hosts may send.
    pub(crate) fn new(graph: &Graph, host_mtu: Bytes) -> Option<Box<Self>> {
        has_small_links(graph, host_mtu).then(|| Box::new(Self { graph: graph.clone(), host_mtu }))
    }
}

impl<B: Observer> Engine<B> {
    /// Hosts learn the MTUs of their paths, as the routes are now: messages that they open from now on are cut at them.
    pub fn update_path_mtus(&mut self) {
        let Some(paths) = self.paths.take() else { return };
        let mut mtus = path_mtus(&paths.graph, paths.host_mtu, |switch: SwitchId| {
            let (number, _) = self.place_of(switch);
            &*self.partitions[number].context.routing
        });
        if self.adapters().any(|adapter| adapter.queue_pairs().is_some()) {
            take_less_of_both_directions(&mut mtus);
        }
        // A group's tree may lead over any link.
        let links = paths.graph.links.iter().filter_map(|link| link.parameters.mtu);
        let groups = links.fold(paths.host_mtu, Bytes::min).0 as u32;
        for adapter in self.partitions.iter_mut().flat_map(|partition| &mut partition.adapters) {
            adapter.set_path_mtus(&mtus[adapter.id().index()], groups);
        }
        self.paths = Some(paths);
    }
}

impl Adapter {
    fn set_path_mtus(&mut self, mtus: &[u32], groups: u32) {
        match &mut self.protocol {
            Protocol::Datagram(endpoint) => endpoint.set_path_mtus(mtus, groups),
            Protocol::Ordering(endpoint) => endpoint.set_path_mtus(mtus, groups),
            Protocol::QueuePairs(endpoint) => endpoint.set_path_mtus(mtus, groups),
            // The program sets the path MTU of each queue pair.
            Protocol::Verbs(_) => {}
        }
    }
}

/// Both ends of a connection have the same path MTU.
fn take_less_of_both_directions(mtus: &mut [Vec<u32>]) {
    for a in 1..mtus.len() {
        let (before, from) = mtus.split_at_mut(a);
        for (there, back) in from[0].iter_mut().zip(before) {
            let least = (*there).min(back[a]);
            (*there, back[a]) = (least, least);
        }
    }
}

/// Refuses packets of protocols that a link does not carry: they are not cut.
pub(crate) fn check(experiment: &Experiment, graph: &Graph, file: &str) -> Result<(), SpecError> {
    if !has_small_links(graph, experiment.host.mtu) {
        return Ok(());
    }
    let links = (0..).map(LinkId).zip(&graph.links);
    let least = links.filter_map(|(id, link)| Some((link.parameters.mtu?, id))).min();
    let Some((mtu, link)) = least else { return Ok(()) };
    let name = graph.link_name(link);
    if experiment.switch.allocation == Allocation::Separable {
        let message =
            format!("{mtu} on {name}, less than `host.mtu`: not with `switch.allocation = \"separable\"`");
        return Err(SpecError::at_key(file, "links.all.mtu", message));
    }
    if let Some(queue_pairs) = &experiment.queue_pairs
        && queue_pairs.path_mtu(mtu).is_none()
    {
        let message = format!(
            "{mtu} on {name} is too little for the packets of queue pairs, whose least path MTU is 256 B"
        );
        return Err(SpecError::at_key(file, "links.all.mtu", message));
    }
    let answers = experiment.transport.mode != OrderingMode::None;
    let notifies = experiment.congestion_control.algorithm != CongestionAlgorithm::None;
    let sizes = [
        (answers, "transport.answer", experiment.transport.answer),
        (notifies, "congestion_control.notification.size", experiment.congestion_control.notification.size),
    ];
    match sizes.into_iter().find(|(is_sent, _, size)| *is_sent && *size > mtu) {
        Some((_, key, size)) => {
            let message = format!("{size} is more than {name} carries: give at most {mtu}");
            Err(SpecError::at_key(file, key, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
