use crate::Features;

/// A set of small numbers: one word while they are below 64, as the ports of most switches are.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Bits {
    /// The word; if there are several, all of them ORed, so that in any case it is zero if the set is empty.
    low: u64,
    /// All words, if there are more than one.
    wide: Option<Box<Words>>,
}

/// Behind one more pointer, so that the usual set is small.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Words(Box<[u64]>);

impl Bits {
    /// An empty set of numbers below `size`.
    pub(crate) fn new(size: usize) -> Self {
        let wide = (!Self::fit_in_a_word(size))
            .then(|| Box::new(Words(vec![0; size.div_ceil(64)].into_boxed_slice())));
        Self { low: 0, wide }
    }

    #[inline]
    pub(crate) fn set(&mut self, bit: usize) {
        self.low |= 1 << (bit % 64);
        if let Some(words) = &mut self.wide {
            words.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self, bit: usize) {
        self.low &= !(1 << (bit % 64));
        if let Some(words) = &mut self.wide {
            words.0[bit / 64] &= !(1 << (bit % 64));
            self.low = words.0.iter().fold(0, |all, word| all | word);
        }
    }

    /// [`Bits::set`]; without [`Features::OPTIONAL`], for a set that fits in a word, without a check.
    #[inline(always)]
    pub(crate) fn set_as<F: Features>(&mut self, bit: usize) {
        if F::OPTIONAL {
            return self.set(bit);
        }
        debug_assert!(self.wide.is_none());
        self.low |= 1 << (bit % 64);
    }

    /// [`Bits::clear`] likewise.
    #[inline(always)]
    pub(crate) fn clear_as<F: Features>(&mut self, bit: usize) {
        if F::OPTIONAL {
            return self.clear(bit);
        }
        debug_assert!(self.wide.is_none());
        self.low &= !(1 << (bit % 64));
    }

    /// [`Bits::first_after`] likewise.
    #[inline(always)]
    pub(crate) fn first_after_as<F: Features>(&self, last: usize) -> Option<usize> {
        if F::OPTIONAL {
            return self.first_after(last);
        }
        let (after, before) = self.split_after(last);
        let bits = if after != 0 { after } else { before };
        (bits != 0).then(|| bits.trailing_zeros() as usize)
    }

    pub(crate) fn contains(&self, bit: usize) -> bool {
        let word = self.wide.as_ref().map_or(self.low, |words| words.0[bit / 64]);
        word >> (bit % 64) & 1 == 1
    }

    /// The set as a word, if it fits in one.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        debug_assert!(self.wide.is_none());
        self.low
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.low == 0
    }

    /// The numbers after `last`, and those up to it, as words; of a set that fits in one.
    #[inline]
    pub(crate) fn split_after(&self, last: usize) -> (u64, u64) {
        debug_assert!(self.wide.is_none());
        let after = !1 << (last % 64);
        (self.low & after, self.low & !after)
    }

    /// True if the numbers below `size` fit in a word.
    pub(crate) fn fit_in_a_word(size: usize) -> bool {
        size <= 64
    }

    /// The first number of the set after `last`, going round: `last` itself comes at the very end.
    #[inline]
    pub(crate) fn first_after(&self, last: usize) -> Option<usize> {
        match &self.wide {
            None => {
                let after = self.low & (!1 << (last % 64));
                let bits = if after != 0 { after } else { self.low };
                (bits != 0).then(|| bits.trailing_zeros() as usize)
            }
            Some(words) => first_from(&words.0, last + 1).or_else(|| first_from(&words.0, 0)),
        }
    }
}

/// The first set bit at or after `from`.
fn first_from(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = *words.get(word)? & (!0 << (from % 64));
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_set(
            size in 1_usize..200, changes in prop::collection::vec((0_usize..200, any::<bool>()), 0..100),
        ) {
            let mut bits = Bits::new(size);
            let mut model = std::collections::BTreeSet::new();
            for (bit, add) in changes {
                let bit = bit % size;
                if add {
                    bits.set(bit);
                    model.insert(bit);
                } else {
                    bits.clear(bit);
                    model.remove(&bit);
                }
                prop_assert_eq!(bits.is_empty(), model.is_empty());
                for bit in 0..size {
                    prop_assert_eq!(bits.contains(bit), model.contains(&bit));
                }
                if Bits::fit_in_a_word(size) {
                    let last = bit;
                    let (after, rest) = bits.split_after(last);
                    let word = |numbers: Vec<&usize>| numbers.into_iter().fold(0_u64, |word, &n| word | 1 << n);
                    prop_assert_eq!(after, word(model.range(last + 1..).collect()));
                    prop_assert_eq!(rest, word(model.range(..=last).collect()));
                }
                for last in 0..size {
                    let expected = model.range(last + 1..).next().or_else(|| model.iter().next());
                    prop_assert_eq!(bits.first_after(last), expected.copied());
                }
            }
        }
    }
}
