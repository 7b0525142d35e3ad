//! Latencies of the packets delivered in a batch of steady-state detection.

use fabricsim_model::Packet;
use fabricsim_units::Time;

use super::collector::{Collector, NoKeys};
use crate::input::TableInput;
use crate::timeline::{Delivery, Timeline};
use crate::{Histogram, RecorderConfig};

/// From creation to delivery, in picoseconds, since the last call of [`BatchLatencies::take`].
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct BatchLatencies {
    delivered: Histogram<7>,
}

impl BatchLatencies {
    /// The latencies since the last call.
    pub(crate) fn take(&mut self) -> Histogram<7> {
        std::mem::take(&mut self.delivered)
    }
}

impl Collector for BatchLatencies {
    type Summary = NoKeys;

    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self::default()
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, _packet: &Packet, delivery: &Delivery) {
        self.delivered.record(delivery.total);
    }

    fn merge(&mut self, other: &Self) {
        self.delivered.merge(&other.delivered);
    }

    fn summarize(&self, _input: &TableInput<'_>) -> NoKeys {
        NoKeys {}
    }
}
