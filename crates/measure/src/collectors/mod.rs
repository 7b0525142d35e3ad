//! The collectors of a recorder, one file each, and the list of all.

mod batch_latencies;
mod batches;
mod collector;
mod congestion;
mod entries;
mod flows;
mod hosts;
mod jobs;
mod latency;
mod links;
mod queue_pairs;
mod registry;
mod routers;
mod run;
mod transport;

pub use batches::{BatchesSummary, Confidence};
pub use collector::NoKeys;
pub use congestion::CongestionSummary;
pub use entries::EntrySummary;
pub use flows::{FlowSummary, FlowsSummary};
pub use hosts::{HostsSummary, SATURATED};
pub use jobs::{IterationTimes, JobSummary, JobsSummary};
pub use latency::{Hops, LatencySummary};
pub use queue_pairs::{QueuePairCounts, QueuePairSummary};
pub use registry::Summary;
pub use routers::{RouterSummaries, RouterSummary};
pub use transport::{TransportCounts, TransportSummary};

pub(crate) use collector::{Collector, ResultTable, plain_events};
pub(crate) use congestion::Congestion;
pub(crate) use entries::Entries;
pub(crate) use hosts::rows as rows_of_hosts;
pub(crate) use links::LaneCounters;
pub(crate) use registry::{Collectors, each, registry, report_to_each};
pub(crate) use routers::Routers;
pub(crate) use transport::Transport;
