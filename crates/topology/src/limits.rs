//! Limits of size, checked before memory is allocated.

use fabricsim_spec::SpecError;

use crate::builder_input::BuilderInput;

/// Largest number of switches and hosts together.
pub const MAX_NODES: u64 = 16_000_000;
/// Largest number of links.
pub const MAX_LINKS: u64 = 64_000_000;
/// Largest number of ports of a switch.
pub const MAX_PORTS: u64 = 1024;
/// Largest number of dimensions of a grid, and of levels of a tree.
pub const MAX_DIMENSIONS: usize = 32;

/// Refuses more than [`MAX_NODES`] switches and hosts. `switches` is a product of factors, `extra` further hosts.
pub(crate) fn nodes(
    context: &BuilderInput<'_>,
    key: &str,
    switch_factors: impl Iterator<Item = u32>,
    hosts_per_switch: u32,
    extra: u32,
) -> Result<u32, SpecError> {
    let switches = product(switch_factors);
    let all = switches * (1.0 + f64::from(hosts_per_switch)) + f64::from(extra);
    if all > MAX_NODES as f64 {
        let message = format!(
            "{switches:.3e} switches with {hosts_per_switch} hosts each are {all:.3e} nodes: at most {MAX_NODES} \
             switches and hosts are allowed"
        );
        return Err(context.error(key, message));
    }
    Ok(switches as u32)
}

/// Product as a float: exact far beyond [`MAX_NODES`], and it cannot overflow.
pub(crate) fn product(factors: impl Iterator<Item = u32>) -> f64 {
    factors.map(f64::from).product()
}

/// Refuses more than [`MAX_LINKS`] links, and what the caller's check refuses.
pub(crate) fn links(context: &BuilderInput<'_>, key: &str, links: u64) -> Result<usize, SpecError> {
    if links > MAX_LINKS {
        return Err(
            context.error(key, format!("{links} links are too many: at most {MAX_LINKS} are allowed"))
        );
    }
    if let Some(reason) = (context.size_check)(links) {
        return Err(context.error("topology", reason));
    }
    Ok(links as usize)
}

/// Refuses a switch of more than [`MAX_PORTS`] ports.
pub(crate) fn ports(context: &BuilderInput<'_>, key: &str, ports: u64) -> Result<(), SpecError> {
    if ports > MAX_PORTS {
        let message = format!("a switch would have {ports} ports: at most {MAX_PORTS} are allowed");
        return Err(context.error(key, message));
    }
    Ok(())
}

/// Refuses a count outside `low..=high`.
pub(crate) fn within(
    context: &BuilderInput<'_>,
    key: &str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), SpecError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(context.error(key, format!("{value} is not allowed: give a number from {low} to {high}")))
}
