//! Messages that follow from others: windows, responses.

use crate::common::{everything, run, try_prepare};
use fabricsim_measure::EntrySummary;
use fabricsim_simulation::Status;

/// Two hosts on a switch; every latency is known.
const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[switch]
router_delay = "80 ns"
[host]
mtu = "512 B"
[[traffic]]
name = "get"
sources = ["H0"]
pattern = { to = "H1" }
injection = "window"
window = 1
message = "100 B"
response = { message = "1200 B", delay = "300 ns" }
[run]
warmup = "10 us"
duration = "1 ms"
"#;

/// Request: 100 ns on the wire (8 Gb/s are 1 ns a byte), two links and the switch.
const REQUEST_NS: f64 = 10.0 + 80.0 + 10.0 + 100.0;
/// Response: three packets of 512, 512 and 176 bytes one after the other.
const RESPONSE_NS: f64 = 10.0 + 80.0 + 10.0 + 1200.0;

fn stream<'a>(streams: &'a [EntrySummary], name: &str) -> &'a EntrySummary {
    streams.iter().find(|stream| stream.entry == name).unwrap()
}

#[test]
fn a_round_trip_takes_what_its_parts_take() {
    let outcome = run(PAIR, &[]);
    let streams = &outcome.summary.entries;
    let (request, response) = (stream(streams, "get"), stream(streams, "get response"));
    assert_eq!((request.kind, response.kind), ("request", "response"));
    assert_eq!((request.latency_ns.min, request.latency_ns.max), (REQUEST_NS, REQUEST_NS));
    // Packets of a message are all made with it.
    assert_eq!((response.latency_ns.min, response.latency_ns.max), (612.0, RESPONSE_NS));
    let trip = request.round_trip_ns.unwrap();
    let expected = REQUEST_NS + 300.0 + RESPONSE_NS;
    assert_eq!((trip.min, trip.mean, trip.max), (expected, expected, expected));
    assert!(response.round_trip_ns.is_none());
}

/// Little's law: requests that are open = rate of the answers x round trip.
#[test]
fn littles_law_holds_for_a_window() {
    for window in ["1", "2", "3"] {
        let outcome = run(PAIR, &[("traffic.0.window", window)]);
        let request = stream(&outcome.summary.entries, "get").clone();
        let expected = window.parse::<f64>().unwrap() / (REQUEST_NS + 300.0 + RESPONSE_NS) * 1e9;
        let rate = request.answered_per_s.unwrap();
        // The response takes 1200 of the 1800 ns at the answering host's link: a second request waits for it.
        let most = 1e9 / 1200.0;
        let bound = expected.min(most);
        assert!((rate / bound - 1.0).abs() < 2e-3, "window {window}: {rate} of {bound}");
        let open = rate * request.round_trip_ns.unwrap().mean * 1e-9;
        assert!((open / window.parse::<f64>().unwrap() - 1.0).abs() < 2e-3, "window {window}: {open}");
    }
}

#[test]
fn open_loop_requests_are_answered_and_timed() {
    let overrides = [
        ("traffic.0.injection", "constant"),
        ("traffic.0.load", "0.01"),
        (
            "traffic.0",
            "{ sources = ['H0'], pattern = { to = 'H1' }, injection = 'constant', load = 0.01, \
          message = '100 B', response = { message = { uniform = { min = '1 B', max = '3000 B' } } } }",
        ),
    ];
    let outcome = run(PAIR, &overrides[2..]);
    let request = stream(&outcome.summary.entries, "to");
    // A message every 10 us.
    assert_eq!(request.answered_per_s, Some(1e5));
    let trip = request.round_trip_ns.unwrap();
    assert!(trip.min >= REQUEST_NS + 101.0 && trip.max <= REQUEST_NS + 3100.0, "{trip:?}");
    assert!((trip.mean / (REQUEST_NS + 100.0 + 1500.5) - 1.0).abs() < 0.15, "{trip:?}");
}

/// All to all, adaptive, several lanes and open messages, sizes of several packets: everything out of order.
const MIXED: &str = r#"
[topology.fat-tree]
arity = 3
levels = 2
[switch]
virtual_lanes = 4
service_classes = 2
[routing]
algorithm = "up-down-adaptive"
[host]
open_messages = 3
mtu = "256 B"
[[traffic]]
pattern = "uniform"
injection = "window"
window = 5
message = { uniform = { min = "1 B", max = "2 KiB" } }
response = { message = { uniform = { min = "1 B", max = "1 KiB" } }, service_class = 1, delay = "70 ns" }
messages = 40
[[traffic]]
pattern = "neighbour-free"
load = 0.1
message = "64 B"
stop = "20 us"
[run]
duration = "2 ms"
drain = "empty"
"#;

#[test]
fn every_request_is_answered_in_every_number_of_partitions() {
    let text = MIXED.replace("neighbour-free", "uniform");
    let alone = run(&text, &[]);
    let requests = stream(&alone.summary.entries, "uniform #1");
    let answered = requests.answered_per_s.unwrap() * 2e-3;
    assert_eq!(answered.round(), 9.0 * 40.0, "{:?}", alone.summary.entries);
    assert_eq!(alone.invariants.in_flight, 0);
    for partitions in ["2", "3", "7"] {
        let other = run(&text, &[("run.partitions", partitions)]);
        assert!(everything(&other) == everything(&alone), "{partitions} partitions");
    }
    assert_ne!(run(&text, &[("seed", "2")]).totals.fingerprint, alone.totals.fingerprint);
}

#[test]
fn a_drain_answers_what_was_asked() {
    let outcome = run(PAIR, &[("run.drain", "empty"), ("traffic.0.window", "4"), ("run.duration", "3 us")]);
    assert_eq!((outcome.invariants.in_flight, outcome.defect.as_str()), (0, ""));
    let requests = outcome.summary.entries[0].clone();
    assert!(requests.round_trip_ns.unwrap().max > 0.0);
    // Every request has three packets of response.
    let injected = outcome.invariants.injected;
    assert_eq!(injected % 4, 0, "{injected}");
}

#[test]
fn classes_must_exist() {
    let error = try_prepare(PAIR, &[("traffic.0.response.service_class", "1")]).unwrap_err();
    assert!(error.contains("traffic.0.response.service_class: 1 is not allowed: service classes are 0 to 0"));
}

/// Hosts with room for two responses, small buffers, more requests than fit into them.
const OWING: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "512 B"
[switch]
virtual_lanes = 4
service_classes = 2
[host]
mtu = "256 B"
response_queue = 2
[[traffic]]
pattern = "uniform"
injection = "window"
window = 64
message = "256 B"
response = { message = "256 B", service_class = 1 }
messages = 300
[run]
duration = "1 ms"
"#;

/// A host that owes responses leaves requests where they are. Where they are in the responses' way, that is for ever.
#[test]
fn requests_and_responses_in_one_class_deadlock_and_in_two_do_not() {
    let apart = run(OWING, &[]);
    assert_eq!((apart.status, apart.defect.as_str()), (Status::Ok, ""));
    assert_eq!(apart.invariants.in_flight, 0);
    let answered = stream(&apart.summary.entries, "uniform").answered_per_s.unwrap() * 1e-3;
    assert_eq!(answered.round(), 16.0 * 300.0);

    let together = run(OWING, &[("traffic.0.response.service_class", "0")]);
    assert_eq!(together.status, Status::Deadlock, "{:?}", together.defect);
    assert!(together.deadlock[0].contains("waits until the host has sent one of 2 responses"));
    assert!(together.invariants.credits_ok && together.invariants.packets_ok);

    // Without the limit a host takes whatever comes: one class will do.
    let endless = OWING.replace("response_queue = 2", "");
    let endless = run(&endless, &[("traffic.0.response.service_class", "0")]);
    assert_eq!((endless.status, endless.invariants.in_flight), (Status::Ok, 0));
}

/// Jobs that are done end a run only if nothing else is in progress: here requests wait for ever behind them.
#[test]
fn jobs_that_are_done_do_not_hide_a_deadlock() {
    let job = "[[jobs]]\nprogram = { barrier = {} }\n";
    let with_job = OWING.replace("[run]", &format!("{job}[run]"));
    let together = run(&with_job, &[("traffic.0.response.service_class", "0")]);
    assert_eq!(together.status, Status::Deadlock, "{:?}", together.defect);
    assert_eq!(run(&with_job, &[]).status, Status::Ok);
}

/// A transport sends copies for ever where requests wait for ever, so that the fabric is never silent; that is a deadlock all the
/// same. Where responses have lanes of their own there is none.
#[test]
fn copies_of_a_transport_do_not_hide_that_hosts_refuse_for_ever() {
    let options = "drain = \"empty\"\n[transport]\nmode = \"source-ordered\"\nloss = 0.1\ntimeout = \"20 us\"\nlifetime = \"10 us\"\n";
    let ordered = format!("{OWING}{options}");
    let together = run(&ordered, &[("traffic.0.response.service_class", "0")]);
    assert_eq!(together.status, Status::Deadlock, "{:?}", together.defect);
    assert!(together.deadlock[0].contains("waits until the host has sent one of 2 responses"));

    let apart = run(&ordered, &[("transport.service_class", "1")]);
    assert_eq!((apart.status, apart.invariants.in_flight), (Status::Ok, 0), "{:?}", apart.defect);
}

/// A host that congestion control rate-limits for longer than all timers goes on by itself.
#[test]
fn responses_that_congestion_control_holds_back_are_no_deadlock() {
    let text = r#"
[topology.single-switch]
hosts = 2
[host]
response_queue = 1
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "window"
window = 4
message = "64 B"
response = { message = "2 KiB" }
[transport]
mode = "unordered"
timeout = "10 us"
lifetime = "10 us"
[congestion_control]
algorithm = "infiniband"
[congestion_control.infiniband]
ccti_min = 1
cct = { entries = ["0:0", "0:16000"] }
[run]
duration = "20 ms"
drain = "none"
"#;
    for lifetime in ["10 us", "50 us", "200 us"] {
        let outcome = run(text, &[("transport.lifetime", lifetime)]);
        assert_eq!(outcome.status, Status::Ok, "{lifetime}: {:?}", outcome.deadlock);
    }
}

/// Without a transport a fabric with nothing to do is silent: a response that takes longer than any timer is none.
#[test]
fn a_long_response_without_a_transport_is_no_deadlock() {
    let text = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
[host]
response_queue = 1
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "window"
window = 4
message = "64 B"
response = { message = "64 MB" }
[run]
duration = "150 ms"
drain = "none"
"#;
    let outcome = run(text, &[]);
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.deadlock);
    assert!(outcome.totals.delivered > 30_000);
    assert_eq!(outcome.warnings, Vec::<String>::new());
}

/// A run that ends before that is certain warns.
#[test]
fn a_run_that_ends_while_hosts_refuse_warns() {
    let ordered = format!("{OWING}drain = \"none\"\n[transport]\nmode = \"source-ordered\"\nloss = 0.1\n");
    let warns = |class| {
        let outcome = run(&ordered, &[("traffic.0.response.service_class", class), ("run.duration", "8 ms")]);
        assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.deadlock);
        outcome.warnings.iter().any(|warning| warning.contains("for hosts that have to send responses first"))
    };
    assert_eq!([warns("0"), warns("1")], [true, false]);
}

/// So does one whose drain is cut off.
#[test]
fn a_drain_that_ends_at_its_limit_warns() {
    let warns = |limit| {
        let outcome =
            run(OWING, &[("run.drain", "'empty'"), ("run.drain_limit", limit), ("run.duration", "2 us")]);
        let warned = outcome.warnings.iter().any(|warning| warning.contains("the drain ended at its limit"));
        assert_eq!(warned, outcome.invariants.in_flight > 0);
        warned
    };
    assert_eq!(["100 ns", "10 ms"].map(warns), [true, false]);
}

#[test]
fn hosts_that_refuse_requests_do_so_alike_in_every_number_of_partitions() {
    for class in ["0", "1"] {
        let of = |partitions| {
            let overrides = [("traffic.0.response.service_class", class), ("run.partitions", partitions)];
            everything(&run(OWING, &overrides))
        };
        let alone = of("1");
        assert!(["2", "3", "7"].iter().all(|partitions| of(partitions) == alone), "class {class}");
    }
}

/// Adaptive routing counts the credits of all lanes of a port together; a host that refuses requests returns them as well.
#[test]
fn hosts_that_refuse_requests_keep_the_credits_of_adaptive_routing() {
    let text = r#"
[topology.dragonfly]
p = 2
a = 2
h = 2
[switch]
virtual_lanes = 8
[host]
response_queue = 2
[routing]
algorithm = "ugal-g"
[[traffic]]
pattern = "random-permutation"
load = 0.1
message = "1 KiB"
response = { message = "64 B" }
[run]
duration = "8 us"
"#;
    let outcome = run(text, &[]);
    assert!(outcome.totals.delivered > 50 && outcome.invariants.credits_ok, "{:?}", outcome.invariants);
}
