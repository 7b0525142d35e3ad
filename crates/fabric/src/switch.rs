//! An input-queued switch. What happens at one moment happens in two steps: first every arrival, credit and wake-up
//! of that moment is noted, then [`Switch::settle`] lets the outputs choose. So no result depends on the order in
//! which things of the same moment are told.

use fabricsim_model::{Hop, Observer, Random};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::{Arbiter, Queueing, Switching};
use fabricsim_units::{SwitchId, Time, Vl};

use crate::arbiter::{Candidate, Choice};
use crate::port::{return_space, send};
use crate::queue::Queue;
use crate::{Context, Outbox, Rules};

/// A switch: its queues, and who of them asks for which output.
#[derive(Clone, Debug)]
pub struct Switch {
    id: SwitchId,
    first_port: u32,
    ports: usize,
    lanes: usize,
    layout: Layout,
    queues: Vec<Queue>,
    requests: Requests,
    /// Blocks that wait for each output.
    queued: Vec<u32>,
    /// Input last served, by output.
    last_input: Vec<u16>,
    /// Lane last served, by (output, input).
    last_lane: Vec<u8>,
    /// Outputs that have to choose.
    dirty: BitSet,
    /// The output that chooses first, when several do at one moment.
    turn: usize,
    /// Where the search for the best of several hops begins.
    hop_turn: usize,
    random: Vec<Random>,
}

/// How the queues are laid out: by (input, lane), and with virtual output queues by output within it.
#[derive(Clone, Copy, Debug)]
struct Layout {
    queueing: Queueing,
    ports: usize,
    lanes: usize,
}

impl Layout {
    #[inline]
    fn queue(self, input: usize, lane: Vl, output: usize) -> usize {
        let buffer = input * self.lanes + lane.index();
        match self.queueing {
            Queueing::Fifo => buffer,
            Queueing::Voq => buffer * self.ports + output,
        }
    }
}

#[derive(Clone, Debug)]
struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    fn new(bits: usize) -> Self {
        Self { words: vec![0; bits.div_ceil(64)] }
    }

    #[inline]
    fn set(&mut self, bit: usize) {
        self.words[bit / 64] |= 1 << (bit % 64);
    }

    #[inline]
    fn clear(&mut self, bit: usize) {
        self.words[bit / 64] &= !(1 << (bit % 64));
    }
}

/// The first set bit at or after `from`.
#[inline]
fn first_from(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = *words.get(word)? & (!0 << (from % 64));
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// Which inputs, on which lanes, have a packet at a queue's head for which output.
#[derive(Clone, Debug)]
struct Requests {
    ports: usize,
    words: usize,
    inputs: Vec<u64>,
    lanes: Vec<u16>,
}

impl Requests {
    fn new(ports: usize) -> Self {
        let words = ports.div_ceil(64);
        Self { ports, words, inputs: vec![0; ports * words], lanes: vec![0; ports * ports] }
    }

    #[inline]
    fn inputs(&self, output: usize) -> &[u64] {
        &self.inputs[output * self.words..(output + 1) * self.words]
    }

    #[inline]
    fn any(&self, output: usize) -> bool {
        self.inputs(output).iter().any(|&word| word != 0)
    }

    #[inline]
    fn add(&mut self, output: usize, input: usize, lane: Vl) {
        self.inputs[output * self.words + input / 64] |= 1 << (input % 64);
        self.lanes[output * self.ports + input] |= 1 << lane.0;
    }

    #[inline]
    fn remove(&mut self, output: usize, input: usize, lane: Vl) {
        let lanes = &mut self.lanes[output * self.ports + input];
        *lanes &= !(1 << lane.0);
        if *lanes == 0 {
            self.inputs[output * self.words + input / 64] &= !(1 << (input % 64));
        }
    }
}

/// What an output found when it looked at its candidates.
struct Look {
    chosen: Option<Candidate>,
    /// When to look again, if nothing could be chosen.
    retry: Time,
    /// A lane for which a packet lacks credits and nothing else.
    starved: Option<Vl>,
}

impl Switch {
    /// A switch with `ports` ports, numbered from `first_port` in its partition.
    pub fn new(id: SwitchId, first_port: u32, ports: usize, lanes: usize, rules: &Rules) -> Self {
        let queues = match rules.queueing {
            Queueing::Fifo => ports * lanes,
            Queueing::Voq => ports * lanes * ports,
        };
        Self {
            id,
            first_port,
            ports,
            lanes,
            layout: Layout { queueing: rules.queueing, ports, lanes },
            queues: vec![Queue::EMPTY; queues],
            requests: Requests::new(ports),
            queued: vec![0; ports],
            last_input: vec![0; ports],
            last_lane: vec![0; ports * ports],
            dirty: BitSet::new(ports),
            turn: 0,
            hop_turn: 0,
            random: Vec::new(),
        }
    }

    /// Gives each output a random stream of its own (for the arbiter that draws); `channel` numbers an output's link.
    pub fn with_random(mut self, rules: &Rules, channel: impl Fn(usize) -> u32) -> Self {
        if rules.arbiter == Arbiter::Random {
            self.random = (0..self.ports).map(|output| rules.stream(channel(output))).collect();
        }
        self
    }

    /// Which switch this is.
    pub fn id(&self) -> SwitchId {
        self.id
    }

    /// A packet may be sent on from the input buffer of `port` from now on.
    #[inline]
    pub fn arrive<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        port: u32,
        packet: u32,
    ) {
        let input = (port - self.first_port) as usize;
        let lane = context.arena[packet].lane;
        match self.layout.queueing {
            Queueing::Fifo => {
                let queue = self.layout.queue(input, lane, 0);
                if self.queues[queue].push(&mut context.arena, packet) {
                    self.expose(context, input, lane, packet);
                }
            }
            Queueing::Voq => {
                let output = self.route(context, input, lane, packet);
                let queue = self.layout.queue(input, lane, output);
                if self.queues[queue].push(&mut context.arena, packet) {
                    self.request(context, output, input, lane);
                }
            }
        }
    }

    /// The sender of `port` is to be looked at again.
    #[inline]
    pub fn woken(&mut self, port: u32) {
        self.dirty.set((port - self.first_port) as usize);
    }

    /// The packet has come to the head of its queue.
    fn expose<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        input: usize,
        lane: Vl,
        packet: u32,
    ) {
        let output = self.route(context, input, lane, packet);
        self.request(context, output, input, lane);
    }

    #[inline]
    fn request<R, B, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        input: usize,
        lane: Vl,
    ) {
        self.requests.add(output, input, lane);
        let port = self.first_port + output as u32;
        let busy_until = context.ports.senders[port as usize].busy_until;
        if busy_until > context.now {
            context.ports.ensure_wake(port, busy_until, &mut context.out);
        } else {
            self.dirty.set(output);
        }
    }

    /// Finds where the packet goes, and from when on it may; returns the output.
    #[inline]
    fn route<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        input: usize,
        lane: Vl,
        packet: u32,
    ) -> usize {
        context.hops.clear();
        let to = context.arena[packet].destination();
        let in_port = fabricsim_units::PortNo(input as u16);
        context.routing.hops(self.id, in_port, lane, to, &mut context.hops);
        let hop = if context.hops.len() == 1 { context.hops[0] } else { self.least_loaded(context) };
        let output = hop.port.index();
        let slot = &mut context.arena[packet];
        slot.hop = hop;
        slot.ready = context.now;
        let link_in = context.ports.receivers[self.first_port as usize + input].byte_time;
        let link_out = context.ports.senders[self.first_port as usize + output].byte_time;
        if link_in > link_out && context.rules.switching == Switching::CutThrough {
            let bytes = slot.packet.bytes;
            slot.ready += link_in.duration(bytes) - link_out.duration(bytes);
        }
        self.queued[output] += slot.blocks;
        output
    }

    /// Of the proposed hops the one with the fewest blocks ahead: waiting here, and used downstream. Ties in turn.
    fn least_loaded<R, B, O: Outbox>(&mut self, context: &mut Context<R, B, O>) -> Hop {
        self.hop_turn += 1;
        let count = context.hops.len();
        let mut best = (u32::MAX, context.hops[0]);
        for i in 0..count {
            let hop = context.hops[(self.hop_turn + i) % count];
            let port = self.first_port as usize + hop.port.index();
            let base = port * context.ports.lane_count;
            let used = hop.lanes.iter().map(|lane| {
                let credits = &mut context.ports.lanes[base + lane.index()];
                context.ports.ramps.collect(credits, context.now);
                credits.capacity - credits.free
            });
            let load = self.queued[hop.port.index()] + used.min().unwrap_or(0);
            if load < best.0 {
                best = (load, hop);
            }
        }
        best.1
    }

    /// Lets every output that has to choose do so.
    #[inline]
    pub fn settle<R: RoutingFunction, B: Observer, O: Outbox>(&mut self, context: &mut Context<R, B, O>) {
        while let Some(output) =
            first_from(&self.dirty.words, self.turn).or_else(|| first_from(&self.dirty.words, 0))
        {
            self.dirty.clear(output);
            self.arbitrate(context, output);
        }
    }

    fn arbitrate<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
    ) {
        if !self.requests.any(output) {
            return;
        }
        let port = self.first_port + output as u32;
        let busy_until = context.ports.senders[port as usize].busy_until;
        if busy_until > context.now {
            context.ports.ensure_wake(port, busy_until, &mut context.out);
            return;
        }
        context.ports.forget_wants(port);
        let look = self.look(context, output);
        if let Some(candidate) = look.chosen {
            self.grant(context, output, candidate);
            return;
        }
        let sender = &mut context.ports.senders[port as usize];
        if let (Some(lane), Time::MAX) = (look.starved, sender.stalled_since) {
            sender.stalled_since = context.now;
            sender.stalled_lane = lane;
        }
        if look.retry < Time::MAX {
            context.ports.ensure_wake(port, look.retry, &mut context.out);
        }
    }

    /// Offers the arbiter what can be sent to `output` now, beginning after the input and lane served last.
    #[inline]
    fn look<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
    ) -> Look {
        let port = self.first_port + output as u32;
        let mut retry = Time::MAX;
        let mut starved = None;
        let mut choice = Choice::new(context.rules.arbiter, self.random.get_mut(output));
        let last = usize::from(self.last_input[output]);
        let inputs = &self.requests.inputs[output * self.requests.words..(output + 1) * self.requests.words];
        let mut from = last + 1;
        let mut wrapped = false;
        'offers: loop {
            let input = match first_from(inputs, from) {
                Some(input) if !wrapped || input <= last => input,
                None if !wrapped => {
                    wrapped = true;
                    from = 0;
                    continue;
                }
                _ => break,
            };
            from = input + 1;
            let readable = context.ports.receivers[self.first_port as usize + input].readable_at;
            if readable > context.now {
                retry = retry.min(readable);
                continue;
            }
            let cell = output * self.ports + input;
            let mut lanes = self.requests.lanes[cell];
            let after = u16::MAX.checked_shl(u32::from(self.last_lane[cell]) + 1).unwrap_or(0);
            while lanes != 0 {
                let next = if lanes & after != 0 { lanes & after } else { lanes };
                let lane = Vl(next.trailing_zeros() as u8);
                lanes &= !(1 << lane.0);
                let queue = self.layout.queue(input, lane, output);
                let Some(packet) = self.queues[queue].head() else { continue };
                let slot = &context.arena[packet];
                if slot.ready > context.now {
                    retry = retry.min(slot.ready);
                    continue;
                }
                let (allowed, blocks, injected) = (slot.hop.lanes, slot.blocks, slot.packet.injected);
                let flow = slot.packet.source.0.wrapping_mul(31).wrapping_add(slot.packet.destination.0);
                match context.ports.choose_lane(port, allowed, blocks, context.now, flow) {
                    Ok(out_lane) => {
                        if choice.offer(Candidate { input: input as u16, lane, packet, injected, out_lane }) {
                            break 'offers;
                        }
                    }
                    Err(at) => {
                        retry = retry.min(at);
                        starved.get_or_insert(allowed.first);
                    }
                }
            }
        }
        Look { chosen: choice.made(), retry, starved }
    }

    fn grant<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        candidate: Candidate,
    ) {
        let Candidate { lane, packet, out_lane, .. } = candidate;
        let input = usize::from(candidate.input);
        let port = self.first_port + output as u32;
        let slot = &mut context.arena[packet];
        slot.packet.hops += 1;
        let size = (slot.packet.bytes, slot.blocks);
        self.queued[output] -= size.1;
        let queue = self.layout.queue(input, lane, output);
        let next = self.queues[queue].pop(&context.arena);
        match (self.layout.queueing, next) {
            (Queueing::Voq, Some(_)) => {}
            (_, None) => self.requests.remove(output, input, lane),
            (Queueing::Fifo, Some(next)) => {
                self.requests.remove(output, input, lane);
                self.expose(context, input, lane, next);
            }
        }
        let in_port = self.first_port + input as u32;
        let byte_time = context.ports.senders[port as usize].byte_time;
        return_space(context, in_port, lane, byte_time, size);
        let end = send(context, port, packet, out_lane);
        context.ports.receivers[in_port as usize].occupy(end);
        self.last_input[output] = candidate.input;
        self.last_lane[output * self.ports + input] = lane.0;
        self.turn = if output + 1 == self.ports { 0 } else { output + 1 };
        if self.requests.any(output) {
            let busy_until = context.ports.senders[port as usize].busy_until;
            context.ports.ensure_wake(port, busy_until, &mut context.out);
        }
    }

    /// The packets at the heads of queues, with input port and lane.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Vl, u32)> {
        let per_buffer = match self.layout.queueing {
            Queueing::Fifo => 1,
            Queueing::Voq => self.ports,
        };
        self.queues.iter().enumerate().filter_map(move |(i, queue)| {
            let buffer = i / per_buffer;
            queue.head().map(|packet| (buffer / self.lanes, Vl((buffer % self.lanes) as u8), packet))
        })
    }

    /// Number of its first port in the partition.
    pub fn first_port(&self) -> u32 {
        self.first_port
    }
}
