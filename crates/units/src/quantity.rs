//! Numbers with units, exactly: the decimal digits are scaled in integers, never through a float.

use thiserror::Error;

/// Reason why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The text has no unit, or one that the quantity does not have.
    #[error(
        "\"{text}\" is not a {kind}: write a number and a unit, one of {units} (for example \"{example}\")"
    )]
    Unit {
        /// Text that was written.
        text: String,
        /// Expected kind of quantity, as a word.
        kind: &'static str,
        /// The units that are allowed.
        units: String,
        /// A correct value.
        example: &'static str,
    },
    /// The number cannot be read, is negative, or is beyond the range.
    #[error("\"{text}\" is not a {kind}: {why} (for example \"{example}\")")]
    Number {
        /// Text that was written.
        text: String,
        /// Expected kind of quantity, as a word.
        kind: &'static str,
        /// Problem with the number.
        why: &'static str,
        /// A correct value.
        example: &'static str,
    },
}

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    /// Unit and its size in the smallest unit, as a fraction.
    pub(crate) units: &'static [(&'static str, u128, u128)],
}

/// Reads `text` as a multiple of the smallest unit of `kind`, rounded to the nearest.
pub(crate) fn parse(text: &str, kind: &Kind) -> Result<u64, QuantityError> {
    let trimmed = text.trim();
    let number_error =
        |why| QuantityError::Number { text: text.to_owned(), kind: kind.name, why, example: kind.example };
    if trimmed.starts_with('-') {
        return Err(number_error("it is negative"));
    }
    let digits =
        trimmed.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim();
    let Some(&(_, scale, divisor)) = kind.units.iter().find(|(name, ..)| *name == unit) else {
        let units = kind.units.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        return Err(QuantityError::Unit {
            text: text.to_owned(),
            kind: kind.name,
            units,
            example: kind.example,
        });
    };
    let (value, decimals) = decimal(number).ok_or_else(|| number_error("the number cannot be read"))?;
    let divisor = 10_u128.checked_pow(decimals).and_then(|p| p.checked_mul(divisor));
    let (Some(scaled), Some(divisor)) = (value.checked_mul(scale), divisor) else {
        return Err(number_error("it is out of range"));
    };
    u64::try_from((scaled + divisor / 2) / divisor).map_err(|_| number_error("it is out of range"))
}

/// `"12.50"` as (1250, 2).
fn decimal(text: &str) -> Option<(u128, u32)> {
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || plain.len() > 24 {
        return None;
    }
    let value = format!("{whole}{fraction}").parse().ok()?;
    Some((value, fraction.len() as u32))
}

/// Prints `value` in the largest unit of `units` (descending) that shows it with at most three decimals.
pub(crate) fn print(
    value: u64,
    units: &[(&'static str, u64)],
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    for &(unit, size) in units {
        if value >= size && u128::from(value) * 1000 % u128::from(size) == 0 || size == 1 {
            let whole = value / size;
            let thousandths = u128::from(value % size) * 1000 / u128::from(size);
            if thousandths == 0 {
                return write!(f, "{whole} {unit}");
            }
            let fraction = format!("{thousandths:03}");
            return write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'));
        }
    }
    write!(f, "{value}")
}

macro_rules! quantity_serde {
    ($name:ident, $example:literal, $pattern:literal) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "a number and a unit in quotes, for example \"{}\"", $example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "examples": [$example] })
            }
        }
    };
}
pub(crate) use quantity_serde;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{Bytes, Rate, Time};

    /// No text panics; a quantity that is read prints as text that reads as the same quantity.
    fn try_all(text: &str) -> Result<(), TestCaseError> {
        if let Ok(time) = text.parse::<Time>() {
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
        if let Ok(bytes) = text.parse::<Bytes>() {
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
        }
        if let Ok(rate) = text.parse::<Rate>() {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            try_all(&text)?;
        }

        #[test]
        fn no_number_panics(text in "[-+ ]?[0-9._]{0,30} ?(ps|ns|us|µs|s|min|B|kB|KiB|TiB|b/s|Gb/s|TB/s|)") {
            try_all(&text)?;
        }
    }
}
