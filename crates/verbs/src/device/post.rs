//! Posting and polling: the calls of the fast path.

use fabricsim_protocols::infiniband::{DatagramAddress, MAX_MESSAGE, QueuePairKind, QueuePairState, Work};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::Device;
use super::complete::RequesterReports;
use crate::completion::WorkCompletion;
use crate::error::{VerbsError, full, invalid};
use crate::handles::Cq;
use crate::local::Waiting;
use crate::path::AddressVector;
use crate::queue_pair::Posted;
use crate::service::Receiver;
use crate::work::{ReceiveRequest, SendRequest, To};

impl Device {
    /// Posts a work request to a send queue at `now` (`ibv_post_send`). The adapter has it after the time of the doorbell.
    pub fn post_send(&mut self, qp: Qpn, request: SendRequest, now: Time) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        let fail = |text: String| invalid(format!("post_send: queue pair {}: {text}", qp.0));
        let (to, address) = self.receiver(index, request.to).map_err(fail)?;
        let Some(pair) = &mut self.qps[index as usize] else { return Ok(()) };
        match pair.state {
            QueuePairState::Reset | QueuePairState::Init | QueuePairState::ReadyToReceive => {
                return Err(fail(format!("state {}: must be RTS", pair.state)));
            }
            _ => {}
        }
        if let Some(text) = pair.refuses(&request) {
            return Err(fail(text));
        }
        let length = request.length().filter(|&length| length <= MAX_MESSAGE);
        let length = length.ok_or_else(|| fail(format!("more than {MAX_MESSAGE} B, the longest message")))?;
        if request.verb.is_atomic() && length != 8 {
            return Err(fail(format!("{length} B of local memory: an atomic operation returns 8 B")));
        }
        let most = pair.init.capacities.send;
        if pair.sends.len() >= most as usize {
            let text = "the send queue is full; poll completions, of which unsignaled requests need a later signaled one";
            return Err(full(format!("post_send: queue pair {}: {text} ({most} work requests)", qp.0)));
        }
        let work = Work {
            id: pair.next_send(),
            verb: request.verb,
            length,
            extra: request.extra,
            signaled: true,
            solicited: request.solicited,
            fence: request.fence,
        };
        pair.sends.push_back(Posted {
            wr_id: request.wr_id,
            opcode: request.opcode(),
            signaled: request.signaled || pair.init.signal_all,
            list: request.list,
            inline: request.inline,
            length,
            address,
            since: now + self.costs.request(),
            has_ended: false,
        });
        if let Some(local) = pair.local.as_mut().filter(|local| !local.waiting.is_empty()) {
            local.waiting.push_back(Waiting::Work(work, to));
            return Ok(());
        }
        let requester =
            pair.requester.as_mut().ok_or_else(|| fail("it has never been ready to send".to_owned()))?;
        let mut reports =
            RequesterReports::new(&mut self.memory, &pair.sends, pair.first_send, &mut self.completions);
        if let Err(text) = requester.post(work, to, &mut reports) {
            pair.sends.pop_back();
            return Err(fail(text));
        }
        self.end_sends(index, now);
        self.schedule_request(index, now);
        Ok(())
    }

    /// The receiver of a work request, and the address of a datagram.
    fn receiver(&self, index: u32, to: To) -> Result<(Receiver, Option<AddressVector>), String> {
        let Some(pair) = &self.qps[index as usize] else { return Ok((Receiver::Connected, None)) };
        match (pair.init.kind, to) {
            (QueuePairKind::Ud, To::Datagram { ah, qp, q_key }) => {
                let (pd, address) = self.address_of(ah).map_err(|error| error.message)?;
                if pd != pair.pd {
                    return Err(format!("address handle {} is of another protection domain", ah.0));
                }
                if address.host.group().is_some() && qp != Qpn::MULTICAST {
                    return Err(format!("remote_qpn = {:#x}: must be 0xffffff for a multicast group", qp.0));
                }
                let to = DatagramAddress { destination: qp, q_key };
                Ok((Receiver::Datagram(to), Some(address)))
            }
            (QueuePairKind::Ud, _) => {
                Err("a datagram needs an address handle, a queue pair and a queue key".to_owned())
            }
            (QueuePairKind::XrcSend, To::SharedQueue(srq)) => Ok((Receiver::SharedQueue(srq), None)),
            (QueuePairKind::XrcSend, _) => {
                Err("a message of XRC needs the number of a shared receive queue".to_owned())
            }
            (QueuePairKind::XrcReceive, _) => {
                Err("the end of XRC that receives sends no messages".to_owned())
            }
            (_, To::Connection) => Ok((Receiver::Connected, None)),
            (kind, _) => Err(format!("a message of {kind} goes to the other end of the connection")),
        }
    }

    /// Posts a receive request (`ibv_post_recv`).
    pub fn post_recv(&mut self, qp: Qpn, request: ReceiveRequest, now: Time) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        let Some(pair) = &mut self.qps[index as usize] else { return Ok(()) };
        let fail = |text: String| invalid(format!("post_recv: queue pair {}: {text}", qp.0));
        let caps = pair.init.capacities;
        if pair.init.srq.is_some() || pair.init.xrcd.is_some() {
            return Err(fail("its receive requests are those of a shared receive queue".to_owned()));
        }
        if pair.state == QueuePairState::Reset {
            return Err(fail("state RESET: must be INIT or later".to_owned()));
        }
        if request.list.len() > caps.receive_pieces as usize {
            let given = request.list.len();
            return Err(fail(format!(
                "{given} pieces of memory: at most {} (max_recv_sge)",
                caps.receive_pieces
            )));
        }
        if pair.receives.len() + usize::from(pair.taken.is_some()) >= caps.receive as usize {
            let text = format!("the receive queue is full ({} receive requests)", caps.receive);
            return Err(full(format!("post_recv: queue pair {}: {text}", qp.0)));
        }
        if !self.memory.allows_list(pair.pd, &request.list, true) {
            return Err(fail(
                "memory that is not of its protection domain, or has no local write".to_owned(),
            ));
        }
        if pair.state == QueuePairState::Error {
            self.flush_receive(index, &request, now);
        } else {
            pair.receives.push_back(request);
        }
        Ok(())
    }

    /// Takes a completion that is visible at `now` (`ibv_poll_cq`).
    pub fn poll_cq(&mut self, cq: Cq, now: Time) -> Result<Option<WorkCompletion>, VerbsError> {
        let Some((completion, send)) = self.cq_mut(cq)?.poll(now) else { return Ok(None) };
        if let (Some(number), Some(index)) = (send, self.index(completion.qp_num))
            && let Some(qp) = &mut self.qps[index as usize]
        {
            // It tells that those before it have ended as well.
            while qp.first_send <= number && qp.sends.pop_front().is_some() {
                qp.first_send += 1;
            }
        }
        Ok(Some(completion))
    }

    /// Requests an event for the next completion (`ibv_req_notify_cq`).
    pub fn req_notify_cq(&mut self, cq: Cq, solicited_only: bool, now: Time) -> Result<(), VerbsError> {
        self.cq_mut(cq)?.request_event(solicited_only, now);
        Ok(())
    }

    /// Takes an event of a completion queue that was raised by `now` (`ibv_get_cq_event`, without waiting).
    pub fn take_cq_event(&mut self, cq: Cq, now: Time) -> Result<bool, VerbsError> {
        Ok(self.cq_mut(cq)?.take_event(now))
    }

    /// Time from which the oldest completion of a queue is visible.
    pub fn next_completion(&self, cq: Cq) -> Result<Option<Time>, VerbsError> {
        Ok(self.cq(cq)?.next_visible())
    }

    /// Time of the oldest event of a queue that has not been taken.
    pub fn next_cq_event(&self, cq: Cq) -> Result<Option<Time>, VerbsError> {
        Ok(self.cq(cq)?.next_event())
    }

    /// Completions in a queue, and how many it can hold.
    pub fn depth(&self, cq: Cq) -> Result<(usize, u32), VerbsError> {
        let queue = self.cq(cq)?;
        Ok((queue.len(), queue.capacity()))
    }
}
