//! A link fed by Poisson arrivals is an M/D/1 queue.
//!
//! The queue is a host's: messages of one packet wait for its link. Everything behind takes a constant time. The mean
//! wait is rho S / 2 (1 - rho) (Pollaczek, Khinchine), its distribution Crommelin's (The Post Office Electrical
//! Engineers' Journal 25, 1932; Kleinrock, Queueing Systems I, problem 5.9).

use crate::common::{prepare, run};
use fabricsim_simulation::zero_load;
use fabricsim_units::{Bytes, HostId};

/// A packet takes a microsecond.
const LINK: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
buffer = "64 KiB"
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "poisson"
load = 0.5
message = "1000 B"
[run]
warmup = "5 ms"
duration = "40 ms"
"#;
const SERVICE_NS: f64 = 1000.0;

/// Independent runs of each load.
const RUNS: usize = 20;
/// Student's t for 19 degrees of freedom, two-sided 99.9 %.
const STUDENT: f64 = 3.883;

fn mean_wait(load: f64) -> f64 {
    SERVICE_NS * load / (2.0 * (1.0 - load))
}

/// Crommelin: the probability that the wait is `wait` or less.
fn waits_at_most(wait: f64, load: f64) -> f64 {
    let t = wait / SERVICE_NS;
    let mut sum = 0.0;
    for k in 0..=t.floor() as i32 {
        let x = load * (f64::from(k) - t);
        let factorial: f64 = (1..=k).map(f64::from).product();
        sum += x.powi(k) / factorial * (-x).exp();
    }
    (1.0 - load) * sum
}

/// The wait that a fraction `p` of the packets does not exceed.
fn quantile(p: f64, load: f64) -> f64 {
    let (mut low, mut high) = (0.0, 30.0 * SERVICE_NS);
    if waits_at_most(0.0, load) >= p {
        return 0.0;
    }
    while high - low > 1e-6 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(middle, load) < p { low = middle } else { high = middle }
    }
    high
}

/// Mean of independent values, and the half-width of its 99.9 % confidence interval.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, STUDENT * (variance / n).sqrt())
}

#[test]
fn the_distribution_is_right() {
    // Mean by integration of 1 - F, against Pollaczek and Khinchine.
    for load in [0.3, 0.6] {
        let step = 1.0;
        let mean: f64 =
            (0..25_000).map(|i| step * (1.0 - waits_at_most((f64::from(i) + 0.5) * step, load))).sum();
        assert!((mean / mean_wait(load) - 1.0).abs() < 1e-3, "{mean}");
    }
}

#[test]
fn mean_and_quantiles_are_those_of_m_d_1() {
    let constant = {
        let prepared = prepare(LINK, &[]);
        zero_load(&prepared, HostId(0), HostId(1), Bytes(1000)).as_ns_f64()
    };
    for load in [0.3, 0.6, 0.9] {
        let load_text = load.to_string();
        let runs: Vec<_> = (1..=RUNS)
            .map(|seed| run(LINK, &[("traffic.0.load", &load_text), ("seed", &seed.to_string())]).summary)
            .collect();
        let all = |of: &dyn Fn(&fabricsim_measure::Latency) -> f64| {
            estimate(
                &runs.iter().map(|summary| of(&summary.latency.latency_ns) - constant).collect::<Vec<_>>(),
            )
        };
        let (mean, margin) = all(&|latency| latency.mean);
        assert!(
            (mean - mean_wait(load)).abs() <= margin,
            "{load}: {mean} +- {margin}, not {}",
            mean_wait(load)
        );
        assert!(margin < 0.1 * mean_wait(load), "{load}: {margin} is no test");
        for (p, (found, margin)) in [(0.5, all(&|latency| latency.p50)), (0.99, all(&|latency| latency.p99))]
        {
            let expected = quantile(p, load);
            // Quantiles are read from a histogram: to 0.4 %.
            let margin = margin + 0.004 * (expected + constant);
            assert!((found - expected).abs() <= margin, "{load}: {p} at {found} +- {margin}, not {expected}");
        }
    }
}

/// With steady-state detection a run says itself how well it knows the mean: in 19 of 20 cases it must be right.
#[test]
fn the_interval_that_a_run_reports_holds_the_mean() {
    for (load, precision) in [("0.3", "0.01"), ("0.6", "0.02"), ("0.9", "0.05")] {
        let steady = format!("{{ precision = {precision}, confidence = 0.95, batch = \"1 ms\" }}");
        let expected = {
            let prepared = prepare(LINK, &[]);
            let constant = zero_load(&prepared, HostId(0), HostId(1), Bytes(1000)).as_ns_f64();
            constant + mean_wait(load.parse().unwrap())
        };
        let holds = |seed: usize| {
            let overrides = [
                ("traffic.0.load", load),
                ("run.steady_state", &steady),
                ("run.duration", "2 s"),
                ("seed", &seed.to_string()),
            ];
            let summary = run(LINK, &overrides).summary;
            let interval = summary.batches.latency_confidence.unwrap();
            assert_eq!(summary.steady, Some(true));
            // It stops by batches of deliveries, and reports those of the same packets by when they were created.
            assert!(
                interval.relative <= 1.25 * precision.parse::<f64>().unwrap(),
                "{load} {seed}: {interval:?}"
            );
            (summary.latency.latency_ns.mean - expected).abs() <= interval.half_width_ns
        };
        let held = (1..=RUNS).filter(|&seed| holds(seed)).count();
        // Binomial with p = 0.95: 14 or fewer of 20 have a probability of 0.0003.
        assert!(held >= 15, "{load}: {held} of {RUNS}");
    }
}

/// The same of the 99th percentile, whose value is Crommelin's, and of the throughput, which is the load of the link.
#[test]
fn the_intervals_of_quantile_and_throughput_hold_them() {
    let (load, precision) = (0.6, 0.04);
    let prepared = prepare(LINK, &[]);
    let constant = zero_load(&prepared, HostId(0), HostId(1), Bytes(1000)).as_ns_f64();
    let expected = [constant + quantile(0.99, load), load * 8.0];
    let steady = format!(
        "{{ precision = {precision}, batch = \"1 ms\", of = [\"latency_ns.p99\", \"accepted_gbps\"] }}"
    );
    let mut held = [0; 2];
    for seed in 1..=RUNS {
        let overrides = [
            ("traffic.0.load", load.to_string()),
            ("run.steady_state", steady.clone()),
            ("run.duration", "2 s".to_owned()),
            ("seed", seed.to_string()),
        ];
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let summary = run(LINK, &overrides).summary;
        assert_eq!((summary.steady, summary.precision.len()), (Some(true), 2));
        for ((held, reached), expected) in held.iter_mut().zip(&summary.precision).zip(expected) {
            let (value, half) = (reached.value.unwrap(), reached.half_width.unwrap());
            assert!(reached.reached && half <= precision * value, "{seed}: {reached:?}");
            *held += usize::from((value - expected).abs() <= half);
        }
        let shown = summary.latency.latency_ns.p99;
        let batches = summary.precision[0].value.unwrap();
        assert!((shown / batches - 1.0).abs() < 0.02, "{seed}: {shown} created, {batches} delivered");
    }
    // Binomial with p = 0.95: 14 or fewer of 20 have a probability of 0.0003.
    assert!(held.iter().all(|&held| held >= 15), "{held:?} of {RUNS}");
}

/// Sixteen hosts share an output. It works whenever there is work, so it is never better than a queue to which all
/// come directly; and the hosts' links smooth the arrivals, so it is never worse than that and a host's own queue.
#[test]
fn many_sources_at_an_output_wait_between_the_bounds() {
    let many = LINK
        .replace("hosts = 2", "hosts = 17")
        .replace("sources = [\"H0\"]", "sources = [\"*\"]")
        .replace("{ to = \"H1\" }", "{ to = \"H16\" }")
        .replace("load = 0.5", "rate = \"{rate} Gb/s\"");
    for load in [0.3, 0.6, 0.9] {
        let text = many.replace("{rate}", &format!("{}", load * 8.0 / 16.0));
        let prepared = prepare(&text, &[]);
        assert_eq!(prepared.workload.silent.len(), 1, "the sink itself");
        let constant = zero_load(&prepared, HostId(0), HostId(16), Bytes(1000)).as_ns_f64();
        let waits: Vec<f64> = (1..=RUNS)
            .map(|seed| run(&text, &[("seed", &seed.to_string())]).summary.latency.latency_ns.mean - constant)
            .collect();
        let (mean, margin) = estimate(&waits);
        let (least, most) = (mean_wait(load), mean_wait(load) + mean_wait(load / 16.0));
        assert!(
            mean + margin >= least && mean - margin <= most,
            "{load}: {mean} +- {margin}, not {least} to {most}"
        );
        assert!(margin < 0.1 * least, "{load}: {margin} is no test");
    }
}
