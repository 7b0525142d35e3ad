//! Actions of a stage of the pipeline.

use std::sync::Arc;

use fabricsim_units::Time;

use super::groups::Group;
use super::{Action, COMPUTE, OVERLAPPED, Plan, TRANSFERS, Work};
use crate::programs::{Program, Step};

/// A phase whose values are checked.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    /// By bucket.
    pub(super) computing: Vec<Time>,
    /// By bucket; empty without an operation.
    pub(super) programs: Vec<Arc<dyn Program>>,
    pub(super) group: Group,
    /// True if its programs go on beside the computing.
    pub(super) is_beside: bool,
    /// True if the next phase waits for programs beside the computing.
    pub(super) joins: bool,
    pub(super) repeat: u32,
}

/// Micro-batches whose values are checked.
#[derive(Debug)]
pub(super) struct Pipelined {
    pub(super) count: u32,
    /// Size of a message to another stage.
    pub(super) bytes: u64,
    pub(super) forward: Vec<Ready>,
    pub(super) backward: Vec<Ready>,
    pub(super) last: Vec<Ready>,
}

/// Steps of phases.
pub(super) fn steps(phases: &[Ready]) -> u64 {
    let of = |phase: &Ready| phase.programs.iter().map(|program| program.steps()).sum::<u64>();
    phases.iter().map(|phase| of(phase).saturating_mul(phase.repeat.into())).fold(0, u64::saturating_add)
}

/// Actions of phases.
pub(super) fn actions(phases: &[Ready]) -> u64 {
    let of = |phase: &Ready| (phase.computing.len() + phase.programs.len()) as u64;
    phases.iter().map(|phase| of(phase) * u64::from(phase.repeat)).sum()
}

impl Pipelined {
    /// Steps of an iteration; transfers between stages have one for each micro-batch and direction.
    pub(super) fn steps(&self, stages: u32) -> u64 {
        let count = u64::from(self.count);
        let transfers = if stages > 1 { 2 * count } else { 0 };
        [steps(&self.forward).saturating_mul(count), steps(&self.backward).saturating_mul(count - 1)]
            .into_iter()
            .fold(steps(&self.last).saturating_add(transfers), u64::saturating_add)
    }

    /// Actions of an iteration; a pass has two transfers at most.
    pub(super) fn actions(&self) -> u64 {
        let pass = actions(&self.forward) + actions(&self.backward).max(actions(&self.last)) + 4;
        pass.saturating_mul(self.count.into())
    }
}

/// Direction of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    Backward,
}

impl Plan {
    /// The plan of a stage: the micro-batches, then `phases`. `steps` is the number of those of an iteration.
    pub(super) fn new(
        stage: u32,
        stages: Group,
        pipelined: Option<&Pipelined>,
        phases: &[Ready],
        steps: u32,
    ) -> Self {
        let plan = Self { steps, ..Self::default() };
        let mut lowering = Lowering { plan, next: 0, last: None, pending: Vec::new() };
        if let Some(pipelined) = pipelined {
            Stage { pipelined, number: stage, stages }.lower(&mut lowering);
            lowering.next = pipelined.steps(stages.size) as u32;
        }
        for phase in phases {
            lowering.phase(phase);
        }
        lowering.plan
    }
}

/// A plan under construction.
struct Lowering {
    plan: Plan,
    /// Number of the next step.
    next: u32,
    /// The last action of the track of computing.
    last: Option<u32>,
    /// Actions of other tracks that the next one of the track of computing waits for.
    pending: Vec<u32>,
}

impl Lowering {
    fn push(&mut self, track: usize, work: Work, waits: Vec<u32>) -> u32 {
        let number = self.plan.actions.len() as u32;
        self.plan.actions.push(Action { work, waits });
        self.plan.tracks[track].push(number);
        number
    }

    /// Adds an action to the track of computing.
    fn in_order(&mut self, work: Work) {
        let waits = std::mem::take(&mut self.pending);
        self.last = Some(self.push(COMPUTE, work, waits));
    }

    fn program(&mut self, program: &Arc<dyn Program>, group: Group) -> Work {
        let (first, steps) = (self.next, program.steps() as u32);
        self.next += steps;
        Work::Program { program: Arc::clone(program), group, first, steps }
    }

    fn phase(&mut self, phase: &Ready) {
        for _ in 0..phase.repeat {
            let mut beside = Vec::new();
            for (number, &time) in phase.computing.iter().enumerate() {
                if time > Time::ZERO {
                    self.in_order(Work::Compute(time));
                }
                let Some(program) = phase.programs.get(number) else { continue };
                let work = self.program(program, phase.group);
                if phase.is_beside {
                    let waits = self.last.into_iter().chain(self.pending.iter().copied()).collect();
                    beside = vec![self.push(OVERLAPPED, work, waits)];
                } else {
                    self.in_order(work);
                }
            }
            if phase.joins {
                self.pending.append(&mut beside);
            }
        }
    }
}

/// A message to another stage, or from it.
#[derive(Debug)]
struct Transfer {
    peer: u32,
    bytes: u64,
    sends: bool,
}

impl Program for Transfer {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&self, _rank: u32, _number: u64, step: &mut Step) {
        if self.sends { step.send(self.peer, self.bytes) } else { step.receive(self.peer, self.bytes) }
    }
}

/// The micro-batches of a stage.
struct Stage<'a> {
    pipelined: &'a Pipelined,
    number: u32,
    stages: Group,
}

impl Stage<'_> {
    /// One forward, one backward (D. Narayanan et al., "PipeDream", SOSP 2019, with a flush at the end of the iteration).
    fn lower(&self, out: &mut Lowering) {
        let (count, is_trained) = (self.pipelined.count, !self.pipelined.backward.is_empty());
        let first = if is_trained { (self.stages.size - 1 - self.number).min(count) } else { count };
        (0..first).for_each(|batch| self.pass(Pass::Forward, batch, out));
        for batch in first..count {
            self.pass(Pass::Forward, batch, out);
            self.pass(Pass::Backward, batch - first, out);
        }
        if is_trained {
            (count - first..count).for_each(|batch| self.pass(Pass::Backward, batch, out));
        }
    }

    fn pass(&self, pass: Pass, batch: u32, out: &mut Lowering) {
        let Pipelined { count, forward, backward, last, .. } = self.pipelined;
        let (own, forward_steps) = (self.number, steps(forward));
        let is_last = batch + 1 == *count;
        let (from, to, phases, begin) = match pass {
            Pass::Forward => (own.checked_sub(1), self.after(), forward, forward_steps * u64::from(batch)),
            Pass::Backward => {
                let begin = forward_steps * u64::from(*count) + steps(backward) * u64::from(batch);
                (self.after(), own.checked_sub(1), if is_last { last } else { backward }, begin)
            }
        };
        if let Some(from) = from {
            let work = self.transfer(pass, batch, from, false);
            out.in_order(work);
        }
        out.next = begin as u32;
        for phase in phases {
            out.phase(phase);
        }
        if let Some(to) = to {
            let waits = out.last.into_iter().chain(out.pending.iter().copied()).collect();
            let work = self.transfer(pass, batch, to, true);
            out.push(TRANSFERS, work, waits);
        }
    }

    fn after(&self) -> Option<u32> {
        Some(self.number + 1).filter(|stage| *stage < self.stages.size)
    }

    /// The transfer of a micro-batch between this stage and `peer`. Its step is that of all stages: a stage has received the
    /// micro-batch before it sends it on.
    fn transfer(&self, pass: Pass, batch: u32, peer: u32, sends: bool) -> Work {
        let all = self.pipelined.steps(self.stages.size) as u32;
        let before = if pass == Pass::Forward { 2 } else { 1 } * self.pipelined.count;
        let first = all - before + batch;
        let transfer = Transfer { peer, bytes: self.pipelined.bytes, sends };
        Work::Program { program: Arc::new(transfer), group: self.stages, first, steps: 1 }
    }
}
