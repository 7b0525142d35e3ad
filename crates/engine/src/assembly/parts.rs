//! The number of partitions and threads of a run.

use fabricsim_routing::RoutingFunction;
use fabricsim_topology::{Node, SwitchNode};
use fabricsim_units::{HostId, Time};

use super::Assembly;
use super::cut::Cut;
use crate::lookahead::Reach;

/// Events of a packet, about: four hops, and a wake-up for most of them.
const EVENTS_OF_A_PACKET: f64 = 7.0;

/// Events of a window, for each thread, from which on threads that the experiment asks for take part: about what a barrier takes.
const WORTH: u64 = 100;

/// The same of threads that it does not ask for: a barrier takes less than a hundredth of them, also where other programs use the cores.
const CLEARLY_WORTH: u64 = 2000;

/// How a run is divided. Results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    pub(crate) partitions: u32,
    /// Threads that may advance the partitions.
    pub(crate) threads: u32,
    /// Events of a window, for each thread, from which on they do.
    pub(crate) worth: u64,
}

impl Division {
    /// As many partitions as the experiment gives, and at least as many as threads, unless windows would hold too few events for these.
    pub(super) fn new(assembly: &Assembly<'_>, weights: &[u64]) -> Self {
        let run = &assembly.experiment.run;
        let with = |threads: u32, worth| Self { partitions: run.partitions.max(threads), threads, worth };
        if assembly.processes > 1 {
            return Self {
                partitions: run.partitions.max(assembly.processes),
                threads: 1,
                worth: CLEARLY_WORTH,
            };
        }
        let holds = |of: &Self| {
            of.partitions == run.partitions
                || expected_events(assembly, of.partitions, weights)
                    >= of.worth as f64 * f64::from(of.threads)
        };
        if let Some(threads) = run.threads {
            let asked = with(threads, WORTH);
            return if holds(&asked) { asked } else { Self { partitions: run.partitions, ..asked } };
        }
        let one = with(1, CLEARLY_WORTH);
        let may_pay = assembly.router.broadcast_outputs().is_none()
            && most_events(assembly) >= 2.0 * one.worth as f64
            && assembly.graph.switches.len() > 1;
        let mut threads = if may_pay { assembly.cores } else { 1 };
        while threads > 1 {
            let several = with(threads, CLEARLY_WORTH);
            let enough =
                (expected_events(assembly, several.partitions, weights) / several.worth as f64) as u32;
            if enough >= threads {
                return several;
            }
            // Fewer parts may have longer links between them.
            threads = enough.max(2).min(threads - 1);
        }
        one
    }
}

/// Estimated events of a window with this number of partitions.
fn expected_events(assembly: &Assembly<'_>, partitions: u32, weights: &[u64]) -> f64 {
    let window = expected_window(
        assembly,
        Cut::new(assembly.graph, partitions, weights).least_latency(assembly.graph),
    );
    events_per_second(assembly) * window.as_secs_f64()
}

/// The longest window of partitions that have links of a least `latency` between them, as far as the experiment shows.
fn expected_window(assembly: &Assembly<'_>, latency: Time) -> Time {
    let Assembly { experiment, graph, streams, devices, .. } = assembly;
    let byte_times = graph.links.iter().map(|link| link.parameters.rate.byte_time());
    let reach = Reach::new(experiment, latency, byte_times);
    if !devices.is_empty() {
        return latency;
    }
    let smallest = streams.iter().map(|stream| stream.mean_bytes).fold(f64::from(u32::MAX), f64::min);
    reach.of_common(smallest as u32)
}

/// The same of a window as long as the longest link between switches, which no cut exceeds.
fn most_events(assembly: &Assembly<'_>) -> f64 {
    let is_between = |node: Node| matches!(node, Node::Switch(_));
    let between =
        assembly.graph.links.iter().filter(|link| is_between(link.a.node) && is_between(link.b.node));
    let longest = between.map(|link| link.parameters.latency).max().unwrap_or(Time::ZERO);
    events_per_second(assembly) * expected_window(assembly, longest).as_secs_f64()
}

/// Estimated bits per second that each host offers, by host. Jobs, closed loops and programs count with the rates of their links.
fn offered(assembly: &Assembly<'_>) -> Vec<f64> {
    let Assembly { graph, sources, devices, .. } = assembly;
    let rate = |host: HostId| {
        let link = graph.hosts[host.index()].link;
        graph.links[link.index()].parameters.rate.bits_per_second() as f64
    };
    let loads = sources.iter().enumerate().map(|(host, source)| {
        let load = if source.is_closed() { 1.0 } else { source.nominal_load().min(1.0) };
        load * rate(HostId(host as u32))
    });
    let mut loads: Vec<f64> = loads.collect();
    devices.iter().for_each(|&(host, _)| loads[host.index()] += rate(host));
    loads
}

/// What each switch weighs when the network is divided: as its hosts offer, and a tenth of the mean besides, for packets that pass. One without hosts weighs
/// half as much as the mean of those that have some, for each port: it has no events of hosts.
pub(super) fn weights(assembly: &Assembly<'_>) -> Vec<u64> {
    let graph = assembly.graph;
    let mut loads = vec![None; graph.switches.len()];
    for (host, load) in graph.hosts.iter().zip(offered(assembly)) {
        *loads[host.switch.index()].get_or_insert(0.0) += load;
    }
    let with_hosts = loads.iter().zip(&graph.switches).filter_map(|(load, switch)| load.zip(Some(switch)));
    let number = with_hosts.clone().count().max(1) as f64;
    let mean = with_hosts.clone().map(|(load, _)| load).sum::<f64>() / number;
    let ports = with_hosts.map(|(_, switch)| switch.ports.len()).sum::<usize>() as f64 / number;
    let weight = |(load, switch): (Option<f64>, &SwitchNode)| match load {
        Some(load) if mean > 0.0 => (1000.0 * load / mean) as u64 + 100,
        Some(_) => 1100,
        None => (550.0 * switch.ports.len() as f64 / ports.max(1.0)) as u64 + 1,
    };
    loads.into_iter().zip(&graph.switches).map(weight).collect()
}

/// Estimated events by the load that sources offer.
fn events_per_second(assembly: &Assembly<'_>) -> f64 {
    let Assembly { experiment, streams, .. } = assembly;
    let bits_per_second: f64 = offered(assembly).into_iter().sum();
    let mtu = experiment.host.mtu.get() as f64;
    let bytes = streams.iter().map(|stream| stream.mean_bytes).fold(mtu, f64::min).max(1.0);
    bits_per_second / (8.0 * bytes) * EVENTS_OF_A_PACKET
}
