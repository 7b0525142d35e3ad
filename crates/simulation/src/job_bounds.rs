//! Lower bounds on the time of jobs, computed without simulation.

use fabricsim_engine::Prepared;
use fabricsim_units::{Rate, Time};
use fabricsim_workload::{IdealNetwork, ideal_jobs};
use serde::Serialize;

/// Least time of a job: on a network on which its messages meet at no link but those of hosts, with one switch between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobBound {
    /// Its name.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Its iterations.
    pub iterations: u32,
    /// Least time of all iterations, in ns.
    pub time_ns: f64,
    /// Least mean time of an iteration, in ns.
    pub iteration_ns: f64,
    /// Time that the rank which ends last computes then in an iteration, in ns.
    pub compute_ns: f64,
    /// `iteration_ns` without `compute_ns`: communication that remains exposed on such a network, in ns.
    pub exposed_ns: f64,
    /// Time in an iteration in which the busiest link of a host carries messages, in ns.
    pub link_ns: f64,
}

/// The bounds of all jobs, in their order; `None` if they send too many messages. Packet headers and `packet_overhead` are left out.
pub fn job_bounds(prepared: &Prepared) -> Option<Vec<JobBound>> {
    let graph = &prepared.graph;
    let links = || graph.hosts.iter().map(|host| &graph.links[host.link.index()].parameters);
    let rates: Vec<Rate> = links().map(|link| link.rate).collect();
    let latencies: Vec<Time> = links().map(|link| link.latency).collect();
    let delay = prepared.experiment.switch.router_delay;
    let network = IdealNetwork { rates: &rates, latencies: &latencies, delay };
    let found = ideal_jobs(&prepared.workload, &network)?;
    let bounds = prepared.workload.jobs.iter().zip(found).map(|(info, ideal)| {
        let iterations = f64::from(info.iterations);
        let mean = |time: Time| time.as_ns_f64() / iterations;
        JobBound {
            job: info.name.clone(),
            ranks: info.ranks,
            iterations: info.iterations,
            time_ns: ideal.time.as_ns_f64(),
            iteration_ns: mean(ideal.time),
            compute_ns: mean(ideal.compute),
            exposed_ns: mean(ideal.time.saturating_sub(ideal.compute)),
            link_ns: mean(ideal.link),
        }
    });
    Some(bounds.collect())
}
