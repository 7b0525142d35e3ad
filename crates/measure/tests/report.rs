//! Figures of a small run, computed by hand.

use fabricsim_measure::{
    Names, OfferedLoad, Outcome, PortName, Recorder, RecorderConfig, Report, RouterPort,
};
use fabricsim_model::{Data, Grant, Observer, Packet, PacketKind};
use fabricsim_spec::{Drain, Measure, Run, SteadyMetric, SteadyState, Switch};
use fabricsim_units::{HostId, Rate, Time, Vl};

const SIZE: u32 = 1000;

fn run(warmup: Time, duration: Time, steady: bool) -> Run {
    Run {
        warmup,
        duration,
        drain: Drain::None,
        drain_limit: None,
        steady_state: steady.then(SteadyState::default),
        partitions: 1,
        threads: None,
        allow_deadlock: false,
    }
}

fn names(hosts: u32, ports: u32) -> Names {
    Names {
        hosts: (0..hosts).map(|host| format!("H{host}")).collect(),
        ports: (0..ports).map(|port| PortName { link: format!("P{port}"), class: "plain".into() }).collect(),
        ..Names::default()
    }
}

fn packet(source: u32, destination: u32, created: Time, injected: Time) -> Packet {
    let ends = (HostId(source), HostId(destination));
    Packet { created, hops: 2, last: false, ..Packet::new(PacketKind::Data, ends, SIZE, injected) }
}

fn outcome(end: Time, hosts: u32, offers: &[(u32, Option<u32>, u64)]) -> Outcome {
    let offer = |&(source, destination, bytes): &(u32, Option<u32>, u64)| OfferedLoad {
        source: HostId(source),
        destination: destination.map(HostId),
        stream: Some(0),
        bytes,
    };
    let rates = vec![Rate::new(8_000_000_000).unwrap(); hosts as usize];
    Outcome {
        end,
        rates,
        offers: offers.iter().map(offer).collect(),
        steady: None,
        congestion_events: 0,
        transport: None,
        queue_pairs: None,
    }
}

fn rows(report: &Report, table: &str) -> usize {
    let table = report.tables.iter().find(|t| t.name == table).unwrap();
    let lengths: Vec<usize> = table
        .columns
        .iter()
        .map(|column| match &column.data {
            Data::Real(values) => values.len(),
            Data::Whole(values) => values.len(),
            Data::Text(values) => values.len(),
        })
        .collect();
    assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "columns of unequal length: {}", table.name);
    lengths[0]
}

/// Two sources at 8 Gb/s, that is one byte a nanosecond, share a sink: 3/4 and 1/4 of it. A third gets nothing.
fn shared_sink() -> (Recorder, Outcome) {
    let config = RecorderConfig::new(&run(Time::us(100), Time::us(400), false), &Measure::default(), 4, 2, 1);
    let mut recorder = Recorder::new(&config);
    for i in 1..500 {
        let end = Time::us(i + 1);
        let source = u32::from(i % 4 == 3);
        let sent = packet(source, 3, end - Time::us(1) - Time::ns(500), end - Time::us(1));
        recorder.injected(sent.injected, &sent);
        recorder.transmitted(0, Vl(0), SIZE, sent.injected, end);
        recorder.delivered(end, &sent);
    }
    recorder.stalled(1, Vl(0), Time::us(50), Time::us(200));
    let flood = 400 * u64::from(SIZE);
    (recorder, outcome(Time::us(500), 4, &[(0, Some(3), flood), (1, Some(3), flood), (2, Some(3), flood)]))
}

#[test]
fn figures_of_a_shared_sink() {
    let (recorder, outcome) = shared_sink();
    let summary = recorder.report(&names(4, 2), &outcome).summary;
    // Delivered at 100, 101, ... 499 us: 400 packets.
    assert_eq!(
        (summary.hosts.packets, summary.hosts.bytes, summary.latency.latency_packets),
        (400, 400_000, 399)
    );
    assert_eq!((summary.hosts.offered_gbps, summary.hosts.accepted_gbps), (24.0, 8.0));
    assert_eq!((summary.hosts.offered_load, summary.hosts.accepted_load), (1.0, 1.0 / 3.0));
    assert_eq!(
        (summary.latency.latency_ns.mean, summary.latency.latency_ns.min, summary.latency.latency_ns.p999),
        (1500.0, 1500.0, 1500.0)
    );
    assert_eq!(
        (summary.latency.network_latency_ns.mean, summary.latency.network_latency_ns.max),
        (1000.0, 1000.0)
    );
    assert_eq!(
        (summary.latency.hops.mean, summary.latency.hops.min, summary.latency.hops.max),
        (1.0, Some(1), Some(1))
    );
    // Shares of 3/4, 1/4 and 0.
    assert_eq!(summary.flows.jain, 1.0 / (3.0 * (9.0 / 16.0 + 1.0 / 16.0)));
    assert_eq!((summary.flows.flow_count, summary.flows.starving, summary.hosts.saturated), (3, 1, true));
    assert_eq!(summary.hosts.saturation.unwrap(), "accepts 8.000 Gb/s of 24.00 Gb/s offered: less than 98 %");
    let flows: Vec<_> =
        summary.flows.flows.iter().map(|f| (f.source.as_str(), f.offered_gbps, f.accepted_gbps)).collect();
    assert_eq!(flows, [("H0", 8.0, 6.0), ("H1", 8.0, 2.0), ("H2", 8.0, 0.0)]);
    let confidence = summary.batches.latency_confidence.unwrap();
    assert_eq!((confidence.half_width_ns, confidence.batches, confidence.batch_ns), (0.0, 40, 10_000.0));
}

/// The load is relative to the links of hosts that send: here of two among four.
#[test]
fn loads_are_relative_to_the_links_of_senders() {
    let (recorder, outcome) = shared_sink();
    let unknown = Outcome { offers: Vec::new(), ..outcome };
    let summary = recorder.report(&names(4, 2), &unknown).summary;
    assert!(summary.hosts.offered_load.is_nan());
    assert_eq!(summary.hosts.accepted_load, 0.5);
}

#[test]
fn tables_of_a_shared_sink() {
    let (recorder, outcome) = shared_sink();
    let report = recorder.report(&names(4, 2), &outcome);
    let found: Vec<_> = report.tables.iter().map(|table| (table.name, rows(&report, table.name))).collect();
    let expected = [
        ("entries", 0),
        ("flows", 3),
        ("series", 2 * 140),
        ("hosts", 4),
        ("hosts_series", 4 * 140),
        ("links", 2),
        ("run_series", 140),
        ("latency", 2),
        ("hops", 1),
        ("batches", 40),
    ];
    assert_eq!(found, expected);
    let links = report.tables.iter().find(|table| table.name == "links").unwrap();
    let column = |name| &links.columns.iter().find(|column| column.name == name).unwrap().data;
    assert_eq!(column("utilisation"), &Data::Real(vec![1.0, 0.0]));
    assert_eq!(column("stalled"), &Data::Real(vec![0.0, 0.25]));
    assert_eq!(column("packets"), &Data::Whole(vec![400, 0]));
}

#[test]
fn shares_say_whose_link_they_are_of() {
    let (recorder, mut outcome) = shared_sink();
    outcome.rates[3] = Rate::new(16_000_000_000).unwrap();
    let report = recorder.report(&names(4, 2), &outcome);
    let flows = report.tables.iter().find(|table| table.name == "flows").unwrap();
    let column = |name| &flows.columns.iter().find(|column| column.name == name).unwrap().data;
    assert_eq!(column("source_share"), &Data::Real(vec![0.75, 0.25, 0.0]));
    assert_eq!(column("destination_share"), &Data::Real(vec![0.375, 0.125, 0.0]));
    assert!(flows.columns.iter().all(|column| column.name != "share"));
}

#[test]
fn a_run_without_packets() {
    let config = RecorderConfig::new(&run(Time::us(1), Time::us(4), true), &Measure::default(), 3, 2, 1);
    let report = Recorder::new(&config).report(&names(3, 2), &outcome(Time::us(2), 3, &[]));
    let json = serde_json::to_value(&report.summary).unwrap();
    for key in ["measured_from_ns", "offered_load", "accepted_load", "latency_confidence", "saturation"] {
        assert!(json[key].is_null(), "{key}");
    }
    assert!(json["latency_ns"]["mean"].is_null() && json["hops"]["min"].is_null());
    assert_eq!((&json["packets"], &json["saturated"]), (&0.into(), &false.into()));
    assert_eq!((rows(&report, "flows"), rows(&report, "links"), rows(&report, "batches")), (0, 2, 0));
}

#[test]
fn json_has_the_promised_keys() {
    let (recorder, outcome) = shared_sink();
    let json = serde_json::to_value(recorder.report(&names(4, 2), &outcome).summary).unwrap();
    for key in ["mean", "p50", "p99", "p999", "max"] {
        assert!(json["latency_ns"][key].is_f64() && json["flows"][0]["latency_ns"][key].is_f64(), "{key}");
    }
    for key in ["offered_load", "accepted_load"] {
        assert!(json[key].is_f64(), "{key}");
    }
    assert_eq!((&json["flows"][1]["source"], &json["flows"][1]["destination"]), (&"H1".into(), &"H3".into()));
}

#[test]
fn a_window_that_opens_and_closes_later() {
    let config = RecorderConfig::new(&run(Time::us(10), Time::us(400), true), &Measure::default(), 4, 2, 1);
    let mut recorder = Recorder::new(&config);
    let feed = |recorder: &mut Recorder, from: u64, to: u64| {
        for i in from..to {
            let sent = packet(0, 1, Time::us(i), Time::us(i));
            recorder.injected(sent.injected, &sent);
            recorder.transmitted(0, Vl(0), SIZE, Time::us(i), Time::us(i + 1));
            recorder.delivered(Time::us(i + 1), &sent);
        }
    };
    feed(&mut recorder, 0, 50);
    let batch = recorder.take_batch().sums;
    assert_eq!((batch.packets, batch.latency, batch.bytes), (50, 50_000_000, 50_000));
    recorder.open_window(Time::us(60));
    feed(&mut recorder, 50, 100);
    recorder.close_window(Time::us(110));
    feed(&mut recorder, 100, 150);
    assert_eq!(recorder.take_batch().sums.packets, 100);
    let report = recorder.report(&names(4, 2), &outcome(Time::us(150), 4, &[(0, None, 50_000)]));
    assert_eq!((report.summary.measured_from_ns, report.summary.measured_ns), (60_000.0, 50_000.0));
    assert_eq!((report.summary.hosts.packets, report.summary.latency.latency_packets), (50, 50));
    assert_eq!((report.summary.hosts.accepted_load, report.summary.hosts.saturated), (1.0, false));
    assert!(report.summary.flows.flows[0].offered_gbps.is_nan(), "the destination was drawn");
}

/// Latencies of batches are kept only for quantiles.
#[test]
fn latencies_of_a_batch_are_those_since_the_last() {
    let config = RecorderConfig::new(&run(Time::us(10), Time::us(400), true), &Measure::default(), 4, 2, 1);
    for (of, kept) in [(SteadyMetric::LatencyP99, true), (SteadyMetric::AcceptedGbps, false)] {
        let rule = SteadyState { of: vec![of], ..SteadyState::default() };
        let mut recorder = Recorder::new(&config).with_steady_state(&rule);
        for (taken, latency) in [(3, Time::us(1)), (2, Time::us(5))] {
            for i in 0..taken {
                let sent = packet(0, 1, Time::us(i), Time::us(i));
                recorder.delivered(sent.created + latency, &sent);
            }
            let batch = recorder.take_batch();
            assert_eq!(batch.sums.packets, taken);
            let found: Vec<_> = batch.latencies.buckets().map(|of| (of.low <= latency.0, of.count)).collect();
            assert_eq!(found, if kept { vec![(true, taken)] } else { Vec::new() });
            assert_eq!(batch.latencies.count_up_to(latency.0), if kept { taken } else { 0 });
        }
    }
}

/// The thesis' fabric with every pair of its hosts: below 5 MB of values. A row of the series takes 8 B for its value;
/// its time and its flow are runs or dictionary entries of at most 2 B each.
#[test]
fn tables_of_a_long_run_are_small() {
    let config = RecorderConfig::new(&run(Time::ZERO, Time::ms(700), false), &Measure::default(), 50, 260, 1);
    let mut recorder = Recorder::new(&config);
    for i in 0..50 * 50 * 140_u32 {
        let sent = packet(i % 50, i / 50 % 50, Time::us(2) * u64::from(i), Time::us(2) * u64::from(i));
        recorder.delivered(sent.injected + Time::ns(u64::from(i % 977)), &sent);
    }
    let report = recorder.report(&names(50, 260), &outcome(Time::ms(700), 50, &[]));
    assert_eq!((rows(&report, "flows"), rows(&report, "series")), (2500, 2500 * 140));
    let bytes = |table: &fabricsim_model::Table| -> usize {
        let width = |name: &str| if matches!(name, "time_ns" | "flow" | "host") { 2 } else { 8 };
        table.columns.iter().map(|column| width(column.name)).sum::<usize>() * rows(&report, table.name)
    };
    let total: usize = report.tables.iter().map(bytes).sum();
    assert!(total < 5_000_000, "{total}");
}

/// 32768 hosts in a 32x32x32 torus: the flows are one per source, the tables stay bounded.
#[test]
fn a_large_fabric_is_bounded() {
    let hosts = 32_768;
    let config = RecorderConfig::new(
        &run(Time::ZERO, Time::us(100), false),
        &Measure::default(),
        hosts,
        2 * 131_072,
        2,
    );
    let mut recorder = Recorder::new(&config);
    for i in 0..200_000_u32 {
        let sent = packet(
            i % hosts,
            (i * 7919) % hosts,
            Time::ns(u64::from(i % 99_000)),
            Time::ns(u64::from(i % 99_000)),
        );
        recorder.injected(sent.injected, &sent);
        recorder.delivered(sent.injected + Time::us(1), &sent);
    }
    let report = recorder.report(&names(hosts, 2 * 131_072), &outcome(Time::us(100), hosts, &[]));
    assert_eq!(
        (rows(&report, "flows"), rows(&report, "hosts"), rows(&report, "series")),
        (32_768, 32_768, 0)
    );
    assert_eq!((rows(&report, "hosts_series"), rows(&report, "links")), (140, 262_144));
    assert!(report.summary.flows.flows.is_empty() && report.summary.flows.flow_count == 32_768);
}

/// Two routers joined by a link of two lanes, 0 sends to 1: what table 4's registers hold.
#[test]
fn counters_of_routers() {
    let config = RecorderConfig::new(&run(Time::us(100), Time::us(400), false), &Measure::default(), 1, 4, 4);
    let mut recorder = Recorder::new(&config).with_router_counters(&Switch::default());
    let (start, end) = (Time::us(200), Time::us(201));
    for (lane, packets) in [(0, 2), (1, 2), (2, 1)] {
        for _ in 0..packets {
            recorder.transmitted(0, Vl(lane), 576, start, end);
        }
    }
    let grant = |waited, age| Grant { input: 2, lane: Vl(0), output: 0, waited, age };
    recorder.forwarded(start, &grant(Time::ns(100), 10));
    recorder.forwarded(start, &grant(Time::ns(300), 70));
    // 40 and 20 cycles of 2 ns at the sender, 10 at the receiver.
    recorder.stalled(0, Vl(0), start, start + Time::ns(80));
    recorder.stalled(0, Vl(2), start, start + Time::ns(40));
    recorder.blocked(0, Vl(1), start, start + Time::ns(20));
    let port = |router: &str, direction, output: u32| RouterPort {
        router: router.into(),
        port: 0,
        direction,
        input: output ^ 1,
        output,
    };
    let names = Names {
        routers: vec![port("A", 0, 0), port("B", 1, 1)],
        directions: vec!["+x".into(), "-x".into()],
        ..names(1, 4)
    };
    let report = recorder.report(&names, &outcome(Time::us(500), 1, &[]));
    let column = |table: &str, name: &str| {
        let table = report.tables.iter().find(|found| found.name == table).unwrap();
        table.columns.iter().find(|column| column.name == name).unwrap().data.clone()
    };
    let text = |values: &[&str]| Data::Text(values.iter().map(ToString::to_string).collect());
    let ports = "router_ports";
    assert_eq!(column(ports, "router"), text(&["A", "A", "A", "B", "B", "B"]));
    assert_eq!(column(ports, "direction"), text(&["+x", "+x", "+x", "-x", "-x", "-x"]));
    assert_eq!(column(ports, "lane"), Data::Whole(vec![0, 1, 2, 0, 1, 2]));
    assert_eq!(column(ports, "packets"), Data::Whole(vec![0, 0, 0, 2, 2, 1]));
    assert_eq!(column(ports, "flits"), Data::Whole(vec![0, 0, 0, 18, 18, 9]));
    assert_eq!(column(ports, "stalled_cycles"), Data::Real(vec![40.0, 0.0, 20.0, 0.0, 0.0, 0.0]));
    assert_eq!(column(ports, "blocked_cycles"), Data::Real(vec![0.0, 0.0, 0.0, 0.0, 10.0, 0.0]));
    assert_eq!(column(ports, "age_0_63"), Data::Whole(vec![1, 0, 0, 0, 0, 0]));
    assert_eq!(column(ports, "age_64_127"), Data::Whole(vec![1, 0, 0, 0, 0, 0]));
    let sums = "router_dimensions";
    assert_eq!(column(sums, "direction"), text(&["+x", "-x"]));
    let found = report.summary.routers.clone().unwrap();
    // Four of the five packets are requests.
    assert_eq!(found["+x"].stalled_per_packet, 15.0);
    assert_eq!(found["-x"].blocked_per_packet, 2.5);
    assert_eq!((found["+x"].queueing_cycles, found["+x"].age_mean), (100.0, 40.0));
    let Data::Real(values) = column(sums, "stalled_per_packet_deviation") else { panic!("numbers") };
    assert_eq!(values[0], 0.0);
    assert!(values[1].is_nan());
}

#[test]
fn counters_of_routers_are_only_where_they_are_wanted() {
    let (recorder, outcome) = shared_sink();
    let report = recorder.report(&names(4, 2), &outcome);
    assert!(report.summary.routers.is_none());
    assert!(!serde_json::to_string(&report.summary).unwrap().contains("routers"));
    assert!(report.tables.iter().all(|table| !table.name.starts_with("router")));
}
