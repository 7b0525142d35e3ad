//! Lists, sets and maps of values.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crate::{Damaged, Reader, State, Value, Writer};

/// Lists with their lengths, made from a vector of their elements in the order of their iterator.
macro_rules! lists {
    ($($list:ty, ($($bound:tt)*);)*) => {$(
        impl<T: Value $($bound)*> State for $list {
            fn save(&self, to: &mut Writer) {
                to.length(self.len());
                for element in self {
                    element.save(to);
                }
            }
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
                *self = Value::read(from)?;
                Ok(())
            }
        }

        impl<T: Value $($bound)*> Value for $list {
            fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                let length = from.length()?;
                from.list(length).map(|list| list.into_iter().collect())
            }
        }
    )*};
}

lists! {
    Vec<T>, ();
    VecDeque<T>, ();
    Box<[T]>, ();
    BTreeSet<T>, (+ Ord);
    BinaryHeap<T>, (+ Ord);
}

impl<T: Value, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Writer) {
        for element in self {
            element.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.iter_mut().try_for_each(|element| element.load(from))
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        from.list(N)?.try_into().map_err(|_| from.damaged())
    }
}

impl<K: Value + Ord, V: Value> State for BTreeMap<K, V> {
    fn save(&self, to: &mut Writer) {
        to.length(self.len());
        for (key, value) in self {
            key.save(to);
            value.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self = Value::read(from)?;
        Ok(())
    }
}

impl<K: Value + Ord, V: Value> Value for BTreeMap<K, V> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let length = from.length()?;
        from.list(length).map(|list| list.into_iter().collect())
    }
}
