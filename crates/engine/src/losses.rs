//! Packets lost on purpose, by cause.

/// Cause of the loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// The draw of `transport.loss`.
    TransportLoss,
    /// It arrived after `transport.lifetime`.
    Lifetime,
}

/// Numbers of packets lost on purpose, by cause. They reached their receiver's port, which did not accept them: requests,
/// FINs, and the answers to both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lost by the draw of `transport.loss`.
    pub transport_loss: u64,
    /// Lost because they arrived after `transport.lifetime`.
    pub lifetime: u64,
}

impl Losses {
    /// Counts one packet.
    pub(crate) fn count(&mut self, cause: LossCause) {
        match cause {
            LossCause::TransportLoss => self.transport_loss += 1,
            LossCause::Lifetime => self.lifetime += 1,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let Self { transport_loss, lifetime } = other;
        self.transport_loss += transport_loss;
        self.lifetime += lifetime;
    }

    /// The sum over all causes.
    pub const fn total(&self) -> u64 {
        let Self { transport_loss, lifetime } = self;
        *transport_loss + *lifetime
    }
}
