//! Weights of virtual lanes.

use fabricsim_units::Vl;

/// Weights by which a port arbitrates among virtual lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// Entries of low priority: lane and weight.
    pub low: Vec<(Vl, u8)>,
    /// Entries of high priority.
    pub high: Vec<(Vl, u8)>,
    /// Limit of high priority.
    pub high_limit: u8,
}
