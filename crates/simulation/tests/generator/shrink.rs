//! Smaller experiments that fail in the same way.

use super::draft::Draft;

/// Removes sections and keys for as long as the rest `fails`.
pub fn shrink(draft: Draft, fails: impl Fn(&Draft) -> bool) -> Draft {
    let mut smallest = draft;
    loop {
        let before = smallest.clone();
        let mut part = 0;
        while let Some(smaller) = smallest.without(part) {
            if fails(&smaller) {
                smallest = smaller;
            } else {
                part += 1;
            }
        }
        if smallest == before {
            return smallest;
        }
    }
}
