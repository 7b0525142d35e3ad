//! Links and switches that fail while the fabric is in operation, and come back.
//!
//! A change takes effect between the events before the engine's time and those at it, in all partitions alike. A packet whose head
//! has arrived at the far end of a link is received whole; one whose head has not is lost. From then on the link carries nothing.
//! Packets that a switch has routed to it are discarded, or wait. Buffer space of packets that are lost is returned like that of
//! others: what a sender knows of the buffer at the other end is right when the link comes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use fabricsim_fabric::{FarEnd, return_space};
use fabricsim_model::{LossCause, Observer};
use fabricsim_routing::{Router, RoutingFunction};
use fabricsim_units::{ByteTime, HostId, LinkId, PortNo, SwitchId, Time};

use crate::calendar::Kind;
use crate::engine::Engine;
use crate::partition::{Owner, Partition, fingerprint};

/// Sending ports of a partition whose links have failed, with the time until which each was busy.
pub(crate) type FailedPorts = BTreeMap<u32, Time>;

/// What has failed in the whole fabric; true if packets routed to it are discarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed {
    links: BTreeMap<LinkId, bool>,
    switches: BTreeMap<SwitchId, bool>,
}

impl<B: Observer> Engine<B> {
    /// The link fails now, in both directions. If it `discards`, switches lose the packets that they have routed to it, now and
    /// until it is restored or their routing is changed; else these wait. Hosts wait in any case.
    pub fn fail_link(&mut self, link: LinkId, discards: bool) {
        let was_up = !self.is_down(link);
        self.failed.links.insert(link, discards);
        if was_up {
            self.take_down(link, discards);
            self.exchange(self.now());
        }
    }

    /// The link works from now on, unless a switch at its ends has failed.
    pub fn restore_link(&mut self, link: LinkId) {
        if self.failed.links.remove(&link).is_some() && !self.is_down(link) {
            self.bring_up(link);
        }
    }

    /// The switch fails now, with all its links: the packets in its buffers are lost. `discards`: see [`Engine::fail_link`], for its
    /// neighbours.
    pub fn fail_switch(&mut self, switch: SwitchId, discards: bool) {
        if self.failed.switches.contains_key(&switch) {
            return;
        }
        for link in self.links_of(switch) {
            if !self.is_down(link) {
                self.take_down(link, discards);
            }
        }
        self.failed.switches.insert(switch, discards);
        let now = self.now();
        let (number, s) = self.place_of(switch);
        self.partitions[number].fail_switch(s, now);
        self.exchange(now);
    }

    /// The switch works from now on, with those of its links that have not failed for another reason.
    pub fn restore_switch(&mut self, switch: SwitchId) {
        if self.failed.switches.remove(&switch).is_none() {
            return;
        }
        let (number, s) = self.place_of(switch);
        self.partitions[number].switches[s].restore();
        for (link, port) in self.links_of(switch).into_iter().zip(self.partitions[number].ports_of(s)) {
            match self.discards(link) {
                Some(discards) => self.partitions[number].switches[s].fail_output(port as u32, discards),
                None => self.bring_up(link),
            }
        }
    }

    /// True if anything has failed and has not been restored.
    pub fn has_failures(&self) -> bool {
        !self.failed.links.is_empty() || !self.failed.switches.is_empty()
    }

    /// Replaces the routing: packets that arrive at a switch from now on follow it.
    pub fn set_router(&mut self, router: &Arc<Router>) {
        for context in self.partitions.iter_mut().map(|partition| &mut partition.context) {
            context.routing = Arc::clone(router);
            context.route_table = router.route_table().cloned().unwrap_or_default();
            context.is_adaptive = router.is_adaptive();
        }
    }

    /// Sets an entry of a switch's forwarding table: packets for `to` that arrive there from now on leave by `port`. False if the
    /// switch has no table that can be set.
    pub fn set_route(&mut self, switch: SwitchId, to: HostId, port: PortNo) -> bool {
        let (number, _) = self.place_of(switch);
        Arc::make_mut(&mut self.partitions[number].context.routing).set_entry(switch, to, port)
    }

    fn is_down(&self, link: LinkId) -> bool {
        self.discards(link).is_some()
    }

    /// True if packets routed to a failed link are discarded; `None` if it works.
    fn discards(&self, link: LinkId) -> Option<bool> {
        let of_end = |direction: u32| {
            let (number, port) = self.directory.sender[(2 * link.0 + direction) as usize];
            let partition = &self.partitions[usize::from(number)];
            match partition.owners[port as usize] {
                Owner::Switch(s) => self.failed.switches.get(&partition.switches[s as usize].id()),
                Owner::Adapter(_) => None,
            }
        };
        self.failed.links.get(&link).or_else(|| of_end(0)).or_else(|| of_end(1)).copied()
    }

    /// A switch, as its partition and its number there.
    fn place_of(&self, switch: SwitchId) -> (usize, usize) {
        let found = self.partitions.iter().enumerate().find_map(|(number, partition)| {
            // The switches of a partition are in the order of their identifiers.
            let s = partition.switches.binary_search_by_key(&switch, fabricsim_fabric::Switch::id).ok()?;
            Some((number, s))
        });
        found.unwrap_or_else(|| panic!("there is no switch {switch:?}"))
    }

    fn links_of(&self, switch: SwitchId) -> Vec<LinkId> {
        let (number, s) = self.place_of(switch);
        let partition = &self.partitions[number];
        partition.ports_of(s).map(|port| LinkId(partition.context.ports.senders[port].channel / 2)).collect()
    }

    fn take_down(&mut self, link: LinkId, discards: bool) {
        let now = self.now();
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            let flight = self.partitions[usize::from(number)].fail_sender(port, discards, now);
            let (number, port) = self.directory.receiver[channel as usize];
            self.partitions[usize::from(number)].lose_on_link(port, &flight, now);
        }
    }

    fn bring_up(&mut self, link: LinkId) {
        let now = self.now();
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            self.partitions[usize::from(number)].restore_sender(port, now);
        }
    }
}

/// Times of packets on a link.
struct Flight {
    /// From the arrival of a packet at a switch to the event of its arrival.
    delay: Time,
    byte_time: ByteTime,
    /// True if the host at the other end takes packets at a rate of its own.
    is_slow: bool,
}

impl<B: Observer> Partition<B> {
    fn ports_of(&self, s: usize) -> std::ops::Range<usize> {
        let first = self.switches[s].first_port() as usize;
        first..first + self.switches[s].port_count()
    }

    /// The link of a sending port fails.
    fn fail_sender(&mut self, port: u32, discards: bool, now: Time) -> Flight {
        self.has_optional_features = true;
        let sender = &mut self.context.ports.senders[port as usize];
        self.failed.insert(port, std::mem::replace(&mut sender.busy_until, Time::MAX));
        sender.wake(port, now, &mut self.context.out);
        let flight = Flight {
            delay: sender.far_end_delay - sender.latency,
            byte_time: sender.byte_time,
            is_slow: matches!(sender.far_end, FarEnd::SlowHost(_)),
        };
        if let Owner::Switch(s) = self.owners[port as usize] {
            self.switches[s as usize].fail_output(port, discards);
        }
        flight
    }

    /// The link of a sending port works again.
    fn restore_sender(&mut self, port: u32, now: Time) {
        let Some(busy_until) = self.failed.remove(&port) else { return };
        let sender = &mut self.context.ports.senders[port as usize];
        sender.busy_until = busy_until;
        sender.wake(port, busy_until.max(now), &mut self.context.out);
        if let Owner::Switch(s) = self.owners[port as usize] {
            self.switches[s as usize].restore_output(port);
        }
    }

    /// Loses the packets in flight to a receiving port whose heads have not arrived before `now`.
    fn lose_on_link(&mut self, port: u32, flight: &Flight, now: Time) {
        let arena = &self.context.arena;
        let lost = self.context.out.calendar.take_if(now, |event| {
            let head_at = |time: Time| match event.kind() {
                Kind::Arrive => Some(time.saturating_sub(flight.delay)),
                Kind::Deliver if flight.is_slow => Some(arena[event.packet].arrived),
                Kind::Deliver => {
                    Some(time.saturating_sub(flight.byte_time.duration(arena[event.packet].packet.bytes)))
                }
                Kind::Wake | Kind::Look => None,
            };
            event.port() == port && head_at(Time(event.time)).is_some_and(|at| at >= now)
        });
        for event in lost {
            self.lose_in_flight(port, event.packet, LossCause::LinkFailed, now);
        }
    }

    /// The switch fails; its links have.
    fn fail_switch(&mut self, s: usize, now: Time) {
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
            self.lose_in_flight(event.port(), event.packet, LossCause::SwitchFailed, now);
        }
    }

    /// Loses a packet on the link to a receiving port, or behind it, and returns the space that is kept for it there.
    fn lose_in_flight(&mut self, port: u32, packet: u32, cause: LossCause, now: Time) {
        self.context.now = now;
        let returns_space = match self.owners[port as usize] {
            Owner::Switch(_) => true,
            Owner::Adapter(_) => self.has_admission_control(),
        };
        if returns_space {
            let slot = &self.context.arena[packet];
            let (lane, size) = (slot.lane, (slot.packet.bytes, slot.blocks));
            return_space(&mut self.context, port, lane, (ByteTime::default(), Time::ZERO), size);
        }
        // It has occupied the link.
        let links = u64::from(self.context.arena[packet].packet.hops) + 1;
        self.lose(packet, cause, links);
    }

    /// Loses the packets that switches have discarded at this time step.
    #[cold]
    #[inline(never)]
    pub(crate) fn lose_discarded(&mut self) {
        for (packet, cause) in std::mem::take(&mut self.context.out.discarded) {
            let links = self.context.arena[packet].packet.hops.into();
            self.lose(packet, cause, links);
        }
    }

    /// A packet that is in no buffer and no queue, and has crossed a number of `links`, is lost.
    fn lose(&mut self, index: u32, cause: LossCause, links: u64) {
        let now = self.context.now;
        let packet = &self.context.arena[index].packet;
        self.totals.lost.count(cause);
        self.totals.packet_hops += links;
        self.totals.fingerprint = self.totals.fingerprint.wrapping_add(fingerprint(packet, now.0));
        self.context.observer.lost(now, packet, cause);
        self.context.arena.release(index);
    }
}
