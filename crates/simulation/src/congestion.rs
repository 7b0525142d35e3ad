//! Record of congestion trees over the time of a run, in bounded space, and its tables.

use std::collections::BTreeMap;

use fabricsim_analysis::{CongestionTree, Ends, OutputLane, congestion_trees};
use fabricsim_engine::{Extent, Prepared};
use fabricsim_model::{Data, Observer, Table};
use fabricsim_session::Session;
use fabricsim_spec::{CongestionAlgorithm, Experiment, InfiniBandCongestion};
use fabricsim_units::{HostId, Time};

use crate::outcome::TreeSamples;

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
    interval: Time,
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
    /// Samples that count for a part of the measurement; those parts, and of them the time as root and as branch,
    /// by outlet, in picoseconds.
    counted: u64,
    measured: u64,
    states: Vec<[u64; 2]>,
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
        let looks = if outlets > MANY { LOOKS_OF_LARGE } else { LOOKS };
        let default = Time(experiment.run.duration.0.div_ceil(looks));
        let interval = experiment.measure.congestion_interval.unwrap_or(default).max(Time::ps(1));
        let is_default = experiment.measure.congestion_interval.is_none();
        Self { fill: fill(experiment), is_default, ..Self::empty(lanes, outlets, interval) }
    }

    /// Without samples; `outlets` is the number of sending ports and lanes.
    pub(crate) fn empty(lanes: usize, outlets: usize, interval: Time) -> Self {
        Self {
            fill: None,
            lanes,
            interval,
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
            states: vec![[0; 2]; outlets],
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
        self.due = now.saturating_add(self.next_after(now, window));
        self.keep(now);
    }

    /// Time from a sample to the next. After the measurement nothing is computed from samples, and a drain may last for a thousand times as
    /// long: without a given interval they are a hundredth of its time so far apart.
    fn next_after(&self, now: Time, window: Option<(Time, Time)>) -> Time {
        let drained = window.map_or(Time::ZERO, |(_, to)| now.saturating_sub(to));
        if self.is_default { self.interval.max(Time(drained.0 / LOOKS)) } else { self.interval }
    }

    /// The run ends at `now`.
    pub(crate) fn end(&mut self, now: Time, window: Option<(Time, Time)>) {
        self.count_until(now, window);
    }

    /// Number of samples that count for a part of the measurement, and the time between samples.
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
            self.states[place(tree.root)][0] += span.0;
            tree.branches.iter().for_each(|&branch| self.states[place(branch)][1] += span.0);
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

    /// Adds the port states to the table `links`, and appends the tables of trees and of flows in them. `ports` are the
    /// names of the sending ports; `name` returns the name of a source or destination.
    pub(crate) fn report(&self, tables: &mut Vec<Table>, ports: &[String], name: &dyn Fn(HostId) -> String) {
        if let Some(links) = tables.iter_mut().find(|table| table.name == "links") {
            self.add_states(links, ports);
        }
        tables.push(self.trees(ports));
        tables.push(self.flows(ports, name));
    }

    fn add_states(&self, links: &mut Table, ports: &[String]) {
        let column =
            |name| links.columns.iter().find(|column| column.name == name).map(|column| &column.data);
        let (Some(Data::Text(names)), Some(Data::Whole(lanes))) = (column("link"), column("lane")) else {
            return;
        };
        let numbers: BTreeMap<&str, usize> =
            ports.iter().enumerate().map(|(port, name)| (name.as_str(), port)).collect();
        let place = |(name, &lane): (&String, &i64)| numbers[name.as_str()] * self.lanes + lane as usize;
        let places: Vec<usize> = names.iter().zip(lanes).map(place).collect();
        let fraction = |state: usize| {
            let of = |&place: &usize| self.ns(self.states[place][state]) / self.ns(self.measured);
            places.iter().map(of).collect::<Vec<f64>>()
        };
        let (root, branch) = (fraction(0), fraction(1));
        let text = "Fraction of the measurement in which it was the root of congestion: more waited than the threshold, \
                    and it had credits; empty with fewer than 20 samples";
        links.real("root", "fraction", text, root);
        let text = "Fraction of the measurement in which it was a branch of congestion: more waited than the threshold, \
                    and it had no credits; empty with fewer than 20 samples";
        links.real("branch", "fraction", text, branch);
    }

    fn trees(&self, ports: &[String]) -> Table {
        let mut table = Table::new("congestion_trees");
        let whole = |value: &dyn Fn(&Row) -> i64| self.rows.iter().map(value).collect::<Vec<_>>();
        let times = self.rows.iter().map(|row| row.time.as_ns_f64()).collect();
        table.real("time_ns", "ns", "Time of the sample that found the tree", times);
        let until = self.rows.iter().map(|row| self.until(row.time).as_ns_f64()).collect();
        table.real(
            "until_ns",
            "ns",
            "Time of the next sample, until which the row counts; the end of the run",
            until,
        );
        let since = self.rows.iter().map(|row| row.since.as_ns_f64()).collect();
        let text = "Time of the first sample of the tree: every sample since then has a tree with this root";
        table.real("since_ns", "ns", text, since);
        let roots = self.rows.iter().map(|row| ports[row.root.port as usize].clone()).collect();
        table.text("root", "Congested output at which the tree begins: from->to", roots);
        table.whole("lane", "", "Its virtual lane", whole(&|row| i64::from(row.root.lane)));
        let text = "Other congested outputs and lanes, without credits, that wait for it";
        table.whole("branches", "", text, whole(&|row| row.branches as i64));
        let text = "Links from the root back to the farthest branch";
        table.whole("depth", "", text, whole(&|row| i64::from(row.depth)));
        let text = "Flow-control units that wait for the root and its branches";
        table.whole("waiting_blocks", "blocks", text, whole(&|row| row.waiting as i64));
        let text = "Flows with packets in the tree whose path leads through the root";
        table.whole("contributors", "", text, whole(&|row| row.contributors as i64));
        let text = "Flows with packets in the tree, or blocked behind it, whose path does not";
        table.whole("victims", "", text, whole(&|row| row.victims as i64));
        table
    }

    fn flows(&self, ports: &[String], name_of: &dyn Fn(HostId) -> String) -> Table {
        let mut table = Table::new("congestion_flows");
        let name = |&(source, destination): &Key| {
            let to = destination.map_or_else(|| "*".to_owned(), name_of);
            format!("{}->{to}", name_of(source))
        };
        table.text("flow", "Source and destination: from->to", self.flows.keys().map(name).collect());
        let ns = |value: fn(&Part) -> u64| self.flows.values().map(|part| self.ns(value(part))).collect();
        let text =
            "Time of the measurement in which it contributed to congestion; empty with fewer than 20 samples";
        table.real("contributor_ns", "ns", text, ns(|part| part.contributor)).labelled("time as contributor");
        let text = "Time of the measurement in which it was a victim of congestion; empty with fewer than 20 samples";
        table.real("victim_ns", "ns", text, ns(|part| part.victim)).labelled("time as victim");
        let roots = |part: &Part| {
            let names = part.roots.iter().map(|root| ports[root.port as usize].as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let text = "Roots of the trees that it was in, at most eight";
        table.text("roots", text, self.flows.values().map(roots).collect()).labelled("roots of its trees");
        table
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
