//! Reading a JSON Schema.

use serde_json::Value;

/// Name of the definition that a schema refers to.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Texts of a list.
pub(crate) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Description on one line, without links of Rust documentation.
pub(crate) fn text(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[`", "`").replace("`]", "`")
}

/// Keys of a table with their schemas, in the order of the fields.
pub(crate) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// True if a table must have the key.
pub(crate) fn is_required(schema: &Value, key: &str) -> bool {
    strings(&schema["required"]).any(|name| name == key)
}

/// Alternatives, without that of a missing value.
pub(crate) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let all = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    all.filter(|option| option["type"] != "null")
}

/// Type of a value that is given, without that of a missing one.
pub(crate) fn plain_type(schema: &Value) -> Option<&str> {
    schema["type"].as_str().or_else(|| strings(&schema["type"]).find(|name| *name != "null"))
}

/// Names of the variants that have no content, with their descriptions.
pub(crate) fn names(schema: &Value) -> Vec<(&str, String)> {
    fn of(option: &Value) -> Vec<(&str, String)> {
        let several = strings(&option["enum"]);
        option["const"].as_str().into_iter().chain(several).map(|name| (name, text(option))).collect()
    }
    alternatives(schema)
        .flat_map(of)
        .chain(strings(&schema["enum"]).map(|name| (name, String::new())))
        .collect()
}

/// A variant with content: its name, its schema, and the schema of the content.
pub(crate) fn tagged(option: &Value) -> Option<(&str, &Value)> {
    if plain_type(option) != Some("object") || option.get("required").is_none() {
        return None;
    }
    properties(option).next()
}

/// The default as it is written in an experiment file; empty for none and for tables.
pub(crate) fn default(schema: &Value) -> String {
    match &schema["default"] {
        Value::Null | Value::Object(_) => String::new(),
        default => default.to_string(),
    }
}

/// The unit of a number; `None` for plain numbers and quantities, which are written with their unit.
pub(crate) fn unit(schema: &Value) -> Option<&str> {
    schema["x-unit"].as_str().filter(|unit| *unit != "1")
}

/// Allowed values of a number or quantity, or of each number of a list.
pub(crate) fn range(schema: &Value) -> Option<String> {
    let below = ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
    std::iter::once(schema).chain(below).find_map(fabricsim_spec::range_in_words)
}
