//! Lane policies: the virtual lanes that a packet may take on the link behind an output.
//!
//! A routing function answers output ports ([`PortRouting`](crate::PortRouting)); a lane policy answers lanes from a [`Step`]: the
//! switch, the input port and lane, the output port, what the routing says of the link behind it ([`LinkRole`]), and the packet's
//! stage, which most policies count in links passed. The composition of both is a [`RoutingFunction`](crate::RoutingFunction), which
//! switches and the deadlock check read.
//!
//! **Service classes.** A policy knows the lanes of one service class, numbered from 0. [`ServiceClasses`] turns lanes of a link
//! into a class and lanes within it, and back, before and after a policy is evaluated. So every policy gives every class its own copy
//! of the same lanes, and no channel of a class depends on one of another: what is free of deadlock with one class is so with all.
//!
//! **Service levels.** With SL2VL tables ([`ServiceLevels`]) the level of a packet takes the place of its class: levels may share lanes, and there is
//! one service class of all lanes.
//!
//! A new policy is one file with its tests, one line in the list below, and its name in [`fabricsim_spec::LanePolicy`]. `fit.rs` says with
//! which algorithms it can be combined.

mod all;
mod classes;
mod dateline;
mod fit;
mod hops;
mod layers;
mod legs;
mod service_levels;
mod slots;

pub use all::AllLanes;
pub use classes::ServiceClasses;
pub use dateline::Dateline;
pub use hops::HopLadder;
pub use layers::Layers;
pub use legs::Legs;
pub use service_levels::ServiceLevels;
pub use slots::{Kind, Slots};

pub(crate) use fit::{chosen, refuse_unfit};
pub(crate) use service_levels::{LEVELS, LanesOfLevels, Sl2VlTables};
pub(crate) use slots::{PortKinds, templates};

use fabricsim_model::{Hop, Lanes};
use fabricsim_units::{HostId, PortNo};

use crate::At;
use crate::route::{NO_PORT, Route};

/// An output port that a routing function proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The port.
    pub port: PortNo,
    /// The role of the link behind it.
    pub role: LinkRole,
}

/// Role of a link on the route of a packet, as far as lane policies read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRole {
    /// The last link, to the destination: no policy restricts it, since no packet there waits for a channel.
    ToHost,
    /// A link between switches.
    Between,
    /// A link between switches or the last link: the routing does not know.
    Either,
    /// A link of a ring that does not have the role [`LinkRole::Dateline`]. Packets arriving on `continues_from` continue around
    /// the ring.
    Ring {
        /// The port at the other side of the ring.
        continues_from: PortNo,
    },
    /// The link of a ring over the dateline. Routing that knows where a route leaves the ring gives this role to the links before it as well.
    Dateline,
    /// A link of the leg of this number, from 0, of a route over an intermediate group or switch.
    Leg(u8),
}

/// Input of a lane policy: a hop of which the port is decided.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The switch, and the input port and lane. The lane is that within the service class.
    pub at: At,
    /// The output port.
    pub exit: Exit,
    /// Progress of the packet along its route, as the policy counts it; 0 where it was injected.
    pub stage: u8,
}

/// Destination of a packet: a host, and which of its LIDs, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The host.
    pub host: HostId,
    /// The LID, less the first one.
    pub path: u8,
}

impl From<HostId> for Destination {
    /// The first LID of a host.
    #[inline]
    fn from(host: HostId) -> Self {
        Self { host, path: 0 }
    }
}

/// A rule by which packets get the lanes of a link, of one service class.
pub trait LanePolicy {
    /// The lanes of a service class. A host injects on any of them, and the last link of a route may be on any.
    fn all(&self) -> Lanes;

    /// The lanes of the link on which `from` injects packets of a service class, or of a service level, for `to`.
    #[inline]
    fn injection(&self, _from: HostId, _to: Destination, class: u8) -> Lanes {
        let all = self.all();
        ServiceClasses::on_link(class * all.count, all)
    }

    /// True if the lanes of [`LanePolicy::injection`] depend on the service class alone, and those of [`LanePolicy::tree_injection`] are
    /// the same: so it is with the provided methods.
    fn injects_by_class(&self) -> bool {
        true
    }

    /// The lanes of the link on which `from` injects packets of a service class, or of a service level, for a multicast group.
    #[inline]
    fn tree_injection(&self, _from: HostId, class: u8) -> Lanes {
        let all = self.all();
        ServiceClasses::on_link(class * all.count, all)
    }

    /// The lanes of a link of a multicast group's tree for a packet of a service level: all lanes, where the policy follows what only the
    /// routing to a host knows.
    #[inline]
    fn tree_lanes(&self, _at: At, _exit: Exit, _level: u8) -> Lanes {
        self.all()
    }

    /// The service level of packets that `from` sends to `to` and whose traffic has the level or class `class`.
    #[inline]
    fn level(&self, _from: HostId, _to: Destination, class: u8) -> u8 {
        class
    }

    /// True if [`LanePolicy::level`] depends on the path.
    fn has_levels_of_paths(&self) -> bool {
        false
    }

    /// The lanes of a link that does not have the role [`LinkRole::ToHost`], and the stage of a packet that has passed it.
    fn lanes(&self, step: Step) -> (Lanes, u8);

    /// Stage of a packet by the port and lane on which it arrives, for routing whose packets carry no
    /// [`RouteState`](fabricsim_model::RouteState). With one, the stage is its `place`.
    #[inline]
    fn stage(&self, _at: At) -> u8 {
        0
    }

    /// The lanes of a link for a packet that carries no state.
    #[inline(always)]
    fn lanes_on_arrival(&self, at: At, exit: Exit) -> Lanes {
        self.lanes(Step { at, exit, stage: self.stage(at) }).0
    }

    /// The table entry for an exit, if the lanes depend at most on whether a packet continues around a ring, and on the dateline
    /// class of its lane; else `None`.
    fn compile(&self, _exit: Exit) -> Option<Route> {
        None
    }

    /// Lanes that a service class needs, and the longest route link by link, each with its lane; `None` if any number is enough for
    /// every packet to have a lane.
    fn requirement(&self) -> Option<(u8, String)> {
        None
    }

    /// True if the n-th link of a route has lanes of its own, so that longer routes change the lanes of all packets.
    fn divides_by_hops(&self) -> bool {
        false
    }
}

/// The entry for an exit on the same lanes for all packets.
const fn entry(port: PortNo, lanes: Lanes) -> Route {
    Route { hop: Hop { port, lanes }, continues_from: NO_PORT }
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident($policy:ident),)*) => {
        /// Any lane policy, dispatched statically: for routing that works with several.
        #[derive(Clone, Debug)]
        pub enum AnyPolicy {
            $($(#[$doc])* $name($policy),)*
        }

        impl LanePolicy for AnyPolicy {
            #[inline]
            fn all(&self) -> Lanes {
                match self {
                    $(Self::$name(policy) => policy.all(),)*
                }
            }

            #[inline]
            fn injection(&self, from: HostId, to: Destination, class: u8) -> Lanes {
                match self {
                    $(Self::$name(policy) => policy.injection(from, to, class),)*
                }
            }

            fn injects_by_class(&self) -> bool {
                match self {
                    $(Self::$name(policy) => policy.injects_by_class(),)*
                }
            }

            #[inline]
            fn tree_injection(&self, from: HostId, class: u8) -> Lanes {
                match self {
                    $(Self::$name(policy) => policy.tree_injection(from, class),)*
                }
            }

            #[inline]
            fn tree_lanes(&self, at: At, exit: Exit, level: u8) -> Lanes {
                match self {
                    $(Self::$name(policy) => policy.tree_lanes(at, exit, level),)*
                }
            }

            #[inline]
            fn level(&self, from: HostId, to: Destination, class: u8) -> u8 {
                match self {
                    $(Self::$name(policy) => policy.level(from, to, class),)*
                }
            }

            fn has_levels_of_paths(&self) -> bool {
                match self {
                    $(Self::$name(policy) => policy.has_levels_of_paths(),)*
                }
            }

            #[inline(always)]
            fn lanes(&self, step: Step) -> (Lanes, u8) {
                match self {
                    $(Self::$name(policy) => policy.lanes(step),)*
                }
            }

            #[inline(always)]
            fn stage(&self, at: At) -> u8 {
                match self {
                    $(Self::$name(policy) => policy.stage(at),)*
                }
            }

            #[inline(always)]
            fn lanes_on_arrival(&self, at: At, exit: Exit) -> Lanes {
                match self {
                    $(Self::$name(policy) => policy.lanes_on_arrival(at, exit),)*
                }
            }

            fn compile(&self, exit: Exit) -> Option<Route> {
                match self {
                    $(Self::$name(policy) => policy.compile(exit),)*
                }
            }

            fn requirement(&self) -> Option<(u8, String)> {
                match self {
                    $(Self::$name(policy) => policy.requirement(),)*
                }
            }

            fn divides_by_hops(&self) -> bool {
                match self {
                    $(Self::$name(policy) => policy.divides_by_hops(),)*
                }
            }
        }

        $(impl From<$policy> for AnyPolicy {
            fn from(policy: $policy) -> Self {
                Self::$name(policy)
            }
        })*
    };
}

policies! {
    /// All lanes of the service class.
    All(AllLanes),
    /// Two classes of lanes along rings.
    Dateline(Dateline),
    /// The n-th lanes on the n-th link.
    Hops(HopLadder),
    /// The n-th lanes on the n-th leg.
    Legs(Legs),
    /// Lanes by the slot in the longest route of a dragonfly.
    Slots(Slots),
    /// The lane of the path's layer.
    Layers(Layers),
    /// The lane of the service level at an input and output.
    ServiceLevels(ServiceLevels),
}
