use fabricsim_analysis::{Blocked, Deadlock};
use fabricsim_engine::{LostPackets, Prepared, Refused, Scaling, Totals};
use fabricsim_measure::Summary;
use fabricsim_model::Table;
use fabricsim_topology::Graph;
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::subnet::SubnetSummary;

/// Status of a run at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, fabricsim_state::Value)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Completed.
    Ok,
    /// Deadlock: packets wait in a cyclic dependency.
    Deadlock,
    /// Interrupted by the caller.
    Interrupted,
}

/// Invariants at the end of every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Invariants {
    /// Packets that left a host.
    pub injected: u64,
    /// Copies that switches made of packets for multicast groups.
    pub replicated: u64,
    /// Packets accepted by a host.
    pub delivered: u64,
    /// Packets within the fabric.
    pub in_flight: u64,
    /// Packets lost: the sum of `lost`.
    pub dropped: u64,
    /// The same by cause.
    pub lost: LostPackets,
    /// True if injected and replicated packets equal delivered, in flight and dropped.
    pub packets_ok: bool,
    /// True if the credits of every link and lane add up.
    pub credits_ok: bool,
}

impl Invariants {
    /// The balance of a run's counters. `credits_ok`: the credits of every link and lane add up.
    pub(crate) fn of(totals: &Totals, credits_ok: bool) -> Self {
        Self {
            injected: totals.injected,
            replicated: totals.replicated,
            delivered: totals.delivered,
            in_flight: totals.in_flight,
            dropped: totals.lost.total(),
            lost: totals.lost,
            packets_ok: totals.is_balanced(),
            credits_ok,
        }
    }
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Status at its end.
    pub status: Status,
    /// Simulated time at its end.
    pub end: Time,
    /// Counters.
    pub totals: Totals,
    /// Figures.
    pub summary: Summary,
    /// Tables.
    pub tables: Vec<Table>,
    /// Invariants.
    pub invariants: Invariants,
    /// Description of a violated invariant, or empty.
    pub defect: String,
    /// The cycle, if the run ended in a deadlock: one line per buffer.
    pub deadlock: Vec<String>,
    /// Warnings about the results, for the user.
    pub warnings: Vec<String>,
    /// Hosts without a destination other than themselves.
    pub silent_hosts: usize,
    /// Samples of congestion trees.
    pub looks: TreeSamples,
    /// What subnet managers did, if there are any.
    pub subnet: Option<SubnetSummary>,
    /// How the run was divided among threads; in no summary and no table, since results do not depend on it.
    pub scaling: Scaling,
}

/// Samples of congestion trees, from which the times in tables are computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeSamples {
    /// Samples of congestion trees in the measurement; with fewer than 20 no times are computed.
    #[schemars(title = "samples of congestion trees")]
    pub looks: u64,
    /// Simulated time from one sample of congestion trees to the next; where it grows, at the end of the run.
    #[schemars(title = "time between samples", extend("x-unit" = "ns"))]
    pub interval_ns: f64,
}

/// The figures of a run: the shape of `fabricsim run --json`, but for wall-clock times. Numbers that a run does not have
/// are null.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Results of a Fabricsim run")]
pub(crate) struct RunSummary<'a> {
    /// Title of the experiment.
    experiment: &'a str,
    /// Seed of all random numbers.
    seed: u64,
    /// Status at the end of the run.
    status: Status,
    /// Simulated time at the end of the run.
    #[schemars(title = "simulated time", extend("x-unit" = "s"))]
    simulated_s: f64,
    /// Links that packets crossed, those of hosts included: the work of the simulation.
    #[schemars(title = "packet-hops")]
    packet_hops: u64,
    /// Sum of a hash over every delivered packet, in hexadecimal digits: equal runs have equal fingerprints.
    fingerprint: String,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Packets that entered and left the network, and what must hold of them.
    invariants: &'a Invariants,
    /// Description of a violated invariant, or empty.
    defect: &'a str,
    /// The cycle, if the run ended in a deadlock: one line per buffer.
    deadlock: &'a [String],
    /// Warnings about the results.
    warnings: &'a [String],
    /// Hosts without a destination other than themselves.
    silent_hosts: usize,
    /// Samples of congestion trees, from which the times in tables are computed.
    congestion_trees: TreeSamples,
    /// What subnet managers did in the whole run; left out without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    subnet: Option<&'a SubnetSummary>,
}

impl Outcome {
    /// The figures as one JSON object (the shape of `fabricsim run --json`, but for wall-clock times).
    pub fn json(&self, title: &str, seed: u64) -> Value {
        let summary = RunSummary {
            experiment: title,
            seed,
            status: self.status,
            simulated_s: self.end.as_secs_f64(),
            packet_hops: self.totals.links_crossed(),
            fingerprint: format!("{:016x}", self.totals.fingerprint),
            summary: &self.summary,
            invariants: &self.invariants,
            defect: &self.defect,
            deadlock: &self.deadlock,
            warnings: &self.warnings,
            silent_hosts: self.silent_hosts,
            congestion_trees: self.looks,
            subnet: self.subnet.as_ref(),
        };
        let mut object = serde_json::to_value(summary).unwrap_or_else(|_| json!({}));
        // A file of results does not depend on the order of fields in the code.
        object.sort_all_objects();
        object
    }
}

/// The cycle of a deadlock, a line for each buffer: switch, port, lane, packet at its head, and the output that it waits for.
pub(crate) fn deadlock_lines(deadlock: &Deadlock, prepared: &Prepared) -> Vec<String> {
    let graph = &prepared.graph;
    let line = |blocked: &Blocked| {
        let switch = &graph.switches[blocked.switch.index()];
        let behind = graph
            .far_end(switch.ports[blocked.output.index()], fabricsim_topology::Node::Switch(blocked.switch));
        format!(
            "{} port {} lane {}: packet {} of {} to {} waits for output {} to {}",
            switch.name,
            blocked.port,
            blocked.lane,
            blocked.packet.sequence,
            graph.hosts[blocked.packet.source.index()].name,
            prepared.destination_name(blocked.packet.destination),
            blocked.output,
            graph.name(behind.node),
        )
    };
    deadlock.cycle.iter().map(line).collect()
}

/// Requests that hosts will never accept, a line for each.
pub(crate) fn refused_lines(refused: &[Refused], graph: &Graph) -> Vec<String> {
    let line = |refused: &Refused| {
        format!(
            "{} lane {}: packet {} of {} waits until the host has sent one of {} responses, which waits for buffer space",
            graph.hosts[refused.host.index()].name,
            refused.lane,
            refused.packet.sequence,
            graph.hosts[refused.packet.source.index()].name,
            refused.pending_responses,
        )
    };
    refused.iter().map(line).collect()
}
