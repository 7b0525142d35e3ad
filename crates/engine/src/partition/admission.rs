//! Admission control: packets that hosts do not accept yet occupy buffer space, since responses are pending or addresses are not translated.

use fabricsim_fabric::{AllFeatures, return_space};
use fabricsim_model::Observer;
use fabricsim_units::{ByteTime, Time, Vl};

use super::{Owner, Partition};
use crate::adapter::Refused;

impl<B: Observer> Partition<B> {
    /// Admits a packet that has arrived at a host, and returns its space. False if it has to wait.
    #[inline(never)]
    pub(super) fn try_admit(&mut self, port: u32, index: u32) -> bool {
        let Owner::Adapter(h) = self.owners[port as usize] else { return true };
        let adapter = &mut self.adapters[h as usize];
        let slot = &self.context.arena[index];
        let accepts = adapter.accepts(&slot.packet, self.context.now);
        // The space at a host without admission control was returned as the packet was sent.
        let Some(gate) = &mut adapter.chain.admission else { return true };
        if gate.first(slot.lane).is_some() || !accepts {
            gate.push(slot.lane, index);
            self.wake_to_accept(h);
            return false;
        }
        self.release_buffer(port, index);
        true
    }

    /// Wakes an adapter when it has the translations for which packets wait.
    fn wake_to_accept(&mut self, h: u32) {
        let adapter = &self.adapters[h as usize];
        let at = adapter.accepts_from();
        if at > self.context.now {
            self.context.ports.ensure_wake(adapter.chain.port, at, &mut self.context.out);
        }
    }

    /// Returns the buffer space of a packet that a host admits.
    fn release_buffer(&mut self, port: u32, index: u32) {
        let slot = &self.context.arena[index];
        let (lane, size) = (slot.lane, (slot.packet.bytes, slot.blocks));
        return_space::<AllFeatures, _, _, _>(
            &mut self.context,
            port,
            lane,
            (ByteTime::default(), Time::ZERO),
            size,
        );
    }

    /// Admits packets that wait at hosts that have just settled, as far as there is room by now. True if there
    /// were any: then hosts have to settle once more.
    #[inline(never)]
    pub(super) fn admit_waiting(&mut self) -> bool {
        let time = self.context.now.0;
        for h in std::mem::take(&mut self.unsettled_adapters) {
            let chain = &self.adapters[h as usize].chain;
            let (port, lanes) = (chain.port, chain.admission.as_ref().map(|gate| gate.lanes()));
            for lane in lanes.into_iter().flatten() {
                self.admit(h, (port, lane), time);
            }
        }
        !self.unsettled_adapters.is_empty()
    }

    fn admit(&mut self, h: u32, (port, lane): (u32, Vl), time: u64) {
        loop {
            let adapter = &mut self.adapters[h as usize];
            let first = adapter.chain.admission.as_ref().and_then(|gate| gate.first(lane));
            let Some(index) = first else { return };
            if !adapter.accepts(&self.context.arena[index].packet, self.context.now) {
                return self.wake_to_accept(h);
            }
            if let Some(gate) = &mut adapter.chain.admission {
                gate.pop(lane);
            }
            self.release_buffer(port, index);
            self.accept(port, index, time);
            // The effects of this packet count before the next is considered.
            self.notify_adapters();
        }
    }

    /// The requests that hosts do not accept at present.
    pub(crate) fn refused(&self) -> impl Iterator<Item = Refused> {
        let gates =
            self.adapters.iter().filter_map(|adapter| Some((adapter, adapter.chain.admission.as_ref()?)));
        let gates = gates.filter(|(_, gate)| gate.limits_responses());
        gates.flat_map(|(adapter, gate)| {
            gate.lanes().filter_map(|lane| {
                let packet = self.context.arena[gate.first(lane)?].packet;
                Some(Refused {
                    host: adapter.id(),
                    packet,
                    lane,
                    pending_responses: adapter.pending_responses(),
                })
            })
        })
    }

    /// True if a packet at a host occupies buffer space until the host accepts it.
    pub(crate) fn is_gated(&self, h: u32) -> bool {
        self.adapters[h as usize].chain.admission.is_some()
    }
}
