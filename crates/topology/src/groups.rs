//! Global links between the groups of a dragonfly or megafly, by port.

use fabricsim_spec::Arrangement;

/// The groups, and their global ports. A group's global ports are numbered k = r h + i, for port i of its router r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Number of groups, 2 or more.
    pub count: u32,
    /// Global ports of a group; [`Groups::can_be_joined`] holds.
    pub ports: u32,
    /// Assignment of ports to groups.
    pub arrangement: Arrangement,
}

impl Groups {
    /// True if `count` groups of `ports` global ports each can be joined, each to each, with no port left over.
    ///
    /// Each group needs a port for each other group; and ports come in pairs.
    pub fn can_be_joined(count: u32, ports: u32) -> bool {
        count >= 2 && count - 1 <= ports && (u64::from(count) * u64::from(ports)).is_multiple_of(2)
    }

    /// Links between any two groups at least; some have one more if the ports cannot be divided evenly.
    pub fn links_per_pair(&self) -> u32 {
        self.ports / (self.count - 1)
    }

    /// The group and its port that port `k` of `group` leads to. An involution: that port leads back.
    ///
    /// Ports are taken in blocks of `count - 1`, each of which leads to every other group by the arrangement. With
    /// `count` = `ports` + 1 there is one block: the arrangements as they are defined. What is left over after the last
    /// block leads to the nearest groups in both directions, as circulant does.
    pub fn far(&self, group: u32, k: u32) -> (u32, u32) {
        let others = self.count - 1;
        let (block, place) = (k / others, k % others);
        let (blocks, rest) = (self.ports / others, self.ports % others);
        let first = block * others;
        if block == blocks {
            let (far, place) = self.circulant(group, place, rest);
            return (far, first + place);
        }
        match self.arrangement {
            Arrangement::Absolute => {
                let far = if place < group { place } else { place + 1 };
                (far, first + if group < far { group } else { group - 1 })
            }
            Arrangement::Palmtree => {
                let far = (group + self.count - (place + 1)) % self.count;
                (far, (blocks - 1 - block) * others + others - 1 - place)
            }
            Arrangement::Circulant => {
                let (far, place) = self.circulant(group, place, others);
                (far, first + place)
            }
        }
    }

    /// Up and down in turn, by 1, 2, ...; the last of an odd number of places leads to the opposite group.
    fn circulant(&self, group: u32, place: u32, places: u32) -> (u32, u32) {
        if place + 1 == places && places % 2 == 1 {
            return ((group + self.count / 2) % self.count, place);
        }
        let step = place / 2 + 1;
        let far = if place.is_multiple_of(2) { group + step } else { group + self.count - step };
        (far % self.count, place ^ 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Arrangement; 3] = [Arrangement::Absolute, Arrangement::Palmtree, Arrangement::Circulant];

    fn groups(count: u32, ports: u32, arrangement: Arrangement) -> Groups {
        Groups { count, ports, arrangement }
    }

    /// Every number of groups and ports up to 14: an involution, and every two groups have as many links as any other two,
    /// or one more.
    #[test]
    fn each_pair_is_joined_evenly() {
        for (count, ports) in (2..15).flat_map(|count| (1..15).map(move |ports| (count, ports))) {
            if !Groups::can_be_joined(count, ports) {
                continue;
            }
            for groups in ALL.map(|arrangement| groups(count, ports, arrangement)) {
                for group in 0..count {
                    let mut links = vec![0; count as usize];
                    for k in 0..ports {
                        let (far, port) = groups.far(group, k);
                        assert_eq!(groups.far(far, port), (group, k), "{groups:?}: port {k} of {group}");
                        links[far as usize] += 1;
                    }
                    assert_eq!(links.remove(group as usize), 0, "{groups:?}: a link from {group} to itself");
                    let least = groups.links_per_pair();
                    assert!(links.iter().all(|&n| n == least || n == least + 1), "{groups:?}: {links:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_joined() {
        assert!(!Groups::can_be_joined(1, 4), "a group has no other group to join");
        assert!(!Groups::can_be_joined(6, 4), "a port is missing");
        assert!(!Groups::can_be_joined(3, 5), "fifteen ports do not come in pairs");
        assert!(Groups::can_be_joined(5, 4));
    }

    /// The arrangements as they are defined for count = ports + 1, port by port of group 2 of 7.
    #[test]
    fn arrangements_of_seven_groups() {
        let far = |arrangement| (0..6).map(|k| groups(7, 6, arrangement).far(2, k)).collect::<Vec<_>>();
        assert_eq!(far(Arrangement::Absolute), [(0, 1), (1, 1), (3, 2), (4, 2), (5, 2), (6, 2)]);
        assert_eq!(far(Arrangement::Palmtree), [(1, 5), (0, 4), (6, 3), (5, 2), (4, 1), (3, 0)]);
        assert_eq!(far(Arrangement::Circulant), [(3, 1), (1, 0), (4, 3), (0, 2), (5, 5), (6, 4)]);
    }
}
