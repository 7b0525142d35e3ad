//! Tables of ordering protocols.

use fabricsim_model::{Exchange, ExchangeStep, Table};
use fabricsim_protocols::ordering::{Flags, Header, Kind};
use fabricsim_units::Time;

use super::{Level, Transport};
use crate::Latency;
use crate::bins::{Bins, head};
use crate::input::TableInput;

/// A row per stream of messages, with a transport.
pub(super) fn messages(transport: &Transport, input: &TableInput<'_>) -> Table {
    let rows: Vec<_> = input.names.entries.iter().zip(&transport.messages).collect();
    let latencies: Vec<Latency> = rows.iter().map(|(_, messages)| messages.latency()).collect();
    let of = |value: fn(&Latency) -> f64| latencies.iter().map(value).collect::<Vec<_>>();
    let mut table = Table::new("messages");
    let text = "Entry of the traffic list, the responses to its messages, or a job";
    table.text("entry", text, rows.iter().map(|(name, _)| name.name.clone()).collect());
    let counts = rows.iter().map(|(_, messages)| messages.count as i64).collect();
    table.whole("messages", "", "Messages that were created in the measurement and are complete", counts);
    let text = "Mean time from the creation of a message until its last operation is visible at its receiver";
    table.real("completion_mean_ns", "ns", text, of(|l| l.mean));
    table.real("completion_min_ns", "ns", "Smallest of these times", of(|l| l.min));
    table.real("completion_p50_ns", "ns", "Median, to 0.4 %", of(|l| l.p50));
    table.real("completion_p99_ns", "ns", "99 % of them are not larger, to 0.4 %", of(|l| l.p99));
    table.real("completion_p999_ns", "ns", "99.9 % of them are not larger, to 0.4 %", of(|l| l.p999));
    table.real("completion_max_ns", "ns", "Largest of them", of(|l| l.max));
    table
}

/// Reorder buffers and connections of targets over time.
pub(super) fn series(transport: &Transport, input: &TableInput<'_>) -> Table {
    let (hosts, packets, connections) = transport.levels(input.outcome.end);
    let names: Vec<String> = hosts.iter().map(|&host| input.host(host).to_owned()).collect();
    let mut packets = Bins::new(packets, names.len(), input.outcome.end);
    let mut connections = Bins::new(connections, names.len(), input.outcome.end);
    packets.match_width(&mut connections);
    let means = |bins: &Bins<Level>| {
        let mean = |(level, length): (Level, Time)| level.sum as f64 / length.0 as f64;
        (0..names.len()).flat_map(|row| bins.row(row).map(mean)).collect::<Vec<_>>()
    };
    let most = |bins: &Bins<Level>| {
        (0..names.len())
            .flat_map(|row| bins.row(row).map(|(level, _)| i64::from(level.most)))
            .collect::<Vec<_>>()
    };
    let mut table = Table::new("transport_series");
    head(&mut table, &packets, ("host", "Receiving host"), &names);
    table.real("reorder_buffer", "", "Packets in the reorder buffer, mean over the bin", means(&packets));
    table.whole("reorder_buffer_max", "", "Maximum number of packets in it within the bin", most(&packets));
    table.real("connections", "", "Connections held as a target, mean over the bin", means(&connections));
    table.whole("connections_max", "", "Maximum number of connections within the bin", most(&connections));
    table
}

/// Events of packets at hosts, one by one.
pub(super) fn exchanges(transport: &Transport, input: &TableInput<'_>) -> Table {
    let rows: Vec<(Time, Exchange, Header)> = transport
        .first_exchanges()
        .into_iter()
        .filter_map(|(time, exchange)| Some((time, exchange, Header::from_bytes(&exchange.label.header)?)))
        .collect();
    let stream = |number: u16| input.names.entries.get(usize::from(number)).map_or("", |name| &name.name);
    let is_request = |header: &Header| header.kind == Kind::Req;
    let mut table = Table::new("exchanges");
    table.real("time_ns", "ns", "When", rows.iter().map(|row| row.0.as_ns_f64()).collect());
    table.text("host", "Where", rows.iter().map(|row| input.host(row.1.host).to_owned()).collect());
    table.text("peer", "The other host", rows.iter().map(|row| input.host(row.1.peer).to_owned()).collect());
    let text = "sent, received, lost, or delivered (an operation, to target memory)";
    table.text("step", text, rows.iter().map(|row| step(row.1.step).to_owned()).collect());
    let text = "Packet type: REQ, ACK, NACK, FIN, FIN-ACK";
    table.text("packet", text, rows.iter().map(|row| kind(row.2.kind).to_owned()).collect());
    let text = "Flags: SYN, EOD, CON, SLOW, LAST, OFFSET, with | between";
    table.text("flags", text, rows.iter().map(|row| flags(row.2.flags)).collect());
    let cids = rows.iter().map(|row| if row.2.cid.stream().is_some() { -1 } else { i64::from(row.2.cid.0) });
    table.whole("cid", "", "Connection identifier; -1: none", cids.collect());
    table.whole("seq", "", "Sequence number", rows.iter().map(|row| i64::from(row.2.seq.0)).collect());
    let counts = rows.iter().map(|row| if is_request(&row.2) { row.2.count() as i64 } else { 0 });
    table.whole(
        "cnt",
        "",
        "REQ: CNT of a synchronization operation, or the start-sequence offset",
        counts.collect(),
    );
    let streams = rows.iter().map(|row| if is_request(&row.2) { stream(row.1.message.0) } else { "" });
    table.text("entry", "REQ: entry of the traffic list", streams.map(str::to_owned).collect());
    let messages = rows.iter().map(|row| i64::from(row.1.message.1)).collect();
    table.whole("message", "", "REQ: number of the message", messages);
    let numbers = rows.iter().map(|row| i64::from(row.1.label.number)).collect();
    table.whole("number", "", "REQ: number of the packet in its message", numbers);
    let retransmitted = rows.iter().map(|row| i64::from(row.1.label.retransmitted)).collect();
    table.whole("again", "", "REQ: 1 if a copy had been sent before", retransmitted);
    table
}

const fn step(step: ExchangeStep) -> &'static str {
    match step {
        ExchangeStep::Sent => "sent",
        ExchangeStep::Received => "received",
        ExchangeStep::Lost => "lost",
        ExchangeStep::Delivered => "delivered",
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Req => "REQ",
        Kind::Ack => "ACK",
        Kind::Nack => "NACK",
        Kind::Fin => "FIN",
        Kind::FinAck => "FIN-ACK",
    }
}

fn flags(flags: Flags) -> String {
    const NAMES: [(Flags, &str); 6] = [
        (Flags::SYN, "SYN"),
        (Flags::EOD, "EOD"),
        (Flags::CON, "CON"),
        (Flags::SLOW, "SLOW"),
        (Flags::LAST, "LAST"),
        (Flags::OFFSET, "OFFSET"),
    ];
    let set: Vec<&str> = NAMES.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect();
    set.join("|")
}
