//! Columns of an arena: values that a feature keeps for some packets, by slot. A value belongs to one packet, so that
//! a value left by an earlier packet in the same slot is never read for the current one.

use fabricsim_model::{ByteLine, Echo, ExtensionHeaders, HopTelemetry, Label, TransportHeaders};
use fabricsim_units::{HostId, Time};

/// Identity of a packet: its sender and its injection time. A sender sends one packet at a time.
pub type Sending = (HostId, Time);

/// Maximum number of empty lists that a partition keeps for further packets.
const MOST_SPARE: usize = 1 << 16;

/// Of no packet.
const NO_SENDING: Sending = (HostId(u32::MAX), Time::MAX);

/// A column: as long as the highest slot that has a value needs.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Column<T> {
    values: Vec<(Sending, T)>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<T: Default> Column<T> {
    #[inline]
    fn place(&mut self, slot: u32) -> &mut (Sending, T) {
        let slot = slot as usize;
        if self.values.len() <= slot {
            self.values.resize_with(slot + 1, || (NO_SENDING, T::default()));
        }
        &mut self.values[slot]
    }

    /// Keeps a value with the packet `of` in `slot`.
    pub fn put(&mut self, slot: u32, of: Sending, value: T) {
        *self.place(slot) = (of, value);
    }

    /// The value of the packet `of` in `slot`.
    pub fn get(&self, slot: u32, of: Sending) -> Option<&T> {
        let (sending, value) = self.values.get(slot as usize)?;
        (*sending == of).then_some(value)
    }

    /// Takes the value of the packet `of` out of `slot`.
    #[inline]
    pub fn take(&mut self, slot: u32, of: Sending) -> Option<T> {
        let place = self.values.get_mut(slot as usize)?;
        if place.0 != of {
            return None;
        }
        place.0 = NO_SENDING;
        Some(std::mem::take(&mut place.1))
    }
}

impl<T: Copy + Default> Column<T> {
    /// [`Column::put`] of a value that is copied once.
    #[inline]
    pub fn put_copy(&mut self, slot: u32, of: Sending, value: &T) {
        let place = self.place(slot);
        place.0 = of;
        place.1 = *value;
    }

    /// [`Column::take`] of a value that owns nothing, and so may stay where it is.
    #[inline]
    fn take_copy(&mut self, slot: u32, of: Sending) -> Option<T> {
        let place = self.values.get_mut(slot as usize)?;
        if place.0 != of {
            return None;
        }
        place.0 = NO_SENDING;
        Some(place.1)
    }
}

impl<T> Column<Vec<T>> {
    /// The list of the packet `of` in `slot`, empty if it has none yet.
    pub fn list(&mut self, slot: u32, of: Sending) -> &mut Vec<T> {
        let place = self.place(slot);
        if place.0 != of {
            place.0 = of;
            place.1.clear();
        }
        &mut place.1
    }
}

/// The columns of an arena, a field for each feature.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub struct Columns {
    /// Labels of ordering protocols.
    pub labels: Column<Label>,
    /// Headers of queue pairs.
    pub transports: Column<TransportHeaders>,
    /// Bytes of the payloads of queue pairs.
    pub contents: Column<Box<[u8]>>,
    /// Contents of the acknowledgements of congestion control.
    pub echoes: Column<Echo>,
    /// States of the outputs that packets left by.
    telemetry: Column<Vec<HopTelemetry>>,
    /// Empty lists of such states, which further packets use: so nothing is allocated per packet.
    spare: Vec<Vec<HopTelemetry>>,
    /// Times at which the bytes of packets arrive, with held outputs.
    pub arrivals: Column<Vec<ByteLine>>,
}

impl Columns {
    /// Stores the extension headers of the packet `of` in `slot`.
    pub fn put(&mut self, slot: u32, of: Sending, extensions: ExtensionHeaders) {
        let ExtensionHeaders { label, transport, content, echo, telemetry, arrivals } = extensions;
        if let Some(label) = label {
            self.labels.put(slot, of, label);
        }
        if let Some(transport) = transport {
            self.transports.put(slot, of, transport);
        }
        if let Some(content) = content {
            self.contents.put(slot, of, content);
        }
        if let Some(echo) = echo {
            self.echoes.put(slot, of, echo);
        }
        if !telemetry.is_empty() {
            self.telemetry.put(slot, of, telemetry);
        }
        if !arrivals.is_empty() {
            self.arrivals.put(slot, of, arrivals);
        }
    }

    /// Gives the packet `of` in the slot `copy`, which is a copy of that in `slot`, the same headers and bytes of a queue pair.
    pub fn copy(&mut self, (slot, copy): (u32, u32), of: Sending) {
        if let Some(&transport) = self.transports.get(slot, of) {
            self.transports.put(copy, of, transport);
        }
        if let Some(content) = self.contents.get(slot, of).cloned() {
            self.contents.put(copy, of, content);
        }
    }

    /// The states of the outputs that the packet `of` in `slot` left by.
    pub fn telemetry(&mut self, slot: u32, of: Sending) -> &mut Vec<HopTelemetry> {
        let list = self.telemetry.list(slot, of);
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list
    }

    /// Takes back extension headers that were read.
    pub fn reuse(&mut self, mut extensions: ExtensionHeaders) {
        self.reuse_lists(&mut extensions);
    }

    /// [`Columns::reuse`] of the lists alone.
    #[inline]
    fn reuse_lists(&mut self, extensions: &mut ExtensionHeaders) {
        if extensions.telemetry.capacity() > 0 {
            let mut list = std::mem::take(&mut extensions.telemetry);
            if self.spare.len() < MOST_SPARE {
                list.clear();
                self.spare.push(list);
            }
        }
    }

    /// True if no packet has had extension headers.
    #[inline]
    pub fn are_unused(&self) -> bool {
        self.transports.values.is_empty() && self.have_only_transports()
    }

    /// True if no packet has had other extension headers than those of queue pairs.
    #[inline]
    fn have_only_transports(&self) -> bool {
        self.labels.values.is_empty()
            && self.contents.values.is_empty()
            && self.echoes.values.is_empty()
            && self.telemetry.values.is_empty()
            && self.arrivals.values.is_empty()
    }

    /// Removes the extension headers of the packet `of` in `slot`, and puts them in place of those of another packet of these columns, which were
    /// read.
    #[inline]
    pub fn take_into(&mut self, slot: u32, of: Sending, extensions: &mut ExtensionHeaders) {
        if self.have_only_transports() {
            // All other fields are empty: no packet has had them.
            extensions.transport = self.transports.take_copy(slot, of);
            return;
        }
        self.reuse_lists(extensions);
        extensions.label = self.labels.take_copy(slot, of);
        extensions.transport = self.transports.take_copy(slot, of);
        extensions.content = self.contents.take(slot, of);
        extensions.echo = self.echoes.take_copy(slot, of);
        if let Some(telemetry) = self.telemetry.take(slot, of) {
            extensions.telemetry = telemetry;
        }
        extensions.arrivals.clear();
        if let Some(arrivals) = self.arrivals.take(slot, of) {
            extensions.arrivals = arrivals;
        }
    }

    /// Removes and returns the extension headers of the packet `of` in `slot`.
    pub fn take(&mut self, slot: u32, of: Sending) -> ExtensionHeaders {
        ExtensionHeaders {
            label: self.labels.take_copy(slot, of),
            transport: self.transports.take_copy(slot, of),
            content: self.contents.take(slot, of),
            echo: self.echoes.take_copy(slot, of),
            telemetry: self.telemetry.take(slot, of).unwrap_or_default(),
            arrivals: self.arrivals.take(slot, of).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::ByteTime;

    use super::*;

    const A: Sending = (HostId(1), Time(10));
    const B: Sending = (HostId(1), Time(20));

    fn hop(time: u64) -> HopTelemetry {
        HopTelemetry { output: 0, time: Time(time), sent: 0, queued: 0, byte_time: ByteTime::default() }
    }

    #[test]
    fn a_value_belongs_to_one_packet() {
        let mut column = Column::default();
        column.put(3, A, 7);
        assert_eq!((column.get(3, A), column.get(3, B), column.get(2, A)), (Some(&7), None, None));
        assert_eq!((column.take(3, B), column.take(3, A), column.take(3, A)), (None, Some(7), None));
    }

    #[test]
    fn a_list_begins_anew_with_each_packet() {
        let mut column: Column<Vec<u32>> = Column::default();
        column.list(0, A).extend([1, 2]);
        column.list(0, A).push(3);
        assert_eq!(column.get(0, A), Some(&vec![1, 2, 3]));
        assert!(column.list(0, B).is_empty());
        assert_eq!(column.get(0, A), None);
    }

    #[test]
    fn lists_of_hops_are_used_again() {
        let mut columns = Columns::default();
        columns.telemetry(0, A).extend([hop(1), hop(2)]);
        let found = columns.take(0, A);
        let storage = found.telemetry.as_ptr();
        columns.reuse(found);
        columns.reuse(ExtensionHeaders::default());
        let again = columns.telemetry(7, B);
        assert!(again.is_empty() && again.as_ptr() == storage);
        assert_eq!(columns.telemetry(8, B).capacity(), 0, "a list is used by one packet at a time");
    }

    #[test]
    fn what_is_put_beside_a_packet_is_taken_out_again() {
        let echo = Echo { bytes: 9, packets: 1, ..Echo::default() };
        for extensions in [
            ExtensionHeaders::default(),
            ExtensionHeaders {
                label: Some(Label { number: 4, ..Label::default() }),
                ..ExtensionHeaders::default()
            },
            ExtensionHeaders {
                echo: Some(echo),
                telemetry: vec![hop(1), hop(2)],
                ..ExtensionHeaders::default()
            },
        ] {
            let mut columns = Columns::default();
            let mut read = ExtensionHeaders::default();
            let before = ExtensionHeaders {
                label: Some(Label { number: 9, ..Label::default() }),
                telemetry: vec![hop(3)],
                ..ExtensionHeaders::default()
            };
            columns.put(4, A, before.clone());
            columns.take_into(4, A, &mut read);
            assert_eq!(read, before);
            columns.put(5, A, extensions.clone());
            columns.take_into(5, A, &mut read);
            assert_eq!(read, extensions);
            columns.take_into(5, A, &mut read);
            assert_eq!(read, ExtensionHeaders::default());
            columns.put(5, A, extensions.clone());
            assert_eq!(columns.take(5, B), ExtensionHeaders::default());
            assert_eq!(columns.take(5, A), extensions);
            assert_eq!(columns.take(5, A), ExtensionHeaders::default());
        }
    }
}
