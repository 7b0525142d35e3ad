//! `[links.retry]`: the link layer of links with errors.

use fabricsim_spec::{LinkRetry, SpecError};
use fabricsim_units::LinkId;

use crate::Graph;

/// Refuses micropackets with fewer bits than their data.
pub(crate) fn check_values(retry: &LinkRetry, file: &str) -> Result<(), SpecError> {
    let carried = retry.data.0 * 8;
    if u64::from(retry.bits) < carried {
        let allowed = format!("give at least {carried}, the bits of the {} of data", retry.data);
        let message = format!("{} is not allowed: {allowed}", retry.bits);
        return Err(SpecError::at_key(file, "links.retry.bits", message));
    }
    Ok(())
}

/// Refuses a window that does not cover the round trip of some link with errors.
pub(crate) fn check_windows(graph: &Graph, retry: &LinkRetry, file: &str) -> Result<(), SpecError> {
    let Some(window) = retry.window else { return Ok(()) };
    let failing = graph.links.iter().enumerate().filter(|(_, link)| link.parameters.bit_error_rate > 0.0);
    let needed = failing.map(|(index, link)| (retry.least_window(&link.parameters), index));
    // The first of the links that need most.
    let Some((least, index)) = needed.max_by_key(|&(least, index)| (least, std::cmp::Reverse(index))) else {
        return Ok(());
    };
    if u64::from(window) >= least {
        return Ok(());
    }
    let parameters = &graph.links[index].parameters;
    let message = format!(
        "{window} micropackets do not cover the round trip of link {}, which takes {} at {} a micropacket: \
         give at least {least}, or leave it out",
        graph.link_name(LinkId(index as u32)),
        retry.round_trip(parameters),
        retry.micropacket(parameters)
    );
    Err(SpecError::at_key(file, "links.retry.window", message))
}
