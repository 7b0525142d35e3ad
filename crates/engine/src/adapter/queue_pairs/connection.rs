//! A queue pair: requester and responder of a reliable connection, with their timers.

use fabricsim_protocols::infiniband::{
    Access, Atomic, Completion, Placement, Receive, Received, Remote, Requester, RequesterOutbox, Responder,
    ResponderOutbox,
};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::RKey;

use super::rules::Rules;

/// Counters of a queue pair over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Packets of the other end that were executed.
    pub executed: u64,
    /// Packets of the other end that were not: they came again, or too early.
    pub dropped: u64,
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
#[derive(Clone, Debug)]
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
        }
    }
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

/// Reports of a responder in one call. Its memory takes everything: messages of the workload have no content.
#[derive(Debug)]
pub(super) struct ResponderReports<'a> {
    /// Receive requests; `None` if there is always one.
    pub(super) receives: Option<&'a mut u32>,
    /// Bytes of the packet's payload, if it was executed.
    pub(super) placed: Option<u32>,
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

    fn place(&mut self, _: Placement, length: u32) {
        self.placed = Some(length);
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
