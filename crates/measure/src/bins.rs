//! Bins of tables over time.

use std::ops::AddAssign;

use fabricsim_model::Table;
use fabricsim_units::Time;

use crate::grid::Grid;
use crate::input::gbps;

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

    pub(crate) fn starts_ns(&self) -> impl Iterator<Item = f64> {
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
    pub(crate) fn rates(&self, row: usize) -> impl Iterator<Item = f64> {
        self.row(row).map(|(bytes, length)| gbps(bytes as f64, length))
    }

    pub(crate) fn fractions(&self, row: usize) -> impl Iterator<Item = f64> {
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
