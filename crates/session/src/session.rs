use fabricsim_engine::{Advance, Engine, Extent, Prepared, Snapshot, Totals};
use fabricsim_model::Observer;
use fabricsim_units::Time;

use crate::inject::{Entry, entries};

/// Maximum size of an injected message, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 40;

/// A fabric in operation. `B` observes it, one for each partition; see [`Feed`](crate::Feed) for observers to subscribe to.
pub struct Session<B> {
    pub(crate) engine: Engine<B>,
    pub(crate) hosts: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) largest_message: u64,
    /// Messages injected so far.
    pub(crate) injected: u32,
    /// True if no host opens messages any more.
    pub(crate) is_draining: bool,
}

impl<B: Observer> Session<B> {
    /// The fabric of an experiment at time zero; `observer` makes an observer for each partition.
    pub fn new(prepared: &Prepared, observer: impl FnMut() -> B) -> Self {
        Self {
            engine: prepared.engine(observer),
            hosts: prepared.graph.hosts.len(),
            entries: entries(prepared),
            largest_message: LARGEST_MESSAGE
                .min(prepared.experiment.host.mtu.0.saturating_mul(u64::from(u32::MAX))),
            injected: 0,
            is_draining: false,
        }
    }

    /// Everything before this time has happened, and nothing since.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Counters of all that has happened.
    pub fn totals(&self) -> Totals {
        self.engine.totals()
    }

    /// Advances to `until`; does nothing if that is not after now. Calls `look` every few hundred
    /// thousand events with the time and the counters so far. If it returns false, the session stops and can resume later.
    pub fn advance_to(&mut self, until: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> Advance {
        if until <= self.now() {
            return Advance::Reached;
        }
        self.engine.advance(until, look)
    }

    /// The state of the fabric now, as a value of its own.
    pub fn snapshot(&self, extent: Extent) -> Snapshot {
        self.engine.snapshot(extent)
    }

    /// No host opens another message from now on; [`Session::inject`] refuses messages.
    pub fn stop_traffic(&mut self) {
        self.is_draining = true;
        self.engine.stop_sources();
    }

    /// The engine, for measurement: its observers, sources and counters.
    pub fn engine(&self) -> &Engine<B> {
        &self.engine
    }

    /// The engine, for measurement.
    pub fn engine_mut(&mut self) -> &mut Engine<B> {
        &mut self.engine
    }

    /// Ends the session. Returns the engine.
    pub fn into_engine(self) -> Engine<B> {
        self.engine
    }
}
