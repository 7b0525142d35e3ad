//! `cargo fuzz run subnet_torus`: see the function of that name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fabricsim_fuzz::subnet_torus(bytes);
});
