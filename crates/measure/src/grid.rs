use std::ops::AddAssign;

use fabricsim_units::Time;

/// Maximum number of time bins of a series.
const MOST_BINS: usize = 2048;

/// Capacity in bins if `expected` are planned: twice that number, within 64 and 2048, but few enough that `rows` of
/// them need no more than 2^21 cells (and at least 8).
pub(crate) fn capacity(expected: u64, rows: usize) -> usize {
    let wanted = (expected.saturating_mul(2) as usize).clamp(64, MOST_BINS);
    wanted.min((1 << 21) / rows.max(1)).max(8)
}

/// Time in bins. Their number is bounded: when a time lies beyond the last bin, the bins' width doubles. So the
/// width follows from the configuration and the latest time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct Axis {
    width: u64,
    capacity: usize,
    used: usize,
    recent: Recent,
}

/// The bin that was found last: time goes on slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
struct Recent {
    from: u64,
    to: u64,
    bin: Bin,
}

/// A bin of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct Bin {
    index: usize,
    width: u64,
}

impl Axis {
    /// At least two bins, each at least a picosecond wide.
    pub(crate) fn new(width: Time, capacity: usize) -> Self {
        let width = width.0.max(1);
        let recent = Recent { from: 0, to: 0, bin: Bin { index: 0, width } };
        Self { width, capacity: capacity.max(2), used: 0, recent }
    }

    /// The bin that `time` falls into.
    #[inline]
    pub(crate) fn bin(&mut self, time: Time) -> Bin {
        let known = time.0 >= self.recent.from && time.0 < self.recent.to;
        if known { self.recent.bin } else { self.find(time.0) }
    }

    #[cold]
    fn find(&mut self, time: u64) -> Bin {
        while time / self.width >= self.capacity as u64 {
            self.coarsen();
        }
        let index = (time / self.width) as usize;
        let from = index as u64 * self.width;
        let bin = Bin { index, width: self.width };
        self.recent = Recent { from, to: from.saturating_add(self.width), bin };
        self.used = self.used.max(index + 1);
        bin
    }

    fn coarsen(&mut self) {
        self.used = self.used.div_ceil(2);
        self.width = self.width.saturating_mul(2);
        self.recent.to = self.recent.from;
    }

    /// Doubles the width until it is at least `width` and there are at most `bins` bins.
    pub(crate) fn coarsen_to(&mut self, width: Time, bins: usize) {
        while self.width < width.0 || self.used > bins.max(1) {
            self.coarsen();
        }
    }

    /// Covers what `other` covers, which began with the same width.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.coarsen_to(other.width(), self.capacity);
        self.used = self.used.max(other.used.div_ceil((self.width / other.width) as usize));
    }

    pub(crate) fn width(&self) -> Time {
        Time(self.width)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bins up to the last one that was used.
    pub(crate) fn bins(&self) -> usize {
        self.used
    }
}

/// Sums in the bins of an axis, for any number of rows. Several may share an axis: each follows it when it is next
/// written to or read.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Cells<T> {
    width: u64,
    capacity: usize,
    rows: usize,
    sums: Vec<T>,
}

impl<T: Copy + Default + AddAssign> Cells<T> {
    pub(crate) fn new(axis: &Axis, rows: usize) -> Self {
        Self {
            width: axis.width,
            capacity: axis.capacity,
            rows,
            sums: vec![T::default(); axis.capacity * rows],
        }
    }

    pub(crate) fn add_row(&mut self) {
        self.rows += 1;
        self.sums.resize(self.rows * self.capacity, T::default());
    }

    #[inline]
    pub(crate) fn add(&mut self, row: usize, bin: Bin, amount: T) {
        if bin.width != self.width {
            self.follow(bin.width);
        }
        self.sums[row * self.capacity + bin.index] += amount;
    }

    /// Merges bins until they are `width` wide.
    #[cold]
    fn follow(&mut self, width: u64) {
        while self.width < width {
            self.sums.chunks_exact_mut(self.capacity).for_each(merge_pairs);
            self.width = self.width.saturating_mul(2);
        }
    }

    /// Sum over everything.
    pub(crate) fn total(&self) -> T {
        let mut total = T::default();
        self.sums.iter().for_each(|&amount| total += amount);
        total
    }

    /// An empty table of the same bins.
    pub(crate) fn same_bins(&self) -> Self {
        Self { rows: 0, sums: Vec::new(), ..*self }
    }

    /// As wide as the bins of `other`, if they were narrower.
    pub(crate) fn follow_other(&mut self, other: &Self) {
        self.follow(other.width);
    }

    /// Adds a row of `other`, whose bins are as wide as these or narrower by a power of two.
    pub(crate) fn absorb_row(&mut self, row: usize, other: &Self, other_row: usize) {
        let ratio = (self.width / other.width) as usize;
        let mine = &mut self.sums[row * self.capacity..][..self.capacity];
        let theirs = &other.sums[other_row * other.capacity..][..other.capacity];
        for (bin, part) in mine.iter_mut().zip(theirs.chunks(ratio)) {
            for &amount in part {
                *bin += amount;
            }
        }
    }

    /// Adds `other`, which has the same rows and began with the same width.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.follow(other.width);
        (0..self.rows.min(other.rows)).for_each(|row| self.absorb_row(row, other, row));
    }
}

fn merge_pairs<T: Copy + Default + AddAssign>(row: &mut [T]) {
    let pairs = row.len() / 2;
    for bin in 0..pairs {
        let mut sum = row[2 * bin];
        sum += row[2 * bin + 1];
        row[bin] = sum;
    }
    let mut filled = pairs;
    if !row.len().is_multiple_of(2) {
        row[filled] = row[row.len() - 1];
        filled += 1;
    }
    row[filled..].fill(T::default());
}

/// Cells with an axis of their own.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Grid<T> {
    axis: Axis,
    cells: Cells<T>,
}

impl<T: Copy + Default + AddAssign> Grid<T> {
    pub(crate) fn new(width: Time, capacity: usize, rows: usize) -> Self {
        let axis = Axis::new(width, capacity);
        Self { axis, cells: Cells::new(&axis, rows) }
    }

    /// A copy of cells that share `axis`.
    pub(crate) fn of(axis: &Axis, cells: &Cells<T>) -> Self {
        let mut cells = cells.clone();
        cells.follow(axis.width);
        Self { axis: *axis, cells }
    }

    pub(crate) fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The bins of a row.
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.cells.sums[row * self.axis.capacity..][..self.axis.used]
    }

    #[inline]
    pub(crate) fn add(&mut self, row: usize, time: Time, amount: T) {
        let bin = self.axis.bin(time);
        self.cells.add(row, bin, amount);
    }

    pub(crate) fn coarsen_to(&mut self, width: Time, bins: usize) {
        self.axis.coarsen_to(width, bins);
        self.cells.follow(self.axis.width);
    }

    pub(crate) fn add_row(&mut self) {
        self.cells.add_row();
    }

    /// No rows, on the same bins.
    pub(crate) fn same_bins(&self) -> Self {
        Self { axis: self.axis, cells: self.cells.same_bins() }
    }

    /// Adds a row of `other`, which began with the same width.
    pub(crate) fn absorb_row(&mut self, row: usize, other: &Self, other_row: usize) {
        self.axis.merge(&other.axis);
        self.cells.follow(self.axis.width);
        self.cells.absorb_row(row, &other.cells, other_row);
    }

    /// Adds to each bin between `start` and `end` the value of `amount` for the picoseconds that lie in it.
    pub(crate) fn spread(&mut self, row: usize, start: Time, end: Time, amount: impl Fn(u64) -> T) {
        if end <= start {
            return;
        }
        self.axis.bin(Time(end.0 - 1));
        let mut from = start.0;
        while from < end.0 {
            let bin = self.axis.bin(Time(from));
            let to = end.0.min(self.axis.recent.to);
            self.cells.add(row, bin, amount(to - from));
            from = to;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.axis.merge(&other.axis);
        self.cells.follow(self.axis.width);
        self.cells.merge(&other.cells);
    }
}

impl Grid<u64> {
    /// Adds the picoseconds from `start` to `end` to the bins in which they lie.
    #[inline(never)]
    pub(crate) fn add_interval(&mut self, row: usize, start: Time, end: Time) {
        self.spread(row, start, end, |time| time);
    }

    /// Subtracts the picoseconds from `start` to `end`, which were added as part of an interval.
    pub(crate) fn remove_interval(&mut self, row: usize, start: Time, end: Time) {
        let mut from = start.0;
        while from < end.0 {
            let bin = self.axis.bin(Time(from));
            let to = end.0.min(self.axis.recent.to);
            self.cells.follow(bin.width);
            self.cells.sums[row * self.cells.capacity + bin.index] -= to - from;
            from = to;
        }
    }

    /// Drops the bins that begin at `end` or later, which are empty.
    pub(crate) fn end_at(&mut self, end: Time) {
        self.cells.follow(self.axis.width);
        self.axis.used = self.axis.used.min(end.0.div_ceil(self.axis.width) as usize);
        let rows = self.cells.sums.chunks_exact(self.axis.capacity);
        debug_assert!(rows.flat_map(|row| &row[self.axis.used..]).all(|&sum| sum == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(points: &[(u64, u64)]) -> Grid<u64> {
        let mut grid = Grid::new(Time(10), 4, 1);
        for &(time, amount) in points {
            grid.add(0, Time(time), amount);
        }
        grid
    }

    #[test]
    fn bins_double_when_the_run_outlives_them() {
        let mut grid = grid(&[(0, 1), (9, 1), (10, 1), (39, 5)]);
        assert_eq!((grid.axis().width(), grid.row(0)), (Time(10), [2, 1, 0, 5].as_slice()));
        grid.add(0, Time(40), 7);
        assert_eq!((grid.axis().width(), grid.row(0)), (Time(20), [3, 5, 7].as_slice()));
        grid.add(0, Time(170), 1);
        assert_eq!((grid.axis().width(), grid.row(0)), (Time(80), [15, 0, 1].as_slice()));
    }

    #[test]
    fn the_latest_moment_of_all_is_counted() {
        let grid = grid(&[(u64::MAX, 3), (0, 1)]);
        assert_eq!(grid.row(0).iter().sum::<u64>(), 4);
    }

    #[test]
    fn intervals_are_split_at_the_bins() {
        let mut grid = Grid::new(Time(10), 4, 2);
        grid.add_interval(1, Time(5), Time(27));
        grid.add_interval(1, Time(27), Time(27));
        assert_eq!(grid.row(1), [5, 10, 7]);
        grid.add_interval(1, Time(30), Time(50));
        assert_eq!((grid.row(0), grid.row(1)), ([0; 3].as_slice(), [15, 17, 10].as_slice()));
    }

    #[test]
    fn room_is_bounded() {
        assert_eq!([capacity(140, 50), capacity(1, 50), capacity(u64::MAX, 1)], [280, 64, 2048]);
        assert_eq!([capacity(140, 4096), capacity(140, 1 << 18), capacity(1000, 1 << 15)], [280, 8, 64]);
    }

    #[test]
    fn what_lies_behind_the_end_is_taken_off() {
        let mut grid = Grid::new(Time(10), 4, 2);
        grid.add_interval(0, Time(5), Time(37));
        grid.add_interval(1, Time(8), Time(12));
        grid.remove_interval(0, Time(16), Time(37));
        grid.end_at(Time(16));
        assert_eq!((grid.row(0), grid.row(1)), ([5, 6].as_slice(), [2, 2].as_slice()));
    }

    proptest! {
        #[test]
        fn merging_equals_one_grid_fed_everything(
            a in prop::collection::vec((0_u64..2000, 0_u64..100), 0..20),
            b in prop::collection::vec((0_u64..2000, 0_u64..100), 0..20),
        ) {
            let (mut ab, mut ba, all) = (grid(&a), grid(&b), grid(&[a.clone(), b.clone()].concat()));
            ab.merge(&grid(&b));
            ba.merge(&grid(&a));
            prop_assert_eq!((ab.axis().width(), ab.row(0)), (all.axis().width(), all.row(0)));
            prop_assert_eq!((ba.axis().width(), ba.row(0)), (all.axis().width(), all.row(0)));
            let total = a.iter().chain(&b).map(|&(_, amount)| amount).sum::<u64>();
            prop_assert_eq!(all.row(0).iter().sum::<u64>(), total);
        }
    }
}
