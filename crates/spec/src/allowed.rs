//! Allowed values of a key, in words, by the schema of experiment files. The TOML reader knows only the types of values.

use std::sync::LazyLock;

use serde_json::Value;

use crate::range::Bounds;

/// The schema of experiment files.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(crate::json_schema);

/// The schema of the value at a key (`traffic.0.load`); `None` if there is no such key.
pub(crate) fn schema_at(key: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = key.split('.').collect();
    resolve(find(&SCHEMA, &parts)?)
}

fn find<'a>(schema: &'a Value, parts: &[&str]) -> Option<&'a Value> {
    let Some((first, rest)) = parts.split_first() else { return Some(schema) };
    let schema = resolve(schema)?;
    let item = if first.parse::<usize>().is_ok() { schema.get("items") } else { None };
    let below = schema["properties"].get(*first).or(item).or_else(|| schema.get("additionalProperties"));
    if let Some(found) = below.filter(|below| below.is_object()).and_then(|below| find(below, rest)) {
        return Some(found);
    }
    alternatives(schema).find_map(|option| find(option, parts))
}

/// The schema itself where it is a reference, or optional.
fn resolve(schema: &Value) -> Option<&Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return resolve(SCHEMA["$defs"].get(reference.rsplit('/').next()?)?);
    }
    let mut options = alternatives(schema).filter(|option| option["type"] != "null");
    match (options.next(), options.next()) {
        (Some(only), None) => resolve(only),
        _ => Some(schema),
    }
}

/// The alternatives of an enumeration or of an optional value.
pub(crate) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

/// The numbers that a schema allows: "a whole number from 1 to 16"; `None` if it is no number with a range of two ends.
pub(crate) fn numbers(schema: &Value) -> Option<String> {
    let is_whole = schema["type"] == "integer" || schema["type"][0] == "integer";
    let bounds = Bounds::of(schema).filter(Bounds::is_closed_below)?;
    Some(bounds.in_words(if is_whole { "a whole number" } else { "a number" }))
}

/// The names that a schema allows: "`common` or `random`"; `None` if some of its kinds are no names.
pub(crate) fn names(schema: &Value) -> Option<String> {
    let mut names = Vec::new();
    for option in alternatives(schema) {
        let several = option["enum"].as_array().into_iter().flatten();
        let before = names.len();
        names.extend(several.chain(option.get("const")).filter_map(Value::as_str));
        if names.len() == before {
            return None;
        }
    }
    names.extend(schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str));
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => None,
        [one] => Some(one.clone()),
        [one, other] => Some(format!("{one} or {other}")),
        _ => Some(format!("one of {}", quoted.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_kinds_are_found() {
        let found = |key: &str| schema_at(key).and_then(|schema| numbers(schema).or_else(|| names(schema)));
        let cases = [
            ("switch.age.phase", "`common` or `random`"),
            ("switch.age.bias.hosts", "a whole number from 0 to 7"),
            ("traffic.3.ordering", "one of `none`, `unordered`"),
            ("routing.ties", "`balanced`"),
            ("transport.loss", "a number from 0 to less than 1"),
            ("transport.target.replay_buffers", "a whole number from 1 to 32767"),
        ];
        for (key, expected) in cases {
            let words = found(key).unwrap_or_default();
            assert!(words.contains(expected), "{key}: {words}");
        }
        assert!(schema_at("topology.mesh.dimensions.1").is_some());
        assert!(schema_at("links.named.cable.rate").is_some());
        for key in ["", "nowhere", "transport.loss.x", "topology", "tune.constraints.0.at_least"] {
            assert_eq!(found(key), None, "{key}");
        }
    }

    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[run]
duration = '1 ms'
";

    /// Values outside the range of the schema are refused at both ends, and the last value within is not
    /// refused for its size.
    #[test]
    fn ranges_of_the_schema_are_those_of_the_checks() {
        let refused = |key: &str, value: i64| {
            let (table, name) = key.rsplit_once('.').unwrap();
            // with these no other key of the table is in the way
            let others = "mode = 'ordered', cid_bits = 15, sequence_bits = 16, outstanding = 32768";
            let text = match table {
                "transport" if others.contains(&format!("{name} =")) => format!("{{ {name} = {value} }}"),
                "transport" => format!("{{ {others}, {name} = {value} }}"),
                "transport.target" => format!("{{ reorder_cache = 0, {name} = {value} }}"),
                _ => format!("{{ {name} = {value} }}"),
            };
            let text = if table == "run" { text.replace('{', "{ duration = '1 ms',") } else { text };
            let read = crate::read(SMALL, "e.toml", &[(table.to_owned(), text)]);
            let error = read.and_then(|experiment| crate::check(&experiment, "e.toml")).err()?;
            (error.key.as_deref() == Some(key)).then_some(error.message)
        };
        let keys = [
            "transport.streams",
            "transport.connections",
            "transport.cid_bits",
            "transport.sequence_bits",
            "transport.outstanding",
            "transport.fast_from",
            "transport.target.connections",
            "transport.target.reorder_buffer",
            "transport.target.replay_buffers",
            "routing.choices",
            "run.partitions",
            "run.threads",
            "measure.exchanges",
        ];
        for key in keys {
            let schema = schema_at(key).unwrap();
            let (least, most) = (schema["minimum"].as_i64().unwrap(), schema["maximum"].as_i64().unwrap());
            for value in [least - 1, most + 1] {
                assert!(refused(key, value).is_some(), "{key} = {value}");
            }
            for value in [least, most] {
                let message = refused(key, value).unwrap_or_default();
                // `exchanges` has a requirement of another kind, too
                assert!(!message.contains("number from"), "{key} = {value}: {message}");
            }
        }
        assert!(!schema_at("transport.loss").unwrap()["exclusiveMaximum"].is_null());
    }
}
