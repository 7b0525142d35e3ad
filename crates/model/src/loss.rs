/// Cause of the loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}
