//! Datagrams of subnet management on virtual lane 15. They have no credits and go before all data: each takes its link as soon as the
//! transmission in progress has ended. Data that is sent in the same picosecond waits.

use fabricsim_model::{Crossing, CrossingContent, Observer};
use fabricsim_units::Time;

use crate::engine::Engine;

impl<B: Observer> Engine<B> {
    /// Sends a management datagram of `size` bytes now by the sending port `channel`. Returns the time at which its last byte
    /// arrives at the other end. Ports whose links are down for data send them too; what a failed link does to a datagram is the
    /// caller's concern. `content` calls its argument with the bytes of the packet; it is asked only if the observer captures them.
    pub fn send_management(
        &mut self,
        channel: u32,
        size: u32,
        content: impl FnOnce(&mut dyn FnMut(&[u8])),
    ) -> Time {
        let now = self.now();
        let (number, port) = self.directory.sender[channel as usize];
        let partition = &mut self.partitions[usize::from(number)];
        let sender = &mut partition.context.ports.senders[port as usize];
        let failed = partition.failed.get_mut(&port);
        let before = failed.as_deref().copied().unwrap_or(sender.busy_until);
        let carried = sender.transmitting_until(before);
        let until = sender.occupy(before, now, size);
        match failed {
            Some(busy_until) => *busy_until = until,
            None => sender.busy_until = until,
        }
        if sender.cancel_stall(now) {
            sender.wake(port, until, &mut partition.context.out);
        }
        sender.carried_until = sender.carried_until.max(until);
        let (latency, start) = (sender.latency, now.max(before));
        let observer = &mut partition.context.observer;
        if B::CAPTURES && observer.captures(start, channel) {
            content(&mut |bytes| {
                let content = CrossingContent::Bytes { bytes, comment: "subnet management" };
                observer.crossed(&Crossing { time: start, port: channel, content });
            });
        }
        let data = self.management.data_until(channel, carried);
        self.management.occupy(channel, data, until);
        until + latency
    }
}
