use std::sync::Arc;

use fabricsim_model::Random;
use fabricsim_units::{HostId, Time};

use crate::purpose::{Purpose, key};
use crate::size::Sizes;

/// Requests and their responses, as all hosts share them.
#[derive(Clone, Debug)]
pub(crate) struct RequestResponse {
    /// The stream of the requests.
    pub(crate) stream: u16,
    /// The stream of the responses.
    pub(crate) response: u16,
    pub(crate) delay: Time,
    pub(crate) seed: u64,
    pub(crate) requests: Arc<Sizes>,
    pub(crate) responses: Arc<Sizes>,
}

impl RequestResponse {
    /// Size of request number `tag` of `requester`: the stream draws one size a message.
    pub(crate) fn request_bytes(&self, requester: HostId, tag: u32) -> u64 {
        self.size(&self.requests, Purpose::Size, requester, tag)
    }

    /// Size of the response to it.
    pub(crate) fn response_bytes(&self, requester: HostId, tag: u32) -> u64 {
        self.size(&self.responses, Purpose::Response, requester, tag)
    }

    fn size(&self, sizes: &Sizes, purpose: Purpose, requester: HostId, tag: u32) -> u64 {
        match sizes {
            Sizes::Fixed(bytes) => *bytes,
            drawn => {
                let random = Random::new(self.seed, purpose as u64, key(self.stream, requester));
                drawn.draw(&mut random.after(u64::from(tag)))
            }
        }
    }
}

/// Role of a stream.
#[derive(Debug)]
pub(crate) enum Role<'a> {
    /// Its messages are not answered.
    Plain,
    /// Its messages are answered.
    Request(&'a RequestResponse),
    /// Its messages are answers.
    Response(&'a RequestResponse),
    /// Its messages are those of a job.
    Job,
}

/// Properties of the streams that all hosts share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Entries of the traffic list.
    entries: usize,
    exchanges: Vec<RequestResponse>,
    /// By entry: the number of its exchange.
    of_entry: Vec<Option<u16>>,
}

impl Shared {
    /// `exchanges` by stream; their responses are the streams after the entries, those of jobs follow.
    pub(crate) fn new(entries: usize, exchanges: Vec<RequestResponse>) -> Self {
        let mut of_entry = vec![None; entries];
        for (number, exchange) in exchanges.iter().enumerate() {
            of_entry[usize::from(exchange.stream)] = Some(number as u16);
        }
        Self { entries, exchanges, of_entry }
    }

    pub(crate) fn role(&self, stream: u16) -> Role<'_> {
        let stream = usize::from(stream);
        if let Some(of_entry) = self.of_entry.get(stream) {
            return of_entry
                .map_or(Role::Plain, |number| Role::Request(&self.exchanges[usize::from(number)]));
        }
        self.exchanges.get(stream - self.entries).map_or(Role::Job, Role::Response)
    }

    /// The exchange of a stream of requests.
    pub(crate) fn exchange(&self, stream: u16) -> Option<&RequestResponse> {
        match self.role(stream) {
            Role::Request(exchange) => Some(exchange),
            _ => None,
        }
    }

    /// The streams of responses.
    pub(crate) fn responses(&self) -> impl Iterator<Item = u16> {
        self.exchanges.iter().map(|exchange| exchange.response)
    }
}
