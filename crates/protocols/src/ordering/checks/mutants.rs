//! Are the checks able to fail? Each deliberate defect has to be found in at least one configuration.

use super::configurations::{large, small};
use super::explore::{Verdict, explore};
use crate::ordering::mutation::Mutation;

const ALL: [Mutation; 18] = [
    Mutation::CloseOnLastAck,
    Mutation::CloseBeforeAllCopies,
    Mutation::ReuseBeforeFinAck,
    Mutation::StartWithoutSyn,
    Mutation::SlowNotAlone,
    Mutation::ResendWithoutSyn,
    Mutation::ExecuteDuplicates,
    Mutation::ForgetResult,
    Mutation::FreeReplayEarly,
    Mutation::CountDuplicates,
    Mutation::ReleaseEarly,
    Mutation::AckWhenBuffered,
    Mutation::DropSilently,
    Mutation::KeyWithoutCid,
    Mutation::LeakSlot,
    Mutation::NackAsAck,
    Mutation::LeakReplay,
    Mutation::SlowExactlyOnce,
];

/// The first configuration in which a defect shows, and how.
fn found(mutation: Mutation) -> Option<(&'static str, String)> {
    small().into_iter().chain(large()).find_map(|configuration| {
        let mutant = configuration
            .source(|source| source.mutation = Some(mutation))
            .target(|target| target.mutation = Some(mutation));
        match explore(&mutant, 20_000) {
            Verdict::Broken(fault, steps) => {
                Some((mutant.name, format!("{fault:?} after {} steps", steps.len())))
            }
            Verdict::Endless(steps) => Some((mutant.name, format!("no end after {} steps", steps.len()))),
            // A defect may make states without end; that is no proof.
            Verdict::Good(..) | Verdict::TooLarge(_) => None,
        }
    })
}

#[test]
fn every_defect_is_found() {
    let mut missed = Vec::new();
    for mutation in ALL {
        match found(mutation) {
            Some((name, how)) => println!("{mutation:?}: {how} in \"{name}\""),
            None => missed.push(mutation),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
