//! View that a routing function has of a switch that chooses a packet's hop.

use std::ops::Range;

use fabricsim_model::{Hop, Lanes, Packet, Random};
use fabricsim_routing::{At, RoutingFunction, View};
use fabricsim_units::{PortNo, SwitchId, Time};

use super::Switch;
use super::failures::Failures;
use super::queues::Output;
use crate::{LoadBroadcast, PartitionContext, Ports, Rules, Table};

struct LocalLoadView<'a> {
    outputs: &'a Table<Output>,
    ports: &'a mut Ports,
    rules: &'a Rules,
    load_broadcast: &'a LoadBroadcast,
    packet: &'a Packet,
    at: SwitchId,
    first_port: usize,
    failures: Option<&'a Failures>,
    /// Lanes of the packet's service class.
    class: Range<usize>,
    now: Time,
    /// Created at the first draw.
    random: Option<Random>,
}

impl View for LocalLoadView<'_> {
    #[inline]
    fn load(&mut self, port: PortNo, lanes: Lanes) -> u32 {
        let failed = self.failures.map_or(0, |failures| failures.load(port.index()));
        let queued = failed + (self.outputs[port.index()].queued & self.rules.waiting_mask);
        let port = self.first_port + port.index();
        let used = match self.ports.in_use_of_whole(port, self.now) {
            Some(used) => used,
            None => self.ports.in_use_of_lanes(port, &self.counted(lanes), self.now),
        };
        queued + used
    }

    #[inline]
    fn exceeds(&mut self, port: PortNo, lanes: Lanes, limit: u32) -> bool {
        self.outputs[port.index()].queued & self.rules.waiting_mask > limit || self.load(port, lanes) > limit
    }

    #[inline]
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32 {
        let port = self.first_port + port.index();
        self.ports.capacities[port] * u32::from(lanes.count)
    }

    #[inline]
    fn broadcast_load(&self, number: u32) -> u32 {
        self.load_broadcast.seen(number, self.now)
    }

    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        let random = self.random.get_or_insert_with(|| self.rules.stream_at(self.at, self.packet));
        random.below(u64::from(n)) as u32
    }
}

impl LocalLoadView<'_> {
    /// The lanes of which the used space counts as load, for a packet that may take `lanes` of its service class.
    #[inline]
    fn counted(&self, lanes: Lanes) -> Range<usize> {
        if !self.rules.load_of_lane {
            return self.class.clone();
        }
        let first = self.class.start + lanes.first.index();
        first..first + usize::from(lanes.count)
    }
}

impl Switch {
    /// Blocks that wait for an output, and those in use of the buffers at the other end of its link, at `now`.
    pub fn ahead(&mut self, ports: &mut Ports, output: usize, now: Time) -> u32 {
        let port = self.first_port as usize + output;
        let used = match ports.in_use_of_whole(port, now) {
            Some(used) => used,
            None => ports.in_use_of_lanes(port, &(0..ports.lane_count), now),
        };
        let failed = self.failures.as_ref().map_or(0, |failures| failures.load(output));
        failed + self.outputs[output].queued + used
    }

    /// The hop that a routing function with per-packet state chooses; `None` if packets carry no such state.
    #[inline]
    pub(super) fn chosen_hop<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        at: At,
        class: u8,
        packet: u32,
    ) -> Option<Hop> {
        let first = usize::from(class);
        let slot = &mut context.arena[packet];
        let mut local_load_view = LocalLoadView {
            outputs: &self.outputs,
            ports: &mut context.ports,
            rules: &context.rules,
            load_broadcast: &context.load_broadcast,
            packet: &slot.packet,
            at: at.switch,
            first_port: self.first_port as usize,
            failures: self.failures.as_deref(),
            class: first..first + usize::from(context.rules.lanes_per_class),
            now: context.now,
            random: None,
        };
        context.routing.choose(at, &slot.packet, &mut slot.route_state, &mut local_load_view)
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::PacketKind;
    use fabricsim_spec::{Arbiter, CreditReturn, Queueing, Selection, Switching};
    use fabricsim_units::{HostId, Vl};

    use super::*;
    use crate::{LaneCredits, RampPool};

    fn rules(load_of_lane: bool) -> Rules {
        Rules {
            queueing: Queueing::Voq,
            switching: Switching::CutThrough,
            credit_return: CreditReturn::Block,
            credit_delay: Time::ZERO,
            arbiter: Arbiter::RoundRobin,
            lanes_per_class: 2,
            has_levels_of_paths: false,
            paths: 1,
            priority_lanes: 0,
            least_space: 0,
            report_grants: false,
            hop_choices: 0,
            waiting_mask: u32::MAX,
            load_of_lane,
            holds_outputs: false,
            seed: 0,
        }
    }

    /// Two classes of two lanes; buffers of 10, 20 and 30 blocks at the ports' other ends, of which lane v has 1 << v in use.
    #[test]
    fn load_and_capacity_are_of_the_port_and_the_class() {
        let lane = |capacity: u32, number: u32| {
            let mut lane = LaneCredits::new(capacity);
            lane.free -= 1 << number;
            lane
        };
        let capacities = [10, 20, 30];
        let lanes = capacities.into_iter().flat_map(|capacity| (0..4).map(move |v| lane(capacity, v)));
        let mut ports = Ports {
            flow: None,
            pause: None,
            senders: Table::new(Vec::new()),
            receivers: Table::new(Vec::new()),
            lanes: Table::new(lanes.collect()),
            capacities: Table::new(capacities.to_vec()),
            whole: Table::new(Vec::new()),
            lane_count: 4,
            ramps: RampPool::new(64),
            sinks: Table::new(Vec::new()),
            retries: Table::new(Vec::new()),
            selection: Selection::RoundRobin,
        };
        let packet = Packet::new(PacketKind::Data, (HostId(0), HostId(1)), 1, Time::ZERO);
        let outputs = Table::new([0, 100].map(|queued| Output { queued, ..Output::new(2) }).to_vec());
        for (load_of_lane, first_class, expected) in [
            (false, true, [3, 103]),
            (false, false, [12, 112]),
            (true, true, [2, 102]),
            (true, false, [8, 108]),
        ] {
            let mut view = LocalLoadView {
                outputs: &outputs,
                ports: &mut ports,
                rules: &rules(load_of_lane),
                load_broadcast: &LoadBroadcast::default(),
                packet: &packet,
                at: SwitchId(0),
                first_port: 1,
                failures: None,
                class: if first_class { 0..2 } else { 2..4 },
                now: Time::ZERO,
                random: None,
            };
            let second = Lanes { first: Vl(1), count: 1 };
            for (port, expected) in [0, 1].map(PortNo).into_iter().zip(expected) {
                assert_eq!(view.load(port, second), expected, "{port:?} {load_of_lane} {first_class}");
                let capacity = 20 + 10 * u32::from(port.0);
                assert_eq!(view.capacity(port, second), capacity);
                assert_eq!(view.capacity(port, Lanes { first: Vl(0), count: 2 }), 2 * capacity);
                assert!(view.exceeds(port, second, expected - 1) && !view.exceeds(port, second, expected));
            }
        }
    }
}
