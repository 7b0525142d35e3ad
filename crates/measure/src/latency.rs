use crate::Histogram;

/// Latencies and hops of the packets that were made within the window, of all flows together. Their exact mean and
/// extremes follow from those of the flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// From making to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %.
    pub(crate) total: Histogram<7>,
    /// From the first byte on the wire to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %.
    pub(crate) network: Histogram<7>,
    /// Packets by number of hops.
    pub(crate) hops: Vec<u64>,
}

impl Latencies {
    #[inline]
    pub(crate) fn record(&mut self, total: u64, network: u64, hops: u16) {
        self.total.record(total);
        self.network.record(network);
        match self.hops.get_mut(usize::from(hops)) {
            Some(count) => *count += 1,
            None => self.more_hops(usize::from(hops)),
        }
    }

    #[cold]
    fn more_hops(&mut self, hops: usize) {
        self.hops.resize(hops + 1, 0);
        self.hops[hops] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.network.merge(&other.network);
        if self.hops.len() < other.hops.len() {
            self.hops.resize(other.hops.len(), 0);
        }
        self.hops.iter_mut().zip(&other.hops).for_each(|(mine, theirs)| *mine += theirs);
    }
}
