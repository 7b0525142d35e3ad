//! Ordering protocols: completion of messages, use of reorder buffers, and packet events one by one.

use std::ops::AddAssign;

use fabricsim_model::{Exchange, Packet};
use fabricsim_units::{HostId, Time};
use serde::Serialize;

use crate::grid::{Grid, capacity};
use crate::moments::Moments;
use crate::report::TableInput;
use crate::summary::Latency;
use crate::{Histogram, RecorderConfig, Window};

/// Amount over time, and its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// Sum over time, in picoseconds.
    pub(crate) sum: u64,
    pub(crate) most: u32,
}

impl AddAssign for Level {
    fn add_assign(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.most = self.most.max(other.most);
    }
}

/// Amount that a target holds since a time.
#[derive(Clone, Copy, Debug)]
struct Held {
    since: Time,
    packets: u32,
    connections: u32,
}

/// Messages of a stream that were created within the window and are complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    pub(crate) count: u64,
    time: Moments,
    histogram: Histogram<7>,
}

impl Messages {
    pub(crate) fn latency(&self) -> Latency {
        Latency::of(self.count, &self.time, Some(&self.histogram))
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.time += other.time;
        self.histogram.merge(&other.histogram);
    }
}

/// Record of transports.
#[derive(Clone, Debug)]
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

/// Counters of the transports of all hosts over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TransportCounts {
    /// Requests (REQ) sent, all copies.
    pub requests: u64,
    /// Of these, those that had been sent before.
    pub resent: u64,
    /// Of the requests sent, those in slow mode.
    pub slow: u64,
    /// Time-outs of requests.
    pub timeouts: u64,
    /// FINs sent.
    pub fins: u64,
    /// Requests received.
    pub received: u64,
    /// Operations forwarded to target memory.
    pub delivered: u64,
    /// Of these, those that had waited in a reorder buffer.
    pub reordered: u64,
    /// Of these, those delivered without a connection.
    pub without_connection: u64,
    /// Requests dropped because the reorder buffer was full.
    pub buffer_full: u64,
    /// Requests dropped because no connection was free.
    pub no_connection: u64,
    /// Requests dropped because no replay buffer was free.
    pub no_replay: u64,
    /// Requests dropped because they were out of sequence (go-back-N).
    pub out_of_sequence: u64,
    /// Requests dropped because their operation had been forwarded before.
    pub duplicates: u64,
    /// Operations carried out more than once.
    pub repeated: u64,
    /// Packets lost in the network.
    pub lost: u64,
    /// Packets that arrived after their lifetime and so count as lost.
    pub late: u64,
    /// The largest number of packets in the reorder buffer of a host.
    pub most_reordering: u64,
    /// The largest number of connections that a host held as a target.
    pub most_connections: u64,
    /// The largest number of replay buffers in use at a host.
    pub most_replay_buffers: u64,
}

/// Figures of ordering protocols.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransportSummary {
    /// Messages that were created in the measurement and are complete.
    pub messages: u64,
    /// From the creation of a message until its last operation is visible at its receiver.
    pub completion_ns: Latency,
    /// Of the operations delivered, those that had waited in a reorder buffer.
    pub reordered_share: f64,
    /// Of the requests received, those that were dropped because a reorder buffer was full or because they were out of sequence.
    pub dropped_share: f64,
    /// Counters over the whole run.
    #[serde(flatten)]
    pub counts: TransportCounts,
}

impl Transport {
    pub(crate) fn new(config: &RecorderConfig, streams: usize, exchanges: u32) -> Self {
        let capacity = capacity(config.expected_bins(), config.hosts as usize);
        Self {
            messages: vec![Messages::default(); streams],
            rows: vec![u32::MAX; config.hosts as usize],
            hosts: Vec::new(),
            held: Vec::new(),
            packets: Grid::new(config.bin, capacity, 0),
            connections: Grid::new(config.bin, capacity, 0),
            exchanges: Vec::new(),
            limit: exchanges as usize,
        }
    }

    pub(crate) fn completed(&mut self, window: Window, now: Time, packet: &Packet) {
        if window.contains(packet.created) {
            let messages = &mut self.messages[usize::from(packet.stream)];
            messages.count += 1;
            messages.time.record((now - packet.created).0);
            messages.histogram.record((now - packet.created).0);
        }
    }

    pub(crate) fn exchanged(&mut self, now: Time, exchange: &Exchange) {
        let is_of_last_time = || self.exchanges.last().is_some_and(|(time, _)| *time == now);
        if self.exchanges.len() < self.limit || is_of_last_time() {
            self.exchanges.push((now, *exchange));
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

    pub(crate) fn reordering(&mut self, now: Time, host: HostId, packets: u32, connections: u32) {
        let row = self.row(host);
        self.spread(row, now);
        self.held[row] = Held { since: now, packets, connections };
    }

    /// Adds the packets and connections that a host has held until now.
    fn spread(&mut self, row: usize, now: Time) {
        let Held { since, packets, connections } = self.held[row];
        let level = |most: u32| move |time: u64| Level { sum: time.saturating_mul(u64::from(most)), most };
        self.packets.spread(row, since, now, level(packets));
        self.connections.spread(row, since, now, level(connections));
        self.held[row].since = now;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
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

    /// Messages by stream.
    pub(crate) fn messages(&self) -> &[Messages] {
        &self.messages
    }

    /// First events of packets, in order of time and host, up to the requested number.
    pub(crate) fn exchanges(&self) -> Vec<(Time, Exchange)> {
        let mut all = self.exchanges.clone();
        // The events of a host come from one partition, in order of time, and keep that order.
        all.sort_by_key(|(time, exchange)| (*time, exchange.host));
        all.truncate(self.limit);
        all
    }

    /// Hosts that have held packets or connections, in order, with their values for each bin.
    pub(crate) fn levels(&self, end: Time) -> (Vec<HostId>, Grid<Level>, Grid<Level>) {
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

pub(crate) fn summary(context: &TableInput<'_>) -> Option<TransportSummary> {
    let transport = context.recorder.transport.as_ref()?;
    let counts = context.outcome.transport?;
    let mut all = Messages::default();
    transport.messages.iter().for_each(|messages| all.merge(messages));
    let dropped = counts.buffer_full + counts.out_of_sequence;
    Some(TransportSummary {
        messages: all.count,
        completion_ns: all.latency(),
        reordered_share: counts.reordered as f64 / counts.delivered as f64,
        dropped_share: dropped as f64 / counts.received as f64,
        counts,
    })
}
