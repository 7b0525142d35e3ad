//! The requester's adapter: completions, data of READs, and their check.

use fabricsim_wire::headers::RnrTimer;

use super::far::Content;
use super::plan::{Kind, MTU, Plan};
use super::world::{End, Fault};
use crate::infiniband::{Completion, MigrationEvent, RequesterOutbox, Status};

/// State of the requester's adapter.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Local {
    /// Messages up to the last one that has completed.
    pub(super) completed: u8,
    /// Status of the first message that has failed.
    pub(super) failed: Option<Status>,
    /// The READ whose data arrives, and the number of its packets that have.
    reading: u8,
    parts: u8,
    pub(super) timer_runs: bool,
    pub(super) waits: bool,
}

/// What a configuration allows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    /// More packets may be lost than retries repair.
    pub(super) retries_exceeded: bool,
    /// The receiver may be not ready more often than retries are left.
    pub(super) not_ready: bool,
    /// The user may bring an end into the error state.
    pub(super) flushed: bool,
}

/// Call of the requester.
pub(super) struct Call<'a> {
    pub(super) plan: &'a Plan,
    pub(super) allowed: Allowed,
    pub(super) local: &'a mut Local,
    /// Messages that the responder has executed.
    pub(super) executed: u8,
    pub(super) content: Content,
    /// Its paths.
    pub(super) end: &'a mut End,
    pub(super) path_has_failed: bool,
    pub(super) fault: Option<Fault>,
}

impl Call<'_> {
    fn report(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    fn succeed(&mut self, index: u8, original: u64) {
        let Some(message) = self.plan.get(index) else { return self.report(Fault::Completion) };
        if message.kind == Kind::Read && (self.local.reading, self.local.parts) != (index, message.packets) {
            self.report(Fault::Result);
        }
        if message.kind == Kind::Atomic && original != self.plan.turn(index) {
            self.report(Fault::Result);
        }
        if message.is_bad || self.local.failed.is_some() {
            self.report(Fault::Error);
        }
        if index >= self.executed {
            self.report(Fault::Completion);
        }
    }

    fn fail(&mut self, index: u8, status: Status) {
        if self.local.failed.is_some() {
            if status != Status::Flushed {
                self.report(Fault::Error);
            }
            return;
        }
        self.local.failed = Some(status);
        let is_allowed = match status {
            Status::RetriesExceeded => self.allowed.retries_exceeded,
            Status::Flushed => self.allowed.flushed,
            Status::ReceiverNotReady => {
                self.allowed.not_ready && self.plan.get(index).is_some_and(|message| message.takes_receive())
            }
            status => self.plan.failure() == Some((index, status)),
        };
        if !is_allowed {
            self.report(Fault::Error);
        }
    }
}

impl RequesterOutbox for Call<'_> {
    fn timer(&mut self, runs: bool) {
        self.local.timer_runs = runs;
    }

    fn wait(&mut self, _: RnrTimer) {
        self.local.waits = true;
    }

    fn migrate(&mut self) -> bool {
        if self.end.migration.fail() == MigrationEvent::Failed {
            return false;
        }
        self.end.path = 1;
        if !self.path_has_failed {
            self.report(Fault::Path);
        }
        true
    }

    fn read(&mut self, id: u64, offset: u32, length: u32) {
        let Content { message: writer, part, .. } = self.content;
        if u64::from(self.local.reading) != id {
            (self.local.reading, self.local.parts) = (id as u8, 0);
        }
        let parts = self.local.parts;
        let is_next = offset == u32::from(parts) * MTU && length == MTU && part == parts;
        if !is_next || !self.plan.allows(id as u8, part, writer) {
            self.report(Fault::Result);
        }
        self.local.parts += 1;
    }

    fn complete(&mut self, completion: Completion) {
        let index = completion.id as u8;
        // Those between are not signaled, and have succeeded.
        let between = self.local.completed..index;
        if index < self.local.completed {
            return self.report(Fault::Completion);
        }
        for skipped in between {
            let is_silent = self.plan.get(skipped).is_some_and(|message| !message.signaled);
            if !is_silent || self.local.failed.is_some() {
                self.report(Fault::Completion);
            }
        }
        self.local.completed = index + 1;
        match completion.status {
            Status::Success => self.succeed(index, completion.original),
            status => self.fail(index, status),
        }
    }
}
