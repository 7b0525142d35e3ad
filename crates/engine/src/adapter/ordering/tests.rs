//! Endpoints of two hosts, whose packets the test carries.

use fabricsim_model::ExtensionHeaders;
use fabricsim_protocols::ordering::ReorderBuffer;
use fabricsim_units::Rate;

use super::*;
use crate::adapter::{Candidate, Endpoint, Finished, NamedPath, OutgoingPacket};
use crate::testing::prepare;

const FABRIC: &str = r#"
[topology.single-switch]
hosts = 2
[host]
mtu = "100 B"
[transport]
mode = "unordered"
answer = "10 B"
timeout = "1 ms"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "250 B"
[run]
duration = "1 ms"
"#;

fn hosts(overrides: &[(&str, &str)]) -> [OrderingEndpoint; 2] {
    let prepared = prepare(FABRIC, overrides);
    let rules = OrderingRules::new(&prepared.experiment, &prepared.workload.streams).unwrap();
    [0, 1].map(|host| {
        OrderingEndpoint::new(HostId(host), &rules, Rate::new(8_000_000_000).unwrap().byte_time())
    })
}

/// Packets delivered, and tags of complete messages.
#[derive(Debug, Default)]
struct Log {
    delivered: Vec<Packet>,
    completed: Vec<u32>,
}

impl Observer for Log {
    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.delivered.push(*packet);
    }

    fn completed(&mut self, _: Time, packet: &Packet) {
        self.completed.push(packet.tag);
    }
}

fn extensions(sent: &OutgoingPacket) -> ExtensionHeaders {
    ExtensionHeaders { label: sent.label, ..ExtensionHeaders::default() }
}

/// Carries all answers and FINs of both hosts until there are none.
fn settle([here, there]: [&mut OrderingEndpoint; 2], now: Time) {
    let mut log = Log::default();
    loop {
        let mut is_quiet = true;
        for back in [false, true] {
            let (from, to) = if back { (&mut *there, &mut *here) } else { (&mut *here, &mut *there) };
            while let Some(sent) = from.send_answer(now) {
                assert!(to.arrive(&sent.packet, &extensions(&sent), now, &mut log));
                is_quiet = false;
            }
            if from.candidate(0).is_some() {
                let fin = from.send(0, now, |_| None).unwrap();
                assert!(to.arrive(&fin.packet, &extensions(&fin), now, &mut log));
                is_quiet = false;
            }
        }
        if is_quiet {
            return;
        }
    }
}

/// A message of 250 B is packets of 100, 100 and 50 B. What a packet carried, and what happened to it in flight, is what its receiver reports.
#[test]
fn a_packet_is_reported_as_it_arrived() {
    for delay in ["0 ns", "50 ns"] {
        let [mut here, mut there] = hosts(&[("transport.memory_delay", delay)]);
        let mut log = Log::default();
        let message = Message { destination: HostId(1), stream: 0, tag: 7, bytes: 250, created: Time::ns(3) };
        assert!(here.is_idle() && there.is_idle());
        here.open(message, false, Time::ns(5));
        assert_eq!((here.is_idle(), here.progress(), here.turns()), (false, 0, 2));
        let mut expected = Vec::new();
        for (number, bytes) in (0_u32..).zip([100, 100, 50]) {
            let now = Time::ns(100 * (1 + u64::from(number)));
            assert_eq!(here.candidate(0), None);
            let candidate =
                Candidate { destination: HostId(1), bytes, stream: Some(0), path: NamedPath::NONE };
            assert_eq!(here.candidate(1), Some(candidate));
            assert_eq!(here.sending().count(), 1);
            let sent = here.send(1, now, |_| None).unwrap();
            let packet = Packet {
                created: Time::ns(3),
                stream: 0,
                tag: 7,
                first: number == 0,
                last: number == 2,
                ..Packet::new(PacketKind::Data, (HostId(0), HostId(1)), bytes, now)
            };
            assert_eq!((sent.packet, sent.retransmitted), (packet, false));
            let label = sent.label.unwrap();
            assert_eq!(
                (label.number, label.packets, label.message, label.retransmitted),
                (number, 3, 0, false)
            );
            let in_flight =
                Packet { sequence: 40 + number, hops: 3, fecn: number != 1, becn: number != 2, ..packet };
            expected.push(in_flight);
            let arrived = now + Time::ns(10);
            assert_eq!(there.lose(&in_flight, &extensions(&sent), arrived, &mut log), None);
            assert!(there.arrive(&in_flight, &extensions(&sent), arrived, &mut log));
            assert!(!there.is_idle(), "there is an answer, or an operation in memory");
            // Notifications of congestion control are none of its packets.
            let other = Packet { kind: PacketKind::Notification, ..in_flight };
            assert!(!there.arrive(&other, &extensions(&sent), arrived, &mut log));
            if delay != "0 ns" {
                assert_eq!((log.delivered.len(), there.wake_at()), (number as usize, arrived + Time::ns(50)));
                there.expire(arrived + Time::ns(50), &mut log);
            }
            assert_eq!(log.delivered, expected, "{delay}");
            assert_eq!(log.completed, if number == 2 { vec![7] } else { vec![] });
            assert_eq!(there.progress(), u64::from(number) + 1);
            let arrivals: Vec<Arrival> = there.arrivals().collect();
            assert_eq!(arrivals, [Arrival { source: HostId(0), stream: 0, tag: 7, bytes }]);
        }
        // With the last packet the message is sent.
        assert_eq!((here.progress(), here.sending().count(), here.next_finished()), (1, 0, None));
        assert!(!here.has_finished_before(Time::ns(4)) && here.has_finished_before(Time::ns(3)));
        let answer = Candidate { destination: HostId(0), bytes: 10, stream: None, path: NamedPath::NONE };
        assert_eq!(there.answer(), Some(answer));
        settle([&mut here, &mut there], Time::ns(400));
        assert_eq!(here.next_finished(), Some(Finished { stream: 0, tag: 7 }));
        assert_eq!((here.next_finished(), there.answer()), (None, None));
        assert!(here.is_idle() && there.is_idle() && here.has_finished_before(Time::MAX));
        let (source, target) = (here.report(), there.report());
        assert_eq!((source.host, source.source.sent.get()), (HostId(0), 3));
        assert_eq!((target.host, target.target.delivered.get()), (HostId(1), 3));
        assert_eq!([target.lost, target.late, target.repeated, target.unfinished], [0; 4]);
    }
}

/// A packet is late one picosecond after its lifetime; FINs and answers as well, since they have labels, but no notification.
#[test]
fn packets_are_late_after_their_lifetime() {
    let [mut here, mut there] = hosts(&[("transport.lifetime", "100 us")]);
    let mut log = Log::default();
    here.open(
        Message { destination: HostId(1), stream: 0, tag: 7, bytes: 100, created: Time::ZERO },
        false,
        Time::ZERO,
    );
    let sent = here.send(1, Time::us(1), |_| None).unwrap();
    let extensions = extensions(&sent);
    let mut lose = |packet: &Packet, now: Time| there.lose(packet, &extensions, now, &mut log);
    assert_eq!(lose(&sent.packet, Time::us(101)), None);
    assert_eq!(lose(&sent.packet, Time(Time::us(101).0 + 1)), Some(fabricsim_model::LossCause::Lifetime));
    let answer = Packet { kind: PacketKind::Transport, ..sent.packet };
    assert_eq!(lose(&answer, Time::ms(1)), Some(fabricsim_model::LossCause::Lifetime));
    let notification = Packet { kind: PacketKind::Notification, ..sent.packet };
    assert_eq!(lose(&notification, Time::ms(1)), None);
    assert_eq!((there.report().late, there.report().lost), (2, 0));
}

/// The memory of a host's transport is that of its reorder buffer: the ring and the cache. Without a transport there is none.
#[test]
fn the_memory_of_a_transport_is_its_reorder_buffer() {
    let of = |overrides: &[(&str, &str)]| transport_bytes(&prepare(FABRIC, overrides).experiment);
    let slot = ReorderBuffer::<Request>::bytes(1);
    assert!(slot > 0);
    // The ring of a buffer for 12 packets has the next power of two of 24 slots.
    for (buffer, cache, slots) in [("12", "5", 32 + 5), ("16", "5", 32 + 5), ("17", "6", 64 + 6)] {
        let bytes =
            of(&[("transport.target.reorder_buffer", buffer), ("transport.target.reorder_cache", cache)]);
        assert_eq!(bytes, slots * slot, "{buffer} {cache}");
    }
    assert_eq!(of(&[("transport.mode", "none")]), 0);
}

/// Of a round trip of 620 ns half may be the time to one end: with a lifetime of less packets are late in a network without others.
#[test]
fn a_lifetime_below_half_of_the_round_trip_is_worth_a_warning() {
    let links = "{ all = { rate = '8 Gb/s', latency = '100 ns', buffer = '4 KiB' } }";
    let switch = "{ router_delay = '10 ns', flow_control_unit = '8 B' }";
    let warn = |lifetime| {
        let overrides = [("links", links), ("switch", switch), ("transport.lifetime", lifetime)];
        warnings(&prepare(FABRIC, &overrides))
    };
    assert_eq!(warn("310 ns"), Vec::<String>::new());
    for lifetime in ["309 ns", "100 ns"] {
        let found = warn(lifetime);
        let expected = format!("transport.lifetime: {lifetime} is less than half of the round trip");
        assert!(found.len() == 1 && found[0].contains(&expected), "{found:?}");
    }
}
