//! Features of the switches and links of a partition, as types: the hot path is compiled once for each, so that a plain network pays
//! nothing for what it does not use.

/// Features for which the hot path is compiled.
pub trait Features {
    /// True if there may be [optional features](crate::Switch::has_optional_features).
    const OPTIONAL: bool;
    /// True if there is nothing but the usual: all that [`crate::Switch::is_plain`] and [`crate::Ports::are_plain`] say. Never with
    /// [`Features::OPTIONAL`].
    const PLAIN: bool;
    /// True if routing may be adaptive: arrivals are routed at the end of a time step, and credits are counted for a port as well. Not
    /// if the features are plain and routing is not.
    const MAY_ADAPT: bool;
}

/// Virtual output queues served in turn, cut-through, credits by block, links without overhead, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct PlainFeatures;

/// The same with adaptive routing.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveFeatures;

/// Whatever costs a comparison: other queues, arbiters and switching, service classes, congestion detection, adaptive routing.
#[derive(Clone, Copy, Debug)]
pub struct CommonFeatures;

/// Everything.
#[derive(Clone, Copy, Debug)]
pub struct AllFeatures;

impl Features for PlainFeatures {
    const OPTIONAL: bool = false;
    const PLAIN: bool = true;
    const MAY_ADAPT: bool = false;
}

impl Features for AdaptiveFeatures {
    const OPTIONAL: bool = false;
    const PLAIN: bool = true;
    const MAY_ADAPT: bool = true;
}

impl Features for CommonFeatures {
    const OPTIONAL: bool = false;
    const PLAIN: bool = false;
    const MAY_ADAPT: bool = true;
}

impl Features for AllFeatures {
    const OPTIONAL: bool = true;
    const PLAIN: bool = false;
    const MAY_ADAPT: bool = true;
}
