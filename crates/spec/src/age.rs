//! Parameters of age-based arbitration: the registers of the Cray XT router (Abts & Weisser, SC07, section 2).

use std::collections::BTreeMap;
use std::fmt;

use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Aging of packets, for `switch.arbiter = "age-based"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Age {
    /// A cycle of the router's clock.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 us"))]
    pub cycle: Time,
    /// AGE_CLOCK_PERIOD: cycles in which a waiting packet ages by one, 0 to 4294967295; 0 stands for 4294967296.
    #[schemars(extend("x-unit" = "cycles"))]
    pub period: u32,
    /// Start of the routers' age clocks.
    pub phase: AgePhase,
    /// REQ_AGE_BIAS: added to the age of a packet on the lanes of the first half of the service classes (on any, with one class)
    /// as it arrives, by the link that it arrives on.
    pub bias: Bias,
    /// RSP_AGE_BIAS: the same for packets on the other lanes; by default `bias`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bias: Option<Bias>,
    /// AGE_RR_SELECT: 64 bits, the n-th for the n-th of every 64 grants of an output: 1 chooses by age, 0 in turn (round
    /// robin). By default all are 1.
    pub rr_select: RrSelect,
}

impl Default for Age {
    fn default() -> Self {
        Self {
            cycle: Time::ns(2),
            period: 0x1000,
            phase: AgePhase::default(),
            bias: Bias::default(),
            response_bias: None,
            rr_select: RrSelect::default(),
        }
    }
}

/// Start of the routers' age clocks; the paper does not state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgePhase {
    /// At the start of the run: all tick at the same times and have the same timestamp.
    #[default]
    Common,
    /// Each at its own time before the run, drawn from the seed: it ticks at any cycle of its period, with any timestamp and
    /// epoch.
    Random,
}

/// Age bias of input ports, 0 to 7: of all, then of classes of links, then of single links; the more specific wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bias {
    /// All ports.
    #[schemars(with = "AgeBias")]
    pub all: u8,
    /// Ports that lead to hosts (the processor port).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AgeBias>")]
    pub hosts: Option<u8>,
    /// Ports along a dimension of a grid or hypercube: `"0"`, `"1"`, ... or `"x"`, `"y"`, `"z"`.
    #[schemars(with = "BTreeMap<String, AgeBias>")]
    pub dimension: BTreeMap<String, u8>,
    /// Ports between two levels of a fat tree: `"1"` joins level 1 (leaf switches) and level 2.
    #[schemars(with = "BTreeMap<String, AgeBias>")]
    pub level: BTreeMap<String, u8>,
    /// Both ends of single links by the names of their ends: `"S(0,0)-S(1,0)"`. Either order.
    #[schemars(with = "BTreeMap<String, AgeBias>")]
    pub named: BTreeMap<String, u8>,
}

impl Default for Bias {
    fn default() -> Self {
        Self {
            all: 1,
            hosts: None,
            dimension: BTreeMap::new(),
            level: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }
}

/// The schema of an age bias: three bits of PORT_CONFIG (procedure 1).
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
struct AgeBias(
    #[schemars(
        range(max = 7),
        extend("x-unit" = "1", "x-refusal" = "an age bias has three bits, 0 to 7")
    )]
    u8,
);

/// The 64 bits of AGE_RR_SELECT, as a whole number or as a text like `"0x00000000ffffffff"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct RrSelect(pub u64);

impl Default for RrSelect {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl Serialize for RrSelect {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:#018x}", self.0))
    }
}

impl<'de> Deserialize<'de> for RrSelect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bits;
        impl Visitor<'_> for Bits {
            type Value = RrSelect;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 bits as a text of hexadecimal digits, for example \"0x00000000ffffffff\"")
            }
            fn visit_i64<E: de::Error>(self, bits: i64) -> Result<RrSelect, E> {
                u64::try_from(bits)
                    .map(RrSelect)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bits), &self))
            }
            fn visit_u64<E: de::Error>(self, bits: u64) -> Result<RrSelect, E> {
                Ok(RrSelect(bits))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RrSelect, E> {
                let digits = text.strip_prefix("0x").unwrap_or("");
                u64::from_str_radix(digits, 16)
                    .map(RrSelect)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(text: &str) -> Result<Age, String> {
        toml::from_str(text).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn the_defaults_are_the_routers() {
        let age = age("").unwrap();
        assert_eq!((age.cycle, age.period, age.bias.all, age.rr_select.0), (Time::ns(2), 4096, 1, u64::MAX));
    }

    #[test]
    fn the_select_register_is_read_and_written() {
        for (text, bits) in [("'0xffffffffffffffff'", u64::MAX), ("'0x0f'", 15), ("3", 3)] {
            assert_eq!(age(&format!("rr_select = {text}")).unwrap().rr_select.0, bits);
        }
        for text in ["'0x10000000000000000'", "'12'", "-1", "'0x'", "true"] {
            let error = age(&format!("rr_select = {text}")).unwrap_err();
            assert!(error.contains("expected 64 bits as a text of hexadecimal digits"), "{error}");
        }
        let written = toml::to_string(&Age { rr_select: RrSelect(255), ..Age::default() }).unwrap();
        assert!(written.contains("rr_select = \"0x00000000000000ff\""), "{written}");
    }
}
