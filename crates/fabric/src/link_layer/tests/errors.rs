//! Errors that the simulator draws instead of moving micropackets.

use fabricsim_spec::{LinkErrors, LinkParameters, LinkRetry, Links};
use fabricsim_units::{Bytes, Rate, Time};

use super::super::{Failed, RetryState};

fn link(bit_error_rate: f64) -> LinkParameters {
    let rate = Rate::new(32_000_000_000).unwrap();
    LinkParameters { bit_error_rate, rate, latency: Time::ns(10), ..LinkParameters::default() }
}

#[test]
fn links_without_errors_have_no_state() {
    assert!(RetryState::new(1, 0, &link(0.0), &Links::default()).is_none());
}

/// Failures of n micropackets that have to arrive are a negative binomial number: mean n p / (1 - p), variance
/// n p / (1 - p)^2. So it is for packets of any size.
#[test]
fn failures_are_as_frequent_as_the_bit_error_rate_says() {
    for (rate, sizes) in [(1e-3, [1, 16]), (1e-4, [17, 72]), (1e-5, [64, 4096])] {
        let mut state = RetryState::new(9, 4, &link(rate), &Links::default()).unwrap();
        let (mut micropackets, mut failures) = (0_u64, 0_u64);
        for n in 0..400_000 {
            let bytes: u32 = sizes[n % 2];
            micropackets += u64::from(bytes.div_ceil(16));
            failures += u64::from(state.failures(bytes));
        }
        let p = 1.0 - (1.0_f64 - rate).powi(168);
        let (mean, variance) =
            (micropackets as f64 * p / (1.0 - p), micropackets as f64 * p / (1.0 - p).powi(2));
        assert!((failures as f64 - mean).abs() < 4.0 * variance.sqrt(), "{rate}: {failures}, {mean}");
    }
}

/// A repetition can fail again: the share of single micropackets that fail n times is p^n (1 - p).
#[test]
fn repetitions_fail_as_often() {
    let mut state = RetryState::new(2, 0, &link(1e-3), &Links::default()).unwrap();
    let (total, mut counts) = (500_000, [0_u32; 4]);
    for _ in 0..total {
        counts[(state.failures(16) as usize).min(3)] += 1;
    }
    let p = 1.0 - 0.999_f64.powi(168);
    for (n, &count) in counts.iter().enumerate() {
        let share = p.powi(n as i32) * if n == 3 { 1.0 } else { 1.0 - p };
        let deviation = (f64::from(total) * share * (1.0 - share)).sqrt();
        assert!((f64::from(count) - f64::from(total) * share).abs() < 4.0 * deviation, "{n} times: {count}");
    }
}

/// The division of a channel's data into packets makes no difference, and each channel draws for itself.
#[test]
fn draws_depend_only_on_the_channels_own_micropackets() {
    let state = |channel| RetryState::new(3, channel, &link(1e-4), &Links::default()).unwrap();
    let by_size = |bytes: u32| {
        let mut state = state(0);
        (0..64_000 / (bytes / 16)).map(|_| u64::from(state.failures(bytes))).sum::<u64>()
    };
    assert_eq!(by_size(16), by_size(64 * 16));
    let of = |mut state: RetryState| (0..1000).map(|_| state.failures(160)).collect::<Vec<_>>();
    assert!(of(state(0)) == of(state(0)) && of(state(0)) != of(state(1)));
}

#[test]
fn the_round_trip_is_that_of_the_state_machines() {
    // 16 B at 32 Gb/s are 4 ns; there and back, a micropacket each way, and the delay.
    let retry = LinkRetry { delay: Time::ns(3), ..LinkRetry::default() };
    let links = Links { retry: retry.clone(), ..Links::default() };
    let mut state = RetryState::new(1, 0, &link(1e-3), &links).unwrap();
    let failed = (0..1000).find_map(|_| match state.send(16) {
        Failed::Retransmitted(times, delay) => Some(delay / u64::from(times)),
        _ => None,
    });
    assert_eq!(failed, Some(Time::ns(2 * 10 + 2 * 4 + 3)));
    assert_eq!(retry.least_window(&link(1e-6)), 8);
    let larger = LinkRetry { data: Bytes(64), ..retry };
    assert_eq!(larger.least_window(&link(1e-6)), 4);
}

/// Without retransmission a packet of n bytes is lost with the chance that one of its 8 n bits fails, whatever packets were before it:
/// binomial, within four standard deviations.
#[test]
fn a_packet_is_lost_with_the_chance_that_one_of_its_bits_fails() {
    let links = Links { errors: LinkErrors::Lose, ..Links::default() };
    for (rate, sizes) in [(1e-3, [64_u32, 1]), (1e-4, [2048, 100]), (1e-5, [4096, 64])] {
        let mut state = RetryState::new(9, 4, &link(rate), &links).unwrap();
        let (packets, mut lost) = (200_000, [0_u32; 2]);
        for _ in 0..packets {
            for (lost, bytes) in lost.iter_mut().zip(sizes) {
                match state.send(bytes) {
                    Failed::Lost => *lost += 1,
                    failed => assert_eq!(failed, Failed::Nothing),
                }
            }
        }
        for (lost, bytes) in lost.into_iter().zip(sizes) {
            let p = 1.0 - (1.0_f64 - rate).powi(8 * bytes as i32);
            let (mean, variance) = (f64::from(packets) * p, f64::from(packets) * p * (1.0 - p));
            assert!((f64::from(lost) - mean).abs() < 4.0 * variance.sqrt(), "{rate} {bytes}: {lost}, {mean}");
        }
    }
}
