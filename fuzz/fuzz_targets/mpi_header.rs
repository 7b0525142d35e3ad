//! `cargo fuzz run mpi_header`: see the function of that name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fabricsim_fuzz::mpi_header(bytes);
});
