//! Shared code of the tests of this folder.
#![allow(unreachable_pub)]

use std::path::Path;

use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::NullObserver;
use fabricsim_units::Time;

/// Builds the experiment of a TOML text, with overrides.
pub fn prepare(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "test.toml", &overrides);
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}\n{text}"));
    Prepared::new(experiment, Path::new("."), "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Counters of a run whose sources stop at `stop`, and of which everything has arrived by `end`.
pub fn drained(prepared: &Prepared, stop: Time, end: Time) -> Totals {
    let mut engine = prepared.engine(|| NullObserver);
    engine.advance(stop, &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    engine.stop_sources();
    engine.advance(end, &mut |_, _| true);
    let totals = engine.totals();
    assert_eq!((totals.injected, totals.in_flight), (totals.delivered, 0), "all arrive once sources stop");
    totals
}
