//! Runs an experiment without any measurement: what the engine alone costs.

use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_model::NullObserver;
use fabricsim_units::Time;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).expect("a readable file");
    let overrides: Vec<(String, String)> = arguments[2..]
        .iter()
        .filter_map(|a| a.split_once('='))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let experiment = fabricsim_spec::read(&text, &arguments[1], &overrides).unwrap_or_else(|e| panic!("{e}"));
    let until = experiment.run.warmup + experiment.run.duration;
    let prepared = Prepared::new(experiment, Path::new("."), &arguments[1]).unwrap_or_else(|e| panic!("{e}"));
    let mut engine = prepared.engine(|| NullObserver);
    let how = engine.advance(until, &mut |_: Time, _| true);
    println!("{how:?} {:?} credits {:?}", engine.totals(), engine.check_credits());
}
