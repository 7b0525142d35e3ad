//! Record of congestion trees over the time of a run, in bounded space, and its tables.

mod outlets;
mod tables;

use std::collections::BTreeMap;

use fabricsim_analysis::{CongestionTree, Ends, OutputLane, congestion_trees};
use fabricsim_engine::{Extent, Prepared};
use fabricsim_model::Observer;
use fabricsim_session::Session;
use fabricsim_spec::{CongestionAlgorithm, Experiment, InfiniBandCongestion};
use fabricsim_units::{HostId, Time};

use crate::outcome::TreeSamples;
use outlets::OutletTimes;

/// Where a run may end long before its `run.duration`, with its jobs or in its steady state, the first samples are that many times closer than later
/// ones.
const CLOSER: u64 = 64;
const CLOSER_OF_LARGE: u64 = 16;

/// Number of samples at which the time between them doubles, until it is that of other runs: half of them are then one such time apart.
const DOUBLES_AT: u64 = 2 * FEWEST_LOOKS;

/// Maximum number of trees of one sample in the table: those with most waiting packets.
const MOST_TREES: usize = 256;

/// Maximum number of rows of the table of trees: with more, every other sample is dropped.
const MOST_ROWS: usize = 50_000;

/// Maximum number of flows that are kept apart: with more, those of a source are merged.
const MOST_FLOWS: usize = 4096;

/// Maximum number of roots recorded for a flow.
const MOST_ROOTS: usize = 8;

/// Default number of samples in `run.duration`.
const LOOKS: u64 = 100;

/// The same where a sample takes as long as a tenth of a million packet-hops: with more than [`MANY`] lanes of sending ports.
const LOOKS_OF_LARGE: u64 = 25;
const MANY: usize = 1 << 19;

/// Thing that has a row in the table `congestion_trees`.
pub(crate) const TREES_ROW: &str =
    "congestion tree of a sample of the run: root, branches, contributors, victims";

/// Thing that has a row in the table `congestion_flows`.
pub(crate) const FLOWS_ROW: &str =
    "flow that was in such a tree: for how long it contributed, or was a victim";

/// Minimum number of samples in the measurement for times to be computed: with n samples a time that began and ended once is known
/// to an n-th of the measurement.
pub(crate) const FEWEST_LOOKS: u64 = 20;

/// A tree as the table shows it.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Row {
    time: Time,
    since: Time,
    root: OutputLane,
    branches: usize,
    depth: u32,
    waiting: u64,
    contributors: usize,
    victims: usize,
}

/// Source and destination; `None` for all of the source.
type Key = (HostId, Option<HostId>);

/// Picoseconds that a flow took part, in the measurement.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
struct Part {
    contributor: u64,
    victim: u64,
    roots: Vec<OutputLane>,
}

/// Record of congestion trees, sampled at a fixed interval. The trees of a sample count until
/// the next one: a tree begins with the first sample that has it, and ends with the first that does not.
#[derive(Clone, fabricsim_state::State)]
pub(crate) struct Trees {
    #[state(fixed)]
    fill: Option<f64>,
    lanes: usize,
    /// Time between samples, which grows to the longest one.
    interval: Time,
    #[state(fixed)]
    longest: Time,
    /// The interval is the default one: in a long drain it grows.
    is_default: bool,
    /// Time of the next sample.
    due: Time,
    /// Time of the last sample, its trees, and the time since which samples have had each root.
    last: Time,
    current: Vec<CongestionTree>,
    since: BTreeMap<OutputLane, Time>,
    looks: u64,
    /// Rows are kept of one sample in `stride`.
    stride: u64,
    /// The samples with rows, also those without trees; by time.
    kept: Vec<Time>,
    rows: Vec<Row>,
    /// Samples that count for a part of the measurement; those parts, and the time of outlets in them.
    counted: u64,
    measured: u64,
    states: OutletTimes,
    flows: BTreeMap<Key, Part>,
    by_source: bool,
}

/// The part of a buffer that counts as congestion; `None` if congestion control decides it.
fn fill(experiment: &Experiment) -> Option<f64> {
    let control = &experiment.congestion_control;
    let InfiniBandCongestion { threshold, ports, .. } = &control.infiniband;
    let marks = match control.algorithm {
        CongestionAlgorithm::None | CongestionAlgorithm::Swift | CongestionAlgorithm::Hpcc => false,
        CongestionAlgorithm::Infiniband => {
            *threshold > 0 || ports.iter().any(|of| of.threshold.is_some_and(|threshold| threshold > 0))
        }
        CongestionAlgorithm::Dcqcn | CongestionAlgorithm::Nscc => true,
    };
    (!marks).then_some(experiment.measure.congestion_fill)
}

impl Trees {
    pub(crate) fn new(prepared: &Prepared) -> Self {
        let Prepared { experiment, graph, .. } = prepared;
        let lanes = usize::from(experiment.switch.virtual_lanes.max(1));
        let outlets = 2 * graph.links.len() * lanes;
        let (looks, closer) =
            if outlets > MANY { (LOOKS_OF_LARGE, CLOSER_OF_LARGE) } else { (LOOKS, CLOSER) };
        let default = Time(experiment.run.duration.0.div_ceil(looks));
        let longest = experiment.measure.congestion_interval.unwrap_or(default).max(Time::ps(1));
        let is_default = experiment.measure.congestion_interval.is_none();
        let may_end_early = !experiment.jobs.is_empty() || experiment.run.steady_state.is_some();
        let first = if is_default && may_end_early { Time(longest.0.div_ceil(closer)) } else { longest };
        Self { fill: fill(experiment), is_default, longest, ..Self::empty(lanes, outlets, first) }
    }

    /// Without samples; `outlets` is the number of sending ports and lanes.
    pub(crate) fn empty(lanes: usize, outlets: usize, interval: Time) -> Self {
        Self {
            fill: None,
            lanes,
            interval,
            longest: interval,
            is_default: false,
            due: interval,
            last: Time::ZERO,
            current: Vec::new(),
            since: BTreeMap::new(),
            looks: 0,
            stride: 1,
            kept: Vec::new(),
            rows: Vec::new(),
            counted: 0,
            measured: 0,
            states: OutletTimes::new(outlets),
            flows: BTreeMap::new(),
            by_source: false,
        }
    }

    /// Time of the next sample, at which the engine must stop.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Samples the fabric now, at [`Trees::due`]. `window`: the measurement, if it has begun.
    pub(crate) fn look<B: Observer>(
        &mut self,
        session: &Session<B>,
        prepared: &Prepared,
        window: Option<(Time, Time)>,
    ) {
        let now = session.now();
        self.count_until(now, window);
        let snapshot = session.snapshot(Extent::Queues);
        self.current =
            congestion_trees(&snapshot, &prepared.graph, (&prepared.router, &prepared.multicast), self.fill);
        let before = std::mem::take(&mut self.since);
        let since = |root: OutputLane| before.get(&root).copied().unwrap_or(now);
        self.since = self.current.iter().map(|tree| (tree.root, since(tree.root))).collect();
        let next = self.next_after(now, window);
        self.due = now.saturating_add(next);
        self.keep(now);
    }

    /// Time from a sample to the next. After the measurement nothing is computed from samples, and a drain may last for a thousand times as
    /// long: without a given interval they are a hundredth of its time so far apart.
    fn next_after(&mut self, now: Time, window: Option<(Time, Time)>) -> Time {
        if self.interval < self.longest && now.0 >= self.interval.0.saturating_mul(DOUBLES_AT) {
            self.interval = Time(self.interval.0 * 2).min(self.longest);
        }
        let drained = window.map_or(Time::ZERO, |(_, to)| now.saturating_sub(to));
        if self.is_default { self.interval.max(Time(drained.0 / LOOKS)) } else { self.interval }
    }

    /// The run ends at `now`.
    pub(crate) fn end(&mut self, now: Time, window: Option<(Time, Time)>) {
        self.count_until(now, window);
    }

    /// Number of samples that count for a part of the measurement, and the time between the last of them.
    pub(crate) fn looks(&self) -> TreeSamples {
        TreeSamples { looks: self.counted, interval_ns: self.interval.as_ns_f64() }
    }

    /// Counts the last sample for the time until `now`, as far as it lies within the measurement.
    fn count_until(&mut self, now: Time, window: Option<(Time, Time)>) {
        let last = std::mem::replace(&mut self.last, now);
        let Some((from, to)) = window else { return };
        let span = now.min(to).saturating_sub(last.max(from));
        if span == Time::ZERO {
            return;
        }
        self.counted += 1;
        self.measured += span.0;
        let trees = std::mem::take(&mut self.current);
        self.add(&trees, span);
        self.current = trees;
    }

    /// Adds trees that count for `span` of the measurement.
    fn add(&mut self, trees: &[CongestionTree], span: Time) {
        let place = |outlet: OutputLane| outlet.port as usize * self.lanes + usize::from(outlet.lane);
        for tree in trees {
            self.states.of_mut(place(tree.root))[0] += span.0;
            tree.branches.iter().for_each(|&branch| self.states.of_mut(place(branch))[1] += span.0);
        }
        let mut members = self.members(trees);
        if self.has_too_many(&members) {
            self.collapse();
            members = self.members(trees);
        }
        for of_flow in members.chunk_by(|a, b| a.0 == b.0) {
            let part = self.flows.entry(of_flow[0].0).or_default();
            // A flow in several trees takes part once.
            part.contributor += span.0 * u64::from(of_flow.iter().any(|member| member.2));
            part.victim += span.0 * u64::from(of_flow.iter().any(|member| !member.2));
            for member in of_flow {
                part.note(member.1);
            }
        }
    }

    /// The flows in trees, sorted: flow, root, true if it contributes.
    fn members(&self, trees: &[CongestionTree]) -> Vec<(Key, OutputLane, bool)> {
        let key = |&(source, destination): &Ends| (source, (!self.by_source).then_some(destination));
        let of_tree = |tree: &CongestionTree| {
            let root = tree.root;
            let contributors = tree.contributors.iter().map(move |ends| (key(ends), root, true));
            contributors
                .chain(tree.victims.iter().map(move |ends| (key(ends), root, false)))
                .collect::<Vec<_>>()
        };
        let mut members: Vec<_> = trees.iter().flat_map(of_tree).collect();
        members.sort_unstable();
        members
    }

    /// True if there would be more flows than are distinguished.
    fn has_too_many(&self, members: &[(Key, OutputLane, bool)]) -> bool {
        let flows = members.chunk_by(|a, b| a.0 == b.0);
        let new = flows.filter(|of_flow| !self.flows.contains_key(&of_flow[0].0));
        !self.by_source
            && self.flows.len() + members.len() > MOST_FLOWS
            && self.flows.len() + new.count() > MOST_FLOWS
    }

    /// Merges the flows of a source.
    fn collapse(&mut self) {
        self.by_source = true;
        for ((source, _), part) in std::mem::take(&mut self.flows) {
            self.flows.entry((source, None)).or_default().absorb(&part);
        }
    }

    /// Keeps rows of the sample at `time`.
    fn keep(&mut self, time: Time) {
        self.looks += 1;
        if !self.looks.is_multiple_of(self.stride) {
            return;
        }
        self.kept.push(time);
        let mut largest: Vec<&CongestionTree> = self.current.iter().collect();
        largest.sort_by_key(|tree| std::cmp::Reverse(tree.waiting));
        largest.truncate(MOST_TREES);
        largest.sort_by_key(|tree| tree.root);
        self.rows.extend(largest.into_iter().map(|tree| Row {
            time,
            since: self.since[&tree.root],
            root: tree.root,
            branches: tree.branches.len(),
            depth: tree.depth,
            waiting: tree.waiting,
            contributors: tree.contributors.len(),
            victims: tree.victims.len(),
        }));
        if self.rows.len().max(self.kept.len()) > MOST_ROWS {
            self.stride *= 2;
            let looks = std::mem::take(&mut self.kept);
            self.kept = looks.into_iter().skip(1).step_by(2).collect();
            self.rows.retain(|row| self.kept.binary_search(&row.time).is_ok());
        }
    }

    /// Time of the next sample with rows; the end of the run for the last.
    fn until(&self, look: Time) -> Time {
        let next = self.kept.partition_point(|&time| time <= look);
        self.kept.get(next).copied().unwrap_or(self.last)
    }

    /// Picoseconds of the measurement as nanoseconds; NaN with too few samples.
    fn ns(&self, picoseconds: u64) -> f64 {
        if self.counted < FEWEST_LOOKS { f64::NAN } else { picoseconds as f64 * 1e-3 }
    }
}

impl Part {
    /// Another flow of the same source: one of both took part, and the time is at least the longer of both.
    fn absorb(&mut self, other: &Self) {
        self.contributor = self.contributor.max(other.contributor);
        self.victim = self.victim.max(other.victim);
        other.roots.iter().for_each(|&root| self.note(root));
    }

    fn note(&mut self, root: OutputLane) {
        if self.roots.len() < MOST_ROOTS && !self.roots.contains(&root) {
            self.roots.push(root);
        }
    }
}
