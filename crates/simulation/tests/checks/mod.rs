//! Checks that must hold for every experiment: run in several partitions, compared table by table, with all sums compared
//! with each other.
#![allow(unreachable_pub)]

mod balance;
mod captures;
mod ends;
mod flows;
mod forks;
mod latency;
mod links;
mod others;
mod partitions;
mod series;
mod tables;

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_engine::Prepared;
use fabricsim_routing::Verdict;
use fabricsim_simulation::{Control, Outcome, permit, simulate};

use crate::common::simulate_in_threads;

pub use tables::{Tables, equal};

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name of the check.
    pub check: &'static str,
    /// Description of what was found.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check `{}`: {}", self.check, self.message)
    }
}

/// Fails unless the condition holds.
pub fn ensure(check: &'static str, holds: bool, message: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure { check, message: message() }) }
}

/// A run with its experiment.
pub struct Seen<'a> {
    pub prepared: &'a Prepared,
    pub outcome: &'a Outcome,
    pub tables: Tables<'a>,
    /// True if the static check found a cycle.
    pub cyclic: bool,
}

impl Seen<'_> {
    /// True if only data is sent: no notifications, acknowledgements or answers.
    pub fn only_data(&self) -> bool {
        let experiment = &self.prepared.experiment;
        experiment.congestion_control.algorithm == fabricsim_spec::CongestionAlgorithm::None && !self.orders()
    }

    pub fn orders(&self) -> bool {
        let experiment = &self.prepared.experiment;
        experiment.transport.mode != fabricsim_spec::OrderingMode::None || experiment.queue_pairs.is_some()
    }

    pub fn measured_ps(&self) -> f64 {
        self.outcome.summary.measured_ns * 1e3
    }

    /// True if the measurement is the whole run.
    pub fn is_whole(&self) -> bool {
        let summary = &self.outcome.summary;
        summary.measured_from_ns == 0.0 && summary.measured_ns == self.outcome.end.as_ns_f64()
    }

    /// True if the measurement has begun, and lasted.
    pub fn has_measured(&self) -> bool {
        self.outcome.summary.measured_ns > 0.0
    }
}

type Check = fn(&Seen) -> Result<(), Failure>;

/// The checks of a run.
const CHECKS: &[Check] = &[
    balance::packets,
    balance::credits,
    balance::losses,
    ends::status,
    ends::emptied,
    ends::jobs,
    ends::precision,
    flows::packets,
    flows::latency_packets,
    flows::hosts,
    flows::throughput,
    flows::offers,
    links::injected,
    links::all_hops,
    links::utilisation,
    links::routers,
    links::hosts,
    series::whole_run,
    series::flows_and_hosts,
    series::links,
    latency::ordered,
    latency::no_faster_than_light,
    others::congestion,
    others::trees,
    others::transport,
    others::queue_pairs,
    others::packet_hops,
    others::jobs,
];

/// Summary of a checked experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub delivered: u64,
    pub deadlocked: bool,
    pub lost: bool,
}

/// The most links that packets may cross in a run: one that needs more is taken for one that never ends.
const MOST_HOPS: u64 = 30_000_000;

thread_local! {
    /// The message of a panic of this thread, while it checks.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps messages of panics in threads that check, with their places; others are shown as usual.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let kept =
                PANIC.with_borrow_mut(|message| message.as_mut().map(|kept| *kept = panic.to_string()));
            if kept.is_none() {
                usual(panic);
            }
        }));
    });
}

/// Runs the experiment, and checks all that must hold.
pub fn check(text: &str) -> Result<Report, Failure> {
    keep_panics();
    PANIC.set(Some(String::new()));
    let caught = catch_unwind(AssertUnwindSafe(|| unguarded(text)));
    let message = PANIC.take().unwrap_or_default();
    caught.unwrap_or(Err(Failure { check: "no panic", message }))
}

fn unguarded(text: &str) -> Result<Report, Failure> {
    let prepared = prepare(text, &[]).map_err(|message| Failure { check: "accepted", message })?;
    let verdict = prepared.check_deadlock();
    let cyclic = matches!(verdict, Verdict::Cyclic { .. });
    permission(&prepared, cyclic)?;
    let run = |overrides: &[(&str, &str)]| run(text, overrides);
    let alone = run(&[])?;
    let seen = Seen { prepared: &prepared, outcome: &alone, tables: Tables(&alone.tables), cyclic };
    for check in CHECKS {
        check(&seen)?;
    }
    for partitions in ["2", "3", "7"] {
        let other = run(&[("run.partitions", partitions)])?;
        if let Some(failure) = partitions::same(&alone, &other, partitions).into_iter().next() {
            return Err(failure);
        }
    }
    let threads = [("run.allow_deadlock", "true"), ("run.partitions", "3"), ("run.threads", "2")];
    let other = prepare(text, &threads).map_err(|message| Failure { check: "accepted", message })?;
    let other = watched(&other, &Control::default(), simulate_in_threads)?;
    if let Some(failure) = partitions::same(&alone, &other, "3, by 2 threads,").into_iter().next() {
        return Err(failure);
    }
    if prepared.experiment.run.steady_state.is_none() {
        let other = run(&[("measure", "{}"), ("run.partitions", "2")])?;
        partitions::unobserved(&alone, &other)?;
    }
    forks::forked(text, &alone)?;
    if prepared.experiment.capture.is_some() {
        captures::captured(text, &alone)?;
    }
    let lost = Tables(&alone.tables).sum("transport", "lost") > 0;
    let deadlocked = !alone.deadlock.is_empty();
    Ok(Report { delivered: alone.totals.delivered, deadlocked, lost })
}

/// An experiment with a cycle is refused with its name, unless it is allowed; no other is.
fn permission(prepared: &Prepared, cyclic: bool) -> Result<(), Failure> {
    let refused = permit(prepared, None, "generated.toml").err().map(|error| error.to_string());
    let named = refused.as_ref().is_some_and(|text| text.starts_with("generated.toml: run.allow_deadlock: "));
    ensure("cycles are refused", named == cyclic && refused.is_some() == cyclic, || {
        format!("cyclic: {cyclic}, {refused:?}")
    })
}

/// Reads and builds an experiment.
pub fn prepare(text: &str, overrides: &[(&str, &str)]) -> Result<Prepared, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "generated.toml", &overrides).map_err(|e| e.to_string())?;
    Prepared::new(experiment, Path::new("."), "generated.toml")
        .map_err(|error| error.located(text, &overrides).to_string())
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Result<Outcome, Failure> {
    let mut all = vec![("run.allow_deadlock", "true")];
    all.extend(overrides);
    let prepared = prepare(text, &all).map_err(|message| Failure { check: "accepted", message })?;
    let control = Control::default();
    let outcome = watched(&prepared, &control, simulate)?;
    Ok(outcome)
}

/// Simulates; a run that goes on for ever is stopped.
fn watched(
    prepared: &Prepared,
    control: &Control,
    simulate: impl Fn(&Prepared, &Control) -> Outcome,
) -> Result<Outcome, Failure> {
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                if control.packet_hops() > MOST_HOPS {
                    control.cancel();
                }
                std::thread::park_timeout(std::time::Duration::from_millis(200));
            }
        });
        let outcome = catch_unwind(AssertUnwindSafe(|| simulate(prepared, control)));
        done.store(true, Ordering::Release);
        watcher.thread().unpark();
        outcome
    });
    match outcome {
        Ok(outcome) => {
            ensure("the run ends", !control.is_cancelled(), || {
                format!("it goes on at {} after {MOST_HOPS} packet-hops", outcome.end)
            })?;
            Ok(outcome)
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
