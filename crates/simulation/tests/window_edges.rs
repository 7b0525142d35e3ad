//! A measurement may end before its time: by steady state, with the last job, in a deadlock, when it is cancelled. In all
//! cases what it counts fits into its length, and tables agree.

use crate::common::tables::{check, numbers, texts};
use crate::common::{cancelled, prepare, run};
use fabricsim_simulation::{Outcome, Status};

/// Packets that take 16 us on links that are never idle.
const SLOW: &str = r#"
[topology.torus]
dimensions = [4]
hosts_per_switch = 2
[links.all]
rate = "1 Gb/s"
buffer = "4 KiB"
{links}
[switch]
virtual_lanes = 2
[host]
mtu = "2 KiB"
[[traffic]]
pattern = "tornado"
injection = "saturating"
message = "2 KiB"
[run]
duration = "400 us"
{run}
[measure]
link_series = true
"#;
const PACKET: f64 = 2048.0;

fn slow(links: &str, run: &str) -> String {
    SLOW.replace("{links}", links).replace("{run}", run)
}

/// Length of the measurement as a part of the whole, and the largest use of a port.
fn measured(outcome: &Outcome) -> (f64, f64) {
    let mut ports = std::collections::BTreeMap::<String, f64>::new();
    for (name, part) in
        texts(outcome, "links", "link").into_iter().zip(numbers(outcome, "links", "utilisation"))
    {
        *ports.entry(name).or_default() += part;
    }
    (outcome.summary.measured_ns, ports.into_values().fold(0.0, f64::max))
}

#[test]
fn a_link_that_is_never_idle_is_used_for_all_of_a_measurement() {
    // Batches as long as a third of a packet: the window opens and closes in the middle of packets.
    for (batch, retries) in [("5 us", false), ("7 us", false), ("5 us", true)] {
        let links = if retries { "bit_error_rate = 1e-6" } else { "" };
        let steady = format!("steady_state = {{ precision = 0.9, batch = \"{batch}\" }}");
        for drain in ["none", "measured"] {
            let text = slow(links, &steady);
            let alone = run(&text, &[("run.drain", drain)]);
            assert_eq!(check(&alone, PACKET), Ok(()), "{batch} {drain}");
            let (length, used) = measured(&alone);
            assert!(length > 0.0 && length < 400_000.0, "{length}");
            assert!((used - 1.0).abs() < 1e-12, "{batch} {drain}: {used}");
        }
    }
}

#[test]
fn a_measurement_that_ends_with_the_last_job_holds_what_it_counts() {
    for (warmup, mtu) in [("0 s", "2 KiB"), ("0 s", "256 B"), ("30 us", "2 KiB"), ("10 ms", "2 KiB")] {
        let text = r#"
[topology.torus]
dimensions = [4]
hosts_per_switch = 2
[links.all]
rate = "1 Gb/s"
[[jobs]]
program = { all-to-all = { message = "2 KiB" } }
[run]
duration = "100 ms"
[measure]
link_series = true
"#;
        let warmup = format!("'{warmup}'");
        let mtu = format!("'{mtu}'");
        let outcome = run(text, &[("run.warmup", &warmup), ("host.mtu", &mtu)]);
        assert_eq!(outcome.status, Status::Ok);
        assert!(outcome.end.as_ns_f64() < 11e6);
        assert_eq!(check(&outcome, PACKET), Ok(()), "{warmup} {mtu}");
    }
}

#[test]
fn a_deadlock_ends_a_measurement_in_the_middle_of_packets() {
    let text = slow("", "allow_deadlock = true");
    for duration in ["1 ms", "100 us", "17 us", "1 us"] {
        let duration = format!("'{duration}'");
        for lanes in ["1", "2"] {
            let overrides = [("switch.virtual_lanes", lanes), ("run.duration", &duration)];
            let outcome = run(&text, &overrides);
            assert_eq!(check(&outcome, PACKET), Ok(()), "{duration}, {lanes} lanes: {:?}", outcome.status);
        }
    }
}

#[test]
fn a_cancelled_run_counts_no_more_than_its_time() {
    let prepared = prepare(&slow("", "").replace("400 us", "100 ms"), &[]);
    let outcome = cancelled(&prepared);
    assert_eq!(check(&outcome, PACKET), Ok(()));
}

#[test]
fn every_number_of_partitions_cuts_off_the_same() {
    let text = slow("", "steady_state = { precision = 0.9, batch = \"7 us\" }");
    let alone = crate::common::everything(&run(&text, &[]));
    for partitions in ["2", "3"] {
        assert!(
            crate::common::everything(&run(&text, &[("run.partitions", partitions)])) == alone,
            "{partitions}"
        );
    }
}
