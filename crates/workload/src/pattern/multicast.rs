use fabricsim_units::HostId;

use crate::WorkloadError;
use crate::pattern::{PatternInput, Plan, fixed};

/// All to the members of a multicast group; a host that is the only member is silent.
pub(super) fn plan(context: &PatternInput, name: &str) -> Result<Plan, WorkloadError> {
    let Some(number) = context.groups.iter().position(|group| group.name == name) else {
        unreachable!("the names of multicast groups were checked with the experiment");
    };
    let group = HostId::of_group(number as u16);
    let has_receiver = |source| context.groups[number].members.iter().any(|&member| member != source);
    fixed(context, |source| Ok(if has_receiver(source) { group } else { source }))
}
