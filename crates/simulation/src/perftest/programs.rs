//! The programs of both sides.

use fabricsim_protocols::infiniband::Status;
use fabricsim_session::{Program, ProgramHost, Wait};
use fabricsim_units::Time;
use fabricsim_verbs::{ReceiveRequest, SendRequest, Sge, VerbsError, WcOpcode, WorkCompletion};

use super::setup::Side;
use super::{Operation, Options, Quantity, Waiting};

/// Completions that perftest polls at once.
pub(super) const POLL_BATCH: usize = 16;

/// Side of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It begins, and measures.
    Client,
    /// It answers, or receives.
    Server,
}

/// The program of a side.
#[derive(Clone, Debug)]
pub(super) struct Test {
    role: Role,
    side: Side,
    options: Options,
    has_begun: bool,
    /// Messages posted, and those known to have ended.
    posted: u32,
    ended: u32,
    /// Messages that have come from the other side.
    received: u32,
    /// Of the client: the clock before each post of latency; before each post and at each completion of bandwidth.
    pub(super) times: Times,
    /// A call or a work request that failed.
    pub(super) problem: Option<String>,
}

/// Times that a client records.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    pub(super) posted: Vec<Time>,
    /// Ends of messages: times, and messages known to have ended then.
    pub(super) ended: Vec<(Time, u32)>,
}

impl Test {
    pub(super) fn new(role: Role, side: Side, options: &Options) -> Self {
        Self {
            role,
            side,
            options: *options,
            has_begun: false,
            posted: 0,
            ended: 0,
            received: 0,
            times: Times::default(),
            problem: None,
        }
    }

    /// Posts the next message.
    fn post(&mut self, host: &mut ProgramHost<'_>, is_signaled: bool) -> Result<(), VerbsError> {
        let Options { operation, bytes, inline, .. } = self.options;
        let list = vec![Sge { addr: self.side.address, length: bytes, lkey: self.side.key }];
        let wr_id = u64::from(self.posted);
        let mut request = match operation {
            Operation::Send => SendRequest::send(wr_id, list),
            Operation::Write => SendRequest::write(wr_id, list, self.side.remote),
            Operation::Read => SendRequest::read(wr_id, list, self.side.remote),
        };
        if operation != Operation::Read && bytes <= inline {
            request = SendRequest { inline: Some(vec![0; bytes as usize]), list: Vec::new(), ..request };
        }
        request.signaled = is_signaled;
        let number = self.posted as usize % self.side.qps.len();
        let qp = self.side.qps[number];
        request.to = self.side.to[number];
        self.times.posted.push(host.clock());
        host.post_send(qp, request)?;
        self.posted += 1;
        Ok(())
    }

    fn post_receive(&self, host: &mut ProgramHost<'_>, qp: usize) -> Result<(), VerbsError> {
        let list =
            vec![Sge { addr: self.side.address, length: self.options.received(), lkey: self.side.key }];
        host.post_recv(self.side.qps[qp], ReceiveRequest { wr_id: qp as u64, list })
    }

    /// Receive requests are there before the other side begins: they take no time that is measured.
    fn begin(&mut self, host: &mut ProgramHost<'_>) -> Result<(), VerbsError> {
        self.has_begun = true;
        if self.options.operation != Operation::Send {
            return Ok(());
        }
        let now = host.clock();
        for qp in 0..self.side.qps.len() {
            for _ in 0..self.options.rx_depth {
                let length = self.options.received();
                let list = vec![Sge { addr: self.side.address, length, lkey: self.side.key }];
                let request = ReceiveRequest { wr_id: qp as u64, list };
                host.device().post_recv(self.side.qps[qp], request, now)?;
            }
        }
        Ok(())
    }

    /// Takes all completions that are there.
    fn poll(&mut self, host: &mut ProgramHost<'_>) -> Result<(), VerbsError> {
        loop {
            let mut found = Vec::new();
            host.poll(self.side.cq, POLL_BATCH, &mut found)?;
            if found.is_empty() || self.problem.is_some() {
                return Ok(());
            }
            found.into_iter().try_for_each(|done| self.take(host, &done))?;
        }
    }

    fn take(&mut self, host: &mut ProgramHost<'_>, done: &WorkCompletion) -> Result<(), VerbsError> {
        if done.status != Status::Success {
            self.problem = Some(format!("work request {} ended with {:?}", done.wr_id, done.status));
            return Ok(());
        }
        if done.opcode != WcOpcode::Recv {
            // Requests of several queue pairs end in any order, and each has a completion.
            self.ended = if self.side.qps.len() > 1 { self.ended + 1 } else { done.wr_id as u32 + 1 };
            self.times.ended.push((host.clock(), self.ended));
            return Ok(());
        }
        self.received += 1;
        if self.received < self.options.iterations {
            self.post_receive(host, done.wr_id as usize)?;
        }
        Ok(())
    }

    fn completion(&self, host: &mut ProgramHost<'_>) -> Result<Wait, VerbsError> {
        let cq = self.side.cq;
        if self.options.waiting == Waiting::Busy {
            return Ok(Wait::Completion(cq));
        }
        let now = host.clock();
        while host.device().take_cq_event(cq, now)? {}
        host.device().req_notify_cq(cq, false, now)?;
        // What became visible before the request raises no event.
        let is_there = host.device().next_completion(cq)?.is_some_and(|at| at <= now);
        Ok(if is_there { Wait::Until(now) } else { Wait::Event(cq) })
    }

    /// Latency: one message at a time, to and fro; a READ has no answer.
    fn latency(&mut self, host: &mut ProgramHost<'_>) -> Result<Wait, VerbsError> {
        let count = self.options.iterations;
        match self.options.operation {
            Operation::Read => {
                if self.role == Role::Server {
                    return Ok(Wait::Done);
                }
                self.poll(host)?;
                if self.ended == count {
                    self.times.posted.push(host.clock());
                    return Ok(Wait::Done);
                }
                if self.ended == self.posted {
                    self.post(host, true)?;
                }
                self.completion(host)
            }
            Operation::Write => {
                if host.take_write(self.side.mr)? {
                    self.received += 1;
                }
                self.ping_pong(host, Wait::Write(self.side.mr))
            }
            Operation::Send => {
                self.poll(host)?;
                let wait = self.completion(host)?;
                self.ping_pong(host, wait)
            }
        }
    }

    /// Sends when it is its turn: the client first.
    fn ping_pong(&mut self, host: &mut ProgramHost<'_>, wait: Wait) -> Result<Wait, VerbsError> {
        let count = self.options.iterations;
        let is_due = match self.role {
            Role::Client => self.received == self.posted,
            Role::Server => self.received > self.posted,
        };
        if is_due && self.posted < count {
            if self.options.operation == Operation::Write {
                // The send queue is freed before it is used again.
                self.poll(host)?;
            }
            self.post(host, true)?;
        }
        let is_over = match self.role {
            Role::Client => self.received == count,
            Role::Server => self.posted == count,
        };
        if is_over {
            self.times.posted.push(host.clock());
            return Ok(Wait::Done);
        }
        Ok(wait)
    }

    /// Bandwidth: as many messages outstanding as the depth allows.
    fn bandwidth(&mut self, host: &mut ProgramHost<'_>) -> Result<Wait, VerbsError> {
        let Options { iterations, tx_depth, cq_mod, operation, .. } = self.options;
        self.poll(host)?;
        if self.role == Role::Server {
            let is_over = operation != Operation::Send || self.received >= iterations;
            return if is_over { Ok(Wait::Done) } else { self.completion(host) };
        }
        if self.ended == iterations {
            return Ok(Wait::Done);
        }
        if self.posted < iterations && self.posted - self.ended < tx_depth {
            let number = self.posted + 1;
            // With several queue pairs each needs completions of its own to free its queue.
            let is_signaled =
                self.side.qps.len() > 1 || number.is_multiple_of(cq_mod) || number == iterations;
            self.post(host, is_signaled)?;
            return Ok(Wait::Until(host.clock()));
        }
        self.completion(host)
    }
}

impl Program for Test {
    fn run(&mut self, host: &mut ProgramHost<'_>) -> Wait {
        if !self.has_begun
            && let Err(error) = self.begin(host)
        {
            self.problem = Some(error.to_string());
            return Wait::Done;
        }
        let wait = match self.options.quantity {
            Quantity::Latency => self.latency(host),
            Quantity::Bandwidth => self.bandwidth(host),
        };
        match (wait, &self.problem) {
            (_, Some(_)) => Wait::Done,
            (Ok(wait), None) => wait,
            (Err(error), None) => {
                self.problem = Some(error.to_string());
                Wait::Done
            }
        }
    }
}
