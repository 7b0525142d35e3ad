use crate::WorkloadError;
use crate::pattern::set::{HostSet, NOWHERE};
use crate::pattern::{Draw, PatternInput, Plan};

/// Any of `destinations` with equal probability; the source itself only `with_self`.
pub(super) fn plan(context: &PatternInput, with_self: bool) -> Result<Plan, WorkloadError> {
    let set = destinations(context)?;
    let mark = |&source| {
        let rank = if with_self { NOWHERE } else { set.rank(source) };
        (set.others(rank) > 0).then_some([rank, 0])
    };
    let marks = context.sources.iter().map(mark).collect();
    Ok(Plan { draw: Draw::Uniform(set), marks })
}

/// The hosts that the entry restricts its draws to.
pub(super) fn destinations(context: &PatternInput) -> Result<HostSet, WorkloadError> {
    let list = context.selector.select(&context.traffic.destinations, &context.place.key("destinations"))?;
    Ok(HostSet::new(list.hosts, context.hosts.names.len()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{destinations, draws, grid, hosts, refused, silent};

    /// Value that chi-square with `k` degrees of freedom exceeds with probability 1e-6 (4.753 standard deviations of a
    /// normal variable), by Wilson and Hilferty (1931).
    fn critical(k: f64, deviations: f64) -> f64 {
        k * (1.0 - 2.0 / (9.0 * k) + deviations * (2.0 / (9.0 * k)).sqrt()).powi(3)
    }

    fn chi_square(counts: &[u32]) -> f64 {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum()
    }

    fn counts(pattern: &str, source: usize, n: u32) -> Vec<u32> {
        let mut counts = vec![0; 16];
        for destination in draws(&hosts(16), pattern, source, n) {
            counts[destination as usize] += 1;
        }
        counts
    }

    #[test]
    fn all_others_are_equally_likely() {
        for source in [0, 7, 15] {
            let mut counts = counts("pattern = 'uniform'", source, 150_000);
            assert_eq!(counts.remove(source), 0);
            let x = chi_square(&counts);
            assert!(x > critical(14.0, -4.753) && x < critical(14.0, 4.753), "{x}: {counts:?}");
        }
    }

    #[test]
    fn with_self_all_are_equally_likely() {
        for pattern in ["pattern = 'uniform-with-self'", "pattern = 'uniform'\nself_flows = 'send'"] {
            let counts = counts(pattern, 3, 160_000);
            let x = chi_square(&counts);
            assert!(x > critical(15.0, -4.753) && x < critical(15.0, 4.753), "{pattern} {x}: {counts:?}");
        }
    }

    #[test]
    fn destinations_restrict_the_draw() {
        let restricted = "pattern = 'uniform'\ndestinations = ['H9', 'H2', 'H4']";
        for (source, allowed) in [(2, vec![4, 9]), (3, vec![2, 4, 9]), (4, vec![2, 9]), (9, vec![2, 4])] {
            let mut drawn: Vec<u32> = draws(&hosts(16), restricted, source, 200).collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn, allowed, "from {source}");
        }
    }

    #[test]
    fn without_another_destination_a_source_is_silent() {
        let one = "pattern = 'uniform'\ndestinations = ['H1']";
        assert_eq!(silent(&hosts(4), one), [1]);
        assert_eq!(destinations(&hosts(3), one), [Some(1), None, Some(1)]);
        assert!(
            refused(&hosts(1), "pattern = 'uniform'")
                .contains("traffic.0.pattern: its only source has no destination")
        );
        assert_eq!(destinations(&hosts(1), "pattern = 'uniform-with-self'"), [Some(0)]);
    }

    #[test]
    fn only_patterns_that_draw_take_destinations() {
        let error = refused(&grid(&[4, 4], 1), "pattern = 'tornado'\ndestinations = ['H1']");
        assert!(error.contains("traffic.0.destinations: this has no meaning with `tornado`"), "{error}");
    }
}
