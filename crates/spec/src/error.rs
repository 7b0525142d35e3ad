//! Errors in an experiment, and their places.

use thiserror::Error;

use crate::allowed::schema_at;
use crate::locate::line_of_key;
use crate::overrides::split_key;
use crate::wording::plain;

/// Error in an experiment: its place, a description, and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SpecError {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1, where it is known.
    pub line: Option<usize>,
    /// The key, as a path (`traffic.0.load`), where it is known.
    pub key: Option<String>,
    /// Description of the error and of the allowed values.
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

    /// Error that the TOML reader found in `text`, with the nearest valid name where a key is unknown.
    pub fn of_toml(error: &toml::de::Error, text: &str, file: &str) -> Self {
        Self::of_toml_at(error, text, file, None)
    }

    /// The same at a key, as `serde_path_to_error` writes it.
    pub(crate) fn of_toml_at(error: &toml::de::Error, text: &str, file: &str, key: Option<&str>) -> Self {
        let line = error.span().map(|span| {
            let before = text.as_bytes().iter().take(span.start);
            before.filter(|&&byte| byte == b'\n').count() + 1
        });
        let key = key.filter(|k| *k != "." && !k.is_empty()).map(dotted);
        let message = plain(error.message(), key.as_deref().and_then(schema_at));
        Self { file: file.to_owned(), line, key, message }
    }

    /// The same with the line on which `text`, the experiment, gives the key; where one of `overrides` gave it, the
    /// message says so instead. Errors that have a line keep it.
    #[must_use]
    pub fn located(mut self, text: &str, overrides: &[(String, String)]) -> Self {
        let Some(key) = self.key.as_ref().filter(|_| self.line.is_none()) else { return self };
        let parts = split_key(key).unwrap_or_default();
        let concerns = |written: &str| {
            let set = split_key(written).unwrap_or_default();
            !set.is_empty() && set.iter().zip(&parts).all(|(a, b)| a == b) && !parts.is_empty()
        };
        match overrides.iter().rev().find(|(written, _)| concerns(written)) {
            Some((written, _)) => {
                let by = if written == key { String::new() } else { format!(", by {written}") };
                self.message = format!("{} (set on top of the file{by})", self.message);
            }
            None => self.line = line_of_key(text, &parts),
        }
        self
    }
}

/// `traffic[0].load` as `traffic.0.load`.
fn dotted(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
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
