//! Placement of ranks on hosts.

use fabricsim_model::Random;
use fabricsim_spec::Placement;
use fabricsim_units::HostId;

use crate::purpose::Purpose;

/// The hosts in the order in which ranks are placed on them.
pub(super) fn order(placement: Placement, mut hosts: Vec<HostId>, seed: u64, job: u16) -> Vec<HostId> {
    match placement {
        Placement::Linear => hosts,
        Placement::Random => {
            let mut random = Random::new(seed, Purpose::Placement as u64, u64::from(job));
            for last in (1..hosts.len()).rev() {
                hosts.swap(last, random.below(last as u64 + 1) as usize);
            }
            hosts
        }
        Placement::Strided(stride) => {
            let stride = (stride as usize).max(1);
            (0..stride).flat_map(|first| hosts.iter().skip(first).step_by(stride)).copied().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(placement: Placement, n: u32, seed: u64) -> Vec<u32> {
        order(placement, (0..n).map(HostId).collect(), seed, 0).into_iter().map(|host| host.0).collect()
    }

    #[test]
    fn every_host_once() {
        assert_eq!(numbers(Placement::Linear, 4, 1), [0, 1, 2, 3]);
        assert_eq!(numbers(Placement::Strided(3), 7, 1), [0, 3, 6, 1, 4, 2, 5]);
        assert_eq!(numbers(Placement::Strided(9), 3, 1), [0, 1, 2]);
        let random = numbers(Placement::Random, 50, 1);
        assert_ne!(random, numbers(Placement::Random, 50, 2));
        assert_eq!(random, numbers(Placement::Random, 50, 1));
        let mut sorted = random;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..50));
    }
}
