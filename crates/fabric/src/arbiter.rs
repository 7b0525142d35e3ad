//! Output arbitration policy. Adding an arbiter: a variant here and in the specification, and an entry in
//! [`Choice::offer`].

use fabricsim_model::Random;
use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

/// A packet that an output could send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) input: u16,
    pub(crate) lane: Vl,
    pub(crate) packet: u32,
    pub(crate) injected: Time,
    pub(crate) out_lane: Vl,
    /// Its age; 0 if packets do not age, or if the choice is in turn.
    pub(crate) age: u8,
}

/// A choice in progress. Candidates are offered in turn, beginning after the input that was served last, so that
/// ties are broken in turn.
pub(crate) struct Choice<'a> {
    arbiter: Arbiter,
    /// Lanes, a bit for each, whose packets go before all others; 0 for none.
    urgent: u16,
    best: Option<Candidate>,
    seen: u64,
    random: Option<&'a mut Random>,
}

impl<'a> Choice<'a> {
    pub(crate) fn new(arbiter: Arbiter, urgent: u16, random: Option<&'a mut Random>) -> Self {
        Self { arbiter, urgent, best: None, seen: 0, random }
    }

    /// Offers a candidate; true if the choice is final and no more need be offered.
    #[inline]
    pub(crate) fn offer(&mut self, candidate: Candidate) -> bool {
        let comes_first = self.urgent == 0 || self.is_urgent(candidate);
        let best = self.best.filter(|&best| !comes_first || self.urgent == 0 || self.is_urgent(best));
        let Some(best) = best else {
            self.seen = 1;
            self.best = Some(candidate);
            return comes_first && matches!(self.arbiter, Arbiter::RoundRobin | Arbiter::StrictRoundRobin);
        };
        if !comes_first && self.is_urgent(best) {
            return false;
        }
        let better = match self.arbiter {
            Arbiter::RoundRobin | Arbiter::StrictRoundRobin => false,
            Arbiter::OldestFirst => candidate.injected < best.injected,
            Arbiter::FixedPriority => (candidate.lane, candidate.input) < (best.lane, best.input),
            Arbiter::AgeBased => candidate.age > best.age,
            Arbiter::Random => {
                self.seen += 1;
                let seen = self.seen;
                self.random.as_mut().is_some_and(|random| random.below(seen) == 0)
            }
        };
        if better {
            self.best = Some(candidate);
        }
        false
    }

    fn is_urgent(&self, candidate: Candidate) -> bool {
        self.urgent >> candidate.lane.0 & 1 != 0
    }

    #[inline]
    pub(crate) fn winner(self) -> Option<Candidate> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(input: u16, lane: u8, injected: u64) -> Candidate {
        Candidate { input, lane: Vl(lane), packet: 0, injected: Time(injected), out_lane: Vl(0), age: 0 }
    }

    fn chosen(arbiter: Arbiter, urgent: u16, candidates: &[Candidate]) -> (u16, u8) {
        let mut random = Random::new(1, 2, 3);
        let mut choice = Choice::new(arbiter, urgent, Some(&mut random));
        for &c in candidates {
            if choice.offer(c) {
                break;
            }
        }
        let winner = choice.winner().unwrap();
        (winner.input, winner.lane.0)
    }

    #[test]
    fn each_arbiter_chooses_by_its_rule() {
        let offered = [candidate(3, 1, 50), candidate(5, 0, 40), candidate(1, 0, 40), candidate(2, 1, 60)];
        assert_eq!(chosen(Arbiter::RoundRobin, 0, &offered), (3, 1));
        assert_eq!(chosen(Arbiter::OldestFirst, 0, &offered), (5, 0));
        assert_eq!(chosen(Arbiter::FixedPriority, 0, &offered), (1, 0));
    }

    #[test]
    fn the_oldest_by_age_goes_first_and_ties_in_turn() {
        let aged = |input, age| Candidate { age, ..candidate(input, 0, 0) };
        let offered = [aged(3, 7), aged(5, 9), aged(1, 9), aged(2, 8)];
        assert_eq!(chosen(Arbiter::AgeBased, 0, &offered), (5, 0));
        assert_eq!(chosen(Arbiter::AgeBased, 0, &[aged(4, 0), aged(6, 0)]), (4, 0));
    }

    #[test]
    fn urgent_lanes_go_first() {
        let offered = [candidate(3, 1, 50), candidate(5, 0, 60), candidate(1, 0, 55), candidate(2, 1, 40)];
        assert_eq!(chosen(Arbiter::RoundRobin, 0b01, &offered), (5, 0));
        assert_eq!(chosen(Arbiter::OldestFirst, 0b01, &offered), (1, 0));
        assert_eq!(chosen(Arbiter::FixedPriority, 0b10, &offered), (2, 1));
        assert_eq!(chosen(Arbiter::OldestFirst, 0b100, &offered), (2, 1), "no candidate is urgent");
        assert_eq!(chosen(Arbiter::RoundRobin, 0b100, &offered), (3, 1), "no candidate is urgent");
    }

    #[test]
    fn random_is_fair() {
        let mut random = Random::new(7, 7, 7);
        let mut counts = [0_u32; 4];
        let n = 40_000;
        for _ in 0..n {
            let mut choice = Choice::new(Arbiter::Random, 0, Some(&mut random));
            for input in 0..4 {
                choice.offer(candidate(input, 0, 0));
            }
            counts[usize::from(choice.winner().unwrap().input)] += 1;
        }
        // Binomial with p = 1/4: five standard deviations.
        let bound = 5.0 * (f64::from(n) * 0.25 * 0.75).sqrt();
        assert!(counts.iter().all(|&c| (f64::from(c) - f64::from(n) / 4.0).abs() < bound), "{counts:?}");
    }
}
