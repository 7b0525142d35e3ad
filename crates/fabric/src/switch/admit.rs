//! Admission of an arriving packet: the choice of its hop, and of the queue in which it waits.

use fabricsim_model::{Hop, Lanes, Observer, Random};
use fabricsim_routing::lanes::ServiceClasses;
use fabricsim_routing::{At, RoutingFunction};
use fabricsim_spec::Queueing;
use fabricsim_units::{PortNo, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::{AllFeatures, Features, NONE, Outbox, PartitionContext};

impl Switch {
    /// A packet may be sent on from the input buffer of `port` from now on. True if the switch has to settle, and had
    /// not until now. `F` is [`Switch::has_optional_features`].
    #[inline(always)]
    pub fn arrive<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        port: u32,
        packet: u32,
    ) -> bool {
        let input = (port - self.first_port) as usize;
        if F::OPTIONAL {
            return self.arrive_with_features(context, input, packet);
        }
        context.arena[packet].ready = context.now;
        if F::MAY_ADAPT && (F::PLAIN || context.is_adaptive) {
            self.undecided.push((input, packet));
            return self.undecided.len() == 1 && self.dirty.is_empty();
        }
        let settled = self.dirty.is_empty();
        self.admit::<F, R, B, O>(context, input, packet);
        settled && !self.dirty.is_empty()
    }

    /// [`Switch::arrive`] with optional features.
    #[inline(never)]
    fn arrive_with_features<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        packet: u32,
    ) -> bool {
        let settled = self.is_settled();
        if self.awaits(context, input, packet) {
            return settled;
        }
        let slot = &mut context.arena[packet];
        (slot.ready, slot.arrived) = (context.now, context.now);
        let is_for_group = self.replicates && context.arena[packet].destination().group().is_some();
        if let Some(aging) = self.aging.as_mut().filter(|_| !is_for_group) {
            aging.receive(&mut context.arena, input, packet, context.now);
        }
        if self.replicates
            && let Some(group) = context.arena[packet].destination().group()
        {
            self.replicate(context, (input, group), packet);
        } else if context.is_adaptive {
            self.undecided.push((input, packet));
        } else if self.layout.queueing == Queueing::Cioq {
            self.admit_staged(context, input, packet);
        } else {
            self.admit::<AllFeatures, R, B, O>(context, input, packet);
        }
        if self.failures.is_some() {
            // It may wait for an output that never asks for a packet: the switch settles in any case.
            self.dirty.set(input);
        }
        settled && !self.is_settled()
    }

    /// Admits the arrivals of this time step by input, reported in any order: the hop that is chosen for one
    /// adds to the load that the next one sees.
    #[inline(never)]
    pub(super) fn decide<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let mut undecided = std::mem::take(&mut self.undecided);
        if undecided.len() > 1 {
            undecided.sort_unstable_by_key(|&(input, _)| input);
        }
        let staged = F::OPTIONAL && self.layout.queueing == Queueing::Cioq;
        for (input, packet) in undecided.drain(..) {
            if F::OPTIONAL && context.arena[packet].ready > context.now {
                self.look_ahead(context, input, packet);
            } else if staged {
                self.admit_staged(context, input, packet);
            } else {
                self.admit::<F, R, B, O>(context, input, packet);
            }
        }
        self.undecided = undecided;
    }

    #[inline(always)]
    pub(super) fn admit<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        packet: u32,
    ) {
        let lane = context.arena[packet].lane;
        if !F::PLAIN && self.layout.queueing == Queueing::Fifo {
            let queue = self.queues.at_mut(self.outputs[0].row, input, lane);
            if queue.head().is_some() {
                queue.push(&mut context.arena, packet);
                return self.plan_anew::<F>(input);
            }
        }
        let output = self.route::<F, R, B, O>(context, input, lane, packet);
        let position = self.position::<F>(input, lane, output);
        if F::OPTIONAL && self.head_delay.is_some() && self.is_empty(position) {
            self.delay_head(context, self.layout.queue(input, lane, output), packet);
        }
        self.offer::<F, R, B, O>(context, position, packet);
    }

    /// Queues a packet for its chosen output.
    #[inline(always)]
    pub(super) fn offer<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
    ) {
        let QueuePosition { input, output, .. } = position;
        let sender = &context.ports.senders[self.first_port as usize + output];
        let state = &mut self.outputs[output];
        if state.sole != NONE {
            self.enqueue_sole::<F, R, B, O>(context, output);
        } else if state.inputs.is_empty()
            && sender.busy_until <= context.now
            && !(F::OPTIONAL && (input == output || self.lifetimes.is_some()))
        {
            state.sole = packet;
            state.sole_input = input as u16;
            self.dirty.set_as::<F>(output);
            return;
        }
        if self.enqueue::<F, R, B, O>(context, position, packet) {
            self.request_arbitration::<F, R, B, O>(context, output);
        }
        self.plan_anew::<F>(output);
    }

    /// If allocation is in rounds, the switch settles after every arrival: the arrival may change what the next round has
    /// to do.
    #[inline(always)]
    fn plan_anew<F: Features>(&mut self, port: usize) {
        if F::OPTIONAL && self.rounds.is_some() {
            self.dirty.set_as::<AllFeatures>(port);
        }
    }

    /// The packet has come to the head of its queue, which it shares with packets for other outputs.
    #[inline(never)]
    pub(super) fn expose<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        lane: Vl,
        packet: u32,
    ) {
        let output = self.route::<F, R, B, O>(context, input, lane, packet);
        self.set_request::<F>(output, input, lane);
        self.request_arbitration::<F, R, B, O>(context, output);
    }

    /// Routes the packet and computes the time from which it may leave; returns the output.
    #[inline(always)]
    pub(super) fn route<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        lane: Vl,
        packet: u32,
    ) -> usize {
        let to = context.arena[packet].destination();
        let in_port = PortNo(input as u16);
        if !F::PLAIN && self.has_arrival_features {
            return self.route_with_features(context, (input, lane), packet);
        }
        let at = At { switch: self.id, in_port, lane };
        let known = if F::PLAIN && F::MAY_ADAPT {
            let only = context.routing.only_hop(self.id, in_port, lane, to);
            only.or_else(|| self.chosen_hop(context, at, 0, packet))
        } else {
            match context.route_table.hop(self.id, in_port, lane, to) {
                None => context.routing.hop_by_coordinates(at, to),
                hop => hop,
            }
        };
        let hop = match known {
            Some(hop) => hop,
            None => self.search_hop(context, in_port, lane, packet),
        };
        let output = hop.port.index();
        let slot = &mut context.arena[packet];
        slot.hop = hop;
        self.outputs[output].queued += slot.blocks;
        output
    }

    /// The hop that the routing knows to be the only one, or the best of several.
    #[inline(never)]
    fn search_hop<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        in_port: PortNo,
        lane: Vl,
        packet: u32,
    ) -> Hop {
        let to = context.arena[packet].destination();
        match context.routing.only_hop(self.id, in_port, lane, to) {
            Some(hop) => hop,
            None => self.best_hop(context, in_port, (0, lane), packet),
        }
    }

    /// [`Switch::route`] with service classes, congestion control or links of different rates.
    #[inline(always)]
    fn route_with_features<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        (input, lane): (usize, Vl),
        packet: u32,
    ) -> usize {
        let hop = match self.hop_of_copy(context, packet) {
            Some(hop) => self.assign(context, packet, hop),
            None if self.lookahead.is_some() => context.arena[packet].hop,
            None => {
                let hop = self.hop_of_class(context, PortNo(input as u16), lane, packet);
                self.assign(context, packet, hop)
            }
        };
        let output = hop.port.index();
        let slot = &mut context.arena[packet];
        if let Some(detector) = &mut self.detector {
            detector.waits((input, lane), (output, hop.lanes.first), slot.blocks);
        }
        if self.waits_for_bytes {
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

    /// The packet will take the hop, at whose output it counts as load from now on.
    #[inline]
    pub(super) fn assign<R, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        packet: u32,
        hop: Hop,
    ) -> Hop {
        let slot = &mut context.arena[packet];
        slot.hop = hop;
        self.outputs[hop.port.index()].queued += slot.blocks;
        hop
    }

    /// The packet's hop on the lanes of its service class.
    #[inline]
    pub(super) fn hop_of_class<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        in_port: PortNo,
        lane: Vl,
        packet: u32,
    ) -> Hop {
        let to = context.arena[packet].destination();
        if !self.has_classes {
            return match context.route_table.hop(self.id, in_port, lane, to) {
                Some(hop) => hop,
                None => self.search_hop(context, in_port, lane, packet),
            };
        }
        let class = context.rules.class_base(lane);
        match context.routing.only_hop(self.id, in_port, Vl(lane.0 - class), to) {
            Some(hop) => ServiceClasses::hop(class, hop),
            None => self.best_hop(context, in_port, (class, lane), packet),
        }
    }

    /// One of the hops that the routing proposes: any, or the one with the fewest blocks ahead, waiting here and used
    /// downstream; ties in turn.
    #[inline(never)]
    fn best_hop<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        in_port: PortNo,
        (class, lane): (u8, Vl),
        packet: u32,
    ) -> Hop {
        let relative = Vl(lane.0 - class);
        let at = At { switch: self.id, in_port, lane: relative };
        if let Some(hop) = self.chosen_hop(context, at, class, packet) {
            return ServiceClasses::hop(class, hop);
        }
        context.hops.clear();
        let packet = context.arena[packet].packet;
        context.routing.hops(self.id, in_port, relative, packet.destination, &mut context.hops);
        context.hops.iter_mut().for_each(|hop| *hop = ServiceClasses::hop(class, *hop));
        if self.failures.is_some() {
            self.avoid_failed(&mut context.hops);
        }
        match context.hops.as_slice() {
            [only] => return *only,
            // See [`Switch::lack_routes`].
            [] => return Hop { port: in_port, lanes: Lanes { first: lane, count: 1 } },
            _ => {}
        }
        if context.routing.is_random() {
            let position = context.rules.stream_at(self.id, &packet).below(context.hops.len() as u64);
            return context.hops[position as usize];
        }
        if context.rules.hop_choices > 0 {
            draw_hops(
                &mut context.hops,
                context.rules.stream_at(self.id, &packet),
                context.rules.hop_choices,
            );
        }
        self.least_loaded(context)
    }

    fn least_loaded<R, B, O>(&mut self, context: &mut PartitionContext<R, B, O>) -> Hop {
        self.hop_turn += 1;
        let count = context.hops.len();
        let mut best = (u32::MAX, context.hops[0]);
        for i in 0..count {
            let hop = context.hops[(self.hop_turn + i) % count];
            let port = self.first_port as usize + hop.port.index();
            let (base, capacity) = (port * context.ports.lane_count, context.ports.capacities[port]);
            let used = hop.lanes.iter().map(|lane| {
                let credits = &mut context.ports.lanes[base + lane.index()];
                context.ports.ramps.collect(credits, context.now);
                capacity - credits.free
            });
            let load = match context.rules.waiting_mask {
                0 => used.sum(),
                _ => self.outputs[hop.port.index()].queued + used.min().unwrap_or(0),
            };
            if load < best.0 {
                best = (load, hop);
            }
        }
        best.1
    }
}

/// Leaves `choices` of the hops, each drawn among all of them.
fn draw_hops(hops: &mut Vec<Hop>, mut random: Random, choices: u16) {
    let all = hops.len();
    for _ in 0..choices {
        hops.push(hops[random.below(all as u64) as usize]);
    }
    hops.drain(..all);
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Lanes;
    use fabricsim_units::PortNo;

    use super::*;

    /// Each draw is among all, so that one hop may be drawn twice: of four hops and two draws, both are the same in a quarter of
    /// the cases, and each hop comes first equally often.
    #[test]
    fn hops_are_drawn_among_all() {
        let all: Vec<Hop> = (0..4).map(|port| Hop { port: PortNo(port), lanes: Lanes::new(0, 2) }).collect();
        let (mut same, mut first) = (0, [0; 4]);
        let cases = 40_000;
        for case in 0..cases {
            let mut hops = all.clone();
            draw_hops(&mut hops, Random::new(1, 2, case), 2);
            assert_eq!(hops.len(), 2);
            same += u32::from(hops[0] == hops[1]);
            first[hops[0].port.index()] += 1;
        }
        // Binomial with p = 1/4: five standard deviations.
        let bound = 5.0 * (cases as f64 * 0.25 * 0.75).sqrt();
        let near = |count: u32| (f64::from(count) - cases as f64 / 4.0).abs() < bound;
        assert!(near(same) && first.into_iter().all(near), "{same} {first:?}");
    }
}
