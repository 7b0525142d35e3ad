//! Messages between ranks on the same host, which do not enter the network.

use fabricsim_spec::LocalLink;
use fabricsim_units::{Rate, Time};

use super::MessageOf;
use crate::ideal::duration;

/// A message between ranks on the same host. Its times are known as it is sent, and may be later than now.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
pub(crate) struct LocalMessage {
    /// Number of the job.
    pub(super) job: u16,
    pub(super) of: MessageOf,
    pub(super) bytes: u64,
    /// Its last byte has left.
    pub(super) left: Time,
    pub(super) arrived: Time,
}

/// The way between ranks on the same host.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalRoute {
    rate: Option<Rate>,
    latency: Time,
}

impl LocalRoute {
    pub(super) fn new(spec: &LocalLink) -> Self {
        Self { rate: spec.rate, latency: spec.latency }
    }

    /// Departure of a message that a rank sends from `begin` on, and its arrival.
    pub(super) fn times(&self, begin: Time, bytes: u64) -> (Time, Time) {
        let left = begin.saturating_add(self.rate.map_or(Time::ZERO, |rate| duration(rate, bytes)));
        (left, left.saturating_add(self.latency))
    }
}
