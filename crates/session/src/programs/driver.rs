//! Runs programs and the fabric between them.

use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};

use super::{Next, Program, ProgramHost, Scheduler, Wait};
use crate::Session;

/// How a run of programs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All programs have ended.
    Done,
    /// The time is reached.
    Reached,
    /// No program can go on: each waits for something that does not come.
    Blocked,
    /// The caller stopped it.
    Stopped,
}

/// Programs, one or more for each of some hosts.
pub struct Programs<P> {
    scheduler: Scheduler,
    programs: Vec<P>,
}

impl<P> Default for Programs<P> {
    fn default() -> Self {
        Self { scheduler: Scheduler::default(), programs: Vec::new() }
    }
}

impl<P: Program> Programs<P> {
    /// Adds a program that begins at time zero. Programs that can go on at the same time run in the order in which they were added.
    pub fn add(&mut self, host: HostId, program: P) {
        self.scheduler.add(host);
        self.programs.push(program);
    }

    /// The programs, in the order in which they were added.
    pub fn into_programs(self) -> impl Iterator<Item = P> {
        self.programs.into_iter()
    }

    /// The programs that wait, with their hosts and what they wait for.
    pub fn waiting(&self) -> impl Iterator<Item = (HostId, &Wait)> {
        self.scheduler.waits().filter(|(_, wait)| **wait != Wait::Done)
    }

    /// Runs until all programs have ended, or until `until`. `goes_on` is called now and then; if it returns false, the run stops.
    pub fn run<B: Observer>(
        &mut self,
        session: &mut Session<B>,
        until: Time,
        goes_on: &mut dyn FnMut(Time) -> bool,
    ) -> Ended {
        loop {
            let target = match self.scheduler.next(session) {
                Next::Done => return Ended::Done,
                Next::Blocked => return Ended::Blocked,
                Next::Program(number) => {
                    self.run_one(session, number);
                    continue;
                }
                Next::Advance(target) => target.min(until),
            };
            if session.now() >= until {
                return Ended::Reached;
            }
            session.advance_to(target, &mut |at, _| goes_on(at));
            if session.now() < target {
                return Ended::Stopped;
            }
        }
    }

    fn run_one<B: Observer>(&mut self, session: &mut Session<B>, number: usize) {
        let host = self.scheduler.host(number);
        let clock = self.scheduler.clock(number).max(session.now());
        let Some(device) = session.engine_mut().device(host) else {
            self.scheduler.wait(number, clock, Wait::Done);
            return;
        };
        let mut host_of = ProgramHost::new(device, clock);
        let wait = self.programs[number].run(&mut host_of);
        self.scheduler.wait(number, host_of.clock, wait);
        session.engine_mut().wake_device(host);
    }
}
