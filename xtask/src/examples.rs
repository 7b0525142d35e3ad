//! Examples of the keys of experiment files, from `xtask/examples.toml`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::default;

/// Values as they are written in a file, by type and key.
pub(crate) struct Examples(BTreeMap<(&'static str, &'static str), &'static str>);

impl Examples {
    /// Those of the file.
    pub(crate) fn new() -> Self {
        Self::of(include_str!("../examples.toml"))
    }

    fn of(text: &'static str) -> Self {
        let mut table = "";
        let mut all = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = name.trim_matches('"');
            } else if let Some((key, value)) = line.split_once(" = ") {
                all.insert((table, key), value);
            }
        }
        Self(all)
    }

    /// An example of a key of a type: its default if no other is known.
    fn value(&self, of: &str, key: &str, schema: &Value) -> Option<String> {
        let written = self.0.get(&(of, key)).map(|text| (*text).to_owned());
        written.or_else(|| {
            Some(default(schema)).filter(|text| !text.is_empty() && text != "[]" && text != "\"\"")
        })
    }

    /// The line of a file for a key of a type.
    pub(crate) fn line(&self, of: &str, key: &str, schema: &Value) -> Option<String> {
        self.value(of, key, schema).map(|value| format!("{key} = {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{alternatives, properties, tagged};

    /// Types with their keys, and variants with keys of their own.
    fn keys(schema: &Value) -> Vec<(String, String, Value)> {
        let mut all = Vec::new();
        let mut add = |of: &str, table: &Value| {
            all.extend(properties(table).map(|(key, value)| (of.to_owned(), key.to_owned(), value.clone())));
        };
        add("Experiment", schema);
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            add(name, definition);
            for (tag, content) in alternatives(definition).filter_map(tagged) {
                add(&format!("{name}.{tag}"), content);
            }
        }
        all
    }

    #[test]
    fn every_key_has_an_example_and_every_example_a_key() {
        let (schema, examples) = (fabricsim_spec::json_schema(), Examples::new());
        let keys = keys(&schema);
        let without = keys.iter().filter(|(of, key, value)| examples.value(of, key, value).is_none());
        let without: Vec<_> = without.map(|(of, key, _)| format!("{of}.{key}")).collect();
        assert!(without.is_empty(), "give these an example in xtask/examples.toml: {without:?}");
        let is_key = |of: &str, key: &str| {
            let is_variant = schema["$defs"][of].is_object()
                && alternatives(&schema["$defs"][of]).filter_map(tagged).any(|(tag, _)| tag == key);
            is_variant || keys.iter().any(|(owner, name, _)| owner == of && name == key)
        };
        let unknown: Vec<_> = examples.0.keys().filter(|(of, key)| !is_key(of, key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(keys.len() > 500 && examples.0.len() > 400, "{} {}", keys.len(), examples.0.len());
    }
}
