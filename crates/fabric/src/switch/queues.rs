//! Queues of packets in a switch, and requests for their outputs.

use fabricsim_spec::Queueing;
use fabricsim_units::Vl;

use super::Switch;
use crate::bits::Bits;
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

    #[inline]
    pub(super) fn request(self, output: usize, input: usize) -> usize {
        output * self.ports + input
    }

    #[inline(always)]
    pub(super) fn position(self, input: usize, lane: Vl, output: usize) -> QueuePosition {
        let (queue, request) = (self.queue(input, lane, output), self.request(output, input));
        QueuePosition { input, lane, output, queue, request }
    }

    /// [`Layout::position`], with virtual output queues if the features are plain.
    #[inline(always)]
    pub(super) fn position_as<F: Features>(self, input: usize, lane: Vl, output: usize) -> QueuePosition {
        self.position_of::<F>(self.request(output, input), (input, lane, output))
    }

    /// The same for a request whose number is known.
    #[inline(always)]
    pub(super) fn position_of<F: Features>(
        self,
        request: usize,
        (input, lane, output): (usize, Vl, usize),
    ) -> QueuePosition {
        let queue =
            if F::PLAIN { request * self.lanes + lane.index() } else { self.queue(input, lane, output) };
        debug_assert_eq!(queue, self.queue(input, lane, output));
        QueuePosition { input, lane, output, queue, request }
    }

    /// Input and lane of a queue.
    fn buffer_of(self, queue: usize) -> (usize, Vl) {
        (queue / self.lanes % self.ports, Vl((queue % self.lanes) as u8))
    }
}

/// Input, lane and output of a waiting packet, with the numbers of its queue and request.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePosition {
    pub(super) input: usize,
    pub(super) lane: Vl,
    pub(super) output: usize,
    pub(super) queue: usize,
    pub(super) request: usize,
}

/// No input port.
pub(super) const NO_INPUT: u16 = u16::MAX;

/// An output port.
#[derive(Clone, Debug)]
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
            sole: NONE,
            sole_input: 0,
        }
    }
}

/// Request of an input to an output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    /// Lanes, a bit for each, with a packet for the output at the head of a queue.
    pub(super) lanes: u16,
    /// Lane last served.
    pub(super) last_lane: u8,
    /// Turns missed since it was served last, because the input port was being read.
    pub(super) missed: u8,
    /// Lanes, a bit for each, with a packet at the head of a queue that is owed a turn.
    pub(super) owed: u16,
    /// Lanes, a bit for each, whose queues are short ([`super::owed`]).
    pub(super) short: u16,
}

impl Request {
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
        let QueuePosition { lane, output, queue, input, request } = position;
        let first = self.queues[queue].push(&mut context.arena, packet);
        if first {
            self.outputs[output].inputs.set_as::<F>(input);
            self.requests[request].lanes |= 1 << lane.0;
            if F::OPTIONAL && self.lifetimes.is_some() {
                self.begin_lifetime(context, (queue, output), packet);
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
        let position = self.layout.position_as::<F>(input, lane, output);
        self.enqueue::<F, R, B, O>(context, position, packet);
    }

    /// Sets the request of the head of a queue for an output.
    #[inline(always)]
    pub(super) fn set_request<F: Features>(&mut self, output: usize, input: usize, lane: Vl) {
        self.outputs[output].inputs.set_as::<F>(input);
        self.requests[self.layout.request(output, input)].lanes |= 1 << lane.0;
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
        self.queues[position.queue].advance(next);
        // The packet behind it asks for the same output only if the queue is that output's.
        if next == NONE || !F::PLAIN && self.layout.queueing == Queueing::Fifo {
            let request = &mut self.requests[position.request];
            request.lanes &= !(1 << position.lane.0);
            if request.lanes == 0 {
                self.outputs[position.output].inputs.clear_as::<F>(position.input);
            }
        }
    }

    /// The packets at the heads of queues, of staging buffers first, with input port and lane.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Vl, u32)> {
        // With queues for each output those of an output for which nothing waits are passed over.
        let of_output = match self.layout.queueing {
            Queueing::Fifo => self.queues.len(),
            Queueing::Voq | Queueing::Cioq => self.queues.len() / self.outputs.len().max(1),
        };
        let outputs = self.queues.chunks(of_output.max(1)).enumerate().filter(|(output, queues)| {
            let waits = self.layout.queueing == Queueing::Fifo || self.outputs[*output].queued > 0;
            debug_assert!(waits || queues.iter().all(|queue| queue.head().is_none()));
            waits
        });
        let queued = outputs.flat_map(move |(output, queues)| {
            queues.iter().enumerate().filter_map(move |(i, queue)| {
                let (input, lane) = self.layout.buffer_of(output * of_output + i);
                queue.head().map(|packet| (input, lane, packet))
            })
        });
        queued.chain(self.buffered())
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
                        assert_eq!(layout.buffer_of(queue), (input, lane));
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
        let request = |last_lane| Request { lanes: 0b1011, last_lane, ..Request::default() };
        assert_eq!([0, 1, 2, 3, 15].map(|last| request(last).first_lane(0b1011).0), [1, 3, 3, 0, 0]);
    }
}
