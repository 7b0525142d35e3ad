//! Common code of a dragonfly and a megafly: groups that are joined by global links.

use fabricsim_spec::{Arrangement, LinkParameters, SpecError, name};
use fabricsim_units::{PortNo, SwitchId};

use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::{Groups, LinkClass};

/// The groups, if they can be joined; by default the largest possible number. A group has `count.0` switches, called
/// `count.1` in the experiment, with `count.2` global ports each.
pub(super) fn groups(
    context: &BuilderInput<'_>,
    key: &str,
    count: (u32, &str, u32),
    given: Option<u32>,
    arrangement: Arrangement,
) -> Result<Groups, SpecError> {
    let (switches, letter, h) = count;
    let ports = switches * h;
    let g = given.unwrap_or(ports + 1);
    if !Groups::can_be_joined(g, ports) {
        let even = if ports % 2 == 1 { "even numbers from " } else { "" };
        let message = format!(
            "{g} groups cannot be joined, each to each, by {ports} global links a group ({letter} h = {switches} x {h}): \
             possible are {even}2 to {}",
            ports + 1
        );
        return Err(context.error(key, message));
    }
    Ok(Groups { count: g, ports, arrangement })
}

/// Lays every global link once; `end` is the switch and port of a group's global port.
pub(super) fn cables(
    assembler: &mut Assembler,
    groups: &Groups,
    parameters: &LinkParameters,
    end: impl Fn((u32, u32)) -> (SwitchId, PortNo),
) {
    for near in (0..groups.count).flat_map(|group| (0..groups.ports).map(move |k| (group, k))) {
        let far = groups.far(near.0, near.1);
        if near < far {
            assembler.cable(end(near), end(far), LinkClass::Global, parameters);
        }
    }
}

/// The arrangement and the links between two groups, in words.
pub(super) fn title(groups: &Groups) -> String {
    let arrangement = name(&groups.arrangement);
    let least = groups.links_per_pair();
    let links = match (least, groups.ports % (groups.count - 1)) {
        (1, 0) => "1 link".to_owned(),
        (_, 0) => format!("{least} links"),
        _ => format!("{least} or {} links", least + 1),
    };
    format!("{arrangement}, {links} between groups")
}
