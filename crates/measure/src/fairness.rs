/// A flow starves when it gets less than this fraction of the smaller of what it offers and what flows get on average.
pub const STARVING: f64 = 0.01;

/// Minimum number of packets offered by a starving flow: fewer may just be in flight.
const SOME_PACKETS: f64 = 10.0;

/// Jain's fairness index (Jain, Chiu, Hawe 1984, DEC-TR-301): 1 when all shares are equal, 1/n when one of n has
/// everything. NaN without shares or if all are zero.
pub fn jain(shares: impl Iterator<Item = u64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0_u64, 0_u128, 0.0);
    for share in shares {
        count += 1;
        sum += u128::from(share);
        squares += share as f64 * share as f64;
    }
    (sum as f64).powi(2) / (count as f64 * squares)
}

/// True if a flow starves that got `accepted` bytes of the `offered` (NaN: unknown), where flows get `mean` bytes on
/// average in packets of `packet` bytes.
pub(crate) fn starves(accepted: u64, offered: f64, mean: f64, packet: f64) -> bool {
    let due = if offered < mean { offered } else { mean };
    let enough = offered.is_nan() || offered >= SOME_PACKETS * packet;
    enough && (accepted as f64) < STARVING * due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_and_of_unequal_shares() {
        assert_eq!(jain([5; 7].into_iter()), 1.0);
        assert_eq!(jain([9, 0, 0, 0].into_iter()), 0.25);
        // Half and two quarters: 1 / (3 * 3/8).
        assert!((jain([2, 1, 1].into_iter()) - 8.0 / 9.0).abs() < 1e-15);
        assert!(jain([].into_iter()).is_nan() && jain([0, 0].into_iter()).is_nan());
    }

    #[test]
    fn who_starves() {
        let unknown = f64::NAN;
        assert!(starves(9, unknown, 1000.0, 1.0) && !starves(10, unknown, 1000.0, 1.0));
        assert!(starves(0, 50.0, 1000.0, 5.0), "offered ten packets, got nothing");
        assert!(!starves(0, 45.0, 1000.0, 5.0), "fewer may be in flight");
        assert!(!starves(1, 50.0, 1000.0, 5.0), "offers no more");
        assert!(!starves(0, 0.0, 1000.0, 5.0), "offers nothing");
    }
}
