//! Replays a GOAL schedule on a LogGP network: `replay FILE L=1000,o=100,g=10,G=0`.

use std::path::Path;
use std::process::ExitCode;

use fabricsim_traces::goal;
use fabricsim_traces::loggp::{Parameters, simulate};

fn run(file: &str, parameters: &str) -> Result<(), String> {
    let schedule = goal::read(Path::new(file)).map_err(|error| error.to_string())?;
    let parameters = Parameters::parse(parameters)?;
    let outcome = simulate(&schedule, &parameters).map_err(|error| error.to_string())?;
    let unmatched = outcome.unmatched.len();
    println!(
        "{} ranks, {} operations, {} ns, {unmatched} without a match",
        schedule.ranks.len(),
        schedule.events(),
        outcome.end_ns()
    );
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, parameters) = match arguments.as_slice() {
        [file] => (file.as_str(), ""),
        [file, parameters] => (file.as_str(), parameters.as_str()),
        _ => {
            eprintln!("usage: replay FILE [L=1000,o=100,g=10,G=0,O=0,S=65535]");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = run(file, parameters) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
