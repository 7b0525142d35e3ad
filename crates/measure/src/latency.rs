use crate::Histogram;

/// Latencies and paths of the packets that were created within the window, of all flows together. Their exact mean and
/// extremes follow from those of the flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// From creation to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %.
    pub(crate) total: Histogram<7>,
    /// From the first byte on the wire to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %.
    pub(crate) network: Histogram<7>,
    /// Packets by number of switches passed.
    pub(crate) switches: Vec<u64>,
}

impl Latencies {
    #[inline]
    pub(crate) fn record(&mut self, total: u64, network: u64, switches: u16) {
        self.total.record(total);
        self.network.record(network);
        match self.switches.get_mut(usize::from(switches)) {
            Some(count) => *count += 1,
            None => self.more_switches(usize::from(switches)),
        }
    }

    #[cold]
    fn more_switches(&mut self, switches: usize) {
        self.switches.resize(switches + 1, 0);
        self.switches[switches] += 1;
    }

    /// Packets by number of hops. A hop is a link between two switches, as in the facts of a topology: a packet that
    /// passes n switches makes n - 1 hops, one that passes none makes none.
    pub(crate) fn hops(&self) -> Vec<u64> {
        let mut packets = vec![0; self.switches.len().saturating_sub(1)];
        for (switches, count) in self.switches.iter().enumerate().filter(|(_, count)| **count > 0) {
            let hops = switches.saturating_sub(1);
            packets.resize(packets.len().max(hops + 1), 0);
            packets[hops] += count;
        }
        packets
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.network.merge(&other.network);
        if self.switches.len() < other.switches.len() {
            self.switches.resize(other.switches.len(), 0);
        }
        self.switches.iter_mut().zip(&other.switches).for_each(|(mine, theirs)| *mine += theirs);
    }
}
