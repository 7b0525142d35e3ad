//! The number of partitions of a run.

use super::Assembly;
use super::places::Cut;
use crate::engine::WORTH;

/// Events of a packet, about: four hops, and a wake-up for most of them.
const EVENTS_OF_A_PACKET: f64 = 7.0;

/// Number of partitions: as many as the experiment asks for, and at least as many as threads, unless windows would hold too few events for these.
/// Results do not depend on it.
pub(super) fn partitions(assembly: &Assembly<'_>) -> u32 {
    let run = &assembly.experiment.run;
    let most = run.partitions.max(run.threads);
    let is_worth = || expected_events(assembly, most) >= (WORTH * u64::from(run.threads)) as f64;
    if most == run.partitions || is_worth() { most } else { run.partitions }
}

/// Estimated events of a window with this number of partitions, by the load that sources offer. Jobs, closed loops and programs count with
/// the rates of their links.
fn expected_events(assembly: &Assembly<'_>, partitions: u32) -> f64 {
    let Assembly { experiment, graph, sources, streams, devices, .. } = assembly;
    let window = Cut::new(graph, partitions).least_latency(graph);
    let loads = sources.iter().zip(&graph.hosts).map(|(source, host)| {
        let load = if source.is_closed() { 1.0 } else { source.nominal_load().min(1.0) };
        load * graph.links[host.link.index()].parameters.rate.bits_per_second() as f64
    });
    let of_programs = devices.iter().map(|&(host, _)| {
        let link = graph.hosts[host.index()].link;
        graph.links[link.index()].parameters.rate.bits_per_second() as f64
    });
    let bits_per_second: f64 = loads.chain(of_programs).sum();
    let mtu = experiment.host.mtu.get() as f64;
    let bytes = streams.iter().map(|stream| stream.mean_bytes).fold(mtu, f64::min).max(1.0);
    let packets_per_second = bits_per_second / (8.0 * bytes);
    packets_per_second * window.as_secs_f64() * EVENTS_OF_A_PACKET
}
