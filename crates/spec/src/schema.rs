//! The JSON Schema of experiment files, completed by what attributes of fields cannot say.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::Experiment;

/// Keys of a schema that a key with the text "See ..." has in common with the one that it names.
const INHERITED: [&str; 11] = [
    "description",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "x-minimum",
    "x-maximum",
    "x-exclusiveMinimum",
    "x-unit",
    "x-allowed",
    "x-refusal",
];

/// The JSON Schema of an experiment file (draft 2020-12), for editors that complete and check. Besides the standard
/// keywords it has `x-unit`, the unit of a number ("1": none); `x-minimum`, `x-maximum` and `x-exclusiveMinimum`, the
/// range of a quantity with a unit; `x-allowed`, allowed values in words; `x-refusal`, the end of the message for others.
pub fn json_schema() -> Value {
    schema_of::<Experiment>()
}

/// The schema of a type, with the keywords of [`json_schema`].
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    let definitions = schema["$defs"].clone();
    complete(&mut schema, &definitions);
    schema
}

fn complete(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Object(keys) => {
            inherit(keys, definitions);
            limit(keys);
            keys.values_mut().for_each(|value| complete(value, definitions));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| complete(item, definitions)),
        _ => {}
    }
}

/// Replaces the text "See [`Type::field`]." by the text, range and unit of that field.
fn inherit(keys: &mut Map<String, Value>, definitions: &Value) {
    let Some(text) = keys.get("description").and_then(Value::as_str) else { return };
    let named = text.strip_prefix("See [`").and_then(|rest| rest.strip_suffix("`]."));
    let Some((of, field)) = named.and_then(|path| path.split_once("::")) else { return };
    let original = &definitions[of]["properties"][field];
    for key in INHERITED {
        if let Some(value) = original.get(key) {
            keys.insert(key.to_owned(), value.clone());
        }
    }
}

/// Adds the greatest value of unsigned types that schemars leaves open. TOML has no numbers above 2^63 - 1.
fn limit(keys: &mut Map<String, Value>) {
    let Some(format) = keys.get("format").and_then(Value::as_str) else { return };
    if let Some(most) = type_limit(format)
        && !keys.contains_key("maximum")
    {
        keys.insert("maximum".to_owned(), most.into());
    }
}

/// Greatest value of an unsigned type of 32 or 64 bits.
pub(crate) fn type_limit(format: &str) -> Option<u64> {
    match format {
        "uint32" => Some(u32::MAX.into()),
        "uint64" => Some(i64::MAX as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{Bytes, Rate, Time};

    use super::*;

    /// Numbers of any size: ends of ranges of tuned parameters, and limits of metrics.
    const UNLIMITED: [&str; 4] =
        ["RangeEnd", "RangeEnd", "TuneConstraint.at_least", "TuneConstraint.at_most"];

    /// Calls `visit` with the path of each value that has a type or a reference, its schema, and that around it.
    fn walk<'a>(
        path: &str,
        schema: &'a Value,
        around: &'a Value,
        visit: &mut impl FnMut(&str, &'a Value, &'a Value),
    ) {
        visit(path, schema, around);
        for (key, below) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{key}"), below, below, visit);
        }
        for key in ["items", "additionalProperties"] {
            schema.get(key).into_iter().for_each(|below| walk(path, below, schema, visit));
        }
        for below in ["oneOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            walk(path, below, schema, visit);
        }
    }

    fn all<'a>(schema: &'a Value, visit: &mut impl FnMut(&str, &'a Value, &'a Value)) {
        walk("", schema, schema, visit);
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            walk(name, definition, definition, visit);
        }
    }

    #[test]
    fn every_number_has_a_range_and_a_unit() {
        let (schema, mut unlimited, mut missing, mut numbers) = (json_schema(), Vec::new(), Vec::new(), 0);
        all(&schema, &mut |path, value, around| {
            let kind = value["type"].as_str().or_else(|| value["type"][0].as_str());
            if !matches!(kind, Some("integer" | "number")) {
                return;
            }
            numbers += 1;
            let has = |key: &str| value.get(key).is_some();
            if !has("minimum") && !has("exclusiveMinimum") {
                unlimited.push(path.to_owned());
                return;
            }
            let upper = has("maximum") || has("exclusiveMaximum") || kind == Some("number");
            let unit = value.get("x-unit").or_else(|| around.get("x-unit"));
            if !upper || unit.and_then(Value::as_str).is_none_or(str::is_empty) {
                missing.push(path.to_owned());
            }
        });
        assert_eq!(unlimited, UNLIMITED);
        assert_eq!(missing, [""; 0]);
        assert!(numbers > 150, "{numbers}");
    }

    #[test]
    fn ranges_of_quantities_are_quantities_of_their_type() {
        let (schema, mut ranges) = (json_schema(), 0);
        all(&schema, &mut |path, value, _| {
            for key in ["x-minimum", "x-exclusiveMinimum", "x-maximum"] {
                let Some(bound) = value[key].as_str() else { continue };
                ranges += 1;
                let reference = value["$ref"].as_str().or_else(|| value["anyOf"][0]["$ref"].as_str());
                let shown = match reference.and_then(|reference| reference.rsplit('/').next()) {
                    Some("Time") => bound.parse::<Time>().ok().map(|time| time.to_string()),
                    Some("Bytes") => bound.parse::<Bytes>().ok().map(|bytes| bytes.to_string()),
                    Some("Rate") => bound.parse::<Rate>().ok().map(|rate| rate.to_string()),
                    _ => None,
                };
                // as messages show it, but for 0 s
                assert!(
                    shown.is_some_and(|shown| shown == bound || shown == "0 ns"),
                    "{path}: {key} {bound}"
                );
            }
        });
        assert!(ranges > 50, "{ranges}");
    }

    #[test]
    fn texts_of_other_fields_are_taken_over_with_their_ranges() {
        let schema = json_schema();
        let (of, over) = (&schema["$defs"]["LinkParameters"], &schema["$defs"]["LinkOverride"]);
        for key in INHERITED {
            let same = |field: &str| of["properties"][field].get(key) == over["properties"][field].get(key);
            assert!(same("bit_error_rate") && same("latency"), "{key}");
        }
        all(&schema, &mut |path, value, _| {
            let text = value["description"].as_str().unwrap_or_default();
            assert!(!text.starts_with("See [`"), "{path}: {text}");
        });
    }

    #[test]
    fn keys_are_in_the_order_of_their_fields() {
        let schema = json_schema();
        let keys = schema["$defs"]["Host"]["properties"].as_object().unwrap().keys();
        assert_eq!(
            keys.collect::<Vec<_>>(),
            ["mtu", "open_messages", "sink", "vl_arbitration", "response_queue", "local"]
        );
    }
}
