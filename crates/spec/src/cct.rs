//! Congestion control tables, as entries or as a rule that generates them.

use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CctEntry;

/// A congestion control table. Rules give the delay of index i in packet times; it is rounded to the nearest that an
/// entry can represent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cct {
    /// The entries, as OpenSM's `cc_cct` has them: `["0:0", "3:1", "3:2"]`.
    Entries(Vec<CctEntry>),
    /// i * `step`.
    Linear(LinearCct),
    /// i^2 * `nodes` / `divisor`^2: the form of LLNL's published tables, and by its `num_nodes` and `CCT_Div` that of the
    /// thesis.
    Quadratic(QuadraticCct),
    /// `first` * `growth`^(i - 1), and none at index 0.
    Exponential(ExponentialCct),
    /// The default of Intel's PSM2 library, 128 entries: groups of four with shifts 3, 2, 1, 0. Not in ascending order.
    Psm2,
}

impl Default for Cct {
    fn default() -> Self {
        Self::Quadratic(QuadraticCct { nodes: 50.0, divisor: 95.0, entries: ENTRIES })
    }
}

/// Default number of entries of a table.
const ENTRIES: u16 = 128;

const fn entries() -> u16 {
    ENTRIES
}

/// A table of delays i * `step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearCct {
    /// Packet times from an index to the next.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "packet times"))]
    pub step: f64,
    /// Entries, 1 to 16384.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 16384), extend("x-unit" = "entries", "x-allowed" = "1 to 16384 entries"))]
    pub entries: u16,
}

/// A table of delays i^2 * `nodes` / `divisor`^2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuadraticCct {
    /// Number of contributors that the table is designed for.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub nodes: f64,
    /// Divisor of the index.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub divisor: f64,
    /// Entries, 1 to 16384.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 16384), extend("x-unit" = "entries", "x-allowed" = "1 to 16384 entries"))]
    pub entries: u16,
}

/// A table of delays `first` * `growth`^(i - 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialCct {
    /// Delay at index 1, in packet times.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "packet times"))]
    pub first: f64,
    /// From an index to the next, above 1.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1"))]
    pub growth: f64,
    /// Entries, 1 to 16384.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 16384), extend("x-unit" = "entries", "x-allowed" = "1 to 16384 entries"))]
    pub entries: u16,
}

/// Maximum number of entries of a table: 256 blocks of 64.
pub const MOST_ENTRIES: u16 = 16_384;

impl Cct {
    /// The entries.
    pub fn table(&self) -> Vec<CctEntry> {
        match self {
            Self::Entries(entries) => entries.clone(),
            Self::Linear(rule) => made(rule.entries, |i| i * rule.step),
            Self::Quadratic(rule) => {
                made(rule.entries, |i| i * i * rule.nodes / (rule.divisor * rule.divisor))
            }
            Self::Exponential(rule) => {
                let mut next = rule.first / rule.growth;
                made(rule.entries, |i| {
                    if i == 0.0 {
                        return 0.0;
                    }
                    next *= rule.growth;
                    next
                })
            }
            Self::Psm2 => (0..ENTRIES).map(psm2).collect(),
        }
    }
}

fn made(entries: u16, mut delay: impl FnMut(f64) -> f64) -> Vec<CctEntry> {
    (0..entries).map(|i| CctEntry::nearest(delay(f64::from(i)))).collect()
}

/// PSM2 (`psm_context.c`, published with opa-psm2): entry 0 is none; then the delay grows by one after every four
/// entries, of which the first counts eighths, the second quarters, the third halves, the fourth wholes.
fn psm2(index: u16) -> CctEntry {
    match index.checked_sub(1) {
        None => CctEntry { shift: 0, multiplier: 0 },
        Some(i) => CctEntry { shift: 3 - (i % 4) as u8, multiplier: i / 4 + 1 },
    }
}

impl CctEntry {
    /// The entry whose delay comes nearest to `packet_times` packet times; with the least shift where several do.
    pub fn nearest(packet_times: f64) -> Self {
        let largest = f64::from(crate::LARGEST_MULTIPLIER);
        let entry = |shift: u8| {
            let multiplier = (packet_times * f64::from(1_u8 << shift)).round().clamp(0.0, largest);
            Self { shift, multiplier: multiplier as u16 }
        };
        let error = |entry: &Self| (entry.packet_times() - packet_times).abs();
        (1..4).map(entry).fold(entry(0), |best, next| if error(&next) < error(&best) { next } else { best })
    }

    /// The delay relative to a packet that takes `packet_time`: (packet time >> shift) * multiplier (InfiniBand
    /// Architecture Specification, A10.4.3.9). The only place that knows the rule.
    #[inline]
    pub fn of(self, packet_time: Time) -> Time {
        Time((packet_time.0 >> self.shift) * u64::from(self.multiplier))
    }

    /// The delay in packet times.
    pub fn packet_times(self) -> f64 {
        f64::from(self.multiplier) / f64::from(1_u8 << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cct: &Cct) -> Vec<String> {
        cct.table().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_become_entries() {
        let linear = Cct::Linear(LinearCct { step: 0.25, entries: 6 });
        assert_eq!(text(&linear), ["0:0", "2:1", "1:1", "2:3", "0:1", "2:5"]);
        let quadratic = Cct::Quadratic(QuadraticCct { nodes: 50.0, divisor: 95.0, entries: 128 });
        let table = quadratic.table();
        assert_eq!((table.len(), table[0].to_string().as_str()), (128, "0:0"));
        assert_eq!(table[19].packet_times(), 2.0);
        assert!((table[127].packet_times() - 89.36).abs() < 0.0625);
        let exponential = Cct::Exponential(ExponentialCct { first: 0.5, growth: 2.0, entries: 5 });
        assert_eq!(text(&exponential), ["0:0", "1:1", "0:1", "0:2", "0:4"]);
        assert_eq!(
            text(&Cct::Psm2)[..10],
            ["0:0", "3:1", "2:1", "1:1", "0:1", "3:2", "2:2", "1:2", "0:2", "3:3"]
        );
    }

    #[test]
    fn delays_beyond_the_range_are_the_largest() {
        assert_eq!(CctEntry::nearest(1e9).to_string(), "0:16383");
        assert_eq!(CctEntry::nearest(0.05).to_string(), "0:0");
        assert_eq!(CctEntry::nearest(0.1).to_string(), "3:1");
    }
}
