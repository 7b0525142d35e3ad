//! Routing functions and forwarding tables over a graph, and the static deadlock check.

use fabricsim_model::{Hop, Lanes};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

/// A routing algorithm on a given graph: it proposes hops; the switch chooses among them.
pub trait RoutingFunction {
    /// Lanes on which `from` may inject a packet for `to`.
    fn injection_lanes(&self, from: HostId, to: HostId) -> Lanes;

    /// The hops that a packet for `to` may take from switch `at`, having come in by `in_port` on `lane`; appended to
    /// `hops`, which is empty. At the destination's switch that is the host's port. Never none.
    fn hops(&self, at: SwitchId, in_port: PortNo, lane: Vl, to: HostId, hops: &mut Vec<Hop>);
}
