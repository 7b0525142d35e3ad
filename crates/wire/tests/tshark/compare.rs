//! Comparison of a value of ours with a row of tshark's.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde_json::Value;

/// Fields of a packet as tshark prints them; a field that occurs more than once has its values separated by `;`.
pub(crate) type Row = BTreeMap<&'static str, String>;

/// The values at `path`: keys separated by dots, `*` for every element of an array, `*16` for the first 16.
pub(crate) fn texts(value: &Value, path: &str) -> Vec<String> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let found: Vec<&Value> = match (key, value) {
        ("", value) => return leaf(value),
        (key, Value::Array(elements)) if key.starts_with('*') => {
            elements.iter().take(key[1..].parse().unwrap_or(usize::MAX)).collect()
        }
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

/// A value in one form: numbers in decimal, addresses and 16 bytes as numbers, anything else as it is.
fn plain(text: &str) -> String {
    let digits = text.strip_prefix("0x").or((text.len() == 32).then_some(text));
    if let Some(Ok(number)) = digits.map(|digits| u128::from_str_radix(digits, 16)) {
        return number.to_string();
    }
    match text {
        "True" => "1".to_owned(),
        "False" => "0".to_owned(),
        _ => text
            .parse::<Ipv6Addr>()
            .map_or_else(|_| text.to_owned(), |address| u128::from(address).to_string()),
    }
}

/// Adds the parts into which tshark splits entries of tables: keys of partitions, and lanes by pairs of service levels.
pub(crate) fn with_parts(mut ours: Value) -> Value {
    let data = &mut ours["mad"]["data"];
    for path in ["/P_KeyTable", "/P_KeyTableRecord/table"] {
        if let Some(table) = data.pointer_mut(path) {
            let keys = numbers(&table["p_keys"]);
            table["bases"] = keys.iter().map(|key| key & 0x7fff).collect();
            table["memberships"] = keys.iter().map(|key| key >> 15).collect();
        }
    }
    for path in ["/SLtoVLMappingTable", "/SLtoVLMappingTableRecord/table"] {
        if let Some(table) = data.pointer_mut(path) {
            let lanes = numbers(&table["vls"]);
            table["even"] = lanes.iter().step_by(2).copied().collect();
            table["odd"] = lanes.iter().skip(1).step_by(2).copied().collect();
        }
    }
    ours
}

fn numbers(array: &Value) -> Vec<u64> {
    array.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// Counts compared values, and collects the differences of all packets.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) compared: usize,
    differences: Vec<String>,
}

impl Comparison {
    /// Compares the values of every field.
    pub(crate) fn compare(
        &mut self,
        ours: &Value,
        theirs: &Row,
        prefix: &str,
        fields: &[(&str, &'static str)],
    ) {
        for (path, field) in fields {
            let ours_at = texts(ours, &format!("{prefix}{path}"));
            let theirs_at: Vec<String> = theirs[field].split(';').map(plain).collect();
            self.compared += ours_at.len();
            if ours_at.is_empty() || ours_at != theirs_at {
                let number = &ours["number"];
                self.differences.push(format!(
                    "packet {number}: {prefix}{path} = {ours_at:?}, tshark: {field} = {theirs_at:?}"
                ));
            }
        }
    }

    /// Fails if there is a difference; prints the number of values.
    pub(crate) fn finish(self, what: &str) {
        println!("{what}: {} values compared with tshark", self.compared);
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n"));
    }
}
