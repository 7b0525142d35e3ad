//! Values that a report needs and no collector counts.

use fabricsim_units::{HostId, Rate, Time};

use crate::{QueuePairCounts, ReachedPrecision, TransportCounts};

/// End of the run, and the load that its sources requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Simulated time at its end.
    pub end: Time,
    /// Link rate of each host.
    pub rates: Vec<Rate>,
    /// Load offered within the window. Empty if that is not known.
    pub offers: Vec<OfferedLoad>,
    /// With steady-state detection: what it found.
    pub steady: Option<SteadyEnd>,
    /// Number of times that a notification found or brought a flow to the level at which the congestion control reports
    /// it.
    pub congestion_events: u64,
    /// Counters of transports, if there are any.
    pub transport: Option<TransportCounts>,
    /// Counters of queue pairs, if there are any.
    pub queue_pairs: Option<QueuePairCounts>,
}

/// State of steady-state detection at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyEnd {
    /// [`Steady::steady`](crate::Steady::steady).
    pub settled: bool,
    /// [`Steady::precision`](crate::Steady::precision).
    pub precision: Vec<ReachedPrecision>,
}

/// Bytes that a source offered within the window. Offers of the same source and destination add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedLoad {
    /// The source.
    pub source: HostId,
    /// Its destination; `None` if destinations are drawn.
    pub destination: Option<HostId>,
    /// Number of its stream of messages; `None` for messages of a session's caller.
    pub stream: Option<u16>,
    /// Bytes of the messages created within the window (of a saturating source: what its link would have carried).
    pub bytes: u64,
}
