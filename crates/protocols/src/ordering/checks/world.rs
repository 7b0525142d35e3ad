//! Sources, a target with its memory, and the network between them, step by step.

use std::collections::VecDeque;

use fabricsim_units::{HostId, Time};

use super::plan::{Item, Planned};
use crate::ordering::timers::Timer;
use crate::ordering::{
    Cid, Header, Kind, Mode, Source, SourceOptions, SourceOutbox, StreamId, Target, TargetOptions,
    TargetOutbox, Ticket,
};

/// The host of the target; sources are hosts 0, 1 ...
pub(super) const TARGET: HostId = HostId(99);

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    Order,
    ExactlyOnce,
    Synchronization,
    Result,
    Acknowledgement,
    Bounds,
}

pub(super) const FAULTS: [Fault; 6] = [
    Fault::Order,
    Fault::ExactlyOnce,
    Fault::Synchronization,
    Fault::Result,
    Fault::Acknowledgement,
    Fault::Bounds,
];

/// A packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) from: HostId,
    pub(super) to: HostId,
    pub(super) header: Header,
    pub(super) payload: Option<Item>,
}

impl InFlight {
    /// An order in which a network's contents can be written down in one way only.
    fn key(&self) -> (HostId, HostId, [u8; 16], Option<Item>) {
        (self.from, self.to, self.header.to_bytes(), self.payload)
    }
}

/// Outcome of a stream's operations; bit i is operation i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) delivered: u128,
    pub(super) visible: u128,
    pub(super) acknowledged: u128,
    last: Option<u8>,
    /// The word of memory to which its operations add.
    word: u64,
    finished: bool,
    offered: u8,
}

/// The state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) sources: Vec<Source<Item>>,
    /// For each source, which planned stream is in which place.
    places: Vec<Vec<Option<u8>>>,
    pub(super) target: Target<Item>,
    pub(super) network: Vec<InFlight>,
    /// Operations that target memory has not carried out yet.
    pub(super) executing: VecDeque<(Ticket, Item)>,
    pub(super) records: Vec<Record>,
    /// Packets are offered one by one at any time; else as a host does it: all that there is room for, whenever the source
    /// reports room.
    lazy: bool,
    pub(super) fault: Option<Fault>,
}

/// Collects what the machines ask for.
#[derive(Default)]
struct Out {
    responses: Vec<(HostId, Header)>,
    deliveries: Vec<(Ticket, Item)>,
    acknowledged: Vec<(StreamId, Item, u64)>,
    room: Vec<StreamId>,
    finished: Vec<StreamId>,
}

impl TargetOutbox<Item> for Out {
    fn respond(&mut self, to: HostId, header: Header) {
        self.responses.push((to, header));
    }
    fn deliver(&mut self, ticket: Ticket, payload: Item) {
        self.deliveries.push((ticket, payload));
    }
}

impl SourceOutbox<Item> for Out {
    fn acknowledged(&mut self, stream: StreamId, payload: Item, result: u64) {
        self.acknowledged.push((stream, payload, result));
    }
    fn room(&mut self, stream: StreamId) {
        self.room.push(stream);
    }
    fn finished(&mut self, stream: StreamId) {
        self.finished.push(stream);
    }
}

impl World {
    /// All streams are open; their packets are offered as far as there is room, then and whenever a source reports room, or
    /// only by [`World::offer`] if `lazy`.
    pub(super) fn new(source: SourceOptions, target: TargetOptions, plan: &[Planned], lazy: bool) -> Self {
        let count = plan.iter().map(|stream| stream.source + 1).max().unwrap_or(1);
        let sources = (0..count).map(|_| Source::new(source).expect("the options are good")).collect();
        let mut world = Self {
            sources,
            places: vec![Vec::new(); count],
            target: Target::new(target).expect("the options are good"),
            network: Vec::new(),
            executing: VecDeque::new(),
            records: vec![Record::default(); plan.len()],
            lazy,
            fault: None,
        };
        for (number, stream) in plan.iter().enumerate() {
            let id = world.sources[stream.source].open(TARGET, stream.mode, stream.exactly_once);
            let place = usize::from(id.expect("there is room for all streams").0);
            let places = &mut world.places[stream.source];
            places.resize(places.len().max(place + 1), None);
            places[place] = Some(number as u8);
        }
        if !lazy {
            (0..plan.len()).for_each(|number| while world.offer(plan, number) {});
        }
        world
    }

    /// Offers the next packet of a stream. False: there is none, or no room.
    pub(super) fn offer(&mut self, plan: &[Planned], number: usize) -> bool {
        let (stream, record) = (plan[number], &mut self.records[number]);
        let place = self.places[stream.source].iter().position(|&place| place == Some(number as u8));
        let Some(id) = place.map(|place| StreamId(place as u16)) else { return false };
        let source = &mut self.sources[stream.source];
        if record.offered == stream.packets || !source.has_room(id) {
            return false;
        }
        let item = Item { stream: number as u8, index: record.offered };
        record.offered += 1;
        source.offer(id, item, record.offered == stream.packets);
        true
    }

    /// Packets that have been offered.
    pub(super) fn offered(&self, number: usize) -> u8 {
        self.records[number].offered
    }

    /// A source sends its next packet. False: it has none.
    pub(super) fn send(&mut self, source: usize, now: Time) -> Option<InFlight> {
        let packet = self.sources[source].next(now)?;
        let from = HostId(source as u32);
        let packet = InFlight { from, to: packet.to, header: packet.header, payload: packet.payload };
        self.enter(packet);
        Some(packet)
    }

    fn enter(&mut self, packet: InFlight) {
        let place = self.network.partition_point(|other| other.key() < packet.key());
        self.network.insert(place, packet);
    }

    /// Takes a packet out of the network: it is lost, or about to arrive.
    pub(super) fn leave(&mut self, place: usize) -> InFlight {
        self.network.remove(place)
    }

    /// The network makes a copy of a packet.
    pub(super) fn duplicate(&mut self, place: usize) {
        self.enter(self.network[place]);
    }

    /// A packet arrives. Returns what was sent in answer.
    pub(super) fn arrive(&mut self, packet: InFlight, plan: &[Planned], memory_is_fast: bool) {
        if packet.to == TARGET {
            let mut out = Out::default();
            self.target.arrive(packet.from, packet.header, packet.payload, &mut out);
            self.respond(out, plan);
            while memory_is_fast && self.execute(plan) {}
        } else {
            self.with_source(packet.to.0 as usize, plan, |source, out| {
                source.arrive(packet.from, packet.header, out);
            });
        }
        let capacity = self.target.options.reorder_capacity;
        let connections = self.target.options.connections;
        if self.target.reorder_buffer().len() > capacity || self.target.open_connections() > connections {
            self.blame(Fault::Bounds);
        }
    }

    fn respond(&mut self, out: Out, plan: &[Planned]) {
        for (to, header) in out.responses {
            self.enter(InFlight { from: TARGET, to, header, payload: None });
        }
        for (ticket, item) in out.deliveries {
            self.deliver(ticket, item, plan);
        }
    }

    fn deliver(&mut self, ticket: Ticket, item: Item, plan: &[Planned]) {
        let stream = &plan[usize::from(item.stream)];
        let record = &mut self.records[usize::from(item.stream)];
        let bit = 1_u128 << item.index;
        let again = record.delivered & bit != 0;
        let next = record.last.map_or(0, |last| last + 1);
        let mut fault = None;
        // A repetition is allowed, where it is, only before anything newer.
        if stream.is_in_order() && item.index != next && !(again && item.index + 1 == next) {
            fault = Some(Fault::Order);
        }
        if again && stream.is_once(item.index) {
            fault = Some(Fault::ExactlyOnce);
        }
        let synchronizes = matches!(stream.mode, Mode::Synchronized | Mode::SourceSynchronized);
        if synchronizes && item.index + 1 == stream.packets && record.visible | bit != (bit << 1) - 1 {
            fault = Some(Fault::Synchronization);
        }
        record.delivered |= bit;
        record.last = Some(item.index);
        self.executing.push_back((ticket, item));
        if let Some(fault) = fault {
            self.blame(fault);
        }
    }

    /// Memory carries out its oldest operation. False: it has none.
    pub(super) fn execute(&mut self, plan: &[Planned]) -> bool {
        let Some((ticket, item)) = self.executing.pop_front() else { return false };
        let record = &mut self.records[usize::from(item.stream)];
        record.visible |= 1 << item.index;
        // Operations that may be carried out twice would make the word depend on how often they were.
        let stream = &plan[usize::from(item.stream)];
        let result = match stream.result(item.index) {
            Some(turn) => item.operation(turn).execute(&mut record.word),
            None => 0,
        };
        let mut out = Out::default();
        self.target.visible(ticket, result, &mut out);
        self.respond(out, plan);
        true
    }

    fn with_source(
        &mut self,
        number: usize,
        plan: &[Planned],
        work: impl FnOnce(&mut Source<Item>, &mut Out),
    ) {
        let mut out = Out::default();
        work(&mut self.sources[number], &mut out);
        for (_, item, result) in out.acknowledged {
            let stream = &plan[usize::from(item.stream)];
            let record = &mut self.records[usize::from(item.stream)];
            let bit = 1 << item.index;
            let arrives_first = matches!(stream.mode, Mode::Selective | Mode::SelectiveOrdered);
            let early = record.visible & bit == 0 && !arrives_first;
            let fault = early || record.acknowledged & bit != 0;
            record.acknowledged |= bit;
            if stream.result(item.index).is_some_and(|expected| result != expected) {
                self.blame(Fault::Result);
            }
            if fault {
                self.blame(Fault::Acknowledgement);
            }
        }
        if !self.lazy {
            for id in out.room {
                if let Some(stream) = self.places[number][usize::from(id.0)] {
                    while self.offer(plan, usize::from(stream)) {}
                }
            }
        }
        for id in out.finished {
            let place = &mut self.places[number][usize::from(id.0)];
            if let Some(stream) = place.take() {
                self.records[usize::from(stream)].finished = true;
            }
        }
    }

    /// A timer of a source has ended.
    pub(super) fn fire(&mut self, number: usize, timer: Timer, plan: &[Planned]) {
        self.with_source(number, plan, |source, out| source.fire(timer, out));
    }

    /// The timers of a source that have ended by the clock.
    pub(super) fn expire(&mut self, number: usize, now: Time, plan: &[Planned]) {
        self.with_source(number, plan, |source, out| source.expire(now, out));
    }

    fn blame(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// True if everything is done and nothing left behind.
    pub(super) fn is_done(&self, plan: &[Planned]) -> bool {
        let all = self.records.iter().zip(plan).all(|(record, stream)| {
            let all = (1 << stream.packets) - 1;
            record.finished && record.visible == all && record.acknowledged == all
        });
        let quiet = self.network.is_empty() && self.executing.is_empty();
        all && quiet && self.target.is_idle() && self.sources.iter().all(Source::is_idle)
    }

    /// Remaining work, a line for each thing.
    pub(super) fn summary(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (number, source) in self.sources.iter().enumerate() {
            let _ = writeln!(text, "source {number}: {:?} {:?}", source.identifiers, source.wake_at());
            for &place in &source.active {
                let stream = &source.streams[usize::from(place)];
                let window = &stream.window;
                let states: Vec<_> = (0..window.len()).map(|position| window.get(position).state).collect();
                let flags = (stream.connected, stream.halted, stream.lossy, stream.ended);
                let _ = writeln!(
                    text,
                    "  {place} {:?} {:?} base {:?} {flags:?} copies {} waiting {}: {states:?}",
                    stream.mode, stream.cid, window.base, stream.copies, stream.waiting
                );
            }
        }
        let _ = writeln!(text, "{:?}", self.target.connections);
        let _ = writeln!(text, "{} in the reorder buffer", self.target.reorder.len());
        let _ = writeln!(text, "{} replay buffers", self.target.replay_buffers());
        let _ = writeln!(text, "{:?} {:?}", self.executing, self.network);
        for record in &self.records {
            let _ = writeln!(text, "{record:?}");
        }
        text
    }

    /// The CID under which a stream's packets travel.
    pub(super) fn cid(&self, number: usize, id: StreamId) -> Cid {
        let stream = &self.sources[number].streams[usize::from(id.0)];
        stream.cid.unwrap_or(Cid::of_stream(id.0))
    }

    /// True if something of this connection is in the network, or in memory's queue: FIN and its answer, or all else.
    pub(super) fn is_travelling(&self, number: usize, cid: Cid, closing: bool) -> bool {
        let host = HostId(number as u32);
        let of = |packet: &&InFlight| {
            let fin = matches!(packet.header.kind, Kind::Fin | Kind::FinAck);
            (packet.from == host || packet.to == host) && packet.header.cid == cid && fin == closing
        };
        let executing = |(ticket, _): &&(Ticket, Item)| ticket.from == host && ticket.header.cid == cid;
        self.network.iter().any(|packet| of(&packet))
            || (!closing && self.executing.iter().any(|e| executing(&e)))
    }
}
