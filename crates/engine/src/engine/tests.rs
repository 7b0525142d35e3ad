use std::path::Path;

use fabricsim_model::{Crossing, NullObserver};

use super::*;
use crate::Prepared;

/// Two switches in a partition each, hosts that saturate both directions of the link between them, and admission control.
const TWO: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 2
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "512 B"
[switch]
virtual_lanes = 2
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "256 B"
[[traffic]]
pattern = "uniform"
injection = "window"
window = 2
message = "128 B"
response = { message = "256 B" }
[run]
duration = "1 s"
partitions = 2
"#;

/// Sources are drained when all messages, and all responses, which take a while here, have been sent.
#[test]
fn sources_are_drained_when_all_is_sent() {
    let text = TWO.replace("pattern = ", "messages = 2\npattern = ");
    let overrides = [("traffic.1.response.delay".to_owned(), "100 us".to_owned())];
    let experiment = fabricsim_spec::read(&text, "two.toml", &overrides).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "two.toml").unwrap();
    let mut engine = prepared.engine(|| NullObserver);
    // All requests have arrived after some us; the responses to them are sent 100 us later.
    for (us, drained) in [(1, false), (50, false), (150, true)] {
        engine.advance(Time::us(us), &mut |_, _| true);
        assert_eq!(engine.sources_drained(), drained, "at {us} us: {:?}", engine.totals());
    }
    let totals = engine.totals();
    assert_eq!((totals.in_flight, totals.injected), (0, totals.delivered));
}

/// A block that is lost, or is there twice, is found at every sending port and lane, with the port's number.
#[test]
fn credits_that_do_not_add_up_are_found() {
    let experiment = fabricsim_spec::read(TWO, "two.toml", &[]).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "two.toml").unwrap();
    let mut engine = prepared.engine(|| NullObserver);
    engine.advance(Time::us(10), &mut |_, _| true);
    assert!(engine.totals().in_flight > 10);
    assert_eq!(engine.check_credits(), Ok(()));
    let (mut lost, mut twice) = (0, 0);
    for number in 0..engine.partitions.len() {
        for place in 0..engine.partitions[number].context.ports.lanes.len() {
            let ports = &mut engine.partitions[number].context.ports;
            let (port, lane) = (place / ports.lane_count, place % ports.lane_count);
            let (channel, free) = (ports.senders[port].channel, ports.lanes[place].free);
            for wrong in [free.checked_sub(1), Some(free + 1)].into_iter().flatten() {
                engine.partitions[number].context.ports.lanes[place].free = wrong;
                let error = engine.check_credits().expect_err("a credit is missing or there twice");
                assert_eq!((error.channel, error.lane), (channel, lane));
                assert_eq!(error.accounted + error.occupied + free, error.capacity + wrong, "{error}");
                *(if wrong < free { &mut lost } else { &mut twice }) += 1;
            }
            engine.partitions[number].context.ports.lanes[place].free = free;
        }
    }
    assert_eq!(engine.check_credits(), Ok(()));
    // Both directions of the four links of hosts and of the one between the switches, two lanes each.
    assert_eq!(twice, 20);
    assert!(lost > 5, "{lost}");
}

fn prepared(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "test.toml", &overrides).unwrap();
    Prepared::new(experiment, Path::new("."), "test.toml").unwrap()
}

/// The caller may change what switches have ahead: loads that are due before the end of an advance are broadcast, also without any event.
#[test]
fn loads_that_are_due_are_broadcast_without_events() {
    let text = r#"
[topology.dragonfly]
p = 1
a = 2
h = 1
[routing]
algorithm = "ugal-g"
state_delay = "100 ns"
[switch]
virtual_lanes = 3
[run]
duration = "1 ms"
"#;
    for partitions in ["1", "2"] {
        let prepared = prepared(text, &[("run.partitions", partitions)]);
        let mut engine = prepared.engine(|| NullObserver);
        for end in [Time::us(1), Time::us(50)] {
            engine.advance(end, &mut |_, _| true);
            for partition in &engine.partitions {
                assert!(partition.publish_at >= end, "{} in {partitions}", partition.publish_at);
            }
        }
    }
}

/// The time at which an acknowledgement opens a full window is not known: a message that waits for it is not rate-limited for ever.
#[test]
fn a_full_window_is_no_rate_limit() {
    let overrides = [
        ("queue_pairs", "{}"),
        ("congestion_control.algorithm", "hpcc"),
        ("host.mtu", "302 B"),
        ("links.all.buffer", "4 KiB"),
        ("links.all.latency", "2 us"),
        ("traffic.0.message", "64 KiB"),
    ];
    let prepared = prepared(TWO, &overrides);
    let mut engine = prepared.engine(|| NullObserver);
    let mut is_full = false;
    for us in 1..50 {
        let now = Time::us(us);
        engine.advance(now, &mut |_, _| true);
        for adapter in engine.adapters() {
            assert!(
                adapter.rate_limited_for(now) < Time::us(100),
                "{} at {now}",
                adapter.rate_limited_for(now)
            );
            is_full |= adapter.rate_limited_for(now) == Time::ZERO;
        }
    }
    assert!(is_full);
}

/// Two service classes of two lanes each.
#[test]
fn lanes_belong_to_the_class_that_begins_before_them() {
    let overrides = [("switch.virtual_lanes", "4"), ("switch.service_classes", "2")];
    let prepared = prepared(TWO, &overrides);
    let snapshot = prepared.engine(|| NullObserver).snapshot(crate::Extent::Queues);
    assert_eq!([0, 1, 2, 3].map(|lane| snapshot.class_base(fabricsim_units::Vl(lane))), [0, 0, 2, 2]);
}

/// The caller is asked after each 1000 windows of several partitions, and every few hundred thousand events of one; it can stop the run.
#[test]
fn the_caller_is_asked_and_may_stop() {
    // A window is 114 ns: 50 ns, and a block of 64 ns.
    let mut engine = prepared(TWO, &[]).engine(|| NullObserver);
    let mut asked = Vec::new();
    let mut ask = |now: Time, _: &Totals| {
        asked.push(now);
        asked.len() < 5
    };
    assert_eq!(engine.advance(Time::us(40), &mut ask), Advance::Reached);
    assert_eq!(engine.advance(Time::ms(10), &mut ask), Advance::Stopped);
    assert_eq!((asked.len(), engine.now()), (5, asked[4]));
    assert!(asked.windows(2).all(|pair| pair[1].0 - pair[0].0 >= Time::us(110).0), "{asked:?}");
    assert!(asked[0] > Time::us(110) && asked[4] < Time::us(800), "{asked:?}");
    // In one partition.
    let mut engine = prepared(TWO, &[("run.partitions", "1")]).engine(|| NullObserver);
    assert_eq!(engine.advance(Time::us(100), &mut |_, _| false), Advance::Reached);
    let mut asked = 0;
    let stopped = engine.advance(Time::ms(200), &mut |_, _| {
        asked += 1;
        asked < 2
    });
    assert_eq!((stopped, asked), (Advance::Stopped, 2));
    assert!(engine.now() > Time::us(100) && engine.now() < Time::ms(200));
    assert!(engine.credit_ramps() > 1);
    assert_eq!(engine.check_credits(), Ok(()));
}

/// Packets that have left for another partition, and have not been handed over, are in flight.
#[test]
fn packets_between_partitions_are_in_flight() {
    let mut engine = prepared(TWO, &[]).engine(|| NullObserver);
    engine.advance(Time::us(20), &mut |_, _| true);
    let (mut with_mail, lookahead) = (0, engine.lookahead());
    for step in 1..100 {
        let end = Time::us(20).saturating_add(Time(lookahead.0 * step));
        engine.partitions[0].run(end, BUDGET);
        let mail = engine.partitions[0].context.out.mail.iter();
        with_mail += mail.filter(|message| matches!(message, Mail::Packet { .. })).count();
        assert!(engine.totals().is_balanced(), "{:?}", engine.totals());
        engine.partitions[1].run(end, BUDGET);
        engine.exchange(end);
        engine.now = end;
    }
    assert!(with_mail > 5, "{with_mail}");
}

/// Bytes of subnet management are reported only to an observer that captures the link.
#[test]
fn management_is_reported_where_it_is_captured() {
    struct Captures(bool, u32);
    impl Observer for Captures {
        const CAPTURES: bool = true;
        fn captures(&self, _: Time, _: u32) -> bool {
            self.0
        }
        fn crossed(&mut self, _: &Crossing<'_>) {
            self.1 += 1;
        }
    }
    for (captures, reported) in [(false, 0), (true, 1)] {
        let mut engine = prepared(TWO, &[("run.partitions", "1")]).engine(|| Captures(captures, 0));
        engine.send_management(0, 290, |write| write(&[0; 290]));
        assert_eq!(engine.observers().map(|observer| observer.1).sum::<u32>(), reported);
    }
}

/// A mesh of 16 hosts that saturate links of this latency, and the cores that it may use.
fn mesh(latency: &str, cores: u32, threads: Option<&str>) -> Engine<NullObserver> {
    let text = TWO.replace("[2]\nhosts_per_switch = 2", "[4, 4]").replace("partitions = 2\n", "");
    let text = text.replace("512 B", "64 KiB").replace("50 ns", latency);
    let threads = threads.map(|threads| ("run.threads".to_owned(), threads.to_owned()));
    let experiment = fabricsim_spec::read(&text, "mesh.toml", threads.as_slice()).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "mesh.toml").unwrap();
    Prepared { cores, ..prepared }.engine(|| NullObserver)
}

#[test]
fn threads_take_part_as_soon_as_windows_have_held_enough() {
    let mut engine = mesh("5 us", 1, Some("2"));
    engine.advance(Time::us(400), &mut |_, _| true);
    let found = engine.scaling();
    assert_eq!((found.asked, found.partitions, found.threads), (2, 2, 2));
    assert_eq!(found.lookahead, Time::ns(5064), "the latency, and a block of 64 B");
    assert!(found.windows < 100 && found.events > 200 * found.windows, "{found:?}");
    assert!(found.shared > 0.8 && (0.5..0.6).contains(&found.busiest), "{found:?}");
    // Windows of 50 ns hold fewer events than are worth it, and so does a call of `advance`.
    let short = mesh("50 ns", 1, Some("2")).scaling();
    assert_eq!((short.asked, short.partitions, short.threads), (2, 1, 1));
    let mut stepped = mesh("5 us", 1, Some("2"));
    for step in 1..2000 {
        stepped.advance(Time::ns(200 * step), &mut |_, _| true);
    }
    assert_eq!(stepped.scaling().shared, 0.0, "{:?}", stepped.scaling());
}

/// A window of 5 us holds about 4400 events, enough for two threads.
#[test]
fn cores_are_used_where_that_clearly_pays() {
    for (latency, cores, threads) in
        [("5 us", 1, 1), ("5 us", 2, 2), ("5 us", 7, 2), ("5 us", 3, 2), ("20 us", 7, 7), ("50 ns", 2, 1)]
    {
        let found = mesh(latency, cores, None).scaling();
        assert_eq!((found.threads, found.partitions), (threads, threads), "{latency}, {cores} cores");
    }
    assert_eq!(mesh("5 us", 8, Some("1")).scaling().asked, 1);
}

/// The longest window is the time after which a packet may be sent on, or a credit be used; of packets smaller than a block the credit comes sooner.
#[test]
fn windows_count_router_delays_and_blocks() {
    let text = TWO.replace("virtual_lanes = 2", "virtual_lanes = 2\nrouter_delay = \"100 ns\"");
    let text = &text[..text.find("[[traffic]]").unwrap()];
    let lookahead = |keys: &[(&str, &str)], message: &str| {
        let run = "[run]\nduration = '1 s'\npartitions = 2";
        let traffic = format!("[[traffic]]\npattern = 'uniform'\nload = 0.5\nmessage = '{message}'");
        let mut engine = prepared(&format!("{text}{traffic}\n{run}"), keys).engine(|| NullObserver);
        let before = engine.lookahead();
        engine.advance(Time::us(20), &mut |_, _| true);
        (before, engine.lookahead())
    };
    let both = |time| (Time::ns(time), Time::ns(time));
    // A block is 64 B, 64 ns.
    assert_eq!(lookahead(&[], "128 B"), both(114));
    assert_eq!(lookahead(&[("switch.credit_delay", "100 ns")], "128 B"), both(150));
    assert_eq!(lookahead(&[], "6 B"), (Time::ns(114), Time::ns(56)));
    // Optional features are not looked at one by one.
    assert_eq!(lookahead(&[("switch.head_delay", "1 ns")], "128 B"), both(50));
}
