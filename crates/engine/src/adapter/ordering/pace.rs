//! Times at which the packets of a message are ready, if they are not ready all at once.

use fabricsim_model::Random;
use fabricsim_protocols::ordering::StreamId;
use fabricsim_spec::Traffic;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::Message;

use super::OrderingEndpoint;

/// Packets are ready one by one: in each time slot of a packet's time on the source's link one is, or none, always with the same
/// probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// 1 / ln(1 - p), p the probability.
    inverse: f64,
}

impl Pace {
    /// `None` if all packets of a message are ready when it is created.
    pub(crate) fn of(traffic: &Traffic) -> Option<Self> {
        traffic.packet_load.map(|load| Self { inverse: 1.0 / libm::log1p(-load) })
    }

    /// From one packet to the next: at least a slot. The draw depends on the packet alone, not on other events
    /// at its host at that time.
    pub(crate) fn gap(self, seed: u64, host: HostId, message: &Message, number: u32, slot: Time) -> Time {
        const PACE: u64 = 0x7061_6365;
        let purpose = PACE + (u64::from(message.stream) << 32);
        let entity = u64::from(host.0) << 32 | u64::from(message.tag);
        let mut random = Random::new(seed, purpose, entity).after(u64::from(number));
        let empty = (libm::log(random.unit()) * self.inverse) as u64;
        Time(slot.0.saturating_mul(empty.saturating_add(1)))
    }
}

impl OrderingEndpoint {
    /// From one packet of a message to the next one, number `number`.
    #[inline]
    pub(super) fn gap(&self, message: &Message, number: u32) -> Time {
        let pace = self.rules.paces[usize::from(message.stream)];
        pace.map_or(Time::ZERO, |pace| pace.gap(self.rules.seed, self.host, message, number, self.slot))
    }

    /// Hands a stream the packets of its message that are ready, as far as it has room.
    pub(super) fn refill(&mut self, id: StreamId, now: Time) {
        let place = usize::from(id.0);
        let Some(mut outgoing) = self.outgoing[place] else { return };
        while outgoing.offered < outgoing.packets && outgoing.ready_at <= now && self.source.has_room(id) {
            let number = outgoing.offered;
            outgoing.offered += 1;
            self.source.offer(id, number, outgoing.offered == outgoing.packets);
            outgoing.ready_at =
                outgoing.ready_at.saturating_add(self.gap(&outgoing.message, outgoing.offered));
        }
        self.outgoing[place] = Some(outgoing);
    }

    /// Packets that are ready by now.
    pub(super) fn release(&mut self, now: Time) {
        if !self.rules.is_paced {
            return;
        }
        for number in 0..self.outgoing.len() {
            self.refill(StreamId(number as u16), now);
        }
    }

    /// Returns the time at which the next packet is ready that there is room for.
    pub(super) fn next_ready(&self) -> Time {
        if !self.rules.is_paced {
            return Time::MAX;
        }
        let streams = self.outgoing.iter().enumerate();
        let waiting = streams.filter_map(|(number, outgoing)| {
            let outgoing = outgoing.as_ref().filter(|outgoing| outgoing.offered < outgoing.packets)?;
            self.source.has_room(StreamId(number as u16)).then_some(outgoing.ready_at)
        });
        waiting.min().unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u32) -> Message {
        Message { destination: HostId(1), stream: 0, tag, bytes: 1000, created: Time::ZERO }
    }

    #[test]
    fn gaps_are_geometric() {
        let pace = Pace { inverse: 1.0 / libm::log1p(-0.2) };
        let slot = Time::ns(16);
        let gaps: Vec<u64> =
            (0..200_000).map(|n| pace.gap(7, HostId(3), &message(n / 100), n % 100, slot).0).collect();
        assert!(gaps.iter().all(|gap| *gap >= slot.0 && gap % slot.0 == 0));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64 / slot.0 as f64;
        // Five standard deviations of the mean of slots, sqrt(1 - p) / p each.
        assert!((mean - 5.0).abs() < 5.0 * (0.8_f64.sqrt() / 0.2) / (gaps.len() as f64).sqrt(), "{mean}");
        let single = gaps.iter().filter(|gap| **gap == slot.0).count() as f64 / gaps.len() as f64;
        assert!((single - 0.2).abs() < 0.005, "{single}");
    }

    #[test]
    fn a_load_of_one_is_every_slot() {
        let pace = Pace { inverse: 1.0 / libm::log1p(-1.0) };
        assert!((0..1000).all(|n| pace.gap(7, HostId(3), &message(0), n, Time::ns(16)) == Time::ns(16)));
    }
}
