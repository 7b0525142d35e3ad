//! A run whose programs are ranks of MPI. Its caller runs the programs; their messages are handled here.

mod ranks;

use std::sync::Arc;

use fabricsim_mpi::{Arrival, MpiError, SendCall, Turn, World};
use fabricsim_mpi::{Awaited as Thing, Environment};
use fabricsim_session::{Awaited, Wait};
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{Device, QueuePairAttributes, VerbsError};
use fabricsim_wire::ids::Qpn;

use crate::control::Control;
use crate::outcome::Outcome;
use crate::programs::{ProgramRun, Step};

pub(crate) use ranks::{ROW, empty};

/// Buffers of requests, which belong to the caller.
pub trait RankBuffers {
    /// Reads from the buffer of a request.
    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]);
    /// Writes to the buffer of a request.
    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]);
    /// Copies the first `length` bytes of a request's buffer to another one. Both requests are given with their ranks.
    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64);
    /// The buffer of a request is not used any more.
    fn release(&mut self, rank: usize, request: u32);
}

/// The run. Program n is rank n.
pub struct MpiRun {
    /// The run of the programs, for calls that are none of MPI.
    pub programs: ProgramRun,
    world: World,
    /// True for ranks whose call waits for something to arrive.
    blocked: Vec<bool>,
    /// Time at which the last such wait of each rank ended.
    woken: Vec<Time>,
    /// The send with which the call of each rank goes on, if it does.
    following: Vec<Option<(u32, SendCall)>>,
    /// Requests for which the call of each rank waits once its first part has ended, all of them.
    awaited: Vec<Vec<u32>>,
    /// Their results, when they are complete.
    arrived: Vec<Vec<Arrival>>,
}

struct Place<'a> {
    programs: &'a mut ProgramRun,
    buffers: &'a mut dyn RankBuffers,
}

impl Environment for Place<'_> {
    fn device(&mut self, rank: usize) -> &mut Device {
        self.programs.device(rank)
    }

    fn posted(&mut self, rank: usize) {
        self.programs.wake_device(rank);
    }

    fn modify_qp(&mut self, rank: usize, qp: Qpn, attributes: QueuePairAttributes) -> Result<(), VerbsError> {
        self.programs.modify_qp(rank, qp, attributes)
    }

    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]) {
        self.buffers.read(rank, request, offset, to);
    }

    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]) {
        self.buffers.write(rank, request, offset, from);
    }

    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64) {
        self.buffers.copy(from, to, length);
    }

    fn release(&mut self, rank: usize, request: u32) {
        self.buffers.release(rank, request);
    }
}

impl MpiRun {
    /// The run of programs as ranks, `ranks` of them. `logs`: operations of verbs are kept. An error says what is wrong with the settings.
    pub fn new(programs: ProgramRun, ranks: usize, logs: bool) -> Result<Self, String> {
        let hosts: Vec<HostId> = (0..ranks).map(|rank| programs.host(rank)).collect();
        let experiment = &programs.prepared().experiment;
        let world = World::new(&experiment.mpi, &hosts, experiment.seed, logs)?;
        let world = if programs.is_captured() { world } else { world.without_content() };
        Ok(Self {
            programs,
            world,
            blocked: vec![false; ranks],
            woken: vec![Time(0); ranks],
            following: vec![None; ranks],
            awaited: vec![Vec::new(); ranks],
            arrived: vec![Vec::new(); ranks],
        })
    }

    /// Time at which the last wait of a rank inside a call ended; 0 if it has not waited. The rest of the call is work.
    pub fn woken(&self, rank: usize) -> Time {
        self.woken[rank]
    }

    /// The call of a rank, which has begun, goes on with a send. It is as if the program called [`World::send`] when the call has ended.
    pub fn follow_with(&mut self, rank: usize, request: u32, call: SendCall) {
        self.following[rank] = Some((request, call));
    }

    /// The call of a rank, which has begun, goes on until some requests are complete, all of them. Then they are forgotten. It is as if the program
    /// called [`World::wait`] for those that are left, again and again, without charge.
    pub fn end_with(&mut self, rank: usize, requests: Vec<u32>) {
        self.awaited[rank] = requests;
    }

    /// True if the first of the requests of [`MpiRun::end_with`] is complete, during the call.
    pub fn has_first(&self, rank: usize) -> bool {
        self.awaited[rank].first().is_some_and(|&request| self.world.arrival(rank, request).is_some())
    }

    /// Results of the requests of [`MpiRun::end_with`], after the call.
    pub fn arrived(&self, rank: usize) -> &[Arrival] {
        &self.arrived[rank]
    }

    /// The ranks.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Begins a call: `begin` gets the ranks, their adapters and buffers, and the time.
    pub fn begin<T>(
        &mut self,
        buffers: &mut dyn RankBuffers,
        begin: impl FnOnce(&mut World, &mut dyn Environment, Time) -> T,
    ) -> T {
        let now = self.programs.now();
        let mut place = Place { programs: &mut self.programs, buffers };
        begin(&mut self.world, &mut place, now)
    }

    /// A call that has begun goes on, and all others, until a program goes on outside of its calls.
    pub fn go_on(
        &mut self,
        rank: usize,
        buffers: &mut dyn RankBuffers,
        control: &Control,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Step, MpiError> {
        if self.advance(rank, buffers)? {
            return Ok(Step::Program(rank));
        }
        self.next(buffers, control, goes_on)
    }

    /// Advances until a program goes on outside of its calls.
    pub fn next(
        &mut self,
        buffers: &mut dyn RankBuffers,
        control: &Control,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Step, MpiError> {
        loop {
            match self.programs.next(control, goes_on) {
                Step::Program(rank) if self.world.is_in_call(rank) => {
                    if self.advance(rank, buffers)? {
                        return Ok(Step::Program(rank));
                    }
                }
                step => return Ok(step),
            }
        }
    }

    /// The call of a rank goes on; true if it has ended.
    fn advance(&mut self, rank: usize, buffers: &mut dyn RankBuffers) -> Result<bool, MpiError> {
        if std::mem::take(&mut self.blocked[rank]) {
            self.woken[rank] = self.programs.now();
        }
        loop {
            let turn = self.begin(buffers, |world, place, now| world.advance(place, rank, now));
            if let Some(error) = self.world.take_failure() {
                return Err(error);
            }
            let has_ended = turn == Turn::Ended;
            match turn {
                Turn::Ended => {}
                Turn::Until(at) => self.programs.wait(rank, Wait::Until(at)),
                Turn::Any(things, limit) => {
                    self.programs.wait(rank, Wait::Any(things.into_iter().map(awaited).collect(), limit));
                    self.blocked[rank] = true;
                }
            }
            self.pass_notes();
            if !has_ended || !self.sends_next(rank, buffers) && !self.waits_again(rank) {
                return Ok(has_ended);
            }
        }
    }

    /// Tells ranks that wait of messages through shared memory.
    fn pass_notes(&mut self) {
        while let Some((other, at)) = self.world.take_note() {
            self.programs.shorten(other, at);
        }
    }

    /// A part of a rank's call has ended: true if a send follows, which begins now.
    fn sends_next(&mut self, rank: usize, buffers: &mut dyn RankBuffers) -> bool {
        let Some((request, call)) = self.following[rank].take() else { return false };
        self.begin(buffers, |world, place, now| world.send(place, (rank, now), request, call));
        true
    }

    /// A part of a rank's call has ended: true if requests are left, for which it waits now.
    fn waits_again(&mut self, rank: usize) -> bool {
        let requests = &self.awaited[rank];
        if requests.is_empty() {
            return false;
        }
        let is_left = |request: &u32| self.world.arrival(rank, *request).is_none();
        let left: Vec<u32> = requests.iter().copied().filter(is_left).collect();
        if !left.is_empty() {
            let now = self.programs.now();
            self.world.wait((rank, now), left, false);
            return true;
        }
        self.arrived[rank].clear();
        for request in std::mem::take(&mut self.awaited[rank]) {
            self.arrived[rank].extend(self.world.arrival(rank, request));
            self.world.free(rank, request);
        }
        false
    }

    /// Ends the run, as [`ProgramRun::finish`]. Adds the table of ranks.
    pub fn finish(self, control: &Control) -> Outcome {
        let names: Vec<String> = (0..self.world.size())
            .map(|rank| {
                let host = self.programs.host(rank);
                self.programs.prepared().graph.hosts[host.index()].name.clone()
            })
            .collect();
        let counts: Vec<_> = (0..self.world.size()).map(|rank| self.world.counts(rank)).collect();
        let table = ranks::table(&names, &counts);
        let prepared = Arc::clone(self.programs.prepared());
        let mut outcome = self.programs.finish(control);
        outcome.add_table(table, &prepared);
        outcome
    }
}

fn awaited(thing: Thing) -> Awaited {
    match thing {
        Thing::Completion(cq) => Awaited::Completion(cq),
        Thing::Write(mr) => Awaited::Write(mr),
    }
}
