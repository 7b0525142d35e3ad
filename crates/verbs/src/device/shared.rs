//! Calls of shared receive queues, and domains of extended reliable connections.

use fabricsim_protocols::infiniband::SharedReceiveQueue;
use fabricsim_wire::ids::Srqn;

use super::Device;
use super::create::{MAX_QP_WR, MAX_SGE};
use crate::error::{VerbsError, busy, full, invalid};
use crate::handles::{Pd, Srq, Xrcd};
use crate::shared_queue::{SharedQueue, SharedQueueInit};
use crate::work::ReceiveRequest;

impl Device {
    /// Opens a domain of extended reliable connections (`ibv_open_xrcd`).
    pub fn open_xrcd(&mut self) -> Xrcd {
        self.xrcds.push(true);
        Xrcd(self.xrcds.len() as u32 - 1)
    }

    /// Closes a domain that nothing uses (`ibv_close_xrcd`).
    pub fn close_xrcd(&mut self, xrcd: Xrcd) -> Result<(), VerbsError> {
        self.check_xrcd(xrcd)?;
        let has_queue = |queue: &SharedQueue| queue.init.xrc.is_some_and(|(domain, _)| domain == xrcd);
        if self.qps.iter().flatten().any(|qp| qp.init.xrcd == Some(xrcd))
            || self.srqs.queues.iter().flatten().any(has_queue)
        {
            let id = xrcd.0;
            return Err(busy(format!("close_xrcd: domain {id} has queue pairs or shared receive queues")));
        }
        self.xrcds[xrcd.0 as usize] = false;
        Ok(())
    }

    pub(super) fn check_xrcd(&self, xrcd: Xrcd) -> Result<(), VerbsError> {
        match self.xrcds.get(xrcd.0 as usize) {
            Some(true) => Ok(()),
            _ => Err(invalid(format!("there is no XRC domain {}", xrcd.0))),
        }
    }

    /// Creates a shared receive queue (`ibv_create_srq`, `ibv_create_srq_ex`).
    pub fn create_srq(&mut self, pd: Pd, init: SharedQueueInit) -> Result<Srq, VerbsError> {
        self.check_pd(pd)?;
        if let Some((xrcd, cq)) = init.xrc {
            self.check_xrcd(xrcd)?;
            self.cq(cq)?;
        }
        for (name, given, most) in [("max_wr", init.receives, MAX_QP_WR), ("max_sge", init.pieces, MAX_SGE)] {
            if !(1..=most).contains(&given) {
                return Err(invalid(format!("create_srq: {name} = {given}: must be 1 to {most}")));
            }
        }
        let requests = SharedReceiveQueue::new(init.receives);
        self.srqs.queues.push(Some(SharedQueue { pd, init, requests }));
        Ok(Srq(self.srqs.queues.len() as u32 - 1))
    }

    /// Number of a shared receive queue, by which messages of extended reliable connections name it (`ibv_get_srq_num`).
    pub fn srq_number(&self, srq: Srq) -> Result<Srqn, VerbsError> {
        self.srq(srq)?
            .init
            .xrc
            .map(|_| Srqn(srq.0))
            .ok_or_else(|| invalid(format!("get_srq_num: shared receive queue {} is not one of XRC", srq.0)))
    }

    /// Sets the limit of a shared receive queue: one event comes when fewer requests are left (`ibv_modify_srq`). 0: none.
    pub fn modify_srq(&mut self, srq: Srq, limit: u32) -> Result<(), VerbsError> {
        let most = self.srq(srq)?.init.receives;
        if limit > most {
            let id = srq.0;
            let message =
                format!("modify_srq: shared receive queue {id}: srq_limit = {limit}: at most {most}");
            return Err(invalid(message));
        }
        if let Some(queue) = self.srqs.get_mut(srq) {
            queue.requests.set_limit(limit);
        }
        Ok(())
    }

    /// Limit, and receive requests that are left (`ibv_query_srq`).
    pub fn query_srq(&self, srq: Srq) -> Result<(u32, u32), VerbsError> {
        let requests = &self.srq(srq)?.requests;
        Ok((requests.limit(), requests.left()))
    }

    /// Posts a receive request to a shared receive queue (`ibv_post_srq_recv`).
    pub fn post_srq_recv(&mut self, srq: Srq, request: ReceiveRequest) -> Result<(), VerbsError> {
        let queue = self.srq(srq)?;
        let fail = |text: String| invalid(format!("post_srq_recv: shared receive queue {}: {text}", srq.0));
        let (given, most) = (request.list.len(), queue.init.pieces);
        if given > most as usize {
            return Err(fail(format!("{given} pieces of memory: at most {most} (max_sge)")));
        }
        if !self.memory.allows_list(queue.pd, &request.list, true) {
            return Err(fail(
                "memory that is not of its protection domain, or has no local write".to_owned(),
            ));
        }
        match self.srqs.get_mut(srq).map(|queue| queue.requests.post(request)) {
            Some(Err(error)) => Err(full(format!("post_srq_recv: shared receive queue {}: {error}", srq.0))),
            _ => Ok(()),
        }
    }

    /// Destroys a shared receive queue that no queue pair uses (`ibv_destroy_srq`).
    pub fn destroy_srq(&mut self, srq: Srq) -> Result<(), VerbsError> {
        self.srq(srq)?;
        if let Some(qp) = self.qps.iter().flatten().find(|qp| qp.init.srq == Some(srq)) {
            let number = qp.number.0;
            return Err(busy(format!(
                "destroy_srq: queue pair {number} uses shared receive queue {}",
                srq.0
            )));
        }
        self.srqs.queues[srq.0 as usize] = None;
        Ok(())
    }

    pub(super) fn srq(&self, srq: Srq) -> Result<&SharedQueue, VerbsError> {
        self.srqs.get(srq).ok_or_else(|| invalid(format!("there is no shared receive queue {}", srq.0)))
    }
}
