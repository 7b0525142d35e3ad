//! Values of InfiniBand's congestion control at a source: entries of its table, and the timer of its index.

use std::fmt;

use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// An entry of the congestion control table: the delay is (packet time >> `shift`) * `multiplier`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CctEntry {
    /// 0 to 3.
    pub shift: u8,
    /// 0 to 16383.
    pub multiplier: u16,
}

/// Largest multiplier of an entry: 14 bits.
pub const LARGEST_MULTIPLIER: u16 = (1 << 14) - 1;

impl fmt::Display for CctEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shift, self.multiplier)
    }
}

impl std::str::FromStr for CctEntry {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no entry of a congestion control table: write \"shift:multiplier\", the shift 0 to 3, the \
                 multiplier 0 to {LARGEST_MULTIPLIER}, for example \"3:5\""
            )
        };
        let (shift, multiplier) = text.trim().split_once(':').ok_or_else(wrong)?;
        let shift = shift.trim().parse().ok().filter(|&shift: &u8| shift <= 3).ok_or_else(wrong)?;
        let multiplier = multiplier.trim().parse().ok().filter(|&m: &u16| m <= LARGEST_MULTIPLIER);
        Ok(Self { shift, multiplier: multiplier.ok_or_else(wrong)? })
    }
}

impl Serialize for CctEntry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CctEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for CctEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CctEntry".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^\s*[0-3]\s*:\s*[0-9]{1,5}\s*$",
            "description": "Shift and multiplier of an injection rate delay, `\"3:5\"`: (packet time >> 3) * 5.",
        })
    }
}

/// A period of the timer that decreases indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CctiTimer {
    /// In units of 1.024 us, 0 to 65535; 0: never.
    #[schemars(extend("x-unit" = "1.024 us"))]
    Units(u16),
    /// As a time, at most 65535 units.
    #[schemars(extend("x-maximum" = "67107.84 us"))]
    Time(Time),
}

impl CctiTimer {
    /// A unit of the timer.
    pub const UNIT: Time = Time::ns(1024);

    /// The period; `None`: the timer never expires.
    pub fn period(self) -> Option<Time> {
        match self {
            Self::Units(0) | Self::Time(Time::ZERO) => None,
            Self::Units(units) => Some(Self::UNIT * u64::from(units)),
            Self::Time(time) => Some(time),
        }
    }
}

// By hand, so that a wrong value is reported with its own message.
impl<'de> Deserialize<'de> for CctiTimer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimerVisitor;
        impl Visitor<'_> for TimerVisitor {
            type Value = CctiTimer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of 1.024 us from 0 to 65535, or a time like \"20 us\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CctiTimer, E> {
                text.parse().map(CctiTimer::Time).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<CctiTimer, E> {
                u16::try_from(number).map(CctiTimer::Units).map_err(|_| {
                    E::custom(format!(
                        "{number} is not allowed: give a whole number of 1.024 us from 0 to 65535, or a time like \"20 us\""
                    ))
                })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<CctiTimer, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(TimerVisitor)
    }
}
