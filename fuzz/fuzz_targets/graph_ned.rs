//! A graph file, `.ned`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fabricsim_fuzz::graph(bytes, fabricsim_topology::Format::Ned));
