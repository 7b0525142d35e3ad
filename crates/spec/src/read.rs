//! Text to [`Experiment`], with errors that a person can act on.

use thiserror::Error;

use crate::Experiment;

/// What is wrong in an experiment: where, what, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SpecError {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1, where it is known.
    pub line: Option<usize>,
    /// The key, as a path (`traffic.0.load`), where it is known.
    pub key: Option<String>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl SpecError {
    /// An error about a key.
    pub fn at_key(file: &str, key: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, key: Some(key.to_owned()), message: message.into() }
    }

    /// An error about a line (from 1) of a file.
    pub fn at_line(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), key: None, message: message.into() }
    }

    /// What the TOML reader found wrong in `text`, with the nearest valid name where a key is unknown.
    pub fn of_toml(error: &toml::de::Error, text: &str, file: &str) -> Self {
        from_toml(error, text, file, None)
    }
}

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Reads an experiment. `overrides` are `key = value` pairs (`traffic.0.load`, `0.4`), applied in order before the
/// types are checked; a value that is not TOML is taken as a string, so that `64 KiB` needs no quotes.
pub fn read(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Experiment, SpecError> {
    let parsed = toml::de::Deserializer::parse(text).map_err(|e| from_toml(&e, text, file, None))?;
    if overrides.is_empty() {
        return serde_path_to_error::deserialize(parsed).map_err(|e| located(e, text, file));
    }
    let mut table: toml::Table = toml::from_str(text).map_err(|e| from_toml(&e, text, file, None))?;
    for (key, value) in overrides {
        set(&mut table, key, value).map_err(|message| SpecError::at_key(file, key, message))?;
    }
    serde_path_to_error::deserialize(table).map_err(|e| {
        let key = e.path().to_string();
        let mut error = from_toml(e.inner(), text, file, Some(&key));
        error.line = line_of_key(text, &key);
        error
    })
}

fn located(error: serde_path_to_error::Error<toml::de::Error>, text: &str, file: &str) -> SpecError {
    let key = error.path().to_string();
    from_toml(error.inner(), text, file, Some(&key))
}

fn from_toml(error: &toml::de::Error, text: &str, file: &str, key: Option<&str>) -> SpecError {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let key = key.filter(|k| *k != "." && !k.is_empty()).map(str::to_owned);
    SpecError { file: file.to_owned(), line, key, message: with_hint(error.message()) }
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
    message.trim_end().to_owned()
}

/// The name among `names` that is written most like `written`, if one is near enough to be meant.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3))
        .min()
        .map(|(_, name)| name)
}

fn set(table: &mut toml::Table, key: &str, value: &str) -> Result<(), String> {
    let value = value_of(value);
    let mut at = &mut toml::Value::Table(std::mem::take(table));
    let mut root = std::mem::replace(at, toml::Value::Boolean(false));
    at = &mut root;
    let result = descend(at, key, value);
    if let toml::Value::Table(restored) = root {
        *table = restored;
    }
    result
}

fn descend(mut at: &mut toml::Value, key: &str, value: toml::Value) -> Result<(), String> {
    for part in split_key(key)? {
        at = match at {
            toml::Value::Table(inner) => inner.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new())),
            toml::Value::Array(items) => {
                let length = items.len();
                let index = part.parse::<usize>().ok().filter(|&i| i < length);
                let index = index.ok_or_else(|| {
                    format!("`{part}` is not an entry of this list: it has {length}, counted from 0")
                })?;
                &mut items[index]
            }
            _ => return Err(format!("nothing can be set below a plain value (at `{part}`)")),
        };
    }
    *at = value;
    Ok(())
}

/// `links.named."SW11-SW12".rate` in its parts.
fn split_key(key: &str) -> Result<Vec<String>, String> {
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
    Ok(parts)
}

fn value_of(text: &str) -> toml::Value {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {text}"));
    parsed
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// The line on which the last part of `key` is set, if it is found in the text under its table's heading.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let last = key.rsplit('.').next()?;
    let mut hits = text.lines().enumerate().filter(|(_, line)| {
        line.trim_start().strip_prefix(last).is_some_and(|rest| rest.trim_start().starts_with('='))
    });
    let first = hits.next()?;
    hits.next().is_none().then_some(first.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
[topology.mesh]
dimensions = [3, 3]

[[traffic]]
pattern = "uniform"
load = 0.1
message = "2 KiB"

[run]
duration = "1 ms"
"#;

    fn overridden(key: &str, value: &str) -> Result<Experiment, SpecError> {
        read(SMALL, "small.toml", &[(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn overrides_replace_values() {
        assert_eq!(overridden("traffic.0.load", "0.4").unwrap().traffic[0].load, Some(0.4));
        assert_eq!(overridden("run.duration", "2 ms").unwrap().run.duration.0, 2_000_000_000);
        assert_eq!(overridden("switch.virtual_lanes", "4").unwrap().switch.virtual_lanes, 4);
    }

    #[test]
    fn errors_name_line_key_and_nearest() {
        let text = SMALL.replace("load =", "laod =");
        let error = read(&text, "small.toml", &[]).unwrap_err().to_string();
        assert!(error.starts_with("small.toml:7: traffic"), "{error}");
        assert!(error.contains("did you mean `load`?"), "{error}");

        let error = read(&SMALL.replace("1 ms", "1 Gb/s"), "small.toml", &[]).unwrap_err().to_string();
        assert!(error.starts_with("small.toml:11: run.duration: ") && error.contains("40 ns"), "{error}");

        let error = overridden("traffic.3.load", "1").unwrap_err().to_string();
        assert!(error.contains("traffic.3.load") && error.contains("it has 1"), "{error}");
        let error = overridden("switch.colour", "1").unwrap_err().to_string();
        assert!(error.contains("unknown field `colour`"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", key in "[a-z.\"0-9]*", value in "\\PC*") {
            let _ = read(&text, "x", &[]);
            let _ = overridden(&key, &value);
        }
    }
}
