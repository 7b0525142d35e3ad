//! Configuration of switches and adapters.

use serde::{Serialize, Serializer};

use crate::field::{Field, Octets};
use crate::record::record;

/// Set of ports: 256 bits, in which port 0 is the least significant one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortMask(Octets<32>);

impl PortMask {
    /// The set of the given ports.
    pub fn of(ports: &[u8]) -> Self {
        let mut mask = Self::default();
        for port in ports {
            mask.0.0[31 - usize::from(port / 8)] |= 1 << (port % 8);
        }
        mask
    }

    /// True if the port is in the set.
    pub fn contains(&self, port: u8) -> bool {
        self.0.0[31 - usize::from(port / 8)] & 1 << (port % 8) != 0
    }

    /// The ports, ascending.
    pub fn ports(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|&port| self.contains(port))
    }
}

impl Field for PortMask {
    const COUNT: usize = 32;

    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(Octets::read(bytes, at, width))
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        self.0.write(bytes, at, width);
    }
}

impl Serialize for PortMask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ports())
    }
}

record! {
    /// Detection of congestion in a switch (annex A10.4.3.6).
    SwitchCongestionSetting, SwitchCongestionSettingView, 76 {
        /// Fields that are valid, from bit 0: victim mask, credit mask, threshold and packet size, threshold and delay for
        /// missing credits, marking rate.
        control_map: u32 = 0:0, 32;
        /// Ports that mark packets even if the cause is downstream.
        victim_mask: PortMask = 4:0, 8;
        /// Ports that mark packets if credits are missing.
        credit_mask: PortMask = 36:0, 8;
        /// Threshold: 0 no marking, 1 the latest, 15 the earliest.
        threshold: u8 = 68:0, 4;
        /// Smaller packets are not marked, in units of 64 bytes.
        packet_size: u8 = 69:0, 8;
        /// Threshold for missing credits, as `threshold`.
        cs_threshold: u8 = 70:0, 4;
        /// Time without credits after which packets are marked, in the format of [`super::CctEntry`].
        cs_return_delay: u16 = 72:0, 16;
        /// Mean number of packets between two marked ones.
        marking_rate: u16 = 74:0, 16;
    }
}

record! {
    /// Detection of congestion at a port of a switch.
    SwitchPortCongestion, SwitchPortCongestionView, 4 {
        /// True if these settings replace those of the switch.
        is_valid: bool = 0:0, 1;
        /// False for congestion, true for missing credits.
        is_credit_starvation: bool = 0:1, 1;
        /// Threshold, as [`SwitchCongestionSetting::threshold`].
        threshold: u8 = 0:4, 4;
        /// Smaller packets are not marked, in units of 64 bytes.
        packet_size: u8 = 1:0, 8;
        /// Marking rate; for missing credits the time after which packets are marked.
        parameter: u16 = 2:0, 16;
    }
}

record! {
    /// A block of the settings of a switch's ports (annex A10.4.3.7). Attribute modifier: number of the block of 32 ports.
    SwitchPortCongestionSetting, SwitchPortCongestionSettingView, 128 {
        /// Settings by port.
        ports: crate::field::Table<SwitchPortCongestion, 32> = 0:0, 8;
    }
}

record! {
    /// Reaction to notifications, for a service level.
    CaCongestionEntry, CaCongestionEntryView, 8 {
        /// Time after which the index falls by 1, in units of 1.024 us.
        ccti_timer: u16 = 0:0, 16;
        /// Entries by which a notification raises the index.
        ccti_increase: u8 = 2:0, 8;
        /// Index above which an event is logged.
        trigger_threshold: u8 = 3:0, 8;
        /// The lowest index.
        ccti_min: u8 = 4:0, 8;
    }
}

record! {
    /// Reaction to notifications in an adapter (annex A10.4.3.8).
    CaCongestionSetting, CaCongestionSettingView, 132 {
        /// Bit 0: false for a delay per queue pair, true per service level.
        port_control: u16 = 0:0, 16;
        /// Service levels whose entries are valid, a bit each.
        control_map: u16 = 2:0, 16;
        /// Entries by service level.
        entries: crate::field::Table<CaCongestionEntry, 16> = 4:0, 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_0_is_the_least_significant_bit() {
        let mask = PortMask::of(&[0, 9, 255]);
        assert_eq!((mask.0.0[31], mask.0.0[30], mask.0.0[0]), (1, 2, 0x80));
        assert_eq!(mask.ports().collect::<Vec<_>>(), [0, 9, 255]);
    }
}
