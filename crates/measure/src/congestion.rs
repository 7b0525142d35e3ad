//! Activity of congestion control: marks, notifications, and rate limiting of flows. Counters within the window, series
//! over the whole run; only with congestion control.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use fabricsim_model::Packet;
use fabricsim_spec::{CongestionAlgorithm, FlowDetail};
use fabricsim_units::{HostId, Time};

use crate::flows::Key;
use crate::grid::{Axis, Bin, Cells};
use crate::{MOST_FLOWS, RecorderConfig, Window};

/// Congestion record of a flow, within the window. Times are in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCongestion {
    /// Marked packets delivered (FECN).
    pub(crate) fecn: u64,
    /// Notifications that its source received (BECN).
    pub(crate) becn: u64,
    /// Time rate-limited.
    pub(crate) rate_limited: u64,
    /// Time in which the source's link was idle only because of the rate limit.
    pub(crate) blocked_by_cc: u64,
    /// Sum of level times time.
    pub(crate) level: u128,
    /// The largest and smallest level while it was rate-limited.
    pub(crate) levels: Option<(u32, u32)>,
}

/// The same in a bin of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowBin {
    pub(crate) becn: u64,
    pub(crate) rate_limited: u64,
    pub(crate) blocked_by_cc: u64,
    /// Sum of level times time. At most that of 400 Gb/s over half a minute; more is counted as that.
    pub(crate) level: u64,
}

/// The whole fabric in a bin of a series, or within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FabricCongestion {
    /// Packets marked.
    pub(crate) marked: u64,
    /// Notifications received.
    pub(crate) notified: u64,
    /// Picoseconds blocked by congestion control, summed over hosts.
    pub(crate) blocked_by_cc: u64,
    /// Packets without data that were received, and their bytes.
    pub(crate) control_packets: u64,
    pub(crate) control_bytes: u64,
}

/// Activity of congestion control. By flow, in order of (source, destination). The destination is `None` for all of a
/// source: if an algorithm rate-limits a source as a whole, and if there are more than [`MOST_FLOWS`] flows.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    pub(crate) algorithm: CongestionAlgorithm,
    lanes: usize,
    /// Packets marked within the window, by sending port and lane.
    pub(crate) marked: Vec<u64>,
    pub(crate) total: FabricCongestion,
    pub(crate) fabric: Cells<FabricCongestion>,
    detail: FlowDetail,
    places: BTreeMap<Key, usize>,
    /// For each source the last destination, and its row.
    recent: Vec<Option<(Option<HostId>, usize)>>,
    /// Number of rows of pairs of source and destination.
    pairs: usize,
    flows: Vec<FlowCongestion>,
    /// Dropped for good if there are too many flows.
    series: Option<Cells<FlowBin>>,
}

impl Congestion {
    pub(crate) fn new(algorithm: CongestionAlgorithm, config: &RecorderConfig, axis: &Axis) -> Self {
        let lanes = usize::from(config.lanes.max(1));
        Self {
            algorithm,
            lanes,
            marked: vec![0; config.ports as usize * lanes],
            total: FabricCongestion::default(),
            fabric: Cells::new(axis, 1),
            detail: config.flows,
            places: BTreeMap::new(),
            recent: Vec::new(),
            pairs: 0,
            flows: Vec::new(),
            series: Some(Cells::new(axis, 0)),
        }
    }

    /// A packet is marked as it leaves a sending port and lane.
    pub(crate) fn marked(&mut self, window: Window, axis: &mut Axis, now: Time, at: (u32, u8)) {
        let one = FabricCongestion { marked: 1, ..FabricCongestion::default() };
        self.fabric.add(0, axis.bin(now), one);
        if window.contains(now) {
            self.total += one;
            self.marked[at.0 as usize * self.lanes + usize::from(at.1)] += 1;
        }
    }

    /// A packet without data is received.
    pub(crate) fn controlled(&mut self, window: Window, axis: &mut Axis, now: Time, packet: &Packet) {
        let bytes = u64::from(packet.bytes);
        let one =
            FabricCongestion { control_packets: 1, control_bytes: bytes, ..FabricCongestion::default() };
        self.fabric.add(0, axis.bin(now), one);
        if window.contains(now) {
            self.total += one;
        }
    }

    /// A packet with a mark is delivered.
    pub(crate) fn delivered(&mut self, window: Window, now: Time, packet: &Packet) {
        let place = self.place((packet.source, Some(packet.destination)));
        self.flows[place].fecn += u64::from(window.contains(now));
    }

    /// A source receives a notification.
    pub(crate) fn notified(&mut self, window: Window, axis: &mut Axis, now: Time, key: Key) {
        let (place, bin) = (self.place(key), axis.bin(now));
        let one = FabricCongestion { notified: 1, ..FabricCongestion::default() };
        self.fabric.add(0, bin, one);
        self.in_series(place, bin, FlowBin { becn: 1, ..FlowBin::default() });
        if window.contains(now) {
            self.total += one;
            self.flows[place].becn += 1;
        }
    }

    /// A flow is rate-limited from `start` to `end`.
    pub(crate) fn rate_limited(
        &mut self,
        window: Window,
        axis: &mut Axis,
        key: Key,
        (start, end): (Time, Time),
        level: u32,
    ) {
        let place = self.place(key);
        in_bins(axis, start, end, |bin, time| {
            let level = u64::from(level).saturating_mul(time);
            self.in_series(place, bin, FlowBin { rate_limited: time, level, ..FlowBin::default() });
        });
        let time = window.clip(start, end);
        if time > 0 {
            self.flows[place] += FlowCongestion {
                rate_limited: time,
                level: u128::from(level) * u128::from(time),
                levels: Some((level, level)),
                ..FlowCongestion::default()
            };
        }
    }

    /// The link of a flow's source is idle from `start` to `end` only because the flow is rate-limited.
    pub(crate) fn blocked_by_cc(
        &mut self,
        window: Window,
        axis: &mut Axis,
        key: Key,
        (start, end): (Time, Time),
    ) {
        let place = self.place(key);
        in_bins(axis, start, end, |bin, time| {
            self.in_series(place, bin, FlowBin { blocked_by_cc: time, ..FlowBin::default() });
            self.fabric.add(0, bin, FabricCongestion { blocked_by_cc: time, ..FabricCongestion::default() });
        });
        let time = window.clip(start, end);
        self.flows[place].blocked_by_cc += time;
        self.total.blocked_by_cc += time;
    }

    #[inline]
    fn in_series(&mut self, place: usize, bin: Bin, what: FlowBin) {
        if let Some(series) = &mut self.series {
            series.add(place, bin, what);
        }
    }

    #[inline]
    fn place(&mut self, (source, destination): Key) -> usize {
        let destination = destination.filter(|_| self.detail != FlowDetail::Sources);
        if let Some(&Some((last, place))) = self.recent.get(source.index())
            && last == destination
        {
            return place;
        }
        let place = self.find_place((source, destination));
        if self.recent.len() <= source.index() {
            self.recent.resize(source.index() + 1, None);
        }
        // The flows of a source may have become one meanwhile.
        let destination = destination.filter(|_| self.detail != FlowDetail::Sources);
        self.recent[source.index()] = Some((destination, place));
        place
    }

    #[inline(never)]
    fn find_place(&mut self, (source, destination): Key) -> usize {
        if let Some(&place) = self.places.get(&(source, destination)) {
            return place;
        }
        if destination.is_some() && self.pairs == MOST_FLOWS && self.detail == FlowDetail::Auto {
            self.collapse();
            return self.find_place((source, None));
        }
        self.pairs += usize::from(destination.is_some());
        if self.pairs > MOST_FLOWS {
            self.series = None;
        }
        self.places.insert((source, destination), self.flows.len());
        self.flows.push(FlowCongestion::default());
        if let Some(series) = &mut self.series {
            series.add_row();
        }
        self.flows.len() - 1
    }

    /// From pairs to sources.
    #[cold]
    fn collapse(&mut self) {
        let places = std::mem::take(&mut self.places);
        self.recent.clear();
        let flows = std::mem::take(&mut self.flows);
        let empty = self.series.as_ref().map(Cells::same_bins);
        let series = std::mem::replace(&mut self.series, empty);
        (self.detail, self.pairs) = (FlowDetail::Sources, 0);
        self.absorb(&places, &flows, series.as_ref());
    }

    fn absorb(
        &mut self,
        places: &BTreeMap<Key, usize>,
        flows: &[FlowCongestion],
        series: Option<&Cells<FlowBin>>,
    ) {
        match (&mut self.series, series) {
            (Some(mine), Some(theirs)) => mine.follow_other(theirs),
            (mine, _) => *mine = None,
        }
        for (&key, &theirs) in places {
            let place = self.place(key);
            self.flows[place] += flows[theirs];
            if let (Some(mine), Some(series)) = (&mut self.series, series) {
                mine.absorb_row(place, series, theirs);
            }
        }
    }

    /// Adds the counts of another partition of the same fabric.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.marked.iter_mut().zip(&other.marked).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.fabric.merge(&other.fabric);
        if other.detail == FlowDetail::Sources && self.detail == FlowDetail::Auto {
            self.collapse();
        }
        self.absorb(&other.places, &other.flows, other.series.as_ref());
    }

    /// The flows in order, with their rows in the series.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (Key, &FlowCongestion, usize)> {
        self.places.iter().map(|(&key, &place)| (key, &self.flows[place], place))
    }

    /// Returns the record of a flow, together with that of its source as a whole; of a source: of all its flows.
    pub(crate) fn of(&self, (source, destination): Key) -> FlowCongestion {
        let mut known = FlowCongestion::default();
        let whole = (source, None);
        let all = self.places.range(whole..=(source, Some(HostId(u32::MAX))));
        let wanted = |key: &Key| destination.is_none() || *key == whole || key.1 == destination;
        all.filter(|(key, _)| wanted(key)).for_each(|(_, &place)| known += self.flows[place]);
        known
    }

    pub(crate) fn series(&self) -> Option<&Cells<FlowBin>> {
        self.series.as_ref()
    }
}

impl FlowCongestion {
    /// Mean and strongest level over `window` picoseconds, where `free` is the level of a flow that is not rate-limited:
    /// 0 for an index, the link's rate for a rate.
    pub(crate) fn level(&self, window: u64, free: u32) -> (f64, f64) {
        let strongest = match self.levels {
            None => free,
            Some((largest, smallest)) => {
                if free == 0 {
                    largest
                } else {
                    smallest
                }
            }
        };
        (mean_level(self.level as f64, self.rate_limited, window, free), f64::from(strongest))
    }
}

impl FlowBin {
    /// Mean level over a bin of `length` picoseconds.
    pub(crate) fn mean_level(&self, length: u64, free: u32) -> f64 {
        mean_level(self.level as f64, self.rate_limited, length, free)
    }
}

/// `sum` of level times time over the time `held`; `free` for the rest of `length`. Flows of one source that are taken
/// together may be rate-limited for longer than that in sum: then the mean is over them.
fn mean_level(sum: f64, held: u64, length: u64, free: u32) -> f64 {
    let rest = length.saturating_sub(held) as f64;
    (sum + f64::from(free) * rest) / (held as f64 + rest)
}

/// Splits an interval at the bins of an axis: each bin and how many picoseconds lie in it.
fn in_bins(axis: &mut Axis, start: Time, end: Time, mut add: impl FnMut(Bin, u64)) {
    if end <= start {
        return;
    }
    // Widens the bins to cover the whole interval.
    axis.bin(Time(end.0 - 1));
    let width = axis.width().0;
    let mut from = start.0;
    while from < end.0 {
        let to = (from / width + 1).saturating_mul(width).min(end.0);
        add(axis.bin(Time(from)), to - from);
        from = to;
    }
}

impl AddAssign for FlowCongestion {
    fn add_assign(&mut self, other: Self) {
        self.fecn += other.fecn;
        self.becn += other.becn;
        self.rate_limited += other.rate_limited;
        self.blocked_by_cc += other.blocked_by_cc;
        self.level += other.level;
        self.levels = match (self.levels, other.levels) {
            (Some(mine), Some(theirs)) => Some((mine.0.max(theirs.0), mine.1.min(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

impl AddAssign for FlowBin {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.becn += other.becn;
        self.rate_limited += other.rate_limited;
        self.blocked_by_cc += other.blocked_by_cc;
        self.level = self.level.saturating_add(other.level);
    }
}

impl AddAssign for FabricCongestion {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.marked += other.marked;
        self.notified += other.notified;
        self.blocked_by_cc += other.blocked_by_cc;
        self.control_packets += other.control_packets;
        self.control_bytes += other.control_bytes;
    }
}
