//! A run that is stopped in the middle keeps what it has, and all of it adds up.

use crate::common::{cancelled, prepare};
use fabricsim_engine::Advance;
use fabricsim_model::NullObserver;

use fabricsim_units::Time;

/// Two switches far from each other, so that a window of two partitions is long, and much happens in it on each of them.
const BUSY: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 60
[links.all]
latency = "1 ns"
buffer = "512 B"
[links.dimension.x]
latency = "20 us"
[host]
mtu = "64 B"
[[traffic]]
sources = ["H(0)*"]
destinations = ["H(0)*"]
pattern = "uniform"
load = 0.5
message = "64 B"
[[traffic]]
sources = ["H(1)*"]
destinations = ["H(1)*"]
pattern = "uniform"
load = 0.5
message = "64 B"
[[traffic]]
sources = ["H(0).0", "H(0).1"]
destinations = ["H(1)*"]
pattern = "uniform"
load = 0.1
message = "64 B"
[run]
duration = "200 us"
"#;

#[test]
fn what_has_happened_adds_up_wherever_a_run_is_stopped() {
    for partitions in ["1", "2"] {
        let mut engine = prepare(BUSY, &[("run.partitions", partitions)]).engine(|| NullObserver);
        let how = engine.advance(Time::us(200), &mut |_, _| false);
        assert_eq!(how, Advance::Stopped, "{partitions}: the test must stop it before the end");
        let (totals, now) = (engine.totals(), engine.now());
        assert_eq!(totals.injected, totals.delivered + totals.in_flight, "{partitions}");
        assert_eq!(engine.check_credits(), Ok(()), "{partitions}");
        assert!(now > Time::ZERO && now < Time::us(200));
        let mut straight = prepare(BUSY, &[]).engine(|| NullObserver);
        straight.advance(now, &mut |_, _| true);
        assert_eq!(totals, straight.totals(), "{partitions}: everything before {now} has happened");
    }
}

#[test]
fn a_cancelled_run_reports_what_it_has() {
    let prepared = prepare(BUSY, &[("run.partitions", "2")]);
    let outcome = cancelled(&prepared);
    assert!(outcome.end > Time::ZERO && outcome.end < Time::us(200));
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{:?}", outcome.invariants);
    assert!(outcome.invariants.delivered > 0 && outcome.summary.hosts.packets > 0);
}

/// Partitions whose links are short exchange mail every few nanoseconds: the caller is asked after each thousand of such windows.
#[test]
fn the_caller_is_asked_until_the_end_of_a_run_of_short_windows() {
    let short = [("run.partitions", "2"), ("links.dimension.x.latency", "10 ns")];
    let mut engine = prepare(BUSY, &short).engine(|| NullObserver);
    let end = Time::us(200);
    let mut looks = vec![Time::ZERO];
    engine.advance(end, &mut |now, _| {
        looks.push(now);
        true
    });
    looks.push(end);
    let longest = looks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(end);
    assert!(longest <= end / 4, "no look for {longest} of {end}");
}
