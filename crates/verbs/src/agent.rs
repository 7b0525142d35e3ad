//! Communication management of an adapter: its datagrams to queue pair 1, their times, and the events of programs.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_protocols::infiniband::Packet;
use fabricsim_protocols::infiniband::communication::{CmEvent, CmOutbox, Manager, ManagerOptions};
use fabricsim_units::Time;
use fabricsim_wire::headers::{Address, Bth, Deth, Headers, Opcode, Operands, Operation, Service};
use fabricsim_wire::ids::{CommId, Lid, PKey, QKey, Qpn, ServiceId};
use fabricsim_wire::mad::cm::CmMad;
use fabricsim_wire::{Psn, Record};

/// Bytes of a management datagram (section 13.4.2).
pub(crate) const MAD: u32 = 256;

/// Queue key of general services (section 10.2.5).
const GENERAL_Q_KEY: QKey = QKey(0x8001_0000);

/// The unit of time-outs: 4.096 us.
const UNIT_NS: u64 = 4096;

/// Time of a code: 4.096 us x 2^n.
pub(crate) fn time_of(code: u8) -> Time {
    Time::ns(UNIT_NS << code.min(31))
}

/// The agent of an adapter.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) manager: Manager,
    /// Datagrams that have arrived, with the times at which the host handles them.
    pub(crate) inbox: VecDeque<(Time, Lid, CmMad)>,
    /// Datagrams that the host has given to the adapter, with the times at which it has them.
    pub(crate) outbox: VecDeque<(Time, Lid, CmMad)>,
    /// Those that the adapter has.
    pub(crate) ready: VecDeque<(Lid, CmMad)>,
    /// Ends of timers.
    pub(crate) deadlines: BTreeMap<CommId, Time>,
    /// Channel of each connection's events, and of each service's requests.
    pub(crate) channels: BTreeMap<CommId, u32>,
    pub(crate) services: BTreeMap<ServiceId, u32>,
    /// Events by channel, with the times from which a program sees them.
    pub(crate) events: BTreeMap<u32, VecDeque<(Time, CmEvent)>>,
    /// Number of the next packet of queue pair 1.
    next: Psn,
}

/// Number of an adapter's first connection.
const FIRST: u32 = 1;

impl Agent {
    pub(crate) fn new(options: ManagerOptions) -> Self {
        Self {
            manager: Manager::new(options, FIRST),
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            ready: VecDeque::new(),
            deadlines: BTreeMap::new(),
            channels: BTreeMap::new(),
            services: BTreeMap::new(),
            events: BTreeMap::new(),
            next: Psn::new(0),
        }
    }

    /// Executes what the manager has reported in one call.
    pub(crate) fn carry_out(&mut self, reports: Reports, (sent, visible, now): (Time, Time, Time)) {
        for (to, mad) in reports.sent {
            self.outbox.push_back((sent, to, mad));
        }
        for (id, code) in reports.timers {
            match code {
                Some(code) => self.deadlines.insert(id, now.saturating_add(time_of(code))),
                None => self.deadlines.remove(&id),
            };
        }
        for event in reports.events {
            let id = event.id();
            let service = match event {
                CmEvent::Requested(_, _, req) => Some(req.service_id),
                CmEvent::Resolving(_, _, req) => Some(req.service_id),
                _ => None,
            };
            if let Some(&channel) = service.and_then(|service| self.services.get(&service)) {
                self.channels.insert(id, channel);
            }
            let Some(&channel) = self.channels.get(&id) else { continue };
            self.events.entry(channel).or_default().push_back((visible, event));
            if !self.manager.knows(id) {
                self.channels.remove(&id);
                self.deadlines.remove(&id);
            }
        }
    }

    /// The earliest time at which something is to be done.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        let inbox = self.inbox.front().map(|(at, ..)| *at);
        let outbox = self.outbox.front().map(|(at, ..)| *at);
        self.deadlines.values().copied().chain(inbox).chain(outbox).min()
    }

    /// The next datagram as a packet; `takes`: it is sent.
    pub(crate) fn packet(&self) -> Packet {
        let opcode = Opcode::new(Service::Ud, Operation::SendOnly).unwrap_or_default();
        let bth = Bth {
            opcode,
            migrated: true,
            p_key: PKey::DEFAULT,
            dest_qp: Qpn::GENERAL_SERVICES,
            psn: self.next,
            ..Bth::default()
        };
        let address = Address::Datagram(Deth { q_key: GENERAL_Q_KEY, src_qp: Qpn::GENERAL_SERVICES });
        let headers = Headers { bth, address, operands: Operands::None };
        Packet { headers, message: 0, offset: 0, length: MAD }
    }

    /// A packet was sent.
    pub(crate) fn count_packet(&mut self) {
        self.next = self.next.next();
    }
}

/// The datagram of a packet to queue pair 1; `None` if it is none of communication management.
pub(crate) fn datagram(headers: &Headers, (length, content): (u32, Option<&[u8]>)) -> Option<CmMad> {
    let Address::Datagram(deth) = headers.address else { return None };
    let is_send = headers.bth.opcode.operation() == Some(Operation::SendOnly);
    if !is_send || deth.q_key != GENERAL_Q_KEY || length != MAD {
        return None;
    }
    let mad = CmMad::parse(content?).ok()?;
    (mad.header.class == fabricsim_wire::mad::MgmtClass::COMMUNICATION).then_some(mad)
}

/// Reports of the manager in one call.
#[derive(Default)]
pub(crate) struct Reports {
    sent: Vec<(Lid, CmMad)>,
    timers: Vec<(CommId, Option<u8>)>,
    events: Vec<CmEvent>,
}

impl CmOutbox for Reports {
    fn send(&mut self, to: Lid, mad: CmMad) {
        self.sent.push((to, mad));
    }

    fn timer(&mut self, id: CommId, code: Option<u8>) {
        self.timers.push((id, code));
    }

    fn event(&mut self, event: CmEvent) {
        self.events.push(event);
    }
}
