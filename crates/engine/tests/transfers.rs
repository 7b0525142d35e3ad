//! Hosts with transports in random schedules: each transfer ends, and its operations arrive exactly once for the workload,
//! in order where the mode orders them, in every number of partitions.

use std::collections::BTreeMap;
use std::path::Path;

use fabricsim_engine::{Engine, HostTransport, Prepared, Totals};
use fabricsim_model::{Exchange, ExchangeStep, Observer, Packet};
use fabricsim_units::{HostId, Time};
use proptest::prelude::*;
use proptest::sample::select;

/// Source, receiver, stream of the workload, number.
type Message = (HostId, HostId, u16, u32);

/// Actions of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Watcher {
    /// Bytes and packets that were delivered to the workload, by message.
    delivered: BTreeMap<Message, (u64, u32)>,
    completed: BTreeMap<Message, Time>,
    /// Numbers of the operations in the order in which they were forwarded to target memory.
    forwarded: BTreeMap<Message, Vec<u32>>,
    /// Packets sent, received and lost.
    sent: u64,
    received: u64,
    lost: u64,
}

impl Observer for Watcher {
    fn delivered(&mut self, _: Time, packet: &Packet) {
        let Packet { source, destination, stream, tag, bytes, .. } = *packet;
        let (all, packets) = self.delivered.entry((source, destination, stream, tag)).or_default();
        (*all, *packets) = (*all + u64::from(bytes), *packets + 1);
    }

    fn completed(&mut self, now: Time, packet: &Packet) {
        let Packet { source, destination, stream, tag, .. } = *packet;
        let before = self.completed.insert((source, destination, stream, tag), now);
        assert_eq!(before, None, "a message is completed once");
    }

    fn exchanged(&mut self, _: Time, exchange: &Exchange) {
        let (stream, tag) = exchange.message;
        match exchange.step {
            ExchangeStep::Sent => self.sent += 1,
            ExchangeStep::Received => self.received += 1,
            ExchangeStep::Lost => self.lost += 1,
            ExchangeStep::Delivered => {
                let message = (exchange.peer, exchange.host, stream, tag);
                self.forwarded.entry(message).or_default().push(exchange.label.number);
            }
        }
    }
}

impl Watcher {
    fn merge(&mut self, other: Self) {
        // A message's receiver is in one partition.
        self.delivered.extend(other.delivered);
        self.completed.extend(other.completed);
        self.forwarded.extend(other.forwarded);
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
    }
}

/// Random parameters of a case.
#[derive(Clone, Debug)]
struct Case {
    mode: &'static str,
    exactly_once: bool,
    /// Packets of a message.
    packets: u32,
    messages: u32,
    hosts: u32,
    text: String,
}

const MTU: u64 = 128;

const FABRICS: [(&str, u32); 4] = [
    ("single-switch = { hosts = 2 }", 2),
    ("single-switch = { hosts = 4 }", 4),
    ("fat-tree = { arity = 2, levels = 2 }", 4),
    ("fat-tree = { arity = 2, levels = 3 }", 8),
];

const MODES: [&str; 8] = [
    "unordered",
    "source-ordered",
    "ordered",
    "source-synchronized",
    "synchronized",
    "go-back-n",
    "selective",
    "selective-ordered",
];

/// Options of sources.
fn source(bits: u8) -> impl Strategy<Value = String> {
    let half = 1_u16 << (bits - 1).min(4);
    let of_packets = (
        (1..=half).prop_flat_map(|outstanding| (Just(outstanding), 1..=outstanding.min(3))),
        select(vec!["never", "until-first-ack", "always"]),
        any::<bool>(),
        select(vec!["each", "oldest"]),
        select(vec!["oldest", "progress"]),
    );
    let of_connections = (
        1_u16..5,
        1_u16..5,
        select(vec!["continue", "halt"]),
        select(vec!["one-at-a-time", "burst"]),
        select(vec!["idle", "end"]),
    );
    (of_packets, of_connections).prop_map(move |(packets, connections)| {
        let ((outstanding, fast), offset, speculative, timed_out, resend) = packets;
        let (streams, identifiers, none, recovery, close) = connections;
        format!(
            "sequence_bits = {bits}\noutstanding = {outstanding}\nfast_from = {fast}\nstart_offset = \"{offset}\"\n\
             speculative = {speculative}\ntimed_out = \"{timed_out}\"\nresend = \"{resend}\"\n\
             streams = {streams}\nconnections = {identifiers}\nno_connection = \"{none}\"\n\
             recovery = \"{recovery}\"\nclose = \"{close}\"\n"
        )
    })
}

/// Losses, times, and what targets have.
fn network() -> impl Strategy<Value = String> {
    let target = (1_u32..5, 1_u16..12, 0_u16..4, 1_u16..8);
    let losses = select(vec![0.0, 0.01, 0.1, 0.3]);
    // One-way latencies go from 0.2 us to some 10 us.
    let times = (select(vec!["1 us", "5 us", "40 us"]), select(vec!["100 us", "300 us"]), 0_u32..3);
    (target, losses, times).prop_map(|(target, loss, (timeout, lifetime, delay))| {
        let (connections, buffer, cache, replay) = target;
        let delay = delay * 150;
        format!(
            "loss = {loss}\ntimeout = \"{timeout}\"\nlifetime = \"{lifetime}\"\nmemory_delay = \"{delay} ns\"\n\
             answer = \"8 B\"\n[transport.target]\nconnections = {connections}\nreorder_buffer = {buffer}\n\
             reorder_cache = {}\nreplay_buffers = {replay}\n",
            cache.min(buffer)
        )
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let first = (select(FABRICS.to_vec()), select(MODES.to_vec()), any::<bool>(), 3_u8..=16);
    first.prop_flat_map(|((fabric, hosts), mode, exactly_once, bits)| {
        // Cumulative answers do not name the copy that they answer: numbers must not come around while one is in flight.
        let is_cumulative = matches!(mode, "go-back-n" | "selective" | "selective-ordered");
        let bits = if is_cumulative { 16 } else { bits };
        let exactly_once = exactly_once && !is_cumulative && mode != "unordered";
        let traffic = (1_u32..24, 1_u32..5, 1_u16..4, 0_u64..1000);
        (source(bits), network(), traffic).prop_map(move |(source, network, traffic)| {
            let (packets, messages, open, seed) = traffic;
            let text = format!(
                "seed = {seed}\n[topology]\n{fabric}\n[links.all]\nrate = \"64 Gb/s\"\nlatency = \"50 ns\"\n\
                 buffer = \"512 B\"\n[switch]\nrouter_delay = \"10 ns\"\nflow_control_unit = \"8 B\"\n{}\
                 [host]\nmtu = \"{MTU} B\"\nopen_messages = {open}\n[transport]\nmode = \"{mode}\"\n\
                 exactly_once = {exactly_once}\n{source}{network}[[traffic]]\npattern = \"uniform\"\n\
                 injection = \"saturating\"\nmessage = \"{} B\"\nmessages = {messages}\n[run]\nduration = \"1 s\"\n",
                if fabric.starts_with("fat") { "[routing]\nalgorithm = \"up-down-adaptive\"\n" } else { "" },
                u64::from(packets) * MTU
            );
            Case { mode, exactly_once, packets, messages, hosts, text }
        })
    })
}

struct Outcome {
    totals: Totals,
    watcher: Watcher,
    hosts: Vec<HostTransport>,
    is_drained: bool,
}

fn run(case: &Case, partitions: &str) -> Outcome {
    let overrides = [("run.partitions".to_owned(), partitions.to_owned())];
    let experiment = fabricsim_spec::read(&case.text, "t.toml", &overrides)
        .unwrap_or_else(|e| panic!("{e}\n{}", case.text));
    let prepared = Prepared::new(experiment, Path::new("."), "t.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut engine: Engine<Watcher> = prepared.engine(Watcher::default);
    engine.advance(Time::ms(900), &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let mut hosts: Vec<_> = engine.transports().collect();
    hosts.sort_by_key(|host| host.host);
    let (totals, is_drained) = (engine.totals(), engine.sources_drained());
    let mut watcher = Watcher::default();
    engine.finish().into_iter().for_each(|other| watcher.merge(other));
    Outcome { totals, watcher, hosts, is_drained }
}

/// True if each operation is the next one, or, without exactly-once delivery, the one before once more.
fn is_in_order(numbers: &[u32], repeats: bool) -> bool {
    let mut next = 0;
    numbers.iter().all(|&number| {
        let is_next = number == next;
        let is_repetition = repeats && number + 1 == next;
        next = next.max(number + 1);
        is_next || is_repetition
    })
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let Outcome { totals, watcher, hosts, is_drained } = run(case, "1");
    let sum = |value: fn(&HostTransport) -> u64| hosts.iter().map(value).sum::<u64>();
    let messages = (case.hosts * case.messages) as usize;
    prop_assert!(is_drained, "all is acknowledged, all connections are closed");
    prop_assert_eq!(totals.in_flight, 0);
    prop_assert!(totals.is_balanced(), "{:?}", totals);
    prop_assert_eq!(totals.lost.total(), sum(|host| host.lost) + sum(|host| host.late));
    prop_assert_eq!(totals.lost.total(), watcher.lost);
    prop_assert_eq!((totals.injected, totals.delivered), (watcher.sent, watcher.received));
    prop_assert_eq!(sum(|host| host.unfinished), 0);
    prop_assert_eq!(watcher.completed.len(), messages);
    let whole = (u64::from(case.packets) * MTU, case.packets);
    for (message, delivered) in &watcher.delivered {
        prop_assert_eq!(*delivered, whole, "{:?}", message);
    }
    prop_assert_eq!(watcher.delivered.len(), messages);
    let in_order = matches!(case.mode, "source-ordered" | "ordered" | "go-back-n" | "selective-ordered");
    let is_cumulative = matches!(case.mode, "go-back-n" | "selective" | "selective-ordered");
    for (message, numbers) in &watcher.forwarded {
        let once = is_cumulative || case.exactly_once && in_order;
        if in_order {
            prop_assert!(is_in_order(numbers, !once), "{:?}: {:?}", message, numbers);
        }
        if once {
            prop_assert_eq!(numbers.len(), case.packets as usize, "{:?}: {:?}", message, numbers);
        }
        if case.mode.ends_with("synchronized") {
            let last = case.packets - 1;
            let first = numbers.iter().position(|&number| number == last).unwrap_or(0);
            let data: std::collections::BTreeSet<u32> = numbers[..first].iter().copied().collect();
            prop_assert_eq!(data.len(), last as usize, "{:?}: {:?}", message, numbers);
        }
    }
    for partitions in ["2", "3"] {
        let other = run(case, partitions);
        prop_assert_eq!((other.totals, &other.watcher), (totals, &watcher), "{} partitions", partitions);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_ends_and_all_arrives_once(case in cases()) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "minutes: make check-protocols"]
    fn very_many_transfers_end_and_all_arrives_once(case in cases()) {
        check(&case)?;
    }
}
