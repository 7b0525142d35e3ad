use fabricsim_units::Time;

use crate::Window;
use crate::grid::{Grid, capacity};

pub(crate) const BUSY: usize = 0;
pub(crate) const BYTES: usize = 1;
pub(crate) const PACKETS: usize = 2;
pub(crate) const STALLED: usize = 3;

/// Use of every lane of every sending port within the window. The counters are arrays of integers so that they
/// come zeroed from the system: a port that a partition never uses costs no memory.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    pub(crate) lanes: usize,
    pub(crate) counters: Vec<[u64; 4]>,
    /// Micropackets that failed and were retransmitted; empty as long as there were none.
    pub(crate) retries: Vec<u64>,
    pub(crate) series: Option<Series>,
    /// Every transmission from now on that ends by then lies within the window, and there are no series. Zero if
    /// that is not known.
    inside_until: Time,
}

/// Picoseconds busy and stalled per sending port (all lanes) and bin, over the whole run.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) busy: Grid<u64>,
    pub(crate) stalled: Grid<u64>,
}

impl Ports {
    /// `series` is the width of a bin and how many are expected, if there are to be series.
    pub(crate) fn new(ports: u32, lanes: u8, series: Option<(Time, u64)>) -> Self {
        let (ports, lanes) = (ports as usize, usize::from(lanes.max(1)));
        let series = series.map(|(bin, expected)| {
            let grid = Grid::new(bin, capacity(expected, ports), ports);
            Series { busy: grid.clone(), stalled: grid }
        });
        Self {
            lanes,
            counters: vec![[0; 4]; ports * lanes],
            retries: Vec::new(),
            series,
            inside_until: Time::ZERO,
        }
    }

    /// Changes the window.
    pub(crate) fn window_changed(&mut self) {
        self.inside_until = Time::ZERO;
    }

    /// Packets are reported in the order in which they start.
    #[inline]
    pub(crate) fn transmitted_inside(&mut self, at: (u32, u8), bytes: u32, start: Time, end: Time) -> bool {
        if end > self.inside_until {
            return false;
        }
        let counters = &mut self.counters[at.0 as usize * self.lanes + usize::from(at.1)];
        counters[BUSY] += end.0 - start.0;
        counters[BYTES] += u64::from(bytes);
        counters[PACKETS] += 1;
        true
    }

    #[cfg(test)]
    fn transmitted(&mut self, window: Window, at: (u32, u8), bytes: u32, start: Time, end: Time) {
        if !self.transmitted_inside(at, bytes, start, end) {
            self.transmitted_anywhere(window, at, bytes, start, end);
        }
    }

    /// The same for any window.
    pub(crate) fn transmitted_anywhere(
        &mut self,
        window: Window,
        at: (u32, u8),
        bytes: u32,
        start: Time,
        end: Time,
    ) {
        if start >= window.from && self.series.is_none() {
            self.inside_until = window.to;
        }
        let counters = &mut self.counters[at.0 as usize * self.lanes + usize::from(at.1)];
        counters[BUSY] += window.clip(start, end);
        let counted = u64::from(window.contains(start));
        counters[BYTES] += u64::from(bytes) * counted;
        counters[PACKETS] += counted;
        if let Some(series) = &mut self.series {
            series.busy.add_interval(at.0 as usize, start, end);
        }
    }

    /// A transmission that began before `window` opened ends at `end`: adds its part within the window.
    pub(crate) fn reach_into(&mut self, window: Window, at: (u32, u8), end: Time) {
        self.counters[at.0 as usize * self.lanes + usize::from(at.1)][BUSY] += window.clip(window.from, end);
    }

    /// `window`, in which a transmission that ends at `end` was counted, closes at `to` instead: subtracts the part
    /// beyond it.
    pub(crate) fn cut_off(&mut self, window: Window, to: Time, at: (u32, u8), end: Time) {
        let beyond = window.clip(to, end);
        self.counters[at.0 as usize * self.lanes + usize::from(at.1)][BUSY] -= beyond;
    }

    /// The run ends at `now`, before a transmission that ends at `end`.
    pub(crate) fn cut_off_series(&mut self, port: u32, now: Time, end: Time) {
        if let Some(series) = &mut self.series {
            series.busy.remove_interval(port as usize, now, end);
        }
    }

    /// The run has ended at `now`, and [`Ports::cut_off_series`] was called for each transmission in progress.
    pub(crate) fn end_series(&mut self, now: Time) {
        if let Some(series) = &mut self.series {
            series.busy.end_at(now);
            series.stalled.end_at(now);
        }
    }

    #[inline]
    pub(crate) fn stalled(&mut self, window: Window, at: (u32, u8), start: Time, end: Time) {
        self.counters[at.0 as usize * self.lanes + usize::from(at.1)][STALLED] += window.clip(start, end);
        if let Some(series) = &mut self.series {
            series.stalled.add_interval(at.0 as usize, start, end);
        }
    }

    pub(crate) fn retried(&mut self, window: Window, at: (u32, u8), now: Time, times: u32) {
        if window.contains(now) {
            self.retries.resize(self.counters.len(), 0);
            self.retries[at.0 as usize * self.lanes + usize::from(at.1)] += u64::from(times);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if !other.retries.is_empty() {
            self.retries.resize(self.counters.len(), 0);
            self.retries.iter_mut().zip(&other.retries).for_each(|(mine, theirs)| *mine += theirs);
        }
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            if *theirs != [0; 4] {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.series, &other.series) {
            mine.busy.merge(&theirs.busy);
            mine.stalled.merge(&theirs.stalled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_at_the_edges_of_the_window() {
        let mut ports = Ports::new(2, 2, Some((Time(50), 4)));
        let window = Window { from: Time(100), to: Time(200) };
        ports.transmitted(window, (1, 1), 10, Time(40), Time(60));
        ports.transmitted(window, (1, 1), 20, Time(90), Time(110));
        ports.transmitted(window, (1, 1), 40, Time(110), Time(150));
        ports.transmitted(window, (1, 1), 80, Time(195), Time(275));
        ports.stalled(window, (1, 1), Time(60), Time(105));
        ports.stalled(window, (1, 0), Time(199), Time(205));
        assert_eq!(ports.counters, [[0; 4], [0; 4], [0, 0, 0, 1], [55, 120, 2, 5]]);
        let series = ports.series.as_ref().unwrap();
        assert_eq!(series.busy.row(1), [10, 20, 50, 5, 50, 25]);
        assert_eq!(series.stalled.row(1), [0, 40, 5, 1, 5]);
        let copy = ports.clone();
        ports.merge(&copy);
        assert_eq!(ports.counters[3], [110, 240, 4, 10]);
    }

    /// Packets are counted as they start, with their end: when a window opens or closes in between, the counters are
    /// notified.
    #[test]
    fn a_window_that_closes_early_holds_no_more_than_its_length() {
        let mut ports = Ports::new(1, 1, Some((Time(50), 4)));
        let open = Window { from: Time(100), to: Time::MAX };
        ports.transmitted(Window::CLOSED, (0, 0), 7, Time(60), Time(110));
        ports.reach_into(open, (0, 0), Time(110));
        ports.window_changed();
        ports.transmitted(open, (0, 0), 7, Time(110), Time(160));
        ports.transmitted(open, (0, 0), 7, Time(160), Time(900));
        ports.cut_off(open, Time(200), (0, 0), Time(900));
        assert_eq!(ports.counters[0][BUSY], 100);
        ports.cut_off_series(0, Time(200), Time(900));
        ports.end_series(Time(200));
        assert_eq!(ports.series.as_ref().map(|series| series.busy.row(0).iter().sum()), Some(140_u64));
        // A window whose end was known: nothing was counted beyond it.
        let mut ports = Ports::new(1, 1, None);
        let known = Window { from: Time(100), to: Time(200) };
        ports.transmitted(known, (0, 0), 7, Time(90), Time(900));
        ports.cut_off(known, Time(150), (0, 0), Time(900));
        assert_eq!(ports.counters[0][BUSY], 50);
    }

    /// Transmissions that are known to lie within the window take a shorter path in the code: with series, which never
    /// take it, the counters are the same. The window opens and closes late.
    #[test]
    fn the_short_way_counts_the_same() {
        let mut both = [Ports::new(1, 1, None), Ports::new(1, 1, Some((Time(50), 8)))];
        let open = |to| Window { from: Time(100), to: Time(to) };
        for (window, start, end) in [
            (Window::CLOSED, 0, 90),
            (open(u64::MAX), 90, 130),
            (open(u64::MAX), 130, 170),
            (open(300), 170, 210),
            (open(300), 210, 300),
            (open(300), 260, 310),
            (open(300), 310, 350),
        ] {
            for ports in &mut both {
                ports.window_changed();
                ports.transmitted(window, (0, 0), 7, Time(start), Time(end));
                ports.transmitted(window, (0, 0), 9, Time(start), Time(end));
            }
            assert_eq!(both[0].counters, both[1].counters);
            assert_eq!(both[1].inside_until, Time::ZERO);
        }
        assert_eq!(both[0].counters, [[2 * (30 + 40 + 40 + 90 + 40), 4 * 16, 8, 0]]);
    }
}
