//! Values that are set on top of a file: `traffic.0.load` = `0.4`, or `traffic.incast.load` where an entry has that name.

use fabricsim_units::nearest;

/// Maximum number of parts of a key: far more than an experiment has levels.
const MOST_PARTS: usize = 32;

/// Replaces the value of `key`.
pub(crate) fn set(table: &mut toml::Table, key: &str, value: &str) -> Result<(), String> {
    let mut root = toml::Value::Table(std::mem::take(table));
    let result = descend(&mut root, key, value_of(value));
    if let toml::Value::Table(restored) = root {
        *table = restored;
    }
    result
}

fn descend(mut at: &mut toml::Value, key: &str, value: toml::Value) -> Result<(), String> {
    for part in split_key(key)? {
        at = match at {
            toml::Value::Table(inner) => {
                inner.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()))
            }
            toml::Value::Array(items) => {
                let index = index_of(items, &part)?;
                &mut items[index]
            }
            _ => return Err(format!("no key can be set below a plain value (at `{part}`)")),
        };
    }
    *at = value;
    Ok(())
}

/// Place of an entry of a list: its number, or its `name`.
fn index_of(items: &[toml::Value], part: &str) -> Result<usize, String> {
    let name = |item: &toml::Value| item.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    let length = items.len();
    if let Some(index) = part.parse::<usize>().ok().filter(|&index| index < length) {
        return Ok(index);
    }
    if let Some(index) = items.iter().position(|item| name(item).as_deref() == Some(part)) {
        return Ok(index);
    }
    let names: Vec<String> = items.iter().filter_map(name).filter(|name| !name.is_empty()).collect();
    let near = nearest(part, names.iter().map(String::as_str));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let names = listed(&names);
    Err(format!("`{part}` is not an entry of this list: it has {length}, counted from 0{names}{hint}"))
}

/// Longer lists of names are cut in messages.
const NAMES_SHOWN: usize = 8;

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    match names.len() {
        0 => String::new(),
        1..=NAMES_SHOWN => format!(", named {shown}"),
        more => format!(", named {shown} and {} more", more - NAMES_SHOWN),
    }
}

/// `links.named."SW11-SW12".rate` in its parts.
pub(crate) fn split_key(key: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in key.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    if quoted || parts.iter().any(String::is_empty) {
        return Err("this is not a key: write parts joined by dots, for example traffic.0.load".to_owned());
    }
    if parts.len() > MOST_PARTS {
        return Err(format!("the key has {} parts: no key has more than {MOST_PARTS}", parts.len()));
    }
    Ok(parts)
}

/// A key as one part of a longer one.
pub(crate) fn quoted(key: &str) -> String {
    if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() }
}

fn value_of(text: &str) -> toml::Value {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {text}"));
    parsed
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_parts() {
        assert_eq!(split_key("a.\"b.c\".0").unwrap(), ["a", "b.c", "0"]);
        for wrong in ["", ".", "a.", "a..b", "\"a", "a.\"\""] {
            assert!(split_key(wrong).unwrap_err().contains("not a key"), "{wrong}");
        }
        let deep = vec!["a"; 40_000].join(".");
        assert!(split_key(&deep).unwrap_err().contains("40000 parts"));
    }

    #[test]
    fn entries_are_named_by_number_or_name() {
        let mut table: toml::Table =
            toml::from_str("[[traffic]]\nname = 'a.b'\n[[traffic]]\nload = 1.0\n[[traffic]]\nname = 'c'")
                .unwrap();
        set(&mut table, "traffic.c.load", "0.4").unwrap();
        set(&mut table, "traffic.\"a.b\".load", "0.3").unwrap();
        set(&mut table, "traffic.1.load", "0.2").unwrap();
        let loads: Vec<f64> = table["traffic"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["load"].as_float().unwrap())
            .collect();
        assert_eq!(loads, [0.3, 0.2, 0.4]);
        let error = set(&mut table, "traffic.d.load", "1").unwrap_err();
        assert_eq!(error, "`d` is not an entry of this list: it has 3, counted from 0, named a.b, c");
        let error = set(&mut table, "traffic.ab.load", "1").unwrap_err();
        assert!(error.ends_with("named a.b, c; did you mean `a.b`?"), "{error}");
        let error = set(&mut table, "traffic.3.load", "1").unwrap_err();
        assert!(error.starts_with("`3` is not an entry of this list"), "{error}");
    }

    #[test]
    fn values_are_toml_or_text() {
        assert_eq!(value_of("0.4"), toml::Value::Float(0.4));
        assert_eq!(value_of("64 KiB"), toml::Value::String("64 KiB".to_owned()));
        let two = "1\nother = 2";
        assert_eq!(value_of(two), toml::Value::String(two.to_owned()));
    }
}
