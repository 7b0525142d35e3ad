//! An input-queued switch. What happens at one moment happens in two steps: first every arrival, credit and wake-up
//! of that moment is noted, then [`Switch::settle`] lets the outputs choose. So no result depends on the order in
//! which things of the same moment are told.

use fabricsim_model::{Hop, Observer, Random};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::{Arbiter, Queueing, Switching};
use fabricsim_units::{PortNo, SwitchId, Time, Vl};

use crate::arbiter::{Candidate, Choice};
use crate::bits::Bits;
use crate::port::{return_space, send};
use crate::queue::Queue;
use crate::separable::Separable;
use crate::{Context, NONE, Outbox, Rules, Table};

mod round;

/// A switch: its queues, and who of them asks for which output.
#[derive(Clone, Debug)]
pub struct Switch {
    id: SwitchId,
    first_port: u32,
    layout: Layout,
    queues: Table<Queue>,
    outputs: Table<Output>,
    /// By (output, input).
    requests: Table<Request>,
    /// Outputs that have to choose.
    dirty: Bits,
    /// The output that chose last: the next one after it goes first, when several choose at one moment.
    last_output: usize,
    /// Where the search for the best of several hops begins.
    hop_turn: usize,
    /// Arrivals of the present moment whose hops are to be chosen: input and packet.
    undecided: Vec<(usize, u32)>,
    random: Vec<Random>,
    /// The allocators, if it allocates in rounds; and the heads that they match, between uses.
    rounds: Option<Box<Separable>>,
    matched: Vec<usize>,
    /// May a packet come in on a slower link than it leaves by? Then it may have to wait for its bytes.
    mixed_rates: bool,
    /// The last moment at which something happened to the switch.
    touched: u64,
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

    #[inline]
    fn request(self, output: usize, input: usize) -> usize {
        output * self.ports + input
    }
}

/// An output port.
#[derive(Clone, Debug)]
struct Output {
    /// Inputs with a request.
    inputs: Bits,
    /// Input last served.
    last_input: u16,
    /// Blocks that wait for it.
    queued: u32,
    /// A packet that came for the idle output at this moment, the only one so far: it need not be queued unless it
    /// can not be sent at once. [`NONE`] at the end of every moment.
    sole: u32,
    /// The input that it came by.
    sole_input: u16,
}

impl Output {
    fn new(ports: usize) -> Self {
        Self { inputs: Bits::new(ports), last_input: 0, queued: 0, sole: NONE, sole_input: 0 }
    }
}

/// What an input asks of an output.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// Lanes, a bit for each, with a packet for the output at the head of a queue.
    lanes: u16,
    /// Lane last served.
    last_lane: u8,
}

impl Request {
    /// The lane to look at first: the next one after the one served last.
    #[inline]
    fn first_lane(self, lanes: u16) -> Vl {
        let after = lanes & (0xfffe_u16.wrapping_shl(u32::from(self.last_lane)));
        Vl(if after != 0 { after } else { lanes }.trailing_zeros() as u8)
    }
}

/// Why an output found nothing to send.
struct Delay {
    /// When to look again.
    retry: Time,
    /// A lane for which a packet lacks credits and nothing else.
    starved: Option<Vl>,
}

impl Delay {
    /// Lets the output's sender know.
    #[inline(never)]
    fn note<R, B, O: Outbox>(self, context: &mut Context<R, B, O>, port: u32) {
        let sender = &mut context.ports.senders[port as usize];
        if let Some(lane) = self.starved {
            sender.stall(context.now, lane);
        }
        if self.retry < Time::MAX {
            sender.wake(port, self.retry, &mut context.out);
        }
    }
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
            layout: Layout { queueing: rules.queueing, ports, lanes },
            queues: Table::new(vec![Queue::EMPTY; queues]),
            outputs: Table::new(vec![Output::new(ports); ports]),
            requests: Table::new(vec![Request::default(); ports * ports]),
            dirty: Bits::new(ports),
            last_output: 0,
            hop_turn: 0,
            undecided: Vec::new(),
            random: Vec::new(),
            rounds: None,
            matched: Vec::new(),
            mixed_rates: false,
            touched: u64::MAX,
        }
    }

    /// Says that the switch's links have different rates.
    pub fn with_mixed_rates(mut self, mixed: bool) -> Self {
        self.mixed_rates = mixed;
        self
    }

    /// Gives each output a random stream of its own (for the arbiter that draws); `channel` numbers an output's link.
    pub fn with_random(mut self, rules: &Rules, channel: impl Fn(usize) -> u32) -> Self {
        if rules.arbiter == Arbiter::Random {
            self.random = (0..self.layout.ports).map(|output| rules.stream(channel(output))).collect();
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
        context.arena[packet].ready = context.now;
        if context.routing.is_adaptive() {
            self.undecided.push((input, packet));
        } else {
            self.admit(context, input, packet);
        }
    }

    /// Admits the arrivals of this moment by input, in whatever order they were told: the hop that is chosen for one
    /// adds to the load that the next one sees.
    #[cold]
    fn decide<R: RoutingFunction, B: Observer, O: Outbox>(&mut self, context: &mut Context<R, B, O>) {
        let mut undecided = std::mem::take(&mut self.undecided);
        undecided.sort_unstable_by_key(|&(input, _)| input);
        undecided.drain(..).for_each(|(input, packet)| self.admit(context, input, packet));
        self.undecided = undecided;
    }

    #[inline(always)]
    fn admit<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        input: usize,
        packet: u32,
    ) {
        let lane = context.arena[packet].lane;
        if self.layout.queueing == Queueing::Fifo {
            let queue = &mut self.queues[self.layout.queue(input, lane, 0)];
            if queue.head().is_some() {
                queue.push(&mut context.arena, packet);
                return;
            }
        }
        let output = self.route(context, input, lane, packet);
        let sender = &context.ports.senders[self.first_port as usize + output];
        let state = &mut self.outputs[output];
        if state.inputs.is_empty() && state.sole == NONE && sender.busy_until <= context.now {
            state.sole = packet;
            state.sole_input = input as u16;
            self.dirty.set(output);
            return;
        }
        if state.sole != NONE {
            self.enqueue_sole(context, output);
        }
        self.enqueue(context, output, input, lane, packet);
    }

    /// Puts a packet into its queue, and asks for its output if it is the first there.
    #[inline]
    fn enqueue<R, B, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        input: usize,
        lane: Vl,
        packet: u32,
    ) {
        if self.queues[self.layout.queue(input, lane, output)].push(&mut context.arena, packet) {
            self.request(context, output, input, lane);
        }
    }

    /// The only packet of the moment becomes one of several, or can not be sent at once.
    #[inline(never)]
    fn enqueue_sole<R, B, O: Outbox>(&mut self, context: &mut Context<R, B, O>, output: usize) {
        let state = &mut self.outputs[output];
        let packet = std::mem::replace(&mut state.sole, NONE);
        let input = usize::from(state.sole_input);
        let lane = context.arena[packet].lane;
        self.enqueue(context, output, input, lane, packet);
    }

    /// Notes that something happens at `time`; true the first time at that moment.
    #[inline]
    pub fn touch(&mut self, time: u64) -> bool {
        std::mem::replace(&mut self.touched, time) != time
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
        self.outputs[output].inputs.set(input);
        self.requests[self.layout.request(output, input)].lanes |= 1 << lane.0;
        let port = self.first_port + output as u32;
        let sender = &mut context.ports.senders[port as usize];
        if sender.busy_until > context.now {
            sender.wake(port, sender.busy_until, &mut context.out);
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
        let to = context.arena[packet].destination();
        let in_port = PortNo(input as u16);
        let Some(hop) = context.routing.only_hop(self.id, in_port, lane, to) else {
            let hop = self.best_hop(context, in_port, lane, packet);
            return self.direct(context, input, packet, hop);
        };
        self.direct(context, input, packet, hop)
    }

    /// Notes where the packet goes, and from when on it may.
    #[inline(always)]
    fn direct<R, B, O>(
        &mut self,
        context: &mut Context<R, B, O>,
        input: usize,
        packet: u32,
        hop: Hop,
    ) -> usize {
        let output = hop.port.index();
        let slot = &mut context.arena[packet];
        slot.hop = hop;
        self.outputs[output].queued += slot.blocks;
        if self.mixed_rates && context.rules.switching == Switching::CutThrough {
            let first = self.first_port as usize;
            let link_in = context.ports.receivers[first + input].byte_time;
            let link_out = context.ports.senders[first + output].byte_time;
            if link_in > link_out {
                let bytes = slot.packet.bytes;
                slot.ready += link_in.duration(bytes) - link_out.duration(bytes);
            }
        }
        output
    }

    /// Of the hops that the routing proposes any, or the one with the fewest blocks ahead: waiting here, and used
    /// downstream; ties in turn.
    #[inline(never)]
    fn best_hop<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut Context<R, B, O>,
        in_port: PortNo,
        lane: Vl,
        packet: u32,
    ) -> Hop {
        context.hops.clear();
        let packet = context.arena[packet].packet;
        context.routing.hops(self.id, in_port, lane, packet.destination, &mut context.hops);
        if let [only] = context.hops.as_slice() {
            return *only;
        }
        if context.routing.is_random() {
            let place = context.rules.stream_at(self.id, &packet).below(context.hops.len() as u64);
            return context.hops[place as usize];
        }
        self.least_loaded(context)
    }

    fn least_loaded<R, B, O>(&mut self, context: &mut Context<R, B, O>) -> Hop {
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
            let load = self.outputs[hop.port.index()].queued + used.min().unwrap_or(0);
            if load < best.0 {
                best = (load, hop);
            }
        }
        best.1
    }

    /// Lets every output that has to choose do so.
    #[inline]
    pub fn settle<R: RoutingFunction, B: Observer, O: Outbox>(&mut self, context: &mut Context<R, B, O>) {
        if !self.undecided.is_empty() {
            self.decide(context);
        }
        if self.rounds.is_some() {
            return self.settle_in_rounds(context);
        }
        while let Some(output) = self.dirty.first_after(self.last_output) {
            self.dirty.clear(output);
            self.arbitrate(context, output);
        }
    }

    #[inline]
    fn arbitrate<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
    ) {
        let state = &self.outputs[output];
        match (state.sole != NONE, state.inputs.is_empty()) {
            (true, true) => return self.send_sole(context, output),
            // Another packet has come to the head of its queue since.
            (true, false) => self.enqueue_sole(context, output),
            (false, true) => return,
            (false, false) => {}
        }
        let port = self.first_port + output as u32;
        let sender = &mut context.ports.senders[port as usize];
        if sender.busy_until > context.now {
            sender.wake(port, sender.busy_until, &mut context.out);
            return;
        }
        if sender.starving {
            context.ports.forget_wants(port);
        }
        let mut delay = Delay { retry: Time::MAX, starved: None };
        let chosen = match self.outputs[output].inputs.only() {
            Some(input) if context.rules.arbiter != Arbiter::Random => {
                self.look_at_one(context, output, input, &mut delay)
            }
            _ => self.look(context, output, &mut delay),
        };
        match chosen {
            Some(candidate) => self.grant(context, output, candidate),
            None => delay.note(context, port),
        }
    }

    /// Sends the only packet of the moment; if that is not possible, queues it, and looks why.
    #[inline]
    fn send_sole<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
    ) {
        let state = &mut self.outputs[output];
        let (packet, input) = (state.sole, state.sole_input);
        let in_port = self.first_port + u32::from(input);
        let port = self.first_port + output as u32;
        let slot = &mut context.arena[packet];
        let (allowed, blocks, bytes, lane) = (slot.hop.lanes, slot.blocks, slot.packet.bytes, slot.lane);
        if slot.ready > context.now || context.ports.receivers[in_port as usize].readable_at > context.now {
            return self.enqueue_sole(context, output);
        }
        let flow = slot.flow();
        let Ok(out_lane) = context.ports.choose_lane(port, allowed, blocks, context.now, flow) else {
            return self.enqueue_sole(context, output);
        };
        slot.packet.hops += 1;
        state.sole = NONE;
        state.queued -= blocks;
        state.last_input = input;
        self.last_output = output;
        self.requests[self.layout.request(output, usize::from(input))].last_lane = lane.0;
        let byte_time = context.ports.senders[port as usize].byte_time;
        return_space(context, in_port, lane, byte_time, (bytes, blocks));
        let end = send(context, port, packet, out_lane);
        context.ports.receivers[in_port as usize].occupy(end);
    }

    /// The common case of [`Switch::look`]: one input asks, for one lane.
    #[inline]
    fn look_at_one<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        input: usize,
        delay: &mut Delay,
    ) -> Option<Candidate> {
        let request = self.requests[self.layout.request(output, input)];
        if !request.lanes.is_power_of_two() {
            return self.look(context, output, delay);
        }
        let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
        if readable_at > context.now {
            delay.retry = readable_at;
            return None;
        }
        let lane = Vl(request.lanes.trailing_zeros() as u8);
        let packet = self.queues[self.layout.queue(input, lane, output)].head()?;
        let (injected, out_lane) = examine(context, self.first_port + output as u32, packet, delay)?;
        Some(Candidate { input: input as u16, lane, packet, injected, out_lane })
    }

    /// Offers the arbiter what can be sent to `output` now, beginning after the input and lane served last.
    #[inline(never)]
    fn look<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        delay: &mut Delay,
    ) -> Option<Candidate> {
        let port = self.first_port + output as u32;
        let mut choice = Choice::new(context.rules.arbiter, self.random.get_mut(output));
        let Output { inputs, last_input, .. } = &self.outputs[output];
        let last = usize::from(*last_input);
        let mut at = inputs.first_after(last);
        while let Some(input) = at {
            let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
            if readable_at > context.now {
                delay.retry = delay.retry.min(readable_at);
            } else {
                let request = self.requests[self.layout.request(output, input)];
                let mut lanes = request.lanes;
                while lanes != 0 {
                    let lane = request.first_lane(lanes);
                    lanes &= !(1 << lane.0);
                    let queue = self.layout.queue(input, lane, output);
                    let Some(packet) = self.queues[queue].head() else { continue };
                    let Some((injected, out_lane)) = examine(context, port, packet, delay) else { continue };
                    if choice.offer(Candidate { input: input as u16, lane, packet, injected, out_lane }) {
                        return choice.made();
                    }
                }
            }
            at = inputs.first_after(input).filter(|&next| round_goes_on(last, input, next));
        }
        choice.made()
    }

    #[inline]
    fn grant<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        candidate: Candidate,
    ) {
        let Candidate { lane, packet, out_lane, .. } = candidate;
        let input = usize::from(candidate.input);
        let port = self.first_port + output as u32;
        let in_port = self.first_port + input as u32;
        let slot = &mut context.arena[packet];
        slot.packet.hops += 1;
        let (bytes, blocks, next) = (slot.packet.bytes, slot.blocks, slot.next);
        let state = &mut self.outputs[output];
        state.queued -= blocks;
        state.last_input = candidate.input;
        self.last_output = output;
        let request = &mut self.requests[self.layout.request(output, input)];
        request.last_lane = lane.0;
        self.queues[self.layout.queue(input, lane, output)].advance(next);
        if next == NONE || self.layout.queueing == Queueing::Fifo {
            request.lanes &= !(1 << lane.0);
            if request.lanes == 0 {
                state.inputs.clear(input);
            }
        }
        let byte_time = context.ports.senders[port as usize].byte_time;
        return_space(context, in_port, lane, byte_time, (bytes, blocks));
        let end = send(context, port, packet, out_lane);
        context.ports.receivers[in_port as usize].occupy(end);
        if next != NONE && self.layout.queueing == Queueing::Fifo {
            self.expose(context, input, lane, next);
        }
        if !self.outputs[output].inputs.is_empty() {
            let sender = &mut context.ports.senders[port as usize];
            sender.wake(port, sender.busy_until, &mut context.out);
        }
    }

    /// The packets at the heads of queues, with input port and lane.
    pub fn heads(&self) -> impl Iterator<Item = (usize, Vl, u32)> {
        let per_buffer = match self.layout.queueing {
            Queueing::Fifo => 1,
            Queueing::Voq => self.layout.ports,
        };
        self.queues.iter().enumerate().filter_map(move |(i, queue)| {
            let buffer = i / per_buffer;
            queue
                .head()
                .map(|packet| (buffer / self.layout.lanes, Vl((buffer % self.layout.lanes) as u8), packet))
        })
    }

    /// Number of its first port in the partition.
    pub fn first_port(&self) -> u32 {
        self.first_port
    }
}

/// Does `next` lie after `input` on the way round from `last`?
#[inline]
fn round_goes_on(last: usize, input: usize, next: usize) -> bool {
    if input > last { next > input || next <= last } else { next > input && next <= last }
}

/// Can the packet at a queue's head be sent by `port` now? If so, when it was injected, and on which lane it goes; if
/// not, `delay` learns when to look again.
#[inline]
fn examine<R, B, O>(
    context: &mut Context<R, B, O>,
    port: u32,
    packet: u32,
    delay: &mut Delay,
) -> Option<(Time, Vl)> {
    let slot = &context.arena[packet];
    if slot.ready > context.now {
        delay.retry = delay.retry.min(slot.ready);
        return None;
    }
    let (allowed, blocks, injected) = (slot.hop.lanes, slot.blocks, slot.packet.injected);
    let flow = slot.flow();
    match context.ports.choose_lane(port, allowed, blocks, context.now, flow) {
        Ok(lane) => Some((injected, lane)),
        Err(at) => {
            delay.retry = delay.retry.min(at);
            delay.starved.get_or_insert(allowed.first);
            None
        }
    }
}
