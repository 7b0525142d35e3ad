//! Columns of tables, computed by hand.

use fabricsim_measure::{
    EntryName, JobName, Names, Outcome, PortName, Recorder, RecorderConfig, Report, RouterPort,
    TransportCounts,
};
use fabricsim_model::{Data, Exchange, ExchangeStep, Grant, Iteration, Label, Observer, Packet, PacketKind};
use fabricsim_spec::{Drain, Measure, Run, Switch};
use fabricsim_units::{HostId, Rate, Time, Vl};

const HOSTS: u32 = 3;
const LANES: u8 = 2;

/// The window is from 100 to 500 us.
fn recorder(ports: u32) -> Recorder {
    let run = Run {
        warmup: Time::us(100),
        duration: Time::us(400),
        drain: Drain::None,
        drain_limit: None,
        steady_state: None,
        partitions: 1,
        threads: None,
        allow_deadlock: false,
    };
    Recorder::new(&RecorderConfig::new(&run, &Measure::default(), HOSTS, ports, LANES))
}

fn names(ports: u32) -> Names {
    Names {
        hosts: (0..HOSTS).map(|host| format!("H{host}")).collect(),
        ports: (0..ports).map(|port| PortName { link: format!("P{port}"), class: "plain".into() }).collect(),
        ..Names::default()
    }
}

fn outcome() -> Outcome {
    Outcome {
        end: Time::us(500),
        rates: vec![Rate::new(8_000_000_000).unwrap(); HOSTS as usize],
        offers: Vec::new(),
        steady: None,
        congestion_events: 0,
        transport: Some(TransportCounts::default()),
        queue_pairs: None,
    }
}

fn packet(destination: u32, created: Time, injected: Time) -> Packet {
    let ends = (HostId(0), HostId(destination));
    Packet { created, hops: 2, last: false, ..Packet::new(PacketKind::Data, ends, 1000, injected) }
}

fn column(report: &Report, table: &str, name: &str) -> Data {
    let table = report.tables.iter().find(|found| found.name == table).unwrap();
    table.columns.iter().find(|column| column.name == name).unwrap().data.clone()
}

fn reals(report: &Report, table: &str, name: &str) -> Vec<f64> {
    let Data::Real(values) = column(report, table, name) else { panic!("{name} is real") };
    values
}

/// Two packets of one flow, one of another that was created before the window.
#[test]
fn latencies_of_flows() {
    let mut recorder = recorder(1);
    let at = Time::us(200);
    for (wait, travel) in [(1, 2), (3, 4)] {
        let sent = packet(1, at, at + Time::us(wait));
        recorder.delivered(sent.injected + Time::us(travel), &sent);
    }
    recorder.delivered(at, &packet(2, Time::us(50), Time::us(60)));
    let report = recorder.report(&names(1), &outcome());
    assert_eq!(column(&report, "flows", "latency_packets"), Data::Whole(vec![2, 0]));
    for (name, expected) in [
        ("latency_mean_ns", 5000.0),
        ("latency_deviation_ns", 2000.0),
        ("latency_min_ns", 3000.0),
        ("latency_max_ns", 7000.0),
        ("network_mean_ns", 3000.0),
        ("network_max_ns", 4000.0),
    ] {
        let values = reals(&report, "flows", name);
        assert!(values[0] == expected && values[1].is_nan(), "{name}: {values:?}");
    }
}

/// Three routers: two ports lead to +x, which have sent and been blocked differently.
#[test]
fn routers_by_direction() {
    let mut recorder = recorder(4).with_router_counters(&Switch::default());
    let (start, end) = (Time::us(200), Time::us(201));
    let cycles = |count: u64| start + Time::ns(2 * count);
    for (port, packets) in [(0, 1), (2, 2), (1, 4), (3, 1)] {
        for _ in 0..packets {
            recorder.transmitted(port, Vl(0), 576, start, end);
        }
    }
    recorder.stalled(0, Vl(0), start, cycles(60));
    recorder.stalled(2, Vl(1), start, cycles(20));
    recorder.blocked(1, Vl(0), start, cycles(15));
    recorder.blocked(3, Vl(1), start, cycles(10));
    let grant = |waited| Grant { input: 1, lane: Vl(0), output: 0, waited, age: 0 };
    recorder.forwarded(start, &grant(Time::ns(100)));
    recorder.forwarded(start, &grant(Time::ns(300)));
    let port = |router: &str, output: u32| RouterPort {
        router: router.into(),
        port: 0,
        direction: 0,
        input: output ^ 1,
        output,
    };
    let names =
        Names { routers: vec![port("A", 0), port("B", 2)], directions: vec!["+x".into()], ..names(4) };
    let report = recorder.report(&names, &outcome());
    let sums = "router_dimensions";
    assert_eq!(column(&report, sums, "ports"), Data::Whole(vec![2]));
    // 80 cycles and 3 packets; 60 and 10 cycles a packet at the ports.
    assert_eq!(reals(&report, sums, "stalled_per_packet"), [80.0 / 3.0]);
    assert_eq!(reals(&report, sums, "stalled_per_packet_deviation"), [25.0]);
    // 25 cycles and 5 packets.
    assert_eq!(reals(&report, sums, "blocked_per_packet"), [5.0]);
    assert_eq!(reals(&report, sums, "blocked_cycles"), [25.0]);
    assert_eq!(reals(&report, sums, "queueing_cycles"), [100.0]);
    let found = &report.summary.routers.as_ref().unwrap()["+x"];
    assert_eq!((found.stalled_per_packet, found.blocked_per_packet), (80.0 / 3.0, 5.0));
}

#[test]
fn retries_of_links_are_summed() {
    let mut recorder = recorder(2);
    let inside = Time::us(200);
    for (port, lane) in [(0, 1), (1, 0)] {
        recorder.transmitted(port, Vl(lane), 1000, inside, inside + Time::us(1));
    }
    recorder.retried(inside, 1, Vl(0), 2);
    recorder.retried(inside, 1, Vl(0), 3);
    recorder.retried(Time::us(99), 1, Vl(0), 7);
    let report = recorder.report(&names(2), &outcome());
    assert_eq!(column(&report, "links", "retries"), Data::Whole(vec![0, 5]));
}

#[test]
fn completion_times_of_messages() {
    let mut recorder = recorder(1).with_transport(2, 0);
    let mut complete = |stream, created: Time, took| {
        let last = Packet { stream, ..packet(1, created, created) };
        recorder.completed(created + Time::us(took), &last);
    };
    complete(0, Time::us(200), 2);
    complete(0, Time::us(201), 4);
    complete(1, Time::us(300), 9);
    complete(1, Time::us(99), 1);
    let stream = |name: &str| EntryName { name: name.into(), ..EntryName::default() };
    let names = Names { entries: vec![stream("a"), stream("b")], ..names(1) };
    let report = recorder.report(&names, &outcome());
    assert_eq!(column(&report, "messages", "messages"), Data::Whole(vec![2, 1]));
    assert_eq!(reals(&report, "messages", "completion_mean_ns"), [3000.0, 9000.0]);
    assert_eq!(reals(&report, "messages", "completion_max_ns"), [4000.0, 9000.0]);
    let all = report.summary.transport.unwrap();
    assert_eq!((all.messages, all.completion_ns.mean), (3, 5000.0));
}

/// Of events at 1, 2, 2 and 3 us the first two, in order of hosts.
#[test]
fn exchanges_up_to_the_requested_number() {
    let mut recorder = recorder(1).with_transport(1, 2);
    for (time, host) in [(1, 0), (2, 2), (2, 1), (3, 0)] {
        let label =
            Label { header: [0; 16], number: 0, packets: 1, message: 0, stream: 0, retransmitted: false };
        let step = ExchangeStep::Sent;
        let exchange = Exchange { host: HostId(host), peer: HostId(0), step, label, message: (0, 0) };
        recorder.exchanged(Time::us(time), &exchange);
    }
    let report = recorder.report(&names(1), &outcome());
    assert_eq!(reals(&report, "exchanges", "time_ns"), [1000.0, 2000.0]);
    assert_eq!(column(&report, "exchanges", "host"), Data::Text(vec!["H0".into(), "H1".into()]));
}

#[test]
fn jobs_are_in_the_summary() {
    let mut recorder = recorder(1).with_jobs();
    let (start, end, compute) = (Time::ns(10), Time::ns(30), Time::ns(5));
    recorder.iterated(&Iteration { job: 0, number: 0, start, end, bytes: 100, compute });
    let names = Names { jobs: vec![JobName { name: "stencil".into(), ranks: 1, iterations: 1 }], ..names(1) };
    let summary = recorder.report(&names, &outcome()).summary.jobs;
    assert_eq!(summary.job_time_ns, Some(20.0));
    assert_eq!((summary.jobs[0].job.as_str(), summary.jobs[0].done), ("stencil", 1));
    assert_eq!((summary.jobs[0].compute_ns, summary.jobs[0].exposed_ns), (5.0, 15.0));
}
