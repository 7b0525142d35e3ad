//! Sequences of computing and operations: training steps, compared with closed forms.

use crate::common::{everything, prepare, run, try_prepare};
use fabricsim_measure::JobSummary;
use fabricsim_simulation::{Status, job_bounds, setting_warnings};

/// One switch. A message of s bytes takes s + 100 ns from its creation to its last byte's arrival.
pub(crate) const STAR: &str = r#"
[topology.single-switch]
hosts = 16
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "256 KiB"
[switch]
router_delay = "80 ns"
[host]
mtu = "64 KiB"
[[jobs]]
name = "job"
program = { sequence = { phases = [] } }
[run]
duration = "10 s"
"#;

pub(crate) const NETWORK_NS: f64 = 100.0;

/// The only job of a run on `ranks` hosts with the contents of a sequence.
fn job(sequence: &str, ranks: u32, more: &[(&str, &str)]) -> JobSummary {
    let program = format!("{{ sequence = {{ {sequence} }} }}");
    let ranks = ranks.to_string();
    let mut overrides = vec![("jobs.0.program", program.as_str()), ("jobs.0.ranks", ranks.as_str())];
    overrides.extend_from_slice(more);
    let mut outcome = run(STAR, &overrides);
    assert_eq!((outcome.status, outcome.defect.as_str()), (Status::Ok, ""));
    let found = outcome.summary.jobs.jobs.remove(0);
    let bound = job_bounds(&prepare(STAR, &overrides)).unwrap().remove(0);
    assert!(bound.time_ns <= found.time_ns, "{sequence}: bound {} time {}", bound.time_ns, found.time_ns);
    // On one switch permutations meet nowhere.
    if !sequence.contains("all-to-all-v") {
        assert_eq!(bound.time_ns, found.time_ns, "{sequence}");
        assert!((bound.exposed_ns - found.exposed_ns).abs() < 1e-6, "{sequence}: {bound:?} {found:?}");
    }
    found
}

/// A ring all-reduce of `bytes`, a multiple of p: 2 (p - 1) steps with a p-th of the vector each.
fn ring(bytes: u32, p: u32) -> f64 {
    2.0 * f64::from(p - 1) * (f64::from(bytes) / f64::from(p) + NETWORK_NS)
}

/// 2 (p - 1) / p · bytes / rate + 2 (p - 1) · (latency of a step), with the exact latency: equal to the nanosecond. Packets of 64 KiB
/// follow each other without a gap, since a buffer holds four of them.
#[test]
fn a_ring_all_reduce_of_100_mb_among_64_hosts_takes_its_closed_form() {
    let phases = "phases = [{ operation = { all-reduce = { message = '100 MB', algorithm = 'ring' } } }]";
    let job = job(phases, 64, &[("topology.single-switch.hosts", "64")]);
    assert_eq!(job.time_ns, 2.0 * 63.0 / 64.0 * 1e8 + 2.0 * 63.0 * NETWORK_NS);
    assert_eq!((job.compute_ns, job.exposed_ns), (0.0, job.time_ns));
    assert_eq!(job.bytes, 2 * 63 * 100_000_000);
}

#[test]
fn phases_add_up_and_what_is_not_computed_is_exposed() {
    let reduce = "all-reduce = { message = '8 kB', algorithm = 'ring' }";
    let phases = format!(
        "phases = [{{ compute = '3 us', operation = {{ {reduce} }} }}, {{ compute = '2 us' }}, \
         {{ operation = {{ all-to-all = {{ message = '500 B' }} }}, repeat = 2 }}]"
    );
    let job = job(&phases, 8, &[("jobs.0.iterations", "3")]);
    let communication = ring(8000, 8) + 2.0 * 7.0 * (500.0 + NETWORK_NS);
    assert_eq!(
        (job.iteration_ns.min, job.iteration_ns.max),
        (5000.0 + communication, 5000.0 + communication)
    );
    assert_eq!((job.compute_ns, job.exposed_ns), (5000.0, communication));
    assert_eq!(job.bytes, 3 * (2 * 7 * 8000 + 2 * 8 * 7 * 500));
}

/// n buckets of computing c and of exchanging x: n c + x where c is longer, else c + n x.
#[test]
fn buckets_are_exchanged_while_the_next_is_computed() {
    let (p, bytes) = (8, 64_000_u32);
    for buckets in [1, 2, 4, 8] {
        for compute in [8000, 80_000, 800_000] {
            let phase = format!(
                "compute = '{compute} ns', operation = {{ all-reduce = {{ message = '{bytes} B', algorithm = 'ring' }} \
                 }}, buckets = {buckets}"
            );
            let (c, x) = (f64::from(compute) / f64::from(buckets), ring(bytes / buckets, p));
            let expected = f64::from(buckets - 1) * c.max(x) + c + x;
            let found = job(&format!("phases = [{{ {phase} }}]"), p, &[]);
            assert_eq!(found.time_ns, expected, "{buckets} buckets, {compute} ns");
            assert_eq!(found.exposed_ns, expected - f64::from(compute));
            // The next phase waits for the buckets, unless they overlap with it.
            let then = "{ compute = '1 ms' }";
            let waits = job(&format!("phases = [{{ {phase} }}, {then}]"), p, &[]);
            assert_eq!(waits.time_ns, expected + 1e6);
            let beside = job(&format!("phases = [{{ {phase}, overlap = true }}, {then}]"), p, &[]);
            assert_eq!(beside.time_ns, expected.max(f64::from(compute) + 1e6), "{buckets}, {compute}");
        }
    }
}

/// Groups that differ in another dimension do not meet on the links of hosts, so that each takes the time of its own.
#[test]
fn groups_of_a_dimension_work_side_by_side() {
    for (group, p) in
        [("tensor", 2), ("data", 4), ("pipeline", 2), ("expert", 2), ("expert-data", 2), ("all", 16)]
    {
        let phases = format!(
            "tensor = 2, pipeline = 2, expert = 2, phases = [{{ operation = {{ all-reduce = {{ message = '16 kB', \
             algorithm = 'ring' }} }}, group = '{group}' }}]"
        );
        let found = job(&phases, 16, &[]);
        assert_eq!(found.time_ns, ring(16_000, p), "{group}");
        assert_eq!(found.bytes, u64::from(16 / p * 2 * (p - 1)) * 16_000, "{group}");
    }
}

/// One micro-batch goes through all stages and back: S (f + b) + 2 (S - 1) t with a transfer of t.
#[test]
fn one_micro_batch_goes_through_all_stages_and_back() {
    for stages in [2_u32, 3, 4, 8] {
        let found = job(&pipeline(stages, 1, 700), stages, &[]);
        let t = 700.0 + NETWORK_NS;
        assert_eq!(found.time_ns, f64::from(stages) * 3e4 + 2.0 * f64::from(stages - 1) * t);
        assert_eq!(found.compute_ns, 3e4);
    }
}

/// 1F1B with two stages: the last stage begins after f + t, has two micro-batches at most, and waits 2 t for every other one; the
/// first stage ends t + b later. In total f + t + M (f + b) + 2 t floor((M - 1) / 2) + t + b.
#[test]
fn micro_batches_of_two_stages_follow_each_other() {
    for count in 1..8_u32 {
        let t = 700.0 + NETWORK_NS;
        let rounds = f64::from((count - 1) / 2);
        let expected = 2.0 * t + (f64::from(count) + 1.0) * 3e4 + 2.0 * t * rounds;
        assert_eq!(job(&pipeline(2, count, 700), 2, &[]).time_ns, expected, "{count} micro-batches");
    }
}

/// Where transfers take little time, an iteration of 1F1B takes (M + S - 1) (f + b): D. Narayanan et al. 2021, section 2.2. A transfer
/// of 101 ns adds at most 2 t for each micro-batch and stage.
#[test]
fn the_bubble_of_a_pipeline_is_that_of_its_schedule() {
    for (stages, count) in [(4_u32, 4_u32), (4, 8), (8, 8), (8, 16), (3, 2)] {
        let ideal = f64::from(count + stages - 1) * 3e4;
        let found = job(&pipeline(stages, count, 1), stages, &[]).time_ns;
        let transfers = 2.0 * f64::from(count + stages) * (1.0 + NETWORK_NS);
        assert!(found > ideal && found <= ideal + transfers, "{stages} {count}: {found} {ideal}");
    }
}

fn pipeline(stages: u32, count: u32, bytes: u32) -> String {
    format!(
        "pipeline = {stages}, micro_batches = {{ count = {count}, message = '{bytes} B', forward = [{{ compute = '10 us' \
         }}], backward = [{{ compute = '20 us' }}] }}"
    )
}

/// Blocks for one rank are three times the mean: its link is the last to be done, with 7 blocks of 3 x 700 B, after the latency.
#[test]
fn an_uneven_all_to_all_takes_the_time_of_the_busiest_link() {
    for back in [false, true] {
        let phases = format!(
            "phases = [{{ operation = {{ all-to-all-v = {{ message = '700 B', imbalance = 3.0, hot = 2, back = {back} }} }} \
             }}]"
        );
        let found = job(&phases, 8, &[]);
        let hot = 7.0 * 3.0 * 700.0;
        assert!(found.time_ns >= hot + NETWORK_NS, "{}", found.time_ns);
        // The block that is sent to it last may come when all others are there.
        assert!(found.time_ns <= hot + 2.0 * 2100.0 + NETWORK_NS, "{}", found.time_ns);
        assert_eq!(found.bytes, 7 * (2100 + 7 * 500));
    }
}

/// Everything at once, on an adaptive network that delivers packets in any order, beside another job.
const CROWD: &str = r#"
[topology.fat-tree]
arity = 4
levels = 2
[switch]
virtual_lanes = 2
[routing]
algorithm = "up-down-adaptive"
[host]
open_messages = 2
mtu = "256 B"
[[jobs]]
name = "training"
placement = "random"
iterations = 2
[jobs.program.sequence]
tensor = 2
pipeline = 2
expert = 2
[jobs.program.sequence.micro_batches]
count = 4
message = "3 kB"
forward = [
    { compute = "500 ns", operation = { all-reduce = { message = "2 kB" } }, group = "tensor", repeat = 2 },
    { operation = { all-to-all-v = { message = "600 B", imbalance = 1.4 } }, group = "expert" },
]
backward = [{ compute = "2 us", operation = { all-reduce = { message = "2 kB" } }, group = "tensor" }]
last_backward = [
    { compute = "2 us", operation = { all-reduce = { message = "8 kB", algorithm = "ring" } }, group = "data", buckets = 3, overlap = true },
    { compute = "1 us", operation = { shift = { message = "2 kB" } }, group = "tensor" },
]
[[jobs.program.sequence.phases]]
operation = { barrier = {} }
[[jobs]]
name = "other"
program = { all-to-all = { message = "1500 B" } }
[run]
duration = "5 ms"
[measure]
bin = "5 us"
"#;

#[test]
fn a_crowd_of_sequences_ends_alike_in_every_number_of_partitions() {
    let alone = run(CROWD, &[]);
    assert_eq!((alone.status, alone.invariants.in_flight), (Status::Ok, 0));
    let jobs = &alone.summary.jobs.jobs;
    assert!(jobs.iter().all(|job| job.done == job.iterations), "{jobs:?}");
    assert_eq!(jobs[0].compute_ns, 3.0 * 2000.0 + 3000.0 + 4.0 * 1000.0);
    for (bound, job) in job_bounds(&prepare(CROWD, &[])).unwrap().iter().zip(jobs) {
        assert!(bound.time_ns <= job.time_ns, "{bound:?} {job:?}");
    }
    for partitions in ["2", "3", "7"] {
        let other = run(CROWD, &[("run.partitions", partitions)]);
        assert!(everything(&other) == everything(&alone), "{partitions} partitions");
    }
}

/// 80 us of computing forward and 160 us backward in two micro-batches; then 16 kB of gradients are summed over 8 ranks.
#[test]
fn a_data_parallel_training_step_computes_and_sums_its_gradients() {
    let training = |more: &str| {
        let program = format!(
            "{{ training = {{ parameters = 8000, layers = 8, hidden = 4, tokens = 5, flops = 1e9, micro_batches = 2, {more} }} }}"
        );
        let mut outcome = run(STAR, &[("jobs.0.program", &program), ("jobs.0.ranks", "8")]);
        outcome.summary.jobs.jobs.remove(0)
    };
    let all = training("");
    assert_eq!((all.compute_ns, all.time_ns), (480_000.0, 480_000.0 + ring(16_000, 8)));
    assert_eq!(all.bytes, 2 * 7 * 16_000);
    // All sums but the last take less time than the computing of a part.
    let parts = training("buckets = 4");
    assert_eq!((parts.time_ns, parts.bytes), (480_000.0 + ring(4000, 8), 2 * 7 * 16_000));
    let experts = "expert = 4, experts = { count = 8, parameters = 4000, imbalance = 2.0 }";
    let mixed = training(experts);
    // Half the parameters are active in part: 2 of 8 experts, twice as long for the busiest rank.
    assert_eq!(mixed.compute_ns, 240_000.0 + 240_000.0 / 4.0 * 2.0);
    let block = 5 * 4 * 2 * 2 / 4;
    let exchanges = 2 * (8 * 2 * 2) * 2 * (3 * (2 * block + 3 * 13));
    assert_eq!(mixed.bytes, 2 * 7 * 8000 + 4 * 2 * 2000 + exchanges);
}

/// The second job begins on each host when the first has ended there: both together take the sum of their times.
#[test]
fn a_job_begins_after_another() {
    let second =
        "[[jobs]]\nname = 'second'\nafter = 'job'\nprogram = { all-to-all = { message = '500 B' } }\n";
    let text = STAR.replace("[run]", &format!("{second}[run]"));
    let first = "{ sequence = { phases = [{ compute = '3 us', operation = { barrier = {} } }] } }";
    let more = [("jobs.0.program", first), ("jobs.0.iterations", "2")];
    let jobs = run(&text, &more).summary.jobs.jobs;
    let end = 2.0 * (3000.0 + 4.0 * (8.0 + NETWORK_NS));
    assert_eq!((jobs[0].end_ns, jobs[1].start_ns), (end, end));
    assert_eq!(jobs[1].end_ns, end + 15.0 * (500.0 + NETWORK_NS));
    let bounds = job_bounds(&prepare(&text, &more)).unwrap();
    assert_eq!((bounds[0].time_ns, bounds[1].time_ns), (jobs[0].time_ns, jobs[1].time_ns));
    // On hosts without the first job it begins at once.
    let fewer = run(&text, &[more[0], more[1], ("jobs.0.hosts", "['H0', 'H1']")]).summary.jobs.jobs;
    assert_eq!((fewer[1].start_ns, fewer[1].done), (0.0, 1));
    assert!(fewer[1].end_ns >= fewer[0].end_ns + 500.0 + NETWORK_NS);
    let error = try_prepare(&text, &[more[0], ("jobs.1.after", "first")]).unwrap_err();
    assert!(
        error.contains("jobs.1.after: \"first\" is not the name of a job before this one: give one of job"),
        "{error}"
    );
}

/// A job that waits for nothing, since the job before it is on other hosts, begins at once, and is warned of.
#[test]
fn a_job_after_one_on_other_hosts_is_warned_of() {
    let second =
        "[[jobs]]\nname = 'second'\nafter = 'job'\nprogram = { all-to-all = { message = '500 B' } }\n";
    let text = STAR.replace("[run]", &format!("{second}[run]"));
    let program = ("jobs.0.program", "{ barrier = {} }");
    let of = |first: &str, second: &str| {
        let changes = [program, ("jobs.0.hosts", first), ("jobs.1.hosts", second)];
        setting_warnings(&prepare(&text, &changes))
    };
    assert_eq!(
        of("['H0', 'H1']", "['H2', 'H3']"),
        [
            "jobs.second.after has no effect: no rank of \"second\" is on a host of \"job\", and ranks begin at `start`"
        ]
    );
    assert_eq!(of("['H0', 'H1']", "['H1', 'H2']"), Vec::<String>::new());
}

fn refused(sequence: &str, expected: &str) {
    let program = format!("{{ sequence = {{ {sequence} }} }}");
    let error = try_prepare(STAR, &[("jobs.0.program", &program)]).unwrap_err();
    assert!(error.contains(expected), "{sequence}: {error}");
}

#[test]
fn dimensions_that_do_not_divide_the_ranks_are_refused() {
    let cases = [
        ("phases = []", "jobs.0.program.sequence: no rank sends anything: give a phase an operation"),
        ("phases = [{ compute = '1 us' }]", "no rank sends anything"),
        (
            "tensor = 3",
            "jobs.0.program.sequence.tensor: 3 ranks do not divide the 16 ranks of the job: give one of 1, 2, 4",
        ),
        (
            "tensor = 2, pipeline = 16",
            "sequence.pipeline: 16 ranks do not divide the 8 ranks that the tensor dimension leaves: give one of 1, 2, 4, 8",
        ),
        (
            "tensor = 2, expert = 3",
            "sequence.expert: 3 ranks do not divide the 8 ranks of the data dimension",
        ),
        ("tensor = 0", "jobs.0.program.sequence.tensor: 0 is not allowed: give at least 1"),
        ("phase = []", "did you mean `phases`?"),
    ];
    for (sequence, expected) in cases {
        refused(sequence, expected);
    }
}

#[test]
fn phases_that_make_no_sense_are_refused() {
    let reduce = "operation = { all-reduce = { message = '4 B' } }";
    let cases: [(&str, &str); 7] = [
        (
            &format!("phases = [{{ {reduce}, buckets = 5 }}]"),
            "phases.0.buckets: 5 buckets are not possible with all-reduce: each needs a byte",
        ),
        (
            "phases = [{ operation = { barrier = {} }, buckets = 2 }]",
            "phases.0.buckets: 2 buckets are not possible with barrier: it has no `message` to divide",
        ),
        (
            &format!(
                "pipeline = 2, micro_batches = {{ count = 1, message = '1 B', forward = [{{ {reduce} }}] }}"
            ),
            "micro_batches.forward.0.group: the 2 stages of the pipeline are at different micro-batches",
        ),
        (
            &format!("micro_batches = {{ count = 1, message = '1 B', last_backward = [{{ {reduce} }}] }}"),
            "micro_batches.backward: `last_backward` needs it",
        ),
        (
            "phases = [{ operation = { all-to-all-v = { message = '1 B', imbalance = 16.5 } } }]",
            "phases.0.operation.all-to-all-v.imbalance: 16.5 is not allowed among 16 ranks: one rank has at most all blocks",
        ),
        (
            "phases = [{ operation = { broadcast = { message = '1 B', root = 16 } } }]",
            "jobs.0.program.sequence.phases.0.operation.broadcast.root: no rank 16: must be 0 to 15",
        ),
        (
            &format!("phases = [{{ {reduce}, repeat = 65536 }}, {{ {reduce}, repeat = 40000 }}]"),
            "program.sequence: a rank computes and takes part in 211072 operations in an iteration, at most 100000",
        ),
    ];
    for (sequence, expected) in cases {
        refused(sequence, expected);
    }
    let program = format!("{{ sequence = {{ phases = [{{ {reduce} }}] }} }}");
    let more = [("jobs.0.program", program.as_str()), ("jobs.0.outstanding", "2")];
    let error = try_prepare(STAR, &more).unwrap_err();
    assert!(error.contains("no meaning with `sequence`: its phases have an order"), "{error}");
}
