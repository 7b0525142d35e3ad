//! Counters of the hosts' transports: the table `transport`, and the sums.

use fabricsim_engine::HostTransport;
use fabricsim_measure::TransportCounts;
use fabricsim_model::Table;

/// A counter: column, description, and source of the value.
type Counter = (&'static str, &'static str, fn(&HostTransport) -> u64);

const COUNTERS: [Counter; 21] = [
    ("requests", "Requests (REQ) sent, all copies", |h| h.source.sent.get()),
    ("resent", "Of these, those that had been sent before", |h| h.source.resent.get()),
    ("slow", "Of the requests sent, those in slow mode", |h| h.source.slow.get()),
    ("timeouts", "Time-outs of requests", |h| h.source.timeouts.get()),
    ("fins", "FINs sent", |h| h.source.fins.get()),
    ("received", "Requests received", |h| h.target.received.get()),
    ("delivered", "Operations forwarded to target memory", |h| h.target.delivered.get()),
    ("reordered", "Of these, those that had waited in the reorder buffer", |h| h.target.reordered.get()),
    ("without_connection", "Of these, those delivered without a connection", |h| {
        h.target.without_connection.get()
    }),
    ("buffer_full", "Requests dropped because the reorder buffer was full", |h| h.target.buffer_full.get()),
    ("no_connection", "Requests dropped because no connection was free", |h| h.target.no_connection.get()),
    ("no_replay", "Requests dropped because no replay buffer was free", |h| h.target.no_replay.get()),
    ("out_of_sequence", "Requests dropped because they were out of sequence (go-back-N)", |h| {
        h.target.out_of_sequence.get()
    }),
    ("duplicates", "Requests dropped because their operation had been forwarded before", |h| {
        h.target.duplicates.get()
    }),
    ("repeated", "Operations carried out more than once", |h| h.repeated),
    ("lost", "Packets to it that were lost", |h| h.lost),
    ("late", "Packets that arrived after their lifetime and so count as lost", |h| h.late),
    ("collisions", "Packets whose slot in the reorder buffer's ring was taken", |h| h.collisions),
    ("reorder_buffer_max", "The largest number of packets in its reorder buffer", |h| h.most_reordering),
    ("connections_max", "The largest number of connections that it held as a target", |h| h.most_connections),
    ("replay_buffers_max", "The largest number of its replay buffers in use", |h| h.most_replay_buffers),
];

/// A row per host; `None` without transports.
pub(crate) fn table(hosts: &[HostTransport], names: &[String]) -> Option<Table> {
    (!hosts.is_empty()).then(|| table_of(hosts, names))
}

/// Thing that has a row.
pub(crate) const ROW: &str = "host: counters of its transport, as a source and as a target";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table_of(&[], &[])
}

fn table_of(hosts: &[HostTransport], names: &[String]) -> Table {
    let mut table = Table::new("transport");
    table.text("host", "Name", hosts.iter().map(|host| names[host.host.index()].clone()).collect());
    for (name, what, value) in COUNTERS {
        table.whole(name, "", what, hosts.iter().map(|host| value(host) as i64).collect());
    }
    table
}

/// The sums over all hosts, and the maximum of the maxima; `None` without transports.
pub(crate) fn counts(hosts: &[HostTransport]) -> Option<TransportCounts> {
    if hosts.is_empty() {
        return None;
    }
    let mut all = TransportCounts::default();
    for host in hosts {
        let HostTransport { source, target, .. } = host;
        all.requests += source.sent.get();
        all.resent += source.resent.get();
        all.slow += source.slow.get();
        all.timeouts += source.timeouts.get();
        all.fins += source.fins.get();
        all.received += target.received.get();
        all.delivered += target.delivered.get();
        all.reordered += target.reordered.get();
        all.without_connection += target.without_connection.get();
        all.buffer_full += target.buffer_full.get();
        all.no_connection += target.no_connection.get();
        all.no_replay += target.no_replay.get();
        all.out_of_sequence += target.out_of_sequence.get();
        all.duplicates += target.duplicates.get();
        all.repeated += host.repeated;
        all.lost += host.lost;
        all.late += host.late;
        all.most_reordering = all.most_reordering.max(host.most_reordering);
        all.most_connections = all.most_connections.max(host.most_connections);
        all.most_replay_buffers = all.most_replay_buffers.max(host.most_replay_buffers);
    }
    Some(all)
}
