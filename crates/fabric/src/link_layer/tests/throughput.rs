//! Throughput of go-back-N against theory.
//!
//! Let K be the round trip in micropackets, W the window, and p the chance that one with data fails.
//!
//! A window that covers the round trip keeps the link busy: what arrives takes one slot and each failure K, which makes
//! (1 - p) / (1 - p + pK) of the link's rate. With a smaller window, W leave in a row, and the next W when their
//! acknowledgements come, K after. If the one at place j fails (from 0), j are taken and the next row starts K + j
//! after the last; if none does, W and K. That makes E[taken] / E[time], which is W/K without errors and the former for
//! W = K. (Textbooks have W/K (1 - p) / (1 - p + pW), as if each failure cost a whole row.)
//!
//! In addition, a repetition that fails is only noticed by the next micropacket that arrives.

use super::super::Window;
use super::channel::{Link, Noise};

/// Data per slot, and the standard deviation of the data in `slots` slots.
fn theory(p: f64, round_trip: u16, window: u16, slots: u64) -> (f64, f64) {
    let (q, k) = (1.0 - p, f64::from(round_trip));
    let row = window.min(round_trip);
    // What may happen to a row: chance, data taken, slots.
    let noticing = p * (1.0 - q.powi(i32::from(row))) * (1.0 - p.powi(i32::from(window))) / q;
    let failed = (0..row).map(|j| (p * q.powi(i32::from(j)), f64::from(j), k + f64::from(j) + noticing));
    let rows: Vec<_> = failed.chain([(q.powi(i32::from(row)), f64::from(row), k + noticing)]).collect();
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| rows.iter().map(|&(p, taken, time)| p * of(taken, time)).sum::<f64>();
    let rate = mean(&|taken, _| taken) / mean(&|_, time| time);
    // A renewal reward process: the deviation of the sum grows with the number of rows.
    let variance = mean(&|taken, time| (taken - rate * time).powi(2)) / mean(&|_, time| time);
    (rate, (variance * slots as f64).sqrt())
}

/// Data delivered from one end in some slots, after some others.
fn measure(p: f64, delay: usize, size: u16, slots: u64) -> f64 {
    let window = Window::new(size, 9).unwrap();
    let noise = [Noise::Data(p), Noise::Bits(0.0)];
    let mut link = Link::new(window, 1000, delay, noise, u64::from(size) + delay as u64);
    let warmup = 2000;
    for _ in 0..warmup {
        link.step([u64::MAX, 0]);
    }
    let before = link.delivered[0];
    for _ in 0..slots {
        link.step([u64::MAX, 0]);
    }
    (link.delivered[0] - before) as f64
}

#[test]
fn as_theory_says_for_any_window() {
    let slots = 100_000;
    for delay in [0, 3, 12] {
        let round_trip = 2 * delay as u16 + 2;
        for size in [round_trip / 3, round_trip / 2, round_trip, round_trip + 7, 500] {
            if size == 0 {
                continue;
            }
            for p in [0.001, 0.01, 0.05, 0.2] {
                let delivered = measure(p, delay, size, slots);
                let (rate, deviation) = theory(p, round_trip, size, slots);
                let expected = slots as f64 * rate;
                // Four deviations, and a row at either end.
                let slack = 4.0 * deviation + 2.0 * f64::from(round_trip);
                let case = format!("p {p}, round trip {round_trip}, window {size}");
                assert!((delivered - expected).abs() < slack, "{case}: {delivered}, {expected} +- {slack}");
            }
        }
    }
}

/// The formula for rows is the one for a window that covers the round trip, where both apply.
#[test]
fn theories_agree_where_they_meet() {
    for (p, k) in [(1e-6, 10), (1e-4, 300), (1e-3, 27)] {
        let plain = (1.0 - p) / (1.0 - p + p * f64::from(k));
        let (rate, _) = theory(p, k, k, 1);
        // Of the order of p^2: that repetitions fail unnoticed.
        assert!((rate / plain - 1.0).abs() < 4.0 * p * p, "{rate} {plain}");
    }
}

#[test]
fn without_errors_exactly() {
    for delay in [0, 1, 9] {
        let round_trip = 2 * delay as u64 + 2;
        for size in 1..=round_trip + 3 {
            let slots = 1000 * round_trip;
            let delivered = measure(0.0, delay, size as u16, slots);
            assert_eq!(
                delivered,
                (1000 * size.min(round_trip)) as f64,
                "round trip {round_trip}, window {size}"
            );
        }
    }
}
