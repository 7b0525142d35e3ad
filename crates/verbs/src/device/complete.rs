//! Ends of work requests, and what the two state machines of a connection need of their adapter.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use fabricsim_protocols::infiniband::{
    Access, Atomic, Completion, Extra, Placement, QueuePairKind, Receive, Received, Remote, RequesterOutbox,
    ResponderOutbox, Status,
};
use fabricsim_units::Time;
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{Qpn, RKey, Srqn};

use super::{AsyncEvent, Device, Timer};
use crate::access::AccessFlags;
use crate::completion::{WcOpcode, WorkCompletion};
use crate::handles::Cq;
use crate::handles::Pd;
use crate::memory::{Memory, number, pieces};
use crate::path::AddressVector;
use crate::queue_pair::{HeldContent, Posted};
use crate::shared_queue::Receives;
use crate::translations::Translations;
use crate::work::ReceiveRequest;

impl Device {
    /// Completes the work requests that have ended.
    pub(super) fn end_sends(&mut self, index: u32, now: Time) {
        let mut completions = std::mem::take(&mut self.completions);
        for completion in completions.drain(..) {
            self.end_send(index, completion, now);
            self.end_locals_behind(index, completion.id, now);
        }
        self.completions = completions;
    }

    fn end_send(&mut self, index: u32, completion: Completion, now: Time) {
        let Some(qp) = &self.qps[index as usize] else { return };
        // What is not acknowledged has no response to execute.
        let is_acknowledged = !matches!(qp.init.kind, QueuePairKind::Uc | QueuePairKind::Ud);
        let executed = if is_acknowledged { now + self.costs.receive } else { now };
        self.end_executed(index, completion, executed);
    }

    /// Ends a work request that was executed at a time.
    pub(super) fn end_executed(&mut self, index: u32, completion: Completion, executed: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(place) = completion.id.checked_sub(qp.first_send) else { return };
        let Some(posted) = qp.sends.get_mut(place as usize) else { return };
        posted.has_ended = true;
        let mut status = completion.status;
        if let Some((_, failed)) = qp.failed.take_if(|(number, _)| *number == completion.id) {
            status = failed;
        }
        // A completion is written behind the data that it is of.
        let has_data = matches!(posted.opcode, WcOpcode::RdmaRead | WcOpcode::CompSwap | WcOpcode::FetchAdd);
        let visible = if has_data && status == Status::Success {
            self.translations.behind(executed) + self.costs.payload_write
        } else {
            executed
        } + self.costs.completion;
        let is_atomic = matches!(posted.opcode, WcOpcode::CompSwap | WcOpcode::FetchAdd);
        if is_atomic && status == Status::Success {
            self.memory.scatter(&posted.list, 0, &completion.original.to_ne_bytes());
        }
        if status == Status::Success && !posted.signaled {
            return;
        }
        let entry = WorkCompletion {
            wr_id: posted.wr_id,
            status,
            opcode: posted.opcode,
            byte_len: posted.length,
            qp_num: qp.number,
            source: None,
            has_grh: false,
            extra: Extra::None,
            solicited: false,
            visible,
        };
        let cq = qp.init.send_cq;
        self.complete(cq, entry, Some(completion.id));
    }

    /// Completes a receive request.
    pub(super) fn end_receive(
        &mut self,
        index: u32,
        receive: &ReceiveRequest,
        (status, opcode, byte_len, extra): (Status, WcOpcode, u32, Extra),
        (solicited, datagram, visible): (bool, Option<(AddressVector, Qpn, bool)>, Time),
    ) {
        let Some(qp) = &self.qps[index as usize] else { return };
        let visible = visible + self.costs.completion;
        let wr_id = receive.wr_id;
        let qp_num = qp.number;
        let source = datagram.map(|(host, qp, _)| (host, qp));
        let has_grh = datagram.is_some_and(|(_, _, has_grh)| has_grh);
        let entry = WorkCompletion {
            wr_id,
            status,
            opcode,
            byte_len,
            qp_num,
            source,
            has_grh,
            extra,
            solicited,
            visible,
        };
        let of_xrc = qp.taken_from.and_then(|srq| self.srqs.get(srq)?.init.xrc);
        let cq = of_xrc.map_or(qp.init.receive_cq, |(_, cq)| cq);
        self.complete(cq, entry, None);
    }

    pub(super) fn flush_receive(&mut self, index: u32, receive: &ReceiveRequest, now: Time) {
        self.end_receive(
            index,
            receive,
            (Status::Flushed, WcOpcode::Recv, 0, Extra::None),
            (false, None, now),
        );
    }

    fn complete(&mut self, cq: Cq, entry: WorkCompletion, send: Option<u64>) {
        let qp = entry.qp_num;
        let Some(Some(queue)) = self.cqs.get_mut(cq.0 as usize) else { return };
        self.completed += 1;
        let (overflowed_before, visible) = (queue.has_overflowed, entry.visible);
        if queue.add(entry, send) {
            return;
        }
        if !overflowed_before {
            self.events.push_back(AsyncEvent::CompletionQueueError(cq));
        }
        // The adapter is in the midst of its work.
        if let Some(index) = self.index(qp) {
            self.timers.set(visible, (index, Timer::Overflow));
        }
    }
}

/// Reports of a requester in one call.
pub(super) struct RequesterReports<'a> {
    memory: &'a mut Memory,
    sends: &'a VecDeque<Posted>,
    first: u64,
    /// Bytes of the packet that is being received.
    pub(super) content: Option<&'a [u8]>,
    /// Time at which what has arrived is executed, and where its data goes.
    pub(super) executed: Time,
    pub(super) translations: Option<&'a mut Translations>,
    /// Data of a READ has arrived.
    pub(super) is_executed: bool,
    /// The timer is to be set (true) or stopped.
    pub(super) timer: Option<bool>,
    /// Nothing is sent for a time.
    pub(super) wait: Option<RnrTimer>,
    /// The connection may go on over its second path.
    pub(super) may_migrate: bool,
    /// Retries are exceeded.
    pub(super) path_has_failed: bool,
    /// The request whose memory is not registered any more when data for it comes.
    pub(super) unwritable: Option<u64>,
    completions: &'a mut Vec<Completion>,
}

impl<'a> RequesterReports<'a> {
    pub(super) fn new(
        memory: &'a mut Memory,
        sends: &'a VecDeque<Posted>,
        first: u64,
        completions: &'a mut Vec<Completion>,
    ) -> Self {
        Self {
            memory,
            sends,
            first,
            content: None,
            executed: Time::ZERO,
            translations: None,
            is_executed: false,
            timer: None,
            wait: None,
            may_migrate: false,
            path_has_failed: false,
            unwritable: None,
            completions,
        }
    }
}

impl RequesterOutbox for RequesterReports<'_> {
    fn timer(&mut self, runs: bool) {
        self.timer = Some(runs);
    }

    fn wait(&mut self, time: RnrTimer) {
        self.wait = Some(time);
    }

    fn migrate(&mut self) -> bool {
        self.path_has_failed = true;
        self.may_migrate
    }

    fn read(&mut self, id: u64, offset: u32, length: u32) {
        self.is_executed = true;
        let posted = id.checked_sub(self.first).and_then(|place| self.sends.get(place as usize));
        let Some(posted) = posted else { return };
        if !self.memory.holds(&posted.list, offset, length) {
            self.unwritable = Some(id);
            return;
        }
        if let Some(translations) = &mut self.translations {
            translations.placed(self.executed, posted.pieces(offset, length));
        }
        if let Some(content) = self.content {
            self.memory.scatter(&posted.list, offset, content);
        }
    }

    fn complete(&mut self, completion: Completion) {
        self.completions.push(completion);
    }
}

/// Reports of a responder in one call, and the memory that it uses.
pub(super) struct ResponderReports<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) translations: &'a mut Translations,
    /// Time at which the packet is executed, or later if the adapter looks for the place of its data.
    pub(super) placed: Time,
    /// Time at which it can be answered.
    pub(super) answered: Time,
    pub(super) pd: Pd,
    pub(super) qp: Qpn,
    pub(super) access: AccessFlags,
    pub(super) receives: Receives<'a>,
    pub(super) taken: &'a mut Option<ReceiveRequest>,
    /// From the execution of a packet until its data is visible.
    pub(super) payload_write: Time,
    /// What the packet that is being received, or was held, has with it.
    pub(super) content: Option<Cow<'a, [u8]>>,
    /// It is the last of a WRITE.
    pub(super) ends_write: bool,
    /// The same of packets that have overtaken others.
    pub(super) held: &'a mut BTreeMap<u32, HeldContent>,
    /// The packet was executed.
    pub(super) is_executed: bool,
    /// Memory was used that may not be.
    pub(super) has_access_error: bool,
    /// The receive requests that have ended, with the times at which their data is visible.
    pub(super) ended: &'a mut Vec<(ReceiveRequest, Received, Time)>,
}

impl ResponderOutbox for ResponderReports<'_> {
    fn allows(&mut self, remote: Remote, length: u32, access: Access) -> bool {
        let needed = match access {
            Access::Write => AccessFlags::REMOTE_WRITE,
            Access::Read => AccessFlags::REMOTE_READ,
            Access::Atomic => AccessFlags::REMOTE_ATOMIC,
        };
        let range = (remote.va, u64::from(length));
        let is_allowed = self.access.has(needed)
            && self.memory.allows_remote((self.pd, self.qp), number(remote.r_key), range, needed);
        self.has_access_error |= !is_allowed;
        self.is_executed |= is_allowed;
        is_allowed
    }

    fn allows_receive(&mut self, offset: u32, length: u32) -> bool {
        self.taken.as_ref().is_some_and(|receive| self.memory.holds(&receive.list, offset, length))
    }

    fn take_receive(&mut self) -> Option<Receive> {
        let receive = self.receives.take()?;
        Some(self.keep(receive))
    }

    fn has_shared_queue(&mut self, srq: Srqn) -> bool {
        self.receives.has_queue(srq)
    }

    fn take_shared_receive(&mut self, srq: Srqn) -> Option<Receive> {
        let receive = self.receives.take_from(srq)?;
        Some(self.keep(receive))
    }

    fn receives_left(&mut self) -> u32 {
        self.receives.left()
    }

    fn place(&mut self, placement: Placement, length: u32) {
        self.is_executed = true;
        match placement {
            Placement::Receive { offset, .. } => {
                let Some(receive) = &*self.taken else { return };
                let memory = pieces(&receive.list, offset, length).map(|(_, va, length)| (va, length));
                self.placed = self.translations.known(self.placed, memory);
                if let Some(content) = &self.content {
                    self.memory.scatter(&receive.list, offset, content);
                }
            }
            Placement::Region(remote) => {
                self.placed = self.translations.known(self.placed, [(remote.va, length)].into_iter());
                let key = number(remote.r_key);
                if let Some(content) = &self.content {
                    self.memory.put(key, remote.va, content);
                }
                if self.ends_write {
                    let visible = self.visible();
                    self.memory.written(key, visible);
                }
            }
        }
    }

    fn atomic(&mut self, remote: Remote, operation: Atomic) -> u64 {
        self.is_executed = true;
        self.placed = self.translations.known(self.placed, [(remote.va, 8)].into_iter());
        self.answered = self.placed;
        let key = number(remote.r_key);
        let word = self.memory.bytes(key, remote.va, 8).and_then(|bytes| bytes.try_into().ok());
        let original = word.map_or(0, u64::from_ne_bytes);
        let new = match operation {
            Atomic::CompareSwap { compare, swap } if compare == original => swap,
            Atomic::CompareSwap { .. } => original,
            Atomic::FetchAdd(add) => original.wrapping_add(add),
        };
        self.memory.put(key, remote.va, &new.to_ne_bytes());
        original
    }

    fn invalidate(&mut self, r_key: RKey) -> bool {
        let is_allowed = self.memory.windows.invalidate((self.pd, self.qp), r_key);
        self.has_access_error |= !is_allowed;
        is_allowed
    }

    fn reads_when_sent(&self) -> bool {
        true
    }

    fn hold(&mut self, psn: Psn, is_placed: bool) {
        self.is_executed = true;
        let content = self.content.take().filter(|_| !is_placed).map(|content| content.into_owned().into());
        self.held.insert(psn.get(), HeldContent { content, ends_write: self.ends_write });
    }

    fn resume(&mut self, psn: Psn) {
        let Some(held) = self.held.remove(&psn.get()) else { return };
        self.content = held.content.map(|content| Cow::Owned(content.into_vec()));
        self.ends_write = held.ends_write;
    }

    fn discard(&mut self, psn: Psn) {
        self.held.remove(&psn.get());
    }

    fn complete(&mut self, received: Received) {
        self.end(received);
    }
}

impl ResponderReports<'_> {
    /// The receive request of the message has ended.
    pub(super) fn end(&mut self, received: Received) {
        if let Some(receive) = self.taken.take() {
            let visible = self.visible();
            self.ended.push((receive, received, visible));
        }
    }

    /// Time at which what was executed so far is visible.
    fn visible(&mut self) -> Time {
        self.translations.behind(self.placed) + self.payload_write
    }

    /// Writes a datagram's global route header to the first bytes of the receive request.
    pub(super) fn put_route_header(&mut self, grh: Option<&[u8]>) {
        if let (Some(receive), Some(grh)) = (&*self.taken, grh) {
            self.memory.scatter(&receive.list, 0, grh);
        }
    }

    fn keep(&mut self, receive: ReceiveRequest) -> Receive {
        let length = receive.list.iter().fold(0_u32, |sum, sge| sum.saturating_add(sge.length));
        let id = receive.wr_id;
        *self.taken = Some(receive);
        Receive { id, length }
    }
}
