//! The text of an experiment file.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(experiment) = fabricsim_spec::read(text, "e.toml", &[]) {
        fabricsim_fuzz::build(&experiment);
    }
});
