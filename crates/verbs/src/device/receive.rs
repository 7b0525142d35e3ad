//! Packets that arrive at the adapter.

use std::borrow::Cow;

use fabricsim_protocols::infiniband::{MigrationState, QueuePairKind, QueuePairState, Responder, Status};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::headers::{Headers, Operation, RnrTimer};
use fabricsim_wire::ids::{PKey, Qpn};

use super::complete::{RequesterReports, ResponderReports};
use super::{AsyncEvent, Device, reliable};
use crate::completion::WcOpcode;
use crate::path::AddressVector;
use crate::queue_pair::{Deferred, QueuePair};
use crate::service::{Receiving, Sending};
use crate::shared_queue::Receives;

impl Device {
    /// A packet has arrived, with `length` bytes of payload, of which `content` are the bytes if its memory holds any. Packets that fit no
    /// queue pair are dropped and counted. `source`: where an answer goes.
    pub fn receive(
        &mut self,
        source: impl Into<AddressVector>,
        headers: &Headers,
        (length, content): (u32, Option<&[u8]>),
        now: Time,
    ) {
        self.changes += 1;
        let source = source.into();
        let Some(index) = self.index(headers.bth.dest_qp) else {
            let is_general = headers.bth.dest_qp == Qpn::GENERAL_SERVICES;
            if !is_general || !self.receive_management(source.host, headers, (length, content), now) {
                self.counters.unknown += 1;
            }
            return;
        };
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(operation) =
            headers.bth.opcode.operation().filter(|_| accepts(qp, source.host, headers.bth.p_key))
        else {
            qp.counters.dropped += 1;
            return;
        };
        if qp.migration.state() != MigrationState::Migrated {
            self.follow_migration(index, headers.bth.migrated, source);
        }
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let is_atomic = matches!(operation, Operation::CompareSwap | Operation::FetchAdd);
        if operation.is_response() {
            self.receive_response(index, headers, (length, content), now);
        } else if !qp.deferred.is_empty() || is_atomic && has_data_to_send(qp) {
            let content = content.map(Into::into);
            qp.deferred.push_back(Deferred { headers: *headers, length, content });
        } else {
            self.receive_request(index, (headers, operation), (length, content), (source, None), now);
        }
    }

    /// Executes the requests that waited for the data of READs, as far as they need not wait any more.
    pub(super) fn execute_deferred(&mut self, index: u32, now: Time) {
        let Some(qp) = &self.qps[index as usize] else { return };
        if reliable(qp).is_some_and(|responder| responder.is_waiting() && !responder.has_data()) {
            let address = qp.attributes.address.unwrap_or_default();
            self.respond(index, (None, false, address), now, |responder, reports| {
                if let Receiving::Reliable(responder) = responder {
                    responder.execute_held(reports);
                }
                None
            });
        }
        while let Some(qp) = &mut self.qps[index as usize]
            && !qp.deferred.is_empty()
            && !has_data_to_send(qp)
            && let Some(Deferred { headers, length, content }) = qp.deferred.pop_front()
        {
            let Some(operation) = headers.bth.opcode.operation() else { continue };
            // Only a connection defers requests.
            let source = qp.attributes.address.unwrap_or_default();
            let of = (&headers, operation);
            self.receive_request(index, of, (length, content.as_deref()), (source, None), now);
        }
    }

    fn receive_response(
        &mut self,
        index: u32,
        headers: &Headers,
        (length, content): (u32, Option<&[u8]>),
        now: Time,
    ) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(requester) = qp.requester.as_mut().and_then(Sending::reliable) else {
            qp.counters.dropped += 1;
            return;
        };
        let mut reports =
            RequesterReports::new(&mut self.memory, &qp.sends, qp.first_send, &mut self.completions);
        reports.content = content;
        reports.executed = now + self.costs.receive;
        reports.translations = Some(&mut self.translations);
        reports.may_migrate = qp.migration.state() == MigrationState::Armed;
        requester.receive(headers, length, &mut reports);
        self.counters.progress += u64::from(reports.is_executed);
        let (timer, wait) = (reports.timer, reports.wait.map(RnrTimer::time));
        let unwritable = reports.unwritable;
        if let Some(id) = unwritable {
            qp.failed = Some((id, Status::LocalProtection));
        }
        if reports.path_has_failed {
            self.fail_path(index);
        }
        self.carry_out(index, timer, wait, now);
        if unwritable.is_some() {
            self.break_off(index, now);
        }
    }

    /// A request packet is executed. `grh`: its global route header.
    pub(super) fn receive_request(
        &mut self,
        index: u32,
        (headers, operation): (&Headers, Operation),
        (length, content): (u32, Option<&[u8]>),
        (source, grh): (AddressVector, Option<&[u8]>),
        now: Time,
    ) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        if qp.responder.is_none() {
            qp.counters.dropped += 1;
            return;
        }
        if !std::mem::replace(&mut qp.has_received, true)
            && qp.state == QueuePairState::ReadyToReceive
            && qp.init.kind != QueuePairKind::Ud
        {
            self.events.push_back(AsyncEvent::CommunicationEstablished(qp.number));
        }
        let of_packet = (content, ends_write(operation), source);
        self.respond(index, of_packet, now, |responder, reports| {
            let datagram = responder.receive(headers, length, grh.is_some(), reports);
            datagram.map(|(received, sender)| {
                reports.put_route_header(grh.filter(|_| received.status == Status::Success));
                reports.end(received);
                (sender, grh.is_some())
            })
        });
    }

    /// Lets the responder act, and does what it reports. `content`, `ends_write` and `source` are those of the packet that is received.
    fn respond(
        &mut self,
        index: u32,
        (content, ends_write, source): (Option<&[u8]>, bool, AddressVector),
        now: Time,
        act: impl FnOnce(&mut Receiving, &mut ResponderReports<'_>) -> Option<(Qpn, bool)>,
    ) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let Some(responder) = &mut qp.responder else { return };
        let executed = now + self.costs.receive;
        let mut received = std::mem::take(&mut self.received);
        let mut reports = ResponderReports {
            memory: &mut self.memory,
            translations: &mut self.translations,
            placed: executed,
            answered: executed,
            payload_write: self.costs.payload_write,
            pd: qp.pd,
            qp: qp.number,
            access: qp.attributes.access.unwrap_or_default(),
            receives: Receives {
                own: &mut qp.receives,
                shared: &mut self.srqs,
                srq: qp.init.srq,
                domain: qp.init.xrcd,
                taken_from: qp.taken_from,
            },
            taken: &mut qp.taken,
            content: content.map(Cow::Borrowed),
            ends_write,
            held: &mut qp.held,
            is_executed: false,
            has_access_error: false,
            ended: &mut received,
        };
        let datagram = act(responder, &mut reports);
        let ResponderReports { receives, is_executed, has_access_error, placed, answered, .. } = reports;
        qp.taken_from = receives.taken_from;
        self.translations.behind(placed);
        while qp.answer_times.len() < responder.reliable().map_or(0, Responder::answers) {
            qp.answer_times.push_back(answered);
        }
        let (is_broken, number) = (responder.is_broken(), qp.number);
        self.counters.progress += u64::from(is_executed);
        for (receive, of, visible) in received.drain(..) {
            let opcode = if of.is_write { WcOpcode::RecvRdmaWithImm } else { WcOpcode::Recv };
            let source = datagram.map(|(sender, has_grh)| (source, sender, has_grh));
            let result = (of.status, opcode, of.length, of.extra);
            self.end_receive(index, &receive, result, (of.solicited, source, visible));
        }
        self.received = received;
        for srq in std::mem::take(&mut self.srqs.reached) {
            self.events.push_back(AsyncEvent::SharedQueueLimit(srq));
        }
        self.schedule_answer(index, now);
        if is_broken {
            self.events.push_back(if has_access_error {
                AsyncEvent::QueuePairAccess(number)
            } else {
                AsyncEvent::QueuePairRequest(number)
            });
            self.break_off(index, now);
        }
    }
}

/// True if data of READs is still to be sent. An atomic operation behind a READ is executed after it (IBA volume 1, section 9.5, ordering
/// rules for the responder), and the data of a READ is what is in memory when its packet leaves.
fn has_data_to_send(qp: &QueuePair) -> bool {
    reliable(qp).is_some_and(Responder::has_data)
}

/// True if a queue pair receives, from this host and in this partition.
fn accepts(qp: &QueuePair, source: HostId, p_key: PKey) -> bool {
    let receives = !matches!(qp.state, QueuePairState::Reset | QueuePairState::Init | QueuePairState::Error);
    receives
        && qp.p_key.matches(p_key)
        && (qp.init.kind == QueuePairKind::Ud
            || qp.attributes.address.is_some_and(|address| address.host == source))
}

/// True if a packet is the last of a WRITE.
fn ends_write(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::WriteLast | Operation::WriteLastImm | Operation::WriteOnly | Operation::WriteOnlyImm
    )
}
