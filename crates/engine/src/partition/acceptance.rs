//! Packets that hosts accept: they are counted, and reported to the observer and to adapters.

use fabricsim_fabric::Features;
use fabricsim_model::{Observer, PacketKind};
use fabricsim_units::{HostId, Time};

use super::devices::note_changes;
use super::{Owner, Partition};
use crate::adapter::ArrivalFilter;
use crate::totals::fingerprint;

impl<B: Observer> Partition<B> {
    #[inline(always)]
    pub(super) fn deliver<F: Features>(&mut self, port: u32, index: u32, time: u64) {
        let copy_for = if F::OPTIONAL { self.address_copy(port, index) } else { None };
        if F::OPTIONAL
            && self.refuses_arrivals
            && let Some(cause) = self.loss_on_arrival(index, copy_for)
        {
            return self.lose_at_host(port, index, cause, Time(time));
        }
        if F::OPTIONAL && self.has_admission_control && !self.try_admit(port, index) {
            return;
        }
        self.accept(port, index, time);
    }

    /// Addresses a copy of a packet for a multicast group to the host at which it has arrived, and returns the host.
    #[inline]
    fn address_copy(&mut self, port: u32, index: u32) -> Option<HostId> {
        let packet = &mut self.context.arena[index].packet;
        packet.destination.group()?;
        let Owner::Adapter(h) = self.owners[port as usize] else { return None };
        packet.destination = self.adapters[h as usize].id();
        self.totals.returned += u64::from(packet.destination == packet.source);
        Some(packet.destination)
    }

    /// A host accepts a packet.
    #[inline(always)]
    pub(super) fn accept(&mut self, port: u32, index: u32, time: u64) {
        let packet = &self.context.arena[index].packet;
        self.totals.delivered += 1;
        self.totals.delivered_bytes += u64::from(packet.bytes);
        self.totals.packet_hops += u64::from(packet.hops) + 1;
        self.totals.fingerprint = self.totals.fingerprint.wrapping_add(fingerprint(packet, time));
        if packet.kind != PacketKind::Data {
            self.context.observer.controlled(Time(time), packet);
        } else if !self.transported || self.is_datagram_host(port) {
            self.context.observer.delivered(Time(time), packet);
        }
        let is_reported = match self.arrival_filter {
            ArrivalFilter::Nothing => false,
            ArrivalFilter::Marks => packet.fecn || packet.becn,
            ArrivalFilter::MarksAndEnds => packet.fecn || packet.becn || packet.last,
            ArrivalFilter::All => true,
        };
        match self.owners[port as usize] {
            Owner::Adapter(h) if is_reported => self.accepted.push((h, index)),
            _ => self.context.arena.release(index),
        }
    }

    /// True if the host at a port acknowledges nothing, so that data is delivered as it is accepted.
    fn is_datagram_host(&self, port: u32) -> bool {
        match self.owners[port as usize] {
            Owner::Adapter(h) => !self.adapters[h as usize].acknowledges(),
            Owner::Switch(_) => false,
        }
    }

    /// Notifies adapters of the packets accepted in this time step. A sink that has paused may accept several at once, in no
    /// particular order: they are reported by sender and number.
    #[inline(never)]
    pub(super) fn notify_adapters(&mut self) {
        let now = self.context.now;
        let arena = &mut self.context.arena;
        if self.accepted.len() > 1 {
            self.accepted.sort_unstable_by_key(|&(host, index)| {
                let packet = &arena[index].packet;
                (host, packet.source, packet.sequence)
            });
        }
        for (h, index) in self.accepted.drain(..) {
            arena.take_extensions_into(index, &mut self.extensions);
            let packet = &arena[index].packet;
            let (adapter, observer) = (&mut self.adapters[h as usize], &mut self.context.observer);
            let more = adapter.arrive(packet, &mut self.extensions, now, observer).unwrap_or_else(|cause| {
                self.totals.lose(packet, cause);
                false
            });
            if self.has_devices {
                note_changes(adapter, h, &mut self.noted);
            }
            arena.release(index);
            if more {
                self.unsettled_adapters.push(h);
            }
        }
    }
}
