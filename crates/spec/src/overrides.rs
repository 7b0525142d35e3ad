//! Values that are set on top of a file: `traffic.0.load` = `0.4`.

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
                let length = items.len();
                let index = part.parse::<usize>().ok().filter(|&i| i < length);
                let index = index.ok_or_else(|| {
                    format!("`{part}` is not an entry of this list: it has {length}, counted from 0")
                })?;
                &mut items[index]
            }
            _ => return Err(format!("no key can be set below a plain value (at `{part}`)")),
        };
    }
    *at = value;
    Ok(())
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
    fn values_are_toml_or_text() {
        assert_eq!(value_of("0.4"), toml::Value::Float(0.4));
        assert_eq!(value_of("64 KiB"), toml::Value::String("64 KiB".to_owned()));
        let two = "1\nother = 2";
        assert_eq!(value_of(two), toml::Value::String(two.to_owned()));
    }
}
