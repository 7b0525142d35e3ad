use std::collections::BTreeSet;

/// Collects the bytes of a state.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    refused: BTreeSet<&'static str>,
}

/// A run cannot be written, because of its features.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run with {} cannot be written to a checkpoint; run it without --checkpoint", .features.join(" and "))]
pub struct Refused {
    /// The features, in alphabetical order.
    pub features: Vec<&'static str>,
}

impl Refused {
    /// A refusal of `feature`, besides those of `state`.
    pub fn with(feature: &'static str, state: Result<Vec<u8>, Self>) -> Self {
        let mut features = state.err().map_or_else(Vec::new, |refused| refused.features);
        features.push(feature);
        features.sort_unstable();
        Self { features }
    }
}

impl Writer {
    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a length.
    pub fn length(&mut self, length: usize) {
        self.put(&(length as u64).to_le_bytes());
    }

    /// Notes a feature whose state cannot be written.
    pub fn refuse(&mut self, feature: &'static str) {
        self.refused.insert(feature);
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// A feature was refused.
    pub fn finish(self) -> Result<Vec<u8>, Refused> {
        if self.refused.is_empty() {
            Ok(self.bytes)
        } else {
            Err(Refused { features: self.refused.into_iter().collect() })
        }
    }
}
