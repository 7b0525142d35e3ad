//! The report is the same to the bit, however the events of a run are divided among recorders.

use fabricsim_measure::{
    Names, OfferedLoad, Outcome, PortName, Recorder, RecorderConfig, Report, RouterPort, Window,
};
use fabricsim_model::{Data, Grant, Observer, Packet, PacketKind, Table};
use fabricsim_spec::{FlowDetail, Switch};
use fabricsim_units::{HostId, Rate, Time, Vl};
use proptest::prelude::*;

const HOSTS: u32 = 5;
const PORTS: u32 = 6;

fn config() -> RecorderConfig {
    RecorderConfig {
        window: Window { from: Time(2_000), to: Time(8_000) },
        bin: Time(50),
        end: Time(1_500),
        batch: Time(300),
        confidence: 0.95,
        hosts: HOSTS,
        ports: PORTS,
        lanes: 2,
        flows: FlowDetail::Auto,
        link_series: true,
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Injected(Packet),
    Delivered(Time, Packet),
    Sent { port: u32, lane: u8, bytes: u32, start: u64, length: u64 },
    Stalled { port: u32, lane: u8, start: u64, length: u64 },
    Blocked { port: u32, lane: u8, start: u64, length: u64 },
    Forwarded(u64, Grant),
}

fn packet() -> impl Strategy<Value = (Packet, Time)> {
    let ends = (0..HOSTS, 0..HOSTS, 1_u16..9, 1_u32..5000);
    (ends, 0_u64..10_000, 0_u64..3_000, 0_u64..3_000).prop_map(
        |((source, destination, hops, bytes), made, wait, travel)| {
            let injected = Time(made + wait);
            let ends = (HostId(source), HostId(destination));
            let packet = Packet::new(PacketKind::Data, ends, bytes, injected);
            let packet = Packet { created: Time(made), hops, last: false, ..packet };
            (packet, injected + Time(travel))
        },
    )
}

fn grant() -> impl Strategy<Value = Grant> {
    (0..PORTS, 0_u8..2, 0..PORTS, 0_u64..5_000, any::<u8>()).prop_map(|(input, lane, output, waited, age)| {
        Grant { input, lane: Vl(lane), output, waited: Time(waited), age }
    })
}

fn event() -> impl Strategy<Value = Event> {
    let interval = (0..PORTS, 0_u8..2, 1_u32..5000, 0_u64..12_000, 0_u64..900);
    prop_oneof![
        1 => packet().prop_map(|(packet, _)| Event::Injected(packet)),
        3 => packet().prop_map(|(packet, now)| Event::Delivered(now, packet)),
        2 => interval.clone().prop_map(|(port, lane, bytes, start, length)| Event::Sent { port, lane, bytes, start, length }),
        1 => interval.clone().prop_map(|(port, lane, _, start, length)| Event::Stalled { port, lane, start, length }),
        1 => interval.prop_map(|(port, lane, _, start, length)| Event::Blocked { port, lane, start, length }),
        2 => (grant(), 0_u64..12_000).prop_map(|(grant, now)| Event::Forwarded(now, grant)),
    ]
}

fn record<'a>(events: impl Iterator<Item = &'a Event>) -> Recorder {
    let mut recorder = Recorder::new(&config()).with_router_counters(&Switch::default());
    for event in events {
        match *event {
            Event::Injected(packet) => recorder.injected(packet.injected, &packet),
            Event::Delivered(now, packet) => recorder.delivered(now, &packet),
            Event::Sent { port, lane, bytes, start, length } => {
                recorder.transmitted(port, Vl(lane), bytes, Time(start), Time(start + length));
            }
            Event::Stalled { port, lane, start, length } => {
                recorder.stalled(port, Vl(lane), Time(start), Time(start + length));
            }
            Event::Blocked { port, lane, start, length } => {
                recorder.blocked(port, Vl(lane), Time(start), Time(start + length));
            }
            Event::Forwarded(now, grant) => recorder.forwarded(Time(now), &grant),
        }
    }
    recorder
}

fn report(recorder: &Recorder) -> Report {
    // Ports of two links: between two routers, and from one of them to a host.
    let router = |router: &str, port, direction, output: u32| RouterPort {
        router: router.into(),
        port,
        direction,
        input: output ^ 1,
        output,
    };
    let names = Names {
        routers: vec![router("A", 0, 0, 0), router("B", 0, 1, 1), router("B", 1, 2, 3)],
        directions: vec!["+x".into(), "-x".into(), "host".into()],
        hosts: (0..HOSTS).map(|host| format!("H{host}")).collect(),
        ports: (0..PORTS).map(|port| PortName { link: format!("L{port}"), class: "host".into() }).collect(),
        ..Names::default()
    };
    let offer = |source: u32, destination: Option<u32>| OfferedLoad {
        source: HostId(source),
        destination: destination.map(HostId),
        stream: Some(0),
        bytes: 100_000,
    };
    let outcome = Outcome {
        end: Time(20_000),
        rates: vec![Rate::new(8_000_000_000).unwrap(); HOSTS as usize],
        offers: vec![offer(0, Some(1)), offer(0, Some(1)), offer(1, None), offer(2, Some(0))],
        steady: None,
        congestion_events: 0,
        transport: None,
        queue_pairs: None,
    };
    recorder.report(&names, &outcome)
}

/// The text shows every bit of a real number, and NaN as equal.
fn text(recorder: &Recorder) -> String {
    format!("{:?}", report(recorder))
}

fn real<'a>(report: &'a Report, table: &str, column: &str) -> &'a [f64] {
    match find(report, table, column) {
        Data::Real(values) => values,
        other => panic!("{other:?}"),
    }
}

fn whole<'a>(report: &'a Report, table: &str, column: &str) -> &'a [i64] {
    match find(report, table, column) {
        Data::Whole(values) => values,
        other => panic!("{other:?}"),
    }
}

fn find<'a>(report: &'a Report, table: &str, column: &str) -> &'a Data {
    let table: &Table = report.tables.iter().find(|t| t.name == table).unwrap();
    &table.columns.iter().find(|c| c.name == column).unwrap().data
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_division_any_order(events in prop::collection::vec((event(), 0_usize..3), 0..150)) {
        let whole = text(&record(events.iter().map(|(event, _)| event)));
        let part = |p: usize| record(events.iter().filter(|(_, q)| *q == p).map(|(event, _)| event));
        let (a, b, c) = (part(0), part(1), part(2));
        let merged = |first: &Recorder, second: &Recorder| {
            let mut sum = first.clone();
            sum.merge(second);
            sum
        };
        prop_assert_eq!(&text(&merged(&merged(&a, &b), &c)), &whole);
        prop_assert_eq!(&text(&merged(&a, &merged(&b, &c))), &whole);
        prop_assert_eq!(&text(&merged(&merged(&c, &b), &a)), &whole);
    }

    #[test]
    fn counters_of_routers_add_up(events in prop::collection::vec(event(), 0..150)) {
        let window = config().window;
        let seen = |now: u64| window.contains(Time(now));
        let report = report(&record(events.iter()));
        // Ports of routers are 0, 1 and 3; packets come in to them from 1, 0 and 2.
        let sent: Vec<(u32, i64)> = events.iter().filter_map(|event| match *event {
            Event::Sent { port, bytes, start, .. } if seen(start) => Some((port, i64::from(bytes.div_ceil(64)))),
            _ => None,
        }).collect();
        let received: Vec<i64> = sent.iter().filter(|(port, _)| *port < 3).map(|(_, flits)| *flits).collect();
        let chosen: Vec<Grant> = events.iter().filter_map(|event| match *event {
            Event::Forwarded(now, grant) if seen(now) && [0, 1, 3].contains(&grant.output) => Some(grant),
            _ => None,
        }).collect();
        for table in ["router_ports", "router_dimensions"] {
            let sum = |column| whole(&report, table, column).iter().sum::<i64>();
            prop_assert_eq!(sum("packets"), received.len() as i64);
            prop_assert_eq!(sum("flits"), received.iter().sum::<i64>());
            prop_assert_eq!(sum("granted"), chosen.len() as i64);
            for (group, column) in ["age_0_63", "age_64_127", "age_128_191", "age_192_255"].into_iter().enumerate() {
                let expected = chosen.iter().filter(|grant| usize::from(grant.age) / 64 == group).count();
                prop_assert_eq!(sum(column), expected as i64);
            }
            let waits = real(&report, table, "queueing_cycles").iter().zip(whole(&report, table, "granted"));
            let waited: f64 = waits.filter(|wait| *wait.1 > 0).map(|(mean, &count)| mean * count as f64 * 2000.0).sum();
            prop_assert!(same(waited, chosen.iter().map(|grant| grant.waited.0).sum::<u64>() as f64));
        }
    }

    #[test]
    fn tables_add_up(events in prop::collection::vec(event(), 0..150)) {
        let delivered: Vec<_> = events.iter().filter_map(|event| match event {
            Event::Delivered(now, packet) => Some((*now, *packet)),
            _ => None,
        }).collect();
        let window = config().window;
        let accepted: Vec<_> = delivered.iter().filter(|(now, _)| window.contains(*now)).collect();
        let bytes: u64 = accepted.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
        let report = report(&record(events.iter()));
        prop_assert_eq!((report.summary.hosts.packets, report.summary.hosts.bytes), (accepted.len() as u64, bytes));
        prop_assert_eq!(whole(&report, "flows", "bytes").iter().sum::<i64>(), bytes as i64);
        prop_assert_eq!(whole(&report, "hosts", "delivered_packets").iter().sum::<i64>(), accepted.len() as i64);

        let made: Vec<_> = delivered.iter().filter(|(_, packet)| window.contains(packet.created)).collect();
        prop_assert_eq!(report.summary.latency.latency_packets, made.len() as u64);
        prop_assert_eq!(whole(&report, "latency", "count").iter().sum::<i64>(), 2 * made.len() as i64);
        prop_assert_eq!(whole(&report, "hops", "packets").iter().sum::<i64>(), made.len() as i64);
        prop_assert_eq!(whole(&report, "batches", "packets").iter().sum::<i64>(), made.len() as i64);
        if let Some(longest) = made.iter().map(|(now, packet)| (*now - packet.created).as_ns_f64()).max_by(f64::total_cmp) {
            prop_assert!((report.summary.latency.latency_ns.max - longest).abs() < 1e-9 * longest.max(1.0));
        }

        let all: u64 = delivered.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
        for table in ["series", "run_series"] {
            prop_assert!(same(in_bins(&report, table, "gbps"), all as f64), "{}", table);
        }
        prop_assert!(same(in_bins(&report, "hosts_series", "delivered_gbps"), all as f64));
    }
}

/// Bytes under a series of rates: every rate times the length of its bin (the last may be short).
fn in_bins(report: &Report, table: &str, column: &str) -> f64 {
    let times = real(report, table, "time_ns");
    let Some(&width) = times.get(1) else { return 0.0 };
    let end = Time(20_000).as_ns_f64();
    let length = |&start: &f64| width.min(end - start);
    times.iter().zip(real(report, table, column)).map(|(t, gbps)| gbps * length(t) / 8.0).sum()
}

/// Equal up to the rounding of some thousand additions.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b)
}
