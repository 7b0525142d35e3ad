//! Deliberate defects: the checks have to find each of them, with the harm that it is known to do.

use super::configurations::{large, small};
use super::windows;
use super::world::Fault;
use crate::explore::{Verdict, explore};
use crate::ordering::mutation::Mutation;

/// The harm that a defect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// A property does not hold.
    Broken(Fault),
    /// A transfer can get into a state from which it cannot end, or leaves something behind.
    NoEnd,
}

const ALL: [(Mutation, Harm); 19] = [
    (Mutation::CloseOnLastAck, Harm::Broken(Fault::Order)),
    (Mutation::CloseBeforeAllCopies, Harm::Broken(Fault::Order)),
    (Mutation::ReuseBeforeFinAck, Harm::Broken(Fault::Order)),
    (Mutation::StartWithoutSyn, Harm::Broken(Fault::Order)),
    (Mutation::SlowNotAlone, Harm::NoEnd),
    (Mutation::ResendWithoutSyn, Harm::NoEnd),
    (Mutation::ExecuteDuplicates, Harm::Broken(Fault::Order)),
    (Mutation::ForgetResult, Harm::Broken(Fault::Result)),
    (Mutation::FreeReplayEarly, Harm::Broken(Fault::Result)),
    (Mutation::CountDuplicates, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::ReleaseEarly, Harm::Broken(Fault::Synchronization)),
    (Mutation::AckWhenBuffered, Harm::Broken(Fault::Acknowledgement)),
    (Mutation::DropSilently, Harm::NoEnd),
    (Mutation::KeyWithoutCid, Harm::Broken(Fault::Order)),
    (Mutation::LeakSlot, Harm::NoEnd),
    (Mutation::NackAsAck, Harm::Broken(Fault::Acknowledgement)),
    (Mutation::LeakReplay, Harm::NoEnd),
    (Mutation::SlowExactlyOnce, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::TimersReportNoRoom, Harm::NoEnd),
];

/// The first configuration in which a defect does this harm, and the number of steps to it.
fn found(mutation: Mutation, harm: Harm) -> Option<(String, usize)> {
    let all = small().into_iter().chain(large()).chain(windows::small());
    all.into_iter().find_map(|configuration| {
        let mutant = configuration
            .source(|source| source.mutation = Some(mutation))
            .target(|target| target.mutation = Some(mutation));
        let (seen, steps) = match explore(&mutant, 20_000) {
            Verdict::Broken(fault, steps) => (Harm::Broken(fault), steps.len()),
            Verdict::Endless(steps) => (Harm::NoEnd, steps.len()),
            // A defect may make states without end; that is no proof.
            Verdict::Good(..) | Verdict::TooLarge(_) => return None,
        };
        (seen == harm).then_some((mutant.name, steps))
    })
}

#[test]
fn every_defect_does_the_harm_that_it_is_known_to_do() {
    let mut missed = Vec::new();
    for (mutation, harm) in ALL {
        match found(mutation, harm) {
            Some((name, steps)) => println!("{mutation:?}: {harm:?} after {steps} steps in \"{name}\""),
            None => missed.push((mutation, harm)),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
