//! Changes of the state of a queue pair.

use fabricsim_protocols::infiniband::{Extra, Ignored, QueuePairState, Status, check_transition};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::complete::RequesterReports;
use super::{AsyncEvent, Device, Side};
use crate::completion::WcOpcode;
use crate::error::{VerbsError, invalid};
use crate::queue_pair::{QueuePairAttributes, Stage};
use crate::service::Receiving;

/// Path MTUs of InfiniBand in bytes (IBA volume 1, section 14.2.5.6).
const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// Most READs and atomic operations at a time (`max_qp_rd_atom`, ConnectX).
const MAX_RD_ATOMIC: u8 = 16;

impl Device {
    /// Changes the state and the attributes of a queue pair (`ibv_modify_qp`).
    pub fn modify_qp(&mut self, qp: Qpn, given: QueuePairAttributes, now: Time) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        let fail = |text: String| invalid(format!("modify_qp: queue pair {}: {text}", qp.0));
        if let Some(address) = given.address {
            if address.host.group().is_some() {
                return Err(fail("a connection has no multicast group at its other end".to_owned()));
            }
            self.check_address(address, "ah_attr").map_err(fail)?;
        }
        let Some(pair) = &self.qps[index as usize] else { return Ok(()) };
        let next = given.state.unwrap_or(pair.state);
        check_transition(pair.init.kind, (pair.state, next), given.mask())
            .map_err(|error| fail(error.to_string()))?;
        check_ranges(&given).map_err(fail)?;
        let p_key = given.p_key_index.map(|place| self.p_key(place)).transpose().map_err(fail)?;
        let (migration, migrated) = self.check_migration(pair, &given).map_err(fail)?;
        let Some(pair) = &mut self.qps[index as usize] else { return Ok(()) };
        if next == QueuePairState::Error {
            self.break_off(index, now);
            return Ok(());
        }
        let was_drained = pair.state == QueuePairState::SendQueueDrain;
        pair.tells_drained =
            next == QueuePairState::SendQueueDrain && given.drained_event.unwrap_or(pair.tells_drained);
        pair.attributes = given.or(pair.attributes);
        pair.migration = migration;
        if let Some(p_key) = p_key {
            pair.set_p_key(p_key);
        }
        pair.enter(next, (self.port.mtu, self.out_of_order));
        if migrated.is_some() {
            self.use_alternate(index);
        }
        if next == QueuePairState::Reset {
            self.unlist(index);
        }
        if was_drained || next == QueuePairState::SendQueueDrain {
            self.begin_local(index, now);
            self.schedule_request(index, now);
        }
        Ok(())
    }

    /// Brings a queue pair into the error state: every work request ends, as flushed if it has no other status.
    pub(super) fn break_off(&mut self, index: u32, now: Time) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        if qp.state == QueuePairState::Error {
            return;
        }
        qp.state = QueuePairState::Error;
        qp.deadline = Time::MAX;
        qp.deferred.clear();
        qp.held.clear();
        if let Some(requester) = &mut qp.requester {
            let mut reports =
                RequesterReports::new(&mut self.memory, &qp.sends, qp.first_send, &mut self.completions);
            requester.flush(&mut reports);
        }
        self.completions.extend(super::local::flushed(qp));
        // A responder that has refused a request still sends its NAK.
        let refuses = qp.responder.as_ref().is_some_and(Receiving::is_broken);
        if let Some(responder) = qp.responder.as_mut().filter(|_| !refuses) {
            // A receive request that a message has taken is flushed with the others.
            responder.flush(&mut Ignored);
            qp.answer_times.clear();
        }
        if qp.init.srq.is_some() {
            self.events.push_back(AsyncEvent::LastRequestReached(qp.number));
        }
        let receives: Vec<_> = qp.taken.take().into_iter().chain(qp.receives.drain(..)).collect();
        if refuses {
            self.unlist_requests(index);
        } else {
            self.unlist(index);
        }
        self.end_sends(index, now);
        for receive in receives {
            self.end_receive(
                index,
                &receive,
                (Status::Flushed, WcOpcode::Recv, 0, Extra::None),
                (false, None, now),
            );
        }
    }

    /// A queue pair cannot go on, since a completion of it found its queue full.
    pub(super) fn end_overflowed(&mut self, index: u32, now: Time) {
        let Some(qp) = self.qps[index as usize].as_ref() else { return };
        if qp.state != QueuePairState::Error {
            self.events.push_back(AsyncEvent::QueuePairFatal(qp.number));
            self.break_off(index, now);
        }
    }

    /// Takes a queue pair out of the queues for the link.
    pub(super) fn unlist(&mut self, index: u32) {
        self.unlist_requests(index);
        let Some(qp) = &mut self.qps[index as usize] else { return };
        if std::mem::take(&mut qp.answers) == Stage::Listed {
            self.answering.retain(|&other| other != index);
            self.listed.retain(|&other| other != (index, Side::Answer));
        }
    }

    fn unlist_requests(&mut self, index: u32) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        if std::mem::take(&mut qp.requests) == Stage::Listed {
            self.listed.retain(|&other| other != (index, Side::Request));
        }
    }
}

fn check_ranges(given: &QueuePairAttributes) -> Result<(), String> {
    let most = |name: &str, value: Option<u8>, most: u8| match value {
        Some(value) if value > most => Err(format!("{name} = {value}: at most {most}")),
        _ => Ok(()),
    };
    most("timeout", given.timeout, 31)?;
    most("retry_cnt", given.retry_count, 7)?;
    most("rnr_retry", given.rnr_retry, 7)?;
    most("max_rd_atomic", given.max_rd_atomic, MAX_RD_ATOMIC)?;
    most("max_dest_rd_atomic", given.max_dest_rd_atomic, MAX_RD_ATOMIC)?;
    match (given.path_mtu, given.port) {
        (Some(mtu), _) if !PATH_MTUS.contains(&mtu) => {
            Err(format!("path_mtu = {mtu} B: must be 256, 512, 1024, 2048 or 4096 B"))
        }
        (_, Some(port)) if port != 1 => Err(format!("port_num = {port}: the adapter has port 1")),
        _ => Ok(()),
    }
}
