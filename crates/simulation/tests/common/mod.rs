//! Shared code of the tests of this folder. Each file of tests uses a part of it.
#![allow(dead_code, unreachable_pub)]

pub mod observers;
pub mod random;
pub mod tables;

use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_simulation::{Control, Outcome, simulate};

/// Builds the experiment of a TOML text, with overrides.
pub fn prepare(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    try_prepare(text, overrides).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same, or the reason why it cannot be run.
pub fn try_prepare(text: &str, overrides: &[(&str, &str)]) -> Result<Prepared, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "test.toml", &overrides).map_err(|e| e.to_string())?;
    Prepared::new(experiment, Path::new("."), "test.toml").map_err(|e| e.to_string())
}

/// Runs the experiment of a TOML text, with overrides.
pub fn run(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    simulate(&prepare(text, overrides), &Control::default())
}

/// Everything that a run found out, to the bit, as text.
pub fn everything(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}
