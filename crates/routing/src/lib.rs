//! Routing functions, lane policies and forwarding tables over a graph, and the static deadlock check.
//!
//! A routing algorithm answers output ports ([`PortRouting`]), a lane policy answers virtual lanes ([`lanes`]), and their composition
//! is the [`RoutingFunction`] that switches and the deadlock check read.
//!
//! [`build`] returns the [`Router`] of an experiment. A new algorithm is one file beside its tests, one
//! line in the list of routers and one in [`build`].

mod algorithm;
mod build;
mod competition;
pub mod deadlock;
mod dimension_order;
mod direct;
pub mod dragonfly;
mod error;
mod failed;
pub mod fdbs;
mod gates;
mod hyperx;
mod indirect;
pub mod lanes;
mod lids;
mod linear_tables;
mod look_up_tables;
mod megafly;
mod multicast;
mod opensm;
mod path;
mod path_mtu;
mod ports;
mod reroute;
mod route;
mod route_lengths;
mod route_table;
mod router_tables;
#[cfg(test)]
mod samples;
mod service_levels;
mod shortest_path;
mod table;
#[cfg(test)]
mod testing;
mod up_down;
mod view;
mod wiring;
#[cfg(test)]
mod worked_example;

pub use build::build;
pub use competition::port_competition;
pub use deadlock::{Verdict, check, check_with_multicast};
pub use dimension_order::DimensionOrder;
pub use dragonfly::Dragonfly;
pub use error::{RoutingError, TablesError, TablesProblem};
pub use hyperx::{HyperX, HyperXPolicy};
pub use indirect::{Indirect, IndirectPolicy};
pub use lanes::{Destination, LanePolicy};
pub use lids::{identity, identity_of};
pub use look_up_tables::{LookUpTables, TableRequest};
pub use megafly::{Megafly, MegaflyPolicy};
pub use multicast::{MulticastTables, Participants};
pub use opensm::{engine, subnet_without};
pub use path::path;
pub use path_mtu::{PathMtus, has_small_links, links_of_path, path_mtus};
pub use ports::PortRouting;
pub use reroute::{check_reroutes, reroute, with_lanes_for_states};
pub use route_table::RouteTable;
pub use shortest_path::shortest_paths;
pub use table::{ForwardingTables, TableRouting};
pub use up_down::{UpDown, Upwards};
pub use view::{BroadcastOutputs, View};

use fabricsim_model::{Hop, Lanes, Packet, RouteState};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use lanes::{Exit, LinkRole, ServiceClasses};

/// Position of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The switch.
    pub switch: SwitchId,
    /// The port that it came in by.
    pub in_port: PortNo,
    /// The lane that it came on.
    pub lane: Vl,
}

/// A routing algorithm on a given graph: it proposes hops; the switch chooses among them.
pub trait RoutingFunction {
    /// Lanes on which `from` may inject a packet of a service class, or service level, for `to`.
    fn injection_lanes(&self, from: HostId, to: Destination, class: u8) -> Lanes;

    /// The service level of a packet on the path between two hosts whose traffic has service class, or service level, `class`.
    #[inline]
    fn service_level(&self, _from: HostId, _to: Destination, class: u8) -> u8 {
        class
    }

    /// Number of LIDs of a host that sources use, each with routes of its own.
    fn paths(&self) -> u8 {
        1
    }

    /// True if [`RoutingFunction::service_level`] depends on the path.
    fn has_levels_of_paths(&self) -> bool {
        false
    }

    /// States of packets between two hosts where they are injected, each with its class: those that the deadlock check follows.
    fn starts(&self, _from: HostId, _to: HostId) -> Vec<(u8, RouteState)> {
        vec![(0, RouteState::default())]
    }

    /// The lane policy, for messages. Its lanes are in the hops already.
    fn lane_policy(&self) -> &dyn LanePolicy;

    /// The lanes on which a host injects packets of a service class, or service level, for a multicast group.
    fn tree_injection(&self, from: HostId, class: u8) -> Lanes {
        self.lane_policy().tree_injection(from, class)
    }

    /// The hop of a packet for a multicast group by one of its ports; `at.lane` is the lane of the link on which it has arrived.
    #[inline(never)]
    fn tree_hop(&self, at: At, port: PortNo, level: u8) -> Hop {
        let policy = self.lane_policy();
        let class = ServiceClasses::new(policy.all().count).base(at.lane);
        let at = At { lane: Vl(at.lane.0 - class), ..at };
        let lanes = policy.tree_lanes(at, Exit { port, role: LinkRole::Either }, level);
        ServiceClasses::hop(class, Hop { port, lanes })
    }

    /// The hops that a packet for `to` may take from switch `at`, having come in by `in_port` on `lane`; appended to
    /// `hops`, which is empty. At the destination's switch that is the host's port. Never none.
    fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>);

    /// The hop, where it is known without a list that there is just one; else `None`.
    #[inline]
    fn only_hop(&self, _at: SwitchId, _in_port: PortNo, _lane: Vl, _to: HostId) -> Option<Hop> {
        None
    }

    /// The hop, where tables by coordinates give it in a few instructions; else `None`, whatever [`RoutingFunction::only_hop`] finds. For
    /// fabrics that are too large for a [`RouteTable`].
    #[inline(always)]
    fn hop_by_coordinates(&self, _at: At, _to: HostId) -> Option<Hop> {
        None
    }

    /// True if packets carry a [`RouteState`]. Then [`RoutingFunction::choose`] finds their hops.
    #[inline]
    fn keeps_state(&self) -> bool {
        false
    }

    /// True if packets may take other routes than those of [`RoutingFunction::hops`]: over another group or switch, or by links that do
    /// not lead closer. Then [`RoutingFunction::options`] has all of them.
    fn takes_detours(&self) -> bool {
        false
    }

    /// The hop of a packet that remembers `state`, which becomes what it remembers when it has taken the hop; `None` if packets
    /// remember nothing ([`RoutingFunction::hops`] knows).
    #[inline]
    fn choose<V: View>(
        &self,
        _at: At,
        _packet: &Packet,
        _state: &mut RouteState,
        _view: &mut V,
    ) -> Option<Hop> {
        None
    }

    /// All that may become of a packet for `to` that remembers `state`, whatever the loads and the draws; appended to
    /// `options`. For the deadlock check.
    fn options(&self, at: At, to: HostId, state: RouteState, options: &mut Vec<(Hop, RouteState)>) {
        let mut hops = Vec::new();
        self.hops(at.switch, at.in_port, at.lane, to, &mut hops);
        options.extend(hops.into_iter().map(|hop| (hop, state)));
    }

    /// Outputs that other switches look at ([`View::broadcast_load`]).
    fn broadcast_outputs(&self) -> Option<BroadcastOutputs> {
        None
    }

    /// True if all hosts of a switch look alike to the routing, but for the last hop.
    fn knows_switches_only(&self) -> bool {
        false
    }

    /// The route from every switch to every host, where it is known as a table: asked once, so that a switch can look there
    /// before it asks for [`RoutingFunction::only_hop`].
    fn route_table(&self) -> Option<&RouteTable> {
        None
    }

    /// True if there may be more than one hop, of which the least loaded is taken.
    #[inline]
    fn is_adaptive(&self) -> bool {
        false
    }

    /// True if there may be more than one hop, of which any is taken.
    #[inline]
    fn is_random(&self) -> bool {
        false
    }
}

macro_rules! routers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Any routing algorithm, dispatched statically (by a plain tag: it is asked for every packet and hop).
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum Router {
            $($(#[$doc])* $name($name),)*
        }

        impl Router {
            /// Number of virtual lanes.
            pub fn virtual_lanes(&self) -> u8 {
                self.lane_policy().all().count
            }

            /// Virtual lanes of a service class that the lane policy needs, and the longest route, link by link, each with its lane;
            /// `None` if any number will do.
            pub fn lanes_needed(&self) -> Option<(u8, String)> {
                self.lane_policy().requirement()
            }

            /// True if the n-th link of a route has lanes of its own: those of all packets depend on the longest route.
            pub fn divides_lanes_by_hops(&self) -> bool {
                self.lane_policy().divides_by_hops()
            }
        }

        impl RoutingFunction for Router {
            #[inline]
            fn injection_lanes(&self, from: HostId, to: Destination, class: u8) -> Lanes {
                match self {
                    $(Self::$name(router) => RoutingFunction::injection_lanes(router, from, to, class),)*
                }
            }

            #[inline]
            fn service_level(&self, from: HostId, to: Destination, class: u8) -> u8 {
                match self {
                    $(Self::$name(router) => RoutingFunction::service_level(router, from, to, class),)*
                }
            }

            fn paths(&self) -> u8 {
                match self {
                    $(Self::$name(router) => RoutingFunction::paths(router),)*
                }
            }

            fn has_levels_of_paths(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::has_levels_of_paths(router),)*
                }
            }

            fn starts(&self, from: HostId, to: HostId) -> Vec<(u8, RouteState)> {
                match self {
                    $(Self::$name(router) => RoutingFunction::starts(router, from, to),)*
                }
            }

            fn lane_policy(&self) -> &dyn LanePolicy {
                match self {
                    $(Self::$name(router) => RoutingFunction::lane_policy(router),)*
                }
            }

            #[inline]
            fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>) {
                match self {
                    $(Self::$name(router) => RoutingFunction::hops(router, at, in_port, lane, to, hops),)*
                }
            }

            #[inline(always)]
            fn only_hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
                match self {
                    $(Self::$name(router) => RoutingFunction::only_hop(router, at, in_port, lane, to),)*
                }
            }

            #[inline(always)]
            fn hop_by_coordinates(&self, at: At, to: HostId) -> Option<Hop> {
                match self {
                    Self::DimensionOrder(router) => router.hop_by_coordinates(at, to),
                    _ => None,
                }
            }

            #[inline]
            fn keeps_state(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::keeps_state(router),)*
                }
            }

            fn takes_detours(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::takes_detours(router),)*
                }
            }

            #[inline]
            fn choose<V: View>(
                &self,
                at: At,
                packet: &Packet,
                state: &mut RouteState,
                view: &mut V,
            ) -> Option<Hop> {
                match self {
                    $(Self::$name(router) => RoutingFunction::choose(router, at, packet, state, view),)*
                }
            }

            fn options(&self, at: At, to: HostId, state: RouteState, options: &mut Vec<(Hop, RouteState)>) {
                match self {
                    $(Self::$name(router) => RoutingFunction::options(router, at, to, state, options),)*
                }
            }

            fn broadcast_outputs(&self) -> Option<BroadcastOutputs> {
                match self {
                    $(Self::$name(router) => RoutingFunction::broadcast_outputs(router),)*
                }
            }

            fn knows_switches_only(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::knows_switches_only(router),)*
                }
            }

            fn route_table(&self) -> Option<&RouteTable> {
                match self {
                    $(Self::$name(router) => RoutingFunction::route_table(router),)*
                }
            }

            #[inline]
            fn is_adaptive(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::is_adaptive(router),)*
                }
            }

            #[inline]
            fn is_random(&self) -> bool {
                match self {
                    $(Self::$name(router) => RoutingFunction::is_random(router),)*
                }
            }
        }

        $(impl From<$name> for Router {
            fn from(router: $name) -> Self {
                Self::$name(router)
            }
        })*
    };
}

routers!(
    /// Dimension order on a grid.
    DimensionOrder,
    /// SeaStar's tables on a grid.
    LookUpTables,
    /// Up and down a fat tree.
    UpDown,
    /// Minimal, Valiant and adaptive routing on a dragonfly.
    Dragonfly,
    /// Minimal, Valiant and UGAL-L routing on a megafly.
    Megafly,
    /// Minimal, Valiant and DAL routing on a HyperX.
    HyperX,
    /// Valiant and UGAL-L routing on any graph.
    Indirect,
    /// Forwarding tables: shortest paths, or read from a file.
    TableRouting,
);
