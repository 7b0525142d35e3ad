//! What a routing function sees of a switch that chooses a packet's hop.

use fabricsim_model::{Hop, Lanes, Packet, Random};
use fabricsim_routing::{At, RoutingFunction, View};
use fabricsim_units::{PortNo, SwitchId, Time};

use super::Switch;
use super::queues::Output;
use crate::{Board, Context, Ports, Rules, Table};

struct Sight<'a> {
    outputs: &'a Table<Output>,
    ports: &'a mut Ports,
    rules: &'a Rules,
    board: &'a Board,
    packet: &'a Packet,
    at: SwitchId,
    first_port: usize,
    /// First lane of the packet's service class.
    class: u8,
    now: Time,
    /// Made when something is drawn.
    random: Option<Random>,
}

impl Sight<'_> {
    /// Where the credits of a port's lanes begin.
    #[inline]
    fn lanes(&self, port: PortNo, lanes: Lanes) -> usize {
        let port = self.first_port + port.index();
        port * self.ports.lane_count + usize::from(self.class + lanes.first.0)
    }
}

impl View for Sight<'_> {
    #[inline]
    fn load(&mut self, port: PortNo, lanes: Lanes) -> u32 {
        let first = self.lanes(port, lanes);
        let mut load = self.outputs[port.index()].queued;
        for lane in first..first + usize::from(lanes.count) {
            let credits = &mut self.ports.lanes[lane];
            self.ports.ramps.collect(credits, self.now);
            load += credits.capacity - credits.free;
        }
        load
    }

    #[inline]
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32 {
        let first = self.lanes(port, lanes);
        self.ports.lanes[first].capacity * u32::from(lanes.count)
    }

    #[inline]
    fn published(&self, number: u32) -> u32 {
        self.board.seen(number, self.now)
    }

    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        let random = self.random.get_or_insert_with(|| self.rules.stream_at(self.at, self.packet));
        random.below(u64::from(n)) as u32
    }
}

impl Switch {
    /// Blocks that wait for an output, and those in use of the buffers at the other end of its link, at `now`.
    pub fn ahead(&mut self, ports: &mut Ports, output: usize, now: Time) -> u32 {
        let first = (self.first_port as usize + output) * ports.lane_count;
        let mut ahead = self.outputs[output].queued;
        for lane in first..first + ports.lane_count {
            let credits = &mut ports.lanes[lane];
            ports.ramps.collect(credits, now);
            ahead += credits.capacity - credits.free;
        }
        ahead
    }

    /// The hop that the routing chooses for a packet that remembers something of its way; `None` if packets remember nothing.
    #[inline]
    pub(super) fn chosen_hop<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut Context<R, B, O>,
        at: At,
        class: u8,
        packet: u32,
    ) -> Option<Hop> {
        let slot = &mut context.arena[packet];
        let mut sight = Sight {
            outputs: &self.outputs,
            ports: &mut context.ports,
            rules: &context.rules,
            board: &context.board,
            packet: &slot.packet,
            at: at.switch,
            first_port: self.first_port as usize,
            class,
            now: context.now,
            random: None,
        };
        context.routing.choose(at, &slot.packet, &mut slot.trail, &mut sight)
    }
}
