//! Activity of congestion control: marks, notifications, and rate limiting of flows. Counters within the window, series
//! over the whole run; only with congestion control.

mod record;
mod tables;

use std::collections::BTreeMap;

use fabricsim_model::{Packet, Table};
use fabricsim_spec::{CongestionAlgorithm, FlowDetail};
use fabricsim_units::{HostId, Time, Vl};

pub use tables::CongestionSummary;

use self::record::{FabricCongestion, FlowBin, FlowCongestion};
use super::collector::{Collector, ResultTable};
use crate::RecorderConfig;
use crate::flow::{Key, MOST_FLOWS};
use crate::grid::{Axis, Bin, Cells};
use crate::input::{Rows, TableInput};
use crate::timeline::{Delivery, Timeline};

/// Activity of congestion control. By flow, in order of (source, destination). The destination is `None` for all of a
/// source: if an algorithm rate-limits a source as a whole, and if there are more than [`MOST_FLOWS`] flows.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Congestion {
    algorithm: CongestionAlgorithm,
    lanes: usize,
    /// Packets marked within the window, by sending port and lane.
    marked: Vec<u64>,
    total: FabricCongestion,
    fabric: Cells<FabricCongestion>,
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
    /// Of an algorithm.
    pub(crate) fn of(algorithm: CongestionAlgorithm, config: &RecorderConfig, timeline: &Timeline) -> Self {
        Self { algorithm, ..Self::new(config, timeline) }
    }

    #[inline(never)]
    fn delivered_marked(&mut self, packet: &Packet, accepted: bool) {
        let place = self.place((packet.source, Some(packet.destination)));
        self.flows[place].fecn += u64::from(accepted);
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

    /// The flows in order, with their rows in the series.
    fn flows(&self) -> impl Iterator<Item = (Key, &FlowCongestion, usize)> {
        self.places.iter().map(|(&key, &place)| (key, &self.flows[place], place))
    }

    /// Returns the record of a flow, together with that of its source as a whole; of a source: of all its flows.
    fn record(&self, (source, destination): Key) -> FlowCongestion {
        let mut known = FlowCongestion::default();
        let whole = (source, None);
        let all = self.places.range(whole..=(source, Some(HostId(u32::MAX))));
        let wanted = |key: &Key| destination.is_none() || *key == whole || key.1 == destination;
        all.filter(|(key, _)| wanted(key)).for_each(|(_, &place)| known += self.flows[place]);
        known
    }

    fn series(&self) -> Option<&Cells<FlowBin>> {
        self.series.as_ref()
    }
}

impl Collector for Congestion {
    type Summary = Option<CongestionSummary>;

    /// The algorithm is to be set.
    fn new(config: &RecorderConfig, timeline: &Timeline) -> Self {
        let lanes = usize::from(config.lanes.max(1));
        Self {
            algorithm: CongestionAlgorithm::None,
            lanes,
            marked: vec![0; config.ports as usize * lanes],
            total: FabricCongestion::default(),
            fabric: Cells::new(&timeline.axis, 1),
            detail: config.flows,
            places: BTreeMap::new(),
            recent: Vec::new(),
            pairs: 0,
            flows: Vec::new(),
            series: Some(Cells::new(&timeline.axis, 0)),
        }
    }

    fn marked(&mut self, timeline: &mut Timeline, now: Time, port: u32, lane: Vl, _packet: &Packet) {
        let one = FabricCongestion { marked: 1, ..FabricCongestion::default() };
        self.fabric.add(0, timeline.axis.bin(now), one);
        if timeline.window.contains(now) {
            self.total += one;
            self.marked[port as usize * self.lanes + usize::from(lane.0)] += 1;
        }
    }

    fn controlled(&mut self, timeline: &mut Timeline, now: Time, packet: &Packet) {
        let bytes = u64::from(packet.bytes);
        let one =
            FabricCongestion { control_packets: 1, control_bytes: bytes, ..FabricCongestion::default() };
        self.fabric.add(0, timeline.axis.bin(now), one);
        if timeline.window.contains(now) {
            self.total += one;
        }
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        if packet.fecn {
            self.delivered_marked(packet, delivery.accepted);
        }
    }

    fn notified(&mut self, timeline: &mut Timeline, now: Time, source: HostId, destination: HostId) {
        let (place, bin) = (self.place((source, Some(destination))), timeline.axis.bin(now));
        let one = FabricCongestion { notified: 1, ..FabricCongestion::default() };
        self.fabric.add(0, bin, one);
        self.in_series(place, bin, FlowBin { becn: 1, ..FlowBin::default() });
        if timeline.window.contains(now) {
            self.total += one;
            self.flows[place].becn += 1;
        }
    }

    fn rate_limited(
        &mut self,
        timeline: &mut Timeline,
        source: HostId,
        destination: Option<HostId>,
        start: Time,
        end: Time,
        level: u32,
    ) {
        let place = self.place((source, destination));
        in_bins(&mut timeline.axis, start, end, |bin, time| {
            let level = u64::from(level).saturating_mul(time);
            self.in_series(place, bin, FlowBin { rate_limited: time, level, ..FlowBin::default() });
        });
        let time = timeline.window.clip(start, end);
        if time > 0 {
            self.flows[place] += FlowCongestion {
                rate_limited: time,
                level: u128::from(level) * u128::from(time),
                levels: Some((level, level)),
                ..FlowCongestion::default()
            };
        }
    }

    fn blocked_by_cc(
        &mut self,
        timeline: &mut Timeline,
        source: HostId,
        destination: HostId,
        start: Time,
        end: Time,
    ) {
        let place = self.place((source, Some(destination)));
        in_bins(&mut timeline.axis, start, end, |bin, time| {
            self.in_series(place, bin, FlowBin { blocked_by_cc: time, ..FlowBin::default() });
            self.fabric.add(0, bin, FabricCongestion { blocked_by_cc: time, ..FabricCongestion::default() });
        });
        let time = timeline.window.clip(start, end);
        self.flows[place].blocked_by_cc += time;
        self.total.blocked_by_cc += time;
    }

    fn merge(&mut self, other: &Self) {
        self.marked.iter_mut().zip(&other.marked).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.fabric.merge(&other.fabric);
        if other.detail == FlowDetail::Sources && self.detail == FlowDetail::Auto {
            self.collapse();
        }
        self.absorb(&other.places, &other.flows, other.series.as_ref());
    }

    /// The packets of a flow may be lost, or not belong to the measurement, and its source be notified nevertheless.
    fn further_flows(&self) -> Vec<Key> {
        let noticed = self.flows().filter(|row| *row.1 != FlowCongestion::default());
        noticed.map(|row| row.0).collect()
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let text = "flow that congestion control rate-limited, and time bin";
        vec![ResultTable::new(text, tables::series(self, input))]
    }

    fn columns(&self, input: &TableInput<'_>, rows: &Rows<'_>, table: &mut Table) {
        match rows {
            Rows::Flows => tables::flows(self, input, table),
            Rows::Links(shown) => tables::links(self, shown, table),
            Rows::Run => tables::fabric(self, input, table),
        }
    }

    fn summarize(&self, input: &TableInput<'_>) -> Option<CongestionSummary> {
        Some(tables::summary(self, input))
    }
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
