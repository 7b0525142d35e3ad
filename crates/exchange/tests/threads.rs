//! Windows in any number of threads are those of one.
#![cfg(not(feature = "loom"))]

mod toy;

use fabricsim_exchange::{End, Exchange};
use toy::Toy;

/// Partitions of each of `threads` threads.
fn divided(partitions: usize, threads: usize) -> Vec<(usize, usize)> {
    let each = partitions.div_ceil(threads);
    (0..partitions).step_by(each).map(|first| (first, each.min(partitions - first))).collect()
}

/// How it ended, the events handled, and the letters taken, of each partition in order.
type Seen = (End, Vec<(usize, u64, usize)>, Vec<(usize, toy::Letter)>);

fn run(
    partitions: usize,
    threads: usize,
    (begin, until, stops_after): (&[usize], u64, u64),
    varies: bool,
) -> Seen {
    let parts = divided(partitions, threads);
    let exchange = Exchange::new(parts.len(), partitions, until);
    let all: Vec<(End, Toy)> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(thread, &part)| {
                let exchange = &exchange;
                scope.spawn(move || {
                    let mut toy = Toy::new(part, partitions, begin);
                    toy.varies = varies;
                    toy.stops_after = if thread == 0 { stops_after } else { u64::MAX };
                    (exchange.work(thread, part, &mut toy), toy)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let end = all[0].0;
    assert!(all.iter().all(|(other, _)| *other == end), "threads end alike");
    let mut handled: Vec<_> = all.iter().flat_map(|(_, toy)| toy.handled.clone()).collect();
    let mut taken: Vec<_> = all.iter().flat_map(|(_, toy)| toy.taken.clone()).collect();
    handled.sort_by_key(|&(partition, ..)| partition);
    taken.sort_by_key(|&(receiver, letter)| (receiver, letter.window));
    (end, handled, taken)
}

#[test]
fn any_number_of_threads_does_the_same() {
    for (begin, until, stops_after) in [
        (vec![0], 20_000, u64::MAX),
        (vec![0, 3, 3, 5], 20_000, u64::MAX),
        (vec![], 100, u64::MAX),
        (vec![6, 1], 20_000, 700),
    ] {
        for varies in [false, true] {
            let alone = run(7, 1, (&begin, until, stops_after), varies);
            let events = if begin.is_empty() { 0 } else { 700 };
            assert!(alone.1.len() >= events, "{} events are no test", alone.1.len());
            for threads in [2, 3, 7] {
                let found = run(7, threads, (&begin, until, stops_after), varies);
                assert!(found == alone, "{threads} threads, {begin:?}, varies: {varies}");
            }
        }
    }
}

#[test]
fn an_end_is_idle_or_reached_or_stopped() {
    let end = |begin: &[usize], until, stops_after| run(4, 2, (begin, until, stops_after), false).0;
    assert_eq!(end(&[], 50, 9), End { windows: 0, time: 50, stopped: false, idle: true });
    assert_eq!(end(&[0], 25, 9), End { windows: 3, time: 25, stopped: false, idle: false });
    assert_eq!(end(&[0], 25, 2), End { windows: 2, time: 20, stopped: true, idle: false });
    assert_eq!(end(&[0], 0, 9), End { windows: 0, time: 0, stopped: false, idle: false });
}
