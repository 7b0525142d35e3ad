use fabricsim_spec::CctEntry;
use fabricsim_units::Time;

/// A congestion control table (InfiniBand Architecture Specification, A10.4.3.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CongestionControlTable {
    entries: Box<[CctEntry]>,
}

impl CongestionControlTable {
    /// A table with these entries, one or more.
    pub fn new(entries: Vec<CctEntry>) -> Self {
        Self { entries: entries.into() }
    }

    /// Last index of the table.
    pub fn last(&self) -> u16 {
        (self.entries.len() - 1) as u16
    }

    /// The injection rate delay at an index for a packet that takes `packet_time` on the link: (packet time >> shift) *
    /// multiplier. Beyond the table its last entry holds.
    #[inline]
    pub fn delay(&self, index: u16, packet_time: Time) -> Time {
        self.entries[usize::from(index).min(self.entries.len() - 1)].of(packet_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_shifted_and_multiplied() {
        let entries = ["0:0", "3:1", "1:3", "0:16383"].map(|text| text.parse().unwrap());
        let table = CongestionControlTable::new(entries.to_vec());
        let packet = Time::ns(2176);
        assert_eq!(table.last(), 3);
        assert_eq!(table.delay(0, packet), Time::ZERO);
        assert_eq!(table.delay(1, packet), Time::ns(272));
        assert_eq!(table.delay(2, packet), Time::ns(3264));
        assert_eq!(table.delay(3, packet), Time::ns(2176 * 16383));
        assert_eq!(table.delay(9, packet), table.delay(3, packet));
    }
}
