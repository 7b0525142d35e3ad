//! The engine alone, in one program: it is compiled once for each observer, and tests of all files run side by side.

mod common;
mod direct;
mod dragonfly;
mod head_delay;
mod held_outputs;
mod hop_choices;
mod infiniband_model;
mod p_keys;
mod saturation;
mod self_flows;
mod separable;
mod staging;
mod stalls;
mod transfers;
mod transport;
mod transport_progress;

/// A file that is not named above would not be compiled.
#[test]
fn every_file_is_named() {
    let (folder, named) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests"), include_str!("all.rs"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap();
        let is_module = path.extension().is_some_and(|e| e == "rs") && module != "all";
        assert!(
            !is_module || named.lines().any(|line| line == format!("mod {module};")),
            "{module} is not in all.rs"
        );
    }
}
