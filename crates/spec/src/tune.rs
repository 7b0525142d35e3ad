use std::collections::BTreeMap;
use std::fmt;

use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Objectives and parameters of `fabricsim tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// Parameters that may be changed: key of the experiment to its range or choices.
    pub parameters: BTreeMap<String, TuneParameter>,
    /// Objectives. Those with a `weight` are summed up to one objective; each of the others is one of its own, and
    /// with several objectives the result is a Pareto front.
    pub objectives: Vec<TuneObjective>,
    /// Constraints that must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<TuneConstraint>,
    /// Additional metrics that are recorded and do not affect the choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<TuneReport>,
    /// Variants of the experiment that one setting has to serve; by default the experiment as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<TuneScenario>,
    /// Seeds of the runs: each scenario runs with each of them. By default the experiment's own seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-unit" = "1"))]
    pub seeds: Vec<u64>,
    /// Combination of a metric over several runs.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Choice of the next setting.
    #[serde(default)]
    pub sampler: Sampler,
    /// The seed of the sampler.
    #[serde(default = "one")]
    #[schemars(extend("x-unit" = "1"))]
    pub sampler_seed: u64,
    /// Maximum number of settings to try.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1_000_000), extend("x-unit" = "settings"))]
    pub trials: u32,
    /// Settings in progress at once. A setting is chosen by the results of those before the last `window - 1`, so
    /// that the result does not depend on the number of processes or the order in which they finish.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 4096), extend("x-unit" = "settings"))]
    pub window: u32,
    /// Settings to try first. The sampler chooses the parameters that a setting leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<BTreeMap<String, serde_json::Value>>,
    /// Seeds, none of them among `seeds`, with which the best setting and the experiment as it is run at the end, in
    /// each scenario; 0: none.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 10_000), extend("x-unit" = "seeds"))]
    pub fresh_seeds: u32,
    /// Level of the confidence intervals of their results.
    #[serde(default = "usual_confidence")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0, "x-unit" = "1"))]
    pub confidence: f64,
}

const fn one() -> u64 {
    1
}
const fn eight() -> u32 {
    8
}
const fn ten() -> u32 {
    10
}
const fn hundred() -> u32 {
    100
}
const fn usual_confidence() -> f64 {
    0.95
}

/// Combination of a metric over several runs, of several scenarios or seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// Their mean.
    #[default]
    Mean,
    /// The worst of them: the smallest of what is maximised or has a lower bound, else the largest.
    Worst,
}

/// Choice of the next setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// `tpe` for one objective, `nsga-ii` for several.
    #[default]
    Auto,
    /// Tree-structured Parzen estimator (Bergstra et al. 2011).
    Tpe,
    /// The genetic algorithm NSGA-II (Deb et al. 2002).
    #[serde(rename = "nsga-ii")]
    NsgaIi,
    /// Anywhere, with equal probability.
    Random,
    /// Every combination, in order; ranges need a step or whole numbers.
    Grid,
}

/// The values of a parameter: `low` and `high`, or `choices`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TuneParameter {
    /// Lowest value, included: a number, or one with a unit (`"20 us"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<RangeEnd>,
    /// Highest value, included. Two whole numbers make a range of whole numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<RangeEnd>,
    /// Division of the range.
    pub scale: RangeScale,
    /// Only whole numbers; with a unit, whole numbers of the unit of `low`.
    pub integer: bool,
    /// Distance between neighbouring values, from `low` on; for the linear scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<RangeEnd>,
    /// The values, where they are not a range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<serde_json::Value>,
}

/// Division of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RangeScale {
    /// Equal differences count the same.
    #[default]
    Linear,
    /// Equal ratios count the same.
    Log,
}

/// The end of a range.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RangeEnd {
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A number with a unit.
    Quantity(String),
}

// Written by hand, so that any other value is reported in words.
impl<'de> Deserialize<'de> for RangeEnd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EndVisitor;
        impl Visitor<'_> for EndVisitor {
            type Value = RangeEnd;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a number with a unit in quotes, for example \"20 us\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<RangeEnd, E> {
                Ok(RangeEnd::Whole(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<RangeEnd, E> {
                i64::try_from(value).map(RangeEnd::Whole).map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<RangeEnd, E> {
                Ok(RangeEnd::Real(value))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RangeEnd, E> {
                Ok(RangeEnd::Quantity(text.to_owned()))
            }
        }
        deserializer.deserialize_any(EndVisitor)
    }
}

/// Objective for a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneObjective {
    /// A metric (see the guide to tuning), or a scalar of the summary by its dotted name (`latency_ns.p99`).
    pub metric: String,
    /// Better direction.
    pub goal: Goal,
    /// Sums this objective up with the others that have a weight: the metric times its weight, counted negative where
    /// it is minimised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "1", "x-allowed" = "a number above 0; `goal` says which way is better"))]
    pub weight: Option<f64>,
    /// A name for tables; by default that of the metric.
    #[serde(default)]
    pub name: String,
    /// Flows: `"source->destination"` with names, patterns with `*` or groups on either side, or the name of an
    /// entry of `traffic`; by default all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// For metrics over time: from here on; by default from the start of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Time>,
    /// For metrics over time: until here; by default the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Time>,
    /// For fairness and oscillation: the subjects that are compared, or that vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Grouping>,
}

/// Constraint on a metric: give `at_least`, `at_most`, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneConstraint {
    /// See [`TuneObjective::metric`].
    pub metric: String,
    /// Lower bound of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "that of the metric"))]
    pub at_least: Option<f64>,
    /// Upper bound of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "that of the metric"))]
    pub at_most: Option<f64>,
    /// A name for tables; by default that of the metric.
    #[serde(default)]
    pub name: String,
    /// See [`TuneObjective::flows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// See [`TuneObjective::after`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Time>,
    /// See [`TuneObjective::before`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Time>,
    /// See [`TuneObjective::by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Grouping>,
}

/// A metric that is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneReport {
    /// See [`TuneObjective::metric`].
    pub metric: String,
    /// A name for tables; by default that of the metric.
    #[serde(default)]
    pub name: String,
    /// See [`TuneObjective::flows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// See [`TuneObjective::after`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Time>,
    /// See [`TuneObjective::before`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Time>,
    /// See [`TuneObjective::by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Grouping>,
}

/// Better direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// More.
    Maximize,
    /// Less.
    Minimize,
}

/// Subjects that a metric compares, or follows over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    /// Every flow.
    Flow,
    /// The mean flow of each entry of `flows`.
    Group,
    /// All flows together.
    Total,
}

/// A variant of the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneScenario {
    /// A name for tables.
    pub name: String,
    /// Values to replace: key of the experiment to value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, serde_json::Value>,
}
