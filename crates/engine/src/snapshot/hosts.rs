use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::Message;

use crate::adapter::{Adapter, Protocol};
use crate::engine::Engine;

/// State of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostState {
    /// The host.
    pub host: HostId,
    /// Sending port of its link.
    pub port: u32,
    /// True if it opens no messages ([`Engine::set_traffic`]).
    pub is_stopped: bool,
    /// True if it has a transport: messages are being sent until they are acknowledged.
    pub has_transport: bool,
    /// Packets that it has sent.
    pub sent: u64,
    /// Time at which its link has carried the last packet.
    pub link_busy_until: Time,
    /// Time since which its link has been idle because the buffer at the other end is full; `None` if it is not.
    pub blocked_since: Option<Time>,
    /// Latest time until which congestion control rate-limits one of the messages; `None` if it limits none.
    pub rate_limited_until: Option<Time>,
    /// Messages that it is sending.
    pub messages: Vec<PendingMessage>,
    /// Time at which its next message is created; at most now if the message waits until another is sent.
    pub next_message: Option<Time>,
    /// Responses that it has created and not sent wholly.
    pub pending_responses: usize,
}

/// A message that a host is sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingMessage {
    /// Receiver; of a message whose packets have several, that of the next packet.
    pub destination: HostId,
    /// Stream of the message.
    pub stream: u16,
    /// Time at which it was created.
    pub created: Time,
    /// Bytes that have not been sent; with a transport all bytes of the message, until it is acknowledged.
    pub bytes: u64,
}

/// All hosts, by number.
pub(super) fn take<B: Observer>(engine: &Engine<B>) -> Vec<HostState> {
    let now = engine.now();
    let states = engine.partitions.iter().flat_map(|partition| {
        let senders = &partition.context.ports.senders;
        partition.adapters.iter().map(move |adapter| {
            let chain = &adapter.chain;
            let sender = &senders[chain.port as usize];
            HostState {
                host: chain.id,
                port: sender.channel,
                is_stopped: chain.stopped,
                has_transport: adapter.acknowledges(),
                sent: chain.sent,
                link_busy_until: sender.busy_until,
                blocked_since: Some(sender.stalled_since).filter(|&since| since < now),
                rate_limited_until: rate_limited_until(adapter, now),
                messages: messages(adapter),
                next_message: chain.app.next(now),
                pending_responses: adapter.pending_responses(),
            }
        })
    });
    let mut states: Vec<HostState> = states.collect();
    states.sort_by_key(|state| state.host);
    states
}

fn messages(adapter: &Adapter) -> Vec<PendingMessage> {
    let whole = |message: &Message| PendingMessage {
        destination: message.destination,
        stream: message.stream,
        created: message.created,
        bytes: message.bytes,
    };
    match &adapter.protocol {
        Protocol::Ordering(endpoint) => endpoint.sending().map(whole).collect(),
        Protocol::QueuePairs(endpoint) => endpoint.sending().map(whole).collect(),
        Protocol::Verbs(_) => Vec::new(),
        Protocol::Datagram(endpoint) => endpoint
            .messages()
            .iter()
            .map(|message| PendingMessage {
                destination: message.destination,
                stream: message.stream,
                created: message.created,
                bytes: message.left,
            })
            .collect(),
    }
}

fn rate_limited_until(adapter: &Adapter, now: Time) -> Option<Time> {
    let mut pacing = adapter.chain.pacing.clone()?;
    let until = messages(adapter)
        .into_iter()
        .map(|message| pacing.rate_limited_until((message.destination, message.stream), now));
    until.filter(|&until| until > now).max()
}
