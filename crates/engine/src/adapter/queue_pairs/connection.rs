//! A queue pair: requester and responder of a reliable connection, with their timers.

use fabricsim_model::Packet;
use fabricsim_protocols::infiniband::{
    Access, Atomic, Completion, Ignored, Placement, Receive, Received, Remote, Requester, RequesterOutbox,
    Responder, ResponderOutbox,
};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Headers, RnrTimer};
use fabricsim_wire::ids::RKey;

use super::rules::Rules;

/// Counters of a queue pair over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct QueuePairCounters {
    /// Messages that were acknowledged wholly.
    pub messages: u64,
    /// Messages that failed: their queue pair was in the error state, or went there.
    pub failed: u64,
    /// Packets with data sent, all copies.
    pub packets: u64,
    /// Of these, those that had been sent before.
    pub retransmitted: u64,
    /// Times at which the timer ended.
    pub timeouts: u64,
    /// Packets of the other end whose data is in memory.
    pub executed: u64,
    /// Packets of the other end that were not: they came again, or too early.
    pub dropped: u64,
    /// Packets of the other end that had overtaken others, and were held until those came.
    pub held: u64,
    /// Packets of the other end that were lost as they arrived.
    pub lost: u64,
    /// Acknowledgements sent.
    pub acknowledgements: u64,
    /// NAKs sent because a packet was missing.
    pub sequence_naks: u64,
    /// NAKs sent because there was no receive request.
    pub rnr_naks: u64,
}

/// One end of a connection.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct Connection {
    pub(super) peer: HostId,
    pub(super) slot: u32,
    pub(super) requester: Requester,
    pub(super) responder: Responder,
    /// Time at which the requester's timer ends; [`Time::MAX`] if it does not run.
    pub(super) deadline: Time,
    /// Time for which the end of the timer is scheduled: at or before `deadline`.
    pub(super) scheduled: Time,
    /// Receive requests, if they are counted.
    pub(super) receives: u32,
    /// It is in the list of those with requests to be sent, or responses.
    pub(super) is_listed: bool,
    pub(super) is_answering: bool,
    pub(super) counters: QueuePairCounters,
    /// Packets of the other end that are held, and those that have just been executed.
    pub(super) overtakers: Overtakers,
}

impl Connection {
    /// The queue pair in `slot` of `host` for `peer`.
    pub(super) fn new(rules: &Rules, (host, peer): (HostId, HostId), slot: u32, mtu: u32) -> Self {
        let there = rules.number(host, slot);
        let first = Psn::new(0);
        Self {
            peer,
            slot,
            requester: Requester::new(rules.requester(there, mtu), first),
            responder: Responder::new(rules.responder(there, mtu), first),
            deadline: Time::MAX,
            scheduled: Time::MAX,
            receives: rules.receives().unwrap_or(0),
            is_listed: false,
            is_answering: false,
            counters: QueuePairCounters::default(),
            overtakers: Overtakers::default(),
        }
    }
}

impl Connection {
    /// The queue pair is in the error state: it does not answer any more, and what is held is dropped.
    pub(super) fn break_off(&mut self) {
        self.overtakers = Overtakers::default();
        self.responder.flush(&mut Ignored);
    }

    /// A request packet of the other end has arrived. Returns what its responder reports.
    pub(super) fn receive(
        &mut self,
        headers: &Headers,
        (packet, payload): (&Packet, u32),
        counts_receives: bool,
    ) -> Executed {
        let mut reports = ResponderReports {
            packet,
            payload,
            is_held: false,
            resumed: None,
            overtakers: &mut self.overtakers,
            receives: counts_receives.then_some(&mut self.receives),
            is_placed: false,
            ended: 0,
        };
        self.responder.receive(headers, payload, &mut reports);
        let ResponderReports { is_held, is_placed, ended, .. } = reports;
        let counters = &mut self.counters;
        counters.held += u64::from(is_held);
        let late = self.overtakers.executed.iter().filter(|(_, was_placed)| !was_placed);
        counters.executed += u64::from(is_placed) + late.count() as u64;
        counters.dropped += u64::from(!is_placed && !is_held);
        Executed { is_placed, is_held, ended }
    }
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    /// Its payload is in memory.
    pub(super) is_placed: bool,
    /// It is held until others have come.
    pub(super) is_held: bool,
    /// Receive requests that have ended.
    pub(super) ended: u32,
}

/// Reports of a requester in one call.
#[derive(Debug)]
pub(super) struct RequesterReports<'a> {
    /// The timer is to be set (true) or stopped.
    pub(super) timer: Option<bool>,
    /// Nothing is sent for a time.
    pub(super) wait: Option<RnrTimer>,
    pub(super) completions: &'a mut Vec<Completion>,
}

impl<'a> RequesterReports<'a> {
    pub(super) fn new(completions: &'a mut Vec<Completion>) -> Self {
        Self { timer: None, wait: None, completions }
    }
}

impl RequesterOutbox for RequesterReports<'_> {
    fn timer(&mut self, runs: bool) {
        self.timer = Some(runs);
    }

    fn wait(&mut self, time: RnrTimer) {
        self.wait = Some(time);
    }

    fn read(&mut self, _id: u64, _offset: u32, _length: u32) {}

    fn complete(&mut self, completion: Completion) {
        self.completions.push(completion);
    }
}

/// Packets that have overtaken others of their queue pair.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(super) struct Overtakers {
    held: Vec<(Psn, Packet, bool)>,
    /// Packets that were held and have been executed since, with the bytes of their payload, and whether these were in memory before.
    pub(super) executed: Vec<(Packet, bool)>,
}

/// Reports of a responder in one call. Its memory takes everything: messages of the workload have no content.
#[derive(Debug)]
pub(super) struct ResponderReports<'a> {
    /// The packet that has arrived.
    pub(super) packet: &'a Packet,
    /// Bytes of its payload.
    pub(super) payload: u32,
    /// It is held.
    pub(super) is_held: bool,
    /// A packet that was held is being executed.
    pub(super) resumed: Option<Packet>,
    pub(super) overtakers: &'a mut Overtakers,
    /// Receive requests; `None` if there is always one.
    pub(super) receives: Option<&'a mut u32>,
    /// The payload of the packet that has arrived is in memory.
    pub(super) is_placed: bool,
    /// Receive requests that have ended.
    pub(super) ended: u32,
}

impl ResponderOutbox for ResponderReports<'_> {
    fn allows(&mut self, _: Remote, _: u32, _: Access) -> bool {
        true
    }

    fn take_receive(&mut self) -> Option<Receive> {
        if let Some(left) = &mut self.receives {
            **left = left.checked_sub(1)?;
        }
        Some(Receive { id: 0, length: u32::MAX })
    }

    fn receives_left(&mut self) -> u32 {
        self.receives.as_ref().map_or(u32::MAX, |left| **left)
    }

    fn place(&mut self, _: Placement, _: u32) {
        match self.resumed.take() {
            Some(packet) => self.overtakers.executed.push((packet, false)),
            None => self.is_placed = true,
        }
    }

    fn hold(&mut self, psn: Psn, is_placed: bool) {
        self.is_held = true;
        let packet = Packet { bytes: self.payload, ..*self.packet };
        self.overtakers.held.push((psn, packet, is_placed));
    }

    fn resume(&mut self, psn: Psn) {
        self.resumed = None;
        let Some(place) = self.overtakers.held.iter().position(|&(other, ..)| other == psn) else { return };
        let (_, packet, is_placed) = self.overtakers.held.swap_remove(place);
        if is_placed {
            self.overtakers.executed.push((packet, true));
        } else {
            self.resumed = Some(packet);
        }
    }

    fn atomic(&mut self, _: Remote, _: Atomic) -> u64 {
        0
    }

    fn invalidate(&mut self, _: RKey) -> bool {
        true
    }

    fn complete(&mut self, _: Received) {
        self.ended += 1;
    }
}
