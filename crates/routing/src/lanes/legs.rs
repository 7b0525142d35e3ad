//! Lanes by legs: on routes over an intermediate group or switch (Valiant 1982), the n-th leg is on the n-th lanes. Free of deadlock if
//! the links of each leg are, since lanes only ascend from leg to leg.

use fabricsim_model::Lanes;

use super::{LanePolicy, LinkRole, Step};

/// Legs of a route at most.
const MOST_LEGS: usize = 2;

/// Lanes by the leg of a route.
#[derive(Clone, Debug)]
pub struct Legs {
    /// By leg.
    lanes: [Lanes; MOST_LEGS],
    needed: u8,
    /// The longest route: the name and the leg of each link.
    longest: Vec<(String, u8)>,
    all: Lanes,
}

impl Legs {
    /// The policy for routes of at most the links `longest`, each with its name and its leg, 0 or 1, on `lanes` lanes, shared
    /// evenly among the legs; the lanes that are needed, if there are fewer.
    pub(crate) fn new(longest: Vec<(String, u8)>, lanes: u8) -> Result<Self, u8> {
        let needed = longest.iter().map(|(_, leg)| leg + 1).max().unwrap_or(1);
        debug_assert!(usize::from(needed) <= MOST_LEGS, "{longest:?}");
        let width = lanes / needed;
        if width == 0 {
            return Err(needed);
        }
        let of_leg = |leg: usize| Lanes::new((leg as u8).min(needed - 1) * width, width);
        Ok(Self { lanes: std::array::from_fn(of_leg), needed, longest, all: Lanes::new(0, lanes) })
    }

    /// The same with all legs on one lane.
    #[cfg(test)]
    pub(crate) fn on_one_lane(self) -> Self {
        Self { lanes: [Lanes::new(0, 1); MOST_LEGS], all: Lanes::new(0, 1), ..self }
    }

    /// Lanes of a leg.
    #[inline]
    pub(crate) const fn of_leg(&self, leg: u8) -> Lanes {
        self.lanes[leg as usize % MOST_LEGS]
    }
}

impl LanePolicy for Legs {
    #[inline]
    fn all(&self) -> Lanes {
        self.all
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        let leg = if let LinkRole::Leg(leg) = step.exit.role { leg } else { 0 };
        (self.of_leg(leg), step.stage)
    }

    fn requirement(&self) -> Option<(u8, String)> {
        let links = self.longest.iter().map(|(name, leg)| format!("{name}{}", self.of_leg(*leg).first));
        Some((self.needed, links.collect::<Vec<_>>().join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_share_the_lanes() {
        let route = |legs: &[u8]| legs.iter().map(|&leg| ("g".to_owned(), leg)).collect::<Vec<_>>();
        let policy = Legs::new(route(&[0, 1, 0]), 5).unwrap();
        assert_eq!([0, 1].map(|leg| policy.of_leg(leg)), [Lanes::new(0, 2), Lanes::new(2, 2)]);
        assert_eq!(policy.requirement(), Some((2, "g0 g2 g0".to_owned())));
        assert_eq!(Legs::new(route(&[0, 1, 0]), 1).unwrap_err(), 2);
        let single = Legs::new(route(&[0, 0]), 3).unwrap();
        assert_eq!(single.of_leg(0), single.all());
    }
}
