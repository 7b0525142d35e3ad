//! Jobs and windows on a network that delivers packets in any order: every rank must complete all its iterations, every request must
//! be answered once.

use fabricsim_model::Iteration;
use fabricsim_units::Time;
use proptest::prelude::*;

use crate::testing::{build_all, hosts};
use crate::{Arrival, Event, Message, Workload};

const PROGRAMS: [&str; 16] = [
    "all-to-all-v = { message = '70 B', imbalance = 1.5 }",
    "all-to-all-v = { message = '70 B', imbalance = 2.0, hot = 1, back = true }",
    "shift = { message = '70 B', by = 3 }",
    "all-to-all = { message = '70 B' }",
    "all-to-all = { message = '70 B', algorithm = 'ring' }",
    "all-to-all = { message = '70 B', algorithm = 'bruck' }",
    "all-reduce = { message = '999 B' }",
    "all-reduce = { message = '999 B', algorithm = 'ring' }",
    "all-reduce = { message = '3 B', algorithm = 'ring' }",
    "all-reduce = { message = '999 B', algorithm = 'rabenseifner' }",
    "all-gather = { message = '70 B' }",
    "all-gather = { message = '70 B', algorithm = 'bruck' }",
    "broadcast = { message = '500 B' }",
    "barrier = {}",
    "fft = { elements = 3600, compute = '5 ns' }",
    "neighbour-exchange = { grid = [RANKS], message = '90 B', compute = '3 ns' }",
];

/// An ideal network: messages are cut into packets of up to 64 B and arrive in an order of its own.
pub(super) struct Network {
    workload: Workload,
    now: Time,
    /// Receiver and packet.
    in_flight: Vec<(usize, Arrival)>,
    answered: usize,
    /// Bytes sent and time computed, of each iteration of a rank.
    pub(super) iterated: Vec<(u64, Time)>,
    responses: usize,
}

impl Network {
    pub(super) fn new(workload: Workload) -> Self {
        let (now, in_flight, iterated) = (Time::ZERO, Vec::new(), Vec::new());
        let mut network = Self { workload, now, in_flight, answered: 0, iterated, responses: 0 };
        (0..network.workload.sources.len()).for_each(|host| network.note(host));
        network
    }

    /// Handles one event, selected by `pick`. False if there is none.
    pub(super) fn step(&mut self, pick: usize) -> bool {
        let hosts = self.workload.sources.len();
        let willing = (0..hosts).map(|at| (at + pick) % hosts).find(|&host| {
            let source = &self.workload.sources[host];
            source.next(self.now).is_some() || source.next_response().is_some()
        });
        match willing {
            Some(host) if pick.is_multiple_of(2) || self.in_flight.is_empty() => self.send(host),
            _ if self.in_flight.is_empty() => return false,
            _ => self.deliver(pick % self.in_flight.len()),
        }
        true
    }

    fn send(&mut self, host: usize) {
        let source = &mut self.workload.sources[host];
        let message = if let Some(at) = source.next_response() {
            self.now = self.now.max(at);
            self.responses += 1;
            source.take_response(self.now).unwrap()
        } else {
            self.now = self.now.max(source.next(self.now).unwrap());
            source.take(self.now)
        };
        source.left(self.now + Time::ns(1), message.stream, message.tag);
        self.note(host);
        let Message { destination, bytes, stream, tag, .. } = message;
        for first in (0..bytes).step_by(64) {
            let bytes = (bytes - first).min(64) as u32;
            let source = fabricsim_units::HostId(host as u32);
            self.in_flight.push((destination.index(), Arrival { source, stream, tag, bytes }));
        }
    }

    fn deliver(&mut self, which: usize) {
        let (host, packet) = self.in_flight.swap_remove(which);
        self.now += Time::ns(1);
        self.workload.sources[host].arrived(self.now, &packet);
        self.note(host);
    }

    fn note(&mut self, host: usize) {
        for event in self.workload.sources[host].events() {
            match event {
                Event::Answered { created, at, .. } => {
                    assert!(created <= at);
                    self.answered += 1;
                }
                Event::Iterated(Iteration { start, end, bytes, compute, .. }) => {
                    assert!(start <= end);
                    self.iterated.push((bytes, compute));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_rank_does_all_iterations(
        program in prop::sample::select(PROGRAMS.to_vec()),
        placement in prop::sample::select(vec!["'linear'", "'random'", "{ strided = 3 }"]),
        (ranks, slots) in (prop::sample::select(vec![2_u32, 3, 4, 5, 6, 10]), 1_u32..5),
        (iterations, outstanding) in (1_u32..4, 1_u32..4),
        picks in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let program = program.replace("RANKS", &ranks.to_string());
        let outstanding = if program.contains("fft") { outstanding } else { 1 };
        let mut network = Network::new(build_all(&hosts(10), &format!(
            "[[jobs]]\nprogram = {{ {program} }}\nranks = {ranks}\niterations = {iterations}\noutstanding = {outstanding}\n\
             placement = {placement}\nranks_per_host = {slots}\n[[jobs]]\nname = 'other'\nprogram = {{ barrier = {{}} }}\niterations = 2\n"
        )));
        let mut happened = 0_usize;
        while network.step(usize::from(picks[happened % picks.len()]) + happened / picks.len()) {
            happened += 1;
            prop_assert!(happened < 100_000, "it never ends");
        }
        prop_assert_eq!(network.iterated.len() as u32, ranks * iterations + 10 * 2);
    }

    #[test]
    fn every_request_is_answered_once(
        (window, messages) in (1_u32..9, 1_usize..20),
        largest in 1_u32..300,
        picks in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let size = format!("{{ uniform = {{ min = '1 B', max = '{largest} B' }} }}");
        let mut network = Network::new(build_all(&hosts(4), &format!(
            "[[traffic]]\npattern = 'uniform'\ninjection = 'window'\nwindow = {window}\nmessages = {messages}\n\
             message = {size}\nresponse = {{ message = {size}, delay = '7 ns' }}\n"
        )));
        let mut happened = 0_usize;
        while network.step(usize::from(picks[happened % picks.len()]) + happened / picks.len()) {
            happened += 1;
            prop_assert!(happened < 100_000, "it never ends");
        }
        prop_assert_eq!((network.answered, network.responses), (4 * messages, 4 * messages));
    }
}
