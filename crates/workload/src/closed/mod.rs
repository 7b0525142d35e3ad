//! Messages that follow from others: requests in a window, responses, and the messages of jobs.
//!
//! A host is notified of the packets that it accepts and of the messages that have left it; the messages that follow
//! wait in its queues until they are sent. The size of a request or a response is a function of its stream, its requester and
//! its number (its tag), so that a receiver recognises a complete message in any
//! order of its packets.

mod queue;
mod requests;
mod shared;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fabricsim_model::Iteration;
use fabricsim_units::{HostId, Time};

use crate::Message;
use crate::job::{LocalMessage, Ranks};
use crate::programs::Step;
use crate::stream::MessageStream;
pub(crate) use queue::Queue;
pub(crate) use requests::Requests;
pub(crate) use shared::{RequestResponse, Role, Shared};

/// A packet that a host has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Arrival {
    /// Sender.
    pub source: HostId,
    /// The stream of its message.
    pub stream: u16,
    /// The tag of its message.
    pub tag: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// Event for measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub enum Event {
    /// A request has its response.
    Answered {
        /// The stream of the request.
        stream: u16,
        /// Time at which the request was created.
        created: Time,
        /// Time at which the response was whole.
        at: Time,
    },
    /// A rank has completed an iteration.
    Iterated(Iteration),
}

/// Output of an arrival: the messages and events that follow.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Out {
    /// Requests and messages of jobs.
    pub(crate) ready: Queue,
    pub(crate) responses: Queue,
    pub(crate) events: Vec<Event>,
    /// Messages between ranks of the host.
    pub(crate) local: VecDeque<LocalMessage>,
    /// Step buffer for calls of the program.
    pub(crate) step: Step,
}

/// The closed-loop side of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Closed {
    #[state(fixed)]
    shared: Arc<Shared>,
    /// Of the streams of requests that the host is a source of.
    #[state(each)]
    requests: Vec<Requests>,
    /// Bytes that are missing of requests of several packets, by stream, requester and tag.
    parts: BTreeMap<(u16, HostId, u32), u64>,
    ranks: Ranks,
    pub(crate) out: Out,
    /// Bytes offered within the window, by stream.
    pub(crate) offered: Vec<(u16, u64)>,
}

impl Closed {
    pub(crate) fn new(shared: Arc<Shared>, requests: Vec<Requests>, ranks: Ranks) -> Self {
        let responses = shared.responses().map(|stream| (stream, 0));
        let offered = responses.chain(ranks.streams().map(|stream| (stream, 0))).collect();
        Self { shared, requests, parts: BTreeMap::new(), ranks, out: Out::default(), offered }
    }

    /// Starts: fills the windows and begins the first steps of the ranks.
    pub(crate) fn start(&mut self, streams: &mut [MessageStream]) {
        for requests in &mut self.requests {
            requests.start(streams, &mut self.out);
        }
        self.ranks.start(&mut self.out);
    }

    /// Ranks of jobs.
    pub(crate) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Time at which the next request or message of a job is ready; [`Time::MAX`] if none is known.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.out.ready.next()
    }

    /// True if messages of `stream` are answered.
    pub(crate) fn is_request(&self, stream: u16) -> bool {
        self.shared.exchange(stream).is_some()
    }

    /// Messages that have not been taken.
    pub(crate) fn waiting(&self) -> usize {
        self.out.ready.len() + self.out.responses.len()
    }

    /// A stream of the host has created a message, which may be a request.
    #[inline]
    pub(crate) fn created(&mut self, message: &Message) {
        if let Some(requests) = self.requests.iter_mut().find(|requests| requests.stream == message.stream) {
            requests.created(message);
        }
    }

    /// The host has accepted a packet.
    pub(crate) fn arrived(&mut self, now: Time, arrival: &Arrival, streams: &mut [MessageStream]) {
        let shared = Arc::clone(&self.shared);
        match shared.role(arrival.stream) {
            Role::Plain => {}
            Role::Request(exchange) => self.requested(now, arrival, exchange),
            Role::Response(exchange) => {
                let place = self.requests.iter().position(|requests| requests.stream == exchange.stream);
                if let Some(place) = place {
                    self.requests[place].answered(now, arrival, streams, &mut self.out);
                }
            }
            Role::Job => self.ranks.arrived(now, arrival, &mut self.out),
        }
    }

    /// The last byte of a message leaves the host at `at`.
    pub(crate) fn left(&mut self, at: Time, stream: u16, tag: u32) {
        self.ranks.left(at, stream, tag, &mut self.out);
    }

    /// A packet of a request: when all are there, the response is created.
    fn requested(&mut self, now: Time, arrival: &Arrival, exchange: &RequestResponse) {
        let size = exchange.request_bytes(arrival.source, arrival.tag);
        let bytes = u64::from(arrival.bytes);
        if size > bytes {
            let key = (exchange.stream, arrival.source, arrival.tag);
            let missing = self.parts.entry(key).or_insert(size);
            *missing -= bytes.min(*missing);
            if *missing > 0 {
                return;
            }
            self.parts.remove(&key);
        }
        self.out.responses.push(Message {
            created: now + exchange.delay,
            destination: arrival.source,
            bytes: exchange.response_bytes(arrival.source, arrival.tag),
            stream: exchange.response,
            tag: arrival.tag,
        });
    }

    /// Counts a message as offered, if it is none of the host's streams.
    pub(crate) fn offer(&mut self, message: &Message) {
        if let Some((_, bytes)) = self.offered.iter_mut().find(|(stream, _)| *stream == message.stream) {
            *bytes = bytes.saturating_add(message.bytes);
        }
    }
}
