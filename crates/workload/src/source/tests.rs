use proptest::prelude::*;

use super::*;
use crate::testing::{build_all, hosts, take, workload};

/// Four open-loop entries with all that is random.
const MIXED: &str = "
[[traffic]]
pattern = 'uniform'
load = 0.4
message = '500 B'
[[traffic]]
pattern = { hot-spot = { hosts = ['H1'], fraction = 0.3 } }
injection = 'poisson'
load = 0.9
message = { exponential = { mean = '300 B', max = '2 kB' } }
start = '3 us'
[[traffic]]
pattern = { to = 'H2' }
injection = 'constant'
load = 0.1
message = { uniform = { min = '1 B', max = '999 B' } }
messages = 30
[[traffic]]
pattern = 'random-permutation'
injection = 'on-off'
on = '2 us'
off = '5 us'
message = { choice = [{ size = '64 B', weight = 1.0 }, { size = '1 kB', weight = 2.0 }] }
stop = '60 us'
";

fn mixed() -> Source {
    build_all(&hosts(5), MIXED).sources.swap_remove(0)
}

#[test]
fn the_first_messages_are_these() {
    let text: Vec<String> = take(&mut mixed(), 8)
        .iter()
        .map(|m| {
            format!("{} {} to {} {}", m.stream, m.created, m.destination, fabricsim_units::Bytes(m.bytes))
        })
        .collect();
    assert_eq!(text, GOLDEN);
}

const GOLDEN: [&str; 8] = [
    "2 0 ns to 2 926 B",
    "0 500 ns to 3 500 B",
    "0 1 us to 2 500 B",
    "0 2.5 us to 4 500 B",
    "0 3 us to 3 500 B",
    "1 3931.025 ns to 1 7 B",
    "3 4144.598 ns to 2 1000 B",
    "1 4342.23 ns to 4 549 B",
];

#[test]
fn open_loop_streams_come_in_order_of_creation() {
    let messages = take(&mut mixed(), 1000);
    assert!(messages.is_sorted_by_key(|m| m.created));
    assert!((0..4).all(|stream| messages.iter().any(|m| m.stream == stream)));
    assert_eq!(messages.iter().filter(|m| m.stream == 2).count(), 30);
    assert!(messages.iter().all(|m| m.stream != 1 || m.created >= Time::us(3)));
    assert!(messages.iter().all(|m| m.stream != 3 || m.created < Time::us(60)));
    assert!(messages.last().is_some_and(|m| m.created > Time::us(60)));
}

#[test]
fn at_the_same_time_the_lower_entry_comes_first() {
    let one = "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'constant'\nload = 0.5\nmessage = '64 B'\n";
    let mut workload = build_all(&hosts(2), &one.repeat(3));
    let streams: Vec<u16> = take(&mut workload.sources[0], 9).iter().map(|m| m.stream).collect();
    assert_eq!(streams, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

const FLOOD: &str = "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '500 B'\n";

#[test]
fn queues_are_served_in_turn() {
    let open =
        "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'constant'\nload = 1.0\nmessage = '500 B'\n";
    let mut workload = build_all(&hosts(2), &format!("{FLOOD}start = '1 us'\n{open}{open}{FLOOD}"));
    let source = &mut workload.sources[0];
    let mut at = |now| {
        let message = source.take(now);
        assert!(message.created <= now);
        message.stream
    };
    // At first the queue of 1 and 2, which create a message every 500 ns, and the flood of 3; from 1 us also 0.
    assert_eq!([at(Time::ZERO), at(Time::ZERO), at(Time::ZERO), at(Time::ZERO)], [1, 3, 2, 3]);
    assert_eq!([at(Time::ZERO), at(Time::ns(500)), at(Time::ns(500)), at(Time::ns(500))], [3, 1, 3, 2]);
    let late = [0; 9].map(|_| at(Time::us(2)));
    assert_eq!(late, [0, 3, 1, 0, 3, 2, 0, 3, 1]);
}

#[test]
fn a_flood_is_counted_by_time() {
    let offered = |rest: &str, takes: &[u64], from, to, end| {
        let mut source = build_all(&hosts(2), &format!("{FLOOD}{rest}")).sources.swap_remove(0);
        source.set_window(Time::ns(from), Time::ns(to));
        for now in takes.iter().copied().map(Time::ns) {
            assert_eq!(source.take(now).created, now);
        }
        source.finish(Time::ns(end), |m| panic!("{m:?} was created by a flood"));
        source.offered_bytes()
    };
    // A byte takes 1 ns.
    assert_eq!(offered("", &[], 1000, 3000, 4000), 2000);
    assert_eq!(offered("", &[1000, 1500], 1000, 3000, 2500), 1500);
    assert_eq!(offered("start = '2 us'\nstop = '2500 ns'", &[], 1000, 3000, 4000), 500);
    // Exhausted when the second message of 500 B could have been sent.
    assert_eq!(offered("messages = 2", &[0, 700], 0, 3000, 4000), 1200);
    assert_eq!(offered("messages = 2", &[0], 0, 3000, 4000), 3000);
}

#[test]
fn window_and_end_are_half_open() {
    // Messages of 500 B at 0, 1 us, 2 us, ...
    let entry = "pattern = 'uniform'\ninjection = 'constant'\nload = 0.5\nmessage = '500 B'";
    for (from, to, end, counted, made) in [(1, 3, 5, 2, 5), (0, 9, 3, 3, 3), (2, 3, 3, 1, 3), (0, 9, 0, 0, 0)]
    {
        let mut source = workload(&hosts(2), entry).sources.swap_remove(0);
        source.set_window(Time::us(from), Time::us(to));
        let mut messages = 0;
        source.finish(Time::us(end), |_| messages += 1);
        assert_eq!((source.offered_bytes(), messages), (counted * 500, made));
    }
}

#[test]
fn the_uses_of_randomness_are_independent() {
    let uniform = |rest: &str| {
        let entry = format!("pattern = 'uniform'\ninjection = 'poisson'\n{rest}");
        take(&mut workload(&hosts(9), &entry).sources[3], 100)
    };
    let fixed = uniform("load = 0.5\nmessage = '500 B'");
    let drawn = uniform("load = 0.5\nmessage = { uniform = { min = '1 B', max = '999 B' } }");
    let slower = uniform("load = 0.1\nmessage = { uniform = { min = '1 B', max = '999 B' } }");
    assert!(fixed.iter().zip(&drawn).all(|(a, b)| a.created == b.created && a.destination == b.destination));
    assert!(drawn.iter().zip(&slower).all(|(a, b)| a.bytes == b.bytes && a.destination == b.destination));
    assert!(drawn.iter().zip(&slower).any(|(a, b)| a.created != b.created));
}

#[test]
fn a_stream_depends_on_seed_entry_and_host_only() {
    let (few, many) =
        (build_all(&hosts(5), MIXED), build_all(&hosts(5), &MIXED[..MIXED.rfind("[[").unwrap()]));
    let first = |workload: &crate::Workload, host: usize| {
        let messages = take(&mut workload.sources[host].clone(), 200);
        messages.into_iter().filter(|m| m.stream == 0).take(30).collect::<Vec<_>>()
    };
    assert_eq!(first(&few, 2), first(&many, 2));
    assert_ne!(first(&few, 2), first(&few, 3));
    let reseeded = build_all(&hosts(5), &format!("seed = 2\n{MIXED}"));
    assert_ne!(first(&few, 2), first(&reseeded, 2));
    assert_eq!(first(&few, 2), first(&build_all(&hosts(5), MIXED), 2));
}

#[test]
fn packets_have_destinations_of_their_own_where_there_is_a_choice() {
    let entry = |pattern: &str| format!("pattern = {pattern}\ndraw_per = 'packet'\ninjection = 'saturating'");
    let mut uniform = workload(&hosts(9), &entry("'uniform'")).sources.swap_remove(4);
    assert!(uniform.draws_per_packet(0) && uniform.fixed_destination(0).is_none());
    let mut seen: Vec<u32> = (0..200).map(|_| uniform.destination(0).0).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 5, 6, 7, 8]);
    let mut fixed = workload(&hosts(9), &entry("'tornado'")).sources.swap_remove(4);
    assert!(!fixed.draws_per_packet(0));
    assert_eq!((fixed.fixed_destination(0), fixed.destination(0)), (Some(HostId(8)), HostId(8)));
    assert!(!workload(&hosts(9), "pattern = 'uniform'").sources[4].draws_per_packet(0));
}

#[test]
fn sources_are_small_and_move_between_threads() {
    fn moves<T: Send + Clone>() {}
    moves::<Source>();
    // One stream: the source, its box, and what an allocator adds.
    assert!(size_of::<Source>() + size_of::<MessageStream>() + 16 <= 200);
}

#[test]
fn a_host_without_streams_has_ended() {
    let workload = workload(&hosts(3), "pattern = { to = 'H2' }");
    assert_eq!(workload.sources[2].next(Time::ZERO), None);
    assert_eq!(workload.sources[2].nominal_load(), 0.0);
    assert_eq!(workload.sources[2].streams().count(), 0);
}

proptest! {
    #[test]
    fn when_messages_are_taken_does_not_matter(waits in prop::collection::vec(0..5_000_000_u64, 200)) {
        let mut source = mixed();
        let mut now = Time::ZERO;
        let mut late = Vec::new();
        for wait in waits {
            now = now.max(source.next(now).unwrap()) + Time(wait);
            late.push(source.take(now));
        }
        prop_assert_eq!(late, take(&mut mixed(), 200));
    }

    #[test]
    fn offered_bytes_do_not_depend_on_what_was_taken(
        taken in 0..150_u32, from in 0..50_000_u64, length in 0..50_000_u64, beyond in -20_000..20_000_i64,
    ) {
        let (from, to) = (Time::ns(from), Time::ns(from + length));
        let end = Time::ns((from.0 / 1000 + length).saturating_add_signed(beyond));
        let expected = take(&mut mixed(), 1000).into_iter().filter(|m| m.created < end).collect::<Vec<_>>();
        let bytes = |stream| {
            let counted = expected.iter().filter(|m| m.stream == stream && (from..to).contains(&m.created));
            counted.map(|m| m.bytes).sum::<u64>()
        };
        let mut source = mixed();
        source.set_window(from, to);
        let taken = taken.min(expected.len() as u32);
        let mut made = take(&mut source, taken);
        // The end of the measurement is known later than its start.
        if made.iter().all(|m| m.created <= to) {
            source.set_window(from, Time::MAX);
            source.set_window(from, to);
        }
        source.finish(end, |message| made.push(*message));
        prop_assert_eq!(&made, &expected);
        for (stream, offered) in source.offered() {
            prop_assert_eq!(offered, bytes(stream));
        }
        prop_assert_eq!(source.offered_bytes(), (0..4).map(bytes).sum::<u64>());
    }
}
