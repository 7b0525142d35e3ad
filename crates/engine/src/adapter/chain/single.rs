//! Messages of one packet, which go from the source to the link without being opened at the endpoint.

use fabricsim_fabric::{Features, Outbox, PartitionContext, Slot, send_as};
use fabricsim_model::{Observer, Packet, PacketKind};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{Time, Vl};
use fabricsim_workload::Message;

use super::Chain;
use crate::adapter::Endpoint;

impl Chain {
    /// [`Chain::settle`] on a free link if the source has one stream of messages, nothing is open, and neither congestion control nor
    /// paths matter. False if it has done nothing but open a message: one of several packets, or without credits.
    #[inline(always)]
    pub(super) fn settle_single<F: Features, E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) -> bool {
        let now = context.now;
        let Some(at) = self.app.next_of_only_stream() else { return false };
        if self.stopped || !self.is_plain || self.paths.is_some() || !endpoint.passes_single_packets() {
            return false;
        }
        context.ports.forget_awaited(self.port);
        if at > now {
            if at < Time::MAX {
                context.ports.ensure_wake(self.port, at, &mut context.out);
            }
            return true;
        }
        let message = self.app.take_of_only_stream();
        let Some(lane) = self.lane_for_single::<F, E, R, B, O>(endpoint, &message, context) else {
            endpoint.open(message, false, now);
            return false;
        };
        self.send_single::<F, R, B, O>(&message, lane, context);
        if let Some(next) = self.app.next_of_only_stream().filter(|&next| next < Time::MAX) {
            let busy_until = context.ports.senders[self.port as usize].busy_until;
            context.ports.ensure_wake(self.port, next.max(busy_until), &mut context.out);
        }
        true
    }

    /// The lane in turn on which a message can be sent now as one packet.
    #[inline(always)]
    fn lane_for_single<F: Features, E: Endpoint, R, B, O>(
        &self,
        endpoint: &E,
        message: &Message,
        context: &mut PartitionContext<R, B, O>,
    ) -> Option<Vl> {
        let is_single = message.destination.group().is_none() && endpoint.fits_in_packet(message);
        let lanes = context.injection_lanes.filter(|_| is_single && !context.rules.has_levels_of_paths)?;
        let blocks = (message.bytes as u32).div_ceil(context.ports.ramps.unit());
        let flow = || self.flow_to(message.destination);
        context.ports.first_lane::<F>(self.port, lanes, blocks, context.now, flow)
    }

    #[inline(always)]
    fn send_single<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        message: &Message,
        lane: Vl,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let (now, bytes) = (context.now, message.bytes as u32);
        let mut packet = Packet {
            created: message.created,
            stream: message.stream,
            tag: message.tag,
            sequence: self.sent as u32,
            ..Packet::new(PacketKind::Data, (self.id, message.destination), bytes, now)
        };
        context.observer.injected(now, &packet);
        packet.service_level = self.service_classes[usize::from(message.stream)];
        self.sent += 1;
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        let index = context.arena.insert(Slot::new(packet, blocks));
        send_as::<F, R, B, O>(context, self.port, index, (bytes, blocks), lane);
    }
}
