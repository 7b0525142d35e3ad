//! Any failures: every datum arrives once, in order.

use proptest::prelude::*;

use super::super::{Window, WindowError};
use super::channel::{Link, Noise, SLOT};

/// Runs a link until everything has arrived, or until a limit that is never needed.
fn deliver_all(link: &mut Link, amounts: [u64; 2], slots: u64) -> bool {
    for _ in 0..slots {
        // The channel asserts order, and that nothing comes twice.
        link.step(amounts);
        if link.delivered == amounts && link.ends.iter().all(|end| end.transmitter().outstanding() == 0) {
            return true;
        }
    }
    false
}

fn windows() -> impl Strategy<Value = Window> {
    (1..=9_u8).prop_flat_map(|bits| (1..1_u16 << bits).prop_map(move |size| Window::new(size, bits).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Both directions lose up to six micropackets of ten, data, acknowledgements and requests alike; any window,
    /// any numbering, any delay, and time-outs that may be much too short.
    #[test]
    fn everything_arrives_once_and_in_order(
        window in windows(),
        delay in 0..40_usize,
        timeout in 1..200_u64,
        losses in [0.0..0.6, 0.0..0.6_f64],
        amounts in [0..300_u64, 0..300_u64],
        seed: u64,
    ) {
        let mut link = Link::new(window, timeout, delay, losses.map(Noise::Micropackets), seed);
        // At worst every datum takes some ten round trips or time-outs.
        let slots = 40 * (amounts[0] + amounts[1] + 10) * (2 * delay as u64 + 2 + timeout);
        prop_assert!(deliver_all(&mut link, amounts, slots), "{:?} of {amounts:?}", link.delivered);
    }

    /// Bits flip one by one, so that micropackets have any number of errors.
    #[test]
    fn bit_errors_of_one_in_a_thousand_lose_nothing(window in windows(), delay in 0..20_usize, seed: u64) {
        let mut link = Link::new(window, 3 * delay as u64 + 9, delay, [Noise::Bits(5e-4); 2], seed);
        prop_assert!(deliver_all(&mut link, [200, 150], 200_000));
    }
}

/// While nothing comes back, neither acknowledgements nor requests, there is only the time-out.
#[test]
fn after_a_time_out_everything_is_sent_again() {
    let window = Window::new(4, 3).unwrap();
    let mut link = Link::new(window, 50, 3, [Noise::Bits(0.0), Noise::Micropackets(1.0)], 7);
    assert!(!deliver_all(&mut link, [20, 0], 49));
    assert_eq!((link.delivered[0], link.ends[0].transmitter().retransmissions()), (4, 0));
    assert_eq!(link.ends[0].transmitter().timeout_at(), fabricsim_units::Time(50 * SLOT));
    assert!(!deliver_all(&mut link, [20, 0], 200));
    assert_eq!(link.ends[0].transmitter().retransmissions(), 4 * 4);
    link.noise[1] = Noise::Bits(0.0);
    assert!(deliver_all(&mut link, [20, 0], 100));
}

#[test]
fn without_errors_nothing_is_sent_twice() {
    let mut link = Link::new(Window::new(22, 5).unwrap(), 23, 10, [Noise::Bits(0.0); 2], 1);
    // 1000 data and the last one's way there; the acknowledgement's way back.
    assert!(deliver_all(&mut link, [1000, 1000], 1000 + 2 * 10 + 2));
    assert!(link.ends.iter().all(|end| end.transmitter().retransmissions() == 0));
}

#[test]
fn a_window_as_large_as_the_numbers_is_refused() {
    assert_eq!(Window::new(7, 3).map(Window::size), Ok(7));
    let error = Window::new(8, 3).unwrap_err();
    assert_eq!(error, WindowError::Size { size: 8, bits: 3, largest: 7 });
    assert_eq!(error.to_string(), "a window of 8 cannot be numbered with 3 bits: give 1 to 7");
    assert!(Window::new(0, 3).unwrap_err().to_string().contains("give 1 to 7"));
    assert!(Window::new(1, 10).unwrap_err().to_string().contains("give 1 to 9"));
}
