//! Calls of a program.

use fabricsim_units::Time;
use fabricsim_verbs::{Cq, Device, Mr, ReceiveRequest, SendRequest, VerbsError, WorkCompletion};
use fabricsim_wire::ids::Qpn;

/// The host of a program, while it runs: its device and its clock. Calls of the fast path take their time.
pub struct ProgramHost<'a> {
    pub(super) device: &'a mut Device,
    pub(super) clock: Time,
}

impl<'a> ProgramHost<'a> {
    /// The device of a host at a time.
    pub fn new(device: &'a mut Device, clock: Time) -> Self {
        Self { device, clock }
    }

    /// The program's clock.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// Lets time pass.
    pub fn compute(&mut self, time: Time) {
        self.clock = self.clock.saturating_add(time);
    }

    /// The device, for calls that take no time.
    pub fn device(&mut self) -> &mut Device {
        self.device
    }

    /// Posts a work request (`ibv_post_send`). The call takes [`fabricsim_verbs::Costs::post`].
    pub fn post_send(&mut self, qp: Qpn, request: SendRequest) -> Result<(), VerbsError> {
        self.compute(self.device.costs().post);
        self.device.post_send(qp, request, self.clock)
    }

    /// Posts a receive request (`ibv_post_recv`). The call takes [`fabricsim_verbs::Costs::post_receive`].
    pub fn post_recv(&mut self, qp: Qpn, request: ReceiveRequest) -> Result<(), VerbsError> {
        self.compute(self.device.costs().post_receive);
        self.device.post_recv(qp, request, self.clock)
    }

    /// Moves up to `most` completions that are visible to `found` (`ibv_poll_cq`). A call that finds any takes
    /// [`fabricsim_verbs::Costs::poll`]: a program that polls in a loop finds a completion as soon as it is visible.
    pub fn poll(&mut self, cq: Cq, most: usize, found: &mut Vec<WorkCompletion>) -> Result<(), VerbsError> {
        let before = found.len();
        while found.len() - before < most
            && let Some(completion) = self.device.poll_cq(cq, self.clock)?
        {
            found.push(completion);
        }
        if found.len() > before {
            self.compute(self.device.costs().poll);
        }
        Ok(())
    }

    /// Takes a remote WRITE to a watched region, if one is visible. The look takes as long.
    pub fn take_write(&mut self, mr: Mr) -> Result<bool, VerbsError> {
        let found = self.device.take_write(mr, self.clock)?;
        if found {
            self.compute(self.device.costs().poll);
        }
        Ok(found)
    }
}
