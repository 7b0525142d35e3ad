//! Routing functions answer ports; with their lane policy they answer hops.

use fabricsim_model::{Hop, Lanes, Packet, RouteState};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::lanes::{Destination, Exit, LanePolicy, LinkRole, ServiceLevels, Step};
use crate::{At, BroadcastOutputs, RouteTable, RoutingFunction, View};

/// A routing algorithm on a given graph: it proposes output ports. Its [`RoutingFunction`] adds the lanes of its [`LanePolicy`].
///
/// There are two kinds. A stateless one proposes ports by [`PortRouting::exits`] alone. One that [keeps
/// state](PortRouting::keeps_state) decides by [`PortRouting::choose`], and the stage of its lane policy is
/// [`RouteState::place`].
pub trait PortRouting {
    /// The lane policy, or all of them that the algorithm works with.
    type Lanes: LanePolicy;

    /// The lane policy.
    fn lanes(&self) -> &Self::Lanes;

    /// Calls `each` for the exits that a packet for `to` may take at `at` (with state: the minimal ones), at least one. At the
    /// destination's switch that is the host's port, with the role [`LinkRole::ToHost`] or [`LinkRole::Either`].
    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit));

    /// The hop, if it is known without a list that there is exactly one; else `None`. By default there is no such shortcut.
    #[inline]
    fn only_hop(&self, _at: At, _to: HostId) -> Option<Hop> {
        None
    }

    /// The hops of all switches to all hosts, compiled at assembly from exits and lane policy.
    fn route_table(&self) -> Option<&RouteTable> {
        None
    }

    /// The lane policy, if it reads service levels: a packet's is [`RouteState::place`].
    #[inline]
    fn service_levels(&self) -> Option<&ServiceLevels> {
        None
    }

    /// Number of LIDs of a host, each with routes of its own: [`RouteState::path`] is that of a packet.
    #[inline]
    fn paths(&self) -> u8 {
        1
    }

    /// True if packets carry a [`RouteState`].
    #[inline]
    fn keeps_state(&self) -> bool {
        false
    }

    /// Chooses the exit of a packet with state, and returns the hop by [`PortRouting::take`] or [`PortRouting::last_hop`]; the state
    /// becomes that behind the exit. `None` without state.
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

    /// Calls `each` for every exit that [`PortRouting::choose`] may choose, whatever the loads and draws, with the state
    /// that it leaves.
    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        self.exits(at, to, &mut |exit| each(exit, state));
    }

    /// True if debug builds assert that each choice is among the options. False if the options are an upper bound with other states.
    fn asserts_options(&self) -> bool {
        false
    }

    /// True if packets may take other routes than those of [`PortRouting::exits`].
    fn takes_detours(&self) -> bool {
        false
    }

    /// Outputs whose loads other switches read ([`View::broadcast_load`]).
    fn broadcast_outputs(&self) -> Option<BroadcastOutputs> {
        None
    }

    /// True if the exits for all hosts of a switch are equal, except for the last link.
    fn knows_switches_only(&self) -> bool {
        false
    }

    /// True if there may be several exits, of which the least loaded is taken.
    #[inline]
    fn is_adaptive(&self) -> bool {
        false
    }

    /// True if there may be several exits, of which any is taken.
    #[inline]
    fn is_random(&self) -> bool {
        false
    }

    /// The hop by an exit to another switch of a packet with state, whose `place` becomes the stage after it.
    #[inline(always)]
    fn take(&self, at: At, exit: Exit, state: &mut RouteState) -> Hop {
        let (lanes, stage) = self.lanes().lanes(Step { at, exit, stage: state.place });
        *state = state.at(stage);
        Hop { port: exit.port, lanes }
    }

    /// The hop to the destination by its port.
    #[inline(always)]
    fn last_hop(&self, port: PortNo) -> Hop {
        Hop { port, lanes: self.lanes().all() }
    }

    /// The hop by an exit for a packet without state.
    #[inline(always)]
    fn hop(&self, at: At, exit: Exit) -> Hop {
        match exit.role {
            LinkRole::ToHost => self.last_hop(exit.port),
            _ => Hop { port: exit.port, lanes: self.lanes().lanes_on_arrival(at, exit) },
        }
    }
}

impl<T: PortRouting> RoutingFunction for T {
    #[inline]
    fn injection_lanes(&self, from: HostId, to: Destination, class: u8) -> Lanes {
        self.lanes().injection(from, to, class)
    }

    #[inline]
    fn service_level(&self, from: HostId, to: Destination, class: u8) -> u8 {
        self.lanes().level(from, to, class)
    }

    fn has_levels_of_paths(&self) -> bool {
        self.lanes().has_levels_of_paths()
    }

    fn starts(&self, from: HostId, to: HostId) -> Vec<(u8, RouteState)> {
        let of_path = |path: u8| {
            let to = Destination { host: to, path };
            let levels = PortRouting::service_levels(self).map_or(0..1, |levels| levels.levels(from, to));
            levels.map(move |level| (level, RouteState::default().at(level).with_path(path)))
        };
        (0..PortRouting::paths(self)).flat_map(of_path).collect()
    }

    fn paths(&self) -> u8 {
        PortRouting::paths(self)
    }

    fn lane_policy(&self) -> &dyn LanePolicy {
        self.lanes()
    }

    // Kept out of the caller, which would save registers for it on every path through the code.
    #[inline(never)]
    fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>) {
        let at = At { switch: at, in_port, lane };
        self.exits(at, to, &mut |exit| hops.push(self.hop(at, exit)));
    }

    #[inline(always)]
    fn only_hop(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId) -> Option<Hop> {
        PortRouting::only_hop(self, At { switch: at, in_port, lane }, to)
    }

    #[inline]
    fn keeps_state(&self) -> bool {
        PortRouting::keeps_state(self)
    }

    fn takes_detours(&self) -> bool {
        PortRouting::takes_detours(self)
    }

    #[inline]
    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, view: &mut V) -> Option<Hop> {
        let before = *state;
        let hop = PortRouting::choose(self, at, packet, state, view)?;
        debug_assert!(
            !self.asserts_options() || is_option(self, at, packet.destination, before, (hop, *state)),
            "{hop:?} with {state:?} is not among the options at {at:?} of {before:?}"
        );
        Some(hop)
    }

    fn options(&self, at: At, to: HostId, state: RouteState, options: &mut Vec<(Hop, RouteState)>) {
        if PortRouting::keeps_state(self) {
            self.exit_options(at, to, state, &mut |exit, mut state| {
                let hop = match exit.role {
                    LinkRole::ToHost => self.last_hop(exit.port),
                    _ => self.take(at, exit, &mut state),
                };
                options.push((hop, state));
            });
        } else {
            self.exits(at, to, &mut |exit| options.push((self.hop(at, exit), state)));
        }
    }

    fn broadcast_outputs(&self) -> Option<BroadcastOutputs> {
        PortRouting::broadcast_outputs(self)
    }

    fn knows_switches_only(&self) -> bool {
        PortRouting::knows_switches_only(self)
    }

    fn route_table(&self) -> Option<&RouteTable> {
        PortRouting::route_table(self)
    }

    #[inline]
    fn is_adaptive(&self) -> bool {
        PortRouting::is_adaptive(self)
    }

    #[inline]
    fn is_random(&self) -> bool {
        PortRouting::is_random(self)
    }
}

/// True if the hop and the state after it are one of the options.
fn is_option<T: PortRouting>(
    routing: &T,
    at: At,
    to: HostId,
    state: RouteState,
    taken: (Hop, RouteState),
) -> bool {
    let mut options = Vec::new();
    routing.options(at, to, state, &mut options);
    options.contains(&taken)
}
