//! All schedules of a port that asks another one for the queue pair of a service: losses, copies, early time-outs, a third port that answers; and deliberate
//! defects, each of which must be found.

use std::hash::{Hash, Hasher};

use fabricsim_wire::ids::{CommId, Lid, QKey, Qpn};
use fabricsim_wire::mad::cm::{CmMad, CmMessage, SidrRep, SidrReq};
use stateright::Model;

use super::super::mutation::Mutation;
use super::super::{CmEvent, Manager, SIDR_UNSUPPORTED, SIDR_VALID};
use super::world::{Out, bytes};
use super::{RETRIES, SERVICE, manager};
use crate::explore::{Ending, Verdict, explore};

const QPN: Qpn = Qpn(9);

#[derive(Clone, Copy, Debug)]
struct Configuration {
    name: &'static str,
    listens: bool,
    losses: u8,
    duplicates: u8,
    early: u8,
    /// A third port sends an answer of its own.
    forges: bool,
    mutation: Option<Mutation>,
}

const PLAIN: Configuration = Configuration {
    name: "one loss, one copy",
    listens: true,
    losses: 1,
    duplicates: 1,
    early: 0,
    forges: false,
    mutation: None,
};

fn configurations() -> [Configuration; 5] {
    [
        PLAIN,
        Configuration { name: "many losses", losses: 3, duplicates: 0, ..PLAIN },
        Configuration { name: "early time-outs", early: 1, ..PLAIN },
        Configuration { name: "no listener", listens: false, losses: 2, ..PLAIN },
        Configuration { name: "forged answer", forges: true, ..PLAIN },
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The port that asks has more than one answer, or one that was not given.
    Answer,
    /// It gives up although fewer messages were lost than it may retransmit.
    GaveUp,
    /// More copies than allowed.
    Copies,
    /// A request has no answer although nothing is listened on.
    Unanswered,
    /// A copy that comes before the answer is shown to the program.
    Twice,
}

#[derive(Clone, Debug)]
struct World {
    ends: [Manager; 2],
    wires: [Vec<CmMad>; 2],
    asks: bool,
    forges: bool,
    timer: Option<CommId>,
    /// Requests that the second port's program is to answer.
    pending: Vec<CommId>,
    outcome: Option<bool>,
    copies: u8,
    losses: u8,
    duplicates: u8,
    early: u8,
    fault: Option<Fault>,
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in &self.ends {
            end.next.hash(state);
            for (id, of) in &end.resolutions {
                (id, of.peer, of.retries, of.request.request_id).hash(state);
            }
        }
        for wire in &self.wires {
            wire.len().hash(state);
            for mad in wire {
                bytes(mad).hash(state);
            }
        }
        (self.asks, self.forges, self.timer, &self.pending, self.outcome, self.copies).hash(state);
        (self.losses, self.duplicates, self.early, self.fault.map(|fault| fault as u8)).hash(state);
    }
}

impl World {
    fn take(&mut self, end: usize, out: Out, used: u8) {
        for mad in out.sent {
            if matches!(mad.message(), Some(CmMessage::SIDR_REQ(_))) {
                self.copies += 1;
                if self.copies > 1 + RETRIES {
                    self.fault = Some(Fault::Copies);
                }
            }
            self.wires[1 - end].push(mad);
        }
        for (id, runs) in out.timers {
            self.timer = runs.then_some(id);
        }
        for event in out.events {
            let answer = match event {
                CmEvent::Resolving(id, Lid(1), _) => {
                    if !self.pending.is_empty() {
                        self.fault = Some(Fault::Twice);
                    }
                    self.pending.push(id);
                    continue;
                }
                CmEvent::Resolved(_, rep) => match rep.status {
                    SIDR_VALID => (rep.qpn == QPN).then_some(true),
                    SIDR_UNSUPPORTED => Some(false),
                    _ => None,
                },
                CmEvent::Unreachable(_) if used > RETRIES => Some(false),
                CmEvent::Unreachable(_) => {
                    self.fault = Some(Fault::GaveUp);
                    continue;
                }
                _ => None,
            };
            if answer.is_none() || self.outcome.is_some() {
                self.fault = Some(Fault::Answer);
            }
            self.outcome = answer;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    Answer(CommId),
    Forge,
    Arrive(usize, usize),
    Lose(usize, usize),
    Copy(usize, usize),
    Expire(bool),
}

impl Model for Configuration {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let mut ends = [manager(100, self.mutation), manager(200, self.mutation)];
        if self.listens {
            ends[1].listen(SERVICE).unwrap();
        }
        let (losses, duplicates, early, forges) = (self.losses, self.duplicates, self.early, self.forges);
        vec![World {
            ends,
            wires: Default::default(),
            asks: true,
            forges,
            timer: None,
            pending: Vec::new(),
            outcome: None,
            copies: 0,
            losses,
            duplicates,
            early,
            fault: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.asks {
            steps.push(Step::Ask);
        }
        steps.extend(world.pending.iter().map(|&id| Step::Answer(id)));
        let is_quiet = steps.is_empty() && world.wires.iter().all(Vec::is_empty);
        if world.forges && !world.asks {
            steps.push(Step::Forge);
        }
        for end in 0..2 {
            for place in 0..world.wires[end].len() {
                steps.push(Step::Arrive(end, place));
                if world.losses > 0 {
                    steps.push(Step::Lose(end, place));
                }
                if world.duplicates > 0 {
                    steps.push(Step::Copy(end, place));
                }
            }
        }
        if world.timer.is_some() && (is_quiet || world.early > 0) {
            steps.push(Step::Expire(!is_quiet));
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        let used = |world: &World| self.losses - world.losses + self.early - world.early;
        let mut out = Out::default();
        match step {
            Step::Ask => {
                world.asks = false;
                let request = SidrReq { service_id: SERVICE, ..SidrReq::default() };
                world.ends[0].resolve(Lid(2), request, &mut out);
                world.take(0, out, used(&world.clone()));
            }
            Step::Answer(id) => {
                world.pending.retain(|&other| other != id);
                let reply = SidrRep { qpn: QPN, q_key: QKey(1), ..SidrRep::default() };
                world.ends[1].answer(id, reply, &mut out).unwrap();
                world.take(1, out, used(&world.clone()));
            }
            Step::Forge => {
                world.forges = false;
                let reply = SidrRep { request_id: CommId(100), qpn: Qpn(1), ..SidrRep::default() };
                world.ends[0].resolved(Lid(3), reply, &mut out);
                world.take(0, out, used(&world.clone()));
            }
            Step::Arrive(end, place) => {
                let mad = world.wires[end].remove(place);
                world.ends[end].receive(Lid(2 - end as u16), &mad, &mut out);
                if end == 1 && !self.listens && out.sent.is_empty() {
                    world.fault = Some(Fault::Unanswered);
                }
                world.take(end, out, used(&world.clone()));
            }
            Step::Lose(end, place) => {
                world.losses -= 1;
                world.wires[end].remove(place);
            }
            Step::Copy(end, place) => {
                world.duplicates -= 1;
                let copy = world.wires[end][place];
                world.wires[end].push(copy);
            }
            Step::Expire(is_early) => {
                world.early -= u8::from(is_early);
                let id = world.timer.take().unwrap();
                world.ends[0].expire(id, &mut out);
                world.take(0, out, used(&world.clone()));
            }
        }
        Some(world)
    }
}

impl Ending for Configuration {
    type Fault = Fault;

    fn fault(&self, world: &World) -> Option<Fault> {
        world.fault
    }

    fn is_done(&self, world: &World) -> bool {
        let is_quiet = world.wires.iter().all(Vec::is_empty) && world.timer.is_none();
        is_quiet
            && world.outcome.is_some()
            && world.pending.is_empty()
            && world.ends.iter().all(Manager::is_empty)
    }
}

#[test]
fn every_request_for_a_service_has_one_answer() {
    for configuration in configurations() {
        match explore(&configuration, 1_000_000) {
            Verdict::Good(states, transitions) => {
                println!("{}: {states} states, {transitions} transitions", configuration.name);
                assert!(states > 10, "{}", configuration.name);
            }
            other => panic!("{}: {other:?}", configuration.name),
        }
    }
}

#[test]
fn every_defect_of_resolution_is_found() {
    for (mutation, fault) in [
        (Mutation::NeverResolveAgain, Fault::GaveUp),
        (Mutation::ResolveForEver, Fault::Copies),
        (Mutation::IgnoreUnknownResolution, Fault::Unanswered),
        (Mutation::ResolveTwice, Fault::Twice),
        // The copy after a lost answer has none.
        (Mutation::KeepResolution, Fault::GaveUp),
        (Mutation::ResolveFromAnywhere, Fault::Answer),
    ] {
        let is_found = configurations().into_iter().any(|configuration| {
            let mutated = Configuration { mutation: Some(mutation), ..configuration };
            matches!(explore(&mutated, 100_000), Verdict::Broken(found, _) if found == fault)
        });
        assert!(is_found, "{mutation:?}");
    }
}
