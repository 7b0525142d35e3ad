//! Patterns on the groups of a dragonfly or megafly.

use fabricsim_spec::name;

use crate::pattern::{Draw, PatternInput, Plan};
use crate::{Problem, WorkloadError};

/// Any host of the group that is `offset` further than the source's, modulo the number of groups (ADV+n: Kim, Dally, Scott,
/// Abts 2008; García et al. 2013).
pub(super) fn offset(context: &PatternInput, offset: u32) -> Result<Plan, WorkloadError> {
    const KEY: &str = "pattern.group-offset";
    let Some(size) = context.hosts.group else {
        let why = "the topology has no groups: a dragonfly or megafly has";
        return Err(context
            .place
            .error("pattern", Problem::NoMeaning { with: name(&context.traffic.pattern), why }));
    };
    let groups = context.hosts.names.len() as u32 / size;
    if offset >= groups {
        return Err(context.place.range(KEY, &offset, "less than the number of groups"));
    }
    let mark = |&source: &fabricsim_units::HostId| {
        let group = (source.0 / size + offset) % groups;
        Some([group * size, size])
    };
    Ok(Plan { draw: Draw::Range, marks: context.sources.iter().map(mark).collect() })
}

#[cfg(test)]
mod tests {
    use crate::Hosts;
    use crate::testing::{draws, hosts, refused};

    fn grouped(groups: u32, size: u32) -> Hosts {
        Hosts { group: Some(size), ..hosts(groups * size) }
    }

    #[test]
    fn all_hosts_of_the_group_are_equally_likely() {
        let pattern = "pattern = { group-offset = 2 }";
        for (source, first) in [(0, 8), (7, 12), (11, 0), (13, 4)] {
            let mut counts = [0_u32; 4];
            for destination in draws(&grouped(4, 4), pattern, source, 40_000) {
                counts[(destination - first) as usize] += 1;
            }
            // Five standard deviations of a share of 40 000 draws.
            let far = 5.0 * (40_000.0_f64 * 0.25 * 0.75).sqrt();
            assert!(counts.iter().all(|&count| (f64::from(count) - 1e4).abs() < far), "{counts:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let zero = refused(&grouped(4, 2), "pattern = { group-offset = 0 }");
        assert!(zero.contains("traffic.0.pattern.group-offset: 0 is not allowed"), "{zero}");
        assert!(
            refused(&grouped(4, 2), "pattern = { group-offset = 4 }")
                .contains("less than the number of groups")
        );
        let none = refused(&hosts(4), "pattern = { group-offset = 1 }");
        assert!(
            none.contains("traffic.0.pattern: this has no meaning with `group-offset`: the topology"),
            "{none}"
        );
        let both = refused(&grouped(4, 2), "pattern = { group-offset = 1 }\ndestinations = ['H1']");
        assert!(both.contains("traffic.0.destinations: this has no meaning with `group-offset`"), "{both}");
    }
}
