//! Collectors and details that a recorder has only on request. No cost otherwise.

use fabricsim_spec::{CongestionAlgorithm, SteadyState, Switch};

use crate::Recorder;
use crate::collectors::{Congestion, Entries, Routers, Transport};

impl Recorder {
    /// Keeps `count` entries apart: streams of messages, whose numbers are below it.
    pub fn with_entries(mut self, count: usize) -> Self {
        self.collectors.entries = Entries::of(count);
        self.collectors.latency.keep_apart(count);
        self
    }

    /// Keeps the latencies of each batch, for the quantiles that `rule` waits for.
    pub fn with_steady_state(mut self, rule: &SteadyState) -> Self {
        if rule.of.iter().any(|metric| metric.per_mille().is_some()) {
            self.collectors.batch_latencies = Some(Box::default());
        }
        self
    }

    /// Records jobs.
    pub fn with_jobs(mut self) -> Self {
        self.collectors.jobs = Some(Box::default());
        self
    }

    /// Records congestion control, unless there is no algorithm.
    pub fn with_congestion(mut self, algorithm: CongestionAlgorithm) -> Self {
        if algorithm != CongestionAlgorithm::None {
            let congestion = Congestion::of(algorithm, &self.config, &self.timeline);
            self.collectors.congestion = Some(Box::new(congestion));
        }
        self
    }

    /// Records the performance counters of routers.
    pub fn with_router_counters(mut self, switch: &Switch) -> Self {
        let routers = Routers::of_switch(switch, &self.config, &self.timeline);
        self.collectors.routers = Some(Box::new(routers));
        self
    }

    /// Records transports, for `streams` streams of messages, and `exchanges` exchanges one by one.
    pub fn with_transport(mut self, streams: usize, exchanges: u32) -> Self {
        let transport = Transport::of(streams, exchanges, &self.config, &self.timeline);
        self.collectors.transport = Some(Box::new(transport));
        self
    }

    /// Records queue pairs, for `streams` streams of messages.
    pub fn with_queue_pairs(mut self, streams: usize) -> Self {
        self.collectors.queue_pairs = Some(Box::default());
        self.with_transport(streams, 0)
    }
}
