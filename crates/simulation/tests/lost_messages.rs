//! Warnings for lost messages for which ranks of jobs, or windows of requests, wait for ever while other traffic goes on.

use crate::common::{balanced, run};

/// A row of eight switches with a job, requests in a closed loop, and traffic that waits for nothing, over one link that fails.
const ROW: &str = r#"
topology.mesh = { dimensions = [8], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "1 us"
buffer = "8 KiB"
[host]
mtu = "256 B"
[[traffic]]
name = "background"
sources = ["H(0).0"]
pattern = { to = "H(7).0" }
injection = "constant"
load = 0.1
message = "256 B"
[run]
duration = "400 us"
[faults]
plan = [{ link = "S(3)-S(4)", at = "20 us", until = "60 us" }]
"#;
const JOB: &str = r#"
[[jobs]]
name = "solver"
ranks = 8
iterations = 100
program = { all-reduce = { message = "8 KiB" } }
"#;
const LOOP: &str = r#"
[[traffic]]
name = "reads"
sources = ["H(1).0"]
pattern = { to = "H(6).0" }
injection = "window"
window = 4
message = "64 B"
response = { message = "1 KiB" }
"#;

fn warnings(parts: &[&str], overrides: &[(&str, &str)]) -> Vec<String> {
    let text = parts.concat();
    let outcome = run(&text, overrides);
    balanced(&outcome);
    assert!(outcome.totals.lost.link_failed > 0, "{:?}", outcome.totals);
    let again = run(&text, &[overrides, &[("run.partitions", "3")]].concat());
    assert_eq!(outcome.warnings, again.warnings);
    outcome.warnings.into_iter().filter(|line| line.contains("nothing retransmits")).collect()
}

/// The traffic in the background goes on, so that the run does not become idle: the job is named all the same.
#[test]
fn a_job_that_waits_for_a_lost_message_is_named() {
    let found = warnings(&[ROW, JOB], &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("jobs.solver has lost "), "{found:?}");
    assert!(found[0].contains("the ranks that need their messages wait for ever"), "{found:?}");
}

/// Each lost request or response takes a place of the window.
#[test]
fn a_window_that_has_lost_places_is_named() {
    let found = warnings(&[ROW, LOOP], &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("traffic.reads"), "{found:?}");
    assert!(found[0].contains("a place of the window"), "{found:?}");
    assert_eq!(warnings(&[ROW, JOB, LOOP], &[]).len(), 2);
}

/// Traffic that waits for nothing loses packets and no more, and what is retransmitted is not lost.
#[test]
fn what_is_retransmitted_or_not_needed_is_not_named() {
    assert_eq!(warnings(&[ROW], &[]), [""; 0]);
    let retransmits: [&[_]; 2] = [
        &[("transport.mode", "\"unordered\""), ("transport.timeout", "\"50 us\"")],
        &[("queue_pairs.timeout", "4"), ("host.mtu", "\"302 B\"")],
    ];
    for with in retransmits {
        assert_eq!(warnings(&[ROW, JOB, LOOP], with), [""; 0], "{with:?}");
    }
}
