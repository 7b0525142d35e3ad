//! Endpoints of two or three hosts, whose packets the test carries.

use fabricsim_model::{ExtensionHeaders, Observer, Packet, PacketKind};

use super::*;
use crate::adapter::{Candidate, Endpoint, NamedPath, OutgoingPacket};
use crate::testing::prepare;

/// Packets carry up to 4096 bytes, in any fabric.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 3
[host]
mtu = "4142 B"
open_messages = 2
[queue_pairs]
timeout = 5
ack_every = 0
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "10000 B"
[run]
duration = "1 ms"
"#;

/// The time of the timer: 4.096 us times 2^5 (section 9.7.6.1.3).
const TIMEOUT: Time = Time::ns(131_072);

fn hosts(overrides: &[(&str, &str)]) -> [QueuePairEndpoint; 3] {
    let prepared = prepare(FABRIC, overrides);
    let rules = QueuePairRules::new(&prepared.experiment, &prepared.workload.streams).unwrap();
    [0, 1, 2].map(|host| QueuePairEndpoint::new(HostId(host), &rules))
}

/// What is delivered (bytes, tag), and which messages are complete (tag), in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    delivered: Vec<(u32, u32)>,
    completed: Vec<u32>,
}

impl Observer for Log {
    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.delivered.push((packet.bytes, packet.tag));
    }

    fn completed(&mut self, _: Time, packet: &Packet) {
        self.completed.push(packet.tag);
    }
}

fn message(to: u32, tag: u32, bytes: u64) -> Message {
    Message { destination: HostId(to), stream: 0, tag, bytes, created: Time::ns(3) }
}

fn send(from: &mut QueuePairEndpoint, now: Time) -> OutgoingPacket {
    let candidate = from.candidate(0).expect("there is a packet");
    let sent = from.send(0, now, |_| None).expect("it can be sent");
    assert_eq!((candidate.destination, candidate.bytes), (sent.packet.destination, sent.packet.bytes));
    sent
}

fn arrive(at: &mut QueuePairEndpoint, sent: &OutgoingPacket, now: Time, log: &mut Log) -> bool {
    let extensions = ExtensionHeaders { transport: sent.transport, ..ExtensionHeaders::default() };
    at.arrive(&sent.packet, &extensions, now, log)
}

/// Everything that `from` has to answer goes to `to`. Returns the number of answers.
fn answer(from: &mut QueuePairEndpoint, to: &mut QueuePairEndpoint, now: Time) -> usize {
    let mut answers = 0;
    while from.answer().is_some() {
        let sent = from.send_answer(now).expect("there is an answer");
        assert!(arrive(to, &sent, now, &mut Log::default()));
        answers += 1;
    }
    answers
}

fn counters(of: &QueuePairEndpoint) -> QueuePairCounters {
    of.report().next().expect("it has a queue pair").counters
}

/// LRH 8, BTH 12, ICRC 4 and VCRC 2 bytes; RETH 16 in the first packet of a WRITE, AETH 4 in an acknowledgement.
#[test]
fn a_write_is_packets_and_an_acknowledgement() {
    let [mut here, mut there, _] = hosts(&[]);
    let mut log = Log::default();
    here.open(message(1, 7, 10_000), false, Time::ns(50));
    assert_eq!((here.turns(), here.is_idle(), here.progress()), (1, false, 0));
    assert_eq!(here.sending().map(|message| message.tag).collect::<Vec<_>>(), [7]);
    // The message was created at 3 ns.
    assert_eq!([3, 4].map(|ns| here.has_finished_before(Time::ns(ns))), [true, false]);
    let candidate = Candidate { destination: HostId(1), bytes: 4138, stream: Some(0), path: NamedPath::NONE };
    assert_eq!(here.candidate(0), Some(candidate));
    for (number, (bytes, payload, first, last)) in
        [(4138, 4096, true, false), (4122, 4096, false, false), (1834, 1808, false, true)]
            .into_iter()
            .enumerate()
    {
        assert_eq!(there.answer(), None);
        let now = Time::ns(100 * (1 + number as u64));
        let sent = send(&mut here, now);
        let expected = Packet {
            created: Time::ns(3),
            stream: 0,
            tag: 7,
            first,
            last,
            ..Packet::new(PacketKind::Data, (HostId(0), HostId(1)), bytes, now)
        };
        assert_eq!(sent.packet, expected);
        assert_eq!(here.reported(&sent), Packet { bytes: payload, ..expected });
        assert!(!sent.retransmitted);
        let answers = arrive(&mut there, &sent, now, &mut log);
        assert_eq!((answers, there.has_more(), here.has_more()), (last, last, !last));
        let arrivals: Vec<Arrival> = there.arrivals().collect();
        assert_eq!(arrivals, [Arrival { source: HostId(0), stream: 0, tag: 7, bytes: payload }]);
        assert_eq!(log.completed.len(), usize::from(last));
        assert_eq!(there.progress(), number as u64 + 1);
    }
    assert_eq!(here.turns(), 0);
    assert_eq!(log, Log { delivered: vec![(4096, 7), (4096, 7), (1808, 7)], completed: vec![7] });
    let answer = Candidate { destination: HostId(0), bytes: 30, stream: None, path: NamedPath::NONE };
    assert_eq!(there.answer(), Some(answer));
    assert!(!there.is_idle(), "the acknowledgement is left");
    let now = Time::ns(400);
    let sent = there.send_answer(now).unwrap();
    assert_eq!(sent.packet, Packet::new(PacketKind::Transport, (HostId(1), HostId(0)), 30, now));
    assert_eq!((there.answer(), there.is_idle()), (None, true));
    assert!(arrive(&mut here, &sent, now, &mut Log::default()));
    assert_eq!(here.next_finished(), Some(Finished { stream: 0, tag: 7 }));
    assert_eq!((here.next_finished(), here.is_idle(), here.progress()), (None, true, 1));
    assert!(here.has_finished_before(Time::MAX));
    let zero = QueuePairCounters::default();
    assert_eq!(counters(&here), QueuePairCounters { messages: 1, packets: 3, ..zero });
    assert_eq!(counters(&there), QueuePairCounters { executed: 3, acknowledgements: 1, ..zero });
    // The first number is 2, and each host has one for each other.
    let [ours, theirs] = [&here, &there].map(|of| of.report().next().unwrap());
    assert_eq!((ours.host, ours.peer, ours.number, ours.has_failed), (HostId(0), HostId(1), 3, false));
    assert_eq!(
        (theirs.host, theirs.peer, theirs.number, theirs.has_failed),
        (HostId(1), HostId(0), 2, false)
    );
    // The packet is for another host's queue pair: it is not answered.
    let mut wrong = sent;
    for source in [0, 2] {
        wrong.packet.source = HostId(source);
        assert!(!arrive(&mut here, &wrong, now, &mut log));
    }
}

/// As many messages as the limit are open, and as many responses besides.
#[test]
fn responses_have_room_of_their_own() {
    let [mut here, mut there, _] = hosts(&[]);
    let room = |of: &QueuePairEndpoint| [of.has_room(false), of.has_room(true)];
    for (tag, (is_response, expected)) in
        [(true, [true, true]), (false, [true, true]), (false, [false, true]), (true, [false, false])]
            .into_iter()
            .enumerate()
    {
        here.open(message(1, tag as u32, 100), is_response, Time::ZERO);
        assert_eq!(room(&here), expected, "message {tag}");
    }
    assert_eq!((here.responses(), here.sending().count()), (2, 4));
    // The messages end in order.
    for (expected, responses) in [([false, true], 1), ([true, true], 1), ([true, true], 1), ([true, true], 0)]
    {
        let sent = send(&mut here, Time::ZERO);
        arrive(&mut there, &sent, Time::ZERO, &mut Log::default());
        answer(&mut there, &mut here, Time::ZERO);
        assert!(here.next_finished().is_some());
        assert_eq!((room(&here), here.responses()), (expected, responses));
    }
    assert!(here.is_idle());
}

/// An acknowledgement sets the timer anew, from its arrival on, if packets are left; the earlier time passes without effect. Without packets
/// left the timer stops.
#[test]
fn the_timer_runs_from_the_last_acknowledgement() {
    let [mut here, mut there, _] = hosts(&[]);
    let mut log = Log::default();
    for tag in [1, 2] {
        here.open(message(1, tag, 1000), false, Time::ZERO);
    }
    let first = send(&mut here, Time::us(1));
    assert_eq!(here.wake_at(), Time::us(1) + TIMEOUT);
    let _lost = send(&mut here, Time::us(2));
    arrive(&mut there, &first, Time::us(3), &mut log);
    assert_eq!(answer(&mut there, &mut here, Time::us(10)), 1);
    assert_eq!(here.next_finished(), Some(Finished { stream: 0, tag: 1 }));
    here.expire(Time::us(1) + TIMEOUT, &mut log);
    assert_eq!((counters(&here).timeouts, here.turns()), (0, 0));
    let end = Time::us(10) + TIMEOUT;
    assert_eq!(here.wake_at(), end);
    here.expire(Time(end.0 - 1), &mut log);
    assert_eq!((counters(&here).timeouts, here.wake_at()), (0, end));
    here.expire(end, &mut log);
    assert_eq!((counters(&here).timeouts, here.turns()), (1, 1));
    let again = send(&mut here, end);
    assert!(again.retransmitted);
    assert_eq!(here.wake_at(), end + TIMEOUT);
    arrive(&mut there, &again, end + Time::us(2), &mut log);
    assert_eq!(answer(&mut there, &mut here, end + Time::us(3)), 1);
    assert_eq!(here.next_finished(), Some(Finished { stream: 0, tag: 2 }));
    here.expire(end + TIMEOUT, &mut log);
    assert_eq!((counters(&here).timeouts, here.wake_at()), (1, Time::MAX));
    let expected =
        QueuePairCounters { messages: 2, packets: 3, retransmitted: 1, timeouts: 1, ..Default::default() };
    assert_eq!(counters(&here), expected);
    assert_eq!(log.completed, [1, 2]);
}

/// A SEND without a receive request is answered by an RNR NAK, and retransmitted after the time that it names: 0.12 ms is one of InfiniBand's. A
/// request is there again after its delay.
#[test]
fn a_send_waits_for_a_receive_request() {
    let [mut here, mut there, _] = hosts(&[
        ("queue_pairs.verb", "send"),
        ("queue_pairs.timeout", "0"),
        ("queue_pairs.receives", "1"),
        ("queue_pairs.receive_delay", "100 us"),
        ("queue_pairs.min_rnr_timer", "120 us"),
    ]);
    let mut log = Log::default();
    for tag in [1, 2] {
        here.open(message(1, tag, 1000), false, Time::ZERO);
    }
    let [one, two] = [1, 2].map(|us| send(&mut here, Time::us(us)));
    assert_eq!(one.packet.bytes, 1026);
    arrive(&mut there, &one, Time::us(1), &mut log);
    assert_eq!(answer(&mut there, &mut here, Time::us(1)), 1);
    assert_eq!(there.wake_at(), Time::us(101));
    arrive(&mut there, &two, Time::us(2), &mut log);
    assert_eq!(log, Log { delivered: vec![(1000, 1)], completed: vec![1] });
    assert_eq!(answer(&mut there, &mut here, Time::us(5)), 1);
    assert_eq!((here.candidate(0), here.wake_at()), (None, Time::us(125)));
    there.expire(Time::us(101), &mut log);
    assert_eq!(there.wake_at(), Time::MAX);
    here.expire(Time(Time::us(125).0 - 1), &mut log);
    assert_eq!(here.candidate(0), None);
    here.expire(Time::us(125), &mut log);
    assert_eq!((here.turns(), here.wake_at()), (1, Time::MAX));
    let again = send(&mut here, Time::us(125));
    assert!(again.retransmitted);
    arrive(&mut there, &again, Time::us(126), &mut log);
    assert_eq!(log, Log { delivered: vec![(1000, 1), (1000, 2)], completed: vec![1, 2] });
    assert_eq!(answer(&mut there, &mut here, Time::us(127)), 1);
    let zero = QueuePairCounters::default();
    assert_eq!(counters(&here), QueuePairCounters { messages: 2, packets: 3, retransmitted: 1, ..zero });
    let expected = QueuePairCounters { executed: 2, dropped: 1, acknowledgements: 2, rnr_naks: 1, ..zero };
    assert_eq!(counters(&there), expected);
}

/// The third of four packets is the last to arrive. Held packets are delivered after it, placed ones before; the message is complete when all
/// are. Without either they are dropped.
#[test]
fn packets_that_overtake_are_held_or_placed_or_dropped() {
    let zero = QueuePairCounters::default();
    for (mode, delivered, expected) in [
        ("hold", [4096, 4096, 4000, 96], QueuePairCounters { executed: 4, held: 1, ..zero }),
        ("place", [4096, 4096, 96, 4000], QueuePairCounters { executed: 4, held: 1, ..zero }),
        ("drop", [4096, 4096, 4000, 0], QueuePairCounters { executed: 3, dropped: 1, ..zero }),
    ] {
        let [mut here, mut there, _] = hosts(&[("queue_pairs.out_of_order", mode)]);
        let mut log = Log::default();
        // Two messages, so that a packet that is held ends one of its own.
        here.open(message(1, 1, 8192 + 4000), false, Time::ZERO);
        here.open(message(1, 2, 96), false, Time::ZERO);
        let sent = [0, 1, 2, 3].map(|us| send(&mut here, Time::us(us)));
        let mut progress = 0;
        for (number, place) in [0, 1, 3, 2].into_iter().enumerate() {
            arrive(&mut there, &sent[place], Time::us(10 + number as u64), &mut log);
            progress += there.arrivals().count() as u64;
            let complete: &[u32] = match (number, mode) {
                (3, "drop") => &[1],
                (3, _) => &[1, 2],
                _ => &[],
            };
            assert_eq!(log.completed, complete, "{mode} {place}");
            assert_eq!(there.progress(), progress, "{mode} {place}");
        }
        let bytes: Vec<u32> = log.delivered.iter().map(|&(bytes, _)| bytes).collect();
        assert_eq!(bytes, delivered.into_iter().filter(|&bytes| bytes > 0).collect::<Vec<_>>(), "{mode}");
        assert_eq!(
            log.delivered.iter().map(|&(bytes, tag)| (bytes == 96) == (tag == 2)).collect::<Vec<_>>(),
            vec![true; bytes.len()]
        );
        let found = counters(&there);
        assert_eq!(
            (found.executed, found.held, found.dropped),
            (expected.executed, expected.held, expected.dropped),
            "{mode}"
        );
    }
}

/// A queue pair whose retries have ended is in the error state: its messages have failed, it answers no more, and others go on.
#[test]
fn a_queue_pair_that_has_failed_answers_no_more() {
    let [mut here, mut there, mut other] = hosts(&[("queue_pairs.retry_count", "0")]);
    let mut log = Log::default();
    here.open(message(1, 1, 1000), false, Time::ZERO);
    here.open(message(1, 2, 1000), false, Time::ZERO);
    let _lost = [send(&mut here, Time::ZERO), send(&mut here, Time::ZERO)];
    there.open(message(0, 3, 500), false, Time::ZERO);
    other.open(message(0, 4, 400), false, Time::ZERO);
    let (of_there, of_other) = (send(&mut there, Time::us(1)), send(&mut other, Time::us(1)));
    arrive(&mut here, &of_there, Time::us(2), &mut log);
    arrive(&mut here, &of_other, Time::us(2), &mut log);
    assert_eq!(here.answer().unwrap().destination, HostId(1));
    here.expire(TIMEOUT, &mut log);
    let mut failed = [here.next_finished(), here.next_finished()].map(|ended| ended.unwrap().tag);
    failed.sort_unstable();
    assert_eq!((failed, here.next_finished()), ([1, 2], None));
    // What is left is the answer to the other host.
    assert_eq!(here.answer().unwrap().destination, HostId(2));
    assert!(!here.is_idle());
    assert_eq!(answer(&mut here, &mut other, TIMEOUT), 1);
    assert_eq!(other.next_finished(), Some(Finished { stream: 0, tag: 4 }));
    assert!(here.is_idle());
    let reports: Vec<_> = here.report().map(|of| (of.peer, of.number, of.has_failed)).collect();
    assert_eq!(reports, [(HostId(1), 3, true), (HostId(2), 4, false)]);
    let found = counters(&here);
    assert_eq!((found.failed, found.messages, found.timeouts, found.executed), (2, 0, 1, 1));
    // A copy of the packet is not answered, and a new message fails at once.
    arrive(&mut here, &of_there, TIMEOUT, &mut log);
    assert_eq!(here.answer(), None);
    here.open(message(1, 5, 100), false, TIMEOUT);
    assert_eq!(here.next_finished(), Some(Finished { stream: 0, tag: 5 }));
    assert_eq!((here.turns(), counters(&here).failed, log.delivered.len()), (0, 3, 2));
}

/// Times come out in order, none before its time.
#[test]
fn timers_end_in_order() {
    let mut timers = Timers::default();
    assert_eq!((timers.next(), timers.take(Time(u64::MAX - 1))), (Time::MAX, None));
    for (ns, connection, timer) in
        [(30, 1, Timer::Retry), (10, 2, Timer::Receive), (20, 3, Timer::Ready), (10, 1, Timer::Retry)]
    {
        timers.set(Time::ns(ns), connection, timer);
    }
    assert_eq!((timers.next(), timers.take(Time::ps(9_999))), (Time::ns(10), None));
    let found: Vec<_> = std::iter::from_fn(|| timers.take(Time::ns(20))).collect();
    assert_eq!(found, [(1, Timer::Retry), (2, Timer::Receive), (3, Timer::Ready)]);
    assert_eq!((timers.next(), timers.take(Time::ns(30))), (Time::ns(30), Some((1, Timer::Retry))));
}

/// Queue pairs have the numbers 2 to 2^24 - 2: 16 777 213, of which a host needs one for each other in each class and turn.
#[test]
fn there_are_numbers_for_so_many_hosts() {
    for (overrides, most) in [
        (&[][..], 16_777_213),
        (&[("queue_pairs.per_pair", "4")], 4_194_303),
        (
            &[("queue_pairs.per_pair", "4"), ("switch.virtual_lanes", "2"), ("switch.service_classes", "2")],
            2_097_151,
        ),
    ] {
        let overrides: Vec<_> =
            overrides.iter().map(|&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned())).collect();
        let experiment = fabricsim_spec::read(FABRIC, "test.toml", &overrides).unwrap();
        assert_eq!(check(&experiment, most, "test.toml"), Ok(()), "{overrides:?}");
        let error = check(&experiment, most + 1, "test.toml").unwrap_err().to_string();
        assert!(error.contains("queue_pairs.per_pair"), "{error}");
        assert!(error.contains(&format!("up to {most} hosts; there are {}", most + 1)), "{error}");
    }
}

/// Without a number of receive requests there is always one.
#[test]
fn receive_requests_that_are_not_counted_do_not_run_out() {
    let [mut here, mut there, _] = hosts(&[("queue_pairs.verb", "send")]);
    let mut log = Log::default();
    for tag in 0..5 {
        here.open(message(1, tag, 100), false, Time::ZERO);
        let sent = send(&mut here, Time::us(1));
        arrive(&mut there, &sent, Time::us(2), &mut log);
        assert_eq!(there.wake_at(), Time::MAX);
    }
    assert_eq!(log.completed, [0, 1, 2, 3, 4]);
    assert_eq!((counters(&there).executed, counters(&there).dropped), (5, 0));
}

/// A connection that fails while it waits for its turn leaves the turns of the others.
#[test]
fn a_connection_that_fails_takes_no_turn_of_others() {
    let [mut here, ..] = hosts(&[("queue_pairs.retry_count", "0")]);
    let mut log = Log::default();
    here.open(message(1, 1, 1000), false, Time::ZERO);
    let _lost = send(&mut here, Time::ZERO);
    here.open(message(1, 2, 1000), false, Time::us(1));
    here.open(message(2, 3, 1000), false, Time::us(1));
    assert_eq!(here.turns(), 2);
    here.expire(TIMEOUT, &mut log);
    assert_eq!((here.turns(), here.candidate(0).unwrap().destination), (1, HostId(2)));
}
