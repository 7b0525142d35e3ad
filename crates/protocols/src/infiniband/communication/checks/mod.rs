//! All schedules of two ports that establish and release connections: losses, copies, early time-outs, a port that begins anew; and deliberate defects,
//! each of which must be found.

mod resolution;
mod world;

use std::collections::BTreeMap;

use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, Lid, Qpn, ServiceId};
use fabricsim_wire::mad::cm::{Apr, CmMessage, Lap, RejReason, Rep, Req};
use stateright::Model;

use super::alternate::PathState;
use super::mutation::Mutation;
use super::{CmEvent, CmState, Connection, Manager, ManagerOptions};
use crate::explore::{Ending, Verdict, explore};
use world::{FAULTS, Fault, Out, PathSeen, Seen, World};

const SERVICE: ServiceId = ServiceId(0x0106_0001);
const RETRIES: u8 = 1;

/// A configuration: the first port requests, the second one answers.
#[derive(Clone, Copy, Debug)]
struct Configuration {
    name: &'static str,
    listens: bool,
    accepts: bool,
    /// Ends whose programs release the connection when they like.
    releases: [bool; 2],
    /// The first port begins anew once.
    restarts: bool,
    losses: u8,
    duplicates: u8,
    /// Time-outs while datagrams are in flight.
    early: u8,
    /// Alternate paths that the first port's program loads.
    loads: u8,
    mutation: Option<Mutation>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Request,
    Accept(CommId),
    Reject(CommId),
    Confirm(CommId),
    Release(usize, CommId),
    Load(CommId),
    AnswerPath(CommId),
    Arrive(usize, usize),
    Lose(usize, usize),
    Copy(usize, usize),
    Expire(usize, CommId, bool),
    Restart,
}

fn manager(first: u32, mutation: Option<Mutation>) -> Manager {
    let mut manager = Manager::new(ManagerOptions { retries: RETRIES, ..ManagerOptions::default() }, first);
    manager.mutate(mutation);
    manager
}

impl Configuration {
    fn used(&self, world: &World) -> u8 {
        self.losses - world.losses + self.early - world.early
    }

    fn has_pending_answer(world: &World, end: usize, id: CommId, seen: Seen) -> bool {
        let state = if seen == Seen::Requested { CmState::ReqReceived } else { CmState::RepReceived };
        world.ends[end].state(id) == Some(state) && world.logs[end][&id].last() == Some(&seen)
    }

    fn answer(&self, world: &mut World, step: Step) {
        let mut out = Out::default();
        let used = self.used(world);
        let end = match step {
            Step::Accept(id) => {
                let rep = Rep { local_qpn: Qpn(9), ..Rep::default() };
                world.ends[1].accept(id, rep, &mut out).unwrap();
                1
            }
            Step::Reject(id) => {
                let why = (RejReason::CONSUMER, Octets::default());
                world.ends[1].reject(id, why, &mut out).unwrap();
                world.logs[1].entry(id).or_default().push(Seen::Rejected);
                1
            }
            Step::Confirm(id) => {
                world.ends[0].confirm(id, Octets::default(), &mut out).unwrap();
                0
            }
            Step::Release(end, id) => {
                world.ends[end].disconnect(id, &mut out).unwrap();
                end
            }
            Step::Load(id) => {
                world.loads -= 1;
                world.ends[0].load_path(id, Lap::default(), &mut out).unwrap();
                world.paths[0].push(PathSeen::Sent);
                0
            }
            Step::AnswerPath(id) => {
                world.ends[1].answer_path(id, Apr::default(), &mut out).unwrap();
                1
            }
            _ => return,
        };
        world.take(end, out, used);
    }

    fn arrive(&self, world: &mut World, end: usize, place: usize) {
        let used = self.used(world);
        let mad = world.wires[end].remove(place);
        let mut out = Out::default();
        world.ends[end].receive(Lid(2 - end as u16), &mad, &mut out);
        let needs_answer = match mad.message() {
            Some(CmMessage::DREQ(_)) => true,
            Some(CmMessage::REQ(_)) => !self.listens,
            _ => false,
        };
        if needs_answer && out.sent.is_empty() {
            world.break_rule(Fault::Unanswered);
        }
        world.take(end, out, used);
    }

    fn expire(&self, world: &mut World, end: usize, id: CommId, is_early: bool) {
        world.early -= u8::from(is_early);
        let used = self.used(world);
        world.timers.retain(|&timer| timer != (end, id));
        let mut out = Out::default();
        world.ends[end].expire(id, &mut out);
        let gave_up = out.events.iter().any(|event| matches!(event, CmEvent::Unreachable(_)));
        if gave_up && out.sent.is_empty() {
            world.break_rule(Fault::Unanswered);
        }
        world.take(end, out, used);
    }
}

impl Model for Configuration {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let mut ends = [manager(100, self.mutation), manager(200, self.mutation)];
        if self.listens {
            ends[1].listen(SERVICE).unwrap();
        }
        vec![World {
            ends,
            wires: Default::default(),
            timers: Vec::new(),
            logs: Default::default(),
            sent: BTreeMap::new(),
            requests: 1,
            restarts: u8::from(self.restarts),
            losses: self.losses,
            duplicates: self.duplicates,
            early: self.early,
            loads: self.loads,
            paths: Default::default(),
            fault: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.requests > 0 {
            steps.push(Step::Request);
        }
        for &id in world.logs[1].keys() {
            if Self::has_pending_answer(world, 1, id, Seen::Requested) {
                steps.push(if self.accepts { Step::Accept(id) } else { Step::Reject(id) });
            }
        }
        for &id in world.logs[0].keys() {
            if Self::has_pending_answer(world, 0, id, Seen::Replied) {
                steps.push(Step::Confirm(id));
            }
        }
        let pending =
            |of: &Connection| of.path.as_ref().is_some_and(|path| path.state == PathState::Received);
        for (&id, of) in &world.ends[1].connections {
            if of.state == CmState::Established && pending(of) {
                steps.push(Step::AnswerPath(id));
            }
        }
        // Datagrams arrive, and programs answer, before a timer ends; else it ends early.
        let is_pending = !steps.is_empty();
        let is_quiet = !is_pending && world.wires.iter().all(Vec::is_empty);
        for end in 0..2 {
            for (&id, of) in &world.ends[end].connections {
                if self.releases[end] && of.state == CmState::Established {
                    steps.push(Step::Release(end, id));
                }
                let waits = of.path.as_ref().is_some_and(|path| path.state == PathState::Sent);
                if world.loads > 0 && end == 0 && of.state == CmState::Established && !waits {
                    steps.push(Step::Load(id));
                }
                if world.restarts > 0 && end == 1 && of.state == CmState::Established {
                    steps.push(Step::Restart);
                }
            }
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
        let is_remembered =
            |&(end, id): &(usize, CommId)| world.ends[end].state(id) == Some(CmState::TimeWait);
        let first = world.timers.iter().find(|timer| !is_remembered(timer));
        for timer in &world.timers {
            // TimeWait lasts longer than any datagram is in flight.
            let is_due = is_quiet && (is_remembered(timer) || first == Some(timer));
            if is_due {
                steps.push(Step::Expire(timer.0, timer.1, false));
            } else if world.early > 0 && !is_remembered(timer) {
                steps.push(Step::Expire(timer.0, timer.1, true));
            }
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        match step {
            Step::Request => {
                world.requests -= 1;
                let mut out = Out::default();
                let req = Req { service_id: SERVICE, local_qpn: Qpn(7), ..Req::default() };
                world.ends[0].request(Lid(2), req, &mut out);
                let used = self.used(&world);
                world.take(0, out, used);
            }
            Step::Arrive(end, place) => self.arrive(&mut world, end, place),
            Step::Lose(end, place) => {
                world.losses -= 1;
                world.wires[end].remove(place);
            }
            Step::Copy(end, place) => {
                world.duplicates -= 1;
                let copy = world.wires[end][place];
                world.wires[end].push(copy);
            }
            Step::Expire(end, id, is_early) => self.expire(&mut world, end, id, is_early),
            Step::Restart => {
                world.restarts -= 1;
                world.requests += 1;
                world.ends[0] = manager(500, self.mutation);
                world.timers.retain(|&(end, _)| end != 0);
                world.logs[0].clear();
            }
            _ => self.answer(&mut world, step),
        }
        Some(world)
    }
}

impl Ending for Configuration {
    type Fault = Fault;

    fn fault(&self, world: &World) -> Option<Fault> {
        world.fault.map(|place| FAULTS[usize::from(place)])
    }

    fn is_done(&self, world: &World) -> bool {
        let is_quiet = world.wires.iter().all(Vec::is_empty) && world.timers.is_empty();
        // Released, and the time in which late messages are answered has passed.
        let has_ended = |log: &Vec<Seen>| log.last() != Some(&Seen::Disconnected);
        is_quiet
            && world.requests == 0
            && world.ends.iter().all(Manager::is_empty)
            && world.logs.iter().flat_map(BTreeMap::values).all(has_ended)
    }
}

const PLAIN: Configuration = Configuration {
    name: "accepted",
    listens: true,
    accepts: true,
    releases: [true, true],
    restarts: false,
    losses: 1,
    duplicates: 1,
    early: 0,
    loads: 0,
    mutation: None,
};

fn configurations() -> Vec<Configuration> {
    vec![
        PLAIN,
        Configuration { name: "many losses", losses: 3, duplicates: 0, ..PLAIN },
        Configuration { name: "early time-outs", losses: 1, duplicates: 0, early: 1, ..PLAIN },
        Configuration { name: "copies", losses: 0, duplicates: 2, releases: [true, false], ..PLAIN },
        Configuration { name: "alternate path", loads: 1, ..PLAIN },
        Configuration {
            name: "two alternate paths",
            loads: 2,
            releases: [true, false],
            losses: 1,
            duplicates: 1,
            ..PLAIN
        },
        Configuration { name: "alternate path, early time-outs", loads: 1, duplicates: 0, early: 1, ..PLAIN },
        Configuration { name: "rejected", accepts: false, ..PLAIN },
        Configuration { name: "no listener", listens: false, losses: 2, ..PLAIN },
        Configuration {
            name: "begins anew",
            restarts: true,
            releases: [false; 2],
            losses: 0,
            duplicates: 0,
            ..PLAIN
        },
    ]
}

/// The end that is never released by its program is done while both are established.
#[test]
fn every_schedule_comes_to_an_orderly_end() {
    for configuration in configurations() {
        let is_restart = configuration.restarts;
        let releases = if is_restart { [true, false] } else { configuration.releases };
        let configuration = Configuration { releases, ..configuration };
        match explore(&configuration, 2_000_000) {
            Verdict::Good(states, transitions) => {
                println!("{}: {states} states, {transitions} transitions", configuration.name);
                assert!(states > 30, "{}", configuration.name);
            }
            other => panic!("{}: {other:?}", configuration.name),
        }
    }
}

/// The harm of a defect: a rule that is broken, or no orderly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Broken(Fault),
    NoEnd,
}

const ALL: [(Mutation, Harm); 22] = [
    (Mutation::NeverRetransmit, Harm::Broken(Fault::GaveUp)),
    (Mutation::RetryForEver, Harm::Broken(Fault::Copies)),
    (Mutation::GiveUpSilently, Harm::Broken(Fault::Unanswered)),
    (Mutation::KeepRejected, Harm::NoEnd),
    // The copy seems to be a new connection of the same queue pair, and is rejected as stale: so the first one fails.
    (Mutation::RequestAgain, Harm::Broken(Fault::GaveUp)),
    (Mutation::IgnoreRepeatedRep, Harm::Broken(Fault::GaveUp)),
    (Mutation::ReplyAgain, Harm::Broken(Fault::Order)),
    (Mutation::EstablishAgain, Harm::Broken(Fault::Order)),
    (Mutation::ReplyInAnyState, Harm::Broken(Fault::Order)),
    (Mutation::IgnoreLateDreq, Harm::Broken(Fault::Unanswered)),
    (Mutation::SkipTimeWait, Harm::NoEnd),
    (Mutation::NeverDrep, Harm::Broken(Fault::Unanswered)),
    (Mutation::IgnoreEarlyDreq, Harm::Broken(Fault::GaveUp)),
    (Mutation::IgnoreRej, Harm::Broken(Fault::GaveUp)),
    (Mutation::AcceptStale, Harm::Broken(Fault::Stale)),
    (Mutation::KeepStale, Harm::NoEnd),
    (Mutation::IgnoreUnknownService, Harm::Broken(Fault::Unanswered)),
    (Mutation::NeverLoadAgain, Harm::Broken(Fault::GaveUp)),
    (Mutation::LoadAgain, Harm::Broken(Fault::Twice)),
    (Mutation::IgnoreRepeatedLap, Harm::Broken(Fault::GaveUp)),
    (Mutation::AnyApr, Harm::Broken(Fault::Order)),
    (Mutation::IgnoreApr, Harm::Broken(Fault::GaveUp)),
];

#[test]
fn every_defect_does_the_harm_that_it_is_known_to_do() {
    let mut missed = Vec::new();
    for (mutation, harm) in ALL {
        let found = configurations().into_iter().find_map(|configuration| {
            let releases = if configuration.restarts { [true, false] } else { configuration.releases };
            let mutated = Configuration { mutation: Some(mutation), releases, ..configuration };
            let (seen, steps) = match explore(&mutated, 300_000) {
                Verdict::Broken(fault, steps) => (Harm::Broken(fault), steps.len()),
                Verdict::Endless(steps) => (Harm::NoEnd, steps.len()),
                Verdict::Good(..) | Verdict::TooLarge(_) => return None,
            };
            (seen == harm).then_some((configuration.name, steps))
        });
        match found {
            Some((name, steps)) => println!("{mutation:?}: {harm:?} after {steps} steps in \"{name}\""),
            None => missed.push((mutation, harm)),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
