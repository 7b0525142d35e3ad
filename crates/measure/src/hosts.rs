use fabricsim_units::{HostId, Time};

use crate::grid::{Grid, capacity};
use crate::{MOST_FLOWS, Window};

pub(crate) const INJECTED_PACKETS: usize = 0;
pub(crate) const INJECTED_BYTES: usize = 1;
pub(crate) const DELIVERED_PACKETS: usize = 2;
pub(crate) const DELIVERED_BYTES: usize = 3;

/// What every host sent and received: counters within the window, series over the whole run (one for all hosts
/// together where there are more than [`MOST_FLOWS`]).
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) counters: Vec<[u64; 4]>,
    pub(crate) injected: Grid<u64>,
    pub(crate) delivered: Grid<u64>,
    pub(crate) each: bool,
}

impl Hosts {
    pub(crate) fn new(hosts: u32, bin: Time, expected: u64) -> Self {
        let hosts = hosts as usize;
        let each = hosts <= MOST_FLOWS;
        let rows = if each { hosts } else { 1 };
        let grid = Grid::new(bin, capacity(expected, rows), rows);
        Self { counters: vec![[0; 4]; hosts], injected: grid.clone(), delivered: grid, each }
    }

    #[inline]
    fn row(&self, host: HostId) -> usize {
        if self.each { host.index() } else { 0 }
    }

    #[inline]
    pub(crate) fn injected(&mut self, window: Window, now: Time, host: HostId, bytes: u32) {
        self.injected.add(self.row(host), now, u64::from(bytes));
        if window.contains(now) {
            let counters = &mut self.counters[host.index()];
            counters[INJECTED_PACKETS] += 1;
            counters[INJECTED_BYTES] += u64::from(bytes);
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, within: bool, now: Time, host: HostId, bytes: u32) {
        self.delivered.add(self.row(host), now, u64::from(bytes));
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
