//! The configurations that are checked, bounded for every test run and as a whole.

use std::io::Write;

use stateright::{Checker, Model};

use super::model::{Configuration, Step};
use super::plan::Planned;
use super::windows;
use crate::explore::{Verdict, explore};
use crate::ordering::{Close, Mode, OnNoConnection, Recovery, Resend, StartOffset, TimedOut};

const ORDERED: Planned = Planned::new(Mode::Ordered, false, 2);
const ONCE: Planned = Planned::new(Mode::Ordered, true, 2);

fn of(packets: u8, stream: Planned) -> Planned {
    Planned { packets, ..stream }
}

/// A window that is wider than the cap on outstanding packets: acknowledged packets of which copies are left stay in it.
fn wide(stream: Planned, outstanding: u16) -> Configuration {
    let configuration =
        Configuration::new("packets outstanding are fewer than the window holds", &[of(3, stream)]);
    Configuration { lazy: true, ..configuration }.source(|source| source.outstanding = outstanding)
}

/// Small ones, in which most defects show.
pub(super) fn small() -> Vec<Configuration> {
    vec![
        Configuration::new("one stream, three packets", &[of(3, ORDERED)]),
        Configuration::new("one stream, a loss, an early time-out", &[ORDERED]).with(1, 1),
        Configuration::new("exactly once, a loss, an early time-out", &[ONCE]).with(1, 1),
        Configuration::new("two streams, one connection at the target", &[ORDERED, ORDERED])
            .target(|target| target.connections = 1),
        Configuration::new("two streams, one identifier", &[ORDERED, ORDERED])
            .source(|source| source.connections = 1),
        Configuration::new(
            "slow mode, losses and early time-outs",
            &[of(2, Planned::new(Mode::SourceOrdered, false, 2))],
        )
        .with(2, 2),
        Configuration::new(
            "synchronized, a loss, an early time-out",
            &[Planned::new(Mode::Synchronized, true, 3)],
        )
        .with(1, 1),
        Configuration::new(
            "flush, a loss, an early time-out",
            &[Planned::new(Mode::SourceSynchronized, true, 3)],
        )
        .with(1, 1),
        Configuration::new("go-back-N, a loss, an early time-out", &[Planned::new(Mode::GoBackN, false, 2)])
            .with(1, 1),
        Configuration::new(
            "selective, a loss, an early time-out",
            &[Planned::new(Mode::Selective, false, 2)],
        )
        .with(1, 1),
        Configuration::new(
            "unordered, a loss, an early time-out",
            &[Planned::new(Mode::Unordered, false, 2)],
        )
        .with(1, 1),
        Configuration::new("only the oldest again, a loss, an early time-out", &[of(3, ORDERED)])
            .source(|source| source.timed_out = TimedOut::Oldest)
            .with(1, 1),
        wide(ORDERED, 1).with(1, 1),
    ]
}

/// Streams of low rate, which go in slow mode until some packets wait.
pub(super) fn low_rate() -> Vec<Configuration> {
    let lazy = |configuration: Configuration| Configuration { lazy: true, ..configuration };
    vec![
        lazy(Configuration::new("packets come one by one, fast from two on", &[of(3, ORDERED)]).with(1, 1))
            .source(|source| source.fast_from = 2),
        Configuration::new("fast from three on, one connection", &[of(4, ORDERED), of(3, ORDERED)])
            .source(|source| source.fast_from = 3)
            .target(|target| target.connections = 1),
    ]
}

/// Somewhat larger ones: seconds, together.
pub(super) fn large() -> Vec<Configuration> {
    [scarce(), rules(), beside_others()].concat()
}

/// Losses, and buffers and connections that are scarce.
fn scarce() -> Vec<Configuration> {
    vec![
        Configuration::new("two streams, two connections", &[of(3, ORDERED), ORDERED]),
        Configuration::new("two streams, a loss", &[ORDERED, ORDERED]).with(1, 0),
        Configuration::new("two streams exactly once, a loss", &[ONCE, ONCE]).with(1, 0),
        Configuration::new("two streams exactly once, one replay buffer", &[of(3, ONCE), ONCE])
            .target(|target| target.replay = 1),
        Configuration::new("two sources, one connection, a loss", &[ORDERED, ORDERED.from(1)])
            .target(|target| target.connections = 1)
            .with(1, 0),
        Configuration::new("two sources exactly once, one connection", &[ONCE, ONCE.from(1)])
            .target(|target| target.connections = 1)
            .with(1, 0),
        Configuration::new("two sources, reorder buffer of one", &[of(3, ORDERED), ORDERED.from(1)])
            .target(|target| (target.reorder_capacity, target.reorder_cache) = (1, 0)),
        Configuration::new("four packets, reorder buffer of one, on progress", &[of(4, ORDERED)])
            .target(|target| (target.reorder_capacity, target.reorder_cache) = (1, 0))
            .source(|source| source.resend = Resend::Progress),
        Configuration::new("three packets, losses and early time-outs", &[of(3, ORDERED)]).with(2, 1),
        Configuration::new("three packets exactly once, losses and early time-outs", &[of(3, ONCE)])
            .with(2, 1),
        Configuration::new("two streams exactly once, two connections, buffers of one", &[ONCE, ONCE])
            .target(|target| (target.reorder_capacity, target.reorder_cache, target.replay) = (1, 0, 1))
            .with(1, 0),
        wide(ORDERED, 2).with(1, 1),
        wide(ONCE, 1).with(1, 1),
        wide(Planned::new(Mode::Synchronized, true, 3), 2).with(1, 1),
    ]
}

/// Rules of sources and targets, packets that come one by one, and slow memory.
fn rules() -> Vec<Configuration> {
    let lazy = |configuration: Configuration| Configuration { lazy: true, ..configuration };
    let slow_memory = |configuration: Configuration| Configuration { slow_memory: true, ..configuration };
    vec![
        Configuration::new("only the oldest again, exactly once, a loss", &[of(3, ONCE), ORDERED])
            .source(|source| source.timed_out = TimedOut::Oldest)
            .with(1, 0),
        Configuration::new("offsets always, exactly once", &[of(3, ONCE)])
            .source(|source| source.start_offset = StartOffset::Always)
            .with(1, 1),
        Configuration::new("offsets until the first acknowledgement, one connection", &[ORDERED, ORDERED])
            .source(|source| source.start_offset = StartOffset::UntilFirstAck)
            .target(|target| target.connections = 1),
        Configuration::new("halt and burst, one connection", &[of(3, ORDERED), ORDERED])
            .source(|source| {
                (source.no_connection, source.recovery) = (OnNoConnection::Halt, Recovery::Burst);
            })
            .target(|target| target.connections = 1),
        Configuration::new("not speculative, one connection", &[of(3, ORDERED), ORDERED])
            .source(|source| source.speculative = false)
            .target(|target| target.connections = 1),
        lazy(Configuration::new("packets come one by one", &[of(3, ORDERED)]).with(1, 1)),
        lazy(Configuration::new("packets come one by one, one identifier", &[ORDERED, ORDERED]))
            .source(|source| source.connections = 1),
        lazy(Configuration::new("packets come one by one, closed at the end", &[of(3, ORDERED)]).with(1, 1))
            .source(|source| source.close = Close::End),
        slow_memory(Configuration::new("slow memory, exactly once", &[of(3, ONCE)]).with(1, 1)),
        slow_memory(
            Configuration::new("slow memory, synchronized", &[Planned::new(Mode::Synchronized, true, 3)])
                .with(1, 1),
        ),
    ]
}

/// Other modes, alone or beside each other.
fn beside_others() -> Vec<Configuration> {
    vec![
        Configuration::new(
            "synchronized beside ordered, one connection",
            &[Planned::new(Mode::Synchronized, true, 3), ORDERED],
        )
        .target(|target| target.connections = 1),
        Configuration::new(
            "synchronized beside synchronized, reorder buffer of one",
            &[Planned::new(Mode::Synchronized, true, 3), Planned::new(Mode::Synchronized, true, 2)],
        )
        .target(|target| (target.reorder_capacity, target.reorder_cache) = (1, 0)),
        Configuration::new(
            "selective in order, a loss, an early time-out",
            &[Planned::new(Mode::SelectiveOrdered, false, 3)],
        )
        .with(1, 1),
        Configuration::new(
            "two go-back-N streams, one connection",
            &[Planned::new(Mode::GoBackN, false, 2), Planned::new(Mode::GoBackN, false, 2)],
        )
        .target(|target| target.connections = 1),
    ]
}

/// Configurations that `make check-protocols` visits besides: hundreds of thousands of states and more.
fn huge() -> Vec<Configuration> {
    vec![
        Configuration::new("two streams, a loss and an early time-out", &[ORDERED, ORDERED]).with(1, 1),
        Configuration::new("two streams exactly once, a loss and an early time-out", &[ONCE, ONCE])
            .with(1, 1),
        Configuration::new(
            "two sources, one connection, a loss and an early time-out",
            &[ORDERED, ORDERED.from(1)],
        )
        .target(|target| target.connections = 1)
        .with(1, 1),
        Configuration::new(
            "two sources exactly once, one connection, one replay buffer, a loss and an early time-out",
            &[ONCE, ONCE.from(1)],
        )
        .target(|target| (target.connections, target.replay) = (1, 1))
        .with(1, 1),
        Configuration::new(
            "two streams exactly once, two connections, buffers of one, a loss and an early time-out",
            &[ONCE, ONCE],
        )
        .target(|target| (target.reorder_capacity, target.reorder_cache, target.replay) = (1, 0, 1))
        .with(1, 1),
        wide(ONCE, 2).with(2, 2),
        Configuration::new(
            "only the oldest again, one connection, a loss and an early time-out",
            &[of(3, ONCE), ORDERED.from(1)],
        )
        .source(|source| source.timed_out = TimedOut::Oldest)
        .target(|target| target.connections = 1)
        .with(1, 1),
        Configuration::new("three sources, two connections", &[ORDERED, ORDERED.from(1), ONCE.from(2)]),
        Configuration::new(
            "three sources, one connection, a loss",
            &[ORDERED, ORDERED.from(1), of(1, ONCE).from(2)],
        )
        .target(|target| target.connections = 1)
        .with(1, 0),
    ]
}

/// The same for other kinds of transfer and other options, and more losses.
fn huge_of_other_kinds() -> Vec<Configuration> {
    let lazy = |configuration: Configuration| Configuration { lazy: true, ..configuration };
    let slow_memory = |configuration: Configuration| Configuration { slow_memory: true, ..configuration };
    let synchronized = Planned::new(Mode::Synchronized, true, 3);
    vec![
        Configuration::new("four packets exactly once, three losses, two early time-outs", &[of(4, ONCE)])
            .with(3, 2),
        Configuration::new("four packets, three losses, two early time-outs", &[of(4, ORDERED)]).with(3, 2),
        lazy(Configuration::new("two streams one by one, a loss", &[ORDERED, ORDERED]).with(1, 0)),
        lazy(
            Configuration::new("one by one exactly once, two losses, an early time-out", &[of(3, ONCE)])
                .with(2, 1),
        )
        .source(|source| source.connections = 1),
        slow_memory(
            Configuration::new("slow memory, two streams exactly once, a loss", &[ONCE, ONCE]).with(1, 0),
        ),
        slow_memory(Configuration::new(
            "slow memory, synchronized beside ordered, a loss",
            &[synchronized, ORDERED],
        ))
        .with(1, 0),
        Configuration::new("synchronized, two losses, two early time-outs", &[of(4, synchronized)])
            .with(2, 2),
        Configuration::new(
            "flush beside exactly once, a loss",
            &[Planned::new(Mode::SourceSynchronized, true, 3), ONCE.from(1)],
        )
        .target(|target| target.connections = 1)
        .with(1, 0),
        Configuration::new(
            "go-back-N, two losses, an early time-out",
            &[Planned::new(Mode::GoBackN, false, 3)],
        )
        .with(2, 1),
        Configuration::new(
            "selective in order, two losses, two early time-outs",
            &[Planned::new(Mode::SelectiveOrdered, false, 3)],
        )
        .with(2, 2),
        Configuration::new("halt and burst, one connection, a loss", &[of(3, ORDERED), ORDERED.from(1)])
            .source(|source| {
                (source.no_connection, source.recovery) = (OnNoConnection::Halt, Recovery::Burst);
                source.resend = Resend::Progress;
            })
            .target(|target| target.connections = 1)
            .with(1, 0),
        Configuration::new("offsets always, one connection, a loss", &[of(3, ONCE), ORDERED.from(1)])
            .source(|source| source.start_offset = StartOffset::Always)
            .target(|target| target.connections = 1)
            .with(1, 0),
    ]
}

/// Explores all states, of which there may be `limit`, prints how many there are, and returns that.
fn check(configuration: &Configuration, limit: usize) -> usize {
    match explore(configuration, limit) {
        Verdict::Good(states, transitions) => {
            println!("{states:>9} states {transitions:>10} transitions  {}", configuration.name);
            states
        }
        Verdict::Broken(fault, steps) => {
            narrate(configuration, &steps);
            panic!("{}: {fault:?} does not hold", configuration.name)
        }
        Verdict::Endless(steps) => {
            narrate(configuration, &steps);
            panic!("{}: there is no end after these {} steps", configuration.name, steps.len())
        }
        Verdict::TooLarge(states) => panic!("{}: more than {states} states", configuration.name),
    }
}

/// Prints a schedule, step by step with what is in the network.
fn narrate(configuration: &Configuration, steps: &[Step]) {
    let Some(mut state) = configuration.init_states().pop() else { return };
    for &step in steps {
        println!("{step:?}");
        if let Some(next) = configuration.next_state(&state, step) {
            state = next;
        }
        for packet in &state.world.network {
            let header = packet.header;
            println!(
                "      {} -> {}: {:?} {:?} cid {} seq {} flags {:#x} {:?}",
                packet.from,
                packet.to,
                header.transfer,
                header.kind,
                header.cid.0,
                header.seq.0,
                header.flags.0,
                header.reason
            );
        }
    }
    println!("{:#?}", state.world.records);
}

/// The same with `stateright`, whose search is independent of ours.
fn check_with_stateright(configuration: Configuration, limit: usize) -> usize {
    let name = configuration.name.clone();
    let checker = configuration.checker().target_state_count(limit).spawn_bfs().join();
    for (property, path) in checker.discoveries() {
        assert!(property.starts_with("it ends"), "{name}: \"{property}\" does not hold: {path:?}");
    }
    checker.unique_state_count()
}

/// Checks all of them and says how many states they have, also where tests are run quietly.
fn check_all(configurations: &[Configuration], limit: usize) {
    let mut all = 0;
    for configuration in configurations {
        let states = check(configuration, limit);
        // Its search is the slower one.
        if states <= 2_000_000 {
            assert_eq!(check_with_stateright(configuration.clone(), usize::MAX), states);
        }
        all += states;
    }
    let count = configurations.len();
    let told = writeln!(
        std::io::stderr(),
        "ordering protocols: all {all} states of {count} configurations are good"
    );
    told.expect("there is a place for messages");
}

#[test]
fn small_and_large_configurations() {
    check_all(&[small(), low_rate(), large(), windows::small(), windows::duplicated()].concat(), 1 << 17);
}

#[test]
#[ignore = "minutes: make check-protocols"]
fn all_configurations() {
    let all = [
        small(),
        low_rate(),
        large(),
        huge(),
        huge_of_other_kinds(),
        windows::small(),
        windows::large(),
        windows::duplicated(),
    ];
    check_all(&all.concat(), 40_000_000);
}
