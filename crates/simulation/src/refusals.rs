//! Hosts that refuse requests for ever, while timers of transports go on sending copies.

use fabricsim_engine::{Engine, Refused};
use fabricsim_measure::Recorder;
use fabricsim_spec::Transport;
use fabricsim_units::Time;

/// So many times the longest time that a packet is waited for: what is lost has been sent again by then, many times.
const PATIENCE: u64 = 16;

/// The requests that hosts refuse, and since when they have been the same.
pub(crate) struct Refusals {
    patience: Time,
    last: Vec<Refused>,
    progress: Option<u64>,
    since: Time,
}

impl Refusals {
    pub(crate) fn new(transport: &Transport) -> Self {
        let longest = transport.timeout.0.saturating_add(transport.lifetime.0);
        let patience = Time(longest.saturating_mul(PATIENCE));
        Self { patience, last: Vec::new(), progress: None, since: Time::ZERO }
    }

    /// Looks at the fabric as it is now. True if the same requests have been refused for so long that every timer has ended
    /// several times, while in all of the fabric no operation has become visible and no message was sent: what still
    /// moves is copies of what has been delivered, or what is sent in vain.
    pub(crate) fn look(&mut self, engine: &Engine<Recorder>) -> bool {
        let refused = engine.refused();
        let progress = engine.transport_progress().filter(|_| !refused.is_empty());
        if progress.is_none() || progress != self.progress || refused != self.last {
            (self.last, self.progress, self.since) = (refused, progress, engine.now());
            return false;
        }
        engine.now().saturating_sub(self.since) > self.patience
    }
}
