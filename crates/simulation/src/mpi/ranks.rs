//! Ranks of MPI: the table `mpi_ranks`.

use fabricsim_model::Table;
use fabricsim_mpi::{Counts, PROTOCOLS};

/// Columns of each protocol: messages, their description, bytes, their description.
const COLUMNS: [[&str; 4]; PROTOCOLS.len()] = [
    [
        "eager_messages",
        "Messages sent by one SEND (eager)",
        "eager_bytes",
        "Bytes of messages sent by one SEND (eager)",
    ],
    [
        "eager_rdma_messages",
        "Messages sent by one RDMA WRITE to a ring of the receiver (eager RDMA)",
        "eager_rdma_bytes",
        "Bytes of messages sent by one RDMA WRITE to a ring of the receiver (eager RDMA)",
    ],
    [
        "get_messages",
        "Messages sent by RDMA READ of the receiver",
        "get_bytes",
        "Bytes of messages sent by RDMA READ of the receiver",
    ],
    ["put_messages", "Messages sent by RDMA WRITE", "put_bytes", "Bytes of messages sent by RDMA WRITE"],
    [
        "send_messages",
        "Messages sent by several SENDs, with RDMA WRITEs in the pipeline",
        "send_bytes",
        "Bytes of messages sent by several SENDs, with RDMA WRITEs in the pipeline",
    ],
    [
        "shared_messages",
        "Messages sent by shared memory, to ranks on the same host",
        "shared_bytes",
        "Bytes of messages sent by shared memory, to ranks on the same host",
    ],
];

/// Thing that has a row.
pub(crate) const ROW: &str = "rank of MPI";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table(&[], &[])
}

pub(super) fn table(hosts: &[String], counts: &[Counts]) -> Table {
    let mut table = Table::new("mpi_ranks");
    table.whole("rank", "", "Its number", (0..counts.len() as i64).collect());
    table.text("host", "Name of its host", hosts.to_vec());
    for (protocol, names) in COLUMNS.iter().enumerate() {
        let messages = counts.iter().map(|counts| counts.sent[protocol].0 as i64).collect();
        let bytes = counts.iter().map(|counts| counts.sent[protocol].1 as i64).collect();
        table.whole(names[0], "", names[1], messages);
        table.whole(names[2], "B", names[3], bytes);
    }
    table.whole(
        "unexpected",
        "",
        "Messages that arrived before their receive",
        counts.iter().map(|counts| counts.unexpected as i64).collect(),
    );
    table.whole(
        "registrations",
        "",
        "Registrations of memory for transfers",
        counts.iter().map(|counts| counts.registrations as i64).collect(),
    );
    table.real(
        "stalled_ns",
        "ns",
        "Time for which messages waited for credits or for places in a send queue, summed over queues",
        counts.iter().map(|counts| counts.stalled.as_ns_f64()).collect(),
    );
    table
}
