//! The points of a sweep.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Points to run by `fabricsim sweep`: every combination of what the grid, `zip`, `list` and `random` give.
///
/// A key is one of the experiment as `--set` takes it, in quotes: `"traffic.0.load" = [0.1, 0.4]` directly in `[sweep]`
/// is one axis of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    /// Keys that vary together: the n-th point takes the n-th value of each. All have as many values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zip: BTreeMap<String, Vec<Value>>,
    /// Points spelled out: a table of keys and values for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<BTreeMap<String, Value>>,
    /// Points drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<RandomPoints>,
    /// Key of the experiment to list of values: every combination is a point.
    #[serde(flatten)]
    pub grid: BTreeMap<String, Vec<Value>>,
}

/// Points drawn at random. The same seed draws the same points, on every machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomPoints {
    /// Number of points.
    #[schemars(range(min = 1), extend("x-unit" = "points"))]
    pub samples: u32,
    /// Seed of the drawn points, independent of the experiment's own `seed`.
    #[serde(default)]
    #[schemars(extend("x-unit" = "1"))]
    pub seed: u64,
    /// Distribution of points.
    #[serde(default)]
    pub method: Sampling,
    /// Values that are drawn for each key: a range, or a list of choices.
    pub keys: BTreeMap<String, Drawn>,
}

/// Distribution of random points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each value for itself.
    #[default]
    Independent,
    /// Each range is cut into as many parts as there are points, and each part is met once (McKay, Beckman & Conover 1979).
    LatinHypercube,
}

/// Values that are drawn for a key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Drawn {
    /// One of these values, each as likely as the others.
    Choices(Vec<Value>),
    /// A value between two others.
    Range(Range),
}

/// A range of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Least value: a number, or a text with a unit.
    pub low: Value,
    /// Greatest value, of the same kind.
    pub high: Value,
    /// Quantity that is uniform: the value, or its logarithm.
    #[serde(default)]
    pub scale: Scale,
    /// Whole numbers only, of the unit of `low` if it has one.
    #[serde(default)]
    pub integer: bool,
}

/// Quantity that is uniform over a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The value.
    #[default]
    Linear,
    /// Its logarithm.
    Log,
}

// Written by hand: a derived reader of flattened or untagged values loses its position, so errors could not name the key.
impl<'de> Deserialize<'de> for Sweep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Sweep;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of keys and lists of their values")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Sweep, M::Error> {
                let mut sweep = Sweep::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "zip" => sweep.zip = map.next_value()?,
                        "list" => sweep.list = map.next_value()?,
                        "random" => sweep.random = Some(map.next_value()?),
                        _ => drop(sweep.grid.insert(key, map.next_value::<Values>()?.0)),
                    }
                }
                Ok(sweep)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A list of values, with a message of its own for keys that were written without quotes and so became tables.
struct Values(Vec<Value>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(values) => Ok(Self(values)),
            Value::Object(_) => Err(D::Error::custom(
                "expected a list of values, found a table: put the whole key in quotes, as in \
                 \"traffic.0.load\" = [0.1, 0.4]",
            )),
            _ => Err(D::Error::custom("expected a list of values, as in [0.1, 0.4]")),
        }
    }
}

impl<'de> Deserialize<'de> for Drawn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(values) => Ok(Self::Choices(values)),
            table @ Value::Object(_) => Range::deserialize(table).map(Self::Range).map_err(D::Error::custom),
            _ => {
                Err(D::Error::custom("expected a range like { low = 0.1, high = 0.9 }, or a list of choices"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
[topology.ring]
switches = 4

[run]
duration = "1 ms"

"#;

    fn read(sweep: &str) -> Result<Sweep, String> {
        let text = format!("{SMALL}{sweep}");
        crate::read(&text, "e.toml", &[]).map(|e| e.sweep).map_err(|e| e.to_string())
    }

    #[test]
    fn every_way_is_read() {
        let text = r#"
[sweep]
"seed" = [1, 2]
[sweep.zip]
"host.mtu" = ["1 KiB", "2 KiB"]
"links.all.latency" = ["1 ns", "2 ns"]
[[sweep.list]]
"title" = "a"
[[sweep.list]]
"title" = "b"
[sweep.random]
samples = 3
method = "latin-hypercube"
[sweep.random.keys]
"traffic.0.load" = { low = 0.1, high = 0.9, scale = "log" }
"switch.arbiter" = ["oldest-first", "random"]
"#;
        let sweep = read(text).unwrap();
        assert_eq!(sweep.grid.keys().collect::<Vec<_>>(), ["seed"]);
        assert_eq!(sweep.zip.len(), 2);
        assert_eq!(sweep.list.len(), 2);
        let random = sweep.random.clone().unwrap();
        assert_eq!((random.samples, random.seed, random.method), (3, 0, Sampling::LatinHypercube));
        assert!(
            matches!(&random.keys["traffic.0.load"], Drawn::Range(r) if r.scale == Scale::Log && !r.integer)
        );
        assert!(matches!(&random.keys["switch.arbiter"], Drawn::Choices(c) if c.len() == 2));
        let again: Sweep = serde_json::from_value(serde_json::to_value(&sweep).unwrap()).unwrap();
        assert_eq!(again, sweep);
        assert_eq!(serde_json::to_value(Sweep::default()).unwrap(), serde_json::json!({}));
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        let cases = [
            ("[sweep]\nseed = 3", "e.toml:9: sweep.seed: expected a list of values"),
            (
                "[sweep]\ntraffic.0.load = [0.1]",
                "sweep.traffic: expected a list of values, found a table: put",
            ),
            ("[sweep.zip]\nseed = 3", "e.toml:9: sweep.zip.seed: expected a list"),
            ("[sweep.random]\nsample = 3", "did you mean `samples`?"),
            ("[sweep.random]\nsamples = -1\nkeys = {}", "sweep.random.samples: expected a whole number"),
            ("[sweep.random]\nsamples = 1\n[sweep.random.keys]\nseed = 5", "expected a range like"),
            (
                "[sweep.random]\nsamples = 1\n[sweep.random.keys]\nseed = { low = 1, hihg = 2 }",
                "sweep.random.keys.seed: unknown field `hihg`, expected one of `low`, `high`, `scale`, `integer`; \
                 did you mean `high`?",
            ),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
