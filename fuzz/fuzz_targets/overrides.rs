//! Values set on top of a file: a key and a value in turn, one to a line.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let lines: Vec<&str> = text.lines().collect();
    let overrides: Vec<(String, String)> =
        lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
    match fabricsim_spec::read(fabricsim_fuzz::EXPERIMENT, "e.toml", &overrides) {
        Ok(experiment) => fabricsim_fuzz::build(&experiment),
        Err(error) => drop(error.located(fabricsim_fuzz::EXPERIMENT, &overrides).to_string()),
    }
});
