//! Observers: series, histograms, confidence intervals.
//!
//! During a run, a [`Recorder`] per partition counts in integers only, so that merging the recorders gives the
//! same bits for every number of partitions and every order of merging. Real numbers appear when [`Recorder::report`]
//! turns the counts into a [`Summary`] and tables.

mod batch;
mod bins;
mod catalogue;
mod collectors;
mod config;
mod fairness;
mod flow;
mod grid;
mod histogram;
mod input;
mod moments;
mod names;
mod optional;
mod outcome;
mod precision;
mod recorder;
mod report;
mod steady;
mod summary;
mod timeline;
mod window;

pub use batch::{Batch, FEWEST, Interval, interval};
pub use catalogue::{ColumnEntry, ColumnKind, TableEntry, add_table, catalogue, label};
pub use collectors::{
    BatchesSummary, Confidence, CongestionSummary, EntrySummary, FlowSummary, FlowsSummary, Hops,
    HostsSummary, IterationTimes, JobSummary, JobsSummary, LatencySummary, NoKeys, QueuePairCounts,
    QueuePairSummary, RouterSummaries, RouterSummary, SATURATED, Summary, TransportCounts, TransportSummary,
};
pub use config::RecorderConfig;
pub use fairness::{STARVING, jain};
pub use flow::MOST_FLOWS;
pub use histogram::{Bucket, Histogram};
pub use names::{EntryName, JobName, Names, PortName, RouterPort};
pub use outcome::{OfferedLoad, Outcome, SteadyEnd};
pub use precision::{DeliveredBatch, ReachedPrecision};
pub use recorder::Recorder;
pub use report::Report;
pub use steady::{Steady, Verdict, truncation};
pub use summary::Latency;
pub use window::Window;
