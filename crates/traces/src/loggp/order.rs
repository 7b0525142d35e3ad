//! Order in which operations that become executable together are started: by kind, and among equals in the order in
//! which GNU's `std::sort` leaves them, which LogGOPSim calls. That sort is not stable for more than 16 elements, and
//! the order of two sends decides when each leaves.
//!
//! The algorithm is introsort: quicksort about the median of three until 16 elements are left, heap sort if the
//! recursion gets too deep, and one insertion sort at the end.

/// Partitions of at most this length are left to the insertion sort.
const SMALL: usize = 16;

/// Sorts `items` by `key`.
pub(crate) fn sort<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) {
    if items.len() > SMALL {
        let depth = 2 * items.len().ilog2();
        partition(items, depth, key);
    }
    for at in 1..items.len() {
        let mut to = at;
        while to > 0 && key(&items[to]) < key(&items[to - 1]) {
            items.swap(to, to - 1);
            to -= 1;
        }
    }
}

fn partition<T: Copy, K: Ord>(mut items: &mut [T], mut depth: u32, key: &impl Fn(&T) -> K) {
    while items.len() > SMALL {
        if depth == 0 {
            heap_sort(items, key);
            return;
        }
        depth -= 1;
        let (last, middle) = (items.len() - 1, items.len() / 2);
        median_to_front(items, [1, middle, last], key);
        let cut = split(items, key);
        let (left, right) = items.split_at_mut(cut);
        partition(right, depth, key);
        items = left;
    }
}

/// Exchanges the first item with the median of three others.
fn median_to_front<T: Copy, K: Ord>(items: &mut [T], [a, b, c]: [usize; 3], key: &impl Fn(&T) -> K) {
    let less = |x: usize, y: usize| key(&items[x]) < key(&items[y]);
    let median = if less(a, b) {
        if less(b, c) {
            b
        } else if less(a, c) {
            c
        } else {
            a
        }
    } else if less(a, c) {
        a
    } else if less(b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
}

/// Splits all but the first item about the first; returns where the upper part begins.
fn split<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) -> usize {
    let pivot = key(&items[0]);
    let (mut low, mut high) = (1, items.len());
    loop {
        while key(&items[low]) < pivot {
            low += 1;
        }
        high -= 1;
        while pivot < key(&items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

fn heap_sort<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) {
    let count = items.len();
    for parent in (0..=(count - 2) / 2).rev() {
        let value = items[parent];
        sift(items, parent, count, value, key);
    }
    for last in (1..count).rev() {
        let value = items[last];
        items[last] = items[0];
        sift(items, 0, last, value, key);
    }
}

/// Moves the hole at `top` to a leaf, then `value` up from there.
fn sift<T: Copy, K: Ord>(items: &mut [T], top: usize, count: usize, value: T, key: &impl Fn(&T) -> K) {
    let mut hole = top;
    let mut child = top;
    while child < (count - 1) / 2 {
        child = 2 * (child + 1);
        if key(&items[child]) < key(&items[child - 1]) {
            child -= 1;
        }
        items[hole] = items[child];
        hole = child;
    }
    if count.is_multiple_of(2) && count >= 2 && child == (count - 2) / 2 {
        child = 2 * (child + 1);
        items[hole] = items[child - 1];
        hole = child - 1;
    }
    while hole > top && key(&items[(hole - 1) / 2]) < key(&value) {
        items[hole] = items[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    items[hole] = value;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_and_loses_nothing(keys in prop::collection::vec(1u8..4, 0..200)) {
            let mut items: Vec<(u8, usize)> = keys.iter().copied().zip(0..).collect();
            sort(&mut items, &|item| item.0);
            prop_assert!(items.is_sorted_by_key(|item| item.0));
            items.sort_by_key(|item| item.1);
            prop_assert_eq!(items.iter().map(|item| item.0).collect::<Vec<_>>(), keys);
        }

        #[test]
        fn the_heap_sorts(keys in prop::collection::vec(1u8..9, 2..100)) {
            let mut items = keys.clone();
            heap_sort(&mut items, &|item| *item);
            prop_assert!(items.is_sorted());
        }

        #[test]
        fn few_items_keep_their_order(keys in prop::collection::vec(1u8..4, 0..=16)) {
            let mut items: Vec<(u8, usize)> = keys.iter().copied().zip(0..).collect();
            sort(&mut items, &|item| item.0);
            prop_assert!(items.is_sorted());
        }
    }

    /// 15 receives and 15 sends in turn, as `std::sort` of GCC 12 orders them.
    #[test]
    fn many_items_are_in_the_order_of_gnus_sort() {
        let mut items: Vec<(u8, u64)> = (0..30).map(|at| (if at % 2 == 0 { 2 } else { 1 }, at)).collect();
        sort(&mut items, &|item| item.0);
        let order: Vec<u64> = items.iter().map(|item| item.1).collect();
        let first = [15, 29, 27, 25, 23, 21, 19, 17, 13, 11, 9, 1, 3, 5, 7];
        let second = [0, 16, 14, 18, 6, 20, 8, 22, 4, 24, 12, 26, 2, 28, 10];
        assert_eq!(order, [first, second].concat());
    }

    /// Keys from 1 to 3 of a linear congruential generator.
    fn keys(state: &mut u32, count: u64) -> Vec<(u8, u64)> {
        let keys = (0..count).map(|at| {
            *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (1 + ((*state >> 24) % 3) as u8, at)
        });
        keys.collect()
    }

    fn digest(items: &[(u8, u64)]) -> u64 {
        items.iter().fold(0, |sum: u64, item| sum.wrapping_mul(31).wrapping_add(item.1))
    }

    /// Digests of the orders that `std::sort` and `std::partial_sort` of GCC 12 produce from the same keys.
    #[test]
    fn random_items_are_in_the_order_of_gnus_sort() {
        let mut state = 1;
        let expected = [
            (20, 10964464283059262626),
            (57, 8889602114190355736),
            (94, 5840888038011760745),
            (131, 14592879717166986797),
            (168, 1945783675188849362),
        ];
        for (count, digest_there) in expected {
            let mut items = keys(&mut state, count);
            sort(&mut items, &|item| item.0);
            assert_eq!(digest(&items), digest_there, "{count}");
        }
        let mut items = keys(&mut state, 40);
        heap_sort(&mut items, &|item| item.0);
        assert_eq!(digest(&items), 18370265042411806884);
    }
}
