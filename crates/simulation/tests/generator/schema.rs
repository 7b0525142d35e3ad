//! Parts of the experiment file's schema that the generator has written.

use std::collections::BTreeSet;

use serde_json::Value;

/// Parts of the file that do not describe a run.
const OTHERS: &[&str] = &["sweep", "tune", "title", "description"];

/// Keys and variants that the generator does not write, with the reason.
const EXEMPT: &[&str] = &[
    // The checks add it where the static check finds a cycle.
    "Run.allow_deadlock",
    // Jobs and transports would wait for ever for hosts that never come back.
    "Experiment.switches",
    "Switches.failed",
];

/// Keys and variants by their type: `Switch.arbiter`, `Arbiter = random`.
pub struct Seen {
    schema: Value,
    all: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Seen {
    pub fn new(schema: Value) -> Self {
        let mut seen = Self { schema, all: BTreeSet::new(), found: BTreeSet::new() };
        let root = seen.schema.clone();
        seen.list("Experiment", &root, &mut BTreeSet::new());
        seen
    }

    fn definition(&self, node: &Value) -> Option<(String, Value)> {
        let name = node["$ref"].as_str()?.rsplit('/').next()?.to_owned();
        let found = self.schema["$defs"][&name].clone();
        Some((name, found))
    }

    /// Lists all that a type can have.
    fn list(&mut self, name: &str, node: &Value, known: &mut BTreeSet<String>) {
        if let Some((name, found)) = self.definition(node) {
            if known.insert(name.clone()) {
                self.list(&name, &found, known);
            }
            return;
        }
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            if name == "Experiment" && OTHERS.contains(&key.as_str()) {
                continue;
            }
            self.all.insert(format!("{name}.{key}"));
            self.list(&format!("{name}.{key}"), property, known);
        }
        for variant in node["oneOf"].as_array().into_iter().flatten() {
            if let Some(word) = variant["const"].as_str() {
                self.all.insert(format!("{name} = {word}"));
            }
            self.list(name, variant, known);
        }
        for part in node["anyOf"].as_array().into_iter().flatten() {
            self.list(name, part, known);
        }
        for inner in ["items", "additionalProperties"] {
            if node[inner].is_object() {
                self.list(name, &node[inner], known);
            }
        }
    }

    /// Notes what an experiment has.
    pub fn add(&mut self, experiment: &Value) {
        let root = self.schema.clone();
        self.note("Experiment", &root, experiment);
    }

    fn note(&mut self, name: &str, node: &Value, value: &Value) {
        if let Some((name, found)) = self.definition(node) {
            return self.note(&name, &found, value);
        }
        if let Some(word) = value.as_str() {
            self.found.insert(format!("{name} = {word}"));
        }
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            if let Some(given) = value.get(key).filter(|given| !given.is_null()) {
                self.found.insert(format!("{name}.{key}"));
                self.note(&format!("{name}.{key}"), property, given);
            }
        }
        for list in ["oneOf", "anyOf"] {
            for part in node[list].as_array().into_iter().flatten() {
                self.note(name, part, value);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            self.note(name, &node["items"], item);
        }
        if node["additionalProperties"].is_object() {
            for item in value.as_object().into_iter().flat_map(|object| object.values()) {
                self.note(name, &node["additionalProperties"], item);
            }
        }
    }

    /// Parts that no experiment has.
    pub fn missing(&self) -> Vec<&String> {
        self.all.difference(&self.found).filter(|part| !EXEMPT.contains(&part.as_str())).collect()
    }
}
