//! From the experiment to the options of the protocols.

use std::sync::Arc;

use fabricsim_model::{Packet, Random};
use fabricsim_protocols::ordering::{Mode, SourceOptions, TargetOptions};
use fabricsim_spec::{Experiment, OrderingMode};
use fabricsim_units::Time;
use fabricsim_workload::StreamInfo;

use super::pace::Pace;

/// Rules common to all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) source: SourceOptions,
    pub(crate) target: TargetOptions,
    /// Of each stream of messages.
    pub(crate) modes: Vec<Mode>,
    /// Pace at which the packets of each become ready, if they are not ready at once.
    pub(crate) paces: Vec<Option<Pace>>,
    /// True if there is any of these.
    pub(crate) is_paced: bool,
    pub(crate) exactly_once: bool,
    /// Size of an answer or a FIN, in bytes.
    pub(crate) answer: u32,
    /// Their service class.
    pub(crate) service_class: u8,
    pub(crate) memory_delay: Time,
    pub(crate) lifetime: Time,
    /// Streams being sent at a time.
    pub(crate) limit: u16,
    pub(crate) mtu: u32,
    loss: f64,
    pub(crate) seed: u64,
}

impl Rules {
    /// `None` if nothing is acknowledged.
    pub(crate) fn new(experiment: &Experiment, streams: &[StreamInfo]) -> Option<Arc<Self>> {
        let spec = &experiment.transport;
        if spec.mode == OrderingMode::None {
            return None;
        }
        let pace = |stream: usize| experiment.traffic.get(stream).and_then(Pace::of);
        let paces: Vec<Option<Pace>> = (0..streams.len()).map(pace).collect();
        Some(Arc::new(Self {
            is_paced: paces.iter().any(Option::is_some),
            paces,
            source: SourceOptions::from(spec),
            target: TargetOptions::from(spec),
            modes: streams.iter().map(|stream| mode(stream.ordering)).collect(),
            exactly_once: spec.exactly_once,
            answer: spec.answer.0 as u32,
            service_class: spec.service_class,
            memory_delay: spec.memory_delay,
            lifetime: spec.lifetime,
            limit: experiment.host.open_messages,
            mtu: experiment.host.mtu.0 as u32,
            loss: spec.loss,
            seed: experiment.seed,
        }))
    }

    /// True if this packet is lost when it reaches its receiver. That depends on the packet alone.
    pub(crate) fn is_lost(&self, packet: &Packet) -> bool {
        const LOSS: u64 = 0x6c6f_7373;
        if self.loss == 0.0 {
            return false;
        }
        let identity = u64::from(packet.source.0) << 32 | u64::from(packet.sequence);
        Random::new(self.seed, LOSS, identity).unit() <= self.loss
    }
}

fn mode(spec: OrderingMode) -> Mode {
    match spec {
        OrderingMode::None | OrderingMode::Unordered => Mode::Unordered,
        OrderingMode::SourceOrdered => Mode::SourceOrdered,
        OrderingMode::Ordered => Mode::Ordered,
        OrderingMode::SourceSynchronized => Mode::SourceSynchronized,
        OrderingMode::Synchronized => Mode::Synchronized,
        OrderingMode::GoBackN => Mode::GoBackN,
        OrderingMode::Selective => Mode::Selective,
        OrderingMode::SelectiveOrdered => Mode::SelectiveOrdered,
    }
}
