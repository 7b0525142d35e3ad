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
    /// Lost at the head of a queue of a switch after the head-of-queue lifetime.
    pub head_of_queue_lifetime: u64,
    /// Lost for a stalled lane.
    pub vl_stalled: u64,
    /// Lost in a switch after the switch's lifetime limit.
    pub switch_lifetime: u64,
    /// Lost at the end of a link, which found a bit error of the link.
    pub vcrc: u64,
    /// Lost at their receiver, which found a bit error of a switch.
    pub icrc: u64,
    /// Lost at their receiver, which is not in their partition.
    pub p_key: u64,
    /// Lost at a port of a switch that enforces partitions.
    pub p_key_switch: u64,
    /// Lost in a switch for a link whose MTU they exceed.
    pub link_mtu: u64,
}

impl Losses {
    /// Counts one packet.
    pub(crate) fn count(&mut self, cause: LossCause) {
        *match cause {
            LossCause::TransportLoss => &mut self.transport_loss,
            LossCause::Lifetime => &mut self.lifetime,
            LossCause::LinkFailed => &mut self.link_failed,
            LossCause::SwitchFailed => &mut self.switch_failed,
            LossCause::NoRoute => &mut self.no_route,
            LossCause::HeadOfQueueLifetime => &mut self.head_of_queue_lifetime,
            LossCause::VlStalled => &mut self.vl_stalled,
            LossCause::SwitchLifetime => &mut self.switch_lifetime,
            LossCause::Vcrc => &mut self.vcrc,
            LossCause::Icrc => &mut self.icrc,
            LossCause::PartitionKey => &mut self.p_key,
            LossCause::PartitionKeyAtSwitch => &mut self.p_key_switch,
            LossCause::LinkMtu => &mut self.link_mtu,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            transport_loss,
            lifetime,
            link_failed,
            switch_failed,
            no_route,
            head_of_queue_lifetime,
            vl_stalled,
            switch_lifetime,
            vcrc,
            icrc,
            p_key,
            p_key_switch,
            link_mtu,
        } = other;
        self.transport_loss += transport_loss;
        self.lifetime += lifetime;
        self.link_failed += link_failed;
        self.switch_failed += switch_failed;
        self.no_route += no_route;
        self.head_of_queue_lifetime += head_of_queue_lifetime;
        self.vl_stalled += vl_stalled;
        self.switch_lifetime += switch_lifetime;
        self.vcrc += vcrc;
        self.icrc += icrc;
        self.p_key += p_key;
        self.p_key_switch += p_key_switch;
        self.link_mtu += link_mtu;
    }

    /// Those that reached their receiver's port, which did not accept them.
    const fn at_hosts(&self) -> u64 {
        self.transport_loss + self.lifetime
    }

    /// Those lost with links and switches that failed, and without a route.
    pub const fn by_failures(&self) -> u64 {
        self.link_failed + self.switch_failed + self.no_route
    }

    /// Those whose time in a switch was over.
    pub const fn by_lifetimes(&self) -> u64 {
        self.head_of_queue_lifetime + self.vl_stalled + self.switch_lifetime
    }

    /// Those with bit errors.
    pub const fn by_errors(&self) -> u64 {
        self.vcrc + self.icrc
    }

    /// Those of partitions that a host or a switch does not accept.
    pub const fn by_partitions(&self) -> u64 {
        self.p_key + self.p_key_switch
    }

    /// Those lost in the network, and not by the draw or the lifetime of a transport.
    pub const fn in_network(&self) -> u64 {
        self.by_failures() + self.by_lifetimes() + self.by_errors() + self.by_partitions() + self.link_mtu
    }

    /// The sum over all causes.
    pub const fn total(&self) -> u64 {
        self.at_hosts() + self.in_network()
    }
}
