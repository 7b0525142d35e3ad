//! Counters of queue pairs: the table `queue_pairs`.

use fabricsim_engine::{Engine, QueuePairCounters, QueuePairReport};
use fabricsim_measure::QueuePairCounts;
use fabricsim_model::{Observer, Table};
use fabricsim_topology::Graph;
use fabricsim_units::HostId;

/// A counter: column, description, and source of the value.
type Counter = (&'static str, &'static str, fn(&QueuePairCounters) -> u64);

const COUNTERS: [Counter; 12] = [
    ("messages", "Messages that were acknowledged wholly", |c| c.messages),
    ("failed", "Messages that failed because the queue pair was in the error state, or went there", |c| {
        c.failed
    }),
    ("packets", "Packets with data sent, all copies", |c| c.packets),
    ("retransmitted", "Of these, those that had been sent before", |c| c.retransmitted),
    ("timeouts", "Times at which the timer ended", |c| c.timeouts),
    ("executed", "Packets of the other end that were executed", |c| c.executed),
    ("dropped", "Packets of the other end that were not: they came again, or before a missing one", |c| {
        c.dropped
    }),
    ("lost", "Packets to it that were lost as they arrived (`queue_pairs.loss`)", |c| c.lost),
    ("acknowledgements", "Acknowledgements sent", |c| c.acknowledgements),
    ("sequence_naks", "NAKs sent because a packet was missing", |c| c.sequence_naks),
    ("rnr_naks", "NAKs sent because there was no receive request", |c| c.rnr_naks),
    (
        "held",
        "Packets of the other end that had overtaken others, and were held until those came (`queue_pairs.out_of_order`)",
        |c| c.held,
    ),
];

/// A row per queue pair; `None` without queue pairs.
pub(crate) fn table(queue_pairs: &[QueuePairReport], names: &[String]) -> Option<Table> {
    (!queue_pairs.is_empty()).then(|| table_of(queue_pairs, names))
}

/// Thing that has a row.
pub(crate) const ROW: &str = "queue pair that carried messages or packets, at each of its ends";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table_of(&[], &[])
}

fn table_of(queue_pairs: &[QueuePairReport], names: &[String]) -> Table {
    let mut table = Table::new("queue_pairs");
    let name = |host: HostId| names[host.index()].clone();
    table.text("host", "Name of its host", queue_pairs.iter().map(|pair| name(pair.host)).collect());
    table.text(
        "peer",
        "Name of the host at the other end",
        queue_pairs.iter().map(|pair| name(pair.peer)).collect(),
    );
    table.whole(
        "number",
        "",
        "Its number (QPN)",
        queue_pairs.iter().map(|pair| i64::from(pair.number)).collect(),
    );
    table.whole(
        "error",
        "",
        "1 if it is in the error state, else 0",
        queue_pairs.iter().map(|pair| i64::from(pair.has_failed)).collect(),
    );
    for (name, what, value) in COUNTERS {
        table.whole(name, "", what, queue_pairs.iter().map(|pair| value(&pair.counters) as i64).collect());
    }
    table
}

/// The sums over all queue pairs.
pub(crate) fn counts(queue_pairs: &[QueuePairReport]) -> QueuePairCounts {
    let mut all = QueuePairCounts { queue_pairs: queue_pairs.len() as u64, ..QueuePairCounts::default() };
    for QueuePairReport { has_failed, counters, .. } in queue_pairs {
        all.errors += u64::from(*has_failed);
        all.acknowledged += counters.messages;
        all.failed += counters.failed;
        all.packets += counters.packets;
        all.retransmitted += counters.retransmitted;
        all.timeouts += counters.timeouts;
        all.executed += counters.executed;
        all.dropped += counters.dropped;
        all.lost += counters.lost;
        all.acknowledgements += counters.acknowledgements;
        all.sequence_naks += counters.sequence_naks;
        all.rnr_naks += counters.rnr_naks;
        all.held += counters.held;
    }
    all
}

/// A warning if queue pairs have failed.
pub(crate) fn warning<B: Observer>(engine: &Engine<B>, graph: &Graph) -> Option<String> {
    let name = |host: HostId| &graph.hosts[host.index()].name;
    let failed: Vec<_> = engine.queue_pairs().filter(|pair| pair.has_failed).collect();
    let first = failed.iter().min_by_key(|pair| (pair.host, pair.number))?;
    let messages: u64 = failed.iter().map(|pair| pair.counters.failed).sum();
    Some(format!(
        "{} queue pairs went to the error state because their retries were used up, one of {} to {}: {messages} messages failed",
        failed.len(),
        name(first.host),
        name(first.peer),
    ))
}
