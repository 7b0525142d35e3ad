//! Roots and victims of congestion: the trees that are found in experiments whose answer is known.

use std::path::Path;

use crate::common::{everything, run};
use fabricsim_model::Data;
use fabricsim_simulation::Outcome;

/// A thesis experiment by its letter; it may be kept with congestion control on.
fn thesis(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/thesis");
    let files = [format!("{name}.toml"), format!("{name}-off.toml")].map(|file| folder.join(file));
    let file = files.iter().find(|file| file.exists()).unwrap_or_else(|| panic!("no {}", files[0].display()));
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

const OFF: (&str, &str) = ("congestion_control.algorithm", "none");

fn find<'a>(outcome: &'a Outcome, table: &str, column: &str) -> &'a Data {
    let table = outcome.tables.iter().find(|t| t.name == table).unwrap();
    &table.columns.iter().find(|c| c.name == column).unwrap().data
}

fn real<'a>(outcome: &'a Outcome, table: &str, column: &str) -> &'a [f64] {
    let Data::Real(values) = find(outcome, table, column) else { panic!("{column} is not real") };
    values
}

fn whole<'a>(outcome: &'a Outcome, table: &str, column: &str) -> &'a [i64] {
    let Data::Whole(values) = find(outcome, table, column) else { panic!("{column} is not whole") };
    values
}

fn text<'a>(outcome: &'a Outcome, table: &str, column: &str) -> &'a [String] {
    let Data::Text(values) = find(outcome, table, column) else { panic!("{column} is not text") };
    values
}

/// Rows of `congestion_flows`: flow, time as contributor and as victim in milliseconds, roots.
fn flows(outcome: &Outcome) -> Vec<(&str, f64, f64, &str)> {
    let names = text(outcome, "congestion_flows", "flow");
    let ms = |column| real(outcome, "congestion_flows", column).iter().map(|ns| ns * 1e-6);
    let (contributor, victim) = (ms("contributor_ns"), ms("victim_ns"));
    let roots = text(outcome, "congestion_flows", "roots").iter();
    let rows = names.iter().zip(contributor).zip(victim).zip(roots);
    rows.map(|(((name, contributor), victim), roots)| (name.as_str(), contributor, victim, roots.as_str()))
        .collect()
}

/// Holds a thesis experiment against what its figures say: one root, who contributes from when on, and the victim.
/// Looks are 7 ms apart.
fn one_tree(name: &str, root: &str, contributors: &[(&str, f64)], victim: (&str, f64)) {
    let outcome = run(&thesis(name), &[OFF]);
    assert!(text(&outcome, "congestion_trees", "root").iter().all(|found| found == root));
    let times = real(&outcome, "congestion_trees", "time_ns");
    let late = times.iter().position(|&ns| ns > (victim.1 + 10.0) * 1e6).unwrap();
    let all = |column, value| whole(&outcome, "congestion_trees", column)[late..].iter().all(|&n| n == value);
    assert!(all("contributors", contributors.len() as i64) && all("victims", 1), "{name}");

    let flows = flows(&outcome);
    assert_eq!(flows.len(), contributors.len() + 1, "{flows:?}");
    for &(flow, contributes, suffers, roots) in &flows {
        let start = contributors.iter().find(|(name, _)| *name == flow);
        let (from, time, other) =
            start.map_or((victim.1, suffers, contributes), |&(_, from)| (from, contributes, suffers));
        assert!(start.is_some() || flow == victim.0, "{flow}");
        // Congestion begins with the second contributor, at 100 ms.
        let expected = 700.0 - from.max(100.0);
        assert!((time - expected).abs() < 15.0 && other == 0.0, "{flow}: {time} ms, expected {expected}");
        assert_eq!(roots, root);
    }
}

#[test]
fn the_tree_of_thesis_experiment_a() {
    let contributors = [("H112->H221", 0.0), ("H211->H221", 100.0), ("H121->H221", 200.0)];
    one_tree("a", "SW22->H221", &contributors, ("H111->H121", 400.0));
}

#[test]
fn the_tree_of_thesis_experiment_b2() {
    let contributors = [
        ("H111->H552", 0.0),
        ("H511->H552", 100.0),
        ("H551->H552", 200.0),
        ("H151->H552", 300.0),
        ("H541->H552", 400.0),
    ];
    one_tree("b2", "SW55->H552", &contributors, ("H512->H542", 500.0));
}

#[test]
fn ports_are_roots_and_branches_for_as_long_as_trees_last() {
    let outcome = run(&thesis("a"), &[OFF]);
    let states = real(&outcome, "links", "root").iter().zip(real(&outcome, "links", "branch"));
    let ports = text(&outcome, "links", "link").iter().zip(states);
    let congested: Vec<_> = ports.filter(|(_, (root, branch))| **root + **branch > 0.0).collect();
    let names: Vec<_> = congested.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["SW22->H221", "SW11->SW12", "SW21->SW22", "SW12->SW22"]);
    // From 0.1 s on, of 0.7 s: at 86 of 100 looks.
    for (i, (link, (root, branch))) in congested.into_iter().enumerate() {
        let (state, other) = if i == 0 { (root, branch) } else { (branch, root) };
        assert!((state - 0.86).abs() < 0.011 && *other == 0.0, "{link}: {root} {branch}");
    }
}

/// A torus in which two hot hosts take more than half of the traffic.
const HOT: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "64 Gb/s"
latency = "3 ns"
buffer = "2 KiB"
[switch]
router_delay = "20 ns"
flow_control_unit = "64 B"
virtual_lanes = 4
[[traffic]]
pattern = { hot-spot = { hosts = ["H(1,1).0", "H(2,2).0"], fraction = 0.5 } }
injection = "saturating"
message = "512 B"
[run]
duration = "900 us"
[measure]
congestion_fill = 0.25
"#;

#[test]
fn every_number_of_partitions_finds_the_same_trees() {
    for queueing in ["voq", "fifo"] {
        let of = |partitions| {
            let long = ("run.duration", "\"1800 us\"");
            run(HOT, &[long, ("switch.queueing", queueing), ("run.partitions", partitions)])
        };
        let alone = of("1");
        let roots = text(&alone, "congestion_trees", "root");
        assert!(
            roots.len() > 20 && whole(&alone, "congestion_trees", "victims").iter().any(|&n| n > 0),
            "{queueing}"
        );
        assert!(whole(&alone, "congestion_trees", "depth").iter().any(|&n| n > 1), "{queueing}");
        for partitions in ["2", "3", "7"] {
            assert!(
                everything(&of(partitions)) == everything(&alone),
                "{queueing} in {partitions} partitions"
            );
        }
    }
}

#[test]
fn looking_changes_nothing() {
    // A fill that nothing reaches: no tree is looked into.
    let (seen, unseen) = (run(HOT, &[]), run(HOT, &[("measure.congestion_fill", "1e9")]));
    assert!(
        text(&unseen, "congestion_trees", "root").is_empty()
            && !text(&seen, "congestion_trees", "root").is_empty()
    );
    assert_eq!(seen.totals, unseen.totals);
    for interval in ["'1 ms'", "'777 ns'"] {
        let other = run(HOT, &[("measure.congestion_interval", interval)]);
        assert_eq!(other.totals, seen.totals, "{interval}");
        // As text, in which what is not a number equals itself.
        assert_eq!(format!("{:?}", other.summary), format!("{:?}", seen.summary), "{interval}");
    }
}

#[test]
fn without_congestion_there_is_no_tree() {
    let calm = [
        ("traffic.0.injection", "\"poisson\""),
        ("traffic.0.load", "0.05"),
        ("traffic.0.pattern", "\"uniform\""),
    ];
    let outcome = run(HOT, &calm);
    assert!(text(&outcome, "congestion_trees", "root").is_empty());
    assert!(text(&outcome, "congestion_flows", "flow").is_empty());
    assert!(real(&outcome, "links", "root").iter().all(|&root| root == 0.0));
}

/// Congestion control that has something to do in [`HOT`].
fn controlled(algorithm: &str, partitions: &str) -> Outcome {
    let overrides = [
        ("congestion_control.algorithm", algorithm),
        ("congestion_control.infiniband.threshold", "10"),
        ("congestion_control.infiniband.ccti_timer", "\"2 us\""),
        ("congestion_control.infiniband.cct", "{ linear = { step = 0.5, entries = 64 } }"),
        ("congestion_control.dcqcn.k_min", "\"512 B\""),
        ("congestion_control.dcqcn.k_max", "\"2 KiB\""),
        ("congestion_control.dcqcn.cnp_interval", "\"2 us\""),
        ("congestion_control.dcqcn.rate_timer", "\"5 us\""),
        ("measure.bin", "\"15 us\""),
        ("run.partitions", partitions),
    ];
    run(HOT, &overrides)
}

#[test]
fn what_congestion_control_does_is_recorded() {
    for algorithm in ["infiniband", "dcqcn"] {
        let outcome = controlled(algorithm, "1");
        let sum = |table, column| whole(&outcome, table, column).iter().sum::<i64>();
        let found = outcome.summary.congestion.unwrap();
        assert!(found.marked > 100 && found.notified > 100 && found.throttled_s > 0.0, "{found:?}");
        // The measurement is the whole run.
        assert_eq!(
            [sum("links", "marked"), sum("run_series", "marked")],
            [found.marked as i64; 2],
            "{algorithm}"
        );
        let becn = [sum("flows", "becn"), sum("congestion_series", "becn"), sum("run_series", "notified")];
        assert_eq!(becn, [found.notified as i64; 3], "{algorithm}");
        // Packets in flight at the end make the difference, and with DCQCN those that several switches marked.
        let (fecn, least) = (sum("flows", "fecn"), if algorithm == "dcqcn" { 5 } else { 2 });
        assert!(
            fecn <= found.marked as i64 && fecn > found.marked as i64 / least,
            "{algorithm}: {fecn} {found:?}"
        );
        assert_eq!(sum("run_series", "control_packets"), found.control_packets as i64);
        assert_eq!(sum("run_series", "control_bytes"), 64 * found.control_packets as i64);

        let seconds: f64 = real(&outcome, "flows", "throttled").iter().sum::<f64>() * 900e-6;
        assert!((seconds / found.throttled_s - 1.0).abs() < 1e-9, "{algorithm}: {seconds} {found:?}");
        let rate_limited = real(&outcome, "flows", "held_back");
        assert!(rate_limited.iter().all(|&part| (0.0..=1.0).contains(&part)));
        // In the mean over the bins, which are equally long, a flow's level is its mean.
        let [mean, strongest, in_bin] = match algorithm {
            "dcqcn" => ["rate_mean_mbps", "rate_min_mbps", "rate_mbps"],
            _ => ["ccti_mean", "ccti_max", "ccti"],
        };
        let (mean, strongest) = (real(&outcome, "flows", mean), real(&outcome, "flows", strongest));
        let names = text(&outcome, "congestion_series", "flow");
        let series = real(&outcome, "congestion_series", in_bin);
        let ends = text(&outcome, "flows", "source").iter().zip(text(&outcome, "flows", "destination"));
        for (row, (source, destination)) in ends.enumerate() {
            let flow = format!("{source}->{destination}");
            let bins: Vec<f64> = names
                .iter()
                .zip(series)
                .filter(|(name, _)| **name == flow)
                .map(|(_, level)| *level)
                .collect();
            assert!(bins.is_empty() || bins.len() == 60, "{} bins", bins.len());
            let free = if algorithm == "dcqcn" { 64_000.0 } else { 0.0 };
            let of_bins = if bins.is_empty() { free } else { bins.iter().sum::<f64>() / 60.0 };
            assert!(
                (of_bins - mean[row]).abs() <= 1e-9 * (1.0 + mean[row]),
                "{flow}: {of_bins} {}",
                mean[row]
            );
            assert!(if free > 0.0 { strongest[row] <= mean[row] } else { strongest[row] >= mean[row] });
        }
    }
}

#[test]
fn every_number_of_partitions_records_the_same_of_congestion_control() {
    for algorithm in ["infiniband", "dcqcn"] {
        let alone = everything(&controlled(algorithm, "1"));
        for partitions in ["2", "3", "7"] {
            assert!(
                everything(&controlled(algorithm, partitions)) == alone,
                "{algorithm} in {partitions} partitions"
            );
        }
    }
}

#[test]
fn congestion_control_leaves_shorter_trees() {
    let waiting = |algorithm| {
        let overrides = [
            ("congestion_control.algorithm", algorithm),
            ("run.duration", "200 ms"),
            ("traffic.3.start", "\"0 s\""),
        ];
        let outcome = run(&thesis("a"), &overrides);
        whole(&outcome, "congestion_trees", "waiting_blocks").iter().sum::<i64>()
    };
    let (with, without) = (waiting("infiniband"), waiting("none"));
    assert!(with < without / 2, "{with} blocks, without congestion control {without}");
}
