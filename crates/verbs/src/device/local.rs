//! Work requests that need no packet: when they begin, and what they do.

use fabricsim_protocols::infiniband::{Completion, QueuePairKind, QueuePairState, Status};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::complete::RequesterReports;
use super::{Device, Timer};
use crate::error::{VerbsError, full, invalid};
use crate::local::{LocalOperation, LocalRequest, Waiting};
use crate::queue_pair::{Posted, QueuePair};
use crate::service::Sending;

impl Device {
    /// Posts a work request that needs no packet: `IBV_WR_BIND_MW` or `IBV_WR_LOCAL_INV`.
    pub fn post_local(&mut self, qp: Qpn, request: LocalRequest, now: Time) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        let fail = |text: String| invalid(format!("post_send: queue pair {}: {text}", qp.0));
        if let LocalOperation::Bind { mw, r_key, .. } = request.operation {
            self.check_key(mw, r_key).map_err(fail)?;
        }
        let since = now + self.costs.request();
        let Some(pair) = &mut self.qps[index as usize] else { return Ok(()) };
        let state = pair.state;
        if !matches!(pair.init.kind, QueuePairKind::Rc | QueuePairKind::Uc | QueuePairKind::XrcSend) {
            let kind = pair.init.kind;
            return Err(fail(format!(
                "a queue pair of {kind} has no memory windows: must be RC, UC or XRC_SEND"
            )));
        }
        if matches!(state, QueuePairState::Reset | QueuePairState::Init | QueuePairState::ReadyToReceive) {
            return Err(fail(format!("state {state}: must be RTS")));
        }
        let most = pair.init.capacities.send;
        if pair.sends.len() >= most as usize {
            let text = format!("the send queue is full ({most} work requests); poll completions");
            return Err(full(format!("post_send: queue pair {}: {text}", qp.0)));
        }
        let number = pair.next_send();
        pair.sends.push_back(Posted {
            wr_id: request.wr_id,
            opcode: request.opcode(),
            signaled: request.signaled || pair.init.signal_all,
            list: Vec::new(),
            inline: None,
            length: 0,
            address: None,
            since,
            has_ended: false,
        });
        if state == QueuePairState::Error {
            self.completions.push(ended(number, Status::Flushed));
            self.end_sends(index, now);
            return Ok(());
        }
        let LocalRequest { operation, fence, .. } = request;
        let local = pair.local.get_or_insert_default();
        local.waiting.push_back(Waiting::Local { number, operation, fence });
        self.begin_local(index, now);
        Ok(())
    }

    /// Begins the first local operation of a send queue, if it may.
    pub(super) fn begin_local(&mut self, index: u32, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(local) = &mut qp.local else { return };
        let Some(&Waiting::Local { number, fence, .. }) = local.waiting.front() else { return };
        let Some(requester) = qp.requester.as_ref().filter(|_| !local.has_begun) else { return };
        let waits = if fence { requester.pending() > 0 } else { requester.has_more() };
        if waits || matches!(qp.state, QueuePairState::SendQueueDrain | QueuePairState::Error) {
            return;
        }
        local.has_begun = true;
        let since = qp.send(number).map_or(now, |posted| posted.since.max(now));
        let at = self.fetch(since, self.costs.message.max(self.costs.packet));
        self.timers.set(at.max(now + Time(1)), (index, Timer::Local));
    }

    /// Executes the local operation that has begun, and lets the requests behind it follow.
    pub(super) fn execute_local(&mut self, index: u32, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(local) = qp.local.as_mut().filter(|local| local.has_begun) else { return };
        let Some(&Waiting::Local { number, operation, .. }) = local.waiting.front() else { return };
        local.has_begun = false;
        let of = (qp.pd, qp.number);
        let failed = match operation {
            LocalOperation::Bind { mw, r_key, binding } => {
                (!self.memory.bind(of, mw, r_key, binding)).then_some(Status::MemoryWindowBind)
            }
            // As the kernel's software adapter (rxe) reports it.
            LocalOperation::Invalidate(r_key) => {
                (!self.memory.windows.invalidate(of, r_key)).then_some(Status::LocalQueuePair)
            }
        };
        if let Some(status) = failed {
            qp.failed = Some((number, status));
            self.break_off(index, now);
            return;
        }
        local.waiting.pop_front();
        if qp.requester.as_ref().map_or(0, Sending::pending) == 0 {
            self.end_executed(index, ended(number, Status::Success), now);
        } else {
            local.executed.push_back(number);
        }
        self.release(index, now);
    }

    /// Gives the requester what waited behind a local operation, up to the next one.
    fn release(&mut self, index: u32, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let (Some(local), Some(requester)) = (&mut qp.local, &mut qp.requester) else { return };
        while let Some(&Waiting::Work(work, to)) = local.waiting.front() {
            let mut reports =
                RequesterReports::new(&mut self.memory, &qp.sends, qp.first_send, &mut self.completions);
            if requester.post(work, to, &mut reports).is_err() {
                qp.failed = Some((work.id, Status::LocalQueuePair));
                self.break_off(index, now);
                return;
            }
            local.waiting.pop_front();
        }
        self.begin_local(index, now);
        self.schedule_request(index, now);
    }

    /// Ends the executed operations that come directly behind a request that has ended.
    pub(super) fn end_locals_behind(&mut self, index: u32, number: u64, now: Time) {
        let mut next = number + 1;
        while let Some(Some(qp)) = self.qps.get_mut(index as usize)
            && let Some(local) = &mut qp.local
            && local.executed.front() == Some(&next)
        {
            local.executed.pop_front();
            self.end_executed(index, ended(next, Status::Success), now + self.costs.receive);
            next += 1;
        }
    }
}

/// Ends of the requests that wait for local operations, in the error state.
pub(super) fn flushed(qp: &mut QueuePair) -> Vec<Completion> {
    let Some(local) = &mut qp.local else { return Vec::new() };
    local.has_begun = false;
    let waiting = std::mem::take(&mut local.waiting);
    waiting.iter().map(|waiting| ended(waiting.number(), Status::Flushed)).collect()
}

fn ended(number: u64, status: Status) -> Completion {
    Completion { id: number, status, original: 0 }
}
