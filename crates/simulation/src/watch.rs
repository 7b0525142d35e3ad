//! Watch for deadlock and for lanes that starve, at the checkpoints of a run.

use fabricsim_analysis::find_deadlock;
use fabricsim_engine::{Advance, Extent, Prepared, Snapshot};
use fabricsim_model::Observer;
use fabricsim_session::Session;
use fabricsim_topology::Graph;

use crate::outcome::{Status, deadlock_lines, refused_lines};
use crate::refusals::Refusals;
use crate::waiting::Waiting;

/// Findings so far.
#[derive(Clone, fabricsim_state::State)]
pub(crate) struct DeadlockWatch {
    checkpoints: u64,
    /// Number of the checkpoint at which the fabric is searched next.
    next_search: u64,
    /// The cycle, a line for each buffer.
    pub(crate) deadlock: Vec<String>,
    /// True if the fabric has stopped with packets in flight and without a deadlock: a defect.
    pub(crate) is_silent: bool,
    /// True if everything has stopped because links or switches have failed.
    pub(crate) waits_for_lost: bool,
    /// True if lifetimes of packets end every cyclic dependency: then none is a deadlock.
    #[state(fixed)]
    ends_cycles: bool,
    pub(crate) waiting: Waiting,
    pub(crate) refusals: Refusals,
}

impl DeadlockWatch {
    pub(crate) fn new(prepared: &Prepared) -> Self {
        Self {
            checkpoints: 0,
            next_search: 2,
            deadlock: Vec::new(),
            is_silent: false,
            waits_for_lost: false,
            ends_cycles: prepared.experiment.switch.has_lifetimes(),
            waiting: Waiting::default(),
            refusals: Refusals::new(&prepared.experiment),
        }
    }

    /// True if the next [`DeadlockWatch::take_stock`] looks at the state of the fabric although it is not idle.
    pub(crate) fn looks_next(&self, prepared: &Prepared) -> bool {
        self.checkpoints + 1 == self.next_search || prepared.experiment.host.response_queue.is_some()
    }

    /// Checks at a checkpoint whether the run is stuck, and sets its status if it is. `how` is the result of the last advance.
    pub(crate) fn take_stock<B: Observer>(
        &mut self,
        session: &Session<B>,
        prepared: &Prepared,
        how: Advance,
        status: &mut Option<Status>,
    ) {
        self.checkpoints += 1;
        let stuck = how == Advance::Idle && session.totals().in_flight > 0;
        // A search takes time in proportion to the fabric: at a few times of the run, and when nothing happens.
        if stuck || self.checkpoints == self.next_search {
            self.next_search = self.checkpoints * 3 / 2 + 1;
            let snapshot = session.snapshot(Extent::Queues);
            self.search(&snapshot, prepared, status);
            self.waiting.look(&snapshot, prepared);
        }
        if stuck || self.refusals.look(session.engine()) {
            self.search_at_hosts(session, &prepared.graph, status);
        }
        // With an empty event queue no event will ever follow.
        let is_silent = stuck || (how == Advance::Idle && !session.engine().sources_drained());
        self.is_silent = is_silent && status.is_none();
        self.waits_for_lost = self.is_silent && session.has_lost_or_failed();
        self.is_silent &= !self.waits_for_lost;
    }

    pub(crate) fn search(&mut self, snapshot: &Snapshot, prepared: &Prepared, status: &mut Option<Status>) {
        if self.ends_cycles {
            return;
        }
        if let Some(found) = find_deadlock(snapshot) {
            self.deadlock = deadlock_lines(&found, prepared);
            *status = Some(Status::Deadlock);
        }
    }

    /// Nothing moves any more, or only copies. If hosts refuse requests, they wait for room for their responses, and
    /// those for the room that the requests occupy.
    fn search_at_hosts<B: Observer>(
        &mut self,
        session: &Session<B>,
        graph: &Graph,
        status: &mut Option<Status>,
    ) {
        let refused = session.engine().refused();
        if status.is_none() && !refused.is_empty() {
            self.deadlock = refused_lines(&refused, graph);
            *status = Some(Status::Deadlock);
        }
    }
}
