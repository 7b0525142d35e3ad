//! Deliberate defects: the checks have to find each of them, with the harm that it is known to do.

use stateright::{Checker, Model};

use super::configurations::small;
use super::model::{Configuration, FAILS};
use super::world::Fault;
use crate::explore::{Verdict, explore};
use crate::infiniband::mutation::Mutation;

/// The harm that a defect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// A property does not hold.
    Broken(Fault),
    /// A transfer can get into a state from which it cannot end, or leaves something behind.
    NoEnd,
    /// A connection does not fail although its retries are used up.
    NoFailure,
}

const ALL: [(Mutation, Harm); 43] = [
    (Mutation::SendWhileWaiting, Harm::Broken(Fault::Wait)),
    (Mutation::IgnoreFence, Harm::Broken(Fault::Result)),
    (Mutation::ReadsWithoutLimit, Harm::Broken(Fault::Bounds)),
    (Mutation::NoProbe, Harm::NoEnd),
    (Mutation::IgnoreCredits, Harm::Broken(Fault::Bounds)),
    (Mutation::RestartReadAtItsStart, Harm::Broken(Fault::Result)),
    (Mutation::NakAcknowledgesItself, Harm::Broken(Fault::Completion)),
    (Mutation::SkipMissingData, Harm::Broken(Fault::Result)),
    (Mutation::LeakReadSlots, Harm::NoEnd),
    (Mutation::StopTimerEarly, Harm::NoEnd),
    (Mutation::StayInPlace, Harm::Broken(Fault::Error)),
    (Mutation::LeaveTheRest, Harm::NoEnd),
    (Mutation::FlushWithCause, Harm::Broken(Fault::Error)),
    (Mutation::StayAliveAfterError, Harm::Broken(Fault::Error)),
    (Mutation::StayWaiting, Harm::NoEnd),
    (Mutation::RetryForEver, Harm::NoFailure),
    (Mutation::RetryNotReadyForEver, Harm::NoFailure),
    (Mutation::MigrateWithoutRetries, Harm::Broken(Fault::Error)),
    (Mutation::ArmAtOnce, Harm::Broken(Fault::Error)),
    (Mutation::FollowOldPackets, Harm::Broken(Fault::Path)),
    (Mutation::StayOnPath, Harm::Broken(Fault::Error)),
    (Mutation::StayWhileRearmed, Harm::Broken(Fault::Error)),
    (Mutation::MigrateSilently, Harm::Broken(Fault::Error)),
    (Mutation::ExecuteAhead, Harm::Broken(Fault::Order)),
    (Mutation::ExecuteAgain, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::IgnoreRepeated, Harm::Broken(Fault::Error)),
    (Mutation::AcknowledgeExpected, Harm::Broken(Fault::Completion)),
    (Mutation::ExecuteAtomicAgain, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::ReplayLatestResult, Harm::Broken(Fault::Result)),
    (Mutation::RestartWholeReadsOnly, Harm::Broken(Fault::Error)),
    (Mutation::SkipNotReady, Harm::Broken(Fault::Order)),
    (Mutation::AcknowledgeNotReady, Harm::Broken(Fault::Completion)),
    (Mutation::ContinueAfterRefusal, Harm::Broken(Fault::Order)),
    (Mutation::CompleteAtFirst, Harm::Broken(Fault::Data)),
    (Mutation::TakeReceiveForEachPacket, Harm::Broken(Fault::Data)),
    (Mutation::WriteAnywhere, Harm::Broken(Fault::Bounds)),
    (Mutation::ForgetResults, Harm::Broken(Fault::Error)),
    (Mutation::KeepOneLess, Harm::Broken(Fault::Error)),
    (Mutation::NakReceivedNumber, Harm::Broken(Fault::Completion)),
    (Mutation::CountPackets, Harm::Broken(Fault::Bounds)),
    (Mutation::HoldInPlace, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::HoldAgain, Harm::Broken(Fault::ExactlyOnce)),
    (Mutation::ForgetHeldPayload, Harm::Broken(Fault::ExactlyOnce)),
];

/// The first configuration in which a defect does this harm, and the number of steps to it.
fn found(mutation: Mutation, harm: Harm) -> Option<(String, usize)> {
    small().into_iter().find_map(|mut configuration| {
        configuration.setting.mutation = Some(mutation);
        if harm == Harm::NoFailure {
            return never_fails(configuration);
        }
        let (seen, steps) = match explore(&configuration, 20_000) {
            Verdict::Broken(fault, steps) => (Harm::Broken(fault), steps.len()),
            Verdict::Endless(steps) => (Harm::NoEnd, steps.len()),
            // A defect may make states without end; that is no proof.
            Verdict::Good(..) | Verdict::TooLarge(_) => return None,
        };
        (seen == harm).then_some((configuration.name, steps))
    })
}

/// The name of a configuration of which no schedule has the failure that it must have.
fn never_fails(configuration: Configuration) -> Option<(String, usize)> {
    let name = configuration.name.clone();
    configuration.fails?;
    let checker = configuration.checker().spawn_bfs().join();
    checker.discovery(FAILS).is_none().then_some((name, 0))
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
