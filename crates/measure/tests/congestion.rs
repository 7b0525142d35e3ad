//! Congestion control as it is recorded: figures computed by hand, and the same bits for every division of events among
//! recorders.

use fabricsim_measure::{MOST_FLOWS, Names, Outcome, PortName, Recorder, RecorderConfig, Report, Window};
use fabricsim_model::{Data, Observer, Packet, PacketKind, Table};
use fabricsim_spec::{CongestionAlgorithm, FlowDetail};
use fabricsim_units::{HostId, Rate, Time, Vl};
use proptest::prelude::*;

const HOSTS: u32 = 4;
const PORTS: u32 = 4;
/// 8 Gb/s.
const LINK_MBPS: f64 = 8000.0;

fn config(flows: FlowDetail, hosts: u32) -> RecorderConfig {
    RecorderConfig {
        window: Window { from: Time(2_000), to: Time(6_000) },
        bin: Time(1_000),
        end: Time(8_000),
        batch: Time(1_000),
        confidence: 0.95,
        hosts,
        ports: PORTS,
        lanes: 2,
        flows,
        link_series: false,
    }
}

fn recorder(algorithm: CongestionAlgorithm) -> Recorder {
    Recorder::new(&config(FlowDetail::Auto, HOSTS)).with_congestion(algorithm)
}

fn packet(source: u32, destination: u32, kind: PacketKind, fecn: bool) -> Packet {
    let ends = (HostId(source), HostId(destination));
    let becn = kind == PacketKind::Notification;
    Packet { hops: 1, fecn, becn, last: false, ..Packet::new(kind, ends, 64, Time::ZERO) }
}

fn report(recorder: &Recorder, hosts: u32, end: u64) -> Report {
    let names = Names {
        hosts: (0..hosts).map(|host| format!("H{host}")).collect(),
        ports: (0..PORTS).map(|port| PortName { link: format!("L{port}"), class: "host".into() }).collect(),
        ..Names::default()
    };
    let rates = vec![Rate::new(8_000_000_000).unwrap(); hosts as usize];
    let outcome = Outcome {
        end: Time(end),
        rates,
        offers: Vec::new(),
        steady: None,
        congestion_events: 7,
        transport: None,
        queue_pairs: None,
    };
    recorder.report(&names, &outcome)
}

fn find<'a>(report: &'a Report, table: &str, column: &str) -> &'a Data {
    let table: &Table = report.tables.iter().find(|t| t.name == table).unwrap();
    let column = table.columns.iter().find(|c| c.name == column);
    &column.unwrap_or_else(|| panic!("{} has no such column", table.name)).data
}

fn real<'a>(report: &'a Report, table: &str, column: &str) -> &'a [f64] {
    let Data::Real(values) = find(report, table, column) else { panic!("{column} is not real") };
    values
}

fn whole<'a>(report: &'a Report, table: &str, column: &str) -> &'a [i64] {
    let Data::Whole(values) = find(report, table, column) else { panic!("{column} is not whole") };
    values
}

fn text<'a>(report: &'a Report, table: &str, column: &str) -> &'a [String] {
    let Data::Text(values) = find(report, table, column) else { panic!("{column} is not text") };
    values
}

/// Host 0 sends to 3 and is rate-limited at 10, then 4; host 1 sends to 3 and is not. The window is 2 to 6 ns.
fn small(algorithm: CongestionAlgorithm) -> Report {
    let mut recorder = recorder(algorithm);
    let (zero, three) = (HostId(0), HostId(3));
    for now in [1_500, 2_500, 3_500] {
        let marked = packet(0, 3, PacketKind::Data, true);
        recorder.transmitted(2, Vl(1), 64, Time(now), Time(now + 100));
        recorder.marked(Time(now), 2, Vl(1), &marked);
        recorder.delivered(Time(now + 100), &marked);
        recorder.controlled(Time(now + 200), &packet(3, 0, PacketKind::Notification, false));
        recorder.notified(Time(now + 200), zero, three);
    }
    recorder.delivered(Time(3_000), &packet(1, 3, PacketKind::Data, false));
    recorder.rate_limited(zero, Some(three), Time(1_700), Time(4_000), 10);
    recorder.rate_limited(zero, Some(three), Time(4_000), Time(4_500), 4);
    recorder.blocked_by_cc(zero, three, Time(1_800), Time(2_300));
    recorder.blocked_by_cc(zero, three, Time(3_000), Time(3_400));
    report(&recorder, HOSTS, 8_000)
}

/// A flow without packets and without offered load in the window has no part in fairness and means, though it is still limited.
#[test]
fn flows_outside_the_window_have_no_part_in_fairness() {
    let mut recorder = recorder(CongestionAlgorithm::Infiniband);
    for (source, at) in [(0, 3_000), (1, 3_500), (2, 1_000)] {
        recorder.delivered(Time(at), &packet(source, 3, PacketKind::Data, false));
    }
    recorder.rate_limited(HostId(2), Some(HostId(3)), Time(1_000), Time(5_000), 10);
    let summary = report(&recorder, HOSTS, 8_000).summary;
    assert_eq!((summary.flows.flow_count, summary.flows.jain), (2, 1.0));
    assert_eq!(summary.congestion.map(|congestion| congestion.ccti_mean), Some(Some(0.0)));
}

#[test]
fn an_index_is_zero_where_nothing_is_held_back() {
    let report = small(CongestionAlgorithm::Infiniband);
    assert_eq!(text(&report, "flows", "source"), ["H0", "H1"]);
    assert_eq!(
        (whole(&report, "flows", "fecn"), whole(&report, "flows", "becn")),
        (&[2, 0][..], &[2, 0][..])
    );
    // 2 ns at 10 and 0.5 ns at 4, of 4 ns.
    assert_eq!(real(&report, "flows", "ccti_mean"), [5.5, 0.0]);
    assert_eq!(real(&report, "flows", "ccti_max"), [10.0, 0.0]);
    assert_eq!(real(&report, "flows", "held_back"), [0.625, 0.0]);
    assert_eq!(real(&report, "flows", "throttled"), [0.175, 0.0]);
    let marked: Vec<_> =
        text(&report, "links", "link").iter().zip(whole(&report, "links", "marked")).collect();
    assert!(marked.iter().all(|&(link, &n)| n == if link == "L2" { 2 } else { 0 }), "{marked:?}");

    assert_eq!(text(&report, "congestion_series", "flow"), vec!["H0->H3"; 8]);
    assert_eq!(real(&report, "congestion_series", "ccti"), [0.0, 3.0, 10.0, 10.0, 2.0, 0.0, 0.0, 0.0]);
    assert_eq!(real(&report, "congestion_series", "throttled"), [0.0, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(whole(&report, "congestion_series", "becn"), [0, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(whole(&report, "run_series", "marked"), [0, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(whole(&report, "run_series", "notified"), [0, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(real(&report, "run_series", "throttled_hosts"), [0.0, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(whole(&report, "run_series", "control_packets"), [0, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(whole(&report, "run_series", "control_bytes"), [0, 64, 64, 64, 0, 0, 0, 0]);

    let summary = report.summary.congestion.unwrap();
    assert_eq!((summary.marked, summary.notified, summary.control_packets), (2, 2, 2));
    assert_eq!((summary.control_bytes, summary.events), (128, 7));
    assert!((summary.throttled_s - 0.7e-9).abs() < 1e-20);
    assert_eq!((summary.ccti_mean, summary.ccti_max), (Some(2.75), Some(10.0)));
    assert_eq!((summary.rate_mean_mbps, summary.rate_min_mbps), (None, None));
    let json = serde_json::to_value(&report.summary).unwrap();
    assert_eq!(json["congestion"]["algorithm"], "infiniband");
}

#[test]
fn a_rate_is_the_links_where_nothing_is_held_back() {
    let report = small(CongestionAlgorithm::Dcqcn);
    let mean = (2.0 * 10.0 + 0.5 * 4.0 + 1.5 * LINK_MBPS) / 4.0;
    assert_eq!(real(&report, "flows", "rate_mean_mbps"), [mean, LINK_MBPS]);
    assert_eq!(real(&report, "flows", "rate_min_mbps"), [4.0, LINK_MBPS]);
    assert_eq!(real(&report, "congestion_series", "rate_mbps")[2], 10.0);
    assert_eq!(real(&report, "congestion_series", "rate_mbps")[7], LINK_MBPS);
    let summary = report.summary.congestion.unwrap();
    assert_eq!(summary.rate_mean_mbps, Some(f64::midpoint(mean, LINK_MBPS)));
    assert_eq!((summary.rate_min_mbps, summary.ccti_mean, summary.ccti_max), (Some(4.0), None, None));
}

#[test]
fn a_source_that_is_held_back_as_a_whole_holds_back_its_flows() {
    let mut recorder = recorder(CongestionAlgorithm::Infiniband);
    for destination in [1, 2] {
        recorder.delivered(Time(3_000), &packet(0, destination, PacketKind::Data, true));
    }
    recorder.notified(Time(3_000), HostId(0), HostId(2));
    recorder.rate_limited(HostId(0), None, Time(3_000), Time(4_000), 8);
    let report = report(&recorder, HOSTS, 8_000);
    assert_eq!(text(&report, "flows", "destination"), ["H1", "H2"]);
    assert_eq!(
        (whole(&report, "flows", "fecn"), whole(&report, "flows", "becn")),
        (&[1, 1][..], &[0, 1][..])
    );
    assert_eq!(real(&report, "flows", "ccti_mean"), [2.0, 2.0]);
    assert_eq!(real(&report, "flows", "held_back"), [0.25, 0.25]);
    let flows = text(&report, "congestion_series", "flow");
    assert_eq!([&flows[0], &flows[8], &flows[16]], ["H0->*", "H0->H1", "H0->H2"]);
}

#[test]
fn without_congestion_control_nothing_is_kept() {
    let report = small(CongestionAlgorithm::None);
    assert!(report.summary.congestion.is_none());
    assert!(report.tables.iter().all(|table| table.name != "congestion_series"));
    let columns = report.tables.iter().flat_map(|table| &table.columns);
    assert!(
        columns
            .into_iter()
            .all(|column| !["marked", "becn", "ccti_mean", "rate_mean_mbps"].contains(&column.name))
    );
}

#[test]
fn too_many_flows_become_sources() {
    let hosts = 130;
    let new =
        || Recorder::new(&config(FlowDetail::Auto, hosts)).with_congestion(CongestionAlgorithm::Infiniband);
    let feed = |recorder: &mut Recorder, sources: std::ops::Range<u32>| {
        for source in sources {
            for destination in 0..64 {
                recorder.delivered(Time(3_000), &packet(source, destination, PacketKind::Data, true));
                recorder.notified(Time(3_100), HostId(source), HostId(destination));
                let (start, end) = (Time(3_100), Time(3_200));
                recorder.rate_limited(HostId(source), Some(HostId(destination)), start, end, 5);
            }
        }
    };
    let (mut all, mut a, mut b) = (new(), new(), new());
    feed(&mut all, 0..66);
    feed(&mut a, 0..40);
    feed(&mut b, 40..66);
    let (mut ab, mut ba) = (a.clone(), b);
    ab.merge(&ba);
    ba.merge(&a);
    let expected = report(&all, hosts, 8_000);
    assert_eq!(text(&expected, "flows", "destination"), vec!["*"; 66]);
    assert_eq!(whole(&expected, "flows", "becn"), vec![64; 66]);
    // 64 flows at 5 for 0.1 ns each: longer than the window together.
    assert_eq!(real(&expected, "flows", "ccti_mean"), vec![5.0; 66]);
    for merged in [ab, ba] {
        assert_eq!(format!("{:?}", report(&merged, hosts, 8_000)), format!("{expected:?}"));
    }
}

/// Flows have series up to the limit; one more, and there are none if they do not become sources.
#[test]
fn as_many_flows_as_the_limit_have_series() {
    let hosts = 65;
    for (more, points) in [(0, true), (1, false)] {
        let mut recorder =
            Recorder::new(&config(FlowDetail::Pairs, hosts)).with_congestion(CongestionAlgorithm::Infiniband);
        for flow in 0..MOST_FLOWS as u32 + more {
            recorder.notified(Time(3_100), HostId(flow / 64), HostId(flow % 64));
        }
        let report = report(&recorder, hosts, 8_000);
        assert_eq!(!text(&report, "congestion_series", "flow").is_empty(), points, "{more} more");
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Delivered { now: u64, flow: (u32, u32), fecn: bool },
    Marked { now: u64, port: u32, lane: u8 },
    Controlled { now: u64 },
    Notified { now: u64, flow: (u32, u32) },
    HeldBack { flow: (u32, Option<u32>), start: u64, length: u64, level: u32 },
    Throttled { flow: (u32, u32), start: u64, length: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let flow = || (0..HOSTS, 0..HOSTS);
    let to = || (0..HOSTS, prop::option::of(0..HOSTS));
    let now = || 0_u64..200_000;
    prop_oneof![
        (now(), flow(), any::<bool>()).prop_map(|(now, flow, fecn)| Event::Delivered { now, flow, fecn }),
        (now(), 0..PORTS, 0_u8..2).prop_map(|(now, port, lane)| Event::Marked { now, port, lane }),
        now().prop_map(|now| Event::Controlled { now }),
        (now(), flow()).prop_map(|(now, flow)| Event::Notified { now, flow }),
        (to(), now(), 0_u64..5_000, 1_u32..400_000)
            .prop_map(|(flow, start, length, level)| Event::HeldBack { flow, start, length, level }),
        (flow(), now(), 0_u64..5_000).prop_map(|(flow, start, length)| Event::Throttled {
            flow,
            start,
            length
        }),
    ]
}

fn record<'a>(algorithm: CongestionAlgorithm, events: impl Iterator<Item = &'a Event>) -> Recorder {
    let mut recorder = recorder(algorithm);
    for event in events {
        match *event {
            Event::Delivered { now, flow, fecn } => {
                recorder.delivered(Time(now), &packet(flow.0, flow.1, PacketKind::Data, fecn));
            }
            Event::Marked { now, port, lane } => {
                recorder.marked(Time(now), port, Vl(lane), &packet(0, 1, PacketKind::Data, true));
            }
            Event::Controlled { now } => {
                recorder.controlled(Time(now), &packet(1, 0, PacketKind::Notification, false));
            }
            Event::Notified { now, flow } => recorder.notified(Time(now), HostId(flow.0), HostId(flow.1)),
            Event::HeldBack { flow, start, length, level } => {
                let (source, to) = (HostId(flow.0), flow.1.map(HostId));
                recorder.rate_limited(source, to, Time(start), Time(start + length), level);
            }
            Event::Throttled { flow, start, length } => {
                recorder.blocked_by_cc(HostId(flow.0), HostId(flow.1), Time(start), Time(start + length));
            }
        }
    }
    recorder
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_division_any_order(
        events in prop::collection::vec((event(), 0_usize..3), 0..150), dcqcn in any::<bool>(),
    ) {
        let algorithm = if dcqcn { CongestionAlgorithm::Dcqcn } else { CongestionAlgorithm::Infiniband };
        let text = |recorder: &Recorder| format!("{:?}", report(recorder, HOSTS, 210_000));
        let whole = text(&record(algorithm, events.iter().map(|(event, _)| event)));
        let part = |p: usize| record(algorithm, events.iter().filter(|(_, q)| *q == p).map(|(event, _)| event));
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
    fn series_and_counters_add_up(events in prop::collection::vec(event(), 0..150)) {
        let report = report(&record(CongestionAlgorithm::Infiniband, events.iter()), HOSTS, 210_000);
        let count = |kind: fn(&Event) -> bool| events.iter().filter(|event| kind(event)).count() as i64;
        let sum = |table, column| whole(&report, table, column).iter().sum::<i64>();
        let notified = count(|event| matches!(event, Event::Notified { .. }));
        prop_assert_eq!(sum("congestion_series", "becn"), notified);
        prop_assert_eq!(sum("run_series", "notified"), notified);
        prop_assert_eq!(sum("run_series", "marked"), count(|event| matches!(event, Event::Marked { .. })));
        let controlled = count(|event| matches!(event, Event::Controlled { .. }));
        prop_assert_eq!((sum("run_series", "control_packets"), sum("run_series", "control_bytes")), (controlled, 64 * controlled));

        let summary = report.summary.congestion.unwrap();
        prop_assert_eq!(sum("flows", "becn"), becn_of_seen(&report, &events));
        let within = |now: u64| config(FlowDetail::Auto, HOSTS).window.contains(Time(now));
        let inside = events.iter().filter(|e| matches!(e, Event::Notified { now, .. } if within(*now)));
        prop_assert_eq!(summary.notified, inside.count() as u64);
    }
}

/// Notifications within the window of the flows that delivered something: others have no row.
fn becn_of_seen(report: &Report, events: &[Event]) -> i64 {
    let (sources, destinations) = (text(report, "flows", "source"), text(report, "flows", "destination"));
    let seen = |(source, destination): (u32, u32)| {
        let name = (format!("H{source}"), format!("H{destination}"));
        sources.iter().zip(destinations).any(|(s, d)| (s, d) == (&name.0, &name.1))
    };
    let window = config(FlowDetail::Auto, HOSTS).window;
    let counts = |event: &&Event| matches!(**event, Event::Notified { now, flow } if window.contains(Time(now)) && seen(flow));
    events.iter().filter(counts).count() as i64
}
