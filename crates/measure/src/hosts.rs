use fabricsim_units::HostId;

use crate::MOST_FLOWS;
use crate::grid::{Axis, Bin, Cells};

pub(crate) const INJECTED_PACKETS: usize = 0;
pub(crate) const INJECTED_BYTES: usize = 1;
pub(crate) const DELIVERED_PACKETS: usize = 2;
pub(crate) const DELIVERED_BYTES: usize = 3;

/// Data that every host sent and received: counters within the window, series over the whole run (one for all hosts
/// together if there are more than [`MOST_FLOWS`]).
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) counters: Vec<[u64; 4]>,
    pub(crate) injected: Cells<u64>,
    pub(crate) delivered: Cells<u64>,
    pub(crate) each: bool,
}

impl Hosts {
    /// Number of series.
    pub(crate) fn rows(hosts: u32) -> usize {
        if hosts as usize <= MOST_FLOWS { hosts as usize } else { 1 }
    }

    pub(crate) fn new(hosts: u32, axis: &Axis) -> Self {
        let rows = Self::rows(hosts);
        let hosts = hosts as usize;
        Self {
            counters: vec![[0; 4]; hosts],
            injected: Cells::new(axis, rows),
            delivered: Cells::new(axis, rows),
            each: rows == hosts,
        }
    }

    #[inline]
    fn row(&self, host: HostId) -> usize {
        if self.each { host.index() } else { 0 }
    }

    #[inline]
    pub(crate) fn injected(&mut self, within: bool, bin: Bin, host: HostId, bytes: u32) {
        self.injected.add(self.row(host), bin, u64::from(bytes));
        if within {
            let counters = &mut self.counters[host.index()];
            counters[INJECTED_PACKETS] += 1;
            counters[INJECTED_BYTES] += u64::from(bytes);
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, within: bool, bin: Bin, host: HostId, bytes: u32) {
        self.delivered.add(self.row(host), bin, u64::from(bytes));
        if within {
            let counters = &mut self.counters[host.index()];
            counters[DELIVERED_PACKETS] += 1;
            counters[DELIVERED_BYTES] += u64::from(bytes);
        }
    }

    /// Sum of a counter over all hosts.
    pub(crate) fn total(&self, counter: usize) -> u64 {
        self.counters.iter().map(|counters| counters[counter]).sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.injected.merge(&other.injected);
        self.delivered.merge(&other.delivered);
    }
}
