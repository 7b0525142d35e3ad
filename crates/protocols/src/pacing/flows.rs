use super::FlowKey;

/// Values by flow of a source, such as those of flows that are rate-limited: few, so they are kept in a list by key.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Flows<F> {
    list: Vec<(FlowKey, F)>,
}

impl<F> Default for Flows<F> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<F> Flows<F> {
    /// The value of a flow.
    #[inline]
    pub fn get(&mut self, key: FlowKey) -> Option<&mut F> {
        if self.list.is_empty() {
            return None;
        }
        let place = self.list.binary_search_by_key(&key, |entry| entry.0).ok()?;
        Some(&mut self.list[place].1)
    }

    /// The value of a flow, created if it has none.
    pub fn get_or_insert(&mut self, key: FlowKey, new: impl FnOnce() -> F) -> &mut F {
        let place = match self.list.binary_search_by_key(&key, |entry| entry.0) {
            Ok(place) => place,
            Err(place) => {
                self.list.insert(place, (key, new()));
                place
            }
        };
        &mut self.list[place].1
    }

    /// Keeps those for which `wanted` holds.
    pub fn retain(&mut self, mut wanted: impl FnMut(&F) -> bool) {
        self.list.retain(|(_, flow)| wanted(flow));
    }

    /// All flows, by key.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (FlowKey, &mut F)> {
        self.list.iter_mut().map(|(key, flow)| (*key, flow))
    }
}
