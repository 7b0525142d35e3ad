//! Messages of the TOML reader in the terms of experiment files.

use fabricsim_units::nearest;
use serde_json::Value;

use crate::allowed;

/// The message without the reader's own terms; with the nearest valid name where a name is unknown. `schema`: that of the value.
pub(crate) fn plain(message: &str, schema: Option<&Value>) -> String {
    let message = message.trim_end();
    for (start, joint) in [("invalid type: ", "expected "), ("invalid value: ", "expected ")] {
        let halves = message.strip_prefix(start).and_then(|rest| rest.rsplit_once(&format!(", {joint}")));
        if let Some((found, expected)) = halves {
            return mismatch(found, expected, schema);
        }
    }
    if message.starts_with("wanted exactly 1 element") || message == "wanted string or table" {
        return format!("expected {}", one_kind(schema));
    }
    let keys = message.strip_prefix("unexpected keys in table: ");
    if let Some((found, allowed)) = keys.and_then(|keys| keys.split_once(", available keys: ")) {
        let first = found.split(", ").next().unwrap_or(found);
        let allowed: Vec<String> = allowed.split(", ").map(|key| format!("`{key}`")).collect();
        return with_hint(&format!("unknown field `{first}`, expected one of {}", allowed.join(", ")));
    }
    match message {
        "recursion limit" => "tables are nested too deep".to_owned(),
        _ => with_hint(message),
    }
}

const ONE_KIND: &str = "exactly one kind: a table with one entry, or the name of a kind that needs no more";

/// One kind of an enumeration: one of its names if each kind is only a name.
fn one_kind(schema: Option<&Value>) -> String {
    schema.and_then(allowed::names).unwrap_or_else(|| ONE_KIND.to_owned())
}

fn mismatch(found: &str, expected: &str, schema: Option<&Value>) -> String {
    // from the reader of values that are set on top of a file, which does not say what it found
    if found == "unit variant" && expected == "string only" {
        return format!("expected {}", one_kind(schema));
    }
    if found == "unit variant" {
        return "this kind needs a table of its own, not only its name".to_owned();
    }
    format!("expected {}, found {}", expected_in_words(expected, schema), found_in_words(found))
}

fn expected_in_words(expected: &str, schema: Option<&Value>) -> String {
    if matches!(expected, "u8" | "u16" | "u32" | "u64" | "usize" | "f64")
        && let Some(numbers) = schema.and_then(allowed::numbers)
    {
        return numbers;
    }
    let words = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 9223372036854775807",
        "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "enum" => return one_kind(schema),
        "newtype variant" | "struct variant" => "a table with more keys",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    words.to_owned()
}

fn found_in_words(found: &str) -> String {
    let kinds = [
        ("string ", "the text "),
        ("integer ", ""),
        ("floating point ", ""),
        ("boolean ", ""),
        ("sequence", "a list"),
        ("map", "a table"),
    ];
    let word = kinds.iter().find_map(|(kind, word)| Some((word, found.strip_prefix(kind)?)));
    word.map_or_else(|| found.to_owned(), |(word, rest)| format!("{word}{}", rest.replace('`', "")))
}

/// Adds the nearest valid name to serde's list of what was expected.
fn with_hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = ["unknown field", "unknown variant"].iter().any(|start| message.starts_with(start));
    if let (true, Some(written)) = (unknown, quoted.next()) {
        let allowed: Vec<&str> = quoted.collect();
        if let Some(name) = nearest(written, allowed) {
            return format!("{message}; did you mean `{name}`?");
        }
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readers_terms_are_translated() {
        let cases = [
            ("invalid type: string \"x\", expected f64", "expected a number, found the text \"x\""),
            ("invalid value: integer `-1`, expected u8", "expected a whole number from 0 to 255, found -1"),
            ("invalid type: map, expected a sequence", "expected a list, found a table"),
            ("invalid type: integer `1`, expected struct Run", "expected a table, found 1"),
            ("invalid type: boolean `true`, expected a string", "expected a text in quotes, found true"),
            ("wanted exactly 1 element, found 0 elements", "expected exactly one kind: "),
            ("missing field `run`", "missing field `run`"),
            (
                "unexpected keys in table: nam, x, available keys: name, age",
                "unknown field `nam`, expected one of `name`, `age`; did you mean `name`?",
            ),
            ("recursion limit", "tables are nested too deep"),
        ];
        for (message, expected) in cases {
            assert!(plain(message, None).starts_with(expected), "{message}: {}", plain(message, None));
        }
    }
}
