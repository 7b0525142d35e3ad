//! The text of an experiment as sections of keys, so that a failing one can be shrunk.

use std::fmt;

/// The text of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    /// `[switch]`, `[[traffic]]`; empty for the head of the file.
    header: String,
    keys: Vec<(String, String)>,
}

impl Draft {
    /// Begins a section.
    pub fn section(&mut self, header: &str) {
        self.sections.push(Section { header: header.to_owned(), keys: Vec::new() });
    }

    /// Adds a key with a number, a truth value or a list to the section begun last.
    pub fn key(&mut self, key: &str, value: impl fmt::Display) {
        let Some(section) = self.sections.last_mut() else { unreachable!("a section was begun") };
        section.keys.push((key.to_owned(), value.to_string()));
    }

    /// Adds a key with a text.
    pub fn text(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key, format!("\"{value}\""));
    }

    /// Sets a key of a section, which is begun if it does not exist.
    pub fn set(&mut self, header: &str, key: &str, value: &str) {
        let place = self.sections.iter().position(|section| section.header == header);
        let place = place.unwrap_or_else(|| {
            self.section(header);
            self.sections.len() - 1
        });
        let keys = &mut self.sections[place].keys;
        keys.retain(|(given, _)| given != key);
        keys.push((key.to_owned(), value.to_owned()));
    }

    /// Removes a key of a section.
    pub fn remove(&mut self, header: &str, key: &str) {
        for section in self.sections.iter_mut().filter(|section| section.header == header) {
            section.keys.retain(|(given, _)| given != key);
        }
    }

    /// The draft without its n-th part: sections first, then keys. `None` beyond the last.
    pub fn without(&self, part: usize) -> Option<Self> {
        let mut smaller = self.clone();
        if part < self.sections.len() {
            smaller.sections.remove(part);
            return Some(smaller);
        }
        let mut key = part - self.sections.len();
        for section in &mut smaller.sections {
            if key < section.keys.len() {
                section.keys.remove(key);
                return Some(smaller);
            }
            key -= section.keys.len();
        }
        None
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Section { header, keys } in &self.sections {
            if !header.is_empty() {
                writeln!(f, "{header}")?;
            }
            for (key, value) in keys {
                writeln!(f, "{key} = {value}")?;
            }
        }
        Ok(())
    }
}
