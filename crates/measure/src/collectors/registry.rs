//! The list of all collectors.

use fabricsim_model::Table;
use fabricsim_units::{Time, Vl};
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, NoKeys, ResultTable};
use super::{
    batch_latencies, batches, congestion, entries, flows, hosts, jobs, latency, links, queue_pairs, routers,
    run, transport,
};
use crate::flow::Key;
use crate::input::{AddedColumns, Rows, TableInput};
use crate::timeline::Timeline;
use crate::{ReachedPrecision, RecorderConfig};

/// The list of all collectors: calls the macro `$then` with `[$arguments]` and a line for each. A line is the name of the
/// collector, its type, and the type of its keys in the summary. Before it stand the attributes of that field of
/// [`Summary`]: `flatten`, if the keys are on the top level.
///
/// Tables are in this order.
macro_rules! registry {
    ($then:ident $($arguments:tt)*) => {
        $then! { [$($arguments)*]
            /// Entries of the traffic list, the responses to them, and jobs, while there are at most 4096; empty otherwise.
            entries: entries::Entries => Vec<entries::EntrySummary>;
            /// Throughput of flows.
            #[serde(flatten)]
            flows: flows::Flows => flows::FlowsSummary;
            /// Throughput of hosts.
            #[serde(flatten)]
            hosts: hosts::Hosts => hosts::HostsSummary;
            /// Use of links.
            #[serde(flatten)]
            links: links::Links => NoKeys;
            /// The whole fabric over time.
            #[serde(flatten)]
            run: run::Course => NoKeys;
            /// Latencies and paths of packets.
            #[serde(flatten)]
            latency: latency::Latencies => latency::LatencySummary;
            /// Batch means.
            #[serde(flatten)]
            batches: batches::Batches => batches::BatchesSummary;
            /// Latencies of the batches of steady-state detection.
            #[serde(flatten)]
            batch_latencies: Option<Box<batch_latencies::BatchLatencies>> => NoKeys;
            /// Activity of congestion control; none without any.
            congestion: Option<Box<congestion::Congestion>> => Option<congestion::CongestionSummary>;
            /// Jobs.
            #[serde(flatten)]
            jobs: Option<Box<jobs::Jobs>> => jobs::JobsSummary;
            /// Activity of ordering protocols; left out if nothing is acknowledged.
            #[serde(skip_serializing_if = "Option::is_none")]
            transport: Option<Box<transport::Transport>> => Option<transport::TransportSummary>;
            /// Activity of queue pairs; left out without any.
            #[serde(skip_serializing_if = "Option::is_none")]
            queue_pairs: Option<Box<queue_pairs::QueuePairs>> => Option<queue_pairs::QueuePairSummary>;
            /// Performance counters of routers by direction (`"+x"`, `"-x"`, ..., `"host"`); left out unless requested.
            #[serde(skip_serializing_if = "Option::is_none")]
            routers: Option<Box<routers::Routers>> => Option<routers::RouterSummaries>;
        }
    };
}
pub(crate) use registry;

/// Reports an event to each collector of a recorder.
macro_rules! each {
    ($recorder:ident, $event:ident $arguments:tt) => {
        $crate::collectors::registry!(report_to_each $recorder $event $arguments)
    };
}
pub(crate) use each;

macro_rules! report_to_each {
    (
        [$recorder:ident $event:ident $arguments:tt]
        $($(#[$attribute:meta])* $field:ident: $collector:ty => $summary:ty;)*
    ) => {
        $($recorder.collectors.$field.$event $arguments;)*
    };
}
pub(crate) use report_to_each;

/// Declares the struct of all collectors, and the struct of all their keys.
macro_rules! declare {
    ([] $($(#[$attribute:meta])* $field:ident: $collector:ty => $summary:ty;)*) => {
        /// All collectors of a recorder.
        #[derive(Clone, Debug, fabricsim_state::State)]
        pub(crate) struct Collectors {
            $(pub(crate) $field: $collector,)*
        }

        impl Collectors {
            /// Empty collectors.
            pub(crate) fn new(config: &RecorderConfig, timeline: &Timeline) -> Self {
                Self { $($field: Collector::new(config, timeline),)* }
            }

            /// A packet occupies a sending port. Returns true if a collector takes every transmission.
            #[inline]
            pub(crate) fn transmitted(
                &mut self, timeline: &Timeline, at: (u32, Vl), bytes: u32, start: Time, end: Time,
            ) -> bool {
                let mut every = false;
                $(every |= self.$field.transmitted(timeline, at, bytes, start, end);)*
                every
            }

            /// Adds the counts of another partition.
            pub(crate) fn merge(&mut self, other: &Self) {
                $(self.$field.merge(&other.$field);)*
            }

            /// Flows that need a row in the table `flows`, even without packets.
            pub(crate) fn further_flows(&self) -> Vec<Key> {
                let mut all = Vec::new();
                $(all.extend(self.$field.further_flows());)*
                all
            }

            /// All tables.
            pub(crate) fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
                let mut all = Vec::new();
                $(all.extend(self.$field.tables(input));)*
                all
            }

            /// All keys of the summary.
            pub(crate) fn summarize(&self, input: &TableInput<'_>) -> Summary {
                Summary {
                    measured_from_ns: input.measured_from_ns(),
                    measured_ns: input.measured.as_ns_f64(),
                    steady: input.outcome.steady.as_ref().map(|end| end.settled),
                    precision: input.outcome.steady.as_ref().map_or_else(Vec::new, |end| end.precision.clone()),
                    $($field: self.$field.summarize(input),)*
                }
            }
        }

        impl AddedColumns for Collectors {
            fn columns(&self, input: &TableInput<'_>, rows: &Rows<'_>, table: &mut Table) {
                $(self.$field.columns(input, rows, table);)*
            }
        }

        /// The figures of a run. NaN (`null` in JSON) if not available.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        pub struct Summary {
            /// Start of the measurement; none if it never began.
            #[schemars(title = "start of the measurement", extend("x-unit" = "ns"))]
            pub measured_from_ns: f64,
            /// Length of the measurement.
            #[schemars(title = "length of the measurement", extend("x-unit" = "ns"))]
            pub measured_ns: f64,
            /// With steady-state detection: true if latency and throughput, as far as they are waited for, settled before the measurement.
            pub steady: Option<bool>,
            /// With steady-state detection: the precision of each number that the measurement waited for; left out otherwise.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub precision: Vec<ReachedPrecision>,
            $($(#[$attribute])* pub $field: $summary,)*
        }
    };
}
registry!(declare);
