use std::ops::AddAssign;

use fabricsim_units::Time;

/// Most time bins that a series has.
const MOST_BINS: usize = 2048;

/// Sums in time bins, for any number of rows. The number of bins is bounded: when a moment lies behind the last bin,
/// neighbouring bins are merged in pairs and their width doubles. So the width follows from the configuration and
/// the latest moment alone.
#[derive(Clone, Debug)]
pub(crate) struct Grid<T> {
    width: u64,
    capacity: usize,
    used: usize,
    rows: usize,
    cells: Vec<T>,
    recent: Recent,
}

/// The bin that was found last: time goes on slowly.
#[derive(Clone, Copy, Debug)]
struct Recent {
    from: u64,
    to: u64,
    bin: usize,
}

const NONE: Recent = Recent { from: 0, to: 0, bin: 0 };

/// Bins to keep room for when `expected` are planned: twice as many, within 64 and 2048, but not so many that
/// `rows` of them need more than 2^21 cells (and at least 8).
pub(crate) fn capacity(expected: u64, rows: usize) -> usize {
    let wanted = (expected.saturating_mul(2) as usize).clamp(64, MOST_BINS);
    wanted.min((1 << 21) / rows.max(1)).max(8)
}

impl<T: Copy + Default + AddAssign> Grid<T> {
    pub(crate) fn new(width: Time, capacity: usize, rows: usize) -> Self {
        let cells = vec![T::default(); capacity * rows];
        Self { width: width.0.max(1), capacity, used: 0, rows, cells, recent: NONE }
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

    /// The bins of a row.
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.cells[row * self.capacity..][..self.used]
    }

    pub(crate) fn add_row(&mut self) {
        self.rows += 1;
        self.cells.resize(self.rows * self.capacity, T::default());
    }

    #[inline]
    pub(crate) fn add(&mut self, row: usize, moment: Time, amount: T) {
        *self.at(row, moment) += amount;
    }

    /// The cell of a row that `moment` falls into.
    #[inline]
    pub(crate) fn at(&mut self, row: usize, moment: Time) -> &mut T {
        let known = moment.0 >= self.recent.from && moment.0 < self.recent.to;
        let bin = if known { self.recent.bin } else { self.find(moment.0) };
        &mut self.cells[row * self.capacity + bin]
    }

    #[cold]
    fn find(&mut self, moment: u64) -> usize {
        while moment / self.width >= self.capacity as u64 {
            self.coarsen();
        }
        let bin = (moment / self.width) as usize;
        let from = bin as u64 * self.width;
        self.recent = Recent { from, to: from.saturating_add(self.width), bin };
        self.used = self.used.max(bin + 1);
        bin
    }

    fn coarsen(&mut self) {
        for row in self.cells.chunks_exact_mut(self.capacity) {
            for bin in 0..self.used.div_ceil(2) {
                let mut sum = row[2 * bin];
                if 2 * bin + 1 < self.used {
                    sum += row[2 * bin + 1];
                }
                row[bin] = sum;
            }
            row[self.used.div_ceil(2)..self.used].fill(T::default());
        }
        self.used = self.used.div_ceil(2);
        self.width = self.width.saturating_mul(2);
        self.recent = NONE;
    }

    /// Doubles the width until it is at least `width` and there are at most `bins` bins.
    pub(crate) fn coarsen_to(&mut self, width: Time, bins: usize) {
        while self.width < width.0 || self.used > bins.max(1) {
            self.coarsen();
        }
    }

    /// Adds a row of `other`, whose bins are as wide as these or narrower by a power of two.
    pub(crate) fn absorb_row(&mut self, row: usize, other: &Self, other_row: usize) {
        let ratio = (self.width / other.width) as usize;
        self.used = self.used.max(other.used.div_ceil(ratio));
        let mine = &mut self.cells[row * self.capacity..][..self.used];
        for (bin, part) in mine.iter_mut().zip(other.row(other_row).chunks(ratio)) {
            for &amount in part {
                *bin += amount;
            }
        }
    }

    /// Adds `other`, which has the same rows and began with the same width.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.coarsen_to(other.width(), self.capacity);
        (0..self.rows.min(other.rows)).for_each(|row| self.absorb_row(row, other, row));
    }
}

impl Grid<u64> {
    /// Adds the picoseconds from `start` to `end` to the bins in which they lie.
    pub(crate) fn add_interval(&mut self, row: usize, start: Time, end: Time) {
        if end <= start {
            return;
        }
        self.find(end.0 - 1);
        let mut from = start.0;
        while from < end.0 {
            let bin = self.find(from);
            let to = end.0.min(self.recent.to);
            self.cells[row * self.capacity + bin] += to - from;
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(points: &[(u64, u64)]) -> Grid<u64> {
        let mut grid = Grid::new(Time(10), 4, 1);
        for &(moment, amount) in points {
            grid.add(0, Time(moment), amount);
        }
        grid
    }

    #[test]
    fn bins_double_when_the_run_outlives_them() {
        let mut grid = grid(&[(0, 1), (9, 1), (10, 1), (39, 5)]);
        assert_eq!((grid.width(), grid.row(0)), (Time(10), [2, 1, 0, 5].as_slice()));
        grid.add(0, Time(40), 7);
        assert_eq!((grid.width(), grid.row(0)), (Time(20), [3, 5, 7].as_slice()));
        grid.add(0, Time(170), 1);
        assert_eq!((grid.width(), grid.row(0)), (Time(80), [15, 0, 1].as_slice()));
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

    proptest! {
        #[test]
        fn merging_equals_one_grid_fed_everything(
            a in prop::collection::vec((0_u64..2000, 0_u64..100), 0..20),
            b in prop::collection::vec((0_u64..2000, 0_u64..100), 0..20),
        ) {
            let (mut ab, mut ba, all) = (grid(&a), grid(&b), grid(&[a.clone(), b.clone()].concat()));
            ab.merge(&grid(&b));
            ba.merge(&grid(&a));
            prop_assert_eq!((ab.width(), ab.row(0)), (all.width(), all.row(0)));
            prop_assert_eq!((ba.width(), ba.row(0)), (all.width(), all.row(0)));
            let total = a.iter().chain(&b).map(|&(_, amount)| amount).sum::<u64>();
            prop_assert_eq!(all.row(0).iter().sum::<u64>(), total);
        }
    }
}
