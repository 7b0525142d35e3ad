//! Observers: series, histograms, confidence intervals.
//!
//! During a run, a [`Recorder`] per partition counts in integers only, so that merging the recorders gives the
//! same bits for every number of partitions and every order of merging. Real numbers appear when [`Recorder::report`]
//! turns the counts into a [`Summary`] and tables.

mod batch;
mod config;
mod congestion;
mod congestion_tables;
mod fairness;
mod flows;
mod grid;
mod histogram;
mod hosts;
mod jobs;
mod latency;
mod moments;
mod ports;
mod recorder;
mod report;
mod router_tables;
mod routers;
mod series;
mod steady;
mod streams;
mod summary;
mod tables;
mod transport;
mod transport_tables;
mod window;

pub use batch::{Batch, FEWEST, Interval, interval};
pub use config::RecorderConfig;
pub use fairness::{STARVING, jain};
pub use flows::MOST_FLOWS;
pub use histogram::{Bucket, Histogram};
pub use jobs::{IterationTimes, JobName, JobSummary};
pub use recorder::Recorder;
pub use report::{Names, OfferedLoad, Outcome, PortName, Report, RouterPort};
pub use steady::{Steady, Verdict, truncation};
pub use streams::{StreamName, StreamSummary};
pub use summary::{
    Confidence, CongestionSummary, FlowSummary, Hops, Latency, RouterSummary, SATURATED, Summary,
};
pub use transport::{TransportCounts, TransportSummary};
pub use window::Window;
