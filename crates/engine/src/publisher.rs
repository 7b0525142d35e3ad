//! Broadcast of output loads by the switches of a partition, for routing that uses loads of other switches.

use fabricsim_fabric::LoadBroadcast;
use fabricsim_model::Observer;
use fabricsim_routing::{BroadcastOutputs, Router, RoutingFunction};
use fabricsim_units::{SwitchId, Time};

use crate::partition::{Mail, Partition};

/// Output loads that a partition broadcasts.
pub(crate) struct Publisher {
    /// Number of the switch in the partition, its output, and the number of that among all broadcast outputs.
    outputs: Vec<(u32, usize, u32)>,
    /// Next epoch.
    epoch: u64,
}

impl Publisher {
    /// Publisher of the switches of a partition, with the load broadcast for all; `None` if the routing uses no broadcast loads.
    pub(crate) fn new(
        routing: &Router,
        switches: impl Iterator<Item = SwitchId>,
    ) -> Option<(Self, LoadBroadcast)> {
        let BroadcastOutputs { delay, outputs } = routing.broadcast_outputs()?;
        let load_broadcast = LoadBroadcast::new(outputs.len(), delay);
        let own: Vec<SwitchId> = switches.collect();
        let numbered = outputs.into_iter().enumerate();
        let outputs = numbered.filter_map(|(number, (at, port))| {
            let switch = own.iter().position(|&switch| switch == at)?;
            Some((switch as u32, port.index(), number as u32))
        });
        Some((Self { outputs: outputs.collect(), epoch: 0 }, load_broadcast))
    }
}

impl<B: Observer> Partition<B> {
    /// Broadcasts the loads due before `time`; also those due at it, if no mail of that time step can still arrive and
    /// none of its events has been handled (`at_it`).
    #[cold]
    #[inline(never)]
    pub(crate) fn publish(&mut self, time: Time, at_it: bool) {
        let Some(mut publisher) = self.publisher.take() else { return };
        let is_due = |at: Time| at < time || at_it && at == time;
        publisher.epoch = self.context.load_broadcast.next_needed(publisher.epoch, time);
        while is_due(self.context.load_broadcast.time_of(publisher.epoch)) {
            let (epoch, now) = (publisher.epoch, self.context.load_broadcast.time_of(publisher.epoch));
            for &(switch, output, number) in &publisher.outputs {
                let blocks = self.switches[switch as usize].ahead(&mut self.context.ports, output, now);
                self.context.load_broadcast.publish(epoch, number, blocks);
                if self.is_one_of_several {
                    self.context.out.mail.push(Mail::Published { epoch, output: number, blocks });
                }
            }
            publisher.epoch += 1;
        }
        self.publish_at = self.context.load_broadcast.time_of(publisher.epoch);
        self.publisher = Some(publisher);
    }
}
