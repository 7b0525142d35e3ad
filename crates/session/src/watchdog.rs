//! Watchdogs of flow control: a link whose ends hear no flow-control packets is trained anew (section 7.9.4 of the specification).

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_engine::Engine;
use fabricsim_model::Observer;
use fabricsim_units::{LinkId, Time};

/// Links whose flow-control packets are lost, and the outcome.
#[derive(Clone, Debug, Default, fabricsim_state::State)]
pub(crate) struct Watchdogs {
    /// Time for which a link is trained.
    #[state(fixed)]
    retraining_time: Time,
    /// Links whose flow-control packets are lost.
    losing: BTreeSet<LinkId>,
    /// Links that are trained.
    training: BTreeSet<LinkId>,
    /// The end of a training, or the expiry of a watchdog, by time.
    due: BTreeSet<(Time, LinkId)>,
    recoveries: BTreeMap<LinkId, u64>,
}

impl Watchdogs {
    pub(crate) fn new(retraining_time: Time) -> Self {
        Self { retraining_time, ..Self::default() }
    }

    /// Time of the next change.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Number of times that each link was trained anew.
    pub(crate) fn recoveries(&self) -> &BTreeMap<LinkId, u64> {
        &self.recoveries
    }

    /// The flow-control packets of a link are lost from now on.
    pub(crate) fn lose<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        let expires = engine.lose_flow_control(link, true);
        self.losing.insert(link);
        self.due.insert((expires, link));
    }

    /// They arrive again.
    pub(crate) fn hear<B: Observer>(&mut self, link: LinkId, engine: &mut Engine<B>) {
        engine.lose_flow_control(link, false);
        self.losing.remove(&link);
        if !self.training.contains(&link) {
            self.due.retain(|(_, of)| *of != link);
        }
    }

    /// Makes the changes that are due. While a link is trained, what is on it is lost, and what is for it waits.
    pub(crate) fn run<B: Observer>(&mut self, engine: &mut Engine<B>) {
        let now = engine.now();
        while let Some(&(at, link)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            if self.training.remove(&link) {
                engine.restore_link(link);
                let expires = engine.restart_flow_control(link);
                if self.losing.contains(&link) {
                    self.due.insert((expires, link));
                }
            } else {
                *self.recoveries.entry(link).or_default() += 1;
                engine.fail_link(link, false);
                self.training.insert(link);
                self.due.insert((now.saturating_add(self.retraining_time), link));
            }
        }
    }
}
