//! Types of the schema as definitions of Python.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Class, Field, Item};
use crate::schema::{
    alternatives, default, is_required, names, plain_type, properties, range, reference, tagged, text, unit,
};

/// Enumerations whose variants with content are classes.
const CLASSES: [&str; 4] = ["Topology", "Program", "Operation", "Pattern"];
/// Enumerations whose variants without content are listed. Others are any text.
const LISTED: [&str; 2] = ["Pattern", "Placement"];
/// A type whose fields are all those of another, and the other: values of both are accepted.
const LIKE: [(&str, &str); 1] = [("LinkOverride", "LinkParameters")];
/// Variants that have the content of another one, and a field that is not for them.
const OMITTED: [(&str, &str); 2] = [("mesh", "wrap"), ("torus", "wrap")];
/// Variants whose content is not a table, and the name of the content.
const CONTENTS: [(&str, &str); 3] = [("to", "host"), ("permutation", "hosts"), ("group-offset", "offset")];
/// Types that take no arguments by position, since fields that may be left out come first.
const KEYWORD_ONLY: [&str; 1] = ["Fault"];

/// Keys that are keywords of Python: their fields have an underscore at the end.
const KEYWORDS: [&str; 1] = ["from"];

/// Collects the definitions that types consist of, each after those that it refers to.
pub(super) struct Collector<'a> {
    schema: &'a Value,
    has_defaults: bool,
    /// Names that other modules define.
    elsewhere: BTreeSet<&'a str>,
    begun: BTreeSet<String>,
    items: Vec<Item>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        schema: &'a Value,
        has_defaults: bool,
        elsewhere: &'a BTreeMap<String, &'static str>,
    ) -> Self {
        let elsewhere = elsewhere.keys().map(String::as_str).collect();
        Self { schema, has_defaults, elsewhere, begun: BTreeSet::new(), items: Vec::new() }
    }

    pub(super) fn collect(mut self, roots: &[&str]) -> Vec<Item> {
        for root in roots {
            self.named(root);
        }
        self.items
    }

    /// The Python type of a value; that of a list's items and of a table's values within it.
    fn annotation(&mut self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            return self.named(name);
        }
        let options: Vec<&Value> = alternatives(schema).collect();
        if !options.is_empty() {
            let mut types: Vec<String> = Vec::new();
            for option in options {
                let found = self.annotation(option);
                if !types.contains(&found) {
                    types.push(found);
                }
            }
            return types.join(" | ");
        }
        match plain_type(schema) {
            Some("integer") => "int".to_owned(),
            Some("number") => "float".to_owned(),
            Some("boolean") => "bool".to_owned(),
            Some("string") => "str".to_owned(),
            Some("array") => format!("list[{}]", self.annotation(&schema["items"])),
            Some("object") if schema.get("properties").is_none() => {
                format!("Mapping[str, {}]", self.annotation(&schema["additionalProperties"]))
            }
            Some("object") => "Mapping[str, Any]".to_owned(),
            _ => "Any".to_owned(),
        }
    }

    /// The Python type of a definition of the schema, which becomes an item if it is more than a text or a number.
    fn named(&mut self, name: &str) -> String {
        let definition = &self.schema["$defs"][name];
        let known = self.elsewhere.contains(name) || !self.begun.insert(name.to_owned());
        let like = LIKE.iter().find(|(of, _)| *of == name).map(|(_, base)| *base);
        let plain = names(definition);
        let with_content: Vec<&Value> =
            alternatives(definition).filter(|option| tagged(option).is_some()).collect();
        if CLASSES.contains(&name) || LISTED.contains(&name) {
            if !known {
                self.one_of(name, definition, &plain, &with_content);
            }
        } else if !plain.is_empty() && with_content.is_empty() {
            if !known {
                self.items.push(listed(name.to_owned(), definition, &plain));
            }
        } else if !with_content.is_empty() {
            let table = "Mapping[str, Any]";
            return if plain.is_empty() { table.to_owned() } else { format!("str | {table}") };
        } else if definition.get("properties").is_some() {
            if !known {
                if let Some(base) = like {
                    self.named(base);
                }
                let class = self.class(name.to_owned(), definition, text(definition), None);
                self.items.push(Item::Class(Class { base: like, ..class }));
            }
            return like.unwrap_or(name).to_owned();
        } else if name == "Drawn" {
            // A range may as well be a table, and a list any sequence.
            return "Range | Mapping[str, Any] | Sequence[Any]".to_owned();
        } else {
            return self.annotation(definition);
        }
        name.to_owned()
    }

    fn one_of(&mut self, name: &str, definition: &Value, plain: &[(&str, String)], with_content: &[&Value]) {
        let mut types = Vec::new();
        if !plain.is_empty() {
            types.push(format!("{name}Name"));
            self.items.push(listed(format!("{name}Name"), definition, plain));
        }
        let contents: Vec<(&str, &Value)> = with_content.iter().filter_map(|option| tagged(option)).collect();
        for (option, &(tag, content)) in with_content.iter().zip(&contents) {
            if !CLASSES.contains(&name) {
                types.push(format!("Mapping[str, {}]", self.annotation(content)));
                continue;
            }
            let own = reference(content)
                .filter(|of| contents.iter().filter(|(_, other)| reference(other) == Some(of)).count() == 1);
            let class = own.map_or_else(|| camel(tag), str::to_owned);
            let definition = reference(content).map_or(content, |of| &self.schema["$defs"][of]);
            types.push(class.clone());
            // Several enumerations may have the variant.
            if !self.begun.insert(class.clone()) {
                continue;
            }
            let class = self.class(class, definition, text(option), Some(tag));
            self.items.push(Item::Class(class));
        }
        self.items.push(Item::Union(name.to_owned(), text(definition), types));
    }

    fn class(&mut self, name: String, definition: &Value, doc: String, kind: Option<&str>) -> Class {
        let content = CONTENTS.iter().find(|(tag, _)| Some(*tag) == kind).map(|(_, content)| *content);
        let is_keyword_only = KEYWORD_ONLY.contains(&name.as_str());
        let mut fields: Vec<Field> = Vec::new();
        if let Some(content) = content {
            fields.push(self.field(content, definition, true));
        }
        for (key, schema) in properties(definition) {
            if kind.is_none_or(|kind| !OMITTED.contains(&(kind, key))) {
                fields.push(self.field(key, schema, is_required(definition, key)));
            }
        }
        if !is_keyword_only {
            fields.sort_by_key(|field| field.default.is_some());
        }
        Class { name, base: None, doc, kind: kind.map(str::to_owned), content, is_keyword_only, fields }
    }

    fn field(&mut self, key: &str, schema: &Value, is_required: bool) -> Field {
        let annotation = self.annotation(schema);
        let name = if KEYWORDS.contains(&key) { format!("{key}_") } else { key.to_owned() };
        let doc = described(schema);
        if is_required {
            return Field { name, annotation, default: None, doc };
        }
        if !self.has_defaults {
            return Field {
                name,
                annotation: format!("{annotation} | None"),
                default: Some("None".to_owned()),
                doc,
            };
        }
        let default = match &schema["default"] {
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            other => other.to_string(),
        };
        Field { name, annotation, default: Some(default), doc }
    }
}

fn listed(name: String, definition: &Value, names: &[(&str, String)]) -> Item {
    let names = names.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
    Item::Names(name, text(definition), names)
}

/// Text of a key with its range, unit and default.
fn described(schema: &Value) -> String {
    let mut parts: Vec<String> = vec![text(schema)].into_iter().filter(|text| !text.is_empty()).collect();
    parts.extend(range(schema).map(|range| format!("Range: {range}.")));
    parts.extend(unit(schema).map(|unit| format!("Unit: {unit}.")));
    parts.extend(
        Some(default(schema)).filter(|d| !d.is_empty()).map(|default| format!("Default: {default}.")),
    );
    parts.join(" ")
}

/// `fat-tree` as `FatTree`.
fn camel(tag: &str) -> String {
    if tag == "hyperx" {
        return "HyperX".to_owned();
    }
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    tag.split('-').map(word).collect()
}
