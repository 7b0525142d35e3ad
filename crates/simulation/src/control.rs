use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use fabricsim_units::Time;

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the measurement.
    WarmUp,
    /// The measurement.
    Measurement,
    /// After it.
    Drain,
    /// Over.
    Done,
}

/// What another thread may ask of a run, and see of it, while it goes.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    simulated: AtomicU64,
    expected: AtomicU64,
    packet_hops: AtomicU64,
    phase: AtomicU8,
}

impl Control {
    /// Asks the run to stop soon; what was measured until then is kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Was the run asked to stop?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Simulated time so far.
    pub fn simulated(&self) -> Time {
        Time(self.simulated.load(Ordering::Relaxed))
    }

    /// Simulated time at which the run is expected to end.
    pub fn expected(&self) -> Time {
        Time(self.expected.load(Ordering::Relaxed))
    }

    /// Links crossed by the packets delivered so far.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops.load(Ordering::Relaxed)
    }

    /// Part of the run.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::WarmUp,
            1 => Phase::Measurement,
            2 => Phase::Drain,
            _ => Phase::Done,
        }
    }

    pub(crate) fn expect(&self, end: Time) {
        self.expected.store(end.0, Ordering::Relaxed);
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, now: Time, packet_hops: u64) {
        self.simulated.store(now.0, Ordering::Relaxed);
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
    }
}
