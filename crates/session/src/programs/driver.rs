//! Runs programs and the fabric between them.

use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};

use super::{Program, ProgramHost, Wait};
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

struct Entry<P> {
    host: HostId,
    program: P,
    clock: Time,
    wait: Wait,
}

/// Programs, one or more for each of some hosts.
pub struct Programs<P> {
    entries: Vec<Entry<P>>,
}

impl<P> Default for Programs<P> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<P: Program> Programs<P> {
    /// Adds a program that begins at time zero. Programs that can go on at the same time run in the order in which they were added.
    pub fn add(&mut self, host: HostId, program: P) {
        self.entries.push(Entry { host, program, clock: Time::ZERO, wait: Wait::Until(Time::ZERO) });
    }

    /// The programs, in the order in which they were added.
    pub fn into_programs(self) -> impl Iterator<Item = P> {
        self.entries.into_iter().map(|entry| entry.program)
    }

    /// The programs that wait, with their hosts and what they wait for.
    pub fn waiting(&self) -> impl Iterator<Item = (HostId, Wait)> {
        self.entries.iter().map(|entry| (entry.host, entry.wait)).filter(|(_, wait)| *wait != Wait::Done)
    }

    /// Runs until all programs have ended, or until `until`. `goes_on` is called now and then; if it returns false, the run stops.
    pub fn run<B: Observer>(
        &mut self,
        session: &mut Session<B>,
        until: Time,
        goes_on: &mut dyn FnMut(Time) -> bool,
    ) -> Ended {
        loop {
            if self.entries.iter().all(|entry| entry.wait == Wait::Done) {
                return Ended::Done;
            }
            let now = session.now();
            let next = self.next_program(session);
            match next {
                Some((at, number)) if at <= now => self.run_one(session, number),
                _ => {
                    let wakes_at = next.map_or(Time::MAX, |(at, _)| at);
                    let event = session.engine_mut().next_event();
                    let horizon = event.map_or(Time::MAX, |at| at.saturating_add(self.least_delay(session)));
                    let target = wakes_at.min(horizon).min(session.next_change());
                    if target == Time::MAX {
                        return Ended::Blocked;
                    }
                    if now >= until {
                        return Ended::Reached;
                    }
                    session.advance_to(target.min(until), &mut |at, _| goes_on(at));
                    if session.now() < target.min(until) {
                        return Ended::Stopped;
                    }
                }
            }
        }
    }

    fn run_one<B: Observer>(&mut self, session: &mut Session<B>, number: usize) {
        let entry = &mut self.entries[number];
        let clock = entry.clock.max(session.now());
        let Some(device) = session.engine_mut().device(entry.host) else {
            entry.wait = Wait::Done;
            return;
        };
        let mut host = ProgramHost::new(device, clock);
        entry.wait = entry.program.run(&mut host);
        entry.clock = host.clock;
        session.engine_mut().wake_device(entry.host);
    }

    /// The program that can go on first, and the time.
    fn next_program<B: Observer>(&self, session: &mut Session<B>) -> Option<(Time, usize)> {
        let times = self.entries.iter().enumerate().filter_map(|(number, entry)| {
            let device = session.engine_mut().device(entry.host)?;
            let at = match entry.wait {
                Wait::Until(at) => at,
                Wait::Completion(cq) => device.next_completion(cq).ok()??,
                Wait::Event(cq) => device.next_cq_event(cq).ok()?? + device.costs().wake_up,
                Wait::Write(mr) => device.next_write(mr)?,
                Wait::Done => return None,
            };
            Some((at.max(entry.clock), number))
        });
        times.min()
    }

    /// Shortest time from what a device does until a program sees it.
    fn least_delay<B: Observer>(&self, session: &mut Session<B>) -> Time {
        let delays = self.entries.iter().filter_map(|entry| {
            let costs = session.engine_mut().device(entry.host)?.costs();
            // Data in memory is visible before its completion.
            Some(if let Wait::Write(_) = entry.wait {
                costs.receive + costs.payload_write
            } else {
                costs.completion
            })
        });
        delays.min().unwrap_or_default().max(Time(1))
    }
}
