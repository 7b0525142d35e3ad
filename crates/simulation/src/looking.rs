//! A snapshot and events as tables, by name.

use std::ops::Deref;

use fabricsim_analysis::{Wait, Waiter, find_deadlock, waits};
use fabricsim_engine::{Extent, Prepared, Snapshot};
use fabricsim_model::Table;
use fabricsim_session::{Event, EventKind};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Time, Vl};

use crate::outcome::{deadlock_lines, refused_lines};
use crate::plan::Run;
use crate::recording::Recording;

impl<P: Deref<Target = Prepared>, B: Recording> Run<P, B> {
    /// The cycle of buffers that can never move, a line for each, if there is one now; or requests that hosts will never
    /// accept, because nothing moves any more.
    pub fn find_deadlock(&self) -> Option<Vec<String>> {
        if let Some(found) = find_deadlock(&self.session.snapshot(Extent::Queues)) {
            return Some(deadlock_lines(&found, &self.prepared));
        }
        let refused = self.session.engine().refused();
        let is_stuck = !refused.is_empty() && self.status == Some(crate::Status::Deadlock);
        is_stuck.then(|| refused_lines(&refused, &self.prepared.graph))
    }
}

/// The tables of a snapshot with [`Extent::Everything`]: `ports`, `hosts`, `waits`.
pub fn snapshot_tables(snapshot: &Snapshot, prepared: &Prepared) -> Vec<Table> {
    let Prepared { graph, .. } = prepared;
    let names: Vec<String> = (0..snapshot.sending_ports as u32).map(|port| graph.port_name(port)).collect();
    vec![ports(snapshot, &names), hosts(snapshot, graph), waiting(snapshot, prepared, &names)]
}

fn ports(snapshot: &Snapshot, names: &[String]) -> Table {
    let lanes = snapshot.lane_count;
    let mut queued = vec![0_i64; snapshot.lanes.len()];
    for queue in &snapshot.queues {
        queued[queue.input as usize * lanes + queue.lane.index()] += snapshot.packets(queue).len() as i64;
    }
    let whole = |value: fn(&fabricsim_engine::LaneState) -> u32| {
        snapshot.lanes.iter().map(|lane| i64::from(value(lane))).collect::<Vec<_>>()
    };
    let mut table = Table { name: "ports", columns: Vec::new() };
    let links = (0..snapshot.lanes.len()).map(|place| names[place / lanes].clone()).collect();
    table.text("link", "Direction of a link: from->to; the buffer is at its receiving end", links);
    let number = (0..snapshot.lanes.len()).map(|place| (place % lanes) as i64).collect();
    table.whole("lane", "", "Virtual lane", number);
    table.whole("packets", "", "Packets in the buffer, or on the link to it", whole(|lane| lane.packets));
    let text = "Of these and those in staging buffers, packets that wait in a queue of the switch";
    table.whole("waiting", "", text, queued);
    table.whole("used_blocks", "blocks", "Flow-control units of the packets", whole(|lane| lane.blocks));
    table.whole("free_blocks", "blocks", "Credits that the sender has now", whole(|lane| lane.free));
    let text = "Credits that return as packets leave the buffer";
    table.whole("returning_blocks", "blocks", text, whole(|lane| lane.returning));
    table.whole("capacity_blocks", "blocks", "Flow-control units of the buffer", whole(|lane| lane.capacity));
    table
}

fn hosts(snapshot: &Snapshot, graph: &Graph) -> Table {
    let states = &snapshot.hosts;
    let mut refused = vec![0_i64; states.len()];
    snapshot.refused.iter().for_each(|request| refused[request.host.index()] += 1);
    let mut table = Table { name: "hosts", columns: Vec::new() };
    let name = |host: fabricsim_units::HostId| graph.hosts[host.index()].name.clone();
    let ns = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
    table.text("host", "Name", states.iter().map(|state| name(state.host)).collect());
    let sends = states.iter().map(|state| i64::from(!state.is_stopped)).collect();
    table.whole("sends", "", "1 if it opens messages, 0 if its traffic is stopped", sends);
    let sent = states.iter().map(|state| state.sent as i64).collect();
    table.whole("sent", "", "Packets sent", sent);
    let messages = states.iter().map(|state| state.messages.len() as i64).collect();
    table.whole("messages", "", "Messages that it is sending", messages);
    let bytes = |state: &fabricsim_engine::HostState| state.messages.iter().map(|m| m.bytes as i64).sum();
    let text =
        "Bytes of these that are not sent; with a transport all bytes of those that are not acknowledged";
    table.whole("pending_bytes", "B", text, states.iter().map(bytes).collect());
    let next = states.iter().map(|state| ns(state.next_message)).collect();
    let text = "Time at which its next message is created; until now if that waits for others";
    table.real("next_message_ns", "ns", text, next);
    let blocked = states.iter().map(|state| ns(state.blocked_since)).collect();
    let text = "Time since which its link is idle because the buffer ahead is full";
    table.real("blocked_since_ns", "ns", text, blocked);
    let limited = states.iter().map(|state| ns(state.rate_limited_until)).collect();
    let text = "Time until which congestion control rate-limits a message";
    table.real("rate_limited_until_ns", "ns", text, limited);
    let responses = states.iter().map(|state| state.pending_responses as i64).collect();
    table.whole("pending_responses", "", "Responses created and not sent wholly", responses);
    let text = "Virtual lanes whose first packet is a request that the host refuses for the time being";
    table.whole("refused", "", text, refused);
    table
}

fn waiting(snapshot: &Snapshot, prepared: &Prepared, names: &[String]) -> Table {
    let graph = &prepared.graph;
    let all = waits(snapshot);
    let text = |value: &dyn Fn(&Wait) -> String| all.iter().map(value).collect::<Vec<_>>();
    let whole = |value: &dyn Fn(&Wait) -> i64| all.iter().map(value).collect::<Vec<_>>();
    let mut table = Table { name: "waits", columns: Vec::new() };
    let node = |wait: &Wait| match wait.waiter {
        Waiter::Queue { switch, .. } => graph.name(Node::Switch(switch)).to_owned(),
        Waiter::Host(host) => graph.name(Node::Host(host)).to_owned(),
    };
    table.text("node", "Switch or host with packets to send", text(&node));
    let input = |wait: &Wait| match wait.waiter {
        Waiter::Queue { input, .. } => names[input as usize].clone(),
        Waiter::Host(_) => String::new(),
    };
    table.text("input", "Link into the buffer that they are in; empty for a host", text(&input));
    let lane = |wait: &Wait| match wait.waiter {
        Waiter::Queue { lane, .. } => i64::from(lane.0),
        Waiter::Host(_) => -1,
    };
    table.whole("lane", "", "Virtual lane of that buffer; -1 for a host", whole(&lane));
    table.text(
        "output",
        "Link that the first packet is to take",
        text(&|wait| names[wait.output as usize].clone()),
    );
    let words = "Reason: credits, output, turn, router delay, failed link, rate limit or acknowledgement";
    table.text("reason", words, text(&|wait| wait.reason.name().to_owned()));
    let host = |host| prepared.destination_name(host).to_owned();
    table.text("source", "Sender of the first packet", text(&|wait| host(wait.ends.0)));
    table.text("destination", "Receiver of the first packet", text(&|wait| host(wait.ends.1)));
    table.whole("count", "", "Packets of the queue; messages of a host", whole(&|wait| wait.count as i64));
    table.whole("blocks", "blocks", "Flow-control units of the queue", whole(&|wait| i64::from(wait.blocks)));
    let since = all.iter().map(|wait| wait.since.as_ns_f64()).collect();
    table.real("since_ns", "ns", "Time from which the node could have sent the first packet", since);
    table
}

/// Events as a table.
pub fn events_table(events: &[Event], prepared: &Prepared) -> Table {
    let Prepared { graph, workload, .. } = prepared;
    let text = |value: &dyn Fn(&Event) -> String| events.iter().map(value).collect::<Vec<_>>();
    let whole = |value: &dyn Fn(&Event) -> i64| events.iter().map(value).collect::<Vec<_>>();
    let ns = |value: fn(&Event) -> Time| events.iter().map(|event| value(event).as_ns_f64()).collect();
    let mut table = Table { name: "events", columns: Vec::new() };
    table.real("time_ns", "ns", "Time of the event", ns(|event| event.time));
    let kind = |event: &Event| match event.kind {
        EventKind::Marked { .. } => "marked",
        EventKind::Delivered => "delivered",
        EventKind::Completed => "completed",
        EventKind::Lost(_) => "lost",
    };
    table.text("event", "marked, delivered, completed or lost", text(&|event| kind(event).to_owned()));
    let host = |host| prepared.destination_name(host).to_owned();
    table.text("source", "Sender of the packet", text(&|event| host(event.packet.source)));
    table.text("destination", "Receiver of the packet", text(&|event| host(event.packet.destination)));
    let entry = |event: &Event| workload.streams[usize::from(event.packet.stream)].name.clone();
    table.text("traffic", "Traffic entry, responses or job of its message", text(&entry));
    let text_of = "Number of its message; of an injected one as returned by inject";
    table.whole("message", "", text_of, whole(&|event| i64::from(event.packet.tag)));
    table.whole("bytes", "B", "Size of the packet", whole(&|event| i64::from(event.packet.bytes)));
    table.whole(
        "last",
        "",
        "1 if it is the last packet of its message",
        whole(&|event| i64::from(event.packet.last)),
    );
    table.real("created_ns", "ns", "Time at which its message was created", ns(|event| event.packet.created));
    let marking = |event: &Event| match event.kind {
        EventKind::Marked { port, lane } => Some((port, lane)),
        EventKind::Delivered | EventKind::Completed | EventKind::Lost(_) => None,
    };
    let link = |event: &Event| marking(event).map(|(port, _)| graph.port_name(port)).unwrap_or_default();
    table.text("link", "Link that it was marked for; empty for other events", text(&link));
    let lane = |event: &Event| marking(event).map_or(-1, |(_, Vl(lane))| i64::from(lane));
    table.whole("lane", "", "Virtual lane there; -1 for other events", whole(&lane));
    table
}
