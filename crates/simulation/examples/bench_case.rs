//! Runs an experiment with its measurement, and reports the amount of work and the time that it took, as JSON. A capture that the
//! experiment has is computed and not kept.
//!
//! usage: bench_case FILE [key=value]...

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fabricsim_engine::Prepared;
use fabricsim_simulation::{CapturePlan, Capturing, Control, Outcome, permit, simulate, simulate_captured};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<serde_json::Value, Failure> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: bench_case FILE [key=value]...")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let mut overrides = Vec::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or_else(|| format!("{argument}: write key=value"))?;
        overrides.push((key.to_owned(), value.to_owned()));
    }
    let experiment = fabricsim_spec::read(&text, &file, &overrides)?;
    let base = Path::new(&file).parent().unwrap_or(Path::new("."));
    let prepared = Prepared::new(experiment, base, &file)?;
    permit(&prepared, None, &file)?;
    let plan =
        prepared.experiment.capture.as_ref().map(|capture| CapturePlan::new(capture, &prepared, &file));
    let (outcome, seconds) = match plan.transpose()? {
        None => timed(|| Ok(simulate(&prepared, &Control::default()))),
        Some(plan) => timed(|| {
            let captured = simulate_captured(
                &prepared,
                &Control::default(),
                &plan,
                std::io::sink(),
                Capturing::WholeRun,
            );
            captured.map(|(outcome, _)| outcome)
        }),
    };
    Ok(told(&outcome?, seconds))
}

#[allow(
    clippy::disallowed_methods,
    reason = "wall-clock time is the result here, and no simulated result depends on it"
)]
fn timed(work: impl FnOnce() -> std::io::Result<Outcome>) -> (std::io::Result<Outcome>, f64) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed().as_secs_f64())
}

/// `packet_hops` as other simulators count them: a hop is a switch and the link behind it, so that the link from the
/// source to its switch counts for none. Fabricsim's own counter is of links, that one included.
fn told(outcome: &Outcome, seconds: f64) -> serde_json::Value {
    let totals = &outcome.totals;
    serde_json::json!({
        "packets": totals.delivered,
        "packet_hops": totals.packet_hops - totals.delivered,
        "seconds": seconds,
        "simulated_ns": outcome.end.as_ns_f64(),
        "offered_load": outcome.summary.hosts.offered_load,
        "accepted_load": outcome.summary.hosts.accepted_load,
        "latency_ns": outcome.summary.latency.latency_ns.mean,
        "peak_bytes": peak_bytes(),
        "status": outcome.status,
        "fingerprint": format!("{:016x}", totals.fingerprint),
    })
}

/// Peak memory of the process, if the system reports it (Linux).
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
