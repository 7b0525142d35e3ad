//! Times of outlets as roots and as branches of congestion trees.

/// Outlets for which memory is taken at a time: of a large network most are in no tree.
const PAGE: usize = 64;

/// Picoseconds as root and as branch, by outlet: sending port times number of lanes, plus lane.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct OutletTimes {
    /// Empty if none of its outlets has been in a tree.
    pages: Vec<Vec<[u64; 2]>>,
}

impl OutletTimes {
    /// Of a number of outlets that have been in no tree.
    pub(super) fn new(outlets: usize) -> Self {
        Self { pages: vec![Vec::new(); outlets.div_ceil(PAGE)] }
    }

    pub(super) fn of(&self, outlet: usize) -> [u64; 2] {
        self.pages[outlet / PAGE].get(outlet % PAGE).copied().unwrap_or_default()
    }

    pub(super) fn of_mut(&mut self, outlet: usize) -> &mut [u64; 2] {
        let page = &mut self.pages[outlet / PAGE];
        if page.is_empty() {
            *page = vec![[0; 2]; PAGE];
        }
        &mut page[outlet % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outlet_has_its_own_times() {
        let mut times = OutletTimes::new(130);
        for outlet in [0, 63, 64, 129] {
            times.of_mut(outlet)[0] += outlet as u64 + 1;
            times.of_mut(outlet)[1] += 1000;
        }
        let of = |outlet| times.of(outlet);
        assert_eq!([of(0), of(63), of(64), of(129)], [[1, 1000], [64, 1000], [65, 1000], [130, 1000]]);
        assert_eq!([of(1), of(65), of(128)], [[0; 2]; 3]);
        assert_eq!(OutletTimes::new(129).of(128), [0; 2]);
    }
}
