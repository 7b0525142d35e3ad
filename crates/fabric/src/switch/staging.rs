//! A switch that is input- and output-queued: the move of a packet from its input buffer into a staging buffer of its
//! output (Abts & Weisser, SC07, section 1.2). From there on it waits and is chosen as in a virtual output queue.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{ByteTime, Time, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::queue::Queue;
use crate::{AllFeatures, Features, NONE, Outbox, PartitionContext, ReadPorts, Table};

/// Properties common to all staging buffers of a switch.
#[derive(Clone, Copy, Debug)]
pub struct StagingRules {
    /// Blocks of each.
    pub capacity: u32,
    /// Time of a byte on the crossbar; `None`: that of the input's link.
    pub byte_time: Option<ByteTime>,
    /// Time from the input buffer to the output's view, for a packet that has waited in the input buffer.
    pub delay: Time,
}

/// The input buffers of a switch, and the space in its staging buffers.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(super) struct Staging {
    #[state(fixed)]
    rules: StagingRules,
    inputs: Table<Input>,
    /// By input and lane.
    buffers: Table<Buffer>,
    /// Blocks of packets that have not begun to leave, by queue.
    held: Table<u32>,
    /// Packet that each output sends.
    leaving: Table<Leaving>,
}

/// An input port.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Input {
    /// Time at which a packet can next be read from its buffers.
    readable_at: Time,
    reads: ReadPorts,
    /// The earliest look at it that is scheduled; [`Time::MAX`] if none is.
    look_at: Time,
    /// Lanes, a bit for each, with packets in the input buffer.
    waiting: u16,
    /// Lane last served.
    last_lane: u8,
}

/// An input buffer.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Buffer {
    queue: Queue,
    /// Time since which its head lacks space in the staging buffer and nothing else; [`Time::MAX`] if it does not.
    blocked_since: Time,
}

/// A packet that leaves a staging buffer.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Leaving {
    queue: usize,
    start: Time,
    end: Time,
    byte_time: ByteTime,
    bytes: u32,
    blocks: u32,
}

/// Availability of space in a staging buffer.
enum Space {
    Now,
    At(Time),
    /// Not before the next packet leaves it.
    Unknown,
}

impl Staging {
    fn new(rules: StagingRules, reads: impl Iterator<Item = ReadPorts>, lanes: usize, queues: usize) -> Self {
        let input =
            |reads| Input { readable_at: Time::ZERO, reads, look_at: Time::MAX, waiting: 0, last_lane: 0 };
        let inputs: Vec<Input> = reads.map(input).collect();
        let ports = inputs.len();
        let nothing = Leaving {
            queue: usize::MAX,
            start: Time::ZERO,
            end: Time::ZERO,
            byte_time: ByteTime::default(),
            bytes: 0,
            blocks: 0,
        };
        let empty = Buffer { queue: Queue::EMPTY, blocked_since: Time::MAX };
        Self {
            rules,
            inputs: Table::new(inputs),
            buffers: Table::new(vec![empty; ports * lanes]),
            held: Table::new(vec![0; queues]),
            leaving: Table::new(vec![nothing; ports]),
        }
    }

    /// Returns whether there is space for `blocks` in the staging buffer `queue` of `output`, or when there will be.
    #[inline(always)]
    fn space(&self, (queue, output): (usize, usize), blocks: u32, unit: u32, now: Time) -> Space {
        let free = self.rules.capacity - self.held[queue];
        let leaving = &self.leaving[output];
        if leaving.queue != queue || leaving.end <= now {
            return if free >= blocks { Space::Now } else { Space::Unknown };
        }
        // Of the packet that leaves, this many blocks must have left.
        let needed = (blocks + leaving.blocks).saturating_sub(free);
        if needed > leaving.blocks {
            return Space::Unknown;
        }
        let at = leaving.start + leaving.byte_time.duration((needed * unit).min(leaving.bytes));
        if at <= now { Space::Now } else { Space::At(at) }
    }
}

impl Switch {
    /// Configures an input- and output-queued switch; `reads` are the read ports of its input buffers, port by port.
    pub fn with_staging(mut self, rules: StagingRules, reads: impl Iterator<Item = ReadPorts>) -> Self {
        let staging = Staging::new(rules, reads, self.layout.lanes, self.layout.queues());
        self.staging = Some(Box::new(staging));
        self.has_optional_features = true;
        self
    }

    /// A packet has come in: it goes on into its staging buffer if it can at once, else it waits in the input buffer.
    #[inline(never)]
    pub(super) fn admit_staged<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        packet: u32,
    ) {
        let lane = context.arena[packet].lane;
        let buffer = input * self.layout.lanes + lane.index();
        let Some(staging) = &mut self.staging else { return };
        let waiting = staging.inputs[input].waiting;
        if waiting >> lane.0 & 1 != 0 {
            staging.buffers[buffer].queue.push(&mut context.arena, packet);
            return;
        }
        let output = self.route::<AllFeatures, R, B, O>(context, input, lane, packet);
        let position = self.position::<AllFeatures>(input, lane, output);
        let Some(staging) = &mut self.staging else { return };
        if waiting == 0 && staging.inputs[input].readable_at <= context.now {
            let blocks = context.arena[packet].blocks;
            let unit = context.ports.ramps.unit();
            if let Space::Now =
                staging.space((self.layout.queue(input, lane, output), output), blocks, unit, context.now)
            {
                return self.stage::<AllFeatures, R, B, O>(context, position, packet, false);
            }
        }
        staging.inputs[input].waiting |= 1 << lane.0;
        staging.buffers[buffer].queue.push(&mut context.arena, packet);
        self.moves.set(input);
    }

    /// Moves a packet from its input buffer into the staging buffer of its output, which has space for it.
    #[inline]
    fn stage<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
        waited: bool,
    ) {
        let QueuePosition { input, lane, output, .. } = position;
        let queue = self.layout.queue(input, lane, output);
        let Some(staging) = &mut self.staging else { return };
        let now = context.now;
        let in_port = self.first_port + input as u32;
        let slot = &mut context.arena[packet];
        let (bytes, blocks) = (slot.packet.bytes, slot.blocks);
        let link = context.ports.receivers[in_port as usize].byte_time;
        let crossbar = staging.rules.byte_time.unwrap_or(link);
        let here = if self.cut_through { slot.arrived + link.duration(bytes) } else { now };
        let read = now + crossbar.duration(bytes);
        let end = read.max(here);
        let byte_time = if read >= here {
            crossbar
        } else if waited {
            ByteTime::spread(end - now, bytes)
        } else {
            link
        };
        let delay = if waited { staging.rules.delay } else { Time::ZERO };
        // The output must not run dry.
        let leaves = context.ports.senders[self.first_port as usize + output].byte_time.duration(bytes);
        slot.ready = now.max(end.saturating_sub(leaves)) + delay;
        slot.port = NONE;
        staging.held[queue] += blocks;
        let state = &mut staging.inputs[input];
        state.reads.occupy(&mut state.readable_at, end);
        state.last_lane = lane.0;
        self.free_input(context, (in_port, lane), packet, (byte_time, Time::ZERO), (bytes, blocks));
        self.offer::<F, R, B, O>(context, position, packet);
    }

    /// The input buffer of `port`, or its output, must be checked again. True if the switch has to settle, and had not until now.
    #[inline]
    pub fn look(&mut self, port: u32, time: Time) -> bool {
        let input = (port - self.first_port) as usize;
        let settled = self.is_settled();
        self.look_for_deadline(input, time);
        if let Some(staging) = &mut self.staging {
            let state = &mut staging.inputs[input];
            if state.look_at == time {
                state.look_at = Time::MAX;
                self.moves.set(input);
            }
        }
        settled && !self.is_settled()
    }

    /// Moves what can be moved from the input buffers that are to be looked at, if there are any.
    #[inline(never)]
    pub(super) fn settle_moves<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        while let Some(input) = self.moves.first_after(self.layout.ports - 1) {
            self.moves.clear(input);
            while let Some((lane, packet)) = self.movable(context, input) {
                self.move_on(context, input, lane, packet);
            }
        }
    }

    /// The next head in turn of an input's buffers that can move now. If there is none: has the input checked again when
    /// one may be ready.
    fn movable<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
    ) -> Option<(Vl, u32)> {
        let staging = self.staging.as_mut()?;
        let state = &staging.inputs[input];
        if state.waiting == 0 {
            return None;
        }
        let mut retry = state.readable_at;
        if retry <= context.now {
            retry = Time::MAX;
            let mut lanes = state.waiting;
            let mut last = state.last_lane;
            while lanes != 0 {
                let after = lanes & 0xfffe_u16.wrapping_shl(u32::from(last));
                last = if after != 0 { after } else { lanes }.trailing_zeros() as u8;
                lanes &= !(1 << last);
                let lane = Vl(last);
                let buffer = input * self.layout.lanes + lane.index();
                let packet = staging.buffers[buffer].queue.first();
                let slot = &context.arena[packet];
                let output = slot.hop.port.index();
                let queue = self.layout.queue(input, lane, output);
                match staging.space((queue, output), slot.blocks, context.ports.ramps.unit(), context.now) {
                    Space::Now => return Some((lane, packet)),
                    Space::At(at) => retry = retry.min(at),
                    Space::Unknown => {}
                }
                let buffer = &mut staging.buffers[buffer];
                buffer.blocked_since = buffer.blocked_since.min(context.now);
            }
        }
        self.plan_look(context, input, retry);
        None
    }

    /// Moves the head of an input buffer on, and routes the one behind it.
    fn move_on<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        lane: Vl,
        packet: u32,
    ) {
        let Some(staging) = &mut self.staging else { return };
        let number = input * self.layout.lanes + lane.index();
        let next = context.arena[packet].next;
        let buffer = &mut staging.buffers[number];
        buffer.queue.advance(next);
        let since = std::mem::replace(&mut buffer.blocked_since, Time::MAX);
        if next == NONE {
            staging.inputs[input].waiting &= !(1 << lane.0);
        }
        if since < context.now {
            let port = self.first_port as usize + input;
            let channel = context.ports.receivers[port].channel;
            context.observer.blocked(channel, lane, since, context.now);
        }
        let output = context.arena[packet].hop.port.index();
        let position = self.position::<AllFeatures>(input, lane, output);
        self.stage::<AllFeatures, R, B, O>(context, position, packet, true);
        if next != NONE {
            self.route::<AllFeatures, R, B, O>(context, input, lane, next);
        }
    }

    /// Moves the head of some input buffer on, whether or not there is space. False if all are empty.
    pub(super) fn stage_any<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) -> bool {
        let head = self.buffered().next();
        if let Some((input, lane, packet)) = head {
            self.move_on(context, input, lane, packet);
        }
        head.is_some()
    }

    /// A packet begins to leave a staging buffer: the head of the input buffer behind it may follow. False without
    /// staging buffers.
    #[inline(never)]
    pub(super) fn unstage<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        (bytes, blocks): (u32, u32),
        byte_time: ByteTime,
    ) -> bool {
        let QueuePosition { input, lane, output, .. } = position;
        let queue = self.layout.queue(input, lane, output);
        let Some(staging) = &mut self.staging else { return false };
        let now = context.now;
        staging.held[queue] -= blocks;
        staging.leaving[output] =
            Leaving { queue, start: now, end: now + byte_time.duration(bytes), byte_time, bytes, blocks };
        if staging.inputs[input].waiting >> lane.0 & 1 == 0 {
            return true;
        }
        let head = staging.buffers[input * self.layout.lanes + lane.index()].queue.first();
        let slot = &context.arena[head];
        if slot.hop.port.index() == output
            && let Space::At(at) =
                staging.space((queue, output), slot.blocks, context.ports.ramps.unit(), now)
        {
            self.plan_look(context, input, at);
        }
        true
    }

    /// Schedules a check of an input's buffers at `at`, unless an earlier one is scheduled.
    #[inline]
    fn plan_look<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        at: Time,
    ) {
        let Some(staging) = &mut self.staging else { return };
        let state = &mut staging.inputs[input];
        if at < state.look_at {
            state.look_at = at;
            context.out.look(at, self.first_port + input as u32);
        }
    }

    /// The packets at the heads of input buffers from which they move on into staging buffers, with input port and lane.
    pub(super) fn buffered(&self) -> impl Iterator<Item = (usize, Vl, u32)> {
        let lanes = self.layout.lanes;
        let buffers = self.staging.iter().flat_map(|staging| staging.buffers.iter()).enumerate();
        buffers.filter_map(move |(i, buffer)| {
            buffer.queue.head().map(|packet| (i / lanes, Vl((i % lanes) as u8), packet))
        })
    }

    /// Returns the number of staging buffers, and the blocks of each; none if the switch is input-queued.
    pub fn staging_buffers(&self) -> (usize, u32) {
        let of = |staging: &Staging| (self.layout.queues(), staging.rules.capacity);
        self.staging.as_deref().map_or((0, 0), of)
    }

    /// Number of the staging buffer of an output for packets of an input port and lane, from 0.
    pub fn staging_buffer(&self, input: usize, lane: Vl, output: usize) -> usize {
        self.layout.queue(input, lane, output)
    }

    /// Reports to the observer what is still blocked at the end.
    pub fn finish<R, B: Observer, O>(&mut self, context: &mut PartitionContext<R, B, O>) {
        let Some(staging) = &mut self.staging else { return };
        let lanes = self.layout.lanes;
        for (i, buffer) in staging.buffers.iter_mut().enumerate() {
            if buffer.blocked_since < context.now {
                let channel = context.ports.receivers[self.first_port as usize + i / lanes].channel;
                let lane = Vl((i % lanes) as u8);
                context.observer.blocked(channel, lane, buffer.blocked_since, context.now);
                buffer.blocked_since = context.now;
            }
        }
    }
}
