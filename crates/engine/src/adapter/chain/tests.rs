use fabricsim_model::Packet;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::Message;

use crate::testing::{Log, log, prepare};
use crate::{Engine, Prepared};

/// Four hosts at each of two switches. A byte takes a nanosecond.
const FABRIC: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 4
[links.all]
rate = "8 Gb/s"
latency = "20 ns"
buffer = "512 B"
[switch]
virtual_lanes = 2
flow_control_unit = "16 B"
[host]
mtu = "128 B"
open_messages = 1
[[traffic]]
pattern = "uniform"
injection = "poisson"
message = "128 B"
load = 0.5
[run]
duration = "1 s"
"#;

fn prepared(overrides: &[(&str, &str)]) -> Prepared {
    prepare(FABRIC, overrides)
}

/// A message of the caller that is created after the end of the run: since hosts have it to wait for, their messages are opened at the
/// endpoint.
const LATE: Message =
    Message { destination: HostId(0), stream: 0, tag: 0, bytes: 128, created: Time::ms(900) };

/// Messages of one packet go from a source of one stream to the link without being opened: every packet, its time and its lane are those that
/// they have otherwise.
#[test]
fn messages_of_one_packet_go_as_all_others() {
    for overrides in [
        &[][..],
        &[("traffic.0.load", "1.0"), ("links.all.buffer", "128 B")],
        &[
            ("traffic.0.load", "0.9"),
            ("traffic.0.message", "{ uniform = { min = \"20 B\", max = \"300 B\" } }"),
        ],
        &[
            ("traffic.0.load", "0.2"),
            (
                "traffic.0.message",
                "{ choice = [{ size = \"128 B\", weight = 1 }, { size = \"129 B\", weight = 1 }] }",
            ),
        ],
        &[("traffic.0.message", "100 B"), ("host.open_messages", "3")],
        &[("traffic.0.messages", "20"), ("traffic.0.load", "0.8")],
        &[
            ("congestion_control.algorithm", "dcqcn"),
            ("congestion_control.dcqcn.k_min", "16 B"),
            ("traffic.0.load", "0.9"),
        ],
        &[("switch.service_classes", "2"), ("traffic.0.service_class", "1"), ("traffic.0.load", "0.9")],
    ] {
        let prepared = prepared(overrides);
        let short = log(prepared.engine(Log::default), Time::us(30));
        let mut engine = prepared.engine(Log::default);
        for host in 0..8 {
            engine.inject(HostId(host), LATE);
        }
        let opened = log(engine, Time::us(30));
        assert!(short.len() > 400, "{} for {overrides:?}", short.len());
        for (number, (one, other)) in short.iter().zip(&opened).enumerate() {
            assert_eq!(one, other, "{number} of {overrides:?}");
        }
        assert_eq!(short.len(), opened.len());
    }
}

/// A stopped host opens no message, of one packet or of several; when it may send, it sends what has been created since.
#[test]
fn a_host_that_is_stopped_opens_nothing() {
    for (message, packets) in [("128 B", 1), ("512 B", 4)] {
        let mut engine =
            prepared(&[("traffic.0.message", message), ("traffic.0.load", "0.3")]).engine(Log::default);
        let sent = |engine: &mut Engine<Log>, from: Time, to: Time| {
            let sent = engine.observers().flat_map(|log| log.sent.clone());
            sent.filter(|packet| {
                packet.source == HostId(3) && from <= packet.injected && packet.injected < to
            })
            .count()
        };
        engine.advance(Time::us(20), &mut |_, _| true);
        // A packet takes 128 ns: 0.3 of the link are 47 in 20 us.
        let before = sent(&mut engine, Time::ZERO, Time::us(20));
        assert!((20..80).contains(&before), "{before}");
        engine.set_traffic(HostId(3), false);
        engine.advance(Time::us(40), &mut |_, _| true);
        // The message that is open is sent wholly.
        assert!(sent(&mut engine, Time::us(20), Time::us(40)) < packets, "{message}");
        engine.set_traffic(HostId(3), true);
        engine.advance(Time::us(60), &mut |_, _| true);
        // What was created meanwhile is sent as well: twice as much, but for three standard deviations.
        let after = sent(&mut engine, Time::us(40), Time::us(60));
        assert!(after > 65, "{message}: {after}");
    }
}

/// Without congestion control and tables of weights an adapter takes short ways; the general one gives the same packets, times and stalls.
#[test]
fn the_short_ways_of_a_plain_adapter_change_nothing() {
    let response = "{ message = \"100 B\" }";
    let slow = ("links.all.buffer", "128 B");
    for overrides in [
        &[("traffic.0.injection", "saturating"), ("switch.virtual_lanes", "1")][..],
        &[("traffic.0.message", "1000 B"), ("traffic.0.load", "0.9"), slow],
        &[("traffic.0.message", "1000 B"), ("traffic.0.load", "0.9"), ("switch.virtual_lanes", "1"), slow],
        &[("traffic.0.message", "500 B"), ("host.open_messages", "3"), ("switch.virtual_lanes", "1"), slow],
        &[("traffic.0.message", "500 B"), ("traffic.0.messages", "5"), ("switch.virtual_lanes", "1"), slow],
        &[
            ("traffic.0.injection", "window"),
            ("traffic.0.window", "4"),
            ("traffic.0.response", response),
            ("switch.virtual_lanes", "1"),
            slow,
        ],
        &[("transport.mode", "ordered"), ("switch.virtual_lanes", "1")],
        &[("queue_pairs", "{}"), ("host.mtu", "302 B"), ("switch.virtual_lanes", "1")],
        &[
            ("switch.flow_control", "packets"),
            ("switch.flow_control_unit", "64 B"),
            ("switch.virtual_lanes", "1"),
            ("traffic.0.message", "1000 B"),
            ("traffic.0.load", "0.9"),
        ],
    ] {
        // Messages that are created at once have no load.
        let has_load = !overrides.iter().any(|(key, _)| *key == "traffic.0.injection");
        let text = if has_load { FABRIC.to_owned() } else { FABRIC.replace("load = 0.5\n", "") };
        let prepared = prepare(&text, overrides);
        let short = log(prepared.engine(Log::default), Time::us(20));
        let mut engine = prepared.engine(Log::default);
        let adapters = engine.partitions.iter_mut().flat_map(|partition| &mut partition.adapters);
        adapters.for_each(|adapter| adapter.chain.is_plain = false);
        let general = log(engine, Time::us(20));
        assert!(short.len() > 200, "{} for {overrides:?}", short.len());
        for (number, (one, other)) in short.iter().zip(&general).enumerate() {
            assert_eq!(one, other, "{number} of {overrides:?}");
        }
        assert_eq!(short.len(), general.len(), "{overrides:?}");
    }
}

/// A host that is woken without need, since it is allowed to send as before, sends what it would have sent, when it would have.
#[test]
fn a_host_that_is_woken_without_need_sends_the_same() {
    let prepared = prepared(&[("traffic.0.load", "0.05")]);
    let expected = log(prepared.engine(Log::default), Time::us(100));
    assert!(expected.len() > 200, "{}", expected.len());
    let mut engine = prepared.engine(Log::default);
    for us in 1..100 {
        engine.advance(Time::us(us), &mut |_, _| true);
        (0..8).for_each(|host| engine.set_traffic(HostId(host), true));
    }
    assert_eq!(log(engine, Time::us(100)), expected);
}

/// A message of 500 B is packets of 128, 128, 128 and 116 B, of which the first and the last say so; its source is drained when all are sent.
#[test]
fn packets_of_a_message_know_their_places() {
    let overrides = [("traffic.0.message", "500 B"), ("traffic.0.messages", "3"), ("traffic.0.load", "1.0")];
    let mut engine = prepared(&overrides).engine(Log::default);
    engine.advance(Time::us(1), &mut |_, _| true);
    assert!(!engine.sources_drained());
    engine.advance(Time::us(50), &mut |_, _| true);
    assert!(engine.sources_drained());
    let sent: Vec<Packet> = engine.observers().flat_map(|log| log.sent.clone()).collect();
    assert_eq!(sent.len(), 8 * 3 * 4);
    for host in (0..8).map(HostId) {
        let own: Vec<&Packet> = sent.iter().filter(|packet| packet.source == host).collect();
        for message in own.chunks(4) {
            let found = message.iter().map(|packet| (packet.bytes, packet.first, packet.last));
            let expected = [(128, true, false), (128, false, false), (128, false, false), (116, false, true)];
            assert!(found.eq(expected), "{message:?}");
            assert!(message.iter().all(|packet| packet.created == message[0].created), "{message:?}");
        }
    }
}

/// A message of the caller is sent when it is created, by a host that has nothing else to do.
#[test]
fn messages_of_the_caller_are_sent_at_their_time() {
    let mut engine = prepared(&[("traffic.0.messages", "1"), ("traffic.0.load", "1.0")]).engine(Log::default);
    engine.advance(Time::us(50), &mut |_, _| true);
    let before = engine.totals().injected;
    let message = Message { destination: HostId(5), stream: 0, tag: 9, bytes: 200, created: Time::us(60) };
    engine.inject(HostId(2), message);
    // Its first packet leaves the host up to 60.128 us, the second up to 60.2 us: a transmission that has ended is in progress no more.
    for (now, end) in
        [(Time(60_127_999), Some(60_128)), (Time::ns(60_128), None), (Time::ns(60_199), Some(60_200))]
    {
        engine.advance(now, &mut |_, _| true);
        let mut ends = Vec::new();
        engine.visit_transmissions(|_, _, _, until| ends.push(until));
        assert!(end.is_none_or(|end| ends.contains(&Time::ns(end))), "{ends:?} at {now}");
        assert!(ends.iter().all(|&end| end > now), "{ends:?} at {now}");
    }
    engine.advance(Time::us(70), &mut |_, _| true);
    assert_eq!(engine.totals().injected, before + 2);
    let sent: Vec<Packet> = engine.observers().flat_map(|log| log.sent.clone()).collect();
    let last: Vec<_> = sent[sent.len() - 2..].iter().map(|packet| (packet.injected, packet.bytes)).collect();
    assert_eq!(last, [(Time::us(60), 128), (Time::ns(60_128), 72)]);
}
