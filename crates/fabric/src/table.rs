//! Tables of the hot path, indexed without a check of the bounds in optimised builds.
//!
//! Reason, measured: the checks are 90 to 110 of about 930 instructions per packet-hop (8x8 mesh and torus, 16-flit
//! packets, loads 0.1 and 0.4, callgrind). Indices come from the assembly of the fabric and from tables that index
//! each other, never from an experiment file or the network. Builds with debug assertions, in which all tests run,
//! check every index.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector whose elements are reached without a check of the bounds, unless debug assertions are on.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Table<T>(Vec<T>);

impl<T> Table<T> {
    /// A table of the elements of a vector.
    pub const fn new(elements: Vec<T>) -> Self {
        Self(elements)
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, element: T) {
        self.0.push(element);
    }

    /// Adds a number of equal elements at the end.
    pub fn extend(&mut self, count: usize, element: T)
    where
        T: Clone,
    {
        // By a quarter of what is there, where doubling would waste memory.
        if self.0.capacity() < self.0.len() + count {
            self.0.reserve_exact(count + self.0.len() / 4);
        }
        self.0.resize(self.0.len() + count, element);
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;
    #[inline(always)]
    #[allow(unsafe_code)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len());
        // SAFETY: indices are created together with the tables, see the head of this file.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len());
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}
