//! `[links.retry]`: the link layer of links with errors.

use fabricsim_spec::{LinkRetry, SpecError};
use fabricsim_units::{Bytes, LinkId, Time};

use crate::Graph;

/// Maximum bytes and bits of a micropacket.
const LARGEST_DATA: Bytes = Bytes(4096);
const MOST_BITS: u32 = 65_536;

/// Longest processing of errors.
const LONGEST_DELAY: Time = Time::ms(1);

/// Checks the values themselves.
pub(crate) fn check_values(retry: &LinkRetry, file: &str) -> Result<(), SpecError> {
    let wrong =
        |key: &str, message: String| Err(SpecError::at_key(file, &format!("links.retry.{key}"), message));
    if !(Bytes(1)..=LARGEST_DATA).contains(&retry.data) {
        return wrong(
            "data",
            format!("{} is not allowed: give a size from 1 B to {LARGEST_DATA}", retry.data),
        );
    }
    let carried = retry.data.0 * 8;
    if u64::from(retry.bits) < carried || retry.bits > MOST_BITS {
        let allowed = format!("give from {carried} (the bits of the {} of data) to {MOST_BITS}", retry.data);
        return wrong("bits", format!("{} is not allowed: {allowed}", retry.bits));
    }
    if retry.delay > LONGEST_DELAY {
        return wrong("delay", format!("{} is not allowed: give at most {LONGEST_DELAY}", retry.delay));
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
