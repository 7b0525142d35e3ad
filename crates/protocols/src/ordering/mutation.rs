//! Deliberate defects. Tests build them in, one at a time, and require that the checks detect them; elsewhere they cannot be set.

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mutation {
    /// The connection is closed when the last packet is acknowledged, though earlier ones may not be.
    CloseOnLastAck,
    /// FIN does not wait for answers to all copies.
    CloseBeforeAllCopies,
    /// A CID is used again before FIN-ACK.
    ReuseBeforeFinAck,
    /// The first packet that arrives starts the sequence, SYN or not.
    StartWithoutSyn,
    /// A packet is sent as SLOW though others are in flight.
    SlowNotAlone,
    /// Packets that are retransmitted do not carry SYN.
    ResendWithoutSyn,
    /// A duplicate is executed again.
    ExecuteDuplicates,
    /// The answer to a duplicate does not come from the replay buffer.
    ForgetResult,
    /// Replay buffers are freed by any packet, SYN or not.
    FreeReplayEarly,
    /// Duplicates of data are counted in a synchronized transfer.
    CountDuplicates,
    /// The synchronization operation is released one packet early.
    ReleaseEarly,
    /// Packets are acknowledged when they are put into the reorder buffer.
    AckWhenBuffered,
    /// Packets that overflow the reorder buffer are dropped without NACK.
    DropSilently,
    /// The key of the reorder buffer leaves out the CID.
    KeyWithoutCid,
    /// A slot of the reorder buffer stays taken when its packet leaves.
    LeakSlot,
    /// A rejection counts as an acknowledgement.
    NackAsAck,
    /// FIN leaves replay buffers allocated.
    LeakReplay,
    /// An exactly-once packet is delivered without a connection.
    SlowExactlyOnce,
    /// A timer that frees a place in the window does not report it.
    TimersReportNoRoom,
}
