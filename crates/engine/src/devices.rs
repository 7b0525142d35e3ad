//! Channel adapters that programs use by verbs.

use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::Device;

use crate::engine::Engine;

impl<B: Observer> Engine<B> {
    /// The device of a host, if programs there use verbs. After a call that gives it something to do, [`Engine::wake_device`].
    pub fn device(&mut self, host: HostId) -> Option<&mut Device> {
        let (partition, place) = self.host(host);
        partition.note_device(place);
        partition.adapters[place].device()
    }

    /// [`Engine::device`] to look for what programs wait for: the device is not among those of [`Engine::take_changed_devices`] for that.
    pub fn look_at_device(&mut self, host: HostId) -> Option<&mut Device> {
        let (partition, place) = self.host(host);
        partition.adapters[place].device()
    }

    /// Adds to `hosts` those of which [`Device::changes`] may have changed since the last call, in no particular order.
    pub fn take_changed_devices(&mut self, hosts: &mut Vec<HostId>) {
        for partition in &mut self.partitions {
            partition.take_changed_devices(hosts);
        }
    }

    /// Wakes a host when its device has something to do next, now at the earliest.
    pub fn wake_device(&mut self, host: HostId) {
        let now = self.now();
        let (partition, place) = self.host(host);
        let Some(device) = partition.adapters[place].device() else { return };
        let has_packet = device.turns() > 0 || device.answer().is_some();
        let at = if has_packet { now } else { device.wake_at() };
        if at < Time::MAX {
            partition.wake_host(place, at.max(now));
        }
    }

    /// Time of the next event; `None` if there is none.
    pub fn next_event(&mut self) -> Option<Time> {
        self.next_time()
    }
}

#[cfg(test)]
mod tests;
