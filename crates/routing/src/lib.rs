//! Routing functions and forwarding tables over a graph, and the static deadlock check.
//!
//! [`build`] makes the [`Router`] that an experiment asks for. A new algorithm is one file beside its tests, one
//! line in the list of routers and one in [`build`].

mod build;
mod competition;
pub mod deadlock;
mod dimension_order;
mod error;
pub mod fdbs;
mod look_up_tables;
mod path;
#[cfg(test)]
mod samples;
mod shortest_path;
mod table;
mod up_down;
mod ways;
mod wiring;

pub use build::build;
pub use competition::port_competition;
pub use deadlock::{Verdict, check};
pub use dimension_order::DimensionOrder;
pub use error::{RoutingError, TablesError, TablesProblem};
pub use look_up_tables::{LookUpTables, Wanted};
pub use path::path;
pub use shortest_path::shortest_paths;
pub use table::{ForwardingTables, TableRouting};
pub use up_down::{UpDown, Upwards};
pub use ways::Ways;

use fabricsim_model::{Hop, Lanes};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

/// A routing algorithm on a given graph: it proposes hops; the switch chooses among them.
pub trait RoutingFunction {
    /// Lanes on which `from` may inject a packet for `to`.
    fn injection_lanes(&self, from: HostId, to: HostId) -> Lanes;

    /// The hops that a packet for `to` may take from switch `at`, having come in by `in_port` on `lane`; appended to
    /// `hops`, which is empty. At the destination's switch that is the host's port. Never none.
    fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>);

    /// The hop, where it is known without a list that there is just one; else `None`.
    #[inline]
    fn only_hop(&self, _at: SwitchId, _in_port: PortNo, _lane: Vl, _to: HostId) -> Option<Hop> {
        None
    }

    /// The way from every switch to every host, where it is known as a table: asked once, so that a switch can look there
    /// before it asks for [`RoutingFunction::only_hop`].
    fn ways(&self) -> Option<&Ways> {
        None
    }

    /// May there be more than one hop, of which the least loaded is taken?
    #[inline]
    fn is_adaptive(&self) -> bool {
        false
    }

    /// May there be more than one hop, of which any is taken?
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
            /// How many virtual lanes there are.
            pub fn virtual_lanes(&self) -> u8 {
                match self {
                    $(Self::$name(router) => router.all.count,)*
                }
            }
        }

        impl RoutingFunction for Router {
            #[inline]
            fn injection_lanes(&self, from: HostId, to: HostId) -> Lanes {
                match self {
                    $(Self::$name(router) => router.injection_lanes(from, to),)*
                }
            }

            #[inline]
            fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>) {
                match self {
                    $(Self::$name(router) => router.hops(at, in_port, lane, to, hops),)*
                }
            }

            #[inline(always)]
            fn only_hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
                match self {
                    $(Self::$name(router) => router.only_hop(at, in_port, lane, to),)*
                }
            }

            fn ways(&self) -> Option<&Ways> {
                match self {
                    $(Self::$name(router) => router.ways(),)*
                }
            }

            #[inline]
            fn is_adaptive(&self) -> bool {
                match self {
                    $(Self::$name(router) => router.is_adaptive(),)*
                }
            }

            #[inline]
            fn is_random(&self) -> bool {
                match self {
                    $(Self::$name(router) => router.is_random(),)*
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
    /// Forwarding tables: shortest paths, or read from a file.
    TableRouting,
);
