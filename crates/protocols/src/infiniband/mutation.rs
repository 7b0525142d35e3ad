//! Deliberate defects. Tests build them in, one at a time, and require that the checks detect them; elsewhere they do not exist.

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) enum Mutation {
    /// Requester: packets are sent during the time of an RNR NAK.
    SendWhileWaiting,
    /// Requester: a fence waits for nothing.
    IgnoreFence,
    /// Requester: more READs are outstanding than agreed.
    ReadsWithoutLimit,
    /// Requester: no message is sent beyond the credits.
    NoProbe,
    /// Requester: credits do not limit messages.
    IgnoreCredits,
    /// Requester: the rest of a READ is requested from its first byte on.
    RestartReadAtItsStart,
    /// Requester: a NAK for a missing packet acknowledges this packet.
    NakAcknowledgesItself,
    /// Requester: an acknowledgement covers READs before it whose data is missing.
    SkipMissingData,
    /// Requester: a completed READ counts as outstanding.
    LeakReadSlots,
    /// Requester: the timer stops at the first acknowledgement.
    StopTimerEarly,
    /// Requester: a retry sends nothing again.
    StayInPlace,
    /// Requester: requests behind a failed one are not flushed.
    LeaveTheRest,
    /// Requester: flushed requests have the status of the failed one.
    FlushWithCause,
    /// Requester: a failed request does not bring the queue pair into the error state.
    StayAliveAfterError,
    /// Requester: it waits for ever after an RNR NAK.
    StayWaiting,
    /// Requester: retries are not counted.
    RetryForEver,
    /// Requester: retries while the receiver is not ready are not counted.
    RetryNotReadyForEver,
    /// Requester: after a migration it has no retries left.
    MigrateWithoutRetries,
    /// Migration: a queue pair is armed before the other end is.
    ArmAtOnce,
    /// Migration: a packet from before, which came by the first path, counts as one of an end that has migrated.
    FollowOldPackets,
    /// Migration: an end does not follow the other one.
    StayOnPath,
    /// Migration: an end that is not armed yet does not follow the other one.
    StayWhileRearmed,
    /// Migration: packets do not report that their sender has migrated.
    MigrateSilently,
    /// Responder: a packet is executed although others before it are missing.
    ExecuteAhead,
    /// Responder: repeated packets are executed.
    ExecuteAgain,
    /// Responder: repeated packets are not acknowledged.
    IgnoreRepeated,
    /// Responder: repeated packets are acknowledged with the expected number.
    AcknowledgeExpected,
    /// Responder: a repeated atomic operation is executed.
    ExecuteAtomicAgain,
    /// Responder: a repeated atomic operation has the result of the latest one.
    ReplayLatestResult,
    /// Responder: a READ is repeated from its first packet only.
    RestartWholeReadsOnly,
    /// Responder: a message without a receive request is skipped.
    SkipNotReady,
    /// Responder: a message without a receive request is acknowledged.
    AcknowledgeNotReady,
    /// Responder: a refused request does not break the connection.
    ContinueAfterRefusal,
    /// Responder: a receive request ends with the first packet of its message.
    CompleteAtFirst,
    /// Responder: each packet of a SEND takes a receive request.
    TakeReceiveForEachPacket,
    /// Responder: keys of WRITEs are not checked.
    WriteAnywhere,
    /// Responder: results are not kept.
    ForgetResults,
    /// Responder: fewer results are kept than requests may come again.
    KeepOneLess,
    /// Responder: the NAK for a missing packet has the number of the received one.
    NakReceivedNumber,
    /// Responder: each packet counts as a message.
    CountPackets,
    /// Responder: places of held packets do not move on when one is executed.
    HoldInPlace,
    /// Responder: a copy of a held packet is held as well.
    HoldAgain,
    /// Responder: the payload of a held packet is that of the one which brought it its turn.
    ForgetHeldPayload,
}

/// Gives a state machine with the field `mutation` (in tests) its defects.
macro_rules! mutations {
    ($machine:ident) => {
        impl $machine {
            #[cfg(test)]
            pub(crate) fn mutate(&mut self, mutation: Option<Mutation>) {
                self.mutation = mutation;
            }

            /// True if the defect is built in.
            #[cfg(test)]
            fn mutated(&self, mutation: Mutation) -> bool {
                self.mutation == Some(mutation)
            }

            #[cfg(not(test))]
            const fn mutated(&self, _: Mutation) -> bool {
                false
            }
        }
    };
}
pub(super) use mutations;
