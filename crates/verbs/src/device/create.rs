//! Creation and destruction of objects.

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::{Device, FIRST_QPN};
use crate::access::AccessFlags;
use crate::completion::CompletionQueue;
use crate::error::{VerbsError, busy, full, invalid};
use crate::handles::{Cq, Mr, Pd};
use crate::queue_pair::{QueuePair, QueuePairInit};

/// Largest completion queue, in completions, as ConnectX adapters report it (`max_cqe`).
const MAX_CQE: u32 = 4_194_303;

/// Longest send or receive queue, in work requests (`max_qp_wr`).
pub(super) const MAX_QP_WR: u32 = 32_768;

/// Most pieces of memory of a work request (`max_sge`).
pub(super) const MAX_SGE: u32 = 32;

/// Number of a queue pair: 24 bits, of which the last is for multicast.
const MAX_QPN: u32 = (1 << 24) - 2;

impl Device {
    /// Allocates a protection domain (`ibv_alloc_pd`).
    pub fn alloc_pd(&mut self) -> Pd {
        self.pds.push(true);
        Pd(self.pds.len() as u32 - 1)
    }

    /// Deallocates a protection domain that nothing uses (`ibv_dealloc_pd`).
    pub fn dealloc_pd(&mut self, pd: Pd) -> Result<(), VerbsError> {
        self.check_pd(pd)?;
        let mut srqs = self.srqs.queues.iter().flatten();
        let mut addresses = self.addresses.iter().flatten();
        if self.memory.uses(pd)
            || self.qps.iter().flatten().any(|qp| qp.pd == pd)
            || srqs.any(|queue| queue.pd == pd)
            || addresses.any(|&(of, _)| of == pd)
        {
            let text = "has memory, memory windows, queue pairs, shared receive queues or address handles";
            return Err(busy(format!("dealloc_pd: protection domain {} {text}", pd.0)));
        }
        self.pds[pd.0 as usize] = false;
        Ok(())
    }

    /// Registers new memory of `length` bytes, filled with zeros (`ibv_reg_mr`).
    pub fn reg_mr(&mut self, pd: Pd, length: u64, access: AccessFlags) -> Result<Mr, VerbsError> {
        self.check_pd(pd)?;
        self.memory.register(pd, length, access, false)
    }

    /// Registers memory without content: its packets have their length and no bytes. For measurements.
    pub fn reg_void_mr(&mut self, pd: Pd, length: u64, access: AccessFlags) -> Result<Mr, VerbsError> {
        self.check_pd(pd)?;
        self.memory.register(pd, length, access, true)
    }

    /// Deregisters memory: work requests and packets that use it fail from now on (`ibv_dereg_mr`).
    pub fn dereg_mr(&mut self, mr: Mr) -> Result<(), VerbsError> {
        self.memory.deregister(mr)
    }

    /// Gives a region another domain or other permissions (`ibv_rereg_mr`). Its keys change.
    pub fn rereg_mr(
        &mut self,
        mr: Mr,
        pd: Option<Pd>,
        access: Option<AccessFlags>,
    ) -> Result<(), VerbsError> {
        pd.map_or(Ok(()), |pd| self.check_pd(pd))?;
        self.memory.reregister(mr, pd, access)
    }

    /// Key of a region, for local and for remote use.
    pub fn key(&self, mr: Mr) -> Result<u32, VerbsError> {
        self.memory.key(mr)
    }

    /// Virtual address of a region's first byte.
    pub fn address(&self, mr: Mr) -> Result<u64, VerbsError> {
        self.memory.address(mr)
    }

    /// Keeps the times of remote WRITEs to a region, for programs that poll memory.
    pub fn watch(&mut self, mr: Mr) -> Result<(), VerbsError> {
        self.memory.watch(mr)
    }

    /// Time of the first remote WRITE to a watched region that has not been taken.
    pub fn next_write(&self, mr: Mr) -> Option<Time> {
        self.memory.next_write(mr)
    }

    /// Takes the first remote WRITE to a watched region; false if none is visible by `now`.
    pub fn take_write(&mut self, mr: Mr, now: Time) -> Result<bool, VerbsError> {
        self.memory.take_write(mr, now)
    }

    /// Creates a completion queue for `capacity` completions (`ibv_create_cq`).
    pub fn create_cq(&mut self, capacity: u32) -> Result<Cq, VerbsError> {
        if !(1..=MAX_CQE).contains(&capacity) {
            return Err(invalid(format!("create_cq: cqe = {capacity}: must be 1 to {MAX_CQE}")));
        }
        self.cqs.push(Some(CompletionQueue::new(capacity)));
        Ok(Cq(self.cqs.len() as u32 - 1))
    }

    /// Destroys a completion queue that no queue pair uses (`ibv_destroy_cq`).
    pub fn destroy_cq(&mut self, cq: Cq) -> Result<(), VerbsError> {
        self.cq(cq)?;
        let uses = |qp: &&QueuePair| qp.init.send_cq == cq || qp.init.receive_cq == cq;
        if let Some(qp) = self.qps.iter().flatten().find(uses) {
            let number = qp.number.0;
            return Err(busy(format!("destroy_cq: queue pair {number} uses completion queue {}", cq.0)));
        }
        if self.srqs.queues.iter().flatten().any(|queue| queue.init.xrc.is_some_and(|(_, of)| of == cq)) {
            let text = format!("destroy_cq: a shared receive queue uses completion queue {}", cq.0);
            return Err(busy(text));
        }
        self.cqs[cq.0 as usize] = None;
        Ok(())
    }

    /// Creates a queue pair in the state RESET (`ibv_create_qp`).
    pub fn create_qp(&mut self, pd: Pd, init: QueuePairInit) -> Result<Qpn, VerbsError> {
        self.check_pd(pd)?;
        self.cq(init.send_cq)?;
        self.cq(init.receive_cq)?;
        self.check_receive_side(&init)?;
        let caps = init.capacities;
        for (name, given, most) in [
            ("max_send_wr", caps.send, MAX_QP_WR),
            ("max_recv_wr", caps.receive, MAX_QP_WR),
            ("max_send_sge", caps.send_pieces, MAX_SGE),
            ("max_recv_sge", caps.receive_pieces, MAX_SGE),
            ("max_inline_data", caps.inline, self.costs.max_inline),
        ] {
            if given > most {
                return Err(invalid(format!("create_qp: {name} = {given}: at most {most}")));
            }
        }
        let number = FIRST_QPN + self.qps.len() as u32;
        if number > MAX_QPN {
            return Err(full(format!("create_qp: all {MAX_QPN} numbers of queue pairs are used")));
        }
        self.qps.push(Some(QueuePair::new(Qpn(number), pd, init)));
        Ok(Qpn(number))
    }

    /// Checks where a queue pair takes its receive requests from.
    fn check_receive_side(&self, init: &QueuePairInit) -> Result<(), VerbsError> {
        let is_xrc = matches!(init.kind, QueuePairKind::XrcSend | QueuePairKind::XrcReceive);
        if let Some(srq) = init.srq {
            if is_xrc {
                let text = "create_qp: an XRC queue pair has no shared receive queue: each message names one";
                return Err(invalid(text));
            }
            if self.srq(srq)?.init.xrc.is_some() {
                return Err(invalid(format!("create_qp: shared receive queue {} is one of XRC", srq.0)));
            }
        }
        match (init.kind, init.xrcd) {
            (QueuePairKind::XrcReceive, Some(xrcd)) => self.check_xrcd(xrcd),
            (QueuePairKind::XrcReceive, None) => {
                Err(invalid("create_qp: the end of XRC that receives needs an XRC domain"))
            }
            (_, Some(_)) => Err(invalid("create_qp: only the end of XRC that receives has an XRC domain")),
            (_, None) => Ok(()),
        }
    }

    /// Destroys a queue pair with all that it has not done, and its completions (`ibv_destroy_qp`).
    pub fn destroy_qp(&mut self, qp: Qpn) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        self.check_detached(qp)?;
        self.unlist(index);
        self.memory.windows.forget(qp);
        let ended = self.qps[index as usize].take();
        for cq in ended.iter().flat_map(|qp| [qp.init.send_cq, qp.init.receive_cq]) {
            self.cq_mut(cq)?.forget(qp);
        }
        Ok(())
    }

    /// State of a queue pair (`ibv_query_qp`).
    pub fn state(&self, qp: Qpn) -> Result<QueuePairState, VerbsError> {
        Ok(self.qp(qp)?.state)
    }
}
