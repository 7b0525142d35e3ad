//! The traffic of an experiment at one time: demands of flows, and the links that they cross.
//! Bounds on throughput are computed from it; nothing is simulated.

mod active_period;
mod flows;
mod links;
mod trees;
mod ways;

use fabricsim_engine::Prepared;
use fabricsim_model::Table;
use fabricsim_units::Time;
use serde_json::{Value, json};

use active_period::ActivePeriod;
use flows::Flows;

/// Maximum number of flows (pairs of source and destination, by entry of the traffic list).
const MOST_FLOWS: usize = 200_000;
/// Maximum number of pairs of a flow and a link that it crosses.
const MOST_CROSSINGS: usize = 8_000_000;

/// Demands of flows: sender, receiver, amount and links.
///
/// Tables: `flows` (source and destination by number, entry of the traffic list, demand in Gb/s, where it enters the
/// network of `arcs`), `links` (name, class and rate of every direction of a link, and of every limited sink),
/// `crossings` (flow, link, and the wire's bits for each of the flow's) and, where the routing is adaptive, `arcs`
/// (from a state of a packet to the next, by which link; -1: it has arrived).
#[derive(Clone, Debug)]
pub struct Demands {
    /// The time, names of hosts and entries, and other scalars.
    pub summary: Value,
    /// The tables.
    pub tables: Vec<Table>,
}

/// Reason why there are no demands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DemandsError {
    /// No entry, or no source that sends.
    #[error(
        "{file}: traffic: no host sends anything: there is nothing to bound; add a [[traffic]] entry (responses follow \
         from other messages and have no bound; of jobs `fabricsim bound` and `fs.job_bounds` give the least times)"
    )]
    NoTraffic {
        /// The experiment.
        file: String,
    },
    /// The time is not in the run.
    #[error("{file}: --at {at} is outside the run, which lasts from 0 to {end} (warm-up and duration)")]
    Outside {
        /// The experiment.
        file: String,
        /// The time.
        at: Time,
        /// The run's end.
        end: Time,
    },
    /// No host sends at that time.
    #[error("{file}: no host sends anything {when}; the first starts at {first}{}",
        .last.map(|last| format!(", the last ends at {last}")).unwrap_or_default())]
    Quiet {
        /// The experiment.
        file: String,
        /// The time in words.
        when: String,
        /// Time at which traffic starts.
        first: Time,
        /// Time at which it ends, if it does.
        last: Option<Time>,
    },
    /// More flows than can be bounded.
    #[error(
        "{file}: traffic: {flows} flows (pairs of source and destination) send at once; a bound is computed for up \
         to {MOST_FLOWS}. Give `sources` or `destinations` to the entries, or bound a smaller network of the same \
         kind: with uniform traffic it may have up to {} hosts",
        uniform_hosts()
    )]
    TooManyFlows {
        /// The experiment.
        file: String,
        /// Number of flows.
        flows: usize,
    },
    /// Flows with too many routes.
    #[error(
        "{file}: the flows cross links in more than {MOST_CROSSINGS} ways: bound a smaller network, fewer flows, or \
         a deterministic routing"
    )]
    TooManyCrossings {
        /// The experiment.
        file: String,
    },
    /// The routing does not lead to the destination.
    #[error("{file}: routing: packets from {from} to {to} do not arrive: the routing leads them in a cycle")]
    Circle {
        /// The experiment.
        file: String,
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
}

/// The largest network whose uniform traffic has at most [`MOST_FLOWS`] flows.
fn uniform_hosts() -> usize {
    let hosts = MOST_FLOWS.isqrt() + 1;
    if hosts * (hosts - 1) <= MOST_FLOWS { hosts } else { hosts - 1 }
}

/// The traffic of `prepared` at one time: at `at`, or in that part of the measurement in which most flows are active
/// (the last of several). `file` names the experiment in messages.
pub fn demands(prepared: &Prepared, at: Option<Time>, file: &str) -> Result<Demands, DemandsError> {
    let active_period = ActivePeriod::choose(prepared, at, file)?;
    if active_period.flows > MOST_FLOWS {
        return Err(DemandsError::TooManyFlows { file: file.to_owned(), flows: active_period.flows });
    }
    let mut flows = Flows::at(prepared, active_period.at);
    if flows.flows.len() > MOST_FLOWS {
        return Err(DemandsError::TooManyFlows { file: file.to_owned(), flows: flows.flows.len() });
    }
    let ways = ways::ways(prepared, &mut flows, file)?;
    let graph = &prepared.graph;
    let hosts: Vec<&str> = graph.hosts.iter().map(|host| host.name.as_str()).collect();
    let entries: Vec<&str> = {
        let streams = prepared.workload.streams.iter().take(prepared.experiment.traffic.len());
        streams.map(|stream| stream.name.as_str()).collect()
    };
    let mut summary = json!({
        "at_s": active_period.at.as_secs_f64(),
        "from_s": active_period.from.as_secs_f64(),
        "to_s": active_period.to.as_secs_f64(),
        "title": prepared.experiment.title,
        "topology": graph.title,
        "hosts": hosts,
        "entries": entries,
        "open_messages": prepared.experiment.host.open_messages,
        "saturating": flows.flows.iter().any(|flow| flow.saturating),
    });
    summary.sort_all_objects();
    let mut tables = vec![flows.table(), links::table(prepared), ways.crossings()];
    tables.extend(ways.arcs());
    Ok(Demands { summary, tables })
}
