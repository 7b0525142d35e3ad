//! Queue pairs at a host of the simulator: messages of the workload as RDMA WRITEs or SENDs of reliable connections, by the state machines of
//! [`fabricsim_protocols::infiniband`]. A queue pair exists from the first message or packet on that it carries.

mod connection;
pub(super) mod endpoint;
mod report;
mod rules;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;
use std::sync::Arc;

use fabricsim_protocols::infiniband::{Completion, Extra, MAX_MESSAGE, Status, Work};
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Arrival, Message};

use self::connection::{Connection, RequesterReports};
use self::timers::{Timer, Timers};
use super::Finished;
use super::mtu::Mtus;

pub use self::connection::QueuePairCounters;
pub use self::report::QueuePairReport;
pub(crate) use self::rules::{Rules as QueuePairRules, check, out_of_order};

/// A message that has not been acknowledged wholly.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct OpenMessage {
    message: Message,
    /// Work requests that have not ended: a message longer than a work request takes several.
    parts: u32,
    is_response: bool,
    has_failed: bool,
}

/// The queue pairs of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct QueuePairEndpoint {
    #[state(fixed)]
    host: HostId,
    #[state(fixed)]
    rules: Arc<QueuePairRules>,
    #[state(fixed)]
    mtus: Mtus,
    connections: Vec<Connection>,
    /// Numbers of the connections by peer and slot, ascending.
    by_peer: Vec<(u64, u32)>,
    /// The entry that was looked up last: packets of a connection often follow each other.
    latest: (u64, u32),
    /// Connections with requests to be sent: the first is due first.
    listed: VecDeque<u32>,
    /// Connections with responses to be sent, in order.
    answering: VecDeque<u32>,
    timers: Timers,
    /// Messages being sent; `None` where there is none.
    messages: Vec<Option<OpenMessage>>,
    free: Vec<u32>,
    /// Messages opened so far.
    opened: u32,
    /// Messages being sent, without and with responses.
    sending: usize,
    responding: usize,
    /// Messages that have ended and have not been reported to the application.
    finished: Vec<Finished>,
    /// Data that has been placed and has not been reported to the application.
    arrivals: Vec<Arrival>,
    /// Ended work requests, between calls.
    completions: Vec<Completion>,
    /// Packets executed here, and messages that have ended.
    progress: u64,
}

impl QueuePairEndpoint {
    pub(crate) fn new(host: HostId, rules: &Arc<QueuePairRules>) -> Self {
        Self {
            host,
            rules: Arc::clone(rules),
            mtus: Mtus::new(rules.largest),
            connections: Vec::new(),
            by_peer: Vec::new(),
            latest: (u64::MAX, 0),
            listed: VecDeque::new(),
            answering: VecDeque::new(),
            timers: Timers::default(),
            messages: Vec::new(),
            free: Vec::new(),
            opened: 0,
            sending: 0,
            responding: 0,
            finished: Vec::new(),
            arrivals: Vec::new(),
            completions: Vec::new(),
            progress: 0,
        }
    }

    /// Sets the largest packets by destination, the same in both directions, for connections that begin later.
    pub(crate) fn set_path_mtus(&mut self, paths: &[u32], groups: u32) {
        self.mtus.set_paths(paths, groups);
    }

    /// Responses being sent.
    pub(crate) fn responses(&self) -> usize {
        self.responding
    }

    /// The messages that are being sent.
    pub(crate) fn sending(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().flatten().map(|open| &open.message)
    }

    /// Packets executed, and messages that have ended.
    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    /// True if all is sent and acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.sending == 0 && self.answering.is_empty()
    }

    /// True if all messages created before `time` have ended.
    pub(crate) fn has_finished_before(&self, time: Time) -> bool {
        self.sending().all(|message| message.created >= time)
    }

    /// The number of the connection to a peer; it begins if there is none.
    #[inline]
    fn connection(&mut self, peer: HostId, slot: u32) -> u32 {
        let key = u64::from(peer.0) << 32 | u64::from(slot);
        if self.latest.0 != key {
            self.latest = (key, self.search_connection(peer, slot, key));
        }
        self.latest.1
    }

    fn search_connection(&mut self, peer: HostId, slot: u32, key: u64) -> u32 {
        match self.by_peer.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(place) => self.by_peer[place].1,
            Err(place) => {
                let number = self.connections.len() as u32;
                let mtu = self.rules.path_mtu(self.mtus.to(peer));
                self.connections.push(Connection::new(&self.rules, (self.host, peer), slot, mtu));
                self.by_peer.insert(place, (key, number));
                number
            }
        }
    }

    /// Posts the work requests of a message.
    fn post(&mut self, number: u32, message: &Message, tag: u32) {
        let connection = &mut self.connections[number as usize];
        let mut reports = RequesterReports::new(&mut self.completions);
        let mut left = message.bytes;
        for part in 0_u32.. {
            let length = left.min(u64::from(MAX_MESSAGE)) as u32;
            left -= u64::from(length);
            let work = Work {
                id: u64::from(part) << 32 | u64::from(tag),
                verb: self.rules.verb,
                length,
                extra: Extra::None,
                signaled: true,
                solicited: false,
                fence: false,
            };
            let Ok(()) = connection.requester.post(work, &mut reports) else {
                unreachable!("a work request is not longer than the longest")
            };
            if left == 0 {
                break;
            }
        }
        self.list(number);
    }

    /// Lists a connection that has something to send; takes another one off the list.
    #[inline]
    fn list(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        let has_more = connection.requester.has_more();
        if has_more == connection.is_listed {
            return;
        }
        connection.is_listed = has_more;
        if has_more {
            self.listed.push_back(number);
        } else {
            self.listed.retain(|&other| other != number);
        }
    }

    /// The connection of a turn has sent a packet: it is the last one in turn, or not listed any more.
    #[inline]
    fn take_turn(&mut self, turn: usize, has_more: bool) {
        if has_more && self.listed.len() == 1 {
            return;
        }
        let Some(number) = self.listed.remove(turn) else { return };
        self.connections[number as usize].is_listed = has_more;
        if has_more {
            self.listed.push_back(number);
        }
    }

    /// Sets or stops the timer of a requester, if it asks for that.
    #[inline]
    fn set_timer(&mut self, number: u32, timer: Option<bool>, now: Time) {
        let connection = &mut self.connections[number as usize];
        if let (Some(runs), Some(time)) = (timer, self.rules.timeout) {
            connection.deadline = if runs { now + time } else { Time::MAX };
            if connection.deadline < connection.scheduled {
                connection.scheduled = connection.deadline;
                self.timers.set(connection.deadline, number, Timer::Retry);
            }
        }
    }

    /// Carries out the reports of a requester.
    fn carry_out(&mut self, number: u32, timer: Option<bool>, wait: Option<Time>, now: Time) {
        self.set_timer(number, timer, now);
        if let Some(time) = wait {
            self.timers.set(now + time, number, Timer::Ready);
        }
        let connection = &self.connections[number as usize];
        if connection.requester.is_broken() && !connection.responder.is_broken() {
            self.break_off(number);
        }
        self.list(number);
        if !self.completions.is_empty() {
            self.end_all(number);
        }
    }

    /// The reported work requests have ended.
    fn end_all(&mut self, number: u32) {
        let mut completions = std::mem::take(&mut self.completions);
        for completion in completions.drain(..) {
            self.end(number, completion);
        }
        self.completions = completions;
    }

    /// A queue pair is in the error state: it does not answer any more.
    fn break_off(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        connection.break_off();
        if std::mem::take(&mut connection.is_answering) {
            self.answering.retain(|&other| other != number);
        }
    }

    /// A work request has ended; with the last one of a message the message.
    fn end(&mut self, number: u32, completion: Completion) {
        let place = completion.id as u32;
        let Some(open) = &mut self.messages[place as usize] else { return };
        open.has_failed |= completion.status != Status::Success;
        open.parts -= 1;
        if open.parts > 0 {
            return;
        }
        let counters = &mut self.connections[number as usize].counters;
        if open.has_failed {
            counters.failed += 1;
        } else {
            counters.messages += 1;
        }
        self.finished.push(Finished { stream: open.message.stream, tag: open.message.tag });
        self.sending -= 1;
        self.responding -= usize::from(open.is_response);
        self.progress += 1;
        self.messages[place as usize] = None;
        self.free.push(place);
    }
}
