//! Comparison of a value of ours with a row of tshark's.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde_json::Value;

/// Fields of a packet as tshark prints them; a field that occurs more than once has its values separated by `;`.
pub(crate) type Row = BTreeMap<&'static str, String>;

/// The values at `path`: keys separated by dots, `*` for every element of an array.
pub(crate) fn texts(value: &Value, path: &str) -> Vec<String> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let found: Vec<&Value> = match (key, value) {
        ("", value) => return leaf(value),
        ("*", Value::Array(elements)) => elements.iter().collect(),
        (key, value) => value.get(key).into_iter().collect(),
    };
    found.iter().flat_map(|value| texts(value, rest)).collect()
}

fn leaf(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(flag) => vec![u8::from(*flag).to_string()],
        Value::String(text) => vec![plain(text)],
        Value::Array(elements) => elements.iter().flat_map(leaf).collect(),
        other => vec![other.to_string()],
    }
}

/// A value in one form: numbers in decimal, addresses as numbers, anything else as it is.
fn plain(text: &str) -> String {
    if let Some(Ok(number)) = text.strip_prefix("0x").map(|digits| u128::from_str_radix(digits, 16)) {
        return number.to_string();
    }
    match text {
        "True" => "1".to_owned(),
        "False" => "0".to_owned(),
        _ => text.parse::<Ipv6Addr>().map_or_else(|_| text.to_owned(), |address| u128::from(address).to_string()),
    }
}

/// Asserts that every field has the same values on both sides. Returns the number of values.
pub(crate) fn assert_same(ours: &Value, theirs: &Row, prefix: &str, fields: &[(&str, &'static str)]) -> usize {
    let mut compared = 0;
    for (path, field) in fields {
        let ours_at = texts(ours, &format!("{prefix}{path}"));
        assert!(!ours_at.is_empty(), "there is no {prefix}{path} in {ours}");
        let theirs_at: Vec<String> = theirs[field].split(';').map(plain).collect();
        assert_eq!(ours_at, theirs_at, "{prefix}{path} (ours), {field} (tshark) in {ours}");
        compared += ours_at.len();
    }
    compared
}
