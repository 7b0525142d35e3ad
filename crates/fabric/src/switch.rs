//! An input-queued switch. It handles the events of one time step in two phases: first it notes every arrival, credit and
//! wake-up of that time, then [`Switch::settle`] lets the outputs choose. So no result depends on the order in which
//! events of the same time are reported.

use fabricsim_model::{Observer, Random};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::{Arbiter, Queueing, Switching};
use fabricsim_units::{SwitchId, Time};

pub use self::lifetime::LifetimeRules;
pub use self::staging::StagingRules;

use self::aging::Aging;
use self::failures::Failures;
use self::head_delay::HeadDelay;
use self::lifetime::Lifetimes;
use self::queues::{Layout, Output};
use self::rows::QueueRows;
use self::short::ShortQueues;
use self::staging::Staging;
use crate::bits::Bits;
use crate::congestion::Detector;
use crate::separable::Separable;
use crate::{Features, Outbox, PartitionContext, Rules, Table};

mod admit;
mod aging;
mod ahead;
mod best;
mod choose;
mod failures;
mod forward;
mod head_delay;
mod hold;
mod lifetime;
mod local_load_view;
mod lookahead;
mod mark;
mod missed;
mod multicast;
mod owed;
mod port_order;
mod queues;
mod round;
mod rows;
mod short;
mod staging;
mod telemetry;
mod vl_arbitration;
mod waiting;

use telemetry::Telemetry;
use vl_arbitration::VlArbitration;

/// A switch: its queues and their requests for outputs.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Switch {
    #[state(fixed)]
    id: SwitchId,
    #[state(fixed)]
    first_port: u32,
    #[state(fixed)]
    layout: Layout,
    queues: QueueRows,
    outputs: Table<Output>,
    /// Outputs that have to choose.
    dirty: Bits,
    /// The output that chose last: the next one after it chooses first if several choose in one time step.
    last_output: usize,
    /// True if missed turns are counted: not with one lane, on which outputs contend for an input port only with virtual output
    /// queues, and not if outputs draw at random.
    counts_missed: bool,
    /// Number of overdue requests.
    overdue: u32,
    /// Outputs that wait for an input to be read, although they could send a packet of another one ([`Switch::reconsider_waiting`]).
    waiting: Vec<usize>,
    /// Queues that have been owed a turn.
    short: ShortQueues,
    /// True if outputs may stall ahead ([`Switch::wake_or_stall`]): one lane, virtual output queues served in turn, and no congestion detection.
    stalls_ahead: bool,
    /// Outputs, a bit each, whose stalls begin later.
    ahead: u64,
    /// True if of several outputs the one that has been idle, with the lowest port, chooses first ([`Switch::first_idle`]).
    in_port_order: bool,
    /// True if a feature adds work to arbitration: an order of ports, overdue requests, short queues, or a detector that needs the lanes without credits.
    has_arbitration_features: bool,
    /// Start of the search for the best of several hops.
    hop_turn: usize,
    /// Arrivals of the current time step whose hops are to be chosen: input and packet.
    undecided: Vec<(usize, u32)>,
    random: Vec<Random>,
    /// The allocators, if it allocates in rounds; and the heads that they match, between uses.
    #[state(each)]
    rounds: Option<Box<Separable>>,
    matched: Vec<usize>,
    /// Input buffers and staging buffers, if it is input- and output-queued; and the inputs to look at in this time step.
    #[state(each)]
    staging: Option<Box<Staging>>,
    moves: Bits,
    /// Aging of packets, if they age.
    #[state(each)]
    aging: Option<Box<Aging>>,
    /// The delay of packets that reach the head of their queue, if there is one.
    #[state(each)]
    head_delay: Option<Box<HeadDelay>>,
    /// Time from the choice of a packet's hop until it can be sent, with lookahead routing.
    #[state(fixed)]
    lookahead: Option<Time>,
    /// Counters for the telemetry that packets collect, if they do.
    #[state(each)]
    telemetry: Option<Box<Telemetry>>,
    /// Detects congestion and marks packets, with congestion control.
    #[state(each)]
    detector: Option<Box<Detector>>,
    /// Arbitration among virtual lanes by tables, if there are any.
    #[state(each)]
    vl_arbitration: Option<Box<VlArbitration>>,
    /// Outputs whose links have failed, if any have.
    failures: Option<Box<Failures>>,
    /// Lifetimes of packets, if they are limited.
    #[state(each)]
    lifetimes: Option<Box<Lifetimes>>,
    /// True if it replicates packets for multicast groups; and the copies of the packet being admitted.
    #[state(fixed)]
    replicates: bool,
    copies: Vec<u32>,
    /// Largest packet of each output, if packets may exceed it.
    #[state(fixed)]
    mtus: Option<Box<[u32]>>,
    /// True if the detector needs the lanes that wait for credits.
    #[state(fixed)]
    needs_credits: bool,
    /// True if there are several service classes.
    #[state(fixed)]
    has_classes: bool,
    /// True if a feature adds work for an arriving packet besides routing.
    has_arrival_features: bool,
    /// See [`Switch::has_optional_features`].
    has_optional_features: bool,
    /// True if the first packet in turn that can be sent always goes, and the ports fit in a word.
    #[state(fixed)]
    in_turn: bool,
    #[state(fixed)]
    cut_through: bool,
    /// True if outputs are held for packets that arrive over slower links.
    #[state(fixed)]
    holds_outputs: bool,
    /// True if a packet may come in on a slower link than it leaves by, and leave before its last byte is here. Then it may have
    /// to wait for its bytes.
    #[state(fixed)]
    waits_for_bytes: bool,
}

impl Switch {
    /// A switch with `ports` ports, numbered from `first_port` in its partition.
    pub fn new(id: SwitchId, first_port: u32, ports: usize, lanes: usize, rules: &Rules) -> Self {
        let layout = Layout::new(rules.queueing, ports, lanes);
        let counts_missed = lanes > 1;
        let mut outputs = vec![Output::new(ports); ports];
        Self {
            id,
            first_port,
            layout,
            queues: QueueRows::new(layout, counts_missed, &mut outputs),
            outputs: Table::new(outputs),
            dirty: Bits::new(ports),
            last_output: 0,
            counts_missed,
            overdue: 0,
            waiting: Vec::new(),
            short: ShortQueues::new(ports),
            stalls_ahead: lanes == 1
                && rules.queueing == Queueing::Voq
                && rules.arbiter == Arbiter::RoundRobin
                && rules.priority_lanes == 0
                && Bits::fit_in_a_word(ports),
            ahead: 0,
            in_port_order: rules.arbiter == Arbiter::StrictRoundRobin,
            has_arbitration_features: rules.arbiter == Arbiter::StrictRoundRobin,
            hop_turn: 0,
            undecided: Vec::new(),
            random: Vec::new(),
            rounds: None,
            matched: Vec::new(),
            staging: None,
            moves: Bits::new(ports),
            aging: None,
            head_delay: None,
            lookahead: None,
            telemetry: None,
            detector: None,
            vl_arbitration: None,
            failures: None,
            lifetimes: None,
            replicates: false,
            copies: Vec::new(),
            mtus: None,
            needs_credits: false,
            has_classes: usize::from(rules.lanes_per_class) < lanes,
            has_optional_features: rules.least_space > 0
                || rules.holds_outputs
                || rules.report_grants
                || !Bits::fit_in_a_word(ports),
            has_arrival_features: usize::from(rules.lanes_per_class) < lanes,
            in_turn: rules.arbiter == Arbiter::RoundRobin
                && rules.priority_lanes == 0
                && Bits::fit_in_a_word(ports),
            cut_through: rules.switching == Switching::CutThrough,
            holds_outputs: rules.holds_outputs,
            waits_for_bytes: false,
        }
    }

    /// Sets whether the switch's links have different rates.
    pub fn with_mixed_rates(mut self, mixed: bool) -> Self {
        // Where there are staging buffers, a packet waits for its bytes there.
        self.waits_for_bytes =
            mixed && self.cut_through && !self.holds_outputs && self.layout.queueing != Queueing::Cioq;
        self.has_arrival_features |= self.waits_for_bytes;
        self
    }

    /// Enables congestion detection.
    pub fn with_detector(mut self, detector: Detector) -> Self {
        self.needs_credits = detector.needs_credits();
        self.note_arbitration_features();
        self.stalls_ahead = false;
        self.detector = Some(Box::new(detector));
        self.has_arrival_features = true;
        self
    }

    /// Updates [`Switch::has_arbitration_features`].
    #[inline]
    fn note_arbitration_features(&mut self) {
        self.has_arbitration_features =
            self.in_port_order || self.needs_credits || self.overdue > 0 || !self.short.is_empty();
    }

    /// Gives each output a random stream of its own (for the arbiter that draws); `channel` numbers an output's link.
    pub fn with_random(mut self, rules: &Rules, channel: impl Fn(usize) -> u32) -> Self {
        if rules.arbiter == Arbiter::Random {
            self.random = (0..self.layout.ports).map(|output| rules.stream(channel(output))).collect();
        }
        self
    }

    /// Discards packets that are larger than what the link of their output carries.
    pub fn with_mtus(mut self, mtus: impl Iterator<Item = u32>) -> Self {
        self.mtus = Some(mtus.collect());
        self.has_optional_features = true;
        self
    }

    /// Identifier of this switch.
    pub fn id(&self) -> SwitchId {
        self.id
    }

    /// Number of its first port in the partition.
    pub fn first_port(&self) -> u32 {
        self.first_port
    }

    /// Number of its ports.
    pub fn port_count(&self) -> usize {
        self.layout.ports
    }

    /// The sender of `port` must be checked again. True if the switch has to settle, and had not until now.
    #[inline]
    pub fn woken<F: Features>(&mut self, port: u32) -> bool {
        let settled = if F::OPTIONAL {
            self.is_settled()
        } else if !F::MAY_ADAPT {
            self.dirty.is_empty()
        } else {
            self.dirty.is_empty() && self.undecided.is_empty()
        };
        self.dirty.set((port - self.first_port) as usize);
        settled
    }

    /// True if packets age, collect telemetry, have lifetimes or may exceed the MTU of an output, if there are staging buffers, a delay at the head of a queue or lookahead routing, if the switch asks for more space
    /// than a packet takes, if outputs are held for packets that still arrive, if it has more ports than a word has bits, or if an observer receives every grant. These features
    /// are monomorphised separately, so plain switches pay nothing for them.
    pub fn has_optional_features(&self) -> bool {
        self.has_optional_features
    }

    /// True if packets wait in virtual output queues that are served in turn, which outputs keep, and no feature adds work: see
    /// [`PlainFeatures`](crate::PlainFeatures).
    pub fn is_plain(&self) -> bool {
        self.in_turn
            && self.cut_through
            && self.layout.queueing == Queueing::Voq
            && !self.queues.are_shared()
            && self.detector.is_none()
            && !self.has_arrival_features
            && !self.has_optional_features
    }

    /// True if there is nothing to do at the end of this time step so far.
    #[inline]
    fn is_settled(&self) -> bool {
        self.dirty.is_empty() && self.undecided.is_empty() && self.moves.is_empty()
    }

    /// Arbitrates at every output that has to choose. Called once at the end of a time step in which [`Switch::arrive`]
    /// or [`Switch::woken`] returned true.
    #[inline(always)]
    pub fn settle<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if F::OPTIONAL && self.failures.is_some() {
            return self.settle_with_failures(context);
        }
        self.settle_once::<F, R, B, O>(context);
    }

    #[inline(always)]
    fn settle_once<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if !F::PLAIN && self.ahead != 0 {
            self.check_stalls(context);
        }
        if F::MAY_ADAPT && !self.undecided.is_empty() {
            self.decide::<F, R, B, O>(context);
        }
        if F::OPTIONAL && self.rounds.is_some() {
            return self.settle_in_rounds(context);
        }
        if F::OPTIONAL {
            self.settle_moves(context);
        }
        while !self.dirty.is_empty() {
            if self.has_arbitration_features {
                self.settle_next_with_features::<F, R, B, O>(context);
                continue;
            }
            let next = self.dirty.first_after_as::<F>(self.last_output);
            let Some(output) = next else { return };
            self.dirty.clear_as::<F>(output);
            self.arbitrate::<F, false, R, B, O>(context, output);
        }
    }

    /// The next output chooses, with [`Switch::has_arbitration_features`].
    #[inline(never)]
    fn settle_next_with_features<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let next = if self.overdue > 0 {
            self.most_overdue()
        } else if self.in_port_order {
            self.first_idle(context)
        } else {
            self.dirty.first_after(self.last_output)
        };
        if let Some(output) = next {
            self.dirty.clear(output);
            self.arbitrate::<F, true, R, B, O>(context, output);
            if !self.waiting.is_empty() {
                self.reconsider_waiting(context, output);
            }
        }
    }
}
