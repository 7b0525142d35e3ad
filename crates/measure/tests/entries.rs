//! Results by entry, computed by hand: two hosts send to two others, at 8 Gb/s: a byte takes a nanosecond.

use fabricsim_measure::{
    EntryName, EntrySummary, Names, OfferedLoad, Outcome, Recorder, RecorderConfig, Report,
};
use fabricsim_model::{Data, Observer, Packet, PacketKind};
use fabricsim_spec::{Drain, FlowDetail, Measure, Run};
use fabricsim_units::{HostId, Rate, Time};

const HOSTS: u32 = 4;
const SIZE: u32 = 1000;

fn config(flows: FlowDetail) -> RecorderConfig {
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
    RecorderConfig::new(&run, &Measure { flows, ..Measure::default() }, HOSTS, 0, 1)
}

fn recorder(flows: FlowDetail, entries: usize) -> Recorder {
    Recorder::new(&config(flows)).with_entries(entries)
}

/// A packet of an entry that takes 2 us; every second one ends a message.
fn deliver(recorder: &mut Recorder, entry: u16, ends: (u32, u32), now: Time) {
    let ends = (HostId(ends.0), HostId(ends.1));
    let created = now - Time::us(2);
    let last = (now.0 / Time::us(1).0).is_multiple_of(2);
    let packet = Packet::new(PacketKind::Data, ends, SIZE, created + Time::us(1));
    recorder.delivered(now, &Packet { created, last, stream: entry, hops: 1, ..packet });
}

fn offer(stream: u16, source: u32, destination: Option<u32>, bytes: u64) -> OfferedLoad {
    OfferedLoad { source: HostId(source), destination: destination.map(HostId), stream: Some(stream), bytes }
}

fn report(recorder: &Recorder, offers: Vec<OfferedLoad>, names: &[&str]) -> Report {
    let entry = |name: &&str| EntryName {
        name: (*name).to_owned(),
        key: format!("traffic.{name}"),
        kind: "traffic",
        text: "to H2".to_owned(),
        sources: 2,
        source_gbps: 16.0,
        destinations: 1,
        destination_gbps: 8.0,
    };
    let names = Names {
        hosts: (0..HOSTS).map(|host| format!("H{host}")).collect(),
        entries: names.iter().map(entry).collect(),
        ..Names::default()
    };
    let outcome = Outcome {
        end: Time::us(500),
        rates: vec![Rate::new(8_000_000_000).unwrap(); HOSTS as usize],
        offers,
        steady: None,
        congestion_events: 0,
        transport: None,
        queue_pairs: None,
    };
    recorder.report(&names, &outcome)
}

fn texts(report: &Report, column: &str) -> Vec<String> {
    let flows = report.tables.iter().find(|table| table.name == "flows").unwrap();
    match &flows.columns.iter().find(|found| found.name == column).unwrap().data {
        Data::Text(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

fn entry<'a>(report: &'a Report, name: &str) -> &'a EntrySummary {
    report.summary.entries.iter().find(|entry| entry.entry == name).unwrap()
}

/// The hot spot's two flows get 3 and 1 of 4 packets, the victim's flow one packet in eight microseconds.
fn hot_spot_and_victim() -> Recorder {
    let mut recorder = recorder(FlowDetail::Pairs, 3);
    for i in 0..400 {
        let source = u32::from(i % 4 == 3);
        deliver(&mut recorder, 0, (source, 2), Time::us(100 + i));
        if i % 8 == 0 {
            deliver(&mut recorder, 1, (0, 3), Time::us(100 + i));
        }
    }
    recorder
}

#[test]
fn each_entry_has_its_throughput_latency_and_fairness() {
    let offers =
        vec![offer(0, 0, Some(2), 400_000), offer(0, 1, Some(2), 400_000), offer(1, 0, Some(3), 100_000)];
    let report = report(&hot_spot_and_victim(), offers, &["hot", "victim", "idle"]);
    let hot = entry(&report, "hot");
    // 400 packets in 400 us: 8 Gb/s, half of the two sources' links, all of the destination's.
    assert_eq!((hot.offered_gbps, hot.accepted_gbps), (16.0, 8.0));
    assert_eq!((hot.offered_load, hot.accepted_load, hot.destination_share), (1.0, 0.5, 1.0));
    assert_eq!((hot.flow_count, hot.messages), (2, 200));
    // Shares of 3/4 and 1/4.
    assert!((hot.jain - 1.0 / (2.0 * (9.0 / 16.0 + 1.0 / 16.0))).abs() < 1e-12, "{}", hot.jain);
    assert_eq!((hot.latency_ns.mean, hot.latency_ns.p50, hot.latency_ns.max), (2000.0, 2000.0, 2000.0));
    let victim = entry(&report, "victim");
    assert_eq!(
        (victim.offered_gbps, victim.accepted_gbps, victim.flow_count, victim.jain),
        (2.0, 1.0, 1, 1.0)
    );
    let idle = entry(&report, "idle");
    assert_eq!((idle.accepted_gbps, idle.offered_gbps, idle.flow_count, idle.messages), (0.0, 0.0, 0, 0));
    assert!(idle.jain.is_nan() && idle.latency_ns.mean.is_nan());
    assert_eq!(texts(&report, "entry"), ["hot", "victim", "hot"]);
}

/// Entries add up to the run, in throughput and in the histogram of latencies.
#[test]
fn entries_add_up_to_the_run() {
    let report = report(&hot_spot_and_victim(), Vec::new(), &["hot", "victim", "idle"]);
    let sum: f64 = report.summary.entries.iter().map(|entry| entry.accepted_gbps).sum();
    assert_eq!(sum, report.summary.hosts.accepted_gbps);
    assert!(report.summary.entries.iter().all(|entry| entry.offered_gbps.is_nan()), "unknown, not zero");
    assert_eq!(report.summary.latency.latency_ns.p50, 2000.0);
}

/// Two entries on one pair of hosts: no division of the flow between them is known, so that none is stated.
#[test]
fn shared_flows_belong_to_no_entry() {
    let mut recorder = recorder(FlowDetail::Pairs, 3);
    for i in 0..10 {
        deliver(&mut recorder, i % 2, (0, 2), Time::us(100 + u64::from(i)));
        deliver(&mut recorder, 2, (1, 2), Time::us(100 + u64::from(i)));
    }
    deliver(&mut recorder, 0, (1, 3), Time::us(200));
    let report = report(&recorder, Vec::new(), &["a", "b", "c"]);
    assert_eq!(texts(&report, "entry"), ["several", "c", "a"]);
    let found = |name| (entry(&report, name).flow_count, entry(&report, name).jain.is_nan());
    assert_eq!((found("a"), found("b"), found("c")), ((1, true), (0, true), (1, false)));
    assert_eq!(entry(&report, "a").accepted_gbps, 6.0 * 8000.0 / 400_000.0);
}

/// Which entries share a flow does not depend on the partition in which their packets arrive.
#[test]
fn sharing_does_not_depend_on_partitions() {
    let events = [(0, (0, 2)), (1, (0, 3)), (2, (0, 1)), (2, (1, 3)), (0, (0, 2))];
    let names = ["a", "b", "c"];
    let feed = |recorder: &mut Recorder, part: &dyn Fn(usize) -> bool| {
        for (number, &(entry, ends)) in events.iter().enumerate().filter(|(number, _)| part(*number)) {
            deliver(recorder, entry, ends, Time::us(100 + number as u64));
        }
    };
    for detail in [FlowDetail::Sources, FlowDetail::Pairs] {
        let mut whole = recorder(detail, 3);
        feed(&mut whole, &|_| true);
        let expected = report(&whole, Vec::new(), &names);
        for parts in [2, 3, 5] {
            for first in 0..parts {
                let mut merged = recorder(detail, 3);
                for part in 0..parts {
                    let mut one = recorder(detail, 3);
                    feed(&mut one, &|number| number % parts == (part + first) % parts);
                    merged.merge(&one);
                }
                let found = report(&merged, Vec::new(), &names);
                assert_eq!(format!("{:?}", found.summary), format!("{:?}", expected.summary));
                assert_eq!(texts(&found, "entry"), texts(&expected, "entry"));
            }
        }
    }
    let mut by_source = recorder(FlowDetail::Sources, 3);
    feed(&mut by_source, &|_| true);
    let report = report(&by_source, Vec::new(), &names);
    assert!(report.summary.entries.iter().all(|entry| entry.jain.is_nan()), "all three share the flow of H0");
}

/// A flow that offers and gets nothing counts in the fairness of its entry.
#[test]
fn starved_flows_have_an_entry() {
    let mut recorder = recorder(FlowDetail::Pairs, 1);
    deliver(&mut recorder, 0, (0, 2), Time::us(200));
    let offers = vec![offer(0, 0, Some(2), 1000), offer(0, 1, Some(2), 1000)];
    let report = report(&recorder, offers, &["hot"]);
    assert_eq!(texts(&report, "entry"), ["hot", "hot"]);
    assert_eq!((entry(&report, "hot").flow_count, entry(&report, "hot").jain), (2, 0.5));
}
