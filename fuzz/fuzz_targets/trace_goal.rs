//! `cargo fuzz run trace_goal`: see the function of that name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fabricsim_fuzz::trace_goal(bytes);
});
