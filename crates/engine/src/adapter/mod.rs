//! A channel adapter: application, endpoint, pacing and link in a chain. The application creates messages
//! ([`fabricsim_workload::Source`]), the endpoint turns them into packets and back, pacing decides when a flow may send, and
//! [`Chain`] puts packets on the link. Each knows nothing of the others.
//!
//! Adding a protocol: a file with a type that implements [`Endpoint`], and a line in [`Protocol`].

mod admission;
mod arrival_filter;
mod chain;
mod datagram;
mod endpoint;
mod mtu;
mod ordering;
mod pacing;
mod paths;
mod queue_pairs;
mod verbs;

use std::sync::Arc;

use fabricsim_fabric::{AllFeatures, Features, Outbox, PartitionContext, VlTables, VlTurns};
use fabricsim_model::{ExtensionHeaders, LossCause, Observer, Packet};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::Device;

pub(crate) use admission::AdmissionGate;
pub use admission::Refused;
pub(crate) use arrival_filter::ArrivalFilter;
pub(crate) use chain::Chain;
pub(crate) use datagram::DatagramEndpoint;
pub(crate) use endpoint::{Candidate, Endpoint, Finished, NamedPath, OutgoingPacket};
pub use ordering::{HostTransport, transport_bytes, warnings};
pub(crate) use ordering::{OrderingEndpoint, OrderingRules};
pub(crate) use pacing::{Pacing, PacingRules};
pub(crate) use paths::PathChooser;
pub use queue_pairs::{QueuePairCounters, QueuePairReport};
pub(crate) use queue_pairs::{QueuePairEndpoint, QueuePairRules, check as check_queue_pairs, out_of_order};
pub(crate) use verbs::VerbsEndpoint;

/// The protocol of an adapter.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) enum Protocol {
    /// Packets that are not acknowledged.
    Datagram(DatagramEndpoint),
    /// Ordered, synchronized and unordered transfers with acknowledgements.
    Ordering(Box<OrderingEndpoint>),
    /// InfiniBand's reliable connections.
    QueuePairs(Box<QueuePairEndpoint>),
    /// A channel adapter that a program uses by verbs.
    #[state(refuse = "channel adapters of programs (`adapter`)")]
    Verbs(Box<VerbsEndpoint>),
}

/// Evaluates an expression with the endpoint of any type; static dispatch once for each call.
macro_rules! with_endpoint {
    ($protocol:expr, $endpoint:ident => $work:expr) => {
        match $protocol {
            Protocol::Datagram($endpoint) => $work,
            Protocol::Ordering(boxed) => {
                let $endpoint = &mut **boxed;
                $work
            }
            Protocol::QueuePairs(boxed) => {
                let $endpoint = &mut **boxed;
                $work
            }
            Protocol::Verbs(boxed) => {
                let $endpoint = &mut **boxed;
                $work
            }
        }
    };
}

/// A channel adapter with one port. Its sink is on the other side of its link.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Adapter {
    pub(crate) chain: Chain,
    pub(crate) protocol: Protocol,
}

impl Adapter {
    /// Sends a packet if the link is free and one is ready; schedules the next wake-up.
    #[inline(always)]
    pub(crate) fn settle<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        match &mut self.protocol {
            Protocol::Datagram(endpoint) => self.chain.settle::<F, _, _, _, _>(endpoint, context),
            Protocol::Ordering(_) => self.settle_ordering(context),
            Protocol::QueuePairs(_) => self.settle_queue_pairs(context),
            Protocol::Verbs(_) => self.settle_verbs(context),
        }
    }

    #[inline(never)]
    fn settle_ordering<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if let Protocol::Ordering(endpoint) = &mut self.protocol {
            self.chain.settle::<AllFeatures, _, _, _, _>(&mut **endpoint, context);
        }
    }

    #[inline(never)]
    fn settle_queue_pairs<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if let Protocol::QueuePairs(endpoint) = &mut self.protocol {
            self.chain.settle::<AllFeatures, _, _, _, _>(&mut **endpoint, context);
        }
    }

    #[inline(never)]
    fn settle_verbs<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if let Protocol::Verbs(endpoint) = &mut self.protocol {
            self.chain.settle::<AllFeatures, _, _, _, _>(&mut **endpoint, context);
        }
    }

    /// Processes an arrived packet: its marks, then the packet at the endpoint and the application. True if
    /// there may be something to send because of it; the cause if it is lost, so that the adapter accepts nothing.
    pub(crate) fn arrive<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &mut ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> Result<bool, LossCause> {
        with_endpoint!(&mut self.protocol, endpoint => self.chain.arrive(endpoint, (packet, extensions), now, observer))
    }

    /// Arrivals that are reported to the adapter.
    pub(crate) fn arrival_filter(&self) -> ArrivalFilter {
        if self.chain.app.is_closed() || self.acknowledges() {
            return ArrivalFilter::All;
        }
        self.chain.pacing.as_ref().map_or(ArrivalFilter::Nothing, |pacing| pacing.arrival_filter())
    }

    /// Sets the tables of weights by which the adapter arbitrates among virtual lanes. False if it does not.
    pub(crate) fn set_vl_tables(&mut self, tables: &Arc<VlTables>) -> bool {
        self.chain.set_vl_turns(VlTurns::new(tables))
    }

    /// The host of the adapter.
    pub(crate) fn id(&self) -> HostId {
        self.chain.id
    }

    /// The ordering protocols, if they are the adapter's protocol.
    pub(crate) fn ordering(&self) -> Option<&OrderingEndpoint> {
        match &self.protocol {
            Protocol::Ordering(endpoint) => Some(endpoint),
            Protocol::Datagram(_) | Protocol::QueuePairs(_) | Protocol::Verbs(_) => None,
        }
    }

    /// Its queue pairs, if it has any.
    pub(crate) fn queue_pairs(&self) -> Option<&QueuePairEndpoint> {
        match &self.protocol {
            Protocol::QueuePairs(endpoint) => Some(endpoint),
            Protocol::Datagram(_) | Protocol::Ordering(_) | Protocol::Verbs(_) => None,
        }
    }

    /// The device that its programs use, if they use verbs.
    pub(crate) fn device(&mut self) -> Option<&mut Device> {
        match &mut self.protocol {
            Protocol::Verbs(endpoint) => Some(&mut endpoint.device),
            Protocol::Datagram(_) | Protocol::Ordering(_) | Protocol::QueuePairs(_) => None,
        }
    }

    /// True if its protocol acknowledges what it receives.
    pub(crate) fn acknowledges(&self) -> bool {
        !matches!(self.protocol, Protocol::Datagram(_))
    }

    /// Progress of its transport: operations that became visible for the first time, and messages that have ended.
    pub(crate) fn progress(&self) -> u64 {
        match &self.protocol {
            Protocol::Datagram(_) => 0,
            Protocol::Ordering(endpoint) => endpoint.progress(),
            Protocol::QueuePairs(endpoint) => endpoint.progress(),
            Protocol::Verbs(endpoint) => endpoint.device.progress(),
        }
    }

    fn responses(&self) -> usize {
        match &self.protocol {
            Protocol::Datagram(endpoint) => endpoint.responses(),
            Protocol::Ordering(endpoint) => endpoint.responses(),
            Protocol::QueuePairs(endpoint) => endpoint.responses(),
            Protocol::Verbs(_) => 0,
        }
    }

    /// Responses that are created and not wholly sent.
    pub(crate) fn pending_responses(&self) -> usize {
        self.chain.app.responses() + self.responses()
    }

    /// True if the adapter may accept this packet now, provided that it is the first on its lane.
    pub(crate) fn accepts(&self, packet: &Packet, now: Time) -> bool {
        self.accepts_from() <= now && self.chain.accepts(packet, self.responses())
    }

    /// Time from which the adapter accepts packets again that have to wait for its translations of addresses.
    pub(crate) fn accepts_from(&self) -> Time {
        match &self.protocol {
            Protocol::Verbs(endpoint) => endpoint.device.accepts_from(),
            Protocol::Datagram(_) | Protocol::Ordering(_) | Protocol::QueuePairs(_) => Time::ZERO,
        }
    }

    /// Longest time for which congestion control still rate-limits a message that is being sent.
    pub(crate) fn rate_limited_for(&self, now: Time) -> Time {
        match &self.protocol {
            Protocol::Datagram(_) | Protocol::Verbs(_) => Time::ZERO,
            Protocol::Ordering(endpoint) => self.chain.rate_limited_for(endpoint.sending(), now),
            Protocol::QueuePairs(endpoint) => self.chain.rate_limited_for(endpoint.sending(), now),
        }
    }

    /// True if it has sent all that it opened, and answered every request.
    pub(crate) fn is_drained(&self) -> bool {
        let idle = match &self.protocol {
            Protocol::Datagram(endpoint) => endpoint.is_idle(),
            Protocol::Ordering(endpoint) => endpoint.is_idle(),
            Protocol::QueuePairs(endpoint) => endpoint.is_idle(),
            Protocol::Verbs(endpoint) => !endpoint.device.is_busy(),
        };
        idle && self.chain.is_drained()
    }

    /// True if every message created before `time` has been sent, and acknowledged where the protocol acknowledges.
    pub(crate) fn has_sent_all_before(&self, time: Time, now: Time) -> bool {
        let sent = match &self.protocol {
            Protocol::Datagram(endpoint) => endpoint.has_finished_before(time),
            Protocol::Ordering(endpoint) => endpoint.has_finished_before(time),
            Protocol::QueuePairs(endpoint) => endpoint.has_finished_before(time),
            Protocol::Verbs(endpoint) => !endpoint.device.is_busy(),
        };
        let is_later = |next: Option<Time>| next.is_none_or(|next| next >= time);
        sent && is_later(self.chain.app.next(now)) && is_later(self.chain.app.next_response())
    }
}
