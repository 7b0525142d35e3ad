//! Finite fields, for topologies defined over them.

/// The field of q elements, each a number below q: its digits to the base p are the coefficients of a polynomial, the lowest
/// first, modulo a primitive polynomial. For a prime q these are the numbers modulo q.
pub(super) struct Field {
    /// The prime p.
    characteristic: u32,
    /// Powers of the primitive element, from 0 to q - 2.
    powers: Vec<u32>,
    /// Exponents of the elements; that of 0 is not used.
    exponents: Vec<u32>,
}

impl Field {
    /// The field of `q` elements; `None` unless `q` is a prime power.
    pub(super) fn new(q: u32) -> Option<Self> {
        let (characteristic, degree) = prime_power(q)?;
        let powers = (1..q).find_map(|rest| powers(q, characteristic, degree, rest))?;
        let mut exponents = vec![0; q as usize];
        for (exponent, &element) in powers.iter().enumerate() {
            exponents[element as usize] = exponent as u32;
        }
        Some(Self { characteristic, powers, exponents })
    }

    /// The primitive element to the power of `exponent`.
    pub(super) fn power(&self, exponent: u32) -> u32 {
        self.powers[exponent as usize % self.powers.len()]
    }

    /// The sum of two elements.
    pub(super) fn sum(&self, a: u32, b: u32) -> u32 {
        digit_by_digit(a, b, self.characteristic)
    }

    /// The product of two elements.
    pub(super) fn product(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.exponents[a as usize] + self.exponents[b as usize])
    }
}

/// The sum of two polynomials over the numbers modulo `p`.
fn digit_by_digit(mut a: u32, mut b: u32, p: u32) -> u32 {
    let (mut sum, mut place) = (0, 1);
    while a > 0 || b > 0 {
        sum += (a % p + b % p) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    sum
}

/// The prime and the exponent of a prime power.
fn prime_power(q: u32) -> Option<(u32, u32)> {
    let prime = (2..=q).find(|p| q.is_multiple_of(*p))?;
    let mut exponent = 0;
    let mut rest = q;
    while rest.is_multiple_of(prime) {
        (rest, exponent) = (rest / prime, exponent + 1);
    }
    (rest == 1).then_some((prime, exponent))
}

/// Powers of x modulo the monic polynomial of the given degree by which x to that degree is `rest`; `None` unless they are all
/// q - 1 elements but 0: then the polynomial is primitive.
fn powers(q: u32, p: u32, degree: u32, rest: u32) -> Option<Vec<u32>> {
    let top = p.pow(degree - 1);
    let times_x = |element: u32| {
        let (carry, low) = (element / top, element % top);
        let folded = (0..carry).fold(0, |sum, _| digit_by_digit(sum, rest, p));
        digit_by_digit(low * p % q, folded, p)
    };
    let mut powers = vec![1];
    let mut next = times_x(1);
    while next != 1 {
        if next == 0 || powers.len() as u32 == q - 1 {
            return None;
        }
        powers.push(next);
        next = times_x(next);
    }
    (powers.len() as u32 == q - 1).then_some(powers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prime_powers_have_fields() {
        let fields: Vec<u32> = (0..=32).filter(|&q| Field::new(q).is_some()).collect();
        assert_eq!(fields, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]);
    }

    /// The axioms, for all elements.
    #[test]
    fn fields_are_fields() {
        for q in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27] {
            let field = Field::new(q).unwrap();
            for a in 0..q {
                assert_eq!((field.sum(a, 0), field.product(a, 1), field.product(a, 0)), (a, a, 0));
                assert!((0..q).any(|b| field.sum(a, b) == 0), "{q}: {a} has no opposite");
                assert!(a == 0 || (0..q).any(|b| field.product(a, b) == 1), "{q}: {a} has no inverse");
                for (b, c) in (0..q).flat_map(|b| (0..q).map(move |c| (b, c))) {
                    assert_eq!(field.sum(a, b), field.sum(b, a));
                    assert_eq!(field.product(a, b), field.product(b, a));
                    assert_eq!(field.sum(field.sum(a, b), c), field.sum(a, field.sum(b, c)));
                    assert_eq!(field.product(field.product(a, b), c), field.product(a, field.product(b, c)));
                    let apart = field.sum(field.product(a, b), field.product(a, c));
                    assert_eq!(field.product(a, field.sum(b, c)), apart, "{q}: {a} ({b} + {c})");
                }
            }
        }
    }
}
