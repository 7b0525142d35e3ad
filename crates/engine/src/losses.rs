//! Packets lost, by cause.

use fabricsim_model::LossCause;

/// Numbers of packets lost, by cause. Those of a transport reached their receiver's port, which did not accept them: requests,
/// FINs, and the answers to both. Those of failed links and switches did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lost by the draw of `transport.loss`.
    pub transport_loss: u64,
    /// Lost because they arrived after `transport.lifetime`.
    pub lifetime: u64,
    /// Lost with a link that failed.
    pub link_failed: u64,
    /// Lost with a switch that failed.
    pub switch_failed: u64,
    /// Lost in a switch whose forwarding table had no entry for the destination.
    pub no_route: u64,
}

impl Losses {
    /// Counts one packet.
    pub(crate) fn count(&mut self, cause: LossCause) {
        match cause {
            LossCause::TransportLoss => self.transport_loss += 1,
            LossCause::Lifetime => self.lifetime += 1,
            LossCause::LinkFailed => self.link_failed += 1,
            LossCause::SwitchFailed => self.switch_failed += 1,
            LossCause::NoRoute => self.no_route += 1,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let Self { transport_loss, lifetime, link_failed, switch_failed, no_route } = other;
        self.transport_loss += transport_loss;
        self.lifetime += lifetime;
        self.link_failed += link_failed;
        self.switch_failed += switch_failed;
        self.no_route += no_route;
    }

    /// The sum over all causes.
    pub const fn total(&self) -> u64 {
        let Self { transport_loss, lifetime, link_failed, switch_failed, no_route } = self;
        *transport_loss + *lifetime + *link_failed + *switch_failed + *no_route
    }
}
