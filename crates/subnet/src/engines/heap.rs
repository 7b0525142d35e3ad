//! OpenSM's heap (`cl_heap.c`): it decides which of several equal distances comes first.
//!
//! Every element has four children; the last of equal children rises; the last element takes the place of a removed one.

/// Children of an element.
const CHILDREN: usize = 4;

/// A heap of numbered elements with keys, the least on top.
#[derive(Debug)]
pub(super) struct Heap {
    /// Keys and elements.
    slots: Vec<(u64, u32)>,
    /// Slot of each element; meaningless for those that are not in the heap.
    place: Vec<u32>,
}

impl Heap {
    /// An empty heap for elements below `count`.
    pub(super) fn new(count: usize) -> Self {
        Self { slots: Vec::with_capacity(count), place: vec![u32::MAX; count] }
    }

    /// Replaces the content by elements with the same key, in this order.
    pub(super) fn fill(&mut self, key: u64, elements: impl Iterator<Item = u32>) {
        self.slots.clear();
        self.slots.extend(elements.map(|element| (key, element)));
        for (slot, &(_, element)) in self.slots.iter().enumerate() {
            self.place[element as usize] = slot as u32;
        }
    }

    /// Inserts an element.
    pub(super) fn insert(&mut self, key: u64, element: usize) {
        self.slots.push((key, element as u32));
        self.place[element] = self.slots.len() as u32 - 1;
        self.rise(self.slots.len() - 1);
    }

    /// Lowers the key of an element.
    pub(super) fn decrease(&mut self, element: usize, key: u64) {
        let slot = self.place[element] as usize;
        if self.slots.get(slot).is_some_and(|&(_, other)| other as usize == element) {
            self.slots[slot].0 = key;
            self.rise(slot);
        }
    }

    /// Removes an element, if it is there.
    pub(super) fn remove(&mut self, element: usize) {
        let slot = self.place[element] as usize;
        if self.slots.get(slot).is_none_or(|&(_, other)| other as usize != element) {
            return;
        }
        let Some(last) = self.slots.pop() else { return };
        if slot == self.slots.len() {
            return;
        }
        self.put(slot, last);
        if slot == 0 {
            self.sink(slot);
            return;
        }
        match self.slots[(slot - 1) / CHILDREN].0.cmp(&last.0) {
            std::cmp::Ordering::Less => self.sink(slot),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => self.rise(slot),
        }
    }

    /// Removes the element with the least key.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let top = self.slots.first()?.1 as usize;
        self.remove(top);
        Some(top)
    }

    fn put(&mut self, slot: usize, element: (u64, u32)) {
        self.slots[slot] = element;
        self.place[element.1 as usize] = slot as u32;
    }

    fn rise(&mut self, mut slot: usize) {
        let element = self.slots[slot];
        while slot > 0 {
            let parent = (slot - 1) / CHILDREN;
            if element.0 >= self.slots[parent].0 {
                break;
            }
            self.put(slot, self.slots[parent]);
            slot = parent;
        }
        self.put(slot, element);
    }

    fn sink(&mut self, mut slot: usize) {
        let element = self.slots[slot];
        let len = self.slots.len();
        loop {
            let begin = slot * CHILDREN + 1;
            if begin >= len {
                break;
            }
            let end = (begin + CHILDREN).min(len);
            let mut least = begin;
            for child in begin + 1..end {
                if self.slots[child].0 <= self.slots[least].0 {
                    least = child;
                }
            }
            if element.0 <= self.slots[least].0 {
                break;
            }
            self.put(slot, self.slots[least]);
            slot = least;
        }
        self.put(slot, element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn elements_come_by_their_keys(keys in proptest::collection::vec(0u64..20, 1..60), lower in 0usize..60) {
            let mut heap = Heap::new(keys.len());
            let mut keys = keys;
            for (element, &key) in keys.iter().enumerate() {
                heap.insert(key, element);
            }
            let lower = lower % keys.len();
            keys[lower] /= 2;
            heap.decrease(lower, keys[lower]);
            let removed = (lower + 1) % keys.len();
            heap.remove(removed);
            let mut popped = Vec::new();
            while let Some(element) = heap.pop() {
                popped.push(keys[element]);
            }
            proptest::prop_assert!(popped.is_sorted());
            proptest::prop_assert_eq!(popped.len(), keys.len() - usize::from(!keys.is_empty()));
        }
    }
}
