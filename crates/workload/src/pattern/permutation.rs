use fabricsim_model::Random;
use fabricsim_units::HostId;

use crate::pattern::{PatternInput, Plan, fixed};
use crate::purpose::Purpose;
use crate::{Problem, WorkloadError};

/// A permutation of the sources without fixed points, every one equally likely, drawn from the seed and the number of
/// the entry.
pub(super) fn random(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let mut ranked = context.sources.to_vec();
    ranked.sort_unstable();
    if ranked.len() < 2 {
        return Err(context.place.error("pattern", Problem::AllSilent(ranked.len())));
    }
    let mut random = Random::new(context.seed, Purpose::Permutation as u64, context.place.entry as u64);
    let image = derangement(ranked.len(), &mut random);
    fixed(context, |source| Ok(ranked.binary_search(&source).map_or(source, |rank| ranked[image[rank]])))
}

/// Shuffles (Fisher and Yates) until no element stays: e times on average, whatever `n`; `n` is 2 or more.
fn derangement(n: usize, random: &mut Random) -> Vec<usize> {
    loop {
        let mut image: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            image.swap(i, random.below(i as u64 + 1) as usize);
        }
        if image.iter().enumerate().all(|(i, &to)| i != to) {
            return image;
        }
    }
}

/// The i-th source, in the order of `sources`, sends to the i-th host of the list.
pub(super) fn list(context: &PatternInput, list: &[String]) -> Result<Plan, WorkloadError> {
    const KEY: &str = "pattern.permutation";
    let chosen = context.selector.select(list, &context.place.key(KEY))?;
    if let Some(twice) = chosen.twice {
        let name = context.hosts.names[twice.index()].clone();
        return Err(context.place.error(KEY, Problem::PermutationTwice(name)));
    }
    let (written, sources) = (chosen.hosts.len(), context.sources.len());
    if written != sources {
        return Err(context.place.error(KEY, Problem::PermutationLength { written, sources }));
    }
    let mut destinations = chosen.hosts.into_iter();
    fixed(context, |source: HostId| Ok(destinations.next().unwrap_or(source)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::{destinations, hosts, refused, silent};

    #[test]
    fn a_list_follows_the_order_of_the_sources() {
        let listed = "sources = ['H3', 'H0', 'H1']\npattern = { permutation = ['H1', 'H2', 'H0'] }";
        assert_eq!(destinations(&hosts(4), listed), [Some(2), Some(0), None, Some(1)]);
        let partly = "sources = ['H3', 'H0']\npattern = { permutation = ['H1', 'H0'] }";
        assert_eq!(destinations(&hosts(4), partly)[3], Some(1));
        assert_eq!(silent(&hosts(4), partly), [0]);
    }

    #[test]
    fn misuse_is_named() {
        let message = |list: &str| refused(&hosts(3), &format!("pattern = {{ permutation = {list} }}"));
        assert!(
            message("['H0', 'H1']").contains("traffic.0.pattern.permutation: the permutation has 2 hosts")
        );
        assert!(message("['H0', 'H1', 'H0']").contains("\"H0\" is a duplicate"));
        assert!(message("['H0', 'H1', 'H7']").contains("\"H7\" is neither"));
        assert!(message("['*']").contains("none of the 3 sources"));
        assert!(
            refused(&hosts(1), "pattern = 'random-permutation'")
                .contains("its only source has no destination")
        );
        let own = refused(&hosts(3), "pattern = 'random-permutation'\nself_flows = 'send'");
        assert!(
            own.contains("traffic.0.self_flows: this has no meaning with `random-permutation`: no host is"),
            "{own}"
        );
    }

    #[test]
    fn random_permutations_are_bijective_without_fixed_points() {
        for n in [2, 3, 7, 64, 1000] {
            let sent = destinations(&hosts(n), "pattern = 'random-permutation'");
            let received: BTreeSet<u32> = sent.iter().map(|d| d.unwrap()).collect();
            assert_eq!(received.len(), n as usize);
            assert!((0..n).zip(&sent).all(|(source, d)| *d != Some(source)));
        }
        // Among the sources only.
        let some = destinations(&hosts(9), "sources = ['H7', 'H1', 'H3']\npattern = 'random-permutation'");
        assert_eq!(some.iter().flatten().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1, 3, 7]));
    }

    #[test]
    fn all_derangements_are_equally_likely() {
        let mut random = Random::new(7, 0, 0);
        let mut counts = std::collections::BTreeMap::new();
        let n = 90_000;
        (0..n).for_each(|_| *counts.entry(derangement(4, &mut random)).or_insert(0_u32) += 1);
        assert_eq!(counts.len(), 9);
        let expected = f64::from(n) / 9.0;
        let deviation = (f64::from(n) * (1.0 / 9.0) * (8.0 / 9.0)).sqrt();
        assert!(counts.values().all(|&c| (f64::from(c) - expected).abs() < 5.0 * deviation), "{counts:?}");
    }
}
