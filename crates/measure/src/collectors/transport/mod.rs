//! Ordering protocols: completion of messages, use of reorder buffers, and packet events one by one.

mod summary;
mod tables;

use std::ops::AddAssign;

use fabricsim_model::{Exchange, Packet};
use fabricsim_units::{HostId, Time};

pub use summary::{TransportCounts, TransportSummary};

use super::collector::{Collector, ResultTable};
use crate::grid::{Grid, capacity};
use crate::input::TableInput;
use crate::moments::Moments;
use crate::timeline::Timeline;
use crate::{Histogram, Latency, RecorderConfig};

/// Amount over time, and its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
struct Level {
    /// Sum over time, in picoseconds.
    sum: u64,
    most: u32,
}

impl AddAssign for Level {
    fn add_assign(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.most = self.most.max(other.most);
    }
}

/// Amount that a target holds since a time.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Held {
    since: Time,
    packets: u32,
    connections: u32,
}

/// Messages of a stream that were created within the window and are complete.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(super) struct Messages {
    pub(super) count: u64,
    time: Moments,
    histogram: Histogram<7>,
}

impl Messages {
    /// A message took a time.
    pub(super) fn record(&mut self, time: Time) {
        self.count += 1;
        self.time.record(time.0);
        self.histogram.record(time.0);
    }

    pub(super) fn latency(&self) -> Latency {
        Latency::of(self.count, &self.time, Some(&self.histogram))
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.time += other.time;
        self.histogram.merge(&other.histogram);
    }
}

/// Record of transports.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Transport {
    /// By stream.
    messages: Vec<Messages>,
    /// Row of a host among those that have held packets or connections; `u32::MAX` for others.
    rows: Vec<u32>,
    hosts: Vec<HostId>,
    held: Vec<Held>,
    packets: Grid<Level>,
    connections: Grid<Level>,
    /// First events of packets: `limit` exchanges, and all others of the last one's time, so that the reported ones do not depend on
    /// partitions.
    exchanges: Vec<(Time, Exchange)>,
    limit: usize,
}

impl Transport {
    /// For `streams` streams of messages, and `exchanges` exchanges one by one.
    pub(crate) fn of(streams: usize, exchanges: u32, config: &RecorderConfig, timeline: &Timeline) -> Self {
        Self {
            messages: vec![Messages::default(); streams],
            limit: exchanges as usize,
            ..Self::new(config, timeline)
        }
    }

    fn row(&mut self, host: HostId) -> usize {
        let row = &mut self.rows[host.index()];
        if *row == u32::MAX {
            *row = self.hosts.len() as u32;
            self.hosts.push(host);
            self.held.push(Held { since: Time::ZERO, packets: 0, connections: 0 });
            self.packets.add_row();
            self.connections.add_row();
        }
        *row as usize
    }

    /// Adds the packets and connections that a host has held until now.
    fn spread(&mut self, row: usize, now: Time) {
        let Held { since, packets, connections } = self.held[row];
        let level = |most: u32| move |time: u64| Level { sum: time.saturating_mul(u64::from(most)), most };
        self.packets.spread(row, since, now, level(packets));
        self.connections.spread(row, since, now, level(connections));
        self.held[row].since = now;
    }

    /// First events of packets, in order of time and host, up to the requested number.
    fn first_exchanges(&self) -> Vec<(Time, Exchange)> {
        let mut all = self.exchanges.clone();
        // The events of a host come from one partition, in order of time, and keep that order.
        all.sort_by_key(|(time, exchange)| (*time, exchange.host));
        all.truncate(self.limit);
        all
    }

    /// Hosts that have held packets or connections, in order, with their values for each bin.
    fn levels(&self, end: Time) -> (Vec<HostId>, Grid<Level>, Grid<Level>) {
        let mut all = self.clone();
        (0..all.hosts.len()).for_each(|row| all.spread(row, end));
        let mut order: Vec<usize> = (0..all.hosts.len()).collect();
        order.sort_by_key(|&row| all.hosts[row]);
        let sorted = |grid: &Grid<Level>| {
            let mut sorted = grid.same_bins();
            for (place, &row) in order.iter().enumerate() {
                sorted.add_row();
                sorted.absorb_row(place, grid, row);
            }
            sorted
        };
        let hosts = order.iter().map(|&row| all.hosts[row]).collect();
        (hosts, sorted(&all.packets), sorted(&all.connections))
    }
}

impl Collector for Transport {
    type Summary = Option<TransportSummary>;

    /// Without streams and exchanges.
    fn new(config: &RecorderConfig, _timeline: &Timeline) -> Self {
        let capacity = capacity(config.expected_bins(), config.hosts as usize);
        Self {
            messages: Vec::new(),
            rows: vec![u32::MAX; config.hosts as usize],
            hosts: Vec::new(),
            held: Vec::new(),
            packets: Grid::new(config.bin, capacity, 0),
            connections: Grid::new(config.bin, capacity, 0),
            exchanges: Vec::new(),
            limit: 0,
        }
    }

    fn completed(&mut self, timeline: &mut Timeline, now: Time, packet: &Packet) {
        if timeline.window.contains(packet.created) {
            self.messages[usize::from(packet.stream)].record(now - packet.created);
        }
    }

    fn exchanged(&mut self, _timeline: &mut Timeline, now: Time, exchange: &Exchange) {
        let is_of_last_time = || self.exchanges.last().is_some_and(|(time, _)| *time == now);
        if self.exchanges.len() < self.limit || is_of_last_time() {
            self.exchanges.push((now, *exchange));
        }
    }

    fn reordering(
        &mut self,
        _timeline: &mut Timeline,
        now: Time,
        host: HostId,
        packets: u32,
        connections: u32,
    ) {
        let row = self.row(host);
        self.spread(row, now);
        self.held[row] = Held { since: now, packets, connections };
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.messages.iter_mut().zip(&other.messages) {
            mine.merge(theirs);
        }
        for (theirs, &host) in other.hosts.iter().enumerate() {
            let mine = self.row(host);
            self.held[mine] = other.held[theirs];
            self.packets.absorb_row(mine, &other.packets, theirs);
            self.connections.absorb_row(mine, &other.connections, theirs);
        }
        self.exchanges.extend_from_slice(&other.exchanges);
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let of_messages = "entry of the traffic list: completion times of its messages; with a transport";
        let of_series = "receiving host and time bin: reorder buffer and connections";
        let of_exchanges = "event of a packet of a transport, up to the number in `measure.exchanges`";
        vec![
            ResultTable::new(of_messages, tables::messages(self, input)),
            ResultTable::new(of_series, tables::series(self, input)),
            ResultTable::unless_empty(of_exchanges, tables::exchanges(self, input)),
        ]
    }

    fn summarize(&self, input: &TableInput<'_>) -> Option<TransportSummary> {
        let counts = input.outcome.transport?;
        let mut all = Messages::default();
        self.messages.iter().for_each(|messages| all.merge(messages));
        let dropped = counts.buffer_full + counts.out_of_sequence;
        Some(TransportSummary {
            messages: all.count,
            completion_ns: all.latency(),
            reordered_share: counts.reordered as f64 / counts.delivered as f64,
            dropped_share: dropped as f64 / counts.received as f64,
            counts,
        })
    }
}
