//! Closed forms of latency and bandwidth: the stages of a message one after the other, and the slowest of them.

use fabricsim_engine::Prepared;
use fabricsim_protocols::infiniband::{packets, segment};
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_verbs::Costs;
use serde::Serialize;

use super::programs::POLL_BATCH;
use super::translations::Translations;
use super::window::Window;
use super::{Connection, Operation, Options, Quantity, Waiting, costs};
use crate::zero_load;

/// Bytes of a packet besides its payload and its extension headers: LRH 8, BTH 12, ICRC 4, VCRC 2.
const HEADERS: u32 = 26;
/// RETH, of the first packet of a WRITE and of the request of a READ.
const RETH: u32 = 16;
/// DETH, of a datagram.
const DETH: u32 = 8;
/// AETH, of acknowledgements and of the first and the last response of a READ.
const AETH: u32 = 4;

/// Closed form of a test on an idle fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Latency in microseconds, or mean data rate in MiB/s. Not a number where there is no closed form: the rate of SENDs that find no receive request.
    pub value: f64,
    /// Its parts: name, and microseconds. Of a rate: the time of each stage for a message, of which the longest counts.
    pub parts: Vec<(&'static str, f64)>,
}

/// The closed form of a test.
pub fn expected(prepared: &Prepared, ends: (HostId, HostId), options: &Options) -> Expected {
    let model = Model { prepared, ends, options, costs: costs(&prepared.experiment) };
    match options.quantity {
        Quantity::Latency => model.latency(),
        Quantity::Bandwidth => model.bandwidth(),
    }
}

struct Model<'a> {
    prepared: &'a Prepared,
    ends: (HostId, HostId),
    options: &'a Options,
    costs: Costs,
}

impl Model<'_> {
    fn is_inline(&self) -> bool {
        self.options.operation != Operation::Read && self.options.bytes <= self.options.inline
    }

    /// Payload and size on the link of each packet with data of a message.
    fn data(&self) -> Vec<(u32, u32)> {
        let Options { bytes, mtu, operation, .. } = *self.options;
        let count = packets(bytes, mtu);
        let packet = |number: u32| {
            let payload = segment(bytes, mtu, number).length;
            let is_end = number == 0 || number + 1 == count;
            let extension = match operation {
                Operation::Write if number == 0 => RETH,
                Operation::Read if is_end => AETH,
                Operation::Send if self.options.connection == Connection::Ud => DETH,
                _ => 0,
            };
            (payload, HEADERS + extension + payload.next_multiple_of(4))
        };
        (0..count).map(packet).collect()
    }

    /// From the first byte of a packet on the host's link until its last byte has arrived.
    fn network(&self, size: u32, there: bool) -> Time {
        let (client, server) = self.ends;
        let (from, to) = if there { (client, server) } else { (server, client) };
        zero_load(self.prepared, from, to, Bytes(u64::from(size)))
    }

    /// Time of a packet on the link of the client or of the server.
    fn link(&self, size: u32, of_client: bool) -> Time {
        let (client, server) = self.ends;
        let host = &self.prepared.graph.hosts[if of_client { client } else { server }.index()];
        let parameters = &self.prepared.graph.links[host.link.index()].parameters;
        parameters.rate.byte_time().duration(size + parameters.packet_overhead.0 as u32)
    }

    /// Time over the bus, or between packets, for a packet.
    fn work(&self, payload: u32, is_first: bool) -> Time {
        let least = if is_first { self.costs.packet.max(self.costs.message) } else { self.costs.packet };
        // The responder of a READ is taken to have aligned memory.
        let va = if self.options.operation == Operation::Read { 0 } else { u64::from(self.options.offset) };
        if self.is_inline() { least } else { least.max(self.costs.fetch(va, payload)) }
    }

    /// From the time at which the adapter can begin to fetch until the last packet with data begins on the link: packet by packet the later of its
    /// data and the end of the packet before. If links in the middle are faster than those of the hosts, packets also follow each other on the
    /// receiver's link. Last the time for which the data of the last packet then waits until the place of all of it is known.
    fn pipeline(&self) -> (Time, u32, Time) {
        let of_read = self.options.operation == Operation::Read;
        let latency = if self.is_inline() { Time::ZERO } else { self.costs.payload_fetch };
        let (mut fetched, mut free, mut arrived, mut last) = (Time::ZERO, Time::ZERO, Time::ZERO, 0);
        let (mut sender, mut receiver) = (self.translations(), self.translations());
        let (mut placed, mut offset) = (Time::ZERO, 0);
        for (number, (payload, size)) in self.data().into_iter().enumerate() {
            let known = if self.is_inline() { Time::ZERO } else { sender.known(Time::ZERO, offset, payload) };
            // A responder has no gap between messages.
            fetched = fetched.max(known) + self.work(payload, number == 0 && !of_read);
            let start = (fetched + latency).max(free);
            free = start + self.link(size, !of_read);
            arrived = (start + self.network(size, !of_read)).max(arrived + self.link(size, of_read));
            placed = placed.max(receiver.known(arrived, offset, payload));
            offset += payload;
            last = size;
        }
        (arrived.saturating_sub(self.network(last, !of_read)), last, placed - arrived)
    }

    fn translations(&self) -> Translations {
        Translations::new(&self.costs, self.options.offset, self.options.bytes)
    }

    fn latency(&self) -> Expected {
        let Costs {
            post,
            post_receive,
            poll,
            doorbell,
            request_fetch,
            receive,
            payload_write,
            completion,
            wake_up,
            packet,
            message,
            ..
        } = self.costs;
        let (start, size, unplaced) = self.pipeline();
        let sleeps = if self.options.waiting == Waiting::Event && self.options.operation != Operation::Write {
            wake_up
        } else {
            Time::ZERO
        };
        let mut parts = vec![("post", post), ("doorbell", doorbell)];
        if request_fetch > Time::ZERO {
            parts.push(("fetch of the request", request_fetch));
        }
        match self.options.operation {
            Operation::Write => parts.extend([
                ("fetch and earlier packets", start),
                ("network", self.network(size, true)),
                ("receive", receive),
                ("write", payload_write),
                ("poll", poll),
                // The completion of the message before, taken from the queue before the next post.
                ("poll of the completion", poll),
            ]),
            Operation::Send => parts.extend([
                ("fetch and earlier packets", start),
                ("network", self.network(size, true)),
                ("receive", receive),
                ("write", payload_write),
                ("completion", completion),
                ("wake up", sleeps),
                ("poll", poll),
                ("post of a receive request", post_receive),
            ]),
            Operation::Read => parts.extend([
                ("request", packet.max(message)),
                ("network, request", self.network(HEADERS + RETH, true)),
                ("receive, request", receive),
                ("fetch and earlier packets", start),
                ("network", self.network(size, false)),
                ("receive", receive),
                ("write", payload_write),
                ("completion", completion),
                ("wake up", sleeps),
                ("poll", poll),
            ]),
        }
        if unplaced > Time::ZERO {
            parts.push(("translations", unplaced));
        }
        let us = |time: Time| time.as_ns_f64() / 1000.0;
        let sum = parts.iter().map(|(_, time)| us(*time)).sum();
        Expected { value: sum, parts: parts.into_iter().map(|(name, time)| (name, us(time))).collect() }
    }

    /// From the post of a SEND or WRITE until its completion has been polled: when it is acknowledged, or sent.
    fn completed(&self) -> Time {
        let Costs { post, poll, receive, completion, .. } = self.costs;
        let request = self.costs.request();
        let (start, size, _) = self.pipeline();
        if self.options.connection != Connection::Rc {
            return post + request + start + completion + poll;
        }
        let there = post + request + start + self.network(size, true) + receive;
        there + self.network(HEADERS + AETH, false) + receive + completion + poll
    }

    /// Every stage works on another message: the slowest decides.
    fn bandwidth(&self) -> Expected {
        let Options { bytes, operation, tx_depth, rx_depth, queue_pairs, outstanding_reads, .. } =
            *self.options;
        // With several queue pairs every message has a completion.
        let cq_mod = if queue_pairs > 1 { 1 } else { self.options.cq_mod };
        let us = |time: Time| time.as_ns_f64() / 1000.0;
        let data = self.data();
        let of_read = operation == Operation::Read;
        let bus: Time = data
            .iter()
            .enumerate()
            .map(|(number, (payload, _))| self.work(*payload, number == 0 && !of_read))
            .fold(Time::ZERO, |a, b| a + b);
        let link = data
            .iter()
            .map(|(_, size)| self.link(*size, true).max(self.link(*size, false)))
            .fold(Time::ZERO, |a, b| a + b);
        let posts = us(self.costs.post) + us(self.costs.poll) / f64::from(cq_mod);
        let mut parts = vec![("calls", posts), ("bus", us(bus)), ("link", us(link))];
        if self.costs.translation.is_some() {
            parts.push(("translations", us(self.translations().all())));
        }
        if operation == Operation::Send {
            parts.push((
                "calls of the receiver",
                us(self.costs.poll) / POLL_BATCH as f64 + us(self.costs.post_receive),
            ));
        }
        // Whether the sender sleeps is decided with the other stages, below.
        let one = Options { quantity: Quantity::Latency, waiting: Waiting::Busy, ..*self.options };
        let alone = Model { options: &one, ..*self }.latency().value;
        if of_read {
            // A READ leaves room for the next one when its last data arrives.
            let calls = self.costs.post
                + self.costs.request()
                + self.costs.payload_write
                + self.costs.completion
                + self.costs.poll
                + self.costs.receive;
            let round_trip = alone - us(calls);
            let outstanding = f64::from(queue_pairs) * f64::from(outstanding_reads);
            parts.push(("round trip of outstanding READs", round_trip / outstanding));
        }
        let rounds = if of_read { alone } else { us(self.completed()) };
        let slowest = |parts: &[(&str, f64)]| parts.iter().map(|(_, time)| *time).fold(0.0, f64::max);
        let time = |us: f64| Time((us * 1e6).round() as u64);
        let calls = self.costs.post + self.costs.poll;
        let window = Window {
            depth: tx_depth,
            cq_mod,
            post: self.costs.post,
            poll: self.costs.poll,
            wake_up: if self.options.waiting == Waiting::Event { self.costs.wake_up } else { Time::ZERO },
            stage: time(slowest(&parts[1..])),
            rounds: time(rounds).saturating_sub(calls),
        };
        let (window, others) = (us(window.per_message()), slowest(&parts));
        // Where another stage is the slowest, what counts of the window is only that it is not.
        let is_slowest = window > others * 1.001;
        let outstanding = f64::from((tx_depth / cq_mod).max(1) * cq_mod);
        let window = if is_slowest { window } else { (rounds / outstanding).min(others) };
        parts.push(("round trip of outstanding messages", window));
        let rate = f64::from(bytes) / 1_048_576.0 / (slowest(&parts) / 1e6);
        let waits_for_receives = operation == Operation::Send && rx_depth < tx_depth;
        Expected { value: if waits_for_receives { f64::NAN } else { rate }, parts }
    }
}
