//! Retries and errors.

use fabricsim_wire::headers::RnrTimer;

use super::{Requester, RequesterOutbox};
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{Completion, Status};

/// The number of RNR retries that has no limit.
const FOR_EVER: u8 = 7;

impl Requester {
    /// The timer has ended.
    pub fn expire(&mut self, out: &mut impl RequesterOutbox) {
        if self.is_broken || self.is_waiting || !self.awaits_responses() {
            return;
        }
        self.gap = None;
        self.retry(out);
    }

    /// The time of an RNR NAK is over.
    pub fn ready(&mut self, out: &mut impl RequesterOutbox) {
        let waited = std::mem::take(&mut self.is_waiting);
        self.is_waiting = waited && self.mutated(Mutation::StayWaiting);
        if waited && !self.is_broken {
            out.timer(self.awaits_responses());
        }
    }

    /// Brings the queue pair into the error state: every request ends as flushed.
    pub fn flush(&mut self, out: &mut impl RequesterOutbox) {
        self.fail(Status::Flushed, out);
    }

    /// Sends everything anew that is not acknowledged, if that is allowed once more, or on the second path.
    pub(super) fn retry(&mut self, out: &mut impl RequesterOutbox) {
        if self.retries > 0 {
            self.retries -= u8::from(!self.mutated(Mutation::RetryForEver));
        } else if out.migrate() {
            // What is sent now is the first copy on its path.
            if !self.mutated(Mutation::MigrateWithoutRetries) {
                self.retries = self.options.retries;
            }
        } else {
            self.fail(Status::RetriesExceeded, out);
            return;
        }
        if !self.mutated(Mutation::StayInPlace) {
            self.go_back();
        }
        out.timer(true);
    }

    /// A response with data is missing: its request is sent anew, once for each gap.
    pub(super) fn find_gap(&mut self, out: &mut impl RequesterOutbox) {
        if self.gap == Some(self.oldest) {
            return;
        }
        self.retry(out);
        self.gap = Some(self.oldest);
    }

    /// The receiver is not ready: everything is sent anew after a time.
    pub(super) fn not_ready(&mut self, time: RnrTimer, out: &mut impl RequesterOutbox) {
        if self.rnr_retries == 0 {
            self.fail(Status::ReceiverNotReady, out);
            return;
        }
        if self.options.rnr_retries != FOR_EVER && !self.mutated(Mutation::RetryNotReadyForEver) {
            self.rnr_retries -= 1;
        }
        self.go_back();
        self.is_waiting = true;
        out.timer(false);
        out.wait(time);
    }

    fn go_back(&mut self) {
        self.next = self.oldest;
        self.at = 0;
        self.reads = 0;
    }

    /// The first request ends with `status`, all others as flushed.
    pub(super) fn fail(&mut self, status: Status, out: &mut impl RequesterOutbox) {
        if self.is_broken {
            return;
        }
        self.is_broken = !self.mutated(Mutation::StayAliveAfterError);
        self.is_waiting = false;
        let mut status = status;
        for entry in std::mem::take(&mut self.queue) {
            out.complete(Completion { id: entry.work.id, status, original: 0 });
            if !self.mutated(Mutation::FlushWithCause) {
                status = Status::Flushed;
            }
            if self.mutated(Mutation::LeaveTheRest) {
                break;
            }
        }
        (self.at, self.reads) = (0, 0);
        (self.oldest, self.next, self.fresh) = (self.end, self.end, self.end);
        out.timer(false);
    }
}
