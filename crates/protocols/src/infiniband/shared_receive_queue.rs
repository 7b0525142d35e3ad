//! Shared receive queue: receive requests that messages of several queue pairs take (IBA volume 1, section 10.2.9).

use std::collections::VecDeque;

use super::Receive;

/// A receive request that does not fit (`ENOMEM`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shared receive queue is full: it holds {size} receive requests")]
pub struct SharedQueueFull {
    /// Size of the queue.
    pub size: u32,
}

/// A receive request from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<T = Receive> {
    /// The receive request.
    pub receive: T,
    /// Fewer than the limit are left: the asynchronous event `IBV_EVENT_SRQ_LIMIT_REACHED`, once after each [`SharedReceiveQueue::set_limit`].
    pub reached_limit: bool,
}

/// Shared receive queue. Its requests are [`Receive`], or what an adapter keeps of them.
#[derive(Clone, Debug)]
pub struct SharedReceiveQueue<T = Receive> {
    requests: VecDeque<T>,
    size: u32,
    /// The event comes when fewer are left; 0: never.
    limit: u32,
}

impl<T> SharedReceiveQueue<T> {
    /// A queue for `size` receive requests, without a limit.
    pub fn new(size: u32) -> Self {
        Self { requests: VecDeque::new(), size, limit: 0 }
    }

    /// Adds a receive request.
    pub fn post(&mut self, receive: T) -> Result<(), SharedQueueFull> {
        if self.left() >= self.size {
            return Err(SharedQueueFull { size: self.size });
        }
        self.requests.push_back(receive);
        Ok(())
    }

    /// Takes the oldest receive request.
    pub fn take(&mut self) -> Option<Taken<T>> {
        let receive = self.requests.pop_front()?;
        let reached_limit = self.left() < self.limit;
        if reached_limit {
            self.limit = 0;
        }
        Some(Taken { receive, reached_limit })
    }

    /// Sets the limit; 0: none. The next event comes with the next receive request that is taken while fewer are left.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// The limit: 0 after its event, as `ibv_query_srq` shows it.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Receive requests in the queue.
    pub fn left(&self) -> u32 {
        self.requests.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: u64) -> SharedReceiveQueue {
        let mut queue = SharedReceiveQueue::new(8);
        (0..count).for_each(|id| queue.post(Receive { id, length: 100 }).unwrap());
        queue
    }

    #[test]
    fn requests_are_taken_in_order() {
        let mut queue = queue(8);
        assert_eq!(queue.post(Receive { id: 9, length: 1 }), Err(SharedQueueFull { size: 8 }));
        let ids: Vec<u64> = std::iter::from_fn(|| queue.take()).map(|taken| taken.receive.id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((queue.take(), queue.left()), (None, 0));
    }

    /// The event comes once, when fewer than the limit are left, and again only after the limit is set again.
    #[test]
    fn the_limit_has_one_event() {
        let mut queue = queue(6);
        queue.set_limit(4);
        let mut events =
            |count| -> Vec<bool> { (0..count).map(|_| queue.take().unwrap().reached_limit).collect() };
        assert_eq!(events(4), [false, false, true, false]);
        assert_eq!(queue.limit(), 0);
        queue.set_limit(4);
        assert_eq!(queue.limit(), 4);
        assert!(queue.take().unwrap().reached_limit, "two are left, one after it is taken");
        queue.set_limit(0);
        assert!(!queue.take().unwrap().reached_limit);
    }
}
