//! `cargo fuzz run trace_dumpi`: see the function of that name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fabricsim_fuzz::trace_dumpi(bytes);
});
