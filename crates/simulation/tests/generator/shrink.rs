//! Smaller experiments that fail in the same way.

use super::draft::Draft;

/// Experiments that are tried at most: some take seconds.
const MOST_TRIES: usize = 200;

/// Removes sections and keys for as long as the rest `fails`.
pub fn shrink(draft: Draft, fails: impl Fn(&Draft) -> bool) -> Draft {
    let mut smallest = draft;
    let mut tries = 0;
    loop {
        let before = smallest.clone();
        let mut part = 0;
        while let Some(smaller) = smallest.without(part).filter(|_| tries < MOST_TRIES) {
            tries += 1;
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
