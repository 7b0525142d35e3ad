/// Cause of the loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub enum LossCause {
    /// The draw of `transport.loss`.
    TransportLoss,
    /// It arrived after `transport.lifetime`.
    Lifetime,
    /// Its link failed while it was on it, or before it could be sent over it.
    LinkFailed,
    /// The switch that it was in failed.
    SwitchFailed,
    /// Its switch has no entry for its destination in the forwarding table.
    NoRoute,
    /// It was at the head of a queue of a switch for longer than `switch.head_of_queue_lifetime`.
    HeadOfQueueLifetime,
    /// Its lane was stalled at an output of a switch (`switch.vl_stall_count`).
    VlStalled,
    /// It was in a switch for longer than `switch.lifetime_limit`.
    SwitchLifetime,
    /// The receiving end of a link found a bit error of the link.
    Vcrc,
    /// Its receiver found a bit error of a switch.
    Icrc,
    /// Its receiver is not in its partition.
    PartitionKey,
    /// The port of a switch between it and a host has no P_Key that fits its own (`switch.partition_enforcement`).
    PartitionKeyAtSwitch,
    /// It is larger than what the link can carry for which it was routed.
    LinkMtu,
    /// The input buffer that it arrived at had no space for it: there is less headroom than pause frames need.
    BufferOverflow,
}
