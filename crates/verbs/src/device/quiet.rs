//! An adapter of which nothing is in progress.

use fabricsim_protocols::infiniband::QueuePairKind;
use fabricsim_units::Time;

use super::Device;
use crate::service::Sending;

impl Device {
    /// True if nothing that the adapter has sent, or still has to send, can have an effect any more. False for certain while a packet is not acknowledged, and
    /// with a queue pair that has sent packets which are not acknowledged at all, or with communication management: those may still arrive.
    pub fn is_quiet(&self) -> bool {
        let has_packets = !self.listed.is_empty() || !self.answering.is_empty() || self.agent.is_some();
        !has_packets
            && self.timers.next() == Time::MAX
            && self.qps.iter().flatten().all(|qp| match qp.init.kind {
                QueuePairKind::Rc | QueuePairKind::XrcSend | QueuePairKind::XrcReceive => {
                    !qp.requester.as_ref().is_some_and(Sending::awaits_responses)
                }
                _ => qp.counters.packets == 0,
            })
    }
}
