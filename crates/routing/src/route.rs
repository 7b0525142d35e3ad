use fabricsim_model::Hop;
use fabricsim_units::PortNo;

/// Stands for a port that is not there.
pub(crate) const NO_PORT: PortNo = PortNo(u16::MAX);

/// Entry of a table: an output port with its lanes, from the routing function and the lane policy at assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) hop: Hop,
    /// Packets arriving on this port continue around a ring: they keep the dateline class of their lane. [`NO_PORT`] if there are
    /// no classes.
    pub(crate) continues_from: PortNo,
}
