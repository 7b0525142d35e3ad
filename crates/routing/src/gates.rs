//! Links between the groups of a dragonfly or megafly, by pair of groups.

use fabricsim_topology::Groups;
use fabricsim_units::PortNo;

/// A global link of a group towards another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Router (or spine) of the group that it begins at, and the port there.
    pub(crate) router: u32,
    pub(crate) port: PortNo,
    /// Router of the other group that it ends at.
    pub(crate) lands: u32,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    groups: u32,
    /// By pair of groups, those of a router together in ascending order; and where those of a pair begin.
    links: Vec<Gate>,
    first: Vec<u32>,
}

impl Gates {
    /// Those of `groups` whose routers have `globals` global ports each, of which `port` numbers the i-th.
    pub(crate) fn new(groups: &Groups, globals: u32, port: impl Fn(u32) -> PortNo) -> Self {
        let mut first = vec![0];
        let mut links = Vec::with_capacity(groups.count as usize * groups.ports as usize);
        for group in 0..groups.count {
            let mut ends: Vec<(u32, u32, u32)> = (0..groups.ports)
                .map(|k| {
                    let (far, lands) = groups.far(group, k);
                    (far, k, lands)
                })
                .collect();
            ends.sort_unstable();
            let mut rest = ends.as_slice();
            for to in 0..groups.count {
                let (these, others) = rest.split_at(rest.partition_point(|end| end.0 == to));
                links.extend(these.iter().map(|&(_, k, lands)| Gate {
                    router: k / globals,
                    port: port(k % globals),
                    lands: lands / globals,
                }));
                first.push(links.len() as u32);
                rest = others;
            }
        }
        Self { groups: groups.count, links, first }
    }

    /// The links from a group to another one.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Gate] {
        let pair = (from * self.groups + to) as usize;
        &self.links[self.first[pair] as usize..self.first[pair + 1] as usize]
    }
}

/// Any of several, each with the same probability, without a list; `None` of none.
#[inline]
pub(crate) fn any<T, V: crate::View>(of: impl Iterator<Item = T>, view: &mut V) -> Option<T> {
    let (mut chosen, mut count) = (None, 0);
    for one in of {
        count += 1;
        if count == 1 || view.below(count) == 0 {
            chosen = Some(one);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Random;

    use super::any;
    use crate::testing::Recorded;

    /// Each of n is drawn with probability 1/n: within five standard deviations of a binomial distribution.
    #[test]
    fn any_of_several_is_as_probable_as_another() {
        const DRAWS: u32 = 4000;
        let mut view = Recorded { random: Random::new(1, 2, 3), asked: Vec::new() };
        assert_eq!(any(std::iter::empty::<usize>(), &mut view), None);
        for n in 1..6_usize {
            let mut counts = vec![0_u32; n];
            (0..DRAWS).for_each(|_| counts[any(0..n, &mut view).unwrap()] += 1);
            let probability = 1.0 / n as f64;
            let deviation = (f64::from(DRAWS) * probability * (1.0 - probability)).sqrt();
            for count in counts {
                assert!(
                    (f64::from(count) - f64::from(DRAWS) * probability).abs() <= 5.0 * deviation,
                    "{count} of {n}"
                );
            }
        }
    }
}
