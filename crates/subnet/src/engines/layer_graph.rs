//! An acyclic graph of channels to which paths are added, unless they close a cycle.
//!
//! A topological order is kept while dependencies come (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
//! graphs", 2006): only channels between the ends of a new dependency are visited.

/// Dependencies of one layer, with the number of paths that use each.
#[derive(Debug)]
pub(super) struct LayerGraph {
    next: Vec<Vec<(u32, u32)>>,
    previous: Vec<Vec<u32>>,
    /// Place of each channel in the order.
    order: Vec<u32>,
    /// Mark of the last visit.
    mark: Vec<u32>,
    visits: u32,
    ahead: Vec<u32>,
    behind: Vec<u32>,
}

impl LayerGraph {
    /// A graph without dependencies.
    pub(super) fn new(channels: usize) -> Self {
        Self {
            next: vec![Vec::new(); channels],
            previous: vec![Vec::new(); channels],
            order: (0..channels as u32).collect(),
            mark: vec![0; channels],
            visits: 0,
            ahead: Vec::new(),
            behind: Vec::new(),
        }
    }

    /// Adds a path, given by its channels. Returns false, and adds nothing, if that closes a cycle.
    pub(super) fn add(&mut self, path: &[u32]) -> bool {
        for (index, pair) in path.windows(2).enumerate() {
            if !self.add_dependency(pair[0], pair[1]) {
                self.remove(&path[..=index]);
                return false;
            }
        }
        true
    }

    /// Removes a path that was added.
    pub(super) fn remove(&mut self, path: &[u32]) {
        for pair in path.windows(2) {
            let next = &mut self.next[pair[0] as usize];
            let Some(slot) = next.iter().position(|next| next.0 == pair[1]) else { continue };
            next[slot].1 -= 1;
            if next[slot].1 == 0 {
                next.swap_remove(slot);
                self.previous[pair[1] as usize].retain(|&channel| channel != pair[0]);
            }
        }
    }

    fn add_dependency(&mut self, from: u32, to: u32) -> bool {
        if let Some(next) = self.next[from as usize].iter_mut().find(|next| next.0 == to) {
            next.1 += 1;
            return true;
        }
        let (low, high) = (self.order[to as usize], self.order[from as usize]);
        if low < high && !self.reorder(from, to, low, high) {
            return false;
        }
        if low == high {
            return false;
        }
        self.next[from as usize].push((to, 1));
        self.previous[to as usize].push(from);
        true
    }

    /// Moves `to` and what follows behind `from` and what leads to it; false if `from` follows `to`.
    fn reorder(&mut self, from: u32, to: u32, low: u32, high: u32) -> bool {
        self.visits += 1;
        self.ahead.clear();
        self.ahead.push(to);
        self.mark[to as usize] = self.visits;
        let mut head = 0;
        while let Some(&at) = self.ahead.get(head) {
            head += 1;
            for &(next, _) in &self.next[at as usize] {
                if next == from {
                    return false;
                }
                if self.order[next as usize] < high && self.mark[next as usize] != self.visits {
                    self.mark[next as usize] = self.visits;
                    self.ahead.push(next);
                }
            }
        }
        self.visits += 1;
        self.behind.clear();
        self.behind.push(from);
        self.mark[from as usize] = self.visits;
        head = 0;
        while let Some(&at) = self.behind.get(head) {
            head += 1;
            for &previous in &self.previous[at as usize] {
                if self.order[previous as usize] > low && self.mark[previous as usize] != self.visits {
                    self.mark[previous as usize] = self.visits;
                    self.behind.push(previous);
                }
            }
        }
        let order = &mut self.order;
        self.ahead.sort_unstable_by_key(|&channel| order[channel as usize]);
        self.behind.sort_unstable_by_key(|&channel| order[channel as usize]);
        let moved = || self.behind.iter().chain(&self.ahead);
        let mut places: Vec<u32> = moved().map(|&channel| order[channel as usize]).collect();
        places.sort_unstable();
        for (&channel, place) in self.behind.iter().chain(&self.ahead).zip(places) {
            order[channel as usize] = place;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_refused_and_nothing_of_it_stays() {
        let mut graph = LayerGraph::new(4);
        assert!(graph.add(&[3, 2, 1, 0]));
        assert!(!graph.add(&[0, 3]));
        assert!(!graph.add(&[1, 0, 2]));
        graph.remove(&[3, 2, 1, 0]);
        assert!(graph.add(&[0, 3, 1, 2]), "the graph is empty");
        assert!(!graph.add(&[2, 0]));
        assert!(!graph.add(&[2, 2]));
    }

    proptest::proptest! {
        /// The answer is that of a search over all dependencies.
        #[test]
        fn agrees_with_a_full_search(pairs in proptest::collection::vec((0u32..8, 0u32..8), 1..40)) {
            let mut graph = LayerGraph::new(8);
            let mut kept: Vec<(u32, u32)> = Vec::new();
            for (from, to) in pairs {
                let mut reached = vec![to];
                let mut head = 0;
                while let Some(&at) = reached.get(head) {
                    head += 1;
                    let next = kept.iter().filter(|pair| pair.0 == at).map(|pair| pair.1);
                    let new: Vec<u32> = next.filter(|next| !reached.contains(next)).collect();
                    reached.extend(new);
                }
                let closes = reached.contains(&from);
                proptest::prop_assert_eq!(graph.add(&[from, to]), !closes);
                if !closes {
                    kept.push((from, to));
                }
            }
        }
    }
}
