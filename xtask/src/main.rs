//! Project chores: `cargo run -p xtask -- generate [--check]`, `... layers`, `... words`, `... sizes`.

#[cfg(test)]
mod callers;
mod examples;
mod generate;
mod layers;
mod options;
#[cfg(test)]
mod parts;
mod python;
mod reference;
mod results;
mod schema;
mod sizes;
mod words;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- TASK
  generate [--check]   write what is generated from the Rust types; with --check, say what is stale
  layers               check that every crate depends on lower layers only
  words                check that texts do not use refused spellings
  sizes                check that files have at most 400 lines, and functions of Python at most 70";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["layers"] => layers::check(),
        ["words"] => words::check(),
        ["sizes"] => sizes::check(),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
