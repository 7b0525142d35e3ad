//! Errors in a `[tune]` section by itself. Only a run can decide whether its keys and metrics exist.

use std::collections::BTreeSet;

use fabricsim_units::{Bytes, Rate, Time};

use super::Found;
use crate::overrides::quoted;
use crate::{Grouping, RangeEnd, RangeScale, Sampler, Tune, TuneConstraint, TuneObjective, TuneParameter};

pub(super) fn check(tune: &Tune) -> Result<(), Found> {
    numbers(tune)?;
    if tune.parameters.is_empty() {
        return at(
            "tune.parameters",
            "at least one parameter is required: name the keys that may be changed",
        );
    }
    for (key, parameter) in &tune.parameters {
        let found = self::parameter(parameter).and_then(|()| countable(parameter, tune.sampler));
        found.map_err(|(part, message)| (format!("tune.parameters.{}{part}", quoted(key)), message))?;
    }
    if tune.objectives.is_empty() {
        return at("tune.objectives", "at least one objective is required: name a metric");
    }
    for (number, objective) in tune.objectives.iter().enumerate() {
        self::objective(objective)
            .map_err(|(part, message)| (format!("tune.objectives.{number}.{part}"), message))?;
    }
    for (number, constraint) in tune.constraints.iter().enumerate() {
        self::constraint(constraint)
            .map_err(|(part, message)| (format!("tune.constraints.{number}{part}"), message))?;
    }
    for (number, report) in tune.report.iter().enumerate() {
        window(report.after, report.before)
            .and_then(|()| group(report.by, &report.flows))
            .map_err(|(part, message)| (format!("tune.report.{number}.{part}"), message))?;
    }
    names(tune)?;
    starts(tune)
}

fn numbers(tune: &Tune) -> Result<(), Found> {
    if tune.fresh_seeds == 1 {
        return at(
            "tune.fresh_seeds",
            "1 is not allowed: a confidence interval needs 2 seeds or more; 0 for none",
        );
    }
    let mut seen = BTreeSet::new();
    match tune.seeds.iter().find(|&seed| !seen.insert(seed)) {
        Some(seed) => at("tune.seeds", format!("duplicate seed {seed}: runs with equal seeds are identical")),
        None => Ok(()),
    }
}

/// Scenarios are distinguished by their names.
fn names(tune: &Tune) -> Result<(), Found> {
    let mut seen = BTreeSet::new();
    for (number, scenario) in tune.scenarios.iter().enumerate() {
        if scenario.name.is_empty() || !seen.insert(&scenario.name) {
            let message =
                format!("\"{}\" is not allowed: give each scenario a name of its own", scenario.name);
            return at(format!("tune.scenarios.{number}.name"), message);
        }
        if let Some(key) = scenario.set.keys().find(|key| tune.parameters.contains_key(*key)) {
            let message = "this is a parameter: a scenario cannot set it";
            return at(format!("tune.scenarios.{number}.set.{}", quoted(key)), message);
        }
    }
    Ok(())
}

fn starts(tune: &Tune) -> Result<(), Found> {
    for (number, start) in tune.starts.iter().enumerate() {
        if let Some(key) = start.keys().find(|key| !tune.parameters.contains_key(*key)) {
            let known = tune.parameters.keys().map(String::as_str);
            let hint = fabricsim_units::nearest(key, known).map(|name| format!("; did you mean `{name}`?"));
            let message = format!("this is not one of the parameters{}", hint.unwrap_or_default());
            return at(format!("tune.starts.{number}.{}", quoted(key)), message);
        }
    }
    Ok(())
}

fn parameter(parameter: &TuneParameter) -> Result<(), Found> {
    let TuneParameter { low, high, scale, integer, step, choices } = parameter;
    match (low, high) {
        (None, None) if !choices.is_empty() => {
            let range = [*scale != RangeScale::default(), *integer, step.is_some()];
            let message = "`scale`, `integer` and `step` are for ranges; `choices` has none";
            return if range.contains(&true) { at("", message) } else { Ok(()) };
        }
        (Some(low), Some(high)) if choices.is_empty() => range(low, high)?,
        (None, None) => return at("", "give `low` and `high`, or `choices` with one value or more"),
        (Some(_), Some(_)) => return at("", "give `low` and `high`, or `choices`, not both"),
        _ => return at("", "give both `low` and `high`"),
    }
    let low = low.as_ref().map_or(0.0, |end| measure(end).map_or(0.0, |(_, size)| size));
    if *scale == RangeScale::Log && low <= 0.0 {
        return at(".low", "a logarithmic scale needs a lowest value above 0");
    }
    step.as_ref().map_or(Ok(()), |step| self::step(step, parameter))
}

fn range(low: &RangeEnd, high: &RangeEnd) -> Result<(), Found> {
    let (low_kind, low_size) = measure(low).map_err(|message| (".low".to_owned(), message))?;
    let (high_kind, high_size) = measure(high).map_err(|message| (".high".to_owned(), message))?;
    if low_kind != high_kind {
        return at(".high", format!("{} is {high_kind}, but `low` is {low_kind}", shown(high)));
    }
    if low_size >= high_size {
        return at("", format!("the range is empty: {} is not below {}", shown(low), shown(high)));
    }
    Ok(())
}

fn step(step: &RangeEnd, parameter: &TuneParameter) -> Result<(), Found> {
    let (kind, size) = measure(step).map_err(|message| (".step".to_owned(), message))?;
    let ends = [&parameter.low, &parameter.high].map(|end| end.as_ref().and_then(|end| measure(end).ok()));
    let [Some((range_kind, low)), Some((_, high))] = ends else { return Ok(()) };
    if kind != range_kind {
        return at(".step", format!("{} is {kind}, but the range is of {range_kind}", shown(step)));
    }
    if parameter.scale == RangeScale::Log {
        return at(".step", "a logarithmic scale has no step");
    }
    if !(size > 0.0 && size <= high - low) {
        return at(".step", format!("{} does not fit between 0 and the length of the range", shown(step)));
    }
    let whole = parameter.integer || matches!(parameter.low, Some(RangeEnd::Whole(_)));
    if whole && matches!(step, RangeEnd::Real(_)) {
        return at(".step", "whole numbers need a step that is one");
    }
    Ok(())
}

/// A grid needs ranges of countable values.
fn countable(parameter: &TuneParameter, sampler: Sampler) -> Result<(), Found> {
    let TuneParameter { low, high, integer, step, choices, .. } = parameter;
    let whole = *integer || matches!((low, high), (Some(RangeEnd::Whole(_)), Some(RangeEnd::Whole(_))));
    if sampler == Sampler::Grid && choices.is_empty() && step.is_none() && !whole {
        return at("", "the grid needs a `step` here, or whole numbers");
    }
    Ok(())
}

/// Returns the kind of this number, in words, and its size in the smallest unit of the kind.
fn measure(end: &RangeEnd) -> Result<(&'static str, f64), String> {
    let text = match end {
        RangeEnd::Whole(value) => return Ok(("a number", *value as f64)),
        RangeEnd::Real(value) if value.is_finite() => return Ok(("a number", *value)),
        RangeEnd::Real(value) => return Err(format!("{value} is not allowed")),
        RangeEnd::Quantity(text) => text,
    };
    if let Ok(time) = text.parse::<Time>() {
        return Ok(("a time", time.0 as f64));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Ok(("a data size", bytes.get() as f64));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Ok(("a rate", rate.bits_per_second() as f64));
    }
    Err(format!(
        "\"{text}\" is neither a time (\"20 us\"), nor a data size (\"64 KiB\"), nor a rate (\"8 Gb/s\")"
    ))
}

fn shown(end: &RangeEnd) -> String {
    match end {
        RangeEnd::Whole(value) => value.to_string(),
        RangeEnd::Real(value) => value.to_string(),
        RangeEnd::Quantity(text) => format!("\"{text}\""),
    }
}

fn objective(objective: &TuneObjective) -> Result<(), Found> {
    window(objective.after, objective.before)?;
    group(objective.by, &objective.flows)
}

fn constraint(constraint: &TuneConstraint) -> Result<(), Found> {
    let TuneConstraint { at_least, at_most, .. } = constraint;
    match (at_least, at_most) {
        (None, None) => return at("", "give `at_least`, `at_most`, or both"),
        (Some(least), Some(most)) if least > most => {
            return at(".at_most", format!("nothing is at least {least} and at most {most}"));
        }
        _ => {}
    }
    if at_least.iter().chain(at_most).any(|value| !value.is_finite()) {
        return at("", "limits must be finite numbers");
    }
    let dotted = |(part, message): Found| (format!(".{part}"), message);
    window(constraint.after, constraint.before).map_err(dotted)?;
    group(constraint.by, &constraint.flows).map_err(dotted)
}

fn window(after: Option<Time>, before: Option<Time>) -> Result<(), Found> {
    match (after, before) {
        (Some(after), Some(before)) if after >= before => {
            at("before", format!("{before} is not later than {after}"))
        }
        _ => Ok(()),
    }
}

fn group(by: Option<Grouping>, flows: &[String]) -> Result<(), Found> {
    if by == Some(Grouping::Group) && flows.len() < 2 {
        return at("by", "`group` needs two entries of `flows` or more: each is a group");
    }
    Ok(())
}

fn at<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Found> {
    Err((key.into(), message.into()))
}

#[cfg(test)]
mod tests {
    const EXPERIMENT: &str = "
[topology.mesh]
dimensions = [3, 3]
[run]
duration = '1 ms'
[tune.parameters]
'links.all.buffer' = { low = '4 KiB', high = '64 KiB' }
[[tune.objectives]]
metric = 'throughput'
goal = 'maximize'
";

    fn checked(key: &str, value: &str) -> Result<(), String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let read = crate::read(EXPERIMENT, "e.toml", &overrides).map_err(|e| e.to_string())?;
        crate::check(&read, "e.toml").map_err(|e| e.located(EXPERIMENT, &overrides).to_string())
    }

    fn parameter(value: &str) -> Result<(), String> {
        checked("tune.parameters.x", value)
    }

    #[test]
    fn what_can_be_tuned() {
        for value in [
            "{ low = 1, high = 15 }",
            "{ low = 0.1, high = 1.0, step = 0.1 }",
            "{ low = 1, high = 1000, scale = 'log' }",
            "{ low = '20 us', high = '1 ms', integer = true, step = '2 us' }",
            "{ low = '8 Gb/s', high = '32 Gb/s', step = '8 Gb/s' }",
            "{ choices = ['a', 1, true, { linear = {} }] }",
        ] {
            assert_eq!(parameter(value), Ok(()), "{value}");
        }
        assert_eq!(checked("tune.fresh_seeds", "0"), Ok(()));
        assert_eq!(checked("tune.seeds", "[1, 2, 3]"), Ok(()));
    }

    #[test]
    fn parameters_that_make_no_sense() {
        let cases = [
            ("{}", "tune.parameters.x: give `low` and `high`, or `choices`"),
            ("{ low = 1 }", "tune.parameters.x: give both `low` and `high`"),
            ("{ low = 1, high = 2, choices = [1] }", "not both"),
            ("{ choices = [1], integer = true }", "`choices` has none"),
            ("{ low = 3, high = 3 }", "tune.parameters.x: the range is empty: 3 is not below 3"),
            ("{ low = '1 ms', high = '20 us' }", "the range is empty: \"1 ms\" is not below \"20 us\""),
            ("{ low = '1 ms', high = '20 KiB' }", "x.high: \"20 KiB\" is a data size, but `low` is a time"),
            ("{ low = '1 mss', high = '20 us' }", "x.low: \"1 mss\" is neither a time"),
            ("{ low = 0, high = 9, scale = 'log' }", "x.low: a logarithmic scale needs"),
            ("{ low = 1, high = 9, scale = 'log', step = 2 }", "x.step: a logarithmic scale has no step"),
            ("{ low = 1, high = 9, step = 9 }", "x.step: 9 does not fit"),
            ("{ low = 1, high = 9, step = 0.5 }", "x.step: whole numbers need a step"),
            ("{ low = 1.0, high = nan }", "x.high: NaN is not allowed"),
            ("{ low = [1], high = 2 }", "a number, or a number with a unit in quotes"),
            ("{ lo = 1, high = 2 }", "unknown field `lo`"),
        ];
        for (value, expected) in cases {
            let error = parameter(value).unwrap_err();
            assert!(error.starts_with("e.toml: ") && error.contains(expected), "{value}: {error}");
        }
    }

    #[test]
    fn studies_that_make_no_sense() {
        let cases = [
            ("tune.parameters", "{}", "tune.parameters: at least one parameter is required"),
            ("tune.objectives", "[]", "tune.objectives: at least one objective is required"),
            ("tune.trials", "0", "tune.trials: 0 is not allowed: give a number from 1"),
            ("tune.window", "0", "tune.window: 0 is not allowed"),
            ("tune.fresh_seeds", "1", "needs 2 seeds or more"),
            ("tune.confidence", "1.0", "between 0 and 1"),
            ("tune.seeds", "[4, 4]", "tune.seeds: duplicate seed 4"),
            ("tune.sampler", "tpee", "tune.sampler: unknown variant `tpee`"),
            ("tune.sampler", "tpee", "did you mean `tpe`?"),
            ("tune.sampler", "grid", "tune.parameters.\"links.all.buffer\": the grid needs a `step`"),
            (
                "tune.objectives.0.weight",
                "-1.0",
                "tune.objectives.0.weight: -1 is not allowed: give a number above 0",
            ),
            ("tune.objectives.0.by", "group", "tune.objectives.0.by: `group` needs two entries"),
            ("tune.constraints", "[{ metric = 'jain' }]", "tune.constraints.0: give `at_least`, `at_most`"),
            (
                "tune.constraints",
                "[{ metric = 'jain', at_least = 2.0, at_most = 1.0 }]",
                "tune.constraints.0.at_most: nothing is at least 2 and at most 1",
            ),
            (
                "tune.constraints",
                "[{ metric = 'jain', at_least = 1.0, after = '2 ms', before = '1 ms' }]",
                "tune.constraints.0.before: 1 ms is not later than 2 ms",
            ),
            ("tune.scenarios", "[{ name = 'a' }, { name = 'a' }]", "tune.scenarios.1.name: \"a\" is not"),
            (
                "tune.scenarios",
                "[{ name = 'a', set = { 'links.all.buffer' = '1 KiB' } }]",
                "tune.scenarios.0.set.\"links.all.buffer\": this is a parameter",
            ),
            ("tune.starts", "[{ 'links.all.bufer' = '8 KiB' }]", "did you mean `links.all.buffer`?"),
        ];
        for (key, value, expected) in cases {
            let error = checked(key, value).unwrap_err();
            assert!(error.starts_with("e.toml:") && error.contains(expected), "{key}: {error}");
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let text = EXPERIMENT.replace("'64 KiB'", "'4 KiB'");
        let error = crate::check(&crate::read(&text, "e.toml", &[]).unwrap(), "e.toml").unwrap_err();
        let told = error.located(&text, &[]).to_string();
        assert!(
            told.starts_with("e.toml:7: tune.parameters.\"links.all.buffer\": the range is empty"),
            "{told}"
        );
    }
}
