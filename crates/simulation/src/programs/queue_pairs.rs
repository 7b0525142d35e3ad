//! Queue pairs of programs: the table `verbs_queue_pairs`.

use fabricsim_model::Table;
use fabricsim_units::HostId;
use fabricsim_verbs::Counters;
use fabricsim_wire::ids::Qpn;

/// A queue pair at the end of the run, or when it was destroyed.
pub(super) struct Ended {
    pub(super) host: HostId,
    pub(super) number: Qpn,
    pub(super) peer: Option<HostId>,
    pub(super) has_failed: bool,
    pub(super) counters: Counters,
}

/// A counter: column, description, and source of the value.
type Counter = (&'static str, &'static str, fn(&Counters) -> u64);

const COUNTERS: [Counter; 7] = [
    ("packets", "Request packets sent, all copies", |c| c.packets),
    ("retransmitted", "Of these, those that had been sent before", |c| c.retransmitted),
    ("timeouts", "Times at which the timer ended", |c| c.timeouts),
    ("responses", "Response packets sent: acknowledgements, data of READs", |c| c.responses),
    ("sequence_naks", "Of these, NAKs because a packet was missing", |c| c.sequence_naks),
    ("rnr_naks", "Of these, NAKs because there was no receive request", |c| c.rnr_naks),
    (
        "dropped",
        "Packets that were dropped: of another host or partition, or in a state in which it does not receive",
        |c| c.dropped,
    ),
];

/// Thing that has a row.
pub(crate) const ROW: &str = "queue pair that a program created";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table(&[], &[])
}

pub(super) fn table(rows: &[Ended], names: &[&str]) -> Table {
    let mut table = Table::new("verbs_queue_pairs");
    let name = |host: HostId| names[host.index()].to_owned();
    table.text("host", "Name of its host", rows.iter().map(|row| name(row.host)).collect());
    table.text(
        "peer",
        "Name of the host at the other end; empty if it was never connected",
        rows.iter().map(|row| row.peer.map(name).unwrap_or_default()).collect(),
    );
    table.whole("number", "", "Its number (QPN)", rows.iter().map(|row| i64::from(row.number.0)).collect());
    table.whole(
        "error",
        "",
        "1 if it is in the error state, or was when it was destroyed, else 0",
        rows.iter().map(|row| i64::from(row.has_failed)).collect(),
    );
    for (column, what, value) in COUNTERS {
        table.whole(column, "", what, rows.iter().map(|row| value(&row.counters) as i64).collect());
    }
    table
}
