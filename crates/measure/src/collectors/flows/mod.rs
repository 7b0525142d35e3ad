//! Throughput and latency of flows.

mod rows;
mod tables;

use std::collections::BTreeSet;

use fabricsim_model::Packet;
use fabricsim_spec::FlowDetail;
use fabricsim_units::{HostId, Time};

pub use tables::{FlowSummary, FlowsSummary};

use super::collector::{Collector, ResultTable};
use crate::flow::{Flow, FlowEntry, FlowHistogram, FlowRows, Key, MOST_FLOWS};
use crate::grid::{Axis, Cells};
use crate::input::TableInput;
use crate::timeline::{Delivery, Timeline};
use crate::{OfferedLoad, RecorderConfig};

/// Maximum number of hosts for which a table of all pairs holds the rows of flows: 4 MB.
const SMALL: usize = 1024;

/// Stands for every destination of a source.
const ANY: u32 = u32::MAX;

/// Flows in the order of their first packets, with a sorted index per source. While there are at most
/// [`MOST_FLOWS`] each has a histogram and a series. Pairs (in automatic mode), histograms and series are dropped,
/// for good, when there are more: that depends on the pairs that occur, but not on their order or the partition.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Flows {
    #[state(fixed)]
    detail: FlowDetail,
    index: Vec<Vec<(u32, u32)>>,
    shortcut: Shortcut,
    keys: Vec<(HostId, u32)>,
    counts: Vec<Flow>,
    each: Option<Each>,
    /// Entries that share a flow with another.
    sharing: BTreeSet<u16>,
}

/// Record of each flow while there are few, by its place.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Each {
    histograms: Vec<FlowHistogram>,
    series: Cells<u64>,
}

/// Rows of flows plus one by source and destination (by source alone if flows are): zero if there is none.
/// Empty if it would be too large.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Shortcut {
    places: Vec<u32>,
    per_source: usize,
    per_destination: usize,
}

impl Shortcut {
    fn new(detail: FlowDetail, hosts: usize) -> Self {
        match detail {
            FlowDetail::Sources => Self { places: vec![0; hosts], per_source: 1, per_destination: 0 },
            _ if hosts <= SMALL => {
                Self { places: vec![0; hosts * hosts], per_source: hosts, per_destination: 1 }
            }
            _ => Self { places: Vec::new(), per_source: 0, per_destination: 0 },
        }
    }

    #[inline]
    fn at(&self, source: HostId, destination: u32) -> usize {
        source.index() * self.per_source + destination as usize * self.per_destination
    }
}

impl Flows {
    fn with_detail(detail: FlowDetail, hosts: u32, axis: &Axis) -> Self {
        Self {
            detail,
            index: vec![Vec::new(); hosts as usize],
            shortcut: Shortcut::new(detail, hosts as usize),
            keys: Vec::new(),
            counts: Vec::new(),
            each: Some(Each { histograms: Vec::new(), series: Cells::new(axis, 0) }),
            sharing: BTreeSet::new(),
        }
    }

    #[inline]
    fn place(&mut self, source: HostId, destination: u32) -> usize {
        match self.shortcut.places.get(self.shortcut.at(source, destination)) {
            Some(&place) if place > 0 => place as usize - 1,
            _ => self.search(source, destination),
        }
    }

    fn search(&mut self, source: HostId, destination: u32) -> usize {
        let destination = if self.detail == FlowDetail::Sources { ANY } else { destination };
        let of_source = &self.index[source.index()];
        match of_source.binary_search_by_key(&destination, |entry| entry.0) {
            Ok(at) => of_source[at].1 as usize,
            Err(at) => self.insert(source, destination, at),
        }
    }

    #[cold]
    fn insert(&mut self, source: HostId, destination: u32, at: usize) -> usize {
        let place = self.counts.len();
        let shortcut = self.shortcut.at(source, destination);
        if place == MOST_FLOWS && self.detail == FlowDetail::Auto {
            self.collapse();
            return self.place(source, ANY);
        }
        if place == MOST_FLOWS {
            self.each = None;
        }
        self.index[source.index()].insert(at, (destination, place as u32));
        if let Some(known) = self.shortcut.places.get_mut(shortcut) {
            *known = place as u32 + 1;
        }
        self.keys.push((source, destination));
        self.counts.push(Flow::default());
        if let Some(each) = &mut self.each {
            each.histograms.push(FlowHistogram::new());
            each.series.add_row();
        }
        place
    }

    /// From pairs to sources.
    fn collapse(&mut self) {
        let mut sources = Self {
            detail: FlowDetail::Sources,
            index: vec![Vec::new(); self.index.len()],
            shortcut: Shortcut::new(FlowDetail::Sources, self.index.len()),
            keys: Vec::new(),
            counts: Vec::new(),
            each: self
                .each
                .as_ref()
                .map(|each| Each { histograms: Vec::new(), series: each.series.same_bins() }),
            sharing: BTreeSet::new(),
        };
        sources.merge(self);
        *self = sources;
    }

    /// The flows with packets, those with an offered load, and `further` ones, by source and destination.
    pub(crate) fn rows(&self, further: Vec<Key>, offers: &[OfferedLoad], hosts: u32) -> FlowRows<'_> {
        rows::rows(self, further, offers, hosts)
    }

    /// A packet of another entry than those before it, or of a flow that several share.
    #[inline(never)]
    fn enter(&mut self, place: usize, entry: FlowEntry) {
        let is_known = entry.number().is_some_and(|number| self.sharing.contains(&number));
        if is_known && self.counts[place].entry.is_several() {
            return;
        }
        let shared = self.counts[place].entry.add(entry);
        self.sharing.extend(shared.into_iter().flatten());
    }

    /// True if flows are distinguished by source only.
    fn by_source(&self) -> bool {
        self.detail == FlowDetail::Sources
    }

    /// The flows with their histograms, if any, by source and destination; the number is the flow's row.
    fn sorted(&self) -> impl Iterator<Item = (Key, usize, &Flow, Option<&FlowHistogram>)> {
        self.index.iter().enumerate().flat_map(move |(source, entries)| {
            entries.iter().map(move |&(destination, place)| {
                let key = (HostId(source as u32), (destination != ANY).then_some(HostId(destination)));
                let histogram = self.each.as_ref().map(|each| &each.histograms[place as usize]);
                (key, place as usize, &self.counts[place as usize], histogram)
            })
        })
    }

    /// Delivered bytes per bin over the whole run, a row for each flow, if they are kept.
    fn series(&self) -> Option<&Cells<u64>> {
        self.each.as_ref().map(|each| &each.series)
    }
}

impl Collector for Flows {
    type Summary = FlowsSummary;

    fn new(config: &RecorderConfig, timeline: &Timeline) -> Self {
        Self::with_detail(config.flows, config.hosts, &timeline.axis)
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        let place = self.place(packet.source, packet.destination.0);
        let entry = FlowEntry::of(packet.stream);
        if self.counts[place].entry != entry {
            self.enter(place, entry);
        }
        let flow = &mut self.counts[place];
        if delivery.accepted {
            flow.packets += 1;
            flow.bytes += u64::from(packet.bytes);
        }
        if delivery.created_within {
            flow.created += 1;
            flow.total.record(delivery.total);
            flow.squares += u128::from(delivery.total) * u128::from(delivery.total);
            flow.network.record(delivery.network);
        }
        if let Some(each) = &mut self.each {
            each.series.add(place, delivery.bin, u64::from(packet.bytes));
            if delivery.created_within {
                each.histograms[place].record(delivery.total);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        if other.detail == FlowDetail::Sources && self.detail == FlowDetail::Auto {
            self.collapse();
        }
        self.sharing.extend(&other.sharing);
        if other.each.is_none() {
            self.each = None;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.each, &other.each) {
            mine.series.follow_other(&theirs.series);
        }
        for (i, (&(source, destination), flow)) in other.keys.iter().zip(&other.counts).enumerate() {
            let place = self.place(source, destination);
            let shared = self.counts[place].add(flow);
            self.sharing.extend(shared.into_iter().flatten());
            if let (Some(mine), Some(theirs)) = (&mut self.each, &other.each) {
                mine.histograms[place].merge(&theirs.histograms[i]);
                mine.series.absorb_row(place, &theirs.series, i);
            }
        }
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        vec![
            ResultTable::new("flow", tables::flows(input)),
            ResultTable::new("flow and time bin", tables::series(self, input)),
        ]
    }

    fn summarize(&self, input: &TableInput<'_>) -> FlowsSummary {
        tables::summary(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::grid::Grid;

    fn packet(source: u32, destination: u32) -> Packet {
        let ends = (HostId(source), HostId(destination));
        let packet = Packet::new(fabricsim_model::PacketKind::Data, ends, 10, Time::ZERO);
        Packet { hops: 1, last: false, ..packet }
    }

    fn axis() -> Axis {
        Axis::new(Time(10), 8)
    }

    fn feed(flows: &mut Flows, pairs: impl Iterator<Item = (u32, u32)>) {
        let mut timeline = Timeline { window: Window { from: Time(0), to: Time(10) }, axis: axis() };
        for (source, destination) in pairs {
            let packet = packet(source, destination);
            let delivery = Delivery::new(&mut timeline, Time(5), &packet);
            flows.delivered(&mut timeline, Time(5), &packet, &delivery);
        }
    }

    fn pairs(sources: u32, destinations: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..sources).flat_map(move |s| (0..destinations).map(move |d| (s, d)))
    }

    fn series(flows: &Flows) -> Option<Grid<u64>> {
        let mut axis = axis();
        axis.bin(Time(5));
        flows.series().map(|cells| Grid::of(&axis, cells))
    }

    /// All observable values of flows.
    fn content(flows: &Flows) -> String {
        let series = series(flows);
        let rows: Vec<_> = flows
            .sorted()
            .map(|(key, place, flow, histogram)| {
                (key, *flow, histogram.cloned(), series.as_ref().map(|s| s.row(place).to_vec()))
            })
            .collect();
        format!("{rows:?}")
    }

    #[test]
    fn too_many_pairs_become_sources() {
        let mut flows = Flows::with_detail(FlowDetail::Auto, 65, &axis());
        feed(&mut flows, pairs(64, 64));
        assert_eq!((flows.sorted().count(), flows.by_source()), (4096, false));
        feed(&mut flows, [(64, 0), (3, 3)].into_iter());
        assert_eq!((flows.sorted().count(), flows.by_source()), (65, true));
        let (key, place, flow, histogram) = flows.sorted().nth(3).unwrap();
        assert_eq!((key, flow.packets, flow.bytes, flow.created), ((HostId(3), None), 65, 650, 65));
        assert_eq!((histogram.unwrap().count(), series(&flows).unwrap().row(place)), (65, [650].as_slice()));
    }

    #[test]
    fn details_are_given_up_where_there_are_too_many() {
        let mut flows = Flows::with_detail(FlowDetail::Pairs, 5000, &axis());
        feed(&mut flows, pairs(64, 65));
        assert!(flows.series().is_none() && flows.sorted().all(|(_, _, _, histogram)| histogram.is_none()));
        assert_eq!(flows.sorted().count(), 64 * 65);
        let mut flows = Flows::with_detail(FlowDetail::Auto, 5000, &axis());
        feed(&mut flows, pairs(5000, 1));
        assert_eq!((flows.sorted().count(), flows.by_source(), flows.series().is_none()), (5000, true, true));
    }

    #[test]
    fn merging_equals_one_table_for_every_division() {
        for (detail, sources, destinations) in [
            (FlowDetail::Auto, 5, 7),
            (FlowDetail::Auto, 70, 60),
            (FlowDetail::Pairs, 70, 60),
            (FlowDetail::Auto, 4500, 2),
        ] {
            let new = || Flows::with_detail(detail, 4500, &axis());
            let mut whole = new();
            feed(&mut whole, pairs(sources, destinations));
            for parts in [2, 3, 7] {
                let part = |p: u32| {
                    let mut flows = new();
                    feed(&mut flows, pairs(sources, destinations).filter(|&(s, d)| (s * 3 + d) % parts == p));
                    flows
                };
                let (mut up, mut down) = (new(), new());
                (0..parts).for_each(|p| up.merge(&part(p)));
                (0..parts).rev().for_each(|p| down.merge(&part(p)));
                assert_eq!(content(&up), content(&whole));
                assert_eq!(content(&down), content(&whole));
                assert_eq!(up.by_source(), whole.by_source());
            }
        }
    }
}
