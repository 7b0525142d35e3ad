//! Knowledge about messages at their receiver beyond that of a real one: whether a message is complete, and which of its
//! operations have been carried out before.
//!
//! A source keeps a message in one of its streams until no copy of its packets is left in the network, and only then gives
//! the stream to another message. So one record for each stream of each source is exact: a packet of an older message of that
//! stream is a copy of an operation that has been carried out.

use std::collections::BTreeMap;

use fabricsim_model::Label;
use fabricsim_units::HostId;

/// The outcome of an operation that is carried out in target memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has been carried out before.
    Repeated,
    /// It is carried out for the first time.
    First,
    /// The same, and all others of its message have been carried out.
    Complete,
}

/// The newest message of a stream.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
struct Record {
    /// Its number among the messages of its source.
    message: u32,
    /// Operations that have not been carried out.
    left: u32,
    /// One bit for each operation that has; empty when all have.
    carried_out: Bits,
}

/// Bits, up to 64 of them in place.
#[derive(Clone, Debug, fabricsim_state::Value)]
enum Bits {
    Few(u64),
    Many(Box<[u64]>),
}

impl Default for Bits {
    fn default() -> Self {
        Self::Few(0)
    }
}

impl Bits {
    fn new(count: u32) -> Self {
        if count <= 64 { Self::Few(0) } else { Self::Many(vec![0; count.div_ceil(64) as usize].into()) }
    }

    /// Sets a bit. True if it was not set.
    fn set(&mut self, number: u32) -> bool {
        let word = match self {
            Self::Few(word) => word,
            Self::Many(words) => &mut words[number as usize / 64],
        };
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl Record {
    fn new(label: &Label) -> Self {
        Self { message: label.message, left: label.packets, carried_out: Bits::new(label.packets) }
    }
}

/// Messages of which packets have arrived, by source and stream.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Incoming {
    records: BTreeMap<(HostId, u16), Record>,
    unfinished: u64,
}

impl Incoming {
    /// An operation of `source` is carried out.
    pub(crate) fn carried_out(&mut self, source: HostId, label: &Label) -> Outcome {
        let record = self.records.entry((source, label.stream)).or_insert_with(|| Record::new(label));
        if record.message != label.message {
            if is_older(label.message, record.message) {
                return Outcome::Repeated;
            }
            self.unfinished += u64::from(record.left > 0);
            *record = Record::new(label);
        }
        if record.left == 0 || !record.carried_out.set(label.number) {
            return Outcome::Repeated;
        }
        record.left -= 1;
        if record.left > 0 {
            return Outcome::First;
        }
        record.carried_out = Bits::default();
        Outcome::Complete
    }

    /// Messages whose stream their source gave to another one though not all of their operations had been carried out: 0
    /// unless the protocol has failed.
    pub(crate) fn unfinished(&self) -> u64 {
        self.unfinished
    }
}

/// True if message `a` was opened before `b`: numbers of a source's messages wrap around.
fn is_older(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) < 1 << 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const SOURCE: HostId = HostId(1);

    fn label(message: u32, number: u32, packets: u32) -> Label {
        Label { number, packets, message, ..Label::default() }
    }

    #[test]
    fn a_message_is_complete_with_its_last_operation_in_any_order() {
        let mut incoming = Incoming::default();
        let other = |number| Label { stream: 1, ..label(1, number, 2) };
        assert_eq!(incoming.carried_out(SOURCE, &label(0, 1, 2)), Outcome::First);
        assert_eq!(incoming.carried_out(SOURCE, &other(0)), Outcome::First);
        assert_eq!(incoming.carried_out(HostId(2), &label(0, 0, 2)), Outcome::First);
        assert_eq!(incoming.carried_out(SOURCE, &label(0, 0, 2)), Outcome::Complete);
        assert_eq!(incoming.carried_out(SOURCE, &other(1)), Outcome::Complete);
        assert_eq!(incoming.unfinished(), 0);
    }

    #[test]
    fn copies_are_known_long_after_their_message() {
        let mut incoming = Incoming::default();
        for message in 0..100_000 {
            assert_eq!(incoming.carried_out(SOURCE, &label(message, 0, 1)), Outcome::Complete);
        }
        assert_eq!(incoming.carried_out(SOURCE, &label(0, 0, 1)), Outcome::Repeated);
        assert_eq!(incoming.carried_out(SOURCE, &label(99_999, 0, 1)), Outcome::Repeated);
        assert_eq!(incoming.records.len(), 1);
    }

    #[test]
    fn numbers_of_messages_wrap() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.carried_out(SOURCE, &label(u32::MAX, 0, 1)), Outcome::Complete);
        assert_eq!(incoming.carried_out(SOURCE, &label(0, 0, 1)), Outcome::Complete);
        assert_eq!(incoming.carried_out(SOURCE, &label(u32::MAX, 0, 1)), Outcome::Repeated);
    }

    #[test]
    fn a_stream_that_is_given_away_too_early_is_counted() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.carried_out(SOURCE, &label(0, 0, 2)), Outcome::First);
        assert_eq!(incoming.carried_out(SOURCE, &label(1, 0, 2)), Outcome::First);
        assert_eq!(incoming.unfinished(), 1);
    }

    proptest! {
        /// Compared with a set of all operations: messages of a stream one after another, copies of any earlier one.
        #[test]
        fn outcomes_are_those_of_a_full_memory(
            sizes in prop::collection::vec(1_u32..200, 1..6),
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let mut incoming = Incoming::default();
            let mut seen = BTreeSet::new();
            let mut carry_out = |message: u32, number: u32| {
                let packets = sizes[message as usize];
                let is_new = seen.insert((message, number));
                let all = (0..packets).all(|number| seen.contains(&(message, number)));
                let expected = match (is_new, all) {
                    (false, _) => Outcome::Repeated,
                    (true, false) => Outcome::First,
                    (true, true) => Outcome::Complete,
                };
                (incoming.carried_out(SOURCE, &label(message, number, packets)), expected)
            };
            for message in 0..sizes.len() as u32 {
                for (which, number) in &steps {
                    let which = which.index(message as usize + 1) as u32;
                    let (found, expected) = carry_out(which, number.index(sizes[which as usize] as usize) as u32);
                    prop_assert_eq!(found, expected);
                }
                for number in 0..sizes[message as usize] {
                    let (found, expected) = carry_out(message, number);
                    prop_assert_eq!(found, expected);
                }
            }
            prop_assert_eq!(incoming.unfinished(), 0);
        }
    }
}
