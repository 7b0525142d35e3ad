//! Routing on a dragonfly: minimal, over another group (Valiant), and the choice between the two by load.
//!
//! - `minimal`: to a router of the group with a link to the destination's group, over it, to the destination's router.
//! - `valiant`: first to another group, drawn at random, then minimally (Kim et al., ISCA 2008; Valiant 1982).
//! - `ugal-l`: of a minimal route and one by Valiant, the one with less to wait for, decided where the packet is injected by what
//!   its router knows of its own outputs (Singh 2005; Kim et al. 2008).
//! - `ugal-g`: the same by what is ahead at the first global link of each route, wherever in the group, as it was broadcast
//!   (Kim et al. 2008, who assume that it is known at once).
//! - `piggyback`: as `ugal-l`, and over another group if the minimal route's global link was broadcast as congested (Jiang,
//!   Kim, Dally, ISCA 2009).
//! - `par`: as `ugal-l`, decided once more at the second router of the group (Jiang, Kim, Dally, ISCA 2009).
//! - `par-6/2`: a choice at every router, with detours within groups as well (García et al., ICPP 2013).
//!
//! Between hosts of one group all but `par-6/2` go minimally. A packet remembers in its [`RouteState`] where it goes first, what
//! it has decided, and its slot in the longest route ([`Slots`]). Every decision is among the [`RoutingFunction::options`](crate::RoutingFunction::options) that the
//! deadlock check follows; debug builds check each.

#[cfg(test)]
mod decisions;
mod map;
mod options;
mod par_6_2;
mod source;
#[cfg(test)]
mod tests;

use fabricsim_model::{Hop, Packet, RouteState};
use fabricsim_topology::{DragonflyShape, Graph};
use fabricsim_units::{HostId, PortNo, SwitchId, Time};

use self::map::{Map, Place};
use crate::gates::{Gate, any};
use crate::lanes::{Exit, Kind, LinkRole, PortKinds, Slots, templates};
use crate::{At, BroadcastOutputs, PortRouting, View};

pub use self::par_6_2::Detours;

/// The packet goes to another group or router first: [`RouteState::via`].
const DETOUR: u8 = 1;
/// It may still go there.
const UNSURE: u8 = 2;
/// It has made a detour within this group.
const TURNED: u8 = 4;
/// It leaves this group by the router where it is.
const MUST_LEAVE: u8 = 8;
/// Flags that are cleared when a packet comes to another group.
const IN_GROUP: u8 = UNSURE | TURNED | MUST_LEAVE;

/// Policy of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Minimal routes.
    Minimal,
    /// Over another group.
    Valiant,
    /// Minimal, unless q_min H_min > q_val H_val + T: q what is ahead at the output, H the links of the route, T this many
    /// flow-control units.
    UgalLocal {
        /// T.
        threshold: u32,
    },
    /// As [`Policy::UgalLocal`], with what is ahead at the first global link of each route, as its router broadcast it.
    UgalGlobal {
        /// T.
        threshold: u32,
    },
    /// As [`Policy::UgalLocal`], and not minimal if much more is ahead at the first global link of the minimal route than at its
    /// router's global links on average: q > factor mean(q) + C.
    Piggyback {
        /// T.
        threshold: u32,
        /// The factor, in 256ths.
        factor: u32,
        /// C.
        congested: u32,
    },
    /// At the first and second router: minimal, unless q_min > 2 q_val + T; where a local link is compared with a global one, with
    /// the mean of the router's other global links for q_val, if that is more.
    Progressive {
        /// T.
        threshold: u32,
    },
    /// With detours in each group.
    Detours(Detours),
}

/// First target of a route over another group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// To any router of that group.
    Group,
    /// To one router of it, drawn at random.
    Router,
    /// To the router of a host, drawn among all; minimally if it is in the group of the source or of the destination.
    Host,
}

/// Routing on a dragonfly.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    map: Map,
    lanes: Slots,
    policy: Policy,
    via: Via,
    /// Weights in place of H_min and H_val, if they are given.
    weights: Option<[u32; 2]>,
    /// Least age of what routers know of others' global links.
    state_delay: Time,
}

/// Present target of a packet: any router of a group, or one.
#[derive(Clone, Copy, Debug)]
struct Goal {
    group: u32,
    router: Option<u32>,
}

impl Policy {
    /// The longest route.
    pub(crate) const fn route(self, via: Via) -> &'static [Kind] {
        match (self, via) {
            (Self::Minimal, _) => templates::MINIMAL,
            (Self::Valiant, Via::Group) => templates::BY_GROUP,
            (Self::Valiant, Via::Router | Via::Host) => templates::BY_ROUTER,
            (Self::UgalLocal { .. } | Self::UgalGlobal { .. } | Self::Piggyback { .. }, via) => {
                Self::Valiant.route(via)
            }
            (Self::Progressive { .. }, Via::Group) => templates::PROGRESSIVE_BY_GROUP,
            (Self::Progressive { .. }, Via::Router | Via::Host) => templates::PROGRESSIVE_BY_ROUTER,
            (Self::Detours(_), _) => templates::SIX_TWO,
        }
    }
}

impl Dragonfly {
    /// Routing on the dragonfly `shape` of `graph` with `lanes` virtual lanes; the lanes that are needed, if there are fewer.
    pub fn new(
        graph: &Graph,
        shape: &DragonflyShape,
        (policy, via): (Policy, Via),
        lanes: u8,
    ) -> Result<Self, u8> {
        let ports = PortKinds::new(shape.hosts as u16, shape.routers as u16 - 1);
        Ok(Self {
            map: Map::new(graph, shape),
            lanes: Slots::new(policy.route(via), ports, lanes)?,
            policy,
            via,
            weights: None,
            state_delay: Time::ZERO,
        })
    }

    /// Weighs what is ahead of a minimal route and of a detour by these in place of the links of the routes.
    #[must_use]
    pub fn with_weights(self, weights: Option<[u32; 2]>) -> Self {
        Self { weights, ..self }
    }

    /// Sets the least age of what routers know of others' global links.
    #[must_use]
    pub fn with_state_delay(self, state_delay: Time) -> Self {
        Self { state_delay, ..self }
    }

    /// The same on other lanes.
    #[cfg(test)]
    fn with_lanes(mut self, kinds: &'static [Kind], places: &[u8]) -> Self {
        let shape = &self.map.shape;
        let ports = PortKinds::new(shape.hosts as u16, shape.routers as u16 - 1);
        self.lanes = Slots::on_lanes(kinds, ports, places, 1);
        self
    }

    /// The exit by `port` to another switch, and the state of a packet that takes it.
    #[inline]
    fn exit(&self, port: PortNo, state: RouteState) -> (Exit, RouteState) {
        let is_global = self.lanes.kind(port) == Kind::Global;
        let state = if is_global { state.without(IN_GROUP) } else { state };
        (Exit { port, role: LinkRole::Between }, state)
    }

    /// Present target of the packet: its detour, which it forgets once it is there, or its destination.
    #[inline]
    fn goal(&self, here: Place, to: Place, state: &mut RouteState) -> Goal {
        if state.has(DETOUR) {
            let via = self.detour(*state);
            let there = via.group == here.group && via.router.is_none_or(|router| router == here.router);
            if !there {
                return via;
            }
            *state = state.without(DETOUR).with_via(0);
        }
        Goal { group: to.group, router: Some(to.router) }
    }

    /// The place that a packet remembers.
    #[inline]
    fn detour(&self, state: RouteState) -> Goal {
        match self.via {
            Via::Group => Goal { group: state.via(), router: None },
            Via::Router | Via::Host => {
                let Place { group, router } = self.map.place(SwitchId(state.via()));
                Goal { group, router: Some(router) }
            }
        }
    }

    /// The port towards `goal`, over any of the shortest routes.
    #[inline]
    fn towards<V: View>(&self, here: Place, goal: Goal, view: &mut V) -> PortNo {
        match goal.router {
            Some(router) if goal.group == here.group => self.map.shape.local_port(here.router, router),
            _ => self.map.towards(here, self.gate(here, goal, view)),
        }
    }

    /// A link to the goal's group, any of the nearest.
    #[inline]
    fn gate<V: View>(&self, here: Place, goal: Goal, view: &mut V) -> Gate {
        let all = self.map.gates(here.group, goal.group);
        if let [only] = all {
            return *only;
        }
        any(self.map.nearest(here, goal.group, goal.router), view).unwrap_or(all[0])
    }

    /// A group other than these two, or a router of such a group, for [`RouteState::via`]; `None` if the host that is drawn is in one of
    /// the two.
    #[inline]
    fn draw_via<V: View>(&self, here: Place, to: Place, view: &mut V) -> Option<u32> {
        let shape = &self.map.shape;
        if self.via == Via::Host {
            let host = view.below(shape.groups.count * shape.routers * shape.hosts);
            let router = host / shape.hosts;
            let group = router / shape.routers;
            return (group != here.group && group != to.group).then_some(router);
        }
        let (low, high) = (here.group.min(to.group), here.group.max(to.group));
        let mut group = view.below(shape.groups.count - 2);
        group += u32::from(group >= low);
        group += u32::from(group >= high);
        Some(match self.via {
            Via::Group => group,
            Via::Router | Via::Host => group * shape.routers + view.below(shape.routers),
        })
    }
}

impl PortRouting for Dragonfly {
    type Lanes = Slots;

    #[inline]
    fn lanes(&self) -> &Slots {
        &self.lanes
    }

    /// The minimal exits.
    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        self.minimal_options(at.switch, to, RouteState::default(), &mut |exit, _| each(exit));
    }

    #[inline]
    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, view: &mut V) -> Option<Hop> {
        let (target, port) = self.map.host(packet.destination);
        if target == at.switch {
            return Some(self.last_hop(port));
        }
        let (here, to) = (self.map.place(at.switch), self.map.place(target));
        let port = match self.policy {
            Policy::Detours(rules) => self.with_detours(rules, here, to, state, view),
            policy => self.minimal_or_detour(policy, here, to, state, view),
        };
        let (exit, after) = self.exit(port, *state);
        *state = after;
        Some(self.take(at, exit, state))
    }

    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        self.each_option(at.switch, to, state, each);
    }

    fn asserts_options(&self) -> bool {
        true
    }

    fn broadcast_outputs(&self) -> Option<BroadcastOutputs> {
        if !matches!(self.policy, Policy::UgalGlobal { .. } | Policy::Piggyback { .. }) {
            return None;
        }
        let ports = self.map.global_ports().map(PortNo);
        let outputs = self.map.switches().flat_map(|at| ports.clone().map(move |port| (at, port)));
        Some(BroadcastOutputs { delay: self.state_delay, outputs: outputs.collect() })
    }

    fn knows_switches_only(&self) -> bool {
        true
    }

    #[inline]
    fn is_adaptive(&self) -> bool {
        !matches!(self.policy, Policy::Minimal | Policy::Valiant)
    }

    fn takes_detours(&self) -> bool {
        self.policy != Policy::Minimal
    }

    #[inline]
    fn keeps_state(&self) -> bool {
        true
    }
}
