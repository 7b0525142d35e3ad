//! Queues of packets in a switch, and requests for their outputs.

use fabricsim_spec::Queueing;
use fabricsim_units::Vl;

use super::Switch;
use crate::bits::Bits;
use crate::queue::Queue;
use crate::{Features, NONE, Outbox, PartitionContext};

/// Numbering of queues and requests. Requests by (output, input); queues by (output, input, lane) with virtual output
/// queues, else by (input, lane).
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) queueing: Queueing,
    pub(super) ports: usize,
    pub(super) lanes: usize,
    /// From the queues of an output to those of the next, in rows of lanes: 0 if outputs have none of their own.
    output_rows: usize,
}

impl Layout {
    pub(super) fn new(queueing: Queueing, ports: usize, lanes: usize) -> Self {
        let output_rows = if queueing == Queueing::Fifo { 0 } else { ports };
        Self { queueing, ports, lanes, output_rows }
    }

    /// Number of queues in all.
    pub(super) fn queues(self) -> usize {
        self.lanes * self.ports * if self.output_rows == 0 { 1 } else { self.ports }
    }

    #[inline]
    pub(super) fn queue(self, input: usize, lane: Vl, output: usize) -> usize {
        (output * self.output_rows + input) * self.lanes + lane.index()
    }
}

/// Input, lane and output of a packet, with the places of its request and its queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePosition {
    pub(super) input: usize,
    pub(super) lane: Vl,
    pub(super) output: usize,
    /// Place of its request among the rows ([`super::rows`]): beyond all of them if its output has no row.
    pub(super) request: usize,
    /// Place of its queue among the rows, if the packet is in it.
    pub(super) place: usize,
}

/// Of a packet that is in no queue.
const NO_PLACE: usize = usize::MAX;

/// No input port.
pub(super) const NO_INPUT: u16 = u16::MAX;

/// An output port.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct Output {
    /// Inputs with a request.
    pub(super) inputs: Bits,
    /// Input last served.
    pub(super) last_input: u16,
    /// The input that `sole` came by.
    pub(super) sole_input: u16,
    /// The input with an overdue request in whose turn another packet was sent; [`NO_INPUT`] if there is none.
    pub(super) deferred_input: u16,
    /// Blocks that wait for it.
    pub(super) queued: u32,
    /// The row of its queues ([`super::rows`]).
    pub(super) row: u16,
    /// A packet that came for the idle output in this time step, the only one so far: it need not be queued unless it
    /// cannot be sent at once. [`NONE`] at the end of every time step.
    pub(super) sole: u32,
}

impl Output {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            inputs: Bits::new(ports),
            last_input: 0,
            deferred_input: NO_INPUT,
            queued: 0,
            row: Self::no_row(),
            sole: NONE,
            sole_input: 0,
        }
    }
}

/// Request of an input to an output, part of the output's row ([`super::rows`]). But for the turn, it is empty while no packet waits for the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Request {
    /// Lanes, a bit for each, with a packet for the output at the head of a queue.
    pub(super) lanes: u16,
    pub(super) turn: Turn,
    /// Lanes, a bit for each, with a packet at the head of a queue that is owed a turn.
    pub(super) owed: u16,
    /// Lanes, a bit for each, whose queues are short ([`super::owed`]).
    pub(super) short: u16,
}

/// What an output remembers of an input between its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Turn {
    /// Lane last served.
    pub(super) last_lane: u8,
    /// Turns missed since it was served last, because the input port was being read.
    pub(super) missed: u8,
}

impl Turn {
    /// The lane to look at first: the next one after the one served last.
    #[inline]
    pub(super) fn first_lane(self, lanes: u16) -> Vl {
        let after = lanes & (0xfffe_u16.wrapping_shl(u32::from(self.last_lane)));
        Vl(if after != 0 { after } else { lanes }.trailing_zeros() as u8)
    }
}

impl Switch {
    /// Puts a packet into its queue; true if it is the first there and so requests its output from now on.
    #[inline(always)]
    pub(super) fn enqueue<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
    ) -> bool {
        let QueuePosition { lane, output, input, .. } = position;
        let row = self.open_row::<F>(output);
        let request = self.queues.request_place(row, input);
        let place = self.queues.place_as::<F>(row, request, (input, lane));
        let first = self.queues.queue_mut(place).push(&mut context.arena, packet);
        if first {
            self.outputs[output].inputs.set_as::<F>(input);
            self.queues.request_at_mut(request).lanes |= 1 << lane.0;
            if F::OPTIONAL && self.lifetimes.is_some() {
                self.begin_lifetime(context, (self.layout.queue(input, lane, output), output), packet);
            }
        }
        first
    }

    /// The only packet of the time step becomes one of several, or cannot be sent at once.
    #[inline(never)]
    pub(super) fn enqueue_sole<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let state = &mut self.outputs[output];
        let packet = std::mem::replace(&mut state.sole, NONE);
        let input = usize::from(state.sole_input);
        let lane = context.arena[packet].lane;
        let position = self.position::<F>(input, lane, output);
        self.enqueue::<F, R, B, O>(context, position, packet);
    }

    /// Sets the request of the head of a queue for an output.
    #[inline(always)]
    pub(super) fn set_request<F: Features>(&mut self, output: usize, input: usize, lane: Vl) {
        self.outputs[output].inputs.set_as::<F>(input);
        self.request_mut(output, input).lanes |= 1 << lane.0;
    }

    /// Schedules arbitration at an output: at the end of this time step if its link is free, else as soon as it is.
    #[inline(always)]
    pub(super) fn request_arbitration<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let port = self.first_port + output as u32;
        let sender = &mut context.ports.senders[port as usize];
        if sender.busy_until > context.now {
            sender.wake(port, sender.busy_until, &mut context.out);
        } else {
            self.dirty.set_as::<F>(output);
        }
    }

    /// Removes the head of a queue; `next` is the packet behind it, or [`NONE`].
    #[inline(always)]
    pub(super) fn dequeue<F: Features>(&mut self, position: QueuePosition, next: u32) {
        self.queues.queue_mut(position.place).advance(next);
        // The packet behind it asks for the same output only if the queue is that output's.
        if next == NONE || !F::PLAIN && self.layout.queueing == Queueing::Fifo {
            let request = self.queues.request_at_mut(position.request);
            request.lanes &= !(1 << position.lane.0);
            if request.lanes == 0 {
                self.outputs[position.output].inputs.clear_as::<F>(position.input);
            }
        }
    }

    /// Position of a packet that is not in its queue.
    #[inline(always)]
    pub(super) fn position<F: Features>(&self, input: usize, lane: Vl, output: usize) -> QueuePosition {
        let request = self.queues.request_place(self.row_of::<F>(output), input);
        QueuePosition { input, lane, output, request, place: NO_PLACE }
    }

    /// Position of the packets that wait in a queue.
    #[inline(always)]
    pub(super) fn waiting(&self, input: usize, lane: Vl, output: usize) -> QueuePosition {
        let row = self.outputs[output].row;
        let (place, request) = (self.queues.place(row, input, lane), self.queues.request_place(row, input));
        QueuePosition { input, lane, output, request, place }
    }

    /// The same for a request whose place and row are known.
    #[inline(always)]
    pub(super) fn waiting_in<F: Features>(
        &self,
        row: u16,
        request: usize,
        (input, lane, output): (usize, Vl, usize),
    ) -> QueuePosition {
        let place = self.queues.place_as::<F>(row, request, (input, lane));
        QueuePosition { input, lane, output, request, place }
    }

    /// The request of an input to an output for which packets wait.
    #[inline(always)]
    pub(super) fn request(&self, output: usize, input: usize) -> Request {
        self.queues.request(self.outputs[output].row, input)
    }

    #[inline(always)]
    pub(super) fn request_mut(&mut self, output: usize, input: usize) -> &mut Request {
        self.queues.request_mut(self.outputs[output].row, input)
    }

    /// What an output remembers of the input of `position`, whether packets wait for it or not.
    #[inline(always)]
    pub(super) fn turn_mut<F: Features>(&mut self, position: QueuePosition) -> &mut Turn {
        let QueuePosition { output, input, request, .. } = position;
        self.queues.turn_mut::<F>(request, (output, input))
    }

    /// The queue of a waiting packet.
    #[inline(always)]
    pub(super) fn queue_at(&self, position: QueuePosition) -> Queue {
        self.queues.queue(position.place)
    }

    /// True if no packet waits in a queue.
    pub(super) fn is_empty(&self, QueuePosition { input, lane, output, .. }: QueuePosition) -> bool {
        // The row of an output is returned with its last packet.
        let row = self.outputs[output].row;
        row == Output::no_row() || self.queues.at(row, input, lane).head().is_none()
    }

    /// The packets at the heads of queues, of staging buffers first, with input port and lane.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Vl, u32)> {
        let rows = match self.layout.queueing {
            Queueing::Fifo => self.outputs.len().min(1),
            Queueing::Voq | Queueing::Cioq => self.outputs.len(),
        };
        // With queues for each output those of an output for which nothing waits are passed over.
        let of_all = self.layout.queueing == Queueing::Fifo;
        let outputs = self.outputs.iter().enumerate().take(rows);
        let outputs = outputs.filter(move |(_, output)| of_all || output.queued > 0);
        let queued = outputs.flat_map(|(number, output)| self.heads_in_row(number, output));
        queued.chain(self.buffered())
    }

    /// The heads of the queues in the row of an output. Those of an output that has its own are all in its requests.
    fn heads_in_row(&self, number: usize, output: &Output) -> impl Iterator<Item = (usize, Vl, u32)> {
        let are_requested = self.layout.queueing == Queueing::Voq;
        // What waits for an output without a row is in staging buffers.
        let inputs = if output.row == Output::no_row() { 0..0 } else { 0..self.layout.ports };
        let inputs = inputs.filter(move |&input| !are_requested || output.inputs.contains(input));
        inputs.flat_map(move |input| {
            let lanes = self.request(number, input).lanes;
            let lanes = if are_requested { lanes } else { u16::MAX };
            let lanes = (0..self.layout.lanes).filter(move |lane| lanes >> lane & 1 == 1);
            lanes.filter_map(move |lane| {
                let lane = Vl(lane as u8);
                Some((input, lane, self.queues.at(output.row, input, lane).head()?))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_have_numbers_of_their_own() {
        for queueing in [Queueing::Fifo, Queueing::Voq] {
            let layout = Layout::new(queueing, 3, 2);
            let outputs = if queueing == Queueing::Voq { 0..3 } else { 0..1 };
            let mut seen = vec![false; layout.queues()];
            for output in outputs {
                for input in 0..3 {
                    for lane in [Vl(0), Vl(1)] {
                        let queue = layout.queue(input, lane, output);
                        assert!(!std::mem::replace(&mut seen[queue], true));
                    }
                }
            }
            assert!(seen.iter().all(|&seen| seen));
        }
        let fifo = Layout::new(Queueing::Fifo, 3, 2);
        assert_eq!(fifo.queue(1, Vl(1), 0), fifo.queue(1, Vl(1), 2), "one queue whatever the output");
    }

    #[test]
    fn lanes_are_served_in_turn() {
        let turn = |last_lane| Turn { last_lane, missed: 0 };
        assert_eq!([0, 1, 2, 3, 15].map(|last| turn(last).first_lane(0b1011).0), [1, 3, 3, 0, 0]);
    }
}
