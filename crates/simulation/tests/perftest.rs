//! Tests of latency and bandwidth between two adapters: closed forms, the claims of the tutorial's figures 27 and 28, losses.

use crate::common::prepare;
use fabricsim_engine::Prepared;
use fabricsim_simulation::perftest::{
    Connection, Figures, Operation, Options, PerftestError, Quantity, Waiting, expected, perftest,
};
use fabricsim_units::HostId;

const ENDS: (HostId, HostId) = (HostId(0), HostId(1));

/// Two hosts at a switch: FDR 4x, as in the tutorial's section V.
const FDR: &str = r#"
topology.single-switch = { hosts = 2 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[switch]
router_delay = "170 ns"
[host]
mtu = "4142 B"
[run]
duration = "1 s"
"#;

/// A bus on which four reads are outstanding at most, 5.1 GB/s.
const SLOW_READS: (&str, &str) =
    ("adapter.pcie", "{ generation = 3, lanes = 8, payload = \"256 B\", reads = 4 }");

fn options(operation: Operation, quantity: Quantity, bytes: u32) -> Options {
    Options {
        operation,
        quantity,
        bytes,
        iterations: if quantity == Quantity::Latency { 50 } else { 2000.min(400 + (16 << 20) / bytes) },
        tx_depth: 128,
        rx_depth: 512,
        cq_mod: 100,
        inline: if quantity == Quantity::Latency { 220 } else { 0 },
        outstanding_reads: 16,
        mtu: 2048,
        queue_pairs: 1,
        offset: 0,
        waiting: Waiting::Busy,
        connection: Connection::Rc,
    }
}

fn run(prepared: &Prepared, options: &Options) -> Figures {
    perftest(prepared, ENDS, options, &mut |_| true).unwrap_or_else(|e| panic!("{options:?}: {e}"))
}

fn value(figures: Figures) -> f64 {
    match figures {
        Figures::Latency(latency) => latency.t_typical_us,
        Figures::Bandwidth(bandwidth) => bandwidth.bw_average_mib_s,
    }
}

const OPERATIONS: [Operation; 3] = [Operation::Write, Operation::Send, Operation::Read];

fn sizes() -> impl Iterator<Item = u32> {
    (1..=23).step_by(2).map(|power| 1 << power)
}

/// Latency of each verb is the sum of its stages, to the nanosecond.
#[test]
fn latency_is_the_sum_of_its_stages() {
    let fabrics = [
        (FDR, &[][..]),
        (FDR, &[("adapter.profile", "connectx6-hdr"), ("links.all.rate", "200 Gb/s")]),
        (
            FDR,
            &[("topology", "{ mesh = { dimensions = [3, 3] } }"), ("links.hosts", "{ rate = \"25 Gb/s\" }")],
        ),
        (FDR, &[SLOW_READS, ("adapter.request_fetch", "300 ns")]),
        (FDR, &[("adapter.translation_cache", "{ entries = 16 }")]),
        (FDR, &[("adapter.translation_cache", "{ entries = 5, page = \"8 KiB\", miss = \"2 us\" }")]),
    ];
    for (text, set) in fabrics {
        let prepared = prepare(text, set);
        for operation in OPERATIONS {
            for bytes in sizes().filter(|&bytes| bytes <= 1 << 17).chain([1, 220, 221, 2047, 2049, 5000]) {
                let options = Options { iterations: 20, ..options(operation, Quantity::Latency, bytes) };
                let (found, form) = (value(run(&prepared, &options)), expected(&prepared, ENDS, &options));
                assert!(
                    (found - form.value).abs() < 0.0015,
                    "{operation:?} {bytes} B {set:?}: {found}, not {form:?}"
                );
            }
        }
    }
}

/// Without acknowledgements latency is the same, but for the headers of a datagram.
#[test]
fn unreliable_services_have_the_same_stages() {
    let prepared = prepare(FDR, &[]);
    let cases = [
        (Connection::Uc, Operation::Send),
        (Connection::Uc, Operation::Write),
        (Connection::Ud, Operation::Send),
    ];
    for (connection, operation) in cases {
        for bytes in [1, 64, 221, 2048, 5000]
            .into_iter()
            .filter(|&bytes| bytes <= 2048 || connection == Connection::Uc)
        {
            let of = |quantity, connection| Options { connection, ..options(operation, quantity, bytes) };
            let latency = of(Quantity::Latency, connection);
            let (found, form) = (value(run(&prepared, &latency)), expected(&prepared, ENDS, &latency));
            assert!(
                (found - form.value).abs() < 0.0015,
                "{connection:?} {operation:?} {bytes} B: {found}, not {form:?}"
            );
            let reliable = value(run(&prepared, &of(Quantity::Latency, Connection::Rc)));
            // The 8 bytes of the header go over the host's link, and over the switch's while it is cut through.
            let header = if connection == Connection::Ud { 64.0 / 54_545.0 } else { 0.0 };
            assert!(
                (found - reliable - header).abs() < 0.0015,
                "{connection:?} {bytes} B: {found} {reliable}"
            );
            let bandwidth = of(Quantity::Bandwidth, connection);
            let (found, form) = (value(run(&prepared, &bandwidth)), expected(&prepared, ENDS, &bandwidth));
            let all = f64::from(bandwidth.iterations) * f64::from(bytes) / 1.048_576 / form.value;
            let ratio = found / form.value * (1.0 + expected(&prepared, ENDS, &latency).value / all);
            assert!(
                (ratio - 1.0).abs() < 0.01,
                "{connection:?} {operation:?} {bytes} B: {found}, not {form:?}"
            );
        }
    }
}

/// Rates with each number of completions, of messages outstanding and of queue pairs, and where both sides sleep.
#[test]
fn bandwidth_is_that_of_the_slowest_stage_with_any_completions() {
    let prepared = prepare(FDR, &[]);
    for operation in OPERATIONS {
        let even = [(128, 100), (128, 64), (128, 7), (128, 1), (8, 8), (4, 4), (4, 2), (4, 1), (1, 1)];
        let odd = [(2, 2), (3, 2), (5, 2), (6, 3), (7, 4), (8, 3), (10, 7), (16, 5), (20, 6)];
        for (tx_depth, cq_mod) in even.into_iter().chain(odd) {
            for (queue_pairs, waiting) in [(1, Waiting::Busy), (1, Waiting::Event), (2, Waiting::Busy)] {
                let base = options(operation, Quantity::Bandwidth, 64);
                let options = Options { tx_depth, cq_mod, queue_pairs, waiting, iterations: 10_000, ..base };
                let (found, form) = (value(run(&prepared, &options)), expected(&prepared, ENDS, &options));
                let ratio = found / form.value;
                assert!((ratio - 1.0).abs() < 0.01, "{ratio} {options:?}: {found}, not {form:?}");
            }
        }
    }
    let options = Options { rx_depth: 1, ..options(Operation::Send, Quantity::Bandwidth, 64) };
    assert!(expected(&prepared, ENDS, &options).value.is_nan(), "SENDs wait for RNR NAKs");
}

/// A sender that waits for no receiver is faster than a receiver can be ready: its messages are lost, and the test says so.
#[test]
fn an_unreliable_test_that_loses_messages_says_so() {
    let prepared = prepare(FDR, &[("adapter.post_receive", "300 ns")]);
    let slow =
        |connection| Options { connection, rx_depth: 4, ..options(Operation::Send, Quantity::Bandwidth, 64) };
    let error = perftest(&prepared, ENDS, &slow(Connection::Ud), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("messages that find no receive request are lost"), "{error}");
    // A reliable connection waits for its receiver.
    assert!(perftest(&prepared, ENDS, &slow(Connection::Rc), &mut |_| true).is_ok());
    for (operation, connection, text) in [
        (Operation::Read, Connection::Uc, "UC has no RDMA READ"),
        (Operation::Write, Connection::Ud, "UD has SEND only"),
        (Operation::Send, Connection::Ud, "a datagram of 4096 B is longer than the MTU of 2048 B"),
    ] {
        let options = Options { connection, ..options(operation, Quantity::Latency, 4096) };
        let error = perftest(&prepared, ENDS, &options, &mut |_| true).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn sleeping_costs_the_time_to_wake_up() {
    let prepared = prepare(FDR, &[]);
    for operation in [Operation::Send, Operation::Read] {
        let busy = options(operation, Quantity::Latency, 64);
        let sleeps = Options { waiting: Waiting::Event, ..busy };
        let found = value(run(&prepared, &sleeps)) - value(run(&prepared, &busy));
        assert!((found - 4.0).abs() < 0.2, "{operation:?}: {found} us");
        let form = expected(&prepared, ENDS, &sleeps).value;
        assert!((value(run(&prepared, &sleeps)) - form).abs() < 0.2, "{operation:?}: {form}");
    }
}

/// The slowest stage decides, within 1 %.
#[test]
fn bandwidth_is_that_of_the_slowest_stage() {
    let fabrics = [
        &[][..],
        &[SLOW_READS, ("adapter.request_fetch", "300 ns")],
        &[("adapter.translation_cache", "{ entries = 24, miss = \"1 us\" }")],
    ];
    for set in fabrics {
        let prepared = prepare(FDR, set);
        for operation in OPERATIONS {
            for bytes in sizes().chain([3000, 5000]) {
                let options = options(operation, Quantity::Bandwidth, bytes);
                let (found, form) = (value(run(&prepared, &options)), expected(&prepared, ENDS, &options));
                // A test of a given number of messages also takes the time of the first one, alone, whose pages are not known.
                let one = Options { quantity: Quantity::Latency, iterations: 1, ..options };
                let alone = value(run(&prepared, &one));
                let all = f64::from(options.iterations) * f64::from(bytes) / 1.048_576 / form.value;
                let ratio = found / form.value * (1.0 + alone / all);
                assert!((ratio - 1.0).abs() < 0.01, "{operation:?} {bytes} B {set:?}: {found}, not {form:?}");
            }
        }
    }
}

/// Few reads outstanding, many unknown pages: each slows large messages down to what it allows.
#[test]
fn reads_and_translations_limit_bandwidth() {
    let of = |set: &[(&str, &str)]| {
        let options = options(Operation::Write, Quantity::Bandwidth, 1 << 20);
        value(run(&prepare(FDR, set), &options)) * 1.048_576
    };
    let free = of(&[]);
    // 4 reads of 512 B in 400 ns; a page of 4096 B in 2 us. A cache that holds all pages costs nothing.
    let cases = [
        (of(&[SLOW_READS]), 5120.0),
        (of(&[("adapter.translation_cache", "{ entries = 64, miss = \"2 us\" }")]), 2048.0),
        (of(&[("adapter.translation_cache", "{ entries = 512, miss = \"2 us\" }")]), free),
    ];
    for (found, limit) in cases {
        assert!((found / limit - 1.0).abs() < 0.01, "{found} MB/s, not {limit}");
    }
    assert!(free > 6000.0, "{free}");
}

/// Figure 27: WRITE has the lowest latency and READ the highest at every size; all grow alike.
#[test]
fn figure_27() {
    let prepared = prepare(FDR, &[]);
    for bytes in sizes() {
        let [write, send, read] = OPERATIONS.map(|operation| {
            value(run(&prepared, &Options { iterations: 4, ..options(operation, Quantity::Latency, bytes) }))
        });
        assert!(write < send && send < read, "{bytes} B: {write} {send} {read}");
        assert!(
            read - write < 1.5,
            "{bytes} B: READ needs a round trip more, not another growth: {write} {read}"
        );
    }
}

/// Figure 28: WRITE has the highest throughput for small messages, and READ for large ones, where both reach 90 % of what the link allows. The model has
/// two causes: READs outstanding (with 4 WRITE leads up to 2 KiB, with 16, perftest's default, up to 256 B; the tutorial says 4 KiB), and
/// headers: the first packet of a WRITE has 16 bytes more, a READ's first and last response 4.
#[test]
fn figure_28() {
    let prepared = prepare(FDR, &[]);
    for bytes in sizes() {
        let [write, read] = [Operation::Write, Operation::Read]
            .map(|operation| value(run(&prepared, &options(operation, Quantity::Bandwidth, bytes))));
        let few = Options { outstanding_reads: 4, ..options(Operation::Read, Quantity::Bandwidth, bytes) };
        let few = value(run(&prepared, &few));
        println!("{bytes} B: WRITE {write:.1} READ {read:.1}, of 4 at a time {few:.1} MiB/s");
        assert_eq!(write > few, bytes <= 2048, "{bytes} B: {write} {few}");
        assert_eq!(write > read, bytes <= 256, "{bytes} B: {write} {read}");
        if bytes >= 1 << 15 {
            let link = 54.545e9 / 8.0 / 1_048_576.0;
            assert!(write > 0.9 * link && read > 0.9 * link, "{bytes} B: {write} {read} of {link}");
        }
    }
}

/// Section III-G: aligned memory, more messages outstanding, and inline data are faster.
#[test]
fn practical_experience() {
    let prepared = prepare(FDR, &[]);
    let write = |quantity, bytes, change: &dyn Fn(&mut Options)| {
        let mut options = options(Operation::Write, quantity, bytes);
        change(&mut options);
        value(run(&prepared, &options))
    };
    let bandwidth = |bytes, change: &dyn Fn(&mut Options)| write(Quantity::Bandwidth, bytes, change);
    let (aligned, unaligned) = (bandwidth(65_536, &|_| {}), bandwidth(65_536, &|options| options.offset = 8));
    assert!(unaligned < 0.6 * aligned, "{aligned} {unaligned}");
    // The control: an adapter that needs no second block is as fast at any address.
    let other = prepare(FDR, &[("adapter.unaligned_blocks", "1")]);
    let same = Options { offset: 8, ..options(Operation::Write, Quantity::Bandwidth, 65_536) };
    assert!((value(run(&other, &same)) / aligned - 1.0).abs() < 0.01);
    let by_depth = [1, 2, 4, 16, 64]
        .map(|depth| bandwidth(4096, &|options| (options.tx_depth, options.cq_mod) = (depth, 1)));
    assert!(
        by_depth.windows(2).all(|pair| pair[1] >= 0.999 * pair[0]) && by_depth[4] > 3.0 * by_depth[0],
        "{by_depth:?}"
    );
    // One at a time: the way there and the acknowledgement.
    let one = Options { tx_depth: 1, cq_mod: 1, ..options(Operation::Write, Quantity::Bandwidth, 4096) };
    assert!((by_depth[0] / expected(&prepared, ENDS, &one).value - 1.0).abs() < 0.01);
    let latency = |inline| write(Quantity::Latency, 64, &|options| options.inline = inline);
    assert!(latency(220) < latency(0) - 0.3);
}

/// Lost packets cost retries: the test ends, and later.
#[test]
fn bit_errors_cost_time() {
    let lossy = prepare(FDR, &[("links.errors", "lose"), ("links.all.bit_error_rate", "1e-7")]);
    for operation in OPERATIONS {
        let options = Options { iterations: 400, ..options(operation, Quantity::Bandwidth, 65_536) };
        let (free, lost) = (value(run(&prepare(FDR, &[]), &options)), value(run(&lossy, &options)));
        assert!(lost < 0.9 * free, "{operation:?}: {free} {lost}");
    }
}

#[test]
fn partitions_of_the_run_do_not_matter() {
    let mesh = [("topology", "{ mesh = { dimensions = [3, 3] } }")];
    for operation in OPERATIONS {
        for quantity in [Quantity::Latency, Quantity::Bandwidth] {
            let options = Options { iterations: 300, queue_pairs: 3, ..options(operation, quantity, 5000) };
            let figures = ["1", "2", "3", "7"].map(|partitions| {
                let prepared = prepare(FDR, &[&mesh[..], &[("run.partitions", partitions)]].concat());
                perftest(&prepared, (HostId(0), HostId(8)), &options, &mut |_| true)
                    .unwrap_or_else(|e| panic!("{e}"))
            });
            assert!(figures.iter().all(|found| *found == figures[0]), "{figures:?}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let fail = |set: &[(&str, &str)], ends, options: Options| -> String {
        match perftest(&prepare(FDR, set), ends, &options, &mut |_| true) {
            Err(PerftestError::Option(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let good = options(Operation::Write, Quantity::Latency, 64);
    assert!(fail(&[], (HostId(1), HostId(1)), good).contains("are both"));
    assert!(fail(&[("host.mtu", "1024 B")], ENDS, good).contains("--mtu"));
    assert!(fail(&[], ENDS, Options { inline: 5000, ..good }).contains("at most 928"));
    let traffic = [("traffic", r#"[{ pattern = "uniform", injection = "saturating", message = "1 kB" }]"#)];
    assert!(fail(&traffic, ENDS, good).contains("idle fabric"));
}
