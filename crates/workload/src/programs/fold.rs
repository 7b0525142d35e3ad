//! Collectives for powers of two, among any number of ranks.

/// The usual fix (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
/// 2005): of p = 2^m + r ranks the first 2 r make pairs; before, the even one of each hands its vector to the odd one, which
/// takes part for both, and gets the result after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// 2^m.
    pub(super) core: u32,
    /// r.
    rest: u32,
}

/// Part of a rank in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It hands its vector to this rank.
    Give(u32),
    /// It gets the vector of this rank.
    Take(u32),
    /// It takes part in this step of the core, under this number.
    Core(u64, u32),
    /// Nothing.
    Idle,
}

impl Fold {
    pub(super) fn new(p: u32) -> Self {
        let core = 1 << p.ilog2();
        Self { core, rest: p - core }
    }

    /// m.
    pub(super) fn log(self) -> u64 {
        u64::from(self.core.trailing_zeros())
    }

    /// Steps in all, where the core has `core` of them.
    pub(super) fn steps(self, core: u64) -> u64 {
        if self.rest > 0 { core + 2 } else { core }
    }

    /// Part of `rank` in step `number`, where the core has `core` steps.
    pub(super) fn part(self, rank: u32, number: u64, core: u64) -> Part {
        let folded = rank < 2 * self.rest;
        let is_out = folded && rank.is_multiple_of(2);
        if self.rest > 0 && (number == 0 || number == core + 1) {
            let before = number == 0;
            return match (folded, is_out == before) {
                (false, _) => Part::Idle,
                (true, true) => Part::Give(rank ^ 1),
                (true, false) => Part::Take(rank ^ 1),
            };
        }
        if is_out {
            return Part::Idle;
        }
        let place = if folded { rank / 2 } else { rank - self.rest };
        Part::Core(if self.rest > 0 { number - 1 } else { number }, place)
    }

    /// The rank under a number of the core.
    pub(super) fn rank(self, place: u32) -> u32 {
        if place < self.rest { 2 * place + 1 } else { place + self.rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_core_has_a_rank() {
        for p in 2..70 {
            let fold = Fold::new(p);
            let core = fold.log();
            let middle = fold.steps(core) / 2;
            let mut places: Vec<u32> = (0..p)
                .filter_map(|rank| match fold.part(rank, middle.max(u64::from(fold.rest > 0)), core) {
                    Part::Core(_, place) => {
                        assert_eq!(fold.rank(place), rank);
                        Some(place)
                    }
                    _ => None,
                })
                .collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..fold.core), "{p}");
        }
    }
}
