use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::num::NonZeroU16;
use std::sync::Arc;

use proptest::prelude::*;

use crate::{Damaged, Reader, Refused, State, Value, Writer};

/// Everything that is made from bytes alone.
#[derive(Clone, Debug, PartialEq, fabricsim_state::Value)]
struct Plain {
    numbers: (u8, u16, u32, u64, u128),
    signed: (i8, i16, i32, i64, i128),
    floats: [f64; 2],
    single: f32,
    size: usize,
    flag: bool,
    lane: NonZeroU16,
    text: String,
    shape: Option<Box<Shape>>,
    list: Vec<Shape>,
    queue: VecDeque<u16>,
    row: Box<[u32]>,
    set: BTreeSet<u8>,
    map: BTreeMap<(u8, u16), String>,
    heap: Vec<Reverse<u8>>,
}

#[derive(Clone, Debug, PartialEq, fabricsim_state::Value)]
enum Shape {
    Unit,
    Tuple(u16, bool),
    Named { first: u8, second: Option<u32> },
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Unit),
        any::<(u16, bool)>().prop_map(|(a, b)| Shape::Tuple(a, b)),
        any::<(u8, Option<u32>)>().prop_map(|(first, second)| Shape::Named { first, second }),
    ]
}

fn plain() -> impl Strategy<Value = Plain> {
    let simple = (any::<(u8, u16, u32, u64, u128)>(), any::<(i8, i16, i32, i64, i128)>());
    let floats = (any::<[f64; 2]>(), any::<f32>(), any::<usize>(), any::<bool>(), any::<NonZeroU16>());
    let lists = (any::<String>(), proptest::option::of(shape()), proptest::collection::vec(shape(), 0..5));
    let more = (
        any::<VecDeque<u16>>(),
        any::<Box<[u32]>>(),
        any::<BTreeSet<u8>>(),
        any::<BTreeMap<(u8, u16), String>>(),
        any::<Vec<u8>>(),
    );
    (simple, floats, lists, more).prop_map(|(simple, floats, lists, more)| Plain {
        numbers: simple.0,
        signed: simple.1,
        floats: floats.0,
        single: floats.1,
        size: floats.2,
        flag: floats.3,
        lane: floats.4,
        text: lists.0,
        shape: lists.1.map(Box::new),
        list: lists.2,
        queue: more.0,
        row: more.1,
        set: more.2,
        map: more.3,
        heap: more.4.into_iter().map(Reverse).collect(),
    })
}

fn bytes_of(state: &impl State) -> Vec<u8> {
    let mut writer = Writer::default();
    state.save(&mut writer);
    writer.finish().unwrap()
}

fn read<T: Value>(bytes: &[u8]) -> Result<T, Damaged> {
    let mut reader = Reader::new(bytes);
    let value = T::read(&mut reader)?;
    reader.end()?;
    Ok(value)
}

proptest! {
    #[test]
    fn a_value_is_read_as_it_was_written(value in plain()) {
        let bytes = bytes_of(&value);
        prop_assert_eq!(read::<Plain>(&bytes), Ok(value.clone()));
        // Every length that is cut off, and a byte too many.
        for length in 0..bytes.len() {
            prop_assert!(read::<Plain>(&bytes[..length]).is_err(), "{} of {} bytes", length, bytes.len());
        }
        prop_assert!(read::<Plain>(&[bytes, vec![0]].concat()).is_err());
    }

    #[test]
    fn damaged_bytes_are_another_value_or_an_error(value in plain(), at in any::<usize>(), with in 1..=u8::MAX) {
        let mut bytes = bytes_of(&value);
        let at = at % bytes.len();
        bytes[at] ^= with;
        if let Ok(other) = read::<Plain>(&bytes) {
            // Floats that are no numbers are not equal to themselves. A set may have lost an element.
            let (other, again) = (bytes_of(&other), bytes_of(&value));
            prop_assert!(other != again);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in any::<Vec<u8>>()) {
        let _ = read::<Plain>(&bytes);
        let _ = read::<Vec<Vec<u128>>>(&bytes);
        let _ = read::<BinaryHeap<u64>>(&bytes);
    }
}

#[test]
fn floats_keep_their_bits() {
    for bits in [f64::NAN.to_bits() | 1, (-0.0_f64).to_bits(), f64::MIN_POSITIVE.to_bits() >> 3] {
        let read: f64 = read(&bytes_of(&f64::from_bits(bits))).unwrap();
        assert_eq!(read.to_bits(), bits);
    }
}

#[test]
fn a_length_beyond_the_end_reserves_no_memory() {
    let huge = u64::MAX.to_le_bytes();
    assert_eq!(read::<Vec<u8>>(&huge), Err(Damaged { at: 8 }));
    assert_eq!(read::<String>(&huge), Err(Damaged { at: 8 }));
    // As many elements as bytes, of which each needs more.
    let bytes = [&1000_u64.to_le_bytes()[..], &[7; 1000]].concat();
    assert_eq!(read::<Vec<u64>>(&bytes), Err(Damaged { at: 1008 }));
}

#[test]
fn texts_and_flags_that_are_none_are_refused() {
    assert!(read::<bool>(&[2]).is_err());
    assert!(read::<Shape>(&[3]).is_err());
    assert!(read::<NonZeroU16>(&[0, 0]).is_err());
    assert!(read::<String>(&[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).is_err());
}

/// A part of a run: rules are shared.
#[derive(Debug, fabricsim_state::State)]
struct Part {
    #[state(fixed)]
    rules: Arc<str>,
    sent: u64,
    #[state(each)]
    lanes: Vec<Lane>,
    #[state(refuse = "taps")]
    tap: Option<Arc<str>>,
}

#[derive(Debug, fabricsim_state::State)]
enum Lane {
    Open(u8),
    Closed {
        #[state(fixed)]
        rules: Arc<str>,
        since: u64,
    },
    #[state(refuse = "gates")]
    #[allow(dead_code, reason = "its content has no state")]
    Gated(Arc<str>),
}

fn part(rules: &str, sent: u64, since: u64) -> Part {
    let closed = Lane::Closed { rules: rules.into(), since };
    Part { rules: rules.into(), sent, lanes: vec![Lane::Open(sent as u8), closed], tap: None }
}

fn load(part: &mut Part, bytes: &[u8]) -> Result<(), Damaged> {
    let mut reader = Reader::new(bytes);
    part.load(&mut reader)?;
    reader.end()
}

#[test]
fn a_part_is_loaded_in_place() {
    let bytes = bytes_of(&part("old", 5, 6));
    let mut fresh = part("new", 0, 0);
    load(&mut fresh, &bytes).unwrap();
    let [Lane::Open(5), Lane::Closed { rules, since: 6 }] = &fresh.lanes[..] else { panic!("{fresh:?}") };
    assert_eq!((&*fresh.rules, fresh.sent, &**rules), ("new", 5, "new"));
}

#[test]
fn another_shape_is_damage() {
    let bytes = bytes_of(&part("", 5, 6));
    let mut shorter = part("", 0, 0);
    shorter.lanes.pop();
    assert_eq!(load(&mut shorter, &bytes), Err(Damaged { at: 16 }));
    let mut reversed = part("", 0, 0);
    reversed.lanes.reverse();
    assert_eq!(load(&mut reversed, &bytes), Err(Damaged { at: 17 }));
    let mut gated = part("", 0, 0);
    gated.lanes[0] = Lane::Gated("".into());
    assert!(load(&mut gated, &bytes).is_err());
}

#[test]
fn features_without_state_are_named() {
    let mut part = part("", 0, 0);
    part.tap = Some("".into());
    part.lanes.push(Lane::Gated("".into()));
    let mut writer = Writer::default();
    part.save(&mut writer);
    let refused = writer.finish().unwrap_err();
    assert_eq!(refused, Refused { features: vec!["gates", "taps"] });
    let text = "a run with gates and taps cannot be written to a checkpoint; run it without --checkpoint";
    assert_eq!(refused.to_string(), text);
    assert_eq!(Refused::with("captures", Err(refused)).features, ["captures", "gates", "taps"]);
    assert_eq!(Refused::with("captures", Ok(Vec::new())).features, ["captures"]);
}
