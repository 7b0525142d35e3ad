//! Procedures 1 and 2 over every age, timestamp of arrival, timestamp of departure and roll-over.

use super::super::{AgeHeader, AgeRrSelect, Ager};
use fabricsim_units::Time;

/// Calls `check(age, arrival, now, rollover)` for every case that can happen: a packet sees the timestamp roll over at
/// most once, and without that it does not go back.
fn every_case(mut check: impl FnMut(u8, u8, u8, bool)) -> u64 {
    let mut cases = 0;
    for age in 0..=255 {
        for arrival in 0..=255 {
            for now in 0..=255 {
                for rollover in [false, true] {
                    if rollover || now >= arrival {
                        check(age, arrival, now, rollover);
                        cases += 1;
                    }
                }
            }
        }
    }
    cases
}

/// The age by integers without bounds.
fn true_age(age: u8, arrival: u8, now: u8, rollover: bool) -> u8 {
    let elapsed = i64::from(now) + if rollover { 256 } else { 0 } - i64::from(arrival);
    (i64::from(age) + elapsed).min(255) as u8
}

/// Reading of line 8 of procedure 2.
#[derive(Clone, Copy)]
enum Line8 {
    /// As printed: `new_age[8] = 1 OR (new_age[9] = 1 AND head_flit[8] = 1)`, all operands zero-extended.
    Published,
    /// As printed, with bit 8 of the header understood as a sign, which the sum extends to bit 9.
    PublishedSigned,
    /// `new_age[8] = 1 OR (new_age[9] = 1 AND head_flit[8] = 0)`.
    Corrected,
}

/// Procedure 2 line by line, with the given reading of line 8.
fn age_as_printed(head_flit: u16, epoch: bool, timestamp: u8, line8: Line8) -> u8 {
    let mut rollover = 0;
    let in_epoch = head_flit >> 9 & 1 == 1;
    if in_epoch != epoch {
        rollover = 1;
    }
    let borrow = head_flit >> 8 & 1;
    let sign = if matches!(line8, Line8::PublishedSigned) { borrow << 9 } else { 0 };
    let mut new_age = ((head_flit & 0x1ff | sign) + (rollover << 8 | u16::from(timestamp))) & 0x3ff;
    let (bit8, bit9) = (new_age >> 8 & 1, new_age >> 9 & 1);
    let saturation = match line8 {
        Line8::Published | Line8::PublishedSigned => bit8 == 1 || (bit9 == 1 && borrow == 1),
        Line8::Corrected => bit8 == 1 || (bit9 == 1 && borrow == 0),
    };
    if saturation {
        new_age = 255;
    }
    new_age as u8
}

#[test]
fn every_age_timestamp_and_rollover_is_exact() {
    let mut wrong = 0_u64;
    let cases = every_case(|age, arrival, now, rollover| {
        let header = AgeHeader::arriving(age, false, arrival);
        wrong += u64::from(header.age_at(rollover, now) != true_age(age, arrival, now, rollover));
    });
    assert_eq!((cases, wrong), (25_198_592, 0));
}

/// Behaviour does not depend on which epoch is which.
#[test]
fn epochs_are_alike() {
    every_case(|age, arrival, now, rollover| {
        let header = AgeHeader::arriving(age, true, arrival);
        assert_eq!(header.age_at(!rollover, now), true_age(age, arrival, now, rollover));
    });
}

#[test]
fn the_published_line_8_is_wrong_in_a_third_of_all_cases() {
    let (mut published, mut signed, mut corrected) = (0_u64, 0_u64, 0_u64);
    let (mut early, mut late) = (0_u64, 0_u64);
    let cases = every_case(|age, arrival, now, rollover| {
        let head = AgeHeader::arriving(age, false, arrival);
        let truth = true_age(age, arrival, now, rollover);
        let printed = age_as_printed(head.0, rollover, now, Line8::Published);
        published += u64::from(printed != truth);
        // It saturates what is young after a borrow, and lets wrap around what is old without.
        early += u64::from(printed == 255 && truth < 255 && head.carry());
        late += u64::from(printed < 255 && truth == 255 && !head.carry());
        signed += u64::from(age_as_printed(head.0, rollover, now, Line8::PublishedSigned) != truth);
        corrected += u64::from(age_as_printed(head.0, rollover, now, Line8::Corrected) != truth);
    });
    assert_eq!(cases, 25_198_592);
    assert_eq!(published, 8_355_840, "33.2 %");
    assert_eq!((early, late), (5_559_680, 2_796_160), "there are no other errors");
    assert_eq!(early + late, published);
    assert_eq!(signed, 2_796_160, "11.1 %: taking bit 8 for a sign does not save the printed line");
    assert_eq!(corrected, 0);
}

/// One error of either kind, to follow by hand.
#[test]
fn examples_of_what_the_published_line_does() {
    // Age 52 arrives at 168: 52 - 168 = -116, low byte 140, borrow. At 208 it has waited 40.
    let head = AgeHeader::arriving(52, false, 168);
    assert_eq!((head.age(), head.carry()), (140, true));
    assert_eq!(age_as_printed(head.0, false, 208, Line8::Published), 255);
    assert_eq!((head.age_at(false, 208), true_age(52, 168, 208, false)), (92, 92));
    // Age 203 arrives at 0 and is still there at 79 of the next epoch: 203 + 335 = 538 is not 26.
    let head = AgeHeader::arriving(203, false, 0);
    assert_eq!((head.age(), head.carry()), (203, false));
    assert_eq!(age_as_printed(head.0, true, 79, Line8::Published), 26);
    assert_eq!((head.age_at(true, 79), true_age(203, 0, 79, true)), (255, 255));
}

#[test]
fn ages_and_biases_saturate_at_255() {
    let mut ager = Ager::new(1, Time::ns(2));
    for age in 0..=255_u8 {
        for bias in 0..=7 {
            let header = ager.receive(age, bias);
            assert_eq!(u32::from(ager.age(header)), (u32::from(age) + u32::from(bias)).min(255));
        }
    }
    let header = ager.receive(250, 3);
    let ages: Vec<u8> = (0..5).map(|n| (ager.advance(Time::ns(2 * n)), ager.age(header)).1).collect();
    assert_eq!(ages, [253, 254, 255, 255, 255]);
}

#[test]
fn fields_of_the_header_are_those_of_table_1() {
    let header = AgeHeader(0b10_1100_1010);
    assert_eq!(
        (header.age(), header.carry(), header.in_epoch(), header.unused()),
        (0xca, false, true, false)
    );
    assert_eq!(format!("{header:?}"), "AgeHeader(epoch 1, carry 0, age 202)");
    assert!(AgeHeader(0x100).carry() && AgeHeader(0x400).unused());
}

#[test]
fn a_set_bit_selects_age_for_its_grant() {
    assert!((0..=255).all(|n| AgeRrSelect::AGE.by_age(n) && !AgeRrSelect::ROUND_ROBIN.by_age(n)));
    let half = AgeRrSelect(0x5555_5555_5555_5555);
    assert_eq!((0..64).filter(|&n| half.by_age(n)).count(), 32);
    assert!(half.by_age(0) && !half.by_age(63) && half.by_age(64));
    assert!((0..=255).all(|n| AgeRrSelect(1 << 37).by_age(n) == (n % 64 == 37)));
}
