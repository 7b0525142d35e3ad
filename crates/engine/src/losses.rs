//! Packets lost, by cause.

use fabricsim_model::LossCause;
use schemars::JsonSchema;
use serde::Serialize;

/// Declares the counters: a row for each, with its text and heading in results, its name, and the cause that it counts.
macro_rules! counters {
    ($($(#[$attribute:meta])* $counter:ident: $cause:ident;)*) => {
        /// Packets lost, by cause: with and without data, acknowledgements included.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, fabricsim_state::Value)]
        pub struct LostPackets {
            $($(#[$attribute])* pub $counter: u64,)*
        }

        impl LostPackets {
            /// Counts one packet.
            pub(crate) fn count(&mut self, cause: LossCause) {
                *match cause {
                    $(LossCause::$cause => &mut self.$counter,)*
                } += 1;
            }

            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$counter += other.$counter;)*
            }
        }
    };
}

counters! {
    /// Packets lost by the draw of `transport.loss`.
    #[schemars(title = "lost by the draw of transport.loss")]
    transport_loss: TransportLoss;
    /// Packets lost because they arrived after `transport.lifetime`.
    #[schemars(title = "lost by their lifetime")]
    lifetime: Lifetime;
    /// Packets lost with links that failed.
    #[schemars(title = "lost with failed links")]
    link_failed: LinkFailed;
    /// Packets lost with switches that failed.
    #[schemars(title = "lost with failed switches")]
    switch_failed: SwitchFailed;
    /// Packets lost in switches whose forwarding table had no entry for them.
    #[schemars(title = "lost without a route")]
    no_route: NoRoute;
    /// Packets lost at the head of a queue of a switch after `switch.head_of_queue_lifetime`.
    #[schemars(title = "lost by the head-of-queue lifetime")]
    head_of_queue_lifetime: HeadOfQueueLifetime;
    /// Packets lost for lanes that were stalled (`switch.vl_stall_count`).
    #[schemars(title = "lost by stalled lanes")]
    vl_stalled: VlStalled;
    /// Packets lost in switches after `switch.lifetime_limit`.
    #[schemars(title = "lost by the switch lifetime limit")]
    switch_lifetime: SwitchLifetime;
    /// Packets lost at the ends of links that found bit errors of the link (`links.errors`).
    #[schemars(title = "lost by bit errors on links (VCRC)")]
    vcrc: Vcrc;
    /// Packets lost at their receivers, which found bit errors of switches (`switch.bit_error_rate`).
    #[schemars(title = "lost by bit errors in switches (ICRC)")]
    icrc: Icrc;
    /// Packets lost at receivers that are not in their partition (`partitions`).
    #[schemars(title = "lost by P_Keys")]
    p_key: PartitionKey;
    /// Packets lost at ports of switches that enforce partitions (`switch.partition_enforcement`).
    #[schemars(title = "lost by P_Keys in switches")]
    p_key_switch: PartitionKeyAtSwitch;
    /// Packets lost in switches for links whose MTU they exceed (`links.all.mtu`).
    #[schemars(title = "lost by the MTU of links")]
    link_mtu: LinkMtu;
    /// Packets lost in switches whose input buffers had no space for them (`switch.flow_control = "pause"`).
    #[schemars(title = "lost by full buffers")]
    buffer_overflow: BufferOverflow;
}

impl LostPackets {
    /// Those of a transport: their receiver's port did not accept them. Requests, FINs, and the answers to both.
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

    /// Those of packets of other partitions.
    pub const fn by_partitions(&self) -> u64 {
        self.p_key + self.p_key_switch
    }

    /// Those lost in the network, and not by the draw or the lifetime of a transport.
    pub const fn in_network(&self) -> u64 {
        self.by_failures()
            + self.by_lifetimes()
            + self.by_errors()
            + self.by_partitions()
            + self.link_mtu
            + self.buffer_overflow
    }

    /// The sum over all causes.
    pub const fn total(&self) -> u64 {
        self.at_hosts() + self.in_network()
    }
}

#[cfg(test)]
mod tests;
