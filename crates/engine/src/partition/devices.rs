//! Devices in which programs may have something to see, so that only these are looked at.

use fabricsim_model::Observer;
use fabricsim_units::HostId;

use super::Partition;
use crate::adapter::{Adapter, Protocol};

impl<B: Observer> Partition<B> {
    /// Notes the device of an adapter, if it has one.
    pub(crate) fn note_device(&mut self, place: usize) {
        if let Protocol::Verbs(endpoint) = &mut self.adapters[place].protocol
            && endpoint.note()
        {
            self.noted.push(place as u32);
        }
    }

    /// Moves the hosts of noted devices to `hosts`.
    pub(crate) fn take_changed_devices(&mut self, hosts: &mut Vec<HostId>) {
        for place in self.noted.drain(..) {
            let adapter = &mut self.adapters[place as usize];
            hosts.push(adapter.id());
            if let Protocol::Verbs(endpoint) = &mut adapter.protocol {
                endpoint.forget();
            }
        }
    }
}

/// Notes the device of adapter `h` if programs may have something to see there.
#[inline]
pub(super) fn note_changes(adapter: &mut Adapter, h: u32, noted: &mut Vec<u32>) {
    if let Protocol::Verbs(endpoint) = &mut adapter.protocol
        && endpoint.note_changes()
    {
        noted.push(h);
    }
}
