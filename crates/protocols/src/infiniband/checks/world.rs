//! Both ends of a connection and the network between them, step by step.

use fabricsim_wire::headers::{Headers, Operation};

use super::far::{Content, Execution, Far};
use super::local::{Allowed, Call, Local};
use super::plan::{FIRST, Kind, MTU, Plan};
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{
    MigrationState, PathMigration, Requester, RequesterOptions, Responder, ResponderOptions,
};

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// A message is executed before another one that was posted earlier.
    Order,
    /// A packet is executed twice.
    ExactlyOnce,
    /// A message or its immediate data is not where it belongs, or a receive request ends before all is there.
    Data,
    /// Data of a READ, or the value before an atomic operation.
    Result,
    /// A request completes that is not executed, or not in the order of posting, or twice.
    Completion,
    /// A failure without its cause, with another status, or after which not all is flushed.
    Error,
    /// More READs than agreed, messages than credits, bytes than allowed.
    Bounds,
    /// A packet is sent during the time of an RNR NAK.
    Wait,
    /// An end migrates although its path has not failed.
    Path,
}

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Request,
    Response,
}

/// A packet in the network: its headers in their format on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InFlight {
    bytes: [u8; 40],
    content: Content,
    /// 0, or 1 for the second path.
    path: u8,
}

impl InFlight {
    fn new(headers: &Headers, content: Content, end: &End) -> Self {
        let mut bytes = [0; 40];
        let mut headers = *headers;
        headers.bth.migrated = end.migration.bit();
        headers.emit(&mut bytes).expect("headers are those of their opcode");
        Self { bytes, content, path: end.path }
    }

    pub(super) fn headers(&self) -> Headers {
        Headers::parse(&self.bytes).expect("they were written above")
    }
}

/// Paths of an end.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct End {
    pub(super) migration: PathMigration,
    /// The path that it uses.
    pub(super) path: u8,
    /// It has loaded the second path.
    pub(super) has_loaded: bool,
}

/// The state of everything.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct World {
    pub(super) requester: Requester,
    pub(super) responder: Responder,
    pub(super) far: Far,
    pub(super) local: Local,
    pub(super) requests: Vec<InFlight>,
    pub(super) responses: Vec<InFlight>,
    /// Messages that are posted.
    pub(super) posted: u8,
    /// Bit i: the first packet of message i was sent.
    sent: u8,
    /// Paths of the requester's end, and of the responder's.
    pub(super) ends: [End; 2],
    /// The first path has failed: what is sent over it is lost.
    pub(super) path_has_failed: bool,
    pub(super) fault: Option<Fault>,
}

/// What does not change.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) plan: Plan,
    pub(super) requester: RequesterOptions,
    pub(super) responder: ResponderOptions,
    pub(super) allowed: Allowed,
    /// Packets overtake each other.
    pub(super) reorders: bool,
    pub(super) mutation: Option<Mutation>,
}

impl World {
    pub(super) fn new(setting: &Setting) -> Self {
        let mut requester = Requester::new(setting.requester, FIRST);
        let mut responder = Responder::new(setting.responder, FIRST);
        requester.mutate(setting.mutation);
        responder.mutate(setting.mutation);
        let mut ends = [End::default(), End::default()];
        for end in &mut ends {
            end.migration.mutate(setting.mutation);
        }
        Self {
            requester,
            responder,
            far: Far::default(),
            local: Local::default(),
            requests: Vec::new(),
            responses: Vec::new(),
            posted: 0,
            sent: 0,
            ends,
            path_has_failed: false,
            fault: None,
        }
    }

    fn report(&mut self, fault: Option<Fault>) {
        self.fault = self.fault.or(fault);
    }

    pub(super) fn network(&mut self, way: Way) -> &mut Vec<InFlight> {
        match way {
            Way::Request => &mut self.requests,
            Way::Response => &mut self.responses,
        }
    }

    fn enter(&mut self, setting: &Setting, way: Way, packet: InFlight) {
        if packet.path == 0 && self.path_has_failed {
            return;
        }
        let network = self.network(way);
        let place =
            if setting.reorders { network.partition_point(|other| *other < packet) } else { network.len() };
        network.insert(place, packet);
    }

    /// The network makes a copy of a packet.
    pub(super) fn duplicate(&mut self, way: Way, place: usize) {
        let network = self.network(way);
        let packet = network[place];
        network.insert(place, packet);
    }

    /// Calls the requester. What it reports is checked.
    fn call<T>(
        &mut self,
        setting: &Setting,
        content: Content,
        call: impl FnOnce(&mut Requester, &mut Call<'_>) -> T,
    ) -> T {
        let was_broken = self.requester.is_broken();
        let mut out = Call {
            plan: &setting.plan,
            allowed: setting.allowed,
            local: &mut self.local,
            executed: self.far.executed,
            content,
            end: &mut self.ends[0],
            path_has_failed: self.path_has_failed,
            fault: None,
        };
        let result = call(&mut self.requester, &mut out);
        let fault = out.fault;
        self.report(fault);
        if self.local.failed.is_some() != self.requester.is_broken() {
            self.report(Some(Fault::Error));
        }
        if self.requester.is_broken() && !was_broken {
            self.local.timer_runs = false;
            self.local.waits = false;
        }
        result
    }

    /// The next work request is posted.
    pub(super) fn post(&mut self, setting: &Setting) {
        let Some(message) = setting.plan.get(self.posted) else { return };
        let work = message.work(self.posted, setting.plan.turn(self.posted));
        self.posted += 1;
        self.call(setting, Content::default(), |requester, out| requester.post(work, out))
            .expect("messages are short");
    }

    /// The requester sends a packet. False: it has none.
    pub(super) fn send(&mut self, setting: &Setting) -> bool {
        let waits = self.local.waits;
        let packet = self.call(setting, Content::default(), |requester, out| requester.next_packet(out));
        let Some(packet) = packet else { return false };
        if waits {
            self.report(Some(Fault::Wait));
        }
        let (message, part) = (packet.message as u8, (packet.offset / MTU) as u8);
        let content = Content { message, part, length: packet.length as u8 };
        self.enter(setting, Way::Request, InFlight::new(&packet.headers, content, &self.ends[0]));
        self.sent |= 1 << message;
        self.check_limits(setting);
        true
    }

    /// Limits of what may be outstanding.
    fn check_limits(&mut self, setting: &Setting) {
        let ended = self.posted - self.requester.pending() as u8;
        let plan = &setting.plan;
        let reads = (ended..self.posted).filter(|&index| {
            let kind = plan.get(index).map(|message| message.kind);
            self.sent & 1 << index != 0 && matches!(kind, Some(Kind::Read | Kind::Atomic))
        });
        let too_many_reads = reads.count() > usize::from(setting.requester.reads);
        // All that the responder can have promised, and a probe.
        let takers = (0..self.posted).filter(|&index| {
            self.sent & 1 << index != 0 && plan.get(index).is_some_and(|message| message.takes_receive())
        });
        let too_many_messages =
            setting.requester.has_credits && takers.count() > usize::from(self.far.posted) + 1;
        if too_many_reads || too_many_messages {
            self.report(Some(Fault::Bounds));
        }
    }

    /// The responder sends a packet. False: it has none.
    pub(super) fn answer(&mut self, setting: &Setting) -> bool {
        let Some((packet, place)) = self.responder.next_packet() else { return false };
        let is_data = packet.headers.bth.opcode.operation().is_some_and(Operation::is_read_response);
        let content = if is_data { self.far.load(place.va) } else { Content::default() };
        self.enter(setting, Way::Response, InFlight::new(&packet.headers, content, &self.ends[1]));
        true
    }

    /// A packet arrives.
    pub(super) fn arrive(&mut self, setting: &Setting, way: Way, place: usize) {
        let packet = self.network(way).remove(place);
        let (headers, content) = (packet.headers(), packet.content);
        let length = u32::from(content.length);
        self.follow_migration(usize::from(way == Way::Request), headers.bth.migrated, packet.path);
        if way == Way::Response {
            self.call(setting, content, |requester, out| requester.receive(&headers, length, out));
            return;
        }
        let mut out = Execution { plan: &setting.plan, far: &mut self.far, content, fault: None };
        self.responder.receive(&headers, length, &mut out);
        let fault = out.fault;
        self.report(fault);
        self.check_expected(&setting.plan);
    }

    /// A packet with this BTH.M has come by a path: the end may follow the other one.
    fn follow_migration(&mut self, end: usize, bit: bool, path: u8) {
        let end = &mut self.ends[end];
        if end.migration.receive(bit, path == 1).is_some() {
            end.path = 1;
            let is_needless = !self.path_has_failed;
            self.report(is_needless.then_some(Fault::Path));
        }
    }

    /// An end loads its second path.
    pub(super) fn load(&mut self, end: usize) {
        let end = &mut self.ends[end];
        end.has_loaded = true;
        end.migration.load();
        end.migration.request(MigrationState::Rearm).expect("a path is loaded, and the end has not migrated");
    }

    /// The first path fails, in both directions.
    pub(super) fn fail_path(&mut self) {
        self.path_has_failed = true;
        self.requests.retain(|packet| packet.path == 1);
        self.responses.retain(|packet| packet.path == 1);
    }

    /// The responder expects the packet after those that are executed.
    fn check_expected(&mut self, plan: &Plan) {
        let (executed, expected) = (self.far.executed, self.responder.expected());
        if self.far.finish_read(plan, expected) {
            return;
        }
        if expected != plan.first(executed) + u32::from(self.far.part) {
            self.report(Some(Fault::Order));
        }
    }

    pub(super) fn expire(&mut self, setting: &Setting) {
        self.call(setting, Content::default(), |requester, out| requester.expire(out));
    }

    pub(super) fn ready(&mut self, setting: &Setting) {
        self.local.waits = false;
        self.call(setting, Content::default(), |requester, out| requester.ready(out));
    }

    /// The user brings an end into the error state.
    pub(super) fn flush(&mut self, setting: &Setting, way: Way) {
        if way == Way::Request {
            self.call(setting, Content::default(), |requester, out| requester.flush(out));
            return;
        }
        let content = Content::default();
        let mut out = Execution { plan: &setting.plan, far: &mut self.far, content, fault: None };
        self.responder.flush(&mut out);
        let fault = out.fault;
        self.report(fault);
    }

    /// True if something is in the network, or about to be sent.
    pub(super) fn is_moving(&self) -> bool {
        !self.requests.is_empty()
            || !self.responses.is_empty()
            || self.requester.peek().is_some()
            || self.responder.peek().is_some()
    }

    /// True if all messages have ended, and nothing is left.
    pub(super) fn is_done(&self, plan: &Plan) -> bool {
        let has_ended = self.posted == plan.len() && self.requester.pending() == 0;
        let is_quiet = !self.is_moving() && !self.local.timer_runs && !self.local.waits;
        let is_complete = match self.local.failed {
            Some(_) => self.local.completed == plan.len(),
            None => self.far.executed == plan.len() && self.far.holds_nothing(),
        };
        has_ended && is_quiet && is_complete && self.leaves_no_receives(plan)
    }

    /// True if a flush of the responder ends the receive request that a message has taken, if one has.
    fn leaves_no_receives(&self, plan: &Plan) -> bool {
        let (mut responder, mut far) = (self.responder.clone(), self.far.clone());
        let content = Content::default();
        responder.flush(&mut Execution { plan, far: &mut far, content, fault: None });
        far.open_receives() == 0
    }
}
