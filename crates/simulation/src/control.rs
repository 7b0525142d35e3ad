use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use fabricsim_engine::BuildStep;
use fabricsim_units::Time;

/// Part of a run, its construction first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before anything is built.
    Start,
    /// Switches, hosts and links are built.
    Topology,
    /// Routing is built.
    Routing,
    /// Sources and streams of messages are built.
    Workload,
    /// The channel dependency graph is searched for cycles.
    DeadlockCheck,
    /// Ports, switches and hosts of the run are allocated.
    Fabric,
    /// Before the measurement.
    WarmUp,
    /// The measurement.
    Measurement,
    /// After it.
    Drain,
    /// Ended.
    Done,
}

/// All phases in order.
const PHASES: [Phase; 10] = [
    Phase::Start,
    Phase::Topology,
    Phase::Routing,
    Phase::Workload,
    Phase::DeadlockCheck,
    Phase::Fabric,
    Phase::WarmUp,
    Phase::Measurement,
    Phase::Drain,
    Phase::Done,
];

impl Phase {
    /// Name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Topology => "building: topology",
            Self::Routing => "building: routing",
            Self::Workload => "building: workload",
            Self::DeadlockCheck => "building: deadlock check",
            Self::Fabric => "building: switches and hosts",
            Self::WarmUp => "warm-up",
            Self::Measurement => "measurement",
            Self::Drain => "drain",
            Self::Done => "done",
        }
    }
}

impl From<BuildStep> for Phase {
    fn from(step: BuildStep) -> Self {
        match step {
            BuildStep::Topology => Self::Topology,
            BuildStep::Routing => Self::Routing,
            BuildStep::Workload => Self::Workload,
        }
    }
}

/// Control and progress of a run, for another thread while it goes.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    simulated: AtomicU64,
    expected: AtomicU64,
    packet_hops: AtomicU64,
    phase: AtomicU8,
}

impl Control {
    /// Requests the run to stop soon; the results so far are kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// True if a stop was requested.
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
        let number = usize::from(self.phase.load(Ordering::Relaxed));
        PHASES.get(number).copied().unwrap_or(Phase::Done)
    }

    pub(crate) fn expect(&self, end: Time) {
        self.expected.store(end.0, Ordering::Relaxed);
    }

    /// Notes the phase that begins.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, now: Time, packet_hops: u64) {
        self.simulated.store(now.0, Ordering::Relaxed);
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_read_back() {
        let control = Control::default();
        assert_eq!(control.phase(), Phase::Start);
        for (number, phase) in PHASES.into_iter().enumerate() {
            assert_eq!(phase as usize, number);
            control.enter(phase);
            assert_eq!(control.phase(), phase);
        }
    }
}
