//! Shared receive queues: receive requests that messages of several queue pairs take (IBA volume 1, section 10.2.9).

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::{SharedReceiveQueue, Taken};
use fabricsim_wire::ids::Srqn;

use crate::handles::{Cq, Pd, Srq, Xrcd};
use crate::work::ReceiveRequest;

/// Arguments of the creation of a shared receive queue (`ibv_srq_init_attr_ex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedQueueInit {
    /// Receive requests that it holds (`max_wr`).
    pub receives: u32,
    /// Pieces of memory of a receive request (`max_sge`).
    pub pieces: u32,
    /// For extended reliable connections (`IBV_SRQT_XRC`): the domain, and the queue for completions of its messages.
    pub xrc: Option<(Xrcd, Cq)>,
}

/// A shared receive queue.
#[derive(Clone, Debug)]
pub(crate) struct SharedQueue {
    pub(crate) pd: Pd,
    pub(crate) init: SharedQueueInit,
    pub(crate) requests: SharedReceiveQueue<ReceiveRequest>,
}

/// The shared receive queues of an adapter. The number of an extended reliable connection's queue is its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedQueues {
    pub(crate) queues: Vec<Option<SharedQueue>>,
    /// Queues whose limit was reached, since the adapter has looked.
    pub(crate) reached: Vec<Srq>,
}

impl SharedQueues {
    pub(crate) fn get(&self, srq: Srq) -> Option<&SharedQueue> {
        self.queues.get(srq.0 as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, srq: Srq) -> Option<&mut SharedQueue> {
        self.queues.get_mut(srq.0 as usize)?.as_mut()
    }

    /// The queue of a domain with a number.
    fn of_domain(&self, domain: Option<Xrcd>, number: Srqn) -> Option<Srq> {
        let srq = Srq(number.0);
        let (of, _) = self.get(srq)?.init.xrc?;
        (Some(of) == domain).then_some(srq)
    }

    fn take(&mut self, srq: Srq) -> Option<ReceiveRequest> {
        let Taken { receive, reached_limit } = self.get_mut(srq)?.requests.take()?;
        if reached_limit {
            self.reached.push(srq);
        }
        Some(receive)
    }
}

/// Source of the receive requests of a queue pair.
pub(crate) struct Receives<'a> {
    pub(crate) own: &'a mut VecDeque<ReceiveRequest>,
    pub(crate) shared: &'a mut SharedQueues,
    pub(crate) srq: Option<Srq>,
    pub(crate) domain: Option<Xrcd>,
    /// Queue of an extended reliable connection from which the last request was taken.
    pub(crate) taken_from: Option<Srq>,
}

impl Receives<'_> {
    pub(crate) fn take(&mut self) -> Option<ReceiveRequest> {
        match self.srq {
            Some(srq) => self.shared.take(srq),
            None => self.own.pop_front(),
        }
    }

    pub(crate) fn has_queue(&self, number: Srqn) -> bool {
        self.shared.of_domain(self.domain, number).is_some()
    }

    pub(crate) fn take_from(&mut self, number: Srqn) -> Option<ReceiveRequest> {
        let srq = self.shared.of_domain(self.domain, number)?;
        self.taken_from = Some(srq);
        self.shared.take(srq)
    }

    pub(crate) fn left(&self) -> u32 {
        match self.srq {
            Some(srq) => self.shared.get(srq).map_or(0, |queue| queue.requests.left()),
            None => self.own.len() as u32,
        }
    }
}
