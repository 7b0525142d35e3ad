//! The whole fabric over time, and the batches of steady-state detection.

use fabricsim_model::{Packet, Table};
use fabricsim_units::Time;

use super::collector::{Collector, NoKeys, ResultTable};
use crate::bins::Bins;
use crate::grid::{Cells, Grid};
use crate::input::{Rows, TableInput, gbps};
use crate::timeline::{Delivery, Timeline};
use crate::{Batch, RecorderConfig};

/// Packets by time of delivery, over the whole run.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Course {
    cells: Cells<Batch>,
    /// Sum at the last call of [`Course::take_batch`].
    taken: Batch,
}

impl Course {
    /// The packets delivered since the last call.
    pub(crate) fn take_batch(&mut self) -> Batch {
        let before = std::mem::replace(&mut self.taken, self.cells.total());
        Batch {
            packets: self.taken.packets - before.packets,
            latency: self.taken.latency - before.latency,
            bytes: self.taken.bytes - before.bytes,
        }
    }
}

impl Collector for Course {
    type Summary = NoKeys;

    fn new(_config: &RecorderConfig, timeline: &Timeline) -> Self {
        Self { cells: Cells::new(&timeline.axis, 1), taken: Batch::default() }
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        self.cells.add(0, delivery.bin, delivery.batch(packet));
    }

    fn merge(&mut self, other: &Self) {
        self.cells.merge(&other.cells);
        self.taken += other.taken;
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let grid = Grid::of(&input.timeline.axis, &self.cells);
        let bins = Bins::new(grid, 1, input.outcome.end);
        let mut table = Table::new("run_series");
        table.real("time_ns", "ns", "Start of the bin", bins.starts_ns().collect());
        let packets = bins.row(0).map(|(batch, _)| batch.packets as i64).collect();
        table.whole("packets", "", "Delivered packets", packets);
        let rates = bins.row(0).map(|(batch, length)| gbps(batch.bytes as f64, length)).collect();
        table.real("gbps", "Gb/s", "Delivered throughput", rates);
        let means =
            bins.row(0).map(|(batch, _)| batch.latency as f64 / batch.packets as f64 * 1e-3).collect();
        let text = "Mean latency, from creation to delivery, of the packets delivered";
        table.real("latency_mean_ns", "ns", text, means);
        input.add_columns(&Rows::Run, &mut table);
        vec![ResultTable::new("time bin: the whole network", table)]
    }

    fn summarize(&self, _input: &TableInput<'_>) -> NoKeys {
        NoKeys {}
    }
}
