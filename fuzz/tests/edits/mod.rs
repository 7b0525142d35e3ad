//! Random changes of a file: of bytes, of words and of whole passages.

use proptest::prelude::*;
use proptest::sample::Index;

/// A change. Places are fractions of the file as it is then.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Another byte.
    Byte(Index, u8),
    /// Bytes that are inserted.
    Insert(Index, Vec<u8>),
    /// A passage that is removed.
    Remove(Index, Index),
    /// A passage that comes again elsewhere.
    Copy(Index, Index, Index),
    /// A word in the place of another.
    Word(Index, Index),
    /// A small number in the place of another.
    Number(Index, u8),
    /// All after a place is cut off.
    Cut(Index),
}

/// A few changes of a file.
pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || any::<Index>();
    let edit = prop_oneof![
        2 => (at(), any::<u8>()).prop_map(|(place, byte)| Edit::Byte(place, byte)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(place, bytes)| Edit::Insert(place, bytes)),
        1 => (at(), at()).prop_map(|(from, to)| Edit::Remove(from, to)),
        1 => (at(), at(), at()).prop_map(|(from, to, place)| Edit::Copy(from, to, place)),
        4 => (at(), at()).prop_map(|(place, word)| Edit::Word(place, word)),
        8 => (at(), 0_u8..20).prop_map(|(place, number)| Edit::Number(place, number)),
        1 => at().prop_map(Edit::Cut),
    ];
    // Most often a single one, after which the file may still be right.
    prop_oneof![3 => prop::collection::vec(edit.clone(), 1), 1 => prop::collection::vec(edit, 2..6)]
}

/// Words that take the place of others.
pub(crate) struct Dictionary(Vec<Vec<u8>>);

/// Numbers and marks at which readers break.
const EXTREMES: [&str; 22] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "16",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e308",
    "1e-308",
    "nan",
    "0.5",
    "\"",
    "[",
    "{",
    "\u{feff}",
];

impl Dictionary {
    /// The words of all seeds, and extremes.
    pub(crate) fn of(seeds: &[Vec<u8>]) -> Self {
        let words =
            seeds.iter().flat_map(|seed| words(seed).into_iter().map(|(from, to)| seed[from..to].to_vec()));
        let mut words: Vec<Vec<u8>> = words.chain(EXTREMES.map(|word| word.as_bytes().to_vec())).collect();
        words.sort();
        words.dedup();
        Self(words)
    }
}

/// First and last of the words: letters, digits, `_`, `-` and `.` in a row.
fn words(bytes: &[u8]) -> Vec<(usize, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let mut found = Vec::new();
    let mut begun = None;
    for (at, &byte) in bytes.iter().chain([&b' ']).enumerate() {
        match begun {
            None if is_word(byte) => begun = Some(at),
            Some(from) if !is_word(byte) => {
                found.push((from, at));
                begun = None;
            }
            _ => {}
        }
    }
    found
}

/// The least and the largest numbers of each width.
const BOUNDS: [&str; 9] = [
    "0",
    "-1",
    "255",
    "65535",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "0xffffffffffffffff",
    "1e308",
];

/// The file with each of its numbers at each bound, one at a time.
pub(crate) fn extremes(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    numbers(seed).into_iter().flat_map(move |(from, to)| {
        BOUNDS.map(|bound| [&seed[..from], bound.as_bytes(), &seed[to..]].concat())
    })
}

/// First and last of the numbers: digits in a row, also within words, as in `10us` and `[12]`.
fn numbers(bytes: &[u8]) -> Vec<(usize, usize)> {
    let digit = |at: &usize| bytes.get(*at).is_some_and(u8::is_ascii_digit);
    let starts = (0..bytes.len()).filter(|at| digit(at) && (*at == 0 || !digit(&(at - 1))));
    starts.map(|from| (from, (from..=bytes.len()).find(|at| !digit(at)).expect("numbers end"))).collect()
}

/// The file after its changes.
pub(crate) fn apply(seed: &[u8], edits: &[Edit], dictionary: &Dictionary) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for edit in edits {
        let place = |index: &Index| index.index(bytes.len() + 1);
        let passage = |from: &Index, to: &Index| {
            let ends = [place(from), place(to)];
            ends[0].min(ends[1])..ends[0].max(ends[1])
        };
        match edit {
            Edit::Byte(at, byte) => {
                let at = place(at);
                if let Some(old) = bytes.get_mut(at) {
                    *old = *byte;
                }
            }
            Edit::Insert(at, inserted) => {
                let at = place(at);
                bytes.splice(at..at, inserted.iter().copied());
            }
            Edit::Remove(from, to) => {
                let passage = passage(from, to);
                bytes.drain(passage);
            }
            Edit::Copy(from, to, at) => {
                let (passage, at) = (passage(from, to), place(at));
                let copied = bytes[passage].to_vec();
                bytes.splice(at..at, copied);
            }
            Edit::Word(at, word) => {
                let words = words(&bytes);
                if !words.is_empty() {
                    let (from, to) = words[at.index(words.len())];
                    let word = &dictionary.0[word.index(dictionary.0.len())];
                    bytes.splice(from..to, word.iter().copied());
                }
            }
            Edit::Number(at, number) => {
                let is_digits = |&(from, to): &(usize, usize)| bytes[from..to].iter().all(u8::is_ascii_digit);
                let numbers: Vec<(usize, usize)> = words(&bytes).into_iter().filter(is_digits).collect();
                if !numbers.is_empty() {
                    let (from, to) = numbers[at.index(numbers.len())];
                    bytes.splice(from..to, number.to_string().into_bytes());
                }
            }
            Edit::Cut(at) => {
                let at = place(at);
                bytes.truncate(at);
            }
        }
    }
    bytes
}
