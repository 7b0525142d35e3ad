//! Several ranks of a job on a host: messages between them do not enter the network.

use crate::common::{prepare, run};
use crate::sequences::{NETWORK_NS, STAR};
use fabricsim_simulation::{Control, Status, job_bounds, simulate};

const LOCAL: [(&str, &str); 2] = [("host.local.rate", "'80 Gb/s'"), ("host.local.latency", "'5 ns'")];

/// Two hosts of four ranks. Tensor groups stay on a host: a ring of four, each step of 200 B at 10 B/ns and 5 ns. The data groups are pairs over the network,
/// of which four share a link: two messages of 400 B each, and the latency of the last. With one rank a host the tensor groups' steps take the network's time.
#[test]
fn groups_on_a_host_do_not_enter_the_network() {
    let program = "{ sequence = { tensor = 4, phases = [\
        { operation = { all-reduce = { message = '800 B', algorithm = 'ring' } }, group = 'tensor' },\
        { operation = { all-reduce = { message = '800 B', algorithm = 'ring' } }, group = 'data' }] } }";
    let time = |slots: &str| {
        let keys = [("jobs.0.program", program), ("jobs.0.ranks", "8"), ("jobs.0.ranks_per_host", slots)];
        let prepared = prepare(STAR, &[&keys[..], &LOCAL].concat());
        let outcome = simulate(&prepared, &Control::default());
        assert_eq!((outcome.status, outcome.defect.as_str()), (Status::Ok, ""));
        let found = outcome.summary.jobs.jobs[0].time_ns;
        let bound = job_bounds(&prepared).unwrap()[0].time_ns;
        assert!(bound <= found, "{bound} {found}");
        found
    };
    let local = 6.0 * (200.0 / 10.0 + 5.0);
    assert_eq!(time("4"), local + 8.0 * 400.0 + NETWORK_NS);
    assert_eq!(time("1"), 6.0 * (200.0 + NETWORK_NS) + 2.0 * (400.0 + NETWORK_NS));
}

/// A job whose ranks are all on one host sends nothing, and ends.
#[test]
fn a_job_on_one_host_needs_no_network() {
    for count in [1_u32, 3] {
        let iterations = count.to_string();
        let keys = [
            ("jobs.0.program", "{ all-reduce = { message = '800 B', algorithm = 'ring' } }"),
            ("jobs.0.hosts", "['H3']"),
            ("jobs.0.ranks_per_host", "8"),
            ("jobs.0.iterations", iterations.as_str()),
        ];
        let outcome = run(STAR, &[&keys[..], &LOCAL].concat());
        assert_eq!((outcome.status, outcome.defect.as_str()), (Status::Ok, ""));
        let job = &outcome.summary.jobs.jobs[0];
        assert_eq!((job.done, job.ranks, outcome.totals.injected), (count, 8, 0));
        assert_eq!((job.iteration_ns.mean, job.time_ns), (14.0 * 15.0, f64::from(count) * 14.0 * 15.0));
    }
}
