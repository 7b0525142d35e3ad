//! Switches of a partition publish what is ahead at some of their outputs, for routing that looks at others' outputs.

use fabricsim_fabric::LoadBroadcast;
use fabricsim_model::Observer;
use fabricsim_routing::{Published, Router, RoutingFunction};
use fabricsim_units::{SwitchId, Time};

use crate::partition::{Mail, Partition};

/// Publication of output loads by a partition.
pub(crate) struct Publisher {
    /// Number of the switch in the partition, its output, and the number of that among all that are published.
    outputs: Vec<(u32, usize, u32)>,
    /// The next time to do so.
    epoch: u64,
}

impl Publisher {
    /// Publisher of the switches of a partition, with the board for all; `None` if the routing looks at nothing.
    pub(crate) fn new(
        routing: &Router,
        switches: impl Iterator<Item = SwitchId>,
    ) -> Option<(Self, LoadBroadcast)> {
        let Published { delay, outputs } = routing.published()?;
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
    /// Publishes what is due before `time`; what is due at it as well, if nothing of that moment can still come by mail and
    /// nothing of it has happened (`at_it`).
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
