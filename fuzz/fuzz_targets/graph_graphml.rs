//! `cargo fuzz run graph_graphml`: see the function of that name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fabricsim_fuzz::graph_graphml(bytes);
});
