//! Permutations of the bits of the host number: Dally and Towles 2004, table 3.1. `s` is the source, `d` the
//! destination, `b` the number of bits; there must be 2^b hosts. Sources may be fewer.

use fabricsim_spec::name;
use fabricsim_units::HostId;

use crate::pattern::{PatternInput, Plan, fixed};
use crate::{Problem, WorkloadError};

/// `d_i = not s_i`.
pub(super) fn complement(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let bits = bits(context, false)?;
    permute(context, |s| !s & mask(bits))
}

/// `d_i = s_(b-i-1)`.
pub(super) fn reverse(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let bits = bits(context, false)?;
    permute(context, |s| s.reverse_bits().checked_shr(32 - bits).unwrap_or(0))
}

/// `d_i = s_((i-1) mod b)`: a rotation to the left.
pub(super) fn shuffle(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let bits = bits(context, false)?;
    permute(context, |s| rotate_left(s, 1, bits))
}

/// `d_i = s_((i+b/2) mod b)`, for an even b: the halves exchanged.
pub(super) fn transpose(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let bits = bits(context, true)?;
    permute(context, |s| rotate_left(s, bits / 2, bits))
}

fn permute(context: &PatternInput, permutation: impl Fn(u32) -> u32) -> Result<Plan, WorkloadError> {
    fixed(context, |source| Ok(HostId(permutation(source.0))))
}

fn bits(context: &PatternInput, even: bool) -> Result<u32, WorkloadError> {
    let hosts = context.hosts.names.len();
    let bits = hosts.trailing_zeros();
    if !hosts.is_power_of_two() || even && bits % 2 == 1 {
        let problem = Problem::PowerOfTwo { pattern: name(&context.traffic.pattern), hosts, even };
        return Err(context.place.error("pattern", problem));
    }
    Ok(bits)
}

const fn mask(bits: u32) -> u32 {
    ((1_u64 << bits) - 1) as u32
}

const fn rotate_left(s: u32, by: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { ((s << by) | (s >> (bits - by))) & mask(bits) }
}

#[cfg(test)]
mod tests {
    use crate::testing::{destinations, hosts, refused, silent};

    /// Destinations by source; a silent source is written as its own destination.
    fn table(n: u32, pattern: &str) -> Vec<u32> {
        let fixed = destinations(&hosts(n), &format!("pattern = '{pattern}'"));
        (0..n).zip(fixed).map(|(source, destination)| destination.unwrap_or(source)).collect()
    }

    #[test]
    fn known_answers_for_8_hosts() {
        assert_eq!(table(8, "bit-complement"), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(table(8, "bit-reverse"), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(table(8, "bit-shuffle"), [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn known_answers_for_16_hosts() {
        assert_eq!(table(16, "bit-complement"), [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(table(16, "bit-reverse"), [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]);
        assert_eq!(table(16, "bit-shuffle"), [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(table(16, "transpose"), [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
    }

    #[test]
    fn fixed_points_are_silent() {
        assert_eq!(silent(&hosts(16), "pattern = 'transpose'"), [0, 5, 10, 15]);
        assert_eq!(silent(&hosts(16), "pattern = 'bit-reverse'"), [0, 6, 9, 15]);
        assert_eq!(silent(&hosts(16), "pattern = 'bit-shuffle'"), [0, 15]);
        assert!(silent(&hosts(16), "pattern = 'bit-complement'").is_empty());
    }

    #[test]
    fn the_number_of_hosts_is_checked() {
        for pattern in ["bit-complement", "bit-reverse", "bit-shuffle", "transpose"] {
            let error = refused(&hosts(12), &format!("pattern = '{pattern}'"));
            assert!(
                error.contains(&format!("traffic.0.pattern: `{pattern}` needs a number of hosts that is a"))
            );
            assert!(error.contains("not 12"));
            assert!(
                refused(&hosts(1), &format!("pattern = '{pattern}'"))
                    .contains("its only source has no destination other than itself")
            );
        }
        assert!(refused(&hosts(8), "pattern = 'transpose'").contains("with an even exponent, not 8"));
    }
}
