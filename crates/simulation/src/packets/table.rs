//! The table `packet_hops`.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_model::{PacketKind, Table};
use fabricsim_units::Time;

use super::Hop;

/// Thing that has a row.
pub(crate) const ROW: &str = "link that a packet of `measure.packets` crossed, in order of time";

/// Names in a row.
#[derive(Default)]
struct RowNames {
    source: String,
    destination: String,
    entry: String,
    link: String,
    behind: String,
}

/// The table without rows.
pub(crate) fn empty() -> Table {
    columns(&[], &[], Vec::new())
}

pub(super) fn table(hops: &[Hop], prepared: &Prepared) -> Table {
    let mut numbers = BTreeMap::new();
    let packets: Vec<i64> = hops
        .iter()
        .map(|hop| {
            let next = numbers.len() as i64;
            *numbers.entry((hop.packet.source, hop.packet.sequence)).or_insert(next)
        })
        .collect();
    let names = hops.iter().map(|hop| row_names(hop, prepared)).collect();
    columns(hops, &packets, names)
}

fn row_names(hop: &Hop, prepared: &Prepared) -> RowNames {
    let name = |host| prepared.destination_name(host).to_owned();
    let stream = prepared.workload.streams.get(usize::from(hop.packet.stream));
    let carried = stream.filter(|_| hop.packet.kind == PacketKind::Data);
    RowNames {
        source: name(hop.packet.source),
        destination: name(hop.packet.destination),
        entry: carried.map(|stream| stream.name.clone()).unwrap_or_default(),
        link: prepared.graph.port_name(hop.port),
        behind: hop.behind.map(|(from, to)| format!("{} -> {}", name(from), name(to))).unwrap_or_default(),
    }
}

fn columns(hops: &[Hop], packets: &[i64], mut names: Vec<RowNames>) -> Table {
    let whole = |of: &dyn Fn(&Hop) -> i64| hops.iter().map(of).collect::<Vec<_>>();
    let time = |of: &dyn Fn(&Hop) -> Time| hops.iter().map(|hop| of(hop).as_ns_f64()).collect::<Vec<_>>();
    let mut text = |of: fn(&mut RowNames) -> &mut String| {
        names.iter_mut().map(|row| std::mem::take(of(row))).collect::<Vec<_>>()
    };
    let mut table = Table::new("packet_hops");
    let first = "Number of the packet, in the order in which they were first recorded";
    table.whole("packet", "", first, packets.to_vec());
    table.text("source", "Host that sent it", text(|row| &mut row.source));
    table.text("destination", "Host or multicast group that it is for", text(|row| &mut row.destination));
    let number = "Its number among the packets of its source, from 0, as in comments of captures";
    table.whole("number", "", number, whole(&|hop| i64::from(hop.packet.sequence)));
    let kinds = "data, acknowledgement, notification, or transport (a packet of a protocol without data)";
    table.text("kind", kinds, hops.iter().map(|hop| kind(hop.packet.kind).to_owned()).collect());
    table.text(
        "entry",
        "Entry of the traffic list, or job, whose data it carries",
        text(|row| &mut row.entry),
    );
    let tag = "Number that the workload gave its message; of programs the low 32 bits of wr_id, all ones of responses";
    table.whole("message", "", tag, whole(&|hop| i64::from(hop.packet.tag)));
    let last = "1 for the last packet of its message, else 0";
    table.whole("last", "", last, whole(&|hop| i64::from(hop.packet.last)));
    table.whole("bytes", "B", "Its size", whole(&|hop| i64::from(hop.packet.bytes)));
    table.whole("hop", "", "Links that it crossed before this one", whole(&|hop| i64::from(hop.number)));
    table.text("link", "The link, in its direction", text(|row| &mut row.link));
    table.whole("lane", "", "Virtual lane on the link", whole(&|hop| hop.lane.index() as i64));
    let ready = "Time from which on it could have been sent: its head has passed the switch; at its source, its message was created";
    table.real("ready_ns", "ns", ready, time(&|hop| hop.ready));
    table.real("start_ns", "ns", "Time at which its first byte left", time(&|hop| hop.start));
    table.real("end_ns", "ns", "Time at which its last byte left", time(&|hop| hop.end));
    let waited = "Time from ready to start";
    table.real("waited_ns", "ns", waited, time(&|hop| hop.start.saturating_sub(hop.ready)));
    let busy = "Part of the wait in which the link carried other packets";
    table.real("busy_ns", "ns", busy, time(&|hop| hop.busy));
    let input = "Part in which the link was free, and the packet's input sent another one; in the rest there were no credits, \
                 or a crossbar was to be passed";
    table.real("input_ns", "ns", input, time(&|hop| hop.input));
    let behind = "Source and destination of the packets for which it waited longest";
    table.text("behind", behind, text(|row| &mut row.behind));
    table
}

fn kind(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Notification => "notification",
        PacketKind::Acknowledgement => "acknowledgement",
        PacketKind::Transport => "transport",
    }
}
