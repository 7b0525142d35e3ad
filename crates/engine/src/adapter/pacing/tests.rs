use fabricsim_model::NullObserver;

use super::*;
use crate::testing::prepare;

const FABRIC: &str = r#"
[topology.single-switch]
hosts = 2
[host]
mtu = "1000 B"
[congestion_control]
algorithm = "dcqcn"
notification = { delay = "200 ns", size = "40 B" }
[run]
duration = "1 ms"
"#;

fn pacing(overrides: &[(&str, &str)]) -> Pacing {
    let engine = prepare(FABRIC, overrides).engine(|| NullObserver);
    let pacing = engine.partitions[0].adapters[0].chain.pacing.clone().unwrap();
    *pacing
}

fn marked(now: Time) -> Packet {
    let packet = Packet::new(PacketKind::Data, (HostId(1), HostId(0)), 1000, now);
    Packet { fecn: true, ..packet }
}

/// A notification of a marked packet is created after the delay, whenever it is sent; until then the pacing has something left.
#[test]
fn a_notification_waits_until_it_is_sent() {
    let mut pacing = pacing(&[]);
    let mut extensions = ExtensionHeaders::default();
    assert!(pacing.is_empty());
    assert!(pacing.arrived(&marked(Time::us(3)), &mut extensions, Time::us(4), &mut NullObserver));
    let ready = Time::us(4) + Time::ns(200);
    assert_eq!((pacing.answer_ready(), pacing.is_empty()), (Some(ready), false));
    let expected = Packet {
        created: ready,
        becn: true,
        ..Packet::new(PacketKind::Notification, (HostId(0), HostId(1)), 40, Time::us(9))
    };
    assert_eq!(pacing.answer(Time::us(9)), Some(expected));
    pacing.answered();
    assert_eq!((pacing.answer_ready(), pacing.is_empty()), (None, true));
}

/// An acknowledgement of several packets that waits for more of them is something left as well: it is sent after its time.
#[test]
fn an_acknowledgement_that_waits_is_left() {
    let overrides = [
        ("congestion_control.algorithm", "hpcc"),
        ("congestion_control.notification.every", "4"),
        ("congestion_control.notification.timeout", "2 us"),
    ];
    let mut pacing = pacing(&overrides);
    let packet = Packet { last: false, ..marked(Time::us(3)) };
    pacing.arrived(&packet, &mut ExtensionHeaders::default(), Time::us(4), &mut NullObserver);
    assert_eq!((pacing.answer_ready(), pacing.wake_at(), pacing.is_empty()), (None, Time::us(6), false));
    pacing.expire(Time::us(6));
    assert_eq!(pacing.answer_ready(), Some(Time::us(6) + Time::ns(200)));
    assert_eq!((pacing.wake_at(), pacing.is_empty()), (Time::MAX, false));
    pacing.answered();
    assert!(pacing.is_empty());
}

/// What is in flight is given up at its time-out, not after it.
#[test]
fn a_full_window_is_given_up_at_its_time_out() {
    let mut pacing = pacing(&[("congestion_control.algorithm", "swift")]);
    let to = (HostId(1), 0);
    let packet = Packet::new(PacketKind::Data, (HostId(0), HostId(1)), 1000, Time::ZERO);
    let times = (Time::ZERO, Time::ZERO);
    let mut sent = 0;
    while pacing.allowed_at(to, Time::ZERO, &mut NullObserver) == Time::ZERO {
        pacing.sent(&packet, false, times, &mut NullObserver);
        sent += 1;
        assert!(sent < 10_000, "the window has an end");
    }
    let expires = pacing.allowed_at(to, Time::ZERO, &mut NullObserver);
    let key = pacing.key(to.0, to.1);
    let in_flight = |pacing: &mut Pacing| pacing.flights.get(key).map_or(0, |flight| flight.bytes);
    assert_eq!(pacing.allowed_at(to, Time(expires.0 - 1), &mut NullObserver), expires);
    assert_eq!(in_flight(&mut pacing), sent * 1000);
    pacing.allowed_at(to, expires, &mut NullObserver);
    assert_eq!(in_flight(&mut pacing), 0);
}
