//! Links and switches of a partition that fail and come back, and the packets that are lost.

use fabricsim_fabric::{AllFeatures, FarEnd, NONE, Outbox, return_space};
use fabricsim_model::{LossCause, Observer, PacketKind};
use fabricsim_units::{ByteTime, HostId, Time};

use super::{Owner, Partition};
use crate::calendar::Kind;
use crate::totals::fingerprint;

/// Times of packets on a link.
pub(crate) struct Flight {
    /// From the arrival of a packet at a switch to the event of its arrival.
    delay: Time,
    byte_time: ByteTime,
    /// True if packets for the host at the other end have the time at which their heads arrive: it takes them at a rate of its own, or their
    /// output may be held.
    has_arrivals: bool,
}

impl<B: Observer> Partition<B> {
    pub(crate) fn ports_of(&self, s: usize) -> std::ops::Range<usize> {
        let first = self.switches[s].first_port() as usize;
        first..first + self.switches[s].port_count()
    }

    /// The link of a sending port fails.
    pub(crate) fn fail_sender(&mut self, port: u32, discards: bool, now: Time) -> Flight {
        self.has_optional_features = true;
        let sender = &mut self.context.ports.senders[port as usize];
        self.failed.insert(port, sender.fail());
        sender.cancel_stall(now);
        sender.wake(port, now, &mut self.context.out);
        let flight = Flight {
            delay: sender.far_end_delay - sender.latency,
            byte_time: sender.byte_time,
            has_arrivals: matches!(sender.far_end, FarEnd::SlowHost(_)) || self.context.rules.holds_outputs,
        };
        if let Owner::Switch(s) = self.owners[port as usize] {
            self.switches[s as usize].fail_output(port, discards);
        }
        flight
    }

    /// The link of a sending port works again.
    pub(crate) fn restore_sender(&mut self, port: u32, now: Time) {
        let Some(busy_until) = self.failed.remove(&port) else { return };
        let sender = &mut self.context.ports.senders[port as usize];
        sender.restore(busy_until);
        sender.wake(port, busy_until.max(now), &mut self.context.out);
        let flow = self.context.ports.flow.as_mut();
        if let Some(at) = flow.and_then(|flow| flow.restore(port, busy_until.max(now))) {
            self.context.out.control(at, port);
        }
        let pause = self.context.ports.pause.as_mut();
        if let Some(at) = pause.and_then(|pause| pause.restore(port, busy_until.max(now))) {
            self.context.out.control(at, port);
        }
        if let Owner::Switch(s) = self.owners[port as usize] {
            self.switches[s as usize].restore_output(port);
        }
    }

    /// Loses the packets in flight to a receiving port whose heads have not arrived before `now`.
    pub(crate) fn lose_on_link(&mut self, port: u32, flight: &Flight, now: Time) {
        let arena = &self.context.arena;
        let lost = self.context.out.calendar.take_if(now, |event| {
            let head_at = |time: Time| match event.kind() {
                Kind::Arrive => Some(time.saturating_sub(flight.delay)),
                Kind::Deliver if flight.has_arrivals => Some(arena[event.packet()].arrived),
                Kind::Deliver => {
                    Some(time.saturating_sub(flight.byte_time.duration(arena[event.packet()].packet.bytes)))
                }
                Kind::Wake | Kind::Look => None,
            };
            event.port() == port && head_at(Time(event.time)).is_some_and(|at| at >= now)
        });
        for event in lost {
            self.lose_in_flight(port, event.packet(), LossCause::LinkFailed, now);
        }
    }

    /// The switch fails; its links have.
    pub(crate) fn fail_switch(&mut self, s: usize, now: Time) {
        let ports = self.ports_of(s);
        for port in ports.clone() {
            self.switches[s].fail_output(port as u32, true);
            self.context.ports.senders[port].wake(port as u32, now, &mut self.context.out);
        }
        self.switches[s].fail();
        let is_inside = |port: u32| ports.contains(&(port as usize));
        let arrived = self
            .context
            .out
            .calendar
            .take_if(now, |event| event.kind() == Kind::Arrive && is_inside(event.port()));
        for event in arrived {
            self.lose_in_flight(event.port(), event.packet(), LossCause::SwitchFailed, now);
        }
    }

    /// Loses a packet on the link to a receiving port, or behind it, and returns the space that is kept for it there.
    fn lose_in_flight(&mut self, port: u32, packet: u32, cause: LossCause, now: Time) {
        self.context.now = now;
        let returns_space = match self.owners[port as usize] {
            // With pause frames a packet is in no buffer before it has arrived.
            Owner::Switch(_) => self.context.arena[packet].port != NONE,
            Owner::Adapter(h) => self.is_gated(h),
        };
        if returns_space {
            let slot = &self.context.arena[packet];
            let (lane, size) = (slot.lane, (slot.packet.bytes, slot.blocks));
            return_space::<AllFeatures, _, _, _>(
                &mut self.context,
                port,
                lane,
                (ByteTime::default(), Time::ZERO),
                size,
            );
        }
        // It has occupied the link.
        let links = u64::from(self.context.arena[packet].packet.hops) + 1;
        self.lose(packet, cause, links);
    }

    /// Loses a packet that the sender of `port` has sent: the far end has found a bit error. Its space has been returned.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_damaged(&mut self, port: u32, packet: u32, now: Time) {
        self.context.now = now;
        let (channel, slot) =
            (self.context.ports.senders[port as usize].channel, &self.context.arena[packet]);
        let links = u64::from(slot.packet.hops) + 1;
        self.context.observer.lost_at(now, channel, slot.lane, LossCause::Vcrc);
        self.lose(packet, LossCause::Vcrc, links);
    }

    /// The cause if a packet that has arrived at a host is lost there: it was damaged in a switch, or is of another partition.
    #[inline(never)]
    /// `copy_for` is the receiver of a copy for a multicast group.
    pub(super) fn loss_on_arrival(&self, packet: u32, copy_for: Option<HostId>) -> Option<LossCause> {
        let packet = &self.context.arena[packet].packet;
        if self.switch_errors.as_ref().is_some_and(|errors| errors.damage(packet, copy_for)) {
            return Some(LossCause::Icrc);
        }
        let is_admitted = self.p_keys.as_ref().is_none_or(|keys| keys.admits(packet));
        (!is_admitted).then_some(LossCause::PartitionKey)
    }

    /// Loses a packet that has arrived at a host.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_at_host(&mut self, port: u32, packet: u32, cause: LossCause, now: Time) {
        self.lose_in_flight(port, packet, cause, now);
    }

    /// Loses a packet that arrives at a switch, if a port of it enforces partitions and does not accept the P_Key. A switch knows that
    /// when the header arrives, so it decides before it queues the packet.
    #[cold]
    #[inline(never)]
    pub(super) fn is_refused(&mut self, s: u32, port: u32, packet: u32) -> bool {
        let slot = &self.context.arena[packet];
        let switch = self.switches[s as usize].id();
        let Some(keys) = &self.p_keys else { return false };
        let transport = self.context.arena.transport(packet);
        if slot.packet.destination.group().is_some() {
            keys.refuse_copies(switch, (&slot.packet, transport), &mut self.context.refused_ports);
        }
        let Some(channel) = keys.refused_at(switch, &slot.packet, transport) else { return false };
        let (now, lane, cause) = (self.context.now, slot.lane, LossCause::PartitionKeyAtSwitch);
        self.context.observer.lost_at(now, channel, lane, cause);
        self.lose_in_flight(port, packet, cause, now);
        true
    }

    /// Loses the packets that switches have discarded at this time step.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_discarded(&mut self) {
        for (packet, cause) in std::mem::take(&mut self.context.out.discarded) {
            let links = self.context.arena[packet].packet.hops.into();
            self.lose(packet, cause, links);
        }
    }

    /// A packet that is in no buffer and no queue, and has crossed a number of `links`, is lost.
    pub(super) fn lose(&mut self, index: u32, cause: LossCause, links: u64) {
        let now = self.context.now;
        let packet = &self.context.arena[index].packet;
        self.totals.lost.count(cause);
        self.totals.packet_hops += links;
        self.totals.fingerprint = self.totals.fingerprint.wrapping_add(fingerprint(packet, now.0));
        if packet.kind == PacketKind::Data {
            let stream = usize::from(packet.stream);
            if self.lost_of_streams.len() <= stream {
                self.lost_of_streams.resize(stream + 1, 0);
            }
            self.lost_of_streams[stream] += 1;
        }
        self.context.observer.lost(now, packet, cause);
        self.context.arena.release(index);
    }

    /// Data packets of a stream that were lost.
    pub(crate) fn lost_of_stream(&self, stream: u16) -> u64 {
        self.lost_of_streams.get(usize::from(stream)).copied().unwrap_or_default()
    }
}
