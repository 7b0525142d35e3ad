//! Deliberate defects. Tests build them in, one at a time, and require that the checks detect them; elsewhere they do not exist.

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mutation {
    /// Messages without answer are not retransmitted.
    NeverRetransmit,
    /// Retransmissions are not counted.
    RetryForEver,
    /// The end of a request by time-out is not reported to the peer.
    GiveUpSilently,
    /// A rejected connection is kept.
    KeepRejected,
    /// A REQ that comes again is a new one.
    RequestAgain,
    /// A REP that comes again is not answered.
    IgnoreRepeatedRep,
    /// A REP that comes again is reported again.
    ReplyAgain,
    /// An RTU that comes again is reported again.
    EstablishAgain,
    /// A REP is taken whatever the state.
    ReplyInAnyState,
    /// A DREQ for a connection that is not known, or has ended, has no answer.
    IgnoreLateDreq,
    /// A DREQ ends a connection at once, without TimeWait.
    SkipTimeWait,
    /// A DREQ has no answer.
    NeverDrep,
    /// A DREQ is not taken before the RTU has come.
    IgnoreEarlyDreq,
    /// A REJ is not taken.
    IgnoreRej,
    /// A REQ of a queue pair that has a connection is not rejected as stale.
    AcceptStale,
    /// The connection of a queue pair that requests another one is kept.
    KeepStale,
    /// A REQ for a service without listener has no answer.
    IgnoreUnknownService,
    /// An MRA changes nothing.
    IgnoreMra,
    /// A LAP without answer is not retransmitted.
    NeverLoadAgain,
    /// A LAP that comes again is a new one.
    LoadAgain,
    /// A LAP that comes again is not answered.
    IgnoreRepeatedLap,
    /// An APR is taken that answers no LAP.
    AnyApr,
    /// An APR is not taken.
    IgnoreApr,
    /// A SIDR_REQ without answer is not retransmitted.
    NeverResolveAgain,
    /// Retransmissions of a SIDR_REQ are not counted.
    ResolveForEver,
    /// A SIDR_REQ for a service without listener has no answer.
    IgnoreUnknownResolution,
    /// A SIDR_REQ that comes again before its answer is a new one.
    ResolveTwice,
    /// The number of a resolution is kept after its answer.
    KeepResolution,
    /// A SIDR_REP of any port is taken.
    ResolveFromAnywhere,
}
