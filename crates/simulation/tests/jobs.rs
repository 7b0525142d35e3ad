//! Jobs: collectives on a fabric.

use crate::common::{everything, run, try_prepare};
use fabricsim_measure::JobSummary;
use fabricsim_simulation::{Outcome, Status};

/// One switch. A message of s bytes takes s + 100 ns from its making to its last byte's arrival.
const STAR: &str = r#"
[topology.single-switch]
hosts = 16
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[switch]
router_delay = "80 ns"
[host]
mtu = "64 KiB"
[[jobs]]
name = "job"
program = { barrier = {} }
[run]
duration = "10 ms"
"#;

const NETWORK_NS: f64 = 100.0;

fn of_job(program: &str, ranks: u32, more: &[(&str, &str)]) -> Outcome {
    let ranks = ranks.to_string();
    let mut overrides = vec![("jobs.0.program", program), ("jobs.0.ranks", ranks.as_str())];
    overrides.extend_from_slice(more);
    let outcome = run(STAR, &overrides);
    assert_eq!((outcome.status, outcome.defect.as_str()), (Status::Ok, ""));
    outcome
}

fn job(outcome: &Outcome) -> &JobSummary {
    &outcome.summary.jobs.jobs[0]
}

fn time(program: &str, ranks: u32) -> f64 {
    let outcome = of_job(program, ranks, &[]);
    assert_eq!(outcome.end.as_ns_f64(), job(&outcome).end_ns, "the run ends with its job");
    job(&outcome).time_ns
}

/// Without contention a step takes the time of a message, where every rank sends one and waits for one. (Among ranks on one
/// switch the steps of these algorithms are permutations, so that there is none.)
#[test]
fn collectives_take_the_sum_of_their_steps() {
    let step = |bytes: u32| f64::from(bytes) + NETWORK_NS;
    for p in [2, 3, 7, 8, 12, 16_u32] {
        let steps = f64::from(p - 1);
        let doublings = f64::from(p.next_power_of_two().trailing_zeros());
        for (program, expected) in [
            ("{ barrier = {} }".to_owned(), doublings * step(8)),
            ("{ all-to-all = { message = '500 B' } }".to_owned(), steps * step(500)),
            (
                "{ all-to-all = { message = '500 B', algorithm = 'ring' } }".to_owned(),
                (1..p).map(|blocks| step(blocks * 500)).sum(),
            ),
            ("{ all-gather = { message = '500 B' } }".to_owned(), steps * step(500)),
            (
                "{ all-gather = { message = '500 B', algorithm = 'bruck' } }".to_owned(),
                doublings * NETWORK_NS + steps * 500.0,
            ),
            (
                format!("{{ all-reduce = {{ message = '{} B', algorithm = 'ring' }} }}", p * 100),
                2.0 * steps * step(100),
            ),
            ("{ broadcast = { message = '500 B', root = 1 } }".to_owned(), f64::NAN),
        ] {
            let found = time(&program, p);
            if expected.is_nan() {
                // A rank that sends to k others in a row does so every 500 ns; the last to be reached is a leaf.
                assert!(found >= doublings * 500.0 + NETWORK_NS && found <= doublings * step(500), "{found}");
            } else {
                assert_eq!(found, expected, "{program} of {p}");
            }
        }
    }
}

/// 2 log2 p steps; halving sends (p - 1) / p of the vector in all, and so does doubling. Where p is no power of two there is a
/// step of the whole vector before and after, and ranks that do not take part in it run ahead: their messages meet others at
/// the receiver's link, which adds at most a vector for each step.
#[test]
fn all_reduces_of_powers_of_two_and_others() {
    let vector = 4800.0;
    for (p, log, fold) in
        [(2, 1.0, false), (8, 3.0, false), (16, 4.0, false), (12, 3.0, true), (5, 2.0, true)]
    {
        let halved = vector * (1.0 - f64::powf(2.0, -log));
        for (algorithm, core) in [
            ("recursive-doubling", log * (vector + NETWORK_NS)),
            ("rabenseifner", 2.0 * (halved + log * NETWORK_NS)),
        ] {
            let program = format!("{{ all-reduce = {{ message = '4800 B', algorithm = '{algorithm}' }} }}");
            let found = time(&program, p);
            if fold {
                let least = core + 2.0 * (vector + NETWORK_NS);
                assert!(found >= least && found <= least + log * vector, "{algorithm} {p}: {found}");
            } else {
                assert_eq!(found, core, "{algorithm} {p}");
            }
        }
    }
}

#[test]
fn an_fft_computes_between_its_transposes() {
    // 16 elements of 16 bytes for each pair of ranks.
    let found = time("{ fft = { elements = 1024, compute = '7 us' } }", 8);
    assert_eq!(found, 3.0 * (7.0 * (256.0 + NETWORK_NS) + 7000.0));
}

/// Whether and when a run looks at congestion changes nothing: also not its end, if it looks while the last ranks compute.
#[test]
fn looks_do_not_end_a_job() {
    let program = "{ fft = { elements = 1024, compute = '7 us' } }";
    let expected = of_job(program, 8, &[]);
    for interval in ["\"317 ns\"", "\"3125 ns\"", "\"10 us\"", "\"1 ms\""] {
        let found = of_job(program, 8, &[("measure.congestion_interval", interval)]);
        assert_eq!((found.end, found.totals), (expected.end, expected.totals), "{interval}");
        assert_eq!(job(&found), job(&expected), "{interval}");
        assert_eq!(found.summary.hosts, expected.summary.hosts, "{interval}");
    }
}

#[test]
fn neighbours_are_told_one_after_the_other() {
    // Four messages leave in a row; the last one's arrival, and its computing.
    let found = time("{ neighbour-exchange = { grid = [4, 4], message = '500 B', compute = '1 us' } }", 16);
    assert!(found >= 4.0 * 500.0 + NETWORK_NS + 1000.0, "{found}");
    assert!(found <= 7.0 * 500.0 + NETWORK_NS + 1000.0, "{found}");
}

#[test]
fn iterations_delays_and_starts_add_up() {
    let more = [("jobs.0.iterations", "5"), ("jobs.0.start", "3 us"), ("jobs.0.step_delay", "50 ns")];
    let outcome = of_job("{ barrier = {} }", 8, &more);
    let once = 3.0 * (8.0 + NETWORK_NS + 50.0);
    let job = job(&outcome);
    assert_eq!((job.done, job.start_ns, job.end_ns), (5, 3000.0, 3000.0 + 5.0 * once));
    assert_eq!((job.iteration_ns.min, job.iteration_ns.mean, job.iteration_ns.max), (once, once, once));
    assert_eq!(job.bytes, 5 * 3 * 8 * 8);
    let rate = (5.0 * 3.0 * 8.0 * 8.0) / (5.0 * once);
    assert!((job.gbps_per_rank - rate).abs() < 1e-12);
    assert_eq!(outcome.summary.jobs.job_time_ns, Some(5.0 * once));
}

#[test]
fn steps_that_may_overlap_hide_the_latency() {
    let program = "{ all-to-all = { message = '500 B' } }";
    let found = job(&of_job(program, 16, &[("jobs.0.outstanding", "15")])).time_ns;
    // All leave in a row, each in turn to another receiver.
    assert_eq!(found, 15.0 * 500.0 + NETWORK_NS);
    // Two are enough where a message takes longer than the way.
    let two = job(&of_job(program, 16, &[("jobs.0.outstanding", "2")])).time_ns;
    assert_eq!(found, two);
}

/// Programs of all kinds at once, on the same hosts, adaptive routing, packets out of order.
const CROWD: &str = r#"
[topology.fat-tree]
arity = 3
levels = 2
[switch]
virtual_lanes = 2
[routing]
algorithm = "up-down-adaptive"
[host]
open_messages = 2
mtu = "256 B"
[[jobs]]
program = { all-to-all = { message = "1500 B" } }
iterations = 3
outstanding = 3
[[jobs]]
program = { all-reduce = { message = "5 kB", algorithm = "rabenseifner" } }
placement = "random"
ranks = 7
iterations = 4
[[jobs]]
program = { neighbour-exchange = { grid = [2, 2, 2], message = "700 B", periodic = false } }
placement = { strided = 2 }
ranks = 8
iterations = 9
start = "2 us"
[[jobs]]
program = { fft = { elements = 8100, algorithm = "bruck", compute = "1 us" } }
[run]
duration = "5 ms"
[measure]
bin = "5 us"
"#;

#[test]
fn a_crowd_of_jobs_ends_alike_in_every_number_of_partitions() {
    let alone = run(CROWD, &[]);
    assert_eq!((alone.status, alone.invariants.in_flight), (Status::Ok, 0));
    assert!(
        alone.summary.jobs.jobs.iter().all(|job| job.done == job.iterations),
        "{:?}",
        alone.summary.jobs.jobs
    );
    assert!(alone.end.as_ns_f64() < 5e6, "the run ends early");
    for partitions in ["2", "3", "7"] {
        let other = run(CROWD, &[("run.partitions", partitions)]);
        assert!(everything(&other) == everything(&alone), "{partitions} partitions");
    }
    assert_ne!(run(CROWD, &[("seed", "2")]).totals.fingerprint, alone.totals.fingerprint);
}

#[test]
fn a_run_with_other_traffic_goes_on() {
    let traffic = "[[traffic]]\npattern = 'uniform'\nload = 0.1\nmessage = '64 B'\n";
    let outcome = run(&format!("{STAR}{traffic}"), &[("run.duration", "100 us")]);
    assert_eq!(outcome.end.as_ns_f64(), 1e5);
    assert_eq!(outcome.summary.jobs.jobs[0].done, 1);
    assert_eq!(outcome.summary.measured_ns, 1e5);
}

#[test]
fn the_measurement_ends_with_the_jobs() {
    let outcome = of_job("{ all-to-all = { message = '500 B' } }", 16, &[]);
    assert_eq!(outcome.summary.measured_ns, outcome.end.as_ns_f64());
    // Every link carries 500 of each 600 ns.
    assert!((outcome.summary.hosts.accepted_load - 500.0 / 600.0).abs() < 1e-12);
    assert_eq!(outcome.summary.hosts.offered_load, outcome.summary.hosts.accepted_load);
}

#[test]
fn a_job_that_is_not_done_is_told() {
    let outcome = of_job("{ barrier = {} }", 8, &[("jobs.0.iterations", "100"), ("run.duration", "1 us")]);
    let job = job(&outcome);
    assert_eq!((job.done, job.iterations), (3, 100));
    assert!(outcome.summary.jobs.job_time_ns.unwrap().is_nan());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        (
            "jobs.0.ranks",
            "17",
            "jobs.0.ranks: 17 ranks do not fit: there is one on each host, and `hosts` stands for 16",
        ),
        ("jobs.0.ranks", "1", "jobs.0.ranks: 1 is not allowed: give at least 2"),
        ("jobs.0.hosts", "['H1']", "jobs.0.hosts: 1 rank is out of range"),
        ("jobs.0.hosts", "['G1']", "jobs.0.hosts: \"G1\" is neither a host nor a group"),
        ("jobs.0.iterations", "0", "jobs.0.iterations: 0 is not allowed: give at least 1"),
        (
            "jobs.0.iterations",
            "4294967295",
            "jobs.0.iterations: 4294967295 iterations of 4 steps each are too many",
        ),
        ("jobs.0.outstanding", "0", "jobs.0.outstanding: 0 is not allowed"),
        (
            "jobs.0.outstanding",
            "2",
            "jobs.0.outstanding: this has no meaning with `barrier`: each step depends on",
        ),
        (
            "jobs.0.placement",
            "{ strided = 0 }",
            "jobs.0.placement.strided: 0 is not allowed: give at least 1",
        ),
        ("jobs.0.placement", "liner", "did you mean `linear`?"),
        ("jobs.0.service_class", "1", "jobs.0.service_class: 1 is not allowed: service classes are 0 to 0"),
        (
            "jobs.0.program",
            "{ all-to-all = { message = '1 B', algorithm = 'brock' } }",
            "jobs.0.program.all-to-all.algorithm: unknown variant `brock`",
        ),
        ("jobs.0.program", "{ all-two-all = { message = '1 B' } }", "did you mean `all-to-all`?"),
        (
            "jobs.0.program",
            "{ neighbour-exchange = { grid = [5, 3], message = '1 B' } }",
            "5 x 3 = 15 does not have 16 positions, the number of ranks: for example [4, 4]",
        ),
    ];
    for (key, value, expected) in cases {
        let error = try_prepare(STAR, &[(key, value)]).unwrap_err();
        assert!(error.contains(expected), "{key} = {value}: {error}");
    }
    let twice = format!("{STAR}[[jobs]]\nname = 'job'\nprogram = {{ barrier = {{}} }}\n");
    let error = try_prepare(&twice, &[]).unwrap_err();
    assert!(error.contains("jobs.1.name: \"job\" is the name of another job"), "{error}");
}
