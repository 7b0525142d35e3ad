//! Detection of hosts that refuse requests for ever, while timers of transports retransmit copies.

use fabricsim_engine::{Engine, Refused};
use fabricsim_model::Observer;
use fabricsim_spec::{Experiment, Transport};
use fabricsim_topology::Graph;
use fabricsim_units::Time;

/// Number of times the longest wait for an answer: by then every lost packet has been retransmitted many times.
const PATIENCE: u64 = 16;

/// The requests that hosts refuse, and the time since which they have been the same.
#[derive(Clone, fabricsim_state::State)]
pub(crate) struct Refusals {
    #[state(fixed)]
    patience: Time,
    /// Longest time until a lost packet has been retransmitted once.
    #[state(fixed)]
    once: Time,
    last: Vec<Refused>,
    progress: Option<u64>,
    since: Time,
    /// Longest time for which congestion control rate-limited one of those hosts.
    rate_limited: Time,
}

impl Refusals {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let Transport { mut timeout, lifetime, .. } = experiment.transport;
        if let Some(queue_pairs) = &experiment.queue_pairs {
            timeout = timeout.max(queue_pairs.ack_timeout().unwrap_or_default());
        }
        let longest = timeout.0.saturating_add(lifetime.0);
        let patience = Time(longest.saturating_mul(PATIENCE));
        let once = Time(longest.saturating_add(lifetime.0));
        Self { patience, once, last: Vec::new(), progress: None, since: Time::ZERO, rate_limited: Time::ZERO }
    }

    /// Notes the state of the fabric now. True if the same requests have been refused for so long that every timer has ended
    /// several times, while in all of the fabric no operation has become visible and no message was sent: what still
    /// moves is copies of delivered packets, or packets sent in vain.
    pub(crate) fn look<B: Observer>(&mut self, engine: &Engine<B>) -> bool {
        let refused = engine.refused();
        let progress = if refused.is_empty() { None } else { engine.transport_progress() };
        if progress.is_none() || progress != self.progress || refused != self.last {
            (self.last, self.progress, self.since) = (refused, progress, engine.now());
            self.rate_limited = engine.refusing_rate_limited_for();
            return false;
        }
        self.rate_limited = self.rate_limited.max(engine.refusing_rate_limited_for());
        let patience = self.patience.saturating_add(self.rate_limited).saturating_add(self.rate_limited);
        engine.now().saturating_sub(self.since) > patience
    }

    /// A warning if hosts refuse requests at the end of a run, and no operation has been completed for longer than a retransmission takes.
    pub(crate) fn warning<B: Observer>(&self, engine: &Engine<B>, graph: &Graph) -> Option<String> {
        let refused = engine.refused();
        let first = refused.first()?;
        let is_long = engine.now().saturating_sub(self.since) > self.once;
        if !is_long
            || refused != self.last
            || self.progress.is_none()
            || engine.transport_progress() != self.progress
        {
            return None;
        }
        Some(format!(
            "{} requests wait since {} or before for hosts that have to send responses first (one at {}), and nothing has been \
             completed since: if that does not end, it is a deadlock; give responses a service class of their own, or let the run \
             go on with run.drain = \"empty\" to see",
            refused.len(),
            self.since,
            graph.hosts[first.host.index()].name,
        ))
    }
}
