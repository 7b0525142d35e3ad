//! Use of every lane of every sending port.

mod counters;
mod tables;

use fabricsim_model::LossCause;
use fabricsim_units::{Time, Vl};

pub(crate) use counters::{BUSY, BYTES, LaneCounters, PACKETS, STALLED};

use super::collector::{Collector, NoKeys, ResultTable};
use crate::grid::{Grid, capacity};
use crate::input::TableInput;
use crate::timeline::Timeline;
use crate::{RecorderConfig, Window};

/// Use of every lane of every sending port within the window. The counters are arrays of integers so that they
/// come zeroed from the system: a port that a partition never uses costs no memory.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Links {
    lanes: usize,
    pub(crate) counters: Vec<LaneCounters>,
    /// Micropackets that failed and were retransmitted; empty as long as there were none.
    retries: Vec<u64>,
    /// Packets that switches discarded instead of sending them; empty as long as there were none.
    discarded: Vec<u64>,
    /// Packets that arrived at the other end with a bit error and were lost; empty as long as there were none.
    damaged: Vec<u64>,
    /// Packets that the switch at one of the ends discarded because of their P_Key; empty as long as there were none.
    p_key: Vec<u64>,
    /// Packets for multicast groups; empty as long as there were none.
    multicast: Vec<u64>,
    /// Flow-control packets of each port, at its first lane; empty as long as there were none.
    flow_control: Vec<u64>,
    series: Option<Series>,
    /// Every transmission from now on that ends by then lies within the window, and only its counters take it. Zero if
    /// that is not known.
    inside_until: Time,
}

/// Adds `times` at `place` of a column of `length` rows, which is empty as long as all are zero.
fn count(column: &mut Vec<u64>, (place, length): (usize, usize), times: u64) {
    column.resize(length, 0);
    column[place] += times;
}

/// Adds the rows of another column, either of which may be empty.
fn merge(mine: &mut Vec<u64>, theirs: &[u64]) {
    if !theirs.is_empty() {
        mine.resize(theirs.len(), 0);
        mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Picoseconds busy and stalled per sending port (all lanes) and bin, over the whole run.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Series {
    busy: Grid<u64>,
    stalled: Grid<u64>,
}

impl Links {
    fn place(&self, port: u32, lane: Vl) -> usize {
        port as usize * self.lanes + usize::from(lane.0)
    }

    /// Counts a transmission that lies within the window. False if it may not, or if other collectors or series take it: then it
    /// is not counted. Packets are reported in the order in which they start.
    #[inline]
    pub(crate) fn transmitted_inside(
        &mut self,
        (port, lane): (u32, Vl),
        bytes: u32,
        start: Time,
        end: Time,
    ) -> bool {
        if end > self.inside_until {
            return false;
        }
        let counters = &mut self.counters[port as usize * self.lanes + usize::from(lane.0)];
        counters[BUSY] += end.0 - start.0;
        counters[BYTES] += u64::from(bytes);
        counters[PACKETS] += 1;
        true
    }

    /// Reports every further transmission to all collectors.
    pub(crate) fn report_each(&mut self) {
        self.inside_until = Time::ZERO;
    }

    /// A transmission that began before `window` opened ends at `end`: adds its part within the window.
    pub(crate) fn reach_into(&mut self, window: Window, port: u32, lane: Vl, end: Time) {
        let place = self.place(port, lane);
        self.counters[place][BUSY] += window.clip(window.from, end);
    }

    /// `window`, in which a transmission that ends at `end` was counted, closes at `to` instead: subtracts the part
    /// beyond it.
    pub(crate) fn cut_off(&mut self, window: Window, to: Time, (port, lane): (u32, Vl), end: Time) {
        let place = self.place(port, lane);
        self.counters[place][BUSY] -= window.clip(to, end);
    }

    /// The run ends at `now`, before a transmission that ends at `end`.
    pub(crate) fn cut_off_series(&mut self, port: u32, now: Time, end: Time) {
        if let Some(series) = &mut self.series {
            series.busy.remove_interval(port as usize, now, end);
        }
    }

    /// The run has ended at `now`, and [`Links::cut_off_series`] was called for each transmission in progress.
    pub(crate) fn end_series(&mut self, now: Time) {
        if let Some(series) = &mut self.series {
            series.busy.end_at(now);
            series.stalled.end_at(now);
        }
    }
}

impl Collector for Links {
    type Summary = NoKeys;

    fn new(config: &RecorderConfig, _timeline: &Timeline) -> Self {
        let (ports, lanes) = (config.ports as usize, usize::from(config.lanes.max(1)));
        let series = config.link_series.then(|| {
            let grid = Grid::new(config.bin, capacity(config.expected_bins(), ports), ports);
            Series { busy: grid.clone(), stalled: grid }
        });
        Self {
            lanes,
            counters: vec![[0; 4]; ports * lanes],
            retries: Vec::new(),
            discarded: Vec::new(),
            damaged: Vec::new(),
            p_key: Vec::new(),
            multicast: Vec::new(),
            flow_control: Vec::new(),
            series,
            inside_until: Time::ZERO,
        }
    }

    /// For any window.
    fn transmitted(
        &mut self,
        timeline: &Timeline,
        (port, lane): (u32, Vl),
        bytes: u32,
        start: Time,
        end: Time,
    ) -> bool {
        let window = timeline.window;
        if start >= window.from && self.series.is_none() {
            self.inside_until = window.to;
        }
        let place = self.place(port, lane);
        let counters = &mut self.counters[place];
        counters[BUSY] += window.clip(start, end);
        let counted = u64::from(window.contains(start));
        counters[BYTES] += u64::from(bytes) * counted;
        counters[PACKETS] += counted;
        if let Some(series) = &mut self.series {
            series.busy.add_interval(port as usize, start, end);
        }
        false
    }

    fn window_changed(&mut self) {
        self.inside_until = Time::ZERO;
    }

    #[inline]
    fn stalled(&mut self, timeline: &mut Timeline, port: u32, lane: Vl, start: Time, end: Time) {
        let place = port as usize * self.lanes + usize::from(lane.0);
        self.counters[place][STALLED] += timeline.window.clip(start, end);
        if let Some(series) = &mut self.series {
            series.stalled.add_interval(port as usize, start, end);
        }
    }

    fn retried(&mut self, timeline: &mut Timeline, now: Time, port: u32, lane: Vl, times: u32) {
        if timeline.window.contains(now) {
            let place = self.place(port, lane);
            count(&mut self.retries, (place, self.counters.len()), u64::from(times));
        }
    }

    fn multicast(&mut self, timeline: &mut Timeline, now: Time, port: u32, lane: Vl) {
        if timeline.window.contains(now) {
            let place = self.place(port, lane);
            count(&mut self.multicast, (place, self.counters.len()), 1);
        }
    }

    fn flow_controlled(&mut self, timeline: &mut Timeline, now: Time, port: u32, packets: u32) {
        if timeline.window.contains(now) {
            let place = self.place(port, Vl(0));
            count(&mut self.flow_control, (place, self.counters.len()), packets.into());
        }
    }

    fn flow_refreshed(&mut self, timeline: &mut Timeline, first: Time, every: Time, port: u32, packets: u64) {
        let within = timeline.window.times_within(first, every, packets);
        if within > 0 {
            let place = self.place(port, Vl(0));
            count(&mut self.flow_control, (place, self.counters.len()), within);
        }
    }

    fn lost_at(&mut self, timeline: &mut Timeline, now: Time, port: u32, lane: Vl, cause: LossCause) {
        if timeline.window.contains(now) {
            let place = (self.place(port, lane), self.counters.len());
            let column = match cause {
                LossCause::Vcrc => &mut self.damaged,
                LossCause::PartitionKeyAtSwitch => &mut self.p_key,
                _ => &mut self.discarded,
            };
            count(column, place, 1);
        }
    }

    fn merge(&mut self, other: &Self) {
        merge(&mut self.retries, &other.retries);
        merge(&mut self.discarded, &other.discarded);
        merge(&mut self.damaged, &other.damaged);
        merge(&mut self.p_key, &other.p_key);
        merge(&mut self.multicast, &other.multicast);
        merge(&mut self.flow_control, &other.flow_control);
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

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let mut all = vec![ResultTable::new(
            "direction and virtual lane of a link that was used",
            tables::links(self, input),
        )];
        let text = "direction of a link and time bin; with `measure.link_series`";
        all.extend(self.series.as_ref().map(|series| ResultTable::new(text, tables::series(series, input))));
        all
    }

    fn summarize(&self, _input: &TableInput<'_>) -> NoKeys {
        NoKeys {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Axis;
    use fabricsim_spec::FlowDetail;

    fn new_links(ports: u32, lanes: u8, link_series: bool) -> Links {
        let config = RecorderConfig {
            window: Window::CLOSED,
            bin: Time(50),
            end: Time(400),
            batch: Time(100),
            confidence: 0.95,
            hosts: 0,
            ports,
            lanes,
            flows: FlowDetail::Auto,
            link_series,
        };
        Links::new(&config, &timeline(Window::CLOSED))
    }

    fn timeline(window: Window) -> Timeline {
        Timeline { window, axis: Axis::new(Time(50), 8) }
    }

    /// As the recorder does it.
    fn transmit(links: &mut Links, window: Window, at: (u32, u8), bytes: u32, start: u64, end: u64) {
        let (at, start, end) = ((at.0, Vl(at.1)), Time(start), Time(end));
        if !links.transmitted_inside(at, bytes, start, end) {
            assert!(!links.transmitted(&timeline(window), at, bytes, start, end));
        }
    }

    #[test]
    fn packets_at_the_edges_of_the_window() {
        let mut links = new_links(2, 2, true);
        let window = Window { from: Time(100), to: Time(200) };
        transmit(&mut links, window, (1, 1), 10, 40, 60);
        transmit(&mut links, window, (1, 1), 20, 90, 110);
        transmit(&mut links, window, (1, 1), 40, 110, 150);
        transmit(&mut links, window, (1, 1), 80, 195, 275);
        links.stalled(&mut timeline(window), 1, Vl(1), Time(60), Time(105));
        links.stalled(&mut timeline(window), 1, Vl(0), Time(199), Time(205));
        assert_eq!(links.counters, [[0; 4], [0; 4], [0, 0, 0, 1], [55, 120, 2, 5]]);
        let series = links.series.as_ref().unwrap();
        assert_eq!(series.busy.row(1), [10, 20, 50, 5, 50, 25]);
        assert_eq!(series.stalled.row(1), [0, 40, 5, 1, 5]);
        let copy = links.clone();
        links.merge(&copy);
        assert_eq!(links.counters[3], [110, 240, 4, 10]);
    }

    /// Packets are counted as they start, with their end: when a window opens or closes in between, the counters are
    /// notified.
    #[test]
    fn a_window_that_closes_early_holds_no_more_than_its_length() {
        let mut links = new_links(1, 1, true);
        let open = Window { from: Time(100), to: Time::MAX };
        transmit(&mut links, Window::CLOSED, (0, 0), 7, 60, 110);
        links.reach_into(open, 0, Vl(0), Time(110));
        links.window_changed();
        transmit(&mut links, open, (0, 0), 7, 110, 160);
        transmit(&mut links, open, (0, 0), 7, 160, 900);
        links.cut_off(open, Time(200), (0, Vl(0)), Time(900));
        assert_eq!(links.counters[0][BUSY], 100);
        links.cut_off_series(0, Time(200), Time(900));
        links.end_series(Time(200));
        assert_eq!(links.series.as_ref().map(|series| series.busy.row(0).iter().sum()), Some(140_u64));
        // A window whose end was known: nothing was counted beyond it.
        let mut links = new_links(1, 1, false);
        let known = Window { from: Time(100), to: Time(200) };
        transmit(&mut links, known, (0, 0), 7, 90, 900);
        links.cut_off(known, Time(150), (0, Vl(0)), Time(900));
        assert_eq!(links.counters[0][BUSY], 50);
    }

    /// Transmissions that are known to lie within the window take a shorter path in the code: with series, which never
    /// take it, the counters are the same. The window opens and closes late.
    #[test]
    fn the_short_way_counts_the_same() {
        let mut both = [new_links(1, 1, false), new_links(1, 1, true)];
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
            for links in &mut both {
                links.window_changed();
                transmit(links, window, (0, 0), 7, start, end);
                transmit(links, window, (0, 0), 9, start, end);
            }
            assert_eq!(both[0].counters, both[1].counters);
            assert_eq!(both[1].inside_until, Time::ZERO);
        }
        assert_eq!(both[0].counters, [[2 * (30 + 40 + 40 + 90 + 40), 4 * 16, 8, 0]]);
    }
}
