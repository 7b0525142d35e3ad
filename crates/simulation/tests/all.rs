//! Whole runs, in one program: the engine is compiled once for each observer, and tests of all files run side by side.

mod captured_headers;
mod captures;
mod characterisation;
mod checkpoints;
mod checks;
mod closed_loop;
mod common;
mod congested_lanes;
mod congestion;
mod congestion_times;
mod congestion_trees;
mod credits;
mod deadlock;
mod demands;
mod determinism;
mod failed_switches;
mod fair_lanes;
mod fairness;
mod faults;
mod flow_control;
mod forks;
mod generated;
mod generator;
mod golden;
mod hops;
mod interrupt;
mod intervals;
mod invariants;
mod jobs;
mod lifetimes;
mod link_errors;
mod link_mtu;
mod looks;
mod lost_by_errors;
mod lost_messages;
mod md1;
mod measurement;
mod multicast;
mod pacers;
mod partition_keys;
mod partitions;
mod paths;
mod pauses;
mod perftest;
mod port_counters;
mod processes;
mod programs;
mod queue_pairs;
mod ranks_of_mpi;
mod ranks_on_a_host;
mod routers;
mod scale;
mod sequences;
mod service_levels;
mod session;
mod subnet_manager;
mod transfers;
mod vl_arbitration;
mod window_edges;
mod zero_load;

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
