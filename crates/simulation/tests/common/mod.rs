//! Shared code of the tests of this folder.
#![allow(unreachable_pub)]

pub mod observers;
pub mod processes;
pub mod random;
pub mod star;
pub mod tables;

use std::path::Path;

use fabricsim_engine::{Prepared, Scaling};
use fabricsim_simulation::{Control, Outcome, Run, Status, simulate};
use fabricsim_units::Time;

/// Transports that lose packets, jobs, responses, congestion control, counters of routers: all that makes a table.
pub const ALL: &str = r#"
[topology.dragonfly]
p = 2
a = 4
h = 2
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "1 KiB"
bit_error_rate = 1e-5
[links.kind.global]
latency = "50 ns"
buffer = "2 KiB"
[switch]
router_delay = "1 ns"
virtual_lanes = 6
flow_control_unit = "8 B"
[routing]
algorithm = "par-6/2"
[host]
mtu = "128 B"
[transport]
mode = "ordered"
answer = "8 B"
timeout = "3 us"
lifetime = "20 us"
loss = 0.02
[congestion_control]
algorithm = "infiniband"
[congestion_control.notification]
size = "8 B"
[congestion_control.infiniband]
threshold = 15
ccti_timer = "2 us"
[[traffic]]
name = "hot"
pattern = { hot-spot = { hosts = ["H(0,0).0"], fraction = 0.5 } }
injection = "poisson"
load = 0.4
message = "640 B"
[[traffic]]
name = "get"
pattern = "uniform"
injection = "window"
window = 2
message = "128 B"
response = { message = "512 B" }
[[jobs]]
name = "job"
ranks = 4
iterations = 2
program = { barrier = {} }
[run]
warmup = "1 us"
duration = "6 us"
drain = "empty"
[measure]
flows = "pairs"
bin = "500 ns"
exchanges = 100000
router_counters = true
"#;

/// Builds the experiment of a TOML text, with overrides.
pub fn prepare(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    try_prepare(text, overrides).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same, or the reason why it cannot be run.
pub fn try_prepare(text: &str, overrides: &[(&str, &str)]) -> Result<Prepared, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "test.toml", &overrides).map_err(|e| e.to_string())?;
    Prepared::new(experiment, Path::new("."), "test.toml").map_err(|e| e.to_string())
}

/// Runs the experiment of a TOML text, with overrides.
pub fn run(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    simulate(&prepare(text, overrides), &Control::default())
}

/// Times that a run goes on for which its threads start in any case: a long drain is some hundred thousand.
const FORCED: u64 = 500;

/// Runs it, with its threads in every window of the first part at least.
pub fn simulate_in_threads(prepared: &Prepared, control: &Control) -> Outcome {
    let mut run = Run::with_feed(prepared, control);
    run.session().engine_mut().force_threads(FORCED);
    run.advance_to(Time::MAX, control);
    run.finish(control)
}

/// Packets go two switches further round a ring without a second lane, through buffers of one packet. The last section is `run`.
pub const DEADLOCKING_RING: &str = r#"
[topology.ring]
switches = 6
hosts_per_switch = 3
[links.all]
rate = "8 Gb/s"
buffer = "512 B"
[host]
mtu = "512 B"
[[traffic]]
sources = ["H(*).0"]
pattern = "tornado"
injection = "saturating"
message = "512 B"
[run]
duration = "2 ms"
"#;

/// Asserts that packets and credits are balanced.
#[track_caller]
pub fn balanced(outcome: &Outcome) {
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{:?}", outcome.invariants);
    assert_eq!(outcome.defect, "");
}

/// Asserts as well that the run ended as planned.
#[track_caller]
pub fn balanced_and_ok(outcome: &Outcome) {
    balanced(outcome);
    assert_eq!(outcome.status, Status::Ok);
}

/// Asserts as well that no packet is in flight.
#[track_caller]
pub fn balanced_and_empty(outcome: &Outcome) {
    balanced(outcome);
    assert_eq!(outcome.invariants.in_flight, 0, "{:?}", outcome.invariants);
}

/// A run that is cancelled once packets move.
pub fn cancelled(prepared: &Prepared) -> Outcome {
    let control = Control::default();
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| simulate(prepared, &control));
        while control.packet_hops() == 0 {
            std::thread::yield_now();
        }
        control.cancel();
        run.join().unwrap()
    });
    assert_eq!(outcome.status, Status::Interrupted);
    outcome
}

/// Everything that a run found out, to the bit, as text; how it was divided is not a result.
pub fn everything(outcome: &Outcome) -> String {
    let outcome = Outcome { scaling: Scaling::default(), ..outcome.clone() };
    format!("{outcome:?}")
}
