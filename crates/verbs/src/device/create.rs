//! Creation and destruction of objects.

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::{Device, FIRST_QPN};
use crate::completion::CompletionQueue;
use crate::error::{VerbsError, busy, full, invalid, unsupported};
use crate::handles::{Cq, Mr, Pd};
use crate::memory::AccessFlags;
use crate::queue_pair::{QueuePair, QueuePairInit};

/// Largest completion queue, in completions, as ConnectX adapters report it (`max_cqe`).
const MAX_CQE: u32 = 4_194_303;

/// Longest send or receive queue, in work requests (`max_qp_wr`).
const MAX_QP_WR: u32 = 32_768;

/// Most pieces of memory of a work request (`max_sge`).
const MAX_SGE: u32 = 32;

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
        if self.memory.uses(pd) || self.qps.iter().flatten().any(|qp| qp.pd == pd) {
            return Err(busy(format!("dealloc_pd: protection domain {} has memory or queue pairs", pd.0)));
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
        self.cqs[cq.0 as usize] = None;
        Ok(())
    }

    /// Creates a queue pair in the state RESET (`ibv_create_qp`).
    pub fn create_qp(&mut self, pd: Pd, init: QueuePairInit) -> Result<Qpn, VerbsError> {
        self.check_pd(pd)?;
        self.cq(init.send_cq)?;
        self.cq(init.receive_cq)?;
        if init.kind != QueuePairKind::Rc {
            let message = format!("create_qp: {:?} queue pairs: only RC queue pairs are there", init.kind);
            return Err(unsupported(message));
        }
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

    /// Destroys a queue pair with all that it has not done, and its completions (`ibv_destroy_qp`).
    pub fn destroy_qp(&mut self, qp: Qpn) -> Result<(), VerbsError> {
        let index = self.checked_index(qp)?;
        self.unlist(index);
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
