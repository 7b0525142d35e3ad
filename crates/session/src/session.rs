use std::collections::BTreeMap;

use fabricsim_engine::{
    Advance, Engine, Extent, FabricChange, FaultPlan, PlannedChange, Prepared, Snapshot, Totals,
};
use fabricsim_model::Observer;
use fabricsim_spec::Allocation;
use fabricsim_topology::Failing;
use fabricsim_units::{LinkId, SwitchId, Time};

use crate::inject::{Entry, entries};
use crate::subnet::{SubnetReport, SubnetState};
use crate::watchdog::Watchdogs;

/// Maximum size of an injected message, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 40;

/// A fabric in operation. `B` observes it, one for each partition; see [`Feed`](crate::Feed) for observers to subscribe to.
///
/// A clone is an independent copy: it shares only what never changes, and both go on as a session that was never copied.
#[derive(Clone, fabricsim_state::State)]
pub struct Session<B> {
    pub(crate) engine: Engine<B>,
    #[state(fixed)]
    pub(crate) hosts: usize,
    #[state(fixed)]
    pub(crate) entries: Vec<Entry>,
    #[state(fixed)]
    pub(crate) largest_message: u64,
    /// Messages injected so far.
    pub(crate) injected: u32,
    /// True if no host opens messages any more.
    pub(crate) is_draining: bool,
    /// Subnet managers, if there are any.
    #[state(refuse = "a subnet manager (`subnet_manager`)")]
    subnet: Option<Box<SubnetState>>,
    /// Links whose flow-control packets are lost.
    watchdogs: Watchdogs,
    /// Failures to come.
    #[state(fixed)]
    plan: FaultPlan,
    /// Number of the next change of the plan.
    next_change: usize,
    /// True if an advance ended without an event that was left: what it returned depends on whether changes are planned.
    was_idle: bool,
    /// Ports of each switch, for changes of the caller's own.
    #[state(fixed)]
    pub(crate) switch_ports: Vec<u16>,
    #[state(fixed)]
    pub(crate) links: usize,
    /// True if switches allocate in rounds.
    #[state(fixed)]
    pub(crate) is_separable: bool,
}

impl<B: Observer> Session<B> {
    /// The fabric of an experiment at time zero; `observer` makes an observer for each partition.
    pub fn new(prepared: &Prepared, observer: impl FnMut() -> B) -> Self {
        let mut engine = prepared.engine(observer);
        let discards = prepared.faults.discards;
        let subnet = prepared.subnet.as_ref();
        let subnet =
            subnet.map(|plan| Box::new(SubnetState::new(plan, &prepared.graph, &mut engine, discards)));
        Self {
            engine,
            subnet,
            hosts: prepared.graph.hosts.len(),
            entries: entries(prepared),
            largest_message: LARGEST_MESSAGE
                .min(prepared.experiment.host.mtu.0.saturating_mul(u64::from(u32::MAX))),
            injected: 0,
            is_draining: false,
            watchdogs: Watchdogs::new(prepared.experiment.switch.retraining_time),
            plan: prepared.faults.clone(),
            next_change: 0,
            was_idle: false,
            switch_ports: prepared.graph.switches.iter().map(|switch| switch.ports.len() as u16).collect(),
            links: prepared.graph.links.len(),
            is_separable: prepared.experiment.switch.allocation == Allocation::Separable,
        }
    }

    /// Everything before this time has happened, and nothing since.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Counters of all that has happened.
    pub fn totals(&self) -> Totals {
        self.engine.totals()
    }

    /// Advances to `until`; does nothing if that is not after now. Calls `look` every few hundred
    /// thousand events with the time and the counters so far. If it returns false, the session stops and can resume later.
    pub fn advance_to(&mut self, until: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> Advance {
        self.advance_until(until, look, false)
    }

    /// [`Session::advance_to`] for a caller that looks at the state only if the session is idle or has stopped ([`Engine::advance_quietly`]).
    pub fn advance_quietly_to(
        &mut self,
        until: Time,
        look: &mut dyn FnMut(Time, &Totals) -> bool,
    ) -> Advance {
        self.advance_until(until, look, true)
    }

    fn advance_until(
        &mut self,
        until: Time,
        look: &mut dyn FnMut(Time, &Totals) -> bool,
        quietly: bool,
    ) -> Advance {
        loop {
            self.make_due_changes();
            if until <= self.now() {
                return Advance::Reached;
            }
            let next = self.next_change_at();
            let how = if quietly && until < next {
                self.engine.advance_quietly(until, look)
            } else {
                self.engine.advance(until.min(next), look)
            };
            if how == Advance::Stopped {
                return how;
            }
            if until < next {
                self.was_idle |= how == Advance::Idle;
                // A change to come may set packets going again.
                return if self.may_change() { Advance::Reached } else { how };
            }
        }
    }

    /// True if a planned change or a subnet manager may still change the fabric.
    fn may_change(&self) -> bool {
        let is_planned = self.next_change < self.plan.changes.len();
        is_planned
            || self.watchdogs.next_time().is_some()
            || self.subnet.as_ref().is_some_and(|subnet| !subnet.is_settled())
    }

    /// Replaces the planned changes by those of `plan`, of which those before now or at it are the same. Returns false, and changes nothing,
    /// if a session with this plan from its start could be in another state: they differ before now, or no event was left before, and only
    /// one of the two plans has changes after now.
    pub fn replan(&mut self, plan: &FaultPlan) -> bool {
        let now = self.now();
        let made = |plan: &FaultPlan| plan.changes.iter().take_while(|change| change.at <= now).count();
        let has_more = |plan: &FaultPlan| plan.changes.len() > made(plan);
        let is_same = made(plan) == made(&self.plan)
            && plan.discards == self.plan.discards
            && plan.changes.iter().zip(self.plan.changes.iter()).take(made(plan)).all(|(a, b)| a.is_same(b));
        if !is_same || self.was_idle && has_more(plan) != has_more(&self.plan) {
            return false;
        }
        self.plan = plan.clone();
        true
    }

    /// After a state was loaded: takes up the routes of the planned changes that it has behind it, which follow from the experiment.
    pub fn take_up_routes(&mut self) {
        let plan = self.plan.clone();
        let made = plan.changes.iter().take(self.next_change).rev();
        let routes = made.filter_map(|planned| match &planned.change {
            FabricChange::Route(routes) => Some(routes),
            _ => None,
        });
        if let Some(routes) = routes.into_iter().next() {
            self.engine.set_routes(routes);
        }
    }

    /// Time of the next planned change, or of the next event of subnet management.
    fn next_change_at(&self) -> Time {
        let planned = self.plan.changes.get(self.next_change).map(|change| change.at);
        let managed = self.subnet.as_ref().and_then(|subnet| subnet.next_time());
        planned.into_iter().chain(managed).chain(self.watchdogs.next_time()).min().unwrap_or(Time::MAX)
    }

    /// Time of the next change of the fabric that is planned, or that a subnet manager makes.
    pub(crate) fn next_change(&self) -> Time {
        self.next_change_at()
    }

    /// Makes the planned changes whose time has come, then handles the events of subnet management.
    fn make_due_changes(&mut self) {
        let now = self.now();
        while let Some(PlannedChange { at, change }) = self.plan.changes.get(self.next_change)
            && *at <= now
        {
            match change.clone() {
                FabricChange::Fail(Failing::Links(links)) => {
                    for link in links {
                        self.fail_link(link);
                    }
                }
                FabricChange::Fail(Failing::FlowControl(links)) => {
                    for link in links {
                        self.watchdogs.lose(link, &mut self.engine);
                    }
                }
                FabricChange::Restore(Failing::FlowControl(links)) => {
                    for link in links {
                        self.watchdogs.hear(link, &mut self.engine);
                    }
                }
                FabricChange::Fail(Failing::Switch(switch)) => self.fail_switch(switch),
                FabricChange::Restore(Failing::Links(links)) => {
                    for link in links {
                        self.restore_link(link);
                    }
                }
                FabricChange::Restore(Failing::Switch(switch)) => self.restore_switch(switch),
                FabricChange::Route(routes) => self.engine.set_routes(&routes),
            }
            self.next_change += 1;
        }
        self.watchdogs.run(&mut self.engine);
        if let Some(subnet) = &mut self.subnet {
            subnet.run(&mut self.engine);
        }
    }

    pub(crate) fn fail_link(&mut self, link: LinkId) {
        match &mut self.subnet {
            Some(subnet) => subnet.fail_link(link, &mut self.engine),
            None => self.engine.fail_link(link, self.plan.discards),
        }
    }

    pub(crate) fn restore_link(&mut self, link: LinkId) {
        match &mut self.subnet {
            Some(subnet) => subnet.restore_link(link, &mut self.engine),
            None => self.engine.restore_link(link),
        }
    }

    pub(crate) fn fail_switch(&mut self, switch: SwitchId) {
        if let Some(subnet) = &mut self.subnet {
            subnet.fail_switch(switch, &mut self.engine);
        }
        self.engine.fail_switch(switch, self.plan.discards);
    }

    pub(crate) fn restore_switch(&mut self, switch: SwitchId) {
        self.engine.restore_switch(switch);
        if let Some(subnet) = &mut self.subnet {
            subnet.restore_switch(switch, &mut self.engine);
        }
    }

    /// What subnet managers have done so far; none without.
    pub fn subnet(&self) -> Option<SubnetReport> {
        self.subnet.as_ref().map(|subnet| subnet.report())
    }

    /// Number of times that each link was trained anew, because no flow-control packets arrived.
    pub fn recoveries(&self) -> &BTreeMap<LinkId, u64> {
        self.watchdogs.recoveries()
    }

    /// True if a link or a switch has failed and has not been restored, or packets were lost.
    pub fn has_lost_or_failed(&self) -> bool {
        let lost = self.engine.totals().lost;
        self.engine.has_failures() || lost.in_network() > 0
    }

    /// The state of the fabric now, as a value of its own.
    pub fn snapshot(&self, extent: Extent) -> Snapshot {
        self.engine.snapshot(extent)
    }

    /// No host opens another message from now on; [`Session::inject`] refuses messages.
    pub fn stop_traffic(&mut self) {
        self.is_draining = true;
        self.engine.stop_sources();
    }

    /// The engine, for measurement: its observers, sources and counters.
    pub fn engine(&self) -> &Engine<B> {
        &self.engine
    }

    /// The engine, for measurement.
    pub fn engine_mut(&mut self) -> &mut Engine<B> {
        &mut self.engine
    }

    /// Ends the session. Returns the engine.
    pub fn into_engine(self) -> Engine<B> {
        self.engine
    }
}
