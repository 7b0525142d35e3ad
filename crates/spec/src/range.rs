//! Ranges of numbers and quantities as their fields state them, and the check that follows from them.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use fabricsim_units::{Bytes, Rate, Time};
use serde::Serialize;
use serde_json::Value;
use toml::Value as Toml;

use crate::allowed::{alternatives, schema_at};
use crate::schema::type_limit;

/// A value outside the range of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The key, as a path: `traffic.0.load`.
    pub key: String,
    /// The value as messages show it.
    pub value: String,
    /// Allowed values: "a number from 1 to 16", or the field's own words (`x-allowed`).
    pub allowed: String,
    /// Allowed values without a noun: "from 1 to 16".
    pub range: String,
    /// End of the message, if the field has its own (`x-refusal`).
    pub refusal: Option<String>,
}

impl OutOfRange {
    /// Returns the message: "17 is not allowed: give a number from 1 to 16".
    pub fn message(&self) -> String {
        let demand = self.refusal.clone().unwrap_or_else(|| format!("give {}", self.allowed));
        format!("{} is not allowed: {demand}", self.value)
    }
}

/// The first value, in the order of the schema, that is outside the range of its field. `schema` is that of
/// `T`, from [`crate::schema_of`]. The error says what TOML cannot represent.
pub fn out_of_range<T: Serialize>(schema: &Value, value: &T) -> Result<Option<OutOfRange>, String> {
    all_out_of_range(schema, value).map(|found| found.into_iter().next())
}

/// All values outside the ranges of their fields, in the order of the schema.
pub(crate) fn all_out_of_range<T: Serialize>(schema: &Value, value: &T) -> Result<Vec<OutOfRange>, String> {
    let tree = Toml::try_from(value).map_err(|error| error.to_string())?;
    let mut walk = Walk { root: schema, path: Vec::new(), found: Vec::new() };
    walk.find(schema, &tree);
    Ok(walk.found)
}

/// The range that the schema of a number or quantity states: "from 1 to 16"; `None` if it states none.
pub fn range_in_words(schema: &Value) -> Option<String> {
    let bounds = Bounds::of(schema)?;
    Some(bounds.in_words(""))
}

/// Whole numbers that the field at a key of an experiment allows (`transport.streams`); all if it states no ends.
pub fn numbers_at(key: &str) -> RangeInclusive<u64> {
    let schema = schema_at(key).unwrap_or(&Value::Null);
    let end = |name: &str, open: u64| schema[name].as_u64().unwrap_or(open);
    end("minimum", 0)..=end("maximum", u64::MAX)
}

/// A walk through a value and its schema.
struct Walk<'a> {
    root: &'a Value,
    path: Vec<String>,
    found: Vec<OutOfRange>,
}

impl Walk<'_> {
    /// Notes values outside of their ranges; true if there is one.
    fn find(&mut self, schema: &Value, value: &Toml) -> bool {
        if let Some(bounds) = Bounds::of(schema).filter(|bounds| !bounds.allow(value)) {
            self.found.push(OutOfRange {
                key: self.path.join("."),
                value: shown(value),
                allowed: bounds.in_words(noun(value)),
                range: bounds.in_words(""),
                refusal: bounds.refusal.map(str::to_owned),
            });
            return true;
        }
        let root = self.root;
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next())
            && self.find(&root["$defs"][name], value)
        {
            return true;
        }
        if alternatives(schema).any(|option| self.find(option, value)) {
            return true;
        }
        let before = self.found.len();
        match value {
            Toml::Table(table) => self.find_in_table(schema, table),
            Toml::Array(items) => {
                let below = &schema["items"];
                items.iter().enumerate().for_each(|(i, item)| self.descend(&i.to_string(), below, item));
            }
            _ => {}
        }
        self.found.len() > before
    }

    fn find_in_table(&mut self, schema: &Value, table: &toml::Table) {
        let named = schema["properties"].as_object();
        for (key, below) in named.into_iter().flatten() {
            if let Some(value) = table.get(key) {
                self.descend(key, below, value);
            }
        }
        let others = &schema["additionalProperties"];
        let unnamed = |key: &str| named.is_none_or(|named| !named.contains_key(key));
        let entries = table.iter().filter(|(key, _)| others.is_object() && unnamed(key));
        entries.for_each(|(key, value)| self.descend(key, others, value));
    }

    fn descend(&mut self, key: &str, schema: &Value, value: &Toml) {
        self.path.push(crate::overrides::quoted(key));
        self.find(schema, value);
        self.path.pop();
    }
}

/// The range of a number or of a quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    least: Option<&'a Value>,
    above: Option<&'a Value>,
    most: Option<&'a Value>,
    below: Option<&'a Value>,
    words: Option<&'a str>,
    refusal: Option<&'a str>,
}

impl<'a> Bounds<'a> {
    /// The range that a schema states; `None` if it states none. What a type of 32 or 64 bits cannot exceed is none.
    pub(crate) fn of(schema: &'a Value) -> Option<Self> {
        let of_type = schema["format"].as_str().and_then(type_limit);
        let bound = |key: &str| schema.get(key).or_else(|| schema.get(format!("x-{key}")));
        let (least, above, below) = (bound("minimum"), bound("exclusiveMinimum"), bound("exclusiveMaximum"));
        let most = bound("maximum").filter(|most| of_type.is_none() || most.as_u64() != of_type);
        let (words, refusal) = (schema["x-allowed"].as_str(), schema["x-refusal"].as_str());
        let any = [least, above, most, below].iter().any(Option::is_some);
        any.then_some(Self { least, above, most, below, words, refusal })
    }

    /// True if the value is within the range, or not of its kind.
    fn allow(&self, value: &Toml) -> bool {
        let within = |bound: Option<&Value>, allowed: fn(Ordering) -> bool| {
            bound.is_none_or(|bound| satisfies(value, bound, allowed))
        };
        value.as_float().is_none_or(f64::is_finite)
            && within(self.least, Ordering::is_ge)
            && within(self.above, Ordering::is_gt)
            && within(self.most, Ordering::is_le)
            && within(self.below, Ordering::is_lt)
    }

    /// "`noun` from 1 to 16", or the field's own words.
    pub(crate) fn in_words(&self, noun: &str) -> String {
        if let Some(words) = self.words {
            return words.to_owned();
        }
        let [least, above, most, below] =
            [self.least, self.above, self.most, self.below].map(|bound| bound.map(bound_shown));
        let range = match (least, above, most, below) {
            (Some(least), _, Some(most), _) => format!("from {least} to {most}"),
            (Some(least), _, None, Some(below)) => format!("from {least} to less than {below}"),
            (Some(least), _, None, None) => return format!("at least {least}"),
            (None, Some(above), Some(most), _) => format!("above {above} and at most {most}"),
            (None, Some(above), None, Some(below)) => format!("between {above} and {below}"),
            (None, Some(above), None, None) => format!("above {above}"),
            (None, None, Some(most), _) => return format!("at most {most}"),
            (None, None, None, Some(below)) => format!("below {below}"),
            (None, None, None, None) => String::new(),
        };
        format!("{noun} {range}").trim().to_owned()
    }

    /// True if both ends are stated, the lower one included.
    pub(crate) fn is_closed_below(&self) -> bool {
        self.words.is_some() || (self.least.is_some() && (self.most.is_some() || self.below.is_some()))
    }
}

/// True if the order of value and bound is allowed, or the two are not of one kind.
fn satisfies(value: &Toml, bound: &Value, allowed: fn(Ordering) -> bool) -> bool {
    let order = match (value, bound) {
        (Toml::Integer(value), Value::Number(bound)) => match (bound.as_i64(), bound.as_f64()) {
            (Some(bound), _) => Some(value.cmp(&bound)),
            (None, bound) => bound.and_then(|bound| (*value as f64).partial_cmp(&bound)),
        },
        (Toml::Float(value), Value::Number(bound)) => {
            bound.as_f64().and_then(|bound| value.partial_cmp(&bound))
        }
        (Toml::String(value), Value::String(bound)) => match (quantity(value), quantity(bound)) {
            (Some((kind, value)), Some((of, bound))) if kind == of => Some(value.cmp(&bound)),
            _ => return true,
        },
        _ => return true,
    };
    order.is_some_and(allowed)
}

/// Noun and size of a quantity, in its smallest unit.
fn quantity(text: &str) -> Option<(&'static str, u64)> {
    let time = text.parse().ok().map(|time: Time| ("a time", time.0));
    let bytes = || text.parse().ok().map(|bytes: Bytes| ("a size", bytes.get()));
    let rate = || text.parse().ok().map(|rate: Rate| ("a rate", rate.bits_per_second()));
    time.or_else(bytes).or_else(rate)
}

fn noun(value: &Toml) -> &'static str {
    value.as_str().and_then(quantity).map_or("a number", |(noun, _)| noun)
}

fn shown(value: &Toml) -> String {
    match value {
        Toml::Float(value) => value.to_string(),
        Toml::String(text) if quantity(text) == Some(("a time", 0)) => "0".to_owned(),
        Toml::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn bound_shown(bound: &Value) -> String {
    match bound {
        Value::String(text) if quantity(text) == Some(("a time", 0)) => "0".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;

    use super::*;

    #[derive(Default, Serialize, JsonSchema)]
    #[serde(default)]
    struct Sample {
        #[schemars(range(min = 2, max = 5))]
        whole: Option<u32>,
        #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
        part: Option<f64>,
        #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "2 us"))]
        time: Option<Time>,
        #[schemars(extend("x-minimum" = "1 B"))]
        size: Option<Bytes>,
        #[schemars(inner(range(min = 1)))]
        list: Vec<u32>,
        below: BTreeMap<String, Below>,
        kind: Option<Kind>,
        #[schemars(range(min = 1), extend("x-refusal" = "it must hold one"))]
        own_words: Option<u8>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Below {
        #[schemars(range(max = 3), extend("x-allowed" = "few"))]
        few: u8,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Kind {
        Units(#[schemars(range(max = 9))] u16),
        Table(Below),
    }

    fn refused(sample: &Sample) -> Option<String> {
        let found = out_of_range(&crate::schema_of::<Sample>(), sample).unwrap()?;
        Some(format!("{}: {}", found.key, found.message()))
    }

    #[test]
    fn values_outside_their_range_are_named_with_the_range() {
        let none = Sample::default;
        let below = |few| [("a.b".to_owned(), Below { few })].into();
        let cases = [
            (Sample { whole: Some(1), ..none() }, "whole: 1 is not allowed: give a number from 2 to 5"),
            (Sample { whole: Some(6), ..none() }, "whole: 6 is not allowed: give a number from 2 to 5"),
            (
                Sample { part: Some(0.0), ..none() },
                "part: 0 is not allowed: give a number above 0 and at most 1",
            ),
            (Sample { part: Some(1.5), ..none() }, "part: 1.5 is not allowed: give"),
            (Sample { part: Some(f64::NAN), ..none() }, "part: NaN is not allowed: give"),
            (Sample { part: Some(f64::INFINITY), ..none() }, "part: inf is not allowed: give"),
            (
                Sample { time: Some(Time::ZERO), ..none() },
                "time: 0 is not allowed: give a time above 0 and at most 2 us",
            ),
            (Sample { time: Some(Time(2_000_001)), ..none() }, "time: 2000.001 ns is not allowed: give"),
            (Sample { size: Some(Bytes(0)), ..none() }, "size: 0 B is not allowed: give at least 1 B"),
            (Sample { list: vec![1, 0], ..none() }, "list.1: 0 is not allowed: give at least 1"),
            (Sample { below: below(4), ..none() }, "below.\"a.b\".few: 4 is not allowed: give few"),
            (
                Sample { kind: Some(Kind::Units(10)), ..none() },
                "kind: 10 is not allowed: give a number from 0 to 9",
            ),
            (
                Sample { kind: Some(Kind::Table(Below { few: 4 })), ..none() },
                "kind.few: 4 is not allowed: give few",
            ),
            (Sample { own_words: Some(0), ..none() }, "own_words: 0 is not allowed: it must hold one"),
        ];
        for (sample, expected) in cases {
            let found = refused(&sample).unwrap_or_default();
            assert!(found.starts_with(expected), "{expected}: {found}");
        }
    }

    #[test]
    fn the_ends_of_a_range_are_allowed_and_absent_values_as_well() {
        assert_eq!(refused(&Sample::default()), None);
        for (whole, part, time) in [(2, 1e-300, Time(1)), (5, 1.0, Time::us(2))] {
            let (whole, part, time) = (Some(whole), Some(part), Some(time));
            let below = [("a".to_owned(), Below { few: 3 })].into();
            assert_eq!(
                refused(&Sample { whole, part, time, size: Some(Bytes(1)), below, ..Sample::default() }),
                None
            );
        }
    }

    #[test]
    fn numbers_that_a_field_allows() {
        assert_eq!(numbers_at("transport.sequence_bits"), 3..=16);
        assert_eq!(numbers_at("transport.target.reorder_cache"), 0..=32767);
        assert_eq!(numbers_at("traffic.0.window"), 1..=65536);
        assert_eq!(numbers_at("transport.nowhere"), 0..=u64::MAX);
    }

    #[test]
    fn what_toml_cannot_represent_is_an_error() {
        let sample = BTreeMap::from([("seed", u64::MAX)]);
        assert!(out_of_range(&Value::Null, &sample).unwrap_err().contains("u64"));
    }
}
