//! The queues of a switch in rows, one for each output with virtual output queues, else one for all outputs.
//!
//! Queues for each pair of ports would be most of the memory of a network of large switches, and at any time packets wait for few of the outputs.
//! So the outputs of a large switch have rows only while packets wait for them.

use fabricsim_spec::Queueing;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::{Layout, Output, Request, Turn};
use crate::queue::Queue;
use crate::{Features, Table};

/// No row.
const NO_ROW: u16 = u16::MAX;

/// Queues of a switch up to which every output keeps a row: the time to take and return one is saved.
const KEPT: usize = 4096;

/// Rows of queues by input and lane.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct QueueRows {
    queues: Table<Queue>,
    /// For each row and input the time at which the input port can be read again since the last missed turn of its request was counted; empty
    /// if none are counted.
    missed_until: Table<Time>,
    /// For each row and input the request.
    requests: Table<Request>,
    /// For each output and input what is remembered while the output has no row; empty if outputs keep theirs.
    turns: Table<Turn>,
    /// Queues of a row.
    row: usize,
    /// From the queues of a row to those of the next; 0 if outputs share those of the inputs.
    stride: usize,
    lanes: usize,
    /// Input ports.
    ports: usize,
    /// The same, or 0 if no missed turns are counted.
    inputs: usize,
    /// Rows that no output has.
    free: Vec<u16>,
    /// True if outputs return rows that they do not need.
    are_shared: bool,
}

impl QueueRows {
    /// The rows of a switch, with those that its `outputs` keep.
    pub(super) fn new(layout: Layout, counts_missed: bool, outputs: &mut [Output]) -> Self {
        let is_fifo = layout.queueing == Queueing::Fifo;
        let row = layout.ports * layout.lanes;
        // Results do not depend on it, which the tests of debug builds show with some numbers of ports and lanes.
        let is_tested = cfg!(debug_assertions) && row.is_multiple_of(3);
        let are_shared = !is_fifo && (layout.queues() > KEPT || is_tested);
        let mut rows = Self {
            queues: Table::new(Vec::new()),
            missed_until: Table::new(Vec::new()),
            requests: Table::new(Vec::new()),
            turns: Table::new(Vec::new()),
            row,
            stride: if is_fifo { 0 } else { row },
            lanes: layout.lanes,
            ports: layout.ports,
            inputs: if counts_missed { layout.ports } else { 0 },
            free: Vec::new(),
            are_shared,
        };
        if are_shared {
            rows.turns = Table::new(vec![Turn::default(); layout.ports * layout.ports]);
        } else {
            let number = if is_fifo { row } else { row * layout.ports };
            rows.queues = Table::new(vec![Queue::EMPTY; number]);
            rows.missed_until = Table::new(vec![Time::ZERO; rows.inputs * layout.ports]);
            rows.requests = Table::new(vec![Request::default(); layout.ports * layout.ports]);
            outputs.iter_mut().zip(0..).for_each(|(output, number)| output.row = number);
        }
        rows
    }

    /// A row of empty queues for an output.
    fn take(&mut self, output: usize) -> u16 {
        let row = self.empty_row();
        let (own, of_row) = (output * self.ports, usize::from(row) * self.ports);
        for input in 0..self.ports {
            self.requests[of_row + input].turn = self.turns[own + input];
        }
        row
    }

    /// Takes back the row of an output.
    fn give_back(&mut self, output: usize, row: u16) {
        let (own, of_row) = (output * self.ports, usize::from(row) * self.ports);
        for input in 0..self.ports {
            self.turns[own + input] = self.requests[of_row + input].turn;
        }
        self.free.push(row);
    }

    fn empty_row(&mut self) -> u16 {
        if let Some(row) = self.free.pop() {
            let first = usize::from(row) * self.inputs;
            self.missed_until.iter_mut().skip(first).take(self.inputs).for_each(|time| *time = Time::ZERO);
            return row;
        }
        let number = (self.queues.len() / self.row.max(1)) as u16;
        self.queues.extend(self.stride, Queue::EMPTY);
        self.missed_until.extend(self.inputs, Time::ZERO);
        self.requests.extend(self.ports, Request::default());
        number
    }

    /// Place of the first queue of a row.
    #[inline(always)]
    fn first(&self, row: u16) -> usize {
        usize::from(row) * self.stride
    }

    /// Place of a queue.
    #[inline(always)]
    pub(super) fn place(&self, row: u16, input: usize, lane: Vl) -> usize {
        debug_assert!(row != NO_ROW, "packets wait only for outputs with a row");
        self.first(row) + input * self.lanes + lane.index()
    }

    /// The same for a queue of a `request`, whose place is enough with plain features.
    #[inline(always)]
    pub(super) fn place_as<F: Features>(
        &self,
        row: u16,
        request: usize,
        (input, lane): (usize, Vl),
    ) -> usize {
        let place = if F::PLAIN { request * self.lanes + lane.index() } else { self.place(row, input, lane) };
        debug_assert_eq!(place, self.place(row, input, lane));
        place
    }

    /// Place of the request of an input in a row. That in no row is beyond all of them.
    #[inline(always)]
    pub(super) fn request_place(&self, row: u16, input: usize) -> usize {
        usize::from(row) * self.ports + input
    }

    /// The request at a place.
    #[inline(always)]
    pub(super) fn request_at(&self, place: usize) -> Request {
        self.requests[place]
    }

    #[inline(always)]
    pub(super) fn request_at_mut(&mut self, place: usize) -> &mut Request {
        &mut self.requests[place]
    }

    /// The request of an input in a row.
    #[inline(always)]
    pub(super) fn request(&self, row: u16, input: usize) -> Request {
        self.requests[self.request_place(row, input)]
    }

    #[inline(always)]
    pub(super) fn request_mut(&mut self, row: u16, input: usize) -> &mut Request {
        let place = self.request_place(row, input);
        &mut self.requests[place]
    }

    /// What an output remembers of an input: with the request at a place, or outside the rows.
    #[inline(always)]
    pub(super) fn turn_mut<F: Features>(&mut self, place: usize, of: (usize, usize)) -> &mut Turn {
        if F::PLAIN || place < self.requests.len() {
            return &mut self.requests[place].turn;
        }
        let (output, input) = of;
        &mut self.turns[output * self.ports + input]
    }

    /// True if nothing is left in a row.
    fn is_unused(&self, row: u16) -> bool {
        let first = usize::from(row) * self.ports;
        self.of_row(row).all(|(.., queue)| queue.head().is_none())
            && self
                .requests
                .iter()
                .skip(first)
                .take(self.ports)
                .all(|request| *request == Request { turn: request.turn, ..Request::default() })
    }

    /// The queue at a place.
    #[inline(always)]
    pub(super) fn queue(&self, place: usize) -> Queue {
        self.queues[place]
    }

    #[inline(always)]
    pub(super) fn queue_mut(&mut self, place: usize) -> &mut Queue {
        &mut self.queues[place]
    }

    /// The queue of an input and lane in a row.
    #[inline(always)]
    pub(super) fn at(&self, row: u16, input: usize, lane: Vl) -> Queue {
        self.queues[self.place(row, input, lane)]
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, row: u16, input: usize, lane: Vl) -> &mut Queue {
        let place = self.place(row, input, lane);
        &mut self.queues[place]
    }

    /// Time at which an input could be read again when the last missed turn of its request, at a place, was counted.
    #[inline(always)]
    pub(super) fn missed_until(&mut self, request: usize) -> &mut Time {
        &mut self.missed_until[request]
    }

    /// The queues of a row with input and lane.
    pub(super) fn of_row(&self, row: u16) -> impl Iterator<Item = (usize, Vl, Queue)> {
        let first = self.first(row);
        let queues = if row == NO_ROW { None } else { self.queues.get(first..first + self.row) };
        let lanes = self.lanes;
        queues
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(move |(i, &queue)| (i / lanes, Vl((i % lanes) as u8), queue))
    }

    /// True if outputs return rows that they do not need.
    pub(super) fn are_shared(&self) -> bool {
        self.are_shared
    }
}

impl Output {
    /// The row of an output for which nothing waits.
    pub(super) const fn no_row() -> u16 {
        NO_ROW
    }
}

impl Switch {
    /// The row of an output.
    #[inline(always)]
    pub(super) fn row_of<F: Features>(&self, output: usize) -> u16 {
        debug_assert!(!F::PLAIN || usize::from(self.outputs[output].row) == output);
        // With plain features outputs keep their rows, which are numbered as they are.
        if F::PLAIN { output as u16 } else { self.outputs[output].row }
    }

    /// The row of an output for which a packet is about to wait.
    #[inline(always)]
    pub(super) fn open_row<F: Features>(&mut self, output: usize) -> u16 {
        let row = self.row_of::<F>(output);
        if F::PLAIN || row != NO_ROW {
            return row;
        }
        self.take_row(output)
    }

    #[inline(never)]
    fn take_row(&mut self, output: usize) -> u16 {
        let row = self.queues.take(output);
        self.outputs[output].row = row;
        row
    }

    /// No packet waits for an output any more, and the turn of the last one is settled.
    #[inline(always)]
    pub(super) fn close_row<F: Features>(&mut self, output: usize) {
        if !F::PLAIN && self.queues.are_shared {
            self.return_row(output);
        }
    }

    #[inline(never)]
    fn return_row(&mut self, output: usize) {
        let row = std::mem::replace(&mut self.outputs[output].row, NO_ROW);
        debug_assert!(self.queues.is_unused(row));
        self.queues.give_back(output, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::AllFeatures;

    fn rows((ports, lanes): (usize, usize), queueing: Queueing) -> (QueueRows, Vec<Output>) {
        let layout = Layout::new(queueing, ports, lanes);
        let mut outputs = vec![Output::new(ports); ports];
        (QueueRows::new(layout, true, &mut outputs), outputs)
    }

    #[test]
    fn outputs_of_a_small_switch_keep_their_rows() {
        let (rows, outputs) = rows((5, 4), Queueing::Voq);
        assert_eq!(outputs.iter().map(|output| output.row).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!((rows.queues.len(), rows.are_shared), (5 * 4 * 5, false));
    }

    #[test]
    fn outputs_share_the_queues_of_inputs() {
        let (mut rows, outputs) = rows((64, 3), Queueing::Fifo);
        assert_eq!((rows.queues.len(), rows.are_shared), (64 * 3, false));
        let place = |output: usize| rows.place(outputs[output].row, 5, Vl(1));
        assert_eq!(place(0), place(63));
        // Turns are missed at each output.
        *rows.missed_until(rows.request_place(outputs[0].row, 5)) = Time::ns(1);
        assert_eq!(*rows.missed_until(rows.request_place(outputs[63].row, 5)), Time::ZERO);
        assert_eq!(rows.of_row(outputs[63].row).count(), 64 * 3);
    }

    /// A row that is used again counts no turn as missed, and places of rows, inputs and lanes are their own.
    #[test]
    fn outputs_of_a_large_switch_share_rows() {
        let (mut rows, outputs) = rows((64, 3), Queueing::Voq);
        assert!(outputs.iter().all(|output| output.row == NO_ROW));
        assert_eq!((rows.queues.len(), rows.are_shared), (0, true));
        assert_eq!((rows.take(5), rows.take(6)), (0, 1));
        *rows.missed_until(63) = Time::ns(7);
        rows.turn_mut::<AllFeatures>(63, (5, 63)).last_lane = 2;
        rows.give_back(5, 0);
        let outside = rows.request_place(NO_ROW, 63);
        assert_eq!(rows.turn_mut::<AllFeatures>(outside, (5, 63)).last_lane, 2);
        assert_eq!((rows.take(7), rows.take(5), rows.queues.len()), (0, 2, 3 * 64 * 3));
        let last_lane = |rows: &QueueRows, row| rows.request(row, 63).turn.last_lane;
        assert_eq!((last_lane(&rows, 0), last_lane(&rows, 2)), (0, 2), "what an output remembers is its own");
        assert_eq!(*rows.missed_until(63), Time::ZERO);
        let mut seen = vec![false; 3 * 64 * 3];
        for row in 0..3 {
            for (input, lane, _) in rows.of_row(row) {
                let place = rows.place(row, input, lane);
                assert!(!std::mem::replace(&mut seen[place], true));
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
        assert_eq!(rows.of_row(NO_ROW).count(), 0);
    }
}
