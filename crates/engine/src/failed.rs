//! What has failed at present.

use std::collections::BTreeMap;

use fabricsim_units::{LinkId, SwitchId, Time};

/// Sending ports of a partition whose links have failed, with the time until which each was busy.
pub(crate) type FailedPorts = BTreeMap<u32, Time>;

/// What has failed in the whole fabric; true if packets routed to it are discarded.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Failed {
    pub(crate) links: BTreeMap<LinkId, bool>,
    pub(crate) switches: BTreeMap<SwitchId, bool>,
}
