//! Interface of a collector.

use fabricsim_model::{Exchange, Grant, Iteration, LossCause, Packet, Table};
use fabricsim_units::{HostId, Time, Vl};
use schemars::JsonSchema;
use serde::Serialize;

use crate::RecorderConfig;
use crate::flow::Key;
use crate::input::{Rows, TableInput};
use crate::timeline::{Delivery, Timeline};

/// A table, and its place in the results.
pub(crate) struct ResultTable {
    pub(crate) table: Table,
    /// Thing that has a row, for the catalogue.
    pub(crate) row: &'static str,
    /// True if the results have the table even without rows.
    pub(crate) if_empty: bool,
}

impl ResultTable {
    pub(crate) fn new(row: &'static str, table: Table) -> Self {
        Self { table, row, if_empty: true }
    }

    /// A table that the results have only with rows.
    pub(crate) fn unless_empty(row: &'static str, table: Table) -> Self {
        Self { table, row, if_empty: false }
    }
}

/// Calls the macro `$then` with the signatures of the events that all collectors receive as the recorder does. The other
/// two are [`Collector::delivered`] and [`Collector::transmitted`]. Those of every packet are compiled into their callers. The meaning of each stands at
/// [`Observer`](fabricsim_model::Observer).
macro_rules! plain_events {
    ($then:ident) => {
        $then! {
            #[inline]
            injected(now: Time, packet: &Packet);
            lost(now: Time, packet: &Packet, cause: LossCause);
            lost_at(now: Time, port: u32, lane: Vl, cause: LossCause);
            multicast(now: Time, port: u32, lane: Vl);
            #[inline]
            stalled(port: u32, lane: Vl, start: Time, end: Time);
            #[inline]
            forwarded(now: Time, grant: &Grant);
            #[inline]
            blocked(port: u32, lane: Vl, start: Time, end: Time);
            retried(now: Time, port: u32, lane: Vl, times: u32);
            flow_controlled(now: Time, port: u32, packets: u32);
            flow_refreshed(first: Time, every: Time, port: u32, packets: u64);
            marked(now: Time, port: u32, lane: Vl, packet: &Packet);
            answered(now: Time, stream: u16, created: Time);
            iterated(iteration: &Iteration);
            controlled(now: Time, packet: &Packet);
            completed(now: Time, packet: &Packet);
            exchanged(now: Time, exchange: &Exchange);
            reordering(now: Time, host: HostId, packets: u32, connections: u32);
            notified(now: Time, source: HostId, destination: HostId);
            rate_limited(source: HostId, destination: Option<HostId>, start: Time, end: Time, level: u32);
            blocked_by_cc(source: HostId, destination: HostId, start: Time, end: Time);
        }
    };
}
pub(crate) use plain_events;

/// Events that do nothing.
macro_rules! ignored {
    ($($(#[$hint:meta])* $event:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$hint])*
            fn $event(&mut self, _timeline: &mut Timeline, $($argument: $type),*) {
                $(let _ = $argument;)*
            }
        )*
    };
}

/// Events passed on to the collector in an `Option`.
macro_rules! passed_on {
    ($($(#[$hint:meta])* $event:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$hint])*
            fn $event(&mut self, timeline: &mut Timeline, $($argument: $type),*) {
                if let Some(collector) = self {
                    collector.$event(timeline, $($argument),*);
                }
            }
        )*
    };
}

/// Counts some of the events of a partition, and turns the counts into tables and keys of the summary.
///
/// It counts in integers, so that the order of events and of merging does not matter. An event that it does not take costs
/// nothing: calls are resolved when the program is compiled.
pub(crate) trait Collector: Sized {
    /// Its keys of the summary.
    type Summary;

    /// An empty collector.
    fn new(config: &RecorderConfig, timeline: &Timeline) -> Self;

    plain_events!(ignored);

    /// The receiver accepts the last byte of a packet.
    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, _packet: &Packet, _delivery: &Delivery) {}

    /// A packet occupies a sending port from `start` to `end`. Returns true if the collector takes every transmission: while all
    /// return false, only [`Links`](crate::collectors::links::Links) count those that lie within the window.
    #[inline]
    fn transmitted(
        &mut self,
        _timeline: &Timeline,
        _at: (u32, Vl),
        _bytes: u32,
        _start: Time,
        _end: Time,
    ) -> bool {
        false
    }

    /// The window has been opened, or its end has been set.
    fn window_changed(&mut self) {}

    /// Adds the counts of another partition. Both have the same configuration.
    fn merge(&mut self, other: &Self);

    /// Flows that need a row in the table `flows`, even without packets.
    fn further_flows(&self) -> Vec<Key> {
        Vec::new()
    }

    /// Its tables.
    fn tables(&self, _input: &TableInput<'_>) -> Vec<ResultTable> {
        Vec::new()
    }

    /// Its columns in a table of another collector.
    fn columns(&self, _input: &TableInput<'_>, _rows: &Rows<'_>, _table: &mut Table) {}

    /// Its keys of the summary.
    fn summarize(&self, input: &TableInput<'_>) -> Self::Summary;
}

/// A collector that is there only if it is configured, by a method of
/// [`Recorder`](crate::Recorder) in `optional.rs`. Without
/// it the summary has the default of its keys.
impl<C: Collector<Summary: Default>> Collector for Option<Box<C>> {
    type Summary = C::Summary;

    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        None
    }

    plain_events!(passed_on);

    #[inline]
    fn delivered(&mut self, timeline: &mut Timeline, now: Time, packet: &Packet, delivery: &Delivery) {
        if let Some(collector) = self {
            collector.delivered(timeline, now, packet, delivery);
        }
    }

    #[inline]
    fn transmitted(
        &mut self,
        timeline: &Timeline,
        at: (u32, Vl),
        bytes: u32,
        start: Time,
        end: Time,
    ) -> bool {
        self.as_mut().is_some_and(|collector| collector.transmitted(timeline, at, bytes, start, end))
    }

    fn window_changed(&mut self) {
        if let Some(collector) = self {
            collector.window_changed();
        }
    }

    fn merge(&mut self, other: &Self) {
        if let (Some(mine), Some(theirs)) = (self, other) {
            mine.merge(theirs);
        }
    }

    fn further_flows(&self) -> Vec<Key> {
        self.as_ref().map_or_else(Vec::new, |collector| collector.further_flows())
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        self.as_ref().map_or_else(Vec::new, |collector| collector.tables(input))
    }

    fn columns(&self, input: &TableInput<'_>, rows: &Rows<'_>, table: &mut Table) {
        if let Some(collector) = self {
            collector.columns(input, rows, table);
        }
    }

    fn summarize(&self, input: &TableInput<'_>) -> Self::Summary {
        self.as_ref().map_or_else(C::Summary::default, |collector| collector.summarize(input))
    }
}

/// Keys of a collector that has tables only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoKeys {}
