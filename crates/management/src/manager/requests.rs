//! Requests outstanding: at most a number of them at once; those without an answer are repeated, and given up at last.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_units::Time;
use fabricsim_wire::ids::TransactionId;
use fabricsim_wire::mad::Method;
use fabricsim_wire::mad::smp::{DirectedSmp, SmpAttribute};

use super::Counters;

/// Reason for which a request was made: it selects what the answer changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The node behind a port of a known node; of the manager's own node, port 0.
    Discover { from: usize, port: u8 },
    /// Description of a node.
    Description(usize),
    /// Tables of a switch.
    Switch(usize),
    /// Clearing the change of a switch's ports.
    Acknowledge(usize),
    /// A port of a switch, whose change was cleared.
    PortAgain { node: usize, port: u8 },
    /// A port of a node.
    Port { node: usize, port: u8 },
    /// The manager on a port of a node.
    OtherManager { node: usize },
    /// An attribute was set.
    Set,
    /// Setting this block of a switch's forwarding table.
    Block { node: usize },
    /// Setting a table of quality of service or partitions of a node.
    Quality { node: usize },
    /// A light sweep: has a port of the switch changed?
    Light,
    /// Is the master alive?
    Poll,
    /// Another manager becomes master.
    HandOver,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) purpose: Purpose,
    pub(super) method: Method,
    pub(super) attribute: SmpAttribute,
    pub(super) modifier: u32,
    /// Ports by which it travels.
    pub(super) path: Box<[u8]>,
    /// Number of times that it was sent.
    sent: u32,
}

impl Request {
    pub(super) fn get(purpose: Purpose, attribute: SmpAttribute, modifier: u32, path: &[u8]) -> Self {
        Self { purpose, method: Method::GET, attribute, modifier, path: path.into(), sent: 0 }
    }

    pub(super) fn set(purpose: Purpose, attribute: SmpAttribute, modifier: u32, path: &[u8]) -> Self {
        Self { method: Method::SET, ..Self::get(purpose, attribute, modifier, path) }
    }
}

/// Requests that wait, and requests outstanding.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    waiting: VecDeque<Request>,
    /// By transaction, with the time at which the answer is overdue.
    under_way: BTreeMap<u64, (Time, Request)>,
    next: u64,
    limit: usize,
    timeout: Time,
    retries: u32,
}

impl Requests {
    /// At most `limit` at once; `timeout` for an answer, after which a request is repeated up to `retries` times.
    pub(super) fn new(limit: u16, timeout: Time, retries: u32) -> Self {
        let limit = usize::from(limit.max(1));
        Self { waiting: VecDeque::new(), under_way: BTreeMap::new(), next: 0, limit, timeout, retries }
    }

    pub(super) fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// True if nothing waits and nothing is outstanding.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    /// Forgets everything: answers that still come are not known.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.under_way.clear();
    }

    /// The next request to send now, if one may be sent.
    pub(super) fn send(&mut self, now: Time, counters: &mut Counters) -> Option<DirectedSmp> {
        while self.under_way.len() < self.limit {
            let mut request = self.waiting.pop_front()?;
            self.next += 1;
            let transaction = TransactionId(self.next);
            let Ok(smp) = DirectedSmp::new(request.method, transaction, &request.path)
                .and_then(|smp| smp.with(&request.attribute, request.modifier))
            else {
                // More hops than a directed route can have: the node cannot be reached.
                counters.unreachable += 1;
                continue;
            };
            counters.sent += 1;
            counters.repeated += u64::from(request.sent > 0);
            request.sent += 1;
            self.under_way.insert(self.next, (now.saturating_add(self.timeout), request));
            return Some(smp);
        }
        None
    }

    /// The request that this answers; `None` if it is not known, or answered already.
    pub(super) fn answered(&mut self, answer: &DirectedSmp) -> Option<Request> {
        self.under_way.remove(&answer.transaction.0).map(|(_, request)| request)
    }

    /// Time at which the first answer is overdue.
    pub(super) fn overdue_at(&self) -> Option<Time> {
        self.under_way.values().map(|(at, _)| *at).min()
    }

    /// Repeats what is overdue at `now`; returns the requests that have been repeated often enough.
    pub(super) fn expire(&mut self, now: Time) -> Vec<Request> {
        let overdue: Vec<u64> =
            self.under_way.iter().filter(|(_, (at, _))| *at <= now).map(|(&number, _)| number).collect();
        let mut given_up = Vec::new();
        for number in overdue {
            let Some((_, request)) = self.under_way.remove(&number) else { continue };
            if request.sent > self.retries {
                given_up.push(request);
            } else {
                self.waiting.push_front(request);
            }
        }
        given_up
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_wire::mad::smp::NodeInfo;

    use super::*;

    fn requests(limit: u16, count: usize) -> Requests {
        let mut requests = Requests::new(limit, Time::us(10), 2);
        for _ in 0..count {
            requests.push(Request::get(Purpose::Set, SmpAttribute::NodeInfo(NodeInfo::default()), 0, &[1]));
        }
        requests
    }

    #[test]
    fn no_more_than_the_limit_are_under_way() {
        let (mut requests, mut counters) = (requests(2, 3), Counters::default());
        let first = requests.send(Time::ZERO, &mut counters).unwrap();
        let second = requests.send(Time::ZERO, &mut counters).unwrap();
        assert_ne!(first.transaction, second.transaction);
        assert!(requests.send(Time::ZERO, &mut counters).is_none());
        assert!(requests.answered(&first).is_some());
        assert!(requests.answered(&first).is_none(), "an answer counts once");
        assert!(requests.send(Time::ZERO, &mut counters).is_some());
        assert_eq!((counters.sent, requests.is_empty()), (3, false));
    }

    #[test]
    fn a_request_is_sent_three_times_in_all() {
        let (mut requests, mut counters) = (requests(1, 1), Counters::default());
        for round in 1..=3 {
            let now = Time::us(10 * (round - 1));
            assert!(requests.send(now, &mut counters).is_some());
            assert_eq!(requests.overdue_at(), Some(Time::us(10 * round)));
            assert!(requests.expire(Time(Time::us(10 * round).0 - 1)).is_empty());
            assert_eq!(requests.expire(Time::us(10 * round)).len(), usize::from(round == 3));
        }
        assert!(requests.is_empty());
        assert_eq!((counters.sent, counters.repeated), (3, 2));
    }

    #[test]
    fn a_route_that_is_too_long_is_given_up() {
        let (mut requests, mut counters) = (Requests::new(1, Time::us(1), 0), Counters::default());
        let attribute = SmpAttribute::NodeInfo(NodeInfo::default());
        requests.push(Request::get(Purpose::Set, attribute, 0, &[1; 64]));
        assert!(requests.send(Time::ZERO, &mut counters).is_none());
        assert_eq!((counters.unreachable, requests.is_empty()), (1, true));
    }
}
