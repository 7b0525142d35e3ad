//! Two ports with their datagrams and timers, and the rules that hold after every step.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use fabricsim_wire::Record;
use fabricsim_wire::ids::{CommId, Lid};
use fabricsim_wire::mad::cm::{CmMad, CmMessage};

use super::super::{CmEvent, CmOutbox, CmState, Connection, Manager};
use super::RETRIES;

/// Kind of event, as the programs have seen them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Seen {
    Requested,
    Replied,
    Established,
    Rejected,
    Unreachable,
    Disconnected,
    Exit,
    /// Of a service, which has a check of its own.
    Resolution,
    /// Of an alternate path.
    Path,
}

/// What is known of alternate paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PathSeen {
    /// A LAP is sent, or has arrived.
    Sent,
    /// It is answered, or given up.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Events in an order that no program expects.
    Order,
    /// One request makes two connections.
    Twice,
    /// A queue pair has two connections.
    Stale,
    /// A message that must be answered is not.
    Unanswered,
    /// An end gives up although fewer messages were lost than it may retransmit.
    GaveUp,
    /// More copies than allowed.
    Copies,
    /// An end is established, and the other one has not accepted.
    Agreement,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct World {
    pub(super) ends: [Manager; 2],
    /// Datagrams to each end.
    pub(super) wires: [Vec<CmMad>; 2],
    /// Timers that run, in the order in which they were set: they end in this order, since all but that of TimeWait are as long.
    pub(super) timers: Vec<(usize, CommId)>,
    pub(super) logs: [BTreeMap<CommId, Vec<Seen>>; 2],
    /// Copies of a REQ, REP or DREQ that an end has sent.
    pub(super) sent: BTreeMap<(usize, u16, u32), u8>,
    pub(super) requests: u8,
    pub(super) restarts: u8,
    pub(super) losses: u8,
    pub(super) duplicates: u8,
    pub(super) early: u8,
    pub(super) loads: u8,
    /// LAPs of the first end and what it has seen of them; LAPs that the second end has seen.
    pub(super) paths: [Vec<PathSeen>; 2],
    pub(super) fault: Option<u8>,
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in &self.ends {
            end.next.hash(state);
            for (id, of) in &end.connections {
                (id, of.peer, of.peer_id, of.qpn, of.peer_qpn, of.state, of.retries).hash(state);
                of.last.map(|mad| bytes(&mad)).hash(state);
                of.is_active.hash(state);
                if let Some(path) = &of.path {
                    (path.state, path.transaction, path.retries).hash(state);
                    path.last.map(|mad| bytes(&mad)).hash(state);
                }
            }
        }
        for wire in &self.wires {
            wire.len().hash(state);
            for mad in wire {
                bytes(mad).hash(state);
            }
        }
        (&self.timers, &self.logs, &self.sent).hash(state);
        (self.loads, &self.paths).hash(state);
        (self.requests, self.restarts, self.losses, self.duplicates, self.early, self.fault).hash(state);
    }
}

pub(super) fn bytes(mad: &CmMad) -> [u8; 256] {
    mad.to_bytes::<256>().unwrap()
}

/// Reports of a manager in one step.
#[derive(Default)]
pub(super) struct Out {
    pub(super) sent: Vec<CmMad>,
    pub(super) timers: Vec<(CommId, bool)>,
    pub(super) events: Vec<CmEvent>,
}

impl CmOutbox for Out {
    fn send(&mut self, _: Lid, mad: CmMad) {
        self.sent.push(mad);
    }

    fn timer(&mut self, id: CommId, code: Option<u8>) {
        self.timers.push((id, code.is_some()));
    }

    fn event(&mut self, event: CmEvent) {
        self.events.push(event);
    }
}

pub(super) const FAULTS: [Fault; 7] = [
    Fault::Order,
    Fault::Twice,
    Fault::Stale,
    Fault::Unanswered,
    Fault::GaveUp,
    Fault::Copies,
    Fault::Agreement,
];

impl World {
    pub(super) fn break_rule(&mut self, fault: Fault) {
        let place = FAULTS.iter().position(|&other| other == fault);
        self.fault = self.fault.or(place.map(|place| place as u8));
    }

    pub(super) fn take(&mut self, end: usize, out: Out, used: u8) {
        for mad in out.sent {
            self.count(end, &mad);
            self.wires[1 - end].push(mad);
        }
        for (id, runs) in out.timers {
            self.timers.retain(|&timer| timer != (end, id));
            if runs {
                self.timers.push((end, id));
            }
        }
        for event in out.events {
            let (id, seen) = kind(&event);
            if seen == Seen::Path {
                self.take_path_event(end, &event, used);
                continue;
            }
            if seen == Seen::Unreachable && used <= RETRIES {
                self.break_rule(Fault::GaveUp);
            }
            let log = self.logs[end].entry(id).or_default();
            let is_expected = follows(log.last().copied(), seen);
            log.push(seen);
            if !is_expected {
                self.break_rule(Fault::Order);
            }
        }
        self.check();
    }

    /// The second end sees each LAP once; the first one sees one answer, or none if more is lost than it may retransmit.
    fn take_path_event(&mut self, end: usize, event: &CmEvent, used: u8) {
        if end == 1 {
            self.paths[1].push(PathSeen::Sent);
            let sent = self.paths[0].iter().filter(|seen| **seen == PathSeen::Sent).count();
            if self.paths[1].len() > sent {
                self.break_rule(Fault::Twice);
            }
            return;
        }
        if self.paths[0].last() != Some(&PathSeen::Sent) {
            self.break_rule(Fault::Order);
        }
        if matches!(event, CmEvent::PathUnanswered(_)) && used <= RETRIES {
            self.break_rule(Fault::GaveUp);
        }
        self.paths[0].push(PathSeen::Ended);
    }

    fn count(&mut self, end: usize, mad: &CmMad) {
        let id = match mad.message() {
            Some(CmMessage::REQ(req)) => req.local_comm_id,
            Some(CmMessage::REP(rep)) => rep.local_comm_id,
            Some(CmMessage::DREQ(dreq)) => dreq.local_comm_id,
            _ => return,
        };
        let copies = self.sent.entry((end, mad.header.attribute.0, id.0)).or_default();
        *copies += 1;
        if *copies > 1 + RETRIES {
            self.break_rule(Fault::Copies);
        }
    }

    fn check(&mut self) {
        let live = |of: &&Connection| of.state != CmState::TimeWait;
        let of: Vec<_> = self.ends[1].connections.values().filter(live).cloned().collect();
        for (place, one) in of.iter().enumerate() {
            for other in &of[..place] {
                if one.peer_id == other.peer_id {
                    self.break_rule(Fault::Twice);
                } else if one.peer_qpn == other.peer_qpn {
                    self.break_rule(Fault::Stale);
                }
            }
        }
        // Who is established knows the number of an end that has accepted.
        let unknown = self.ends[0].connections.values().any(|of| {
            let peer = of.peer_id.unwrap_or_default();
            of.state == CmState::Established && !self.sent.contains_key(&(1, 0x13, peer.0))
        });
        if unknown {
            self.break_rule(Fault::Agreement);
        }
    }
}

pub(super) fn kind(event: &CmEvent) -> (CommId, Seen) {
    match *event {
        CmEvent::Requested(id, ..) => (id, Seen::Requested),
        CmEvent::Replied(id, _) => (id, Seen::Replied),
        CmEvent::Established(id) => (id, Seen::Established),
        CmEvent::Rejected(id, ..) => (id, Seen::Rejected),
        CmEvent::Unreachable(id) => (id, Seen::Unreachable),
        CmEvent::Disconnected(id) => (id, Seen::Disconnected),
        CmEvent::TimeWaitExit(id) => (id, Seen::Exit),
        CmEvent::PathRequested(id, _) | CmEvent::PathAnswered(id, _) | CmEvent::PathUnanswered(id) => {
            (id, Seen::Path)
        }
        CmEvent::Resolving(id, ..) | CmEvent::Resolved(id, _) => (id, Seen::Resolution),
    }
}

/// True if a program may see an event after another one of the same connection.
pub(super) fn follows(before: Option<Seen>, seen: Seen) -> bool {
    match before {
        None => matches!(seen, Seen::Requested | Seen::Replied | Seen::Rejected | Seen::Unreachable),
        Some(Seen::Requested) => {
            matches!(seen, Seen::Established | Seen::Rejected | Seen::Unreachable | Seen::Disconnected)
        }
        Some(Seen::Replied) => matches!(seen, Seen::Established | Seen::Rejected),
        Some(Seen::Established) => seen == Seen::Disconnected,
        Some(Seen::Disconnected) => seen == Seen::Exit,
        Some(Seen::Rejected | Seen::Unreachable | Seen::Exit | Seen::Resolution | Seen::Path) => false,
    }
}
