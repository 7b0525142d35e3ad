//! A partition of the fabric with its own event queue. Partitions exchange only what travels over a link.

mod acceptance;
mod admission;
mod devices;
mod failures;
mod features;
mod incoming;
mod parts;
mod pause;
mod publish;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fabricsim_fabric::flow_control::{refresh, send_flow_control};
use fabricsim_fabric::pause::send_pauses;
use fabricsim_fabric::{Arena, Features, NONE, PartitionContext, Rules, Switch, Table, injection_lanes};
use fabricsim_model::{ExtensionHeaders, Observer};
use fabricsim_routing::{MulticastTables, Router, RoutingFunction};
use fabricsim_units::Time;

use self::devices::note_changes;
use self::features::is_plain;
pub(crate) use self::parts::Parts;
use crate::adapter::{Adapter, ArrivalFilter};
use crate::assembly::Directory;
use crate::calendar::{Calendar, Event, Kind};
use crate::failed::FailedPorts;
use crate::mail::{CONTROL, HEAR, PartitionOutbox};
use crate::p_keys::PKeys;
use crate::publisher::Publisher;
use crate::switch_errors::SwitchErrors;
use crate::totals::Totals;

/// The entity that a port belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    Switch(u32),
    Adapter(u32),
}

#[derive(Clone, fabricsim_state::State)]
pub(crate) struct Partition<B> {
    #[state(each)]
    pub(crate) switches: Table<Switch>,
    #[state(each)]
    pub(crate) adapters: Vec<Adapter>,
    /// By port.
    #[state(fixed)]
    pub(crate) owners: Table<Owner>,
    pub(crate) context: PartitionContext<Router, B, PartitionOutbox>,
    pub(crate) totals: Totals,
    /// Switches and hosts that have to settle in the current time step.
    unsettled_switches: Vec<u32>,
    unsettled_adapters: Vec<u32>,
    /// Events of the present call of [`Partition::run`], and of all before.
    events: u64,
    earlier_events: u64,
    /// True if a feature adds work for every packet: one of [`Switch::has_optional_features`], errors of links, or admission
    /// control.
    pub(crate) has_optional_features: bool,
    /// True if there is nothing but [`PlainFeatures`] or, while routing is adaptive, [`AdaptiveFeatures`].
    is_plain: bool,
    /// True if adapters have devices, which programs use.
    #[state(fixed)]
    has_devices: bool,
    /// Adapters whose devices are noted: programs may have something to see there.
    noted: Vec<u32>,
    /// Arrivals that are reported to adapters.
    #[state(fixed)]
    arrival_filter: ArrivalFilter,
    /// True if hosts have admission control.
    #[state(fixed)]
    has_admission_control: bool,
    /// Loads that its switches broadcast, if the routing uses them, and the time of the next broadcast.
    pub(crate) publisher: Option<Publisher>,
    pub(crate) publish_at: Time,
    /// True if there are other partitions.
    #[state(fixed)]
    pub(crate) is_one_of_several: bool,
    /// Packets accepted in the current time step that are reported to adapters: adapters and numbers. They keep their slots until then.
    accepted: Vec<(u32, u32)>,
    /// Extension headers of the last one that was reported.
    extensions: ExtensionHeaders,
    /// True if hosts have a transport. Then a packet is delivered when its operation is visible.
    #[state(fixed)]
    transported: bool,
    /// Data packets lost, by stream; shorter where streams have lost none.
    lost_of_streams: Vec<u64>,
    /// Sending ports whose links have failed.
    pub(crate) failed: FailedPorts,
    /// True if hosts lose packets that arrive: because of errors, or of their partition.
    #[state(fixed)]
    refuses_arrivals: bool,
    /// Bit errors in switches, if there are any.
    #[state(fixed)]
    switch_errors: Option<SwitchErrors>,
    /// P_Key tables, if there are partitions of InfiniBand.
    #[state(fixed)]
    pub(crate) p_keys: Option<Arc<PKeys>>,
    /// True if switches check P_Keys.
    #[state(fixed)]
    pub(crate) enforces_partitions: bool,
    /// Ports whose flow control is due in the current time step.
    controls: Vec<u32>,
}

impl<B: Observer> Partition<B> {
    pub(crate) fn new(
        parts: Parts,
        (routing, multicast): (Arc<Router>, Arc<MulticastTables>),
        rules: Rules,
        observer: B,
    ) -> Self {
        let Parts { switches, mut adapters, owners, ports, switch_errors, p_keys } = parts;
        let transported = adapters.iter().any(Adapter::acknowledges);
        let arrival_filter = adapters.iter().map(Adapter::arrival_filter).max().unwrap_or_default();
        let has_admission_control = adapters.iter().any(|adapter| adapter.chain.admission.is_some());
        let has_errors = ports.senders.iter().any(|sender| sender.retry != NONE);
        let has_optional_features = has_admission_control
            || has_errors
            || switch_errors.is_some()
            || p_keys.is_some()
            || switches.iter().any(Switch::has_optional_features);
        let is_plain = !has_optional_features && is_plain(&switches, &owners, &ports, &rules);
        let published = Publisher::new(&routing, switches.iter().map(Switch::id));
        let (publisher, load_broadcast) =
            published.map_or_else(Default::default, |(p, load_broadcast)| (Some(p), load_broadcast));
        let step = ports.senders.iter().map(|sender| sender.latency).min().unwrap_or_default();
        let injection_lanes = injection_lanes(routing.as_ref(), &rules, ports.lane_count);
        Self {
            has_optional_features,
            is_plain,
            has_devices: adapters.iter_mut().any(|adapter| adapter.device().is_some()),
            noted: Vec::new(),
            switches,
            adapters,
            owners,
            context: PartitionContext {
                now: Time::ZERO,
                ports,
                arena: Arena::default(),
                out: PartitionOutbox {
                    calendar: Calendar::new(step),
                    mail: Vec::new(),
                    smallest: u32::MAX,
                    discarded: Vec::new(),
                },
                observer,
                route_table: routing.route_table().cloned().unwrap_or_default(),
                injection_lanes,
                is_adaptive: routing.is_adaptive(),
                routing,
                multicast,
                refused_ports: Vec::new(),
                rules,
                hops: Vec::new(),
                load_broadcast,
            },
            totals: Totals::default(),
            unsettled_switches: Vec::new(),
            unsettled_adapters: Vec::new(),
            events: 0,
            earlier_events: 0,
            arrival_filter,
            has_admission_control,
            publish_at: if publisher.is_some() { Time::ZERO } else { Time::MAX },
            publisher,
            is_one_of_several: false,
            accepted: Vec::new(),
            extensions: ExtensionHeaders::default(),
            transported,
            lost_of_streams: Vec::new(),
            failed: FailedPorts::default(),
            refuses_arrivals: switch_errors.is_some() || p_keys.is_some(),
            switch_errors,
            enforces_partitions: p_keys.as_ref().is_some_and(|keys| keys.enforces()),
            p_keys,
            controls: Vec::new(),
        }
    }

    /// Schedules the first message of every host, and reports the iterations of jobs that send nothing.
    pub(crate) fn start(&mut self) {
        for Adapter { chain, .. } in &mut self.adapters {
            chain.report_events(Time::ZERO, &mut self.context.observer);
            if let Some(at) = chain.app.next(Time::ZERO) {
                self.context.ports.ensure_wake(chain.port, at, &mut self.context.out);
            }
        }
    }

    /// Wakes a host at `at`, which is not before now, to send.
    pub(crate) fn wake_host(&mut self, h: usize, at: Time) {
        let PartitionContext { ports, out, .. } = &mut self.context;
        ports.ensure_wake(self.adapters[h].chain.port, at, out);
    }

    /// [`Partition::run`] for certain features, as one function: it is called once for many events.
    #[inline(never)]
    fn run_as<F: Features>(&mut self, until: Time, budget: u64) -> bool {
        self.earlier_events += std::mem::take(&mut self.events);
        while let Some(time) = self.context.out.calendar.next_before(until.0) {
            if time >= until.0 {
                break;
            }
            if self.events >= budget {
                return true;
            }
            if time >= self.publish_at.0 {
                self.publish(Time(time), true);
            }
            self.context.now = Time(time);
            while let Some(event) = self.context.out.calendar.pop_at(time) {
                self.events += 1;
                self.note::<F>(event, time);
            }
            self.settle::<F>();
        }
        if self.publish_at < until {
            self.publish(until, false);
        }
        false
    }

    #[inline(always)]
    fn note<F: Features>(&mut self, event: Event, time: u64) {
        let port = event.port();
        match event.kind() {
            Kind::Arrive => self.arrive::<F>(port, event.packet()),
            Kind::Wake => self.wake::<F>(port, time),
            Kind::Deliver => self.deliver::<F>(port, event.packet(), time),
            Kind::Look => self.look(port, event.packet(), time),
        }
    }

    #[inline(always)]
    fn arrive<F: Features>(&mut self, port: u32, packet: u32) {
        let Owner::Switch(s) = self.owners[port as usize] else {
            unreachable!("the arrival of a packet at a host is scheduled when it is sent");
        };
        if F::OPTIONAL && self.context.ports.pause.is_some() && !self.finds_space(port, packet) {
            return;
        }
        if F::OPTIONAL && self.enforces_partitions && self.is_refused(s, port, packet) {
            return;
        }
        let switch = &mut self.switches[s as usize];
        if switch.arrive::<F, _, _, _>(&mut self.context, port, packet) {
            self.unsettled_switches.push(s);
        }
    }

    #[inline(always)]
    fn wake<F: Features>(&mut self, port: u32, time: u64) {
        if !self.context.ports.senders[port as usize].is_woken(Time(time)) {
            return;
        }
        match self.owners[port as usize] {
            Owner::Switch(s) => {
                if self.switches[s as usize].woken::<F>(port) {
                    self.unsettled_switches.push(s);
                }
            }
            // A host has one port: it is woken once per time step.
            Owner::Adapter(h) => self.unsettled_adapters.push(h),
        }
    }

    #[inline(never)]
    fn look(&mut self, port: u32, packet: u32, time: u64) {
        match packet {
            NONE => {}
            CONTROL => return self.controls.push(port),
            HEAR => return self.hear_pause(port),
            packet => return self.lose_damaged(port, packet, Time(time)),
        }
        if let Owner::Switch(s) = self.owners[port as usize]
            && self.switches[s as usize].look(port, Time(time))
        {
            self.unsettled_switches.push(s);
        }
    }

    #[inline(always)]
    fn settle<F: Features>(&mut self) {
        if F::OPTIONAL && !self.controls.is_empty() {
            self.send_flow_control();
        }
        if !self.accepted.is_empty() {
            self.notify_adapters();
        }
        for &s in &self.unsettled_switches {
            let switch = &mut self.switches[s as usize];
            switch.settle::<F, _, _, _>(&mut self.context);
        }
        self.unsettled_switches.clear();
        if F::OPTIONAL && !self.context.out.discarded.is_empty() {
            self.lose_discarded();
        }
        self.settle_adapters::<F>();
        if F::OPTIONAL && self.has_admission_control {
            while self.admit_waiting() {
                self.settle_adapters::<F>();
            }
        }
        self.unsettled_adapters.clear();
    }

    /// Flow-control packets and pause frames go before data: they leave before anything is chosen.
    #[cold]
    #[inline(never)]
    fn send_flow_control(&mut self) {
        let mut ports = std::mem::take(&mut self.controls);
        for port in ports.drain(..) {
            if self.context.ports.pause.is_some() {
                send_pauses(&mut self.context, port);
            } else {
                send_flow_control(&mut self.context, port);
            }
        }
        self.controls = ports;
    }

    #[inline(always)]
    fn settle_adapters<F: Features>(&mut self) {
        for &h in &self.unsettled_adapters {
            let adapter = &mut self.adapters[h as usize];
            let before = adapter.chain.sent;
            adapter.settle::<F, _, _, _>(&mut self.context);
            self.totals.injected += adapter.chain.sent - before;
            if self.has_devices {
                note_changes(adapter, h, &mut self.noted);
            }
        }
    }

    /// Time after an event before which it has no effect in another partition, as far as this one knows.
    pub(crate) fn lookahead(&self, directory: &Directory) -> Time {
        let reach = &directory.reach;
        if self.has_optional_features || self.has_devices || self.publisher.is_some() {
            return reach.latency;
        }
        reach.of_common(self.context.out.smallest)
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.earlier_events + self.events
    }

    /// Reports the ports that are still stalled at the end to the observer.
    pub(crate) fn finish(&mut self, now: Time) {
        for sender in self.context.ports.senders.iter_mut() {
            sender.report_stall(now, &mut self.context.observer);
        }
        self.context.now = now;
        if self.context.ports.flow.is_some() {
            for port in 0..self.context.ports.senders.len() as u32 {
                refresh(&mut self.context, port);
            }
        }
        for switch in self.switches.iter_mut() {
            switch.finish(&mut self.context);
        }
        for pacing in self.adapters.iter_mut().filter_map(|adapter| adapter.chain.pacing.as_mut()) {
            pacing.finish(now, &mut self.context.observer);
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let arena = &self.context.arena;
        Totals {
            in_flight: u64::from(arena.live()),
            replicated: arena.copies.made,
            shared_links: arena.copies.shared_links,
            ..self.totals
        }
    }
}

/// A partition can be run by any thread.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Partition<fabricsim_model::NullObserver>>();
};
