use std::collections::BTreeMap;
use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use super::{Arrival, Event, Out, Shared};
use crate::Message;
use crate::stream::MessageStream;

/// The requests of one stream of a host that have no response yet.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Requests {
    #[state(fixed)]
    pub(crate) stream: u16,
    #[state(fixed)]
    shared: Arc<Shared>,
    #[state(fixed)]
    host: HostId,
    /// With a window: the maximum number of requests.
    #[state(fixed)]
    window: Option<u32>,
    open: BTreeMap<u32, Open>,
}

/// A request without its response.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Open {
    created: Time,
    /// Bytes that are missing of its response; `None` before the first.
    missing: Option<u64>,
}

impl Requests {
    pub(crate) fn new(stream: u16, host: HostId, window: Option<u32>, shared: Arc<Shared>) -> Self {
        Self { stream, shared, host, window, open: BTreeMap::new() }
    }

    /// Fills the window.
    pub(super) fn start(&mut self, streams: &mut [MessageStream], out: &mut Out) {
        let Some(stream) = streams.iter_mut().find(|stream| stream.number() == self.stream) else { return };
        for _ in 0..self.window.unwrap_or_default() {
            let start = stream.entry().start;
            self.make(start, stream, out);
        }
    }

    fn make(&mut self, now: Time, stream: &mut MessageStream, out: &mut Out) {
        if let Some(message) = stream.make(now) {
            self.created(&message);
            out.ready.push(message);
        }
    }

    /// A request is created.
    pub(super) fn created(&mut self, message: &Message) {
        self.open.insert(message.tag, Open { created: message.created, missing: None });
    }

    /// A packet of a response has arrived. When the response is complete, the window has room for another request.
    pub(super) fn answered(
        &mut self,
        now: Time,
        arrival: &Arrival,
        streams: &mut [MessageStream],
        out: &mut Out,
    ) {
        let Some(open) = self.open.get_mut(&arrival.tag) else { return };
        let size = || self.shared.exchange(self.stream).map(|e| e.response_bytes(self.host, arrival.tag));
        let missing = open.missing.or_else(size).unwrap_or_default();
        let missing = missing.saturating_sub(u64::from(arrival.bytes));
        if missing > 0 {
            open.missing = Some(missing);
            return;
        }
        out.events.push(Event::Answered { stream: self.stream, created: open.created, at: now });
        self.open.remove(&arrival.tag);
        if self.window.is_some()
            && let Some(stream) = streams.iter_mut().find(|stream| stream.number() == self.stream)
        {
            self.make(now, stream, out);
        }
    }
}
