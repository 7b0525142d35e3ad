//! Every table of a run, row by row, and the lines of a deadlock, in 1, 2, 3 and 7 partitions.

use std::path::Path;

use crate::checks::equal;
use crate::common::processes::simulate_in_processes;
use crate::common::{ALL, everything, prepare, run, simulate_in_threads};
use fabricsim_model::{Data, Table};
use fabricsim_simulation::{Control, Outcome, Status};

/// The rows of a table, as text.
fn rows(table: &Table) -> Vec<String> {
    let value = |data: &Data, row: usize| match data {
        Data::Real(values) => format!("{:?}", values[row]),
        Data::Whole(values) => values[row].to_string(),
        Data::Text(values) => values[row].clone(),
    };
    let count = table.columns.first().map_or(0, |column| match &column.data {
        Data::Real(values) => values.len(),
        Data::Whole(values) => values.len(),
        Data::Text(values) => values.len(),
    });
    let row = |row| {
        let cells =
            table.columns.iter().map(|column| format!("{} {}", column.name, value(&column.data, row)));
        cells.collect::<Vec<_>>().join(", ")
    };
    (0..count).map(row).collect()
}

/// The first difference between two runs, table by table and row by row.
fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    let names = |outcome: &Outcome| outcome.tables.iter().map(|table| table.name).collect::<Vec<_>>();
    if names(one) != names(other) {
        return Some(format!("tables: {:?} and {:?}", names(one), names(other)));
    }
    // Rows are written only where something differs: most of the time of these tests would go into that.
    let differs = |(a, b): &(&Table, &Table)| {
        a.columns.len() != b.columns.len()
            || a.columns.iter().zip(&b.columns).any(|(a, b)| a.name != b.name || !equal(&a.data, &b.data))
    };
    for (table, its) in one.tables.iter().zip(&other.tables).filter(differs) {
        let (mine, its) = (rows(table), rows(its));
        if mine.len() != its.len() {
            return Some(format!("table {}: {} and {} rows", table.name, mine.len(), its.len()));
        }
        if let Some(row) = (0..mine.len()).find(|&row| mine[row] != its[row]) {
            return Some(format!("table {}, row {row}:\n  {}\n  {}", table.name, mine[row], its[row]));
        }
    }
    (everything(one) != everything(other)).then(|| "summary, invariants or messages".to_owned())
}

fn is_the_same_in_all(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    let of = |partitions| {
        let mut all = overrides.to_vec();
        all.push(("run.partitions", partitions));
        run(text, &all)
    };
    let alone = of("1");
    for partitions in ["2", "3", "7"] {
        if let Some(difference) = difference(&alone, &of(partitions)) {
            panic!("{overrides:?} in {partitions} partitions: {difference}");
        }
    }
    for (partitions, threads) in [("2", "2"), ("7", "3")] {
        let mut all = overrides.to_vec();
        all.extend([("run.partitions", partitions), ("run.threads", threads)]);
        let found = simulate_in_threads(&prepare(text, &all), &Control::default());
        if let Some(difference) = difference(&alone, &found) {
            panic!("{overrides:?} in {partitions} partitions, {threads} threads: {difference}");
        }
    }
    alone
}

/// As [`is_the_same_in_all`], and in several processes, which exchange their states at every stop.
fn is_the_same_in_processes(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    let alone = is_the_same_in_all(text, overrides);
    for (processes, partitions) in [(2, "1"), (3, "7")] {
        let mut all = overrides.to_vec();
        all.push(("run.partitions", partitions));
        let found = simulate_in_processes(&prepare(text, &all), processes);
        for (rank, found) in found.unwrap_or_else(|error| panic!("{error}")).iter().enumerate() {
            if let Some(difference) = difference(&alone, found) {
                panic!(
                    "{overrides:?} in {partitions} partitions, process {rank} of {processes}: {difference}"
                );
            }
        }
    }
    alone
}

/// Plain networks advance in windows that count the router's delay and the first block of a packet. Packets smaller than a block return their credits
/// sooner: `smallest` in `engine/src/mail.rs`, without which these runs differ.
#[test]
fn long_windows_change_nothing() {
    const TEXT: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "128 B"
[switch]
router_delay = "200 ns"
flow_control_unit = "64 B"
virtual_lanes = 2
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
load = 0.9
message = "128 B"
[run]
warmup = "2 us"
duration = "20 us"
"#;
    let drawn = r#"{ choice = [{ size = "1 B", weight = 1 }, { size = "128 B", weight = 20 }] }"#;
    for message in ["\"128 B\"", "\"3 B\"", "{ uniform = { min = \"1 B\", max = \"300 B\" } }", drawn] {
        for delay in ["0 ns", "7 ns"] {
            let overrides = [("traffic.0.message", message), ("switch.credit_delay", delay)];
            let outcome = is_the_same_in_all(TEXT, &overrides);
            assert!(outcome.totals.delivered > 300 && outcome.invariants.credits_ok, "{overrides:?}");
        }
    }
}

#[test]
fn every_table_is_the_same_in_every_number_of_partitions() {
    for (mode, control) in [
        ("ordered", "infiniband"),
        ("unordered", "dcqcn"),
        ("ordered", "swift"),
        ("unordered", "hpcc"),
        ("selective", "nscc"),
        ("synchronized", "none"),
        ("go-back-n", "none"),
        ("selective-ordered", "infiniband"),
    ] {
        let overrides = [("transport.mode", mode), ("congestion_control.algorithm", control)];
        let outcome = is_the_same_in_all(ALL, &overrides);
        assert!(outcome.invariants.packets_ok && outcome.invariants.lost.transport_loss > 0, "{mode}");
        let filled: Vec<&str> =
            outcome.tables.iter().filter(|table| !rows(table).is_empty()).map(|table| table.name).collect();
        for table in ["exchanges", "transport", "messages", "transport_series", "jobs", "entries", "flows"] {
            // Without order there is nothing to be reordered.
            let is_empty = mode == "unordered" && table == "transport_series";
            assert!(filled.contains(&table) != is_empty, "{mode}: {table}, {filled:?}");
        }
    }
}

#[test]
fn every_table_is_the_same_in_every_number_of_processes() {
    // At each stop processes exchange the states of all endpoints, which are large here: a short run, with losses as in the long ones.
    let overrides = [("run.duration", "1 us"), ("measure.bin", "500 ns"), ("run.drain", "none")];
    let outcome = is_the_same_in_processes(ALL, &overrides);
    assert!(outcome.invariants.packets_ok && outcome.invariants.lost.transport_loss > 0);
}

/// Many rows of the table have the same time: which of them are kept when there are too many must not depend on partitions.
#[test]
fn a_bounded_table_of_exchanges_keeps_the_same_rows() {
    let text = ALL.replace("load = 0.4\n", "").replace("\"poisson\"", "\"saturating\"");
    for limit in [1, 10, 100, 317] {
        let limit = limit.to_string();
        let overrides =
            [("measure.exchanges", limit.as_str()), ("run.duration", "500 ns"), ("run.drain", "none")];
        let outcome = is_the_same_in_all(&text, &overrides);
        let table = outcome.tables.iter().find(|table| table.name == "exchanges").expect("there is one");
        assert_eq!(rows(table).len().to_string(), limit);
    }
}

/// A line of 8 switches, or a ring, whose hosts are numbered the other way around. A host accepts a request only while it
/// has to answer fewer than two.
fn backwards(links: usize) -> String {
    let ring: String = (0..links)
        .map(|i| format!("[[link]]\na = \"S{i}\"\nb = \"S{}\"\n", (i + 1) % 8))
        .chain((0..8).map(|i| format!("[[link]]\na = \"H{i}\"\nb = \"S{}\"\n", 7 - i)))
        .collect();
    let names = |kind: &str, prefix: &str| -> String {
        let names: Vec<String> = (0..8).map(|i| format!("[[{kind}]]\nname = \"{prefix}{i}\"\n")).collect();
        names.concat()
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("backwards-{links}.toml"));
    let text = names("switch", "S") + &names("host", "H") + &ring;
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    format!(
        r#"
[topology]
file = {{ path = {:?} }}
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "512 B"
[switch]
virtual_lanes = 4
[host]
mtu = "256 B"
response_queue = 2
[[traffic]]
pattern = "uniform"
injection = "window"
window = 64
message = "256 B"
response = {{ message = "256 B" }}
messages = 300
[run]
duration = "1 ms"
allow_deadlock = true
"#,
        path.display().to_string()
    )
}

#[test]
fn lines_of_deadlocks_are_in_the_same_order_in_every_number_of_partitions() {
    let outcome = is_the_same_in_processes(&backwards(7), &[]);
    assert_eq!(outcome.status, Status::Deadlock);
    let refusals = outcome.deadlock.iter().filter(|line| line.contains("waits until the host")).count();
    assert!(refusals > 1 && refusals == outcome.deadlock.len(), "{:?}", outcome.deadlock);
    // Switches with staging buffers, and no host that refuses requests.
    let staged = backwards(8).replace("response_queue = 2\n", "");
    let overrides = [("switch.queueing", "cioq"), ("switch.virtual_lanes", "1")];
    let outcome = is_the_same_in_processes(&staged, &overrides);
    assert_eq!(outcome.status, Status::Deadlock);
    assert!(outcome.deadlock.len() > 1, "{:?}", outcome.deadlock);
}

/// Buffers that are nearly full, and packets of several sizes: outputs often have credits for one packet that waits and not for another. Whatever else
/// wakes an output, what it decides is the same; of `strict-round-robin`, which gives up although something could be sent, too.
#[test]
fn saturated_switches_decide_alike() {
    let text = r#"
[topology.mesh]
dimensions = [2, 2]
[links.all]
rate = "64 Gb/s"
latency = "3 ns"
buffer = "256 B"
[switch]
router_delay = "4 ns"
flow_control_unit = "8 B"
[host]
mtu = "64 B"
[[traffic]]
pattern = "uniform"
load = 0.9
message = { choice = [{ size = "5 B", weight = 1 }, { size = "20 B", weight = 1 }, { size = "64 B", weight = 1 }] }
[run]
duration = "20 us"
"#;
    for arbiter in ["round-robin", "strict-round-robin", "oldest-first", "random"] {
        for seed in 1..=8 {
            is_the_same_in_all(text, &[("switch.arbiter", arbiter), ("seed", &seed.to_string())]);
        }
    }
}

/// The same with lanes, where outputs also owe turns, miss them and wait for those that are overdue. Each look at what could be sent that leaves no
/// wake-up behind, and each output that waits and is not woken when an input begins to be read, shows here.
#[test]
fn saturated_switches_with_lanes_decide_alike() {
    let text = r#"
[topology.torus]
dimensions = [3, 3]
[links.all]
latency = "50 ns"
buffer = "4 KiB"
[switch]
virtual_lanes = 2
[host]
mtu = "256 B"
[[traffic]]
pattern = "uniform"
message = "64 B"
injection = "saturating"
[[traffic]]
pattern = "uniform"
message = "300 B"
injection = "saturating"
[run]
duration = "30 us"
drain = "none"
allow_deadlock = true
"#;
    let fingerprint = |overrides: &[(&str, &str)], partitions| {
        let mut all = overrides.to_vec();
        all.push(("run.partitions", partitions));
        run(text, &all).totals.fingerprint
    };
    let arbiters =
        ["round-robin", "strict-round-robin", "oldest-first", "age-based", "fixed-priority", "random"];
    for arbiter in arbiters {
        for seed in 1..=8 {
            let seed = seed.to_string();
            for (lanes, latency, buffer) in [("2", "50 ns", "4 KiB"), ("3", "5 ns", "2 KiB")] {
                let overrides = [
                    ("switch.arbiter", arbiter),
                    ("seed", seed.as_str()),
                    ("switch.virtual_lanes", lanes),
                    ("links.all.latency", latency),
                    ("links.all.buffer", buffer),
                ];
                let alone = fingerprint(&overrides, "1");
                for partitions in ["2", "3", "8"] {
                    assert_eq!(
                        fingerprint(&overrides, partitions),
                        alone,
                        "{overrides:?} in {partitions} partitions"
                    );
                }
            }
        }
    }
}

/// The threads of a run that is cancelled stop after the same window: packets and credits are balanced.
#[test]
fn threads_can_be_cancelled() {
    let prepared = prepare(TORUS_FOR_LONG, &[("run.partitions", "2"), ("run.threads", "2")]);
    let control = Control::default();
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| simulate_in_threads(&prepared, &control));
        while control.packet_hops() == 0 {
            std::thread::yield_now();
        }
        control.cancel();
        run.join().unwrap()
    });
    assert_eq!(outcome.status, Status::Interrupted);
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{:?}", outcome.invariants);
}

const TORUS_FOR_LONG: &str = r#"
[topology]
torus = { dimensions = [4, 4] }
[switch]
virtual_lanes = 4
[[traffic]]
pattern = "uniform"
message = "1 KiB"
load = 0.3
[run]
duration = "100 ms"
"#;
