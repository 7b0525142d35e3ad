//! Windows of two threads in all orders in which the threads may run, and with all values that their memory may show them. Of three threads, loom
//! lets two that wait take turns for ever; `threads.rs` has more threads.

mod toy;

use fabricsim_exchange::{Defect, End, Exchange};
use loom::sync::Arc;
use loom::thread;
use toy::{LOOKAHEAD, Toy};

/// Partitions with an event at the begin, the end of the last window, and the window after which thread 0 stops all.
#[derive(Clone, Copy)]
struct Case {
    threads: usize,
    begin: &'static [usize],
    until: u64,
    stops_after: u64,
    varies: bool,
    defect: Option<Defect>,
}

const PING: Case =
    Case { threads: 2, begin: &[0], until: 35, stops_after: u64::MAX, varies: false, defect: None };

/// Runs all orders. `preemptions`: how often a thread may be interrupted where it need not.
fn explore(case: Case, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let exchange = Exchange::new(case.threads, case.threads, case.until);
        let exchange = Arc::new(match case.defect {
            Some(defect) => exchange.with(defect),
            None => exchange,
        });
        let work = move |thread: usize, exchange: Arc<Exchange<toy::Letter>>| {
            let mut toy = Toy::new((thread, 1), case.threads, case.begin);
            toy.varies = case.varies;
            toy.stops_after = if thread == 0 { case.stops_after } else { u64::MAX };
            (exchange.work(thread, (thread, 1), &mut toy), toy.handled)
        };
        let others: Vec<_> = (1..case.threads)
            .map(|number| {
                let exchange = Arc::clone(&exchange);
                thread::spawn(move || work(number, exchange))
            })
            .collect();
        let mut all: Vec<(End, Vec<(usize, u64, usize)>)> = vec![work(0, exchange)];
        all.extend(others.into_iter().map(|other| other.join().unwrap()));
        assert!(all.iter().all(|(end, _)| *end == all[0].0), "threads end alike: {all:?}");
        let mut handled: Vec<_> = all.iter().flat_map(|(_, handled)| handled.clone()).collect();
        handled.sort_unstable();
        let mut expected = expected(case, all[0].0.time);
        expected.sort_unstable();
        assert_eq!(handled, expected);
    });
}

/// Events before `end`: each goes on to the next partition.
fn expected(case: Case, end: u64) -> Vec<(usize, u64, usize)> {
    let of = |(number, &begun): (usize, &usize)| {
        (0..)
            .map(move |step: usize| {
                let (partition, sender) = (begun + step, begun + step.saturating_sub(1));
                let time = number as u64 + LOOKAHEAD * step as u64;
                (partition % case.threads, time, sender % case.threads)
            })
            .take_while(move |(_, time, _)| *time < end)
    };
    case.begin.iter().enumerate().flat_map(of).collect()
}

#[test]
fn a_letter_goes_back_and_forth() {
    explore(PING, 3);
}

#[test]
fn letters_cross() {
    explore(Case { begin: &[0, 1], ..PING }, 3);
}

/// Threads whose windows are not equally long.
#[test]
fn letters_cross_in_windows_of_any_length() {
    explore(Case { begin: &[0, 1], varies: true, ..PING }, 3);
}

#[test]
fn a_thread_stops_all() {
    explore(Case { begin: &[0, 1], stops_after: 1, ..PING }, 3);
}

#[test]
#[should_panic(expected = "of another window")]
fn one_set_of_boxes_is_found() {
    explore(Case { begin: &[0, 1], defect: Some(Defect::OneSetOfBoxes), ..PING }, 3);
}

#[test]
#[should_panic(expected = "late: ")]
fn a_barrier_that_shows_nothing_is_found() {
    explore(Case { begin: &[0, 1], defect: Some(Defect::RelaxedBarrier), ..PING }, 3);
}
