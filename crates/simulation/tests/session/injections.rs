//! Messages that the caller injects into a run.

use fabricsim_engine::Prepared;
use fabricsim_measure::Recorder;
use fabricsim_session::{Change, Event, EventKind, Feed, InjectError, Injection};
use fabricsim_simulation::{Control, Outcome, Run, Stop};
use fabricsim_units::{HostId, Time};

use super::{EVENTS, MESH, PARTITIONS, prepared};
use crate::common::{ALL, everything, prepare, run};

/// Messages of the caller: now, later, at the same picosecond, to itself, of many packets.
fn inject(run: &mut Run<&Prepared, Feed<Recorder>>, control: &Control) -> Vec<(u32, u64)> {
    let mut sent = Vec::new();
    for round in 0..4_u32 {
        let now = run.session().now();
        for (source, destination, bytes, delay) in
            [(0, 11, 5000, 0), (0, 7, 100, 0), (3, 11, 1, 1_000), (9, 0, 16_000, 777), (5, 4, 640, 0)]
        {
            let injection = Injection {
                source: HostId(source),
                destination: HostId((destination + round) % 12),
                bytes,
                stream: 0,
                at: now + Time(delay),
            };
            if injection.source != injection.destination {
                sent.push((run.session().inject(injection).unwrap().tag, bytes));
            }
        }
        run.advance_to(now + Time(1_234_567), control);
    }
    sent
}

/// Injects messages, and lets the run end. Returns the outcome, the events, and numbers and sizes of the messages.
fn injected(prepared: &Prepared) -> (Outcome, Vec<Event>, Vec<(u32, u64)>) {
    let control = Control::default();
    let mut run = Run::with_feed(prepared, &control);
    run.session().subscribe(EVENTS);
    let sent = inject(&mut run, &control);
    assert_eq!(run.advance_to(Time::ms(1), &control), Stop::Ended);
    let events = run.session().events();
    assert_eq!(events.missed, 0);
    (run.finish(&control), events.first, sent)
}

/// Bytes of messages that were delivered, by number.
fn delivered(events: &[Event], tag: u32) -> u64 {
    let of = events.iter().filter(|event| event.kind == EventKind::Delivered && event.packet.tag == tag);
    of.map(|event| u64::from(event.packet.bytes)).sum()
}

#[test]
fn injected_messages_arrive_in_every_number_of_partitions() {
    const CONTROL: [(&str, &str); 5] = [
        ("congestion_control.algorithm", "\"infiniband\""),
        ("congestion_control.infiniband.threshold", "12"),
        ("congestion_control.infiniband.ccti_timer", "\"2 us\""),
        ("traffic.0.load", "0.6"),
        ("traffic.0.injection", "\"saturating\""),
    ];
    let dcqcn = [("congestion_control.algorithm", "\"dcqcn\"")];
    let transport = [("transport.mode", "\"ordered\""), ("run.duration", "\"60 us\"")];
    let silent = [("traffic.0.sources", "[\"H(0,0).0\"]"), ("traffic.0.messages", "1")];
    let full = [
        ("transport.loss", "0"),
        ("traffic.0.load", "0.02"),
        ("run.duration", "\"8 us\""),
        ("run.drain", "\"measured\""),
    ];
    let cases: [(&str, &[(&str, &str)]); 6] = [
        (MESH, &[]),
        (MESH, &CONTROL[..4]),
        (MESH, &dcqcn),
        (MESH, &transport),
        (MESH, &silent),
        (ALL, &full),
    ];
    for (number, (text, overrides)) in cases.into_iter().enumerate() {
        let plain = run(text, overrides);
        let (outcome, events, sent) = injected(&prepared(text, "1", overrides));
        assert_ne!(outcome.totals.fingerprint, plain.totals.fingerprint, "case {number}");
        assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "case {number}");
        // The last network is full: its drain ends at its limit.
        assert_eq!(outcome.warnings.is_empty(), number < 5, "case {number}: {:?}", outcome.warnings);
        let whole = sent.iter().filter(|&&(tag, bytes)| delivered(&events, tag) == bytes).count();
        assert!(whole == sent.len() || number == 5 && whole > sent.len() / 2, "case {number}: {whole}");
        for partitions in &PARTITIONS[1..] {
            let (other, its, _) = injected(&prepared(text, partitions, overrides));
            assert!(its == events, "case {number} in {partitions} partitions: events");
            assert!(everything(&other) == everything(&outcome), "case {number} in {partitions} partitions");
        }
    }
}

#[test]
fn injected_messages_count_as_offered() {
    let silent =
        [("traffic.0.sources", "[\"H(0,0).0\"]"), ("traffic.0.messages", "1"), ("run.warmup", "\"0 s\"")];
    let prepared = prepare(MESH, &silent);
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    let at = Time::us(3);
    let injection = Injection { source: HostId(4), destination: HostId(9), bytes: 4096, stream: 0, at };
    run.session().inject(injection).unwrap();
    assert_eq!(run.advance_to(Time::ms(1), &control), Stop::Ended);
    let outcome = run.finish(&control);
    assert_eq!(outcome.totals.delivered_bytes, 4096 + 1024);
    let [offered, accepted] = [outcome.summary.hosts.offered_gbps, outcome.summary.hosts.accepted_gbps];
    assert!((offered - accepted).abs() < 1e-9 && offered > 0.0, "{offered} {accepted}");
}

#[test]
fn messages_that_cannot_be_sent_are_refused_with_a_reason() {
    let text = MESH.replace("[run]", "[[traffic]]\nname = \"get\"\npattern = \"uniform\"\nload = 0.1\nmessage = \"1 KiB\"\nresponse = { message = \"64 B\" }\n[run]");
    let prepared = prepare(&text, &[("run.drain", "\"empty\"")]);
    let control = Control::default();
    let mut run = Run::new(&prepared, &control);
    run.advance_to(Time::us(1), &control);
    let good = Injection { source: HostId(0), destination: HostId(1), bytes: 1, stream: 0, at: Time::us(1) };
    let mut message = |injection| run.session().inject(injection).unwrap_err().to_string();
    assert_eq!(message(Injection { source: HostId(24), ..good }), "host 24: must be less than 24");
    assert_eq!(message(Injection { destination: HostId(99), ..good }), "host 99: must be less than 24");
    assert_eq!(message(Injection { stream: 2, ..good }), "traffic entry 2: must be less than 2");
    assert!(message(Injection { stream: 1, ..good }).contains("\"get\" has responses"));
    assert_eq!(message(Injection { bytes: 0, ..good }), "size 0 B: must be 1 B to 1 TiB");
    assert_eq!(message(Injection { at: Time::ns(999), ..good }), "at 999 ns: must not be before now, 1 us");
    assert!(message(Injection { at: Time::MAX, ..good }).contains("must be at most"));
    assert!(run.session().inject(good).is_ok());
    run.advance_to(Time::ms(1), &control);
    let late = Injection { at: run.session().now(), ..good };
    assert_eq!(run.session().inject(late), Err(InjectError::Drains));
    let none = Change::Traffic { host: HostId(24), sends: true };
    assert!(run.session().configure(none).is_err());
}
