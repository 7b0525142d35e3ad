use std::ops::AddAssign;

use fabricsim_model::Table;
use fabricsim_units::Time;

use crate::congestion_tables;
use crate::flows::Key;
use crate::grid::Grid;
use crate::report::{TableInput, gbps};
use crate::tables::new;

/// Maximum number of rows of a table of series: with more, bins are merged. At about ten bytes a row a table stays below 4 MB.
const MOST_ROWS: usize = 400_000;

/// Maximum number of bins of a table of series.
const MOST_BINS: usize = 2048;

/// The bins that a table shows: from the start to the end of the run.
pub(crate) struct Bins<T> {
    grid: Grid<T>,
    pub(crate) count: usize,
    end: Time,
}

impl<T: Copy + Default + AddAssign> Bins<T> {
    /// Of `grid`, its bins made wide enough for `entities` entities.
    pub(crate) fn new(mut grid: Grid<T>, entities: usize, end: Time) -> Self {
        let most = (MOST_ROWS / entities.max(1)).clamp(1, MOST_BINS);
        grid.coarsen_to(Time(end.0.div_ceil(most as u64)), most);
        let count = grid.axis().bins().max(end.0.div_ceil(grid.axis().width().0) as usize);
        Self { grid, count, end }
    }

    /// As wide as those of `other`.
    pub(crate) fn match_width<U: Copy + Default + AddAssign>(&mut self, other: &mut Bins<U>) {
        self.grid.coarsen_to(other.grid.axis().width(), usize::MAX);
        other.grid.coarsen_to(self.grid.axis().width(), usize::MAX);
        let used = self.grid.axis().bins().max(other.grid.axis().bins());
        self.count = used.max(self.end.0.div_ceil(self.grid.axis().width().0) as usize);
        other.count = self.count;
    }

    fn start(&self, bin: usize) -> Time {
        self.grid.axis().width() * bin as u64
    }

    fn starts_ns(&self) -> impl Iterator<Item = f64> {
        (0..self.count).map(|bin| self.start(bin).as_ns_f64())
    }

    /// Returns the part of a bin that the run has covered.
    fn length(&self, bin: usize) -> Time {
        let covered = self.end.saturating_sub(self.start(bin));
        if covered == Time::ZERO { self.grid.axis().width() } else { covered.min(self.grid.axis().width()) }
    }

    /// The value of every bin of a row, and the bin's length.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (T, Time)> {
        let values = self.grid.row(row);
        (0..self.count).map(move |bin| (values.get(bin).copied().unwrap_or_default(), self.length(bin)))
    }
}

impl Bins<u64> {
    fn rates(&self, row: usize) -> impl Iterator<Item = f64> {
        self.row(row).map(|(bytes, length)| gbps(bytes as f64, length))
    }

    fn fractions(&self, row: usize) -> impl Iterator<Item = f64> {
        self.row(row).map(|(busy, length)| busy as f64 / length.0 as f64)
    }
}

/// The columns `time_ns` and the entity's name, for `names` one after the other.
pub(crate) fn head<T: Copy + Default + AddAssign>(
    table: &mut Table,
    bins: &Bins<T>,
    entity: (&'static str, &'static str),
    names: &[String],
) {
    let times = names.iter().flat_map(|_| bins.starts_ns()).collect();
    table.real("time_ns", "ns", "Start of the bin", times);
    let names = names.iter().flat_map(|name| (0..bins.count).map(move |_| name.clone())).collect();
    table.text(entity.0, entity.1, names);
}

/// Delivered throughput of every flow over time. Empty if there are too many flows.
pub(crate) fn flows(context: &TableInput) -> Table {
    let mut table = new("series");
    let rows: Vec<_> =
        context.flows.iter().filter_map(|row| row.place.map(|place| (row.key, place))).collect();
    let kept = context.recorder.flows.series();
    let rows = if kept.is_some() { rows } else { Vec::new() };
    let axis = &context.recorder.axis;
    let grid =
        kept.map_or_else(|| Grid::new(axis.width(), axis.capacity(), 0), |cells| Grid::of(axis, cells));
    let bins = Bins::new(grid, rows.len(), context.outcome.end);
    let name = |key: Key| format!("{}->{}", context.host(key.0), context.destination(key));
    let names: Vec<_> = rows.iter().map(|row| name(row.0)).collect();
    head(&mut table, &bins, ("flow", "Source and destination: from->to"), &names);
    let rates = rows.iter().flat_map(|row| bins.rates(row.1)).collect();
    table.real("gbps", "Gb/s", "Delivered throughput", rates);
    table
}

/// Injected and delivered throughput of every host over time (`*`: of all together, if there are many).
pub(crate) fn hosts(context: &TableInput) -> Table {
    let hosts = &context.recorder.hosts;
    let names = if hosts.each { context.names.hosts.clone() } else { vec!["*".to_owned()] };
    let axis = &context.recorder.axis;
    let injected = Bins::new(Grid::of(axis, &hosts.injected), names.len(), context.outcome.end);
    let delivered = Bins::new(Grid::of(axis, &hosts.delivered), names.len(), context.outcome.end);
    let mut table = new("hosts_series");
    head(&mut table, &injected, ("host", "Name; * for all hosts together"), &names);
    let rates = |bins: &Bins<u64>| (0..names.len()).flat_map(|row| bins.rates(row)).collect();
    table.real("injected_gbps", "Gb/s", "Injected throughput", rates(&injected));
    table.real("delivered_gbps", "Gb/s", "Delivered throughput", rates(&delivered));
    table
}

/// The whole fabric over time.
pub(crate) fn run(context: &TableInput) -> Table {
    let grid = Grid::of(&context.recorder.axis, &context.recorder.course);
    let bins = Bins::new(grid, 1, context.outcome.end);
    let mut table = new("run_series");
    table.real("time_ns", "ns", "Start of the bin", bins.starts_ns().collect());
    let packets = bins.row(0).map(|(batch, _)| batch.packets as i64).collect();
    table.whole("packets", "", "Delivered packets", packets);
    let rates = bins.row(0).map(|(batch, length)| gbps(batch.bytes as f64, length)).collect();
    table.real("gbps", "Gb/s", "Delivered throughput", rates);
    let means = bins.row(0).map(|(batch, _)| batch.latency as f64 / batch.packets as f64 * 1e-3).collect();
    table.real(
        "latency_mean_ns",
        "ns",
        "Mean latency, from creation to delivery, of the packets delivered",
        means,
    );
    congestion_tables::fabric(context, &mut table);
    table
}

/// Use of every sending port over time, if requested.
pub(crate) fn links(context: &TableInput) -> Option<Table> {
    let series = context.recorder.ports.series.as_ref()?;
    let names: Vec<_> = context.names.ports.iter().map(|port| port.link.clone()).collect();
    let mut busy = Bins::new(series.busy.clone(), names.len(), context.outcome.end);
    let mut stalled = Bins::new(series.stalled.clone(), names.len(), context.outcome.end);
    busy.match_width(&mut stalled);
    let mut table = new("link_series");
    head(&mut table, &busy, ("link", "Direction of a link: from->to"), &names);
    let fractions = |bins: &Bins<u64>| (0..names.len()).flat_map(|row| bins.fractions(row)).collect();
    table.real("utilisation", "", "Fraction of the bin in which packets were sent", fractions(&busy));
    let text = "Fraction of the bin in which the idle port had a packet but no credits for it";
    table.real("stalled", "", text, fractions(&stalled));
    Some(table)
}
