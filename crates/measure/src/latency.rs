use crate::Histogram;
use crate::moments::Moments;

/// Sub-buckets per power of two of the run's histograms, as a power of two: quantiles to 2^-8 = 0.4 %.
const BITS: u32 = 7;

/// Latencies and hops of the packets that were made within the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Latencies {
    pub(crate) total: Moments,
    pub(crate) network: Moments,
    pub(crate) total_histogram: Histogram,
    pub(crate) network_histogram: Histogram,
    /// Packets by number of hops.
    pub(crate) hops: Vec<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self {
            total: Moments::default(),
            network: Moments::default(),
            total_histogram: Histogram::new(BITS),
            network_histogram: Histogram::new(BITS),
            hops: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, total: u64, network: u64, hops: u16) {
        self.total.record(total);
        self.network.record(network);
        self.total_histogram.record(total);
        self.network_histogram.record(network);
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
        self.total += other.total;
        self.network += other.network;
        self.total_histogram.merge(&other.total_histogram);
        self.network_histogram.merge(&other.network_histogram);
        if self.hops.len() < other.hops.len() {
            self.hops.resize(other.hops.len(), 0);
        }
        self.hops.iter_mut().zip(&other.hops).for_each(|(mine, theirs)| *mine += theirs);
    }
}
