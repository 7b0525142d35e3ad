//! The configurations that are checked, bounded for every test run and as a whole.

use std::io::Write;

use stateright::{Checker, Model};

use super::model::{Configuration, FAILS, Step};
use super::plan::{ATOMIC, Planned, READ, READ_2, READ_3, SEND, SEND_2, WRITE, WRITE_2};
use crate::explore::{Verdict, explore};

fn of(name: &str, plan: &[Planned]) -> Configuration {
    Configuration::new(name, plan)
}

/// Small ones, in which most defects show.
pub(super) fn small() -> Vec<Configuration> {
    vec![
        of("SENDs of two packets and one, a loss, an early timer", &[SEND_2, SEND]).with(1, 1, 0),
        of("SENDs, a copy, packets overtake", &[SEND_2, SEND]).with(0, 0, 1).reordered(),
        of("WRITE, READ, WRITE behind a fence, a loss", &[WRITE, READ, WRITE.fenced()]).with(1, 0, 0),
        of("READ of two packets, WRITE, a loss, an early timer", &[READ_2, WRITE]).with(1, 1, 0),
        of("atomic operations, a loss, an early timer", &[ATOMIC, ATOMIC]).with(1, 1, 0),
        of("atomic operations, a loss, a copy, packets overtake", &[ATOMIC, ATOMIC])
            .with(1, 0, 1)
            .reordered(),
        of("three READs, two at a time", &[READ, READ, READ]),
        of("WRITE with immediate, READ, atomic, a loss", &[WRITE_2.with_immediate(), READ, ATOMIC])
            .with(1, 0, 0),
        of("the receiver is not ready, a loss", &[SEND, SEND_2]).receives(0, 2).with(1, 0, 0),
        of("the receiver may be not ready once", &[SEND, WRITE]).receives(0, 1).rnr_retries(1),
        of("SENDs with credits", &[SEND, SEND, SEND]).credits().receives(1, 2),
        of("SENDs of two packets with credits, a loss", &[SEND_2, SEND])
            .credits()
            .receives(0, 2)
            .with(1, 0, 0),
        of("WRITE with a wrong key between others", &[SEND, WRITE.bad(), SEND]),
        of("READ with a wrong key, a loss", &[WRITE, READ.bad(), SEND]).may_exceed().with(1, 0, 0),
        of("SEND that is too long", &[WRITE, SEND_2.bad(), SEND]),
        of("no retry, a loss", &[SEND, READ, SEND]).retries(0).with(1, 0, 0),
        of("one retry, two losses", &[SEND, ATOMIC]).retries(1).with(2, 0, 0),
        of("unsignaled requests, a loss", &[WRITE.unsignaled(), SEND.unsignaled(), SEND]).with(1, 0, 0),
        of("SENDs, packets overtake and are held, a loss", &[SEND_2, SEND]).holds(3).with(1, 0, 0),
        of("SENDs, packets overtake and are held, a copy, an early timer", &[SEND_2, SEND])
            .holds(2)
            .with(0, 1, 1),
        of("the receiver is not ready, packets overtake and are held", &[SEND, SEND_2])
            .holds(3)
            .receives(0, 2),
        of("the path fails, and both ends go on over the second one", &[SEND, READ, WRITE])
            .requester(|options| options.retries = 1)
            .migrates(),
        of("the path fails, a loss", &[SEND, SEND_2])
            .requester(|options| options.retries = 1)
            .migrates()
            .with(1, 0, 0),
        of("the path fails, a copy, packets overtake", &[SEND, SEND])
            .requester(|options| options.retries = 3)
            .migrates()
            .with(0, 0, 1)
            .reordered(),
        of("the path fails, and one end has a second one", &[SEND, SEND]).path_fails(1).retries(1),
        of("the path fails, and there is no second one", &[SEND, SEND]).path_fails(0).retries(1),
        of("requests for acknowledgements in the middle, a loss", &[WRITE_2, SEND])
            .requester(|options| options.ack_every = 1)
            .with(1, 0, 0),
    ]
}

/// Somewhat larger ones: seconds, together.
fn large() -> Vec<Configuration> {
    vec![
        of("SEND, WRITE, READ, a loss, an early timer", &[SEND, WRITE, READ]).with(1, 1, 0),
        of("SEND, WRITE, READ, a loss, packets overtake", &[SEND, WRITE, READ]).with(1, 0, 0).reordered(),
        of("WRITE, READ, atomic, two losses", &[WRITE, READ, ATOMIC]).with(2, 0, 0),
        of("three atomic operations, two at a time, a loss, an early timer", &[ATOMIC, ATOMIC, ATOMIC])
            .with(1, 1, 0),
        of("SEND, WRITE, READ, packets overtake and are held, a loss", &[SEND, WRITE, READ])
            .holds(4)
            .with(1, 0, 0),
        of("WRITE, READ of two packets, atomic, packets overtake and are held", &[WRITE, READ_2, ATOMIC])
            .holds(4),
        of("READ of three packets, a loss, an early timer", &[READ_3]).with(1, 1, 0).reordered(),
        of("an end is brought into the error state, a loss", &[SEND_2, READ, SEND]).flushed().with(1, 0, 0),
        of("an end is brought into the error state, one by one", &[WRITE, ATOMIC, SEND]).flushed().lazy(),
        of("one READ at a time, a loss, an early timer", &[READ_2, ATOMIC]).reads(1).with(1, 1, 0),
        of("the receiver is not ready, a loss, an early timer", &[SEND, WRITE.with_immediate()])
            .receives(0, 2)
            .with(1, 1, 0),
        of("one by one, a loss, an early timer", &[SEND, READ, WRITE]).lazy().with(1, 1, 0),
        of("credits, a loss, an early timer", &[SEND, WRITE, SEND]).credits().receives(0, 2).with(1, 1, 0),
        of("WRITE with a wrong key, a loss, an early timer", &[SEND, WRITE.bad(), READ])
            .may_exceed()
            .with(1, 1, 0),
    ]
}

/// Configurations that `make check-protocols` visits besides.
fn huge() -> Vec<Configuration> {
    vec![
        of("READ of three packets, a loss, an early timer, a copy, packets overtake", &[READ_3])
            .with(1, 1, 1)
            .capacity(4)
            .reordered(),
        of("SENDs of two packets, two losses, an early timer", &[SEND_2, SEND_2]).with(2, 1, 0),
        of("SENDs of two packets, a loss, a copy, an early timer, packets overtake", &[SEND_2, SEND_2])
            .with(1, 1, 1)
            .capacity(4)
            .reordered(),
        of("WRITE, READ, WRITE of two packets, two losses", &[WRITE_2, READ_2, WRITE_2]).with(2, 0, 0),
        of("WRITE, READ, WRITE, a loss, an early timer, packets overtake", &[WRITE, READ, WRITE])
            .with(1, 1, 0)
            .capacity(3)
            .reordered(),
        of("READ, atomic, SEND, two losses, an early timer", &[READ_2, ATOMIC, SEND]).with(2, 1, 0),
        of("three atomic operations, a loss, a copy, packets overtake", &[ATOMIC, ATOMIC, ATOMIC])
            .with(1, 0, 1)
            .reordered(),
        of("the receiver is not ready, two losses, an early timer", &[SEND_2, SEND, WRITE])
            .receives(0, 2)
            .with(2, 1, 0),
        of("credits, two losses, an early timer", &[SEND, SEND_2, SEND])
            .credits()
            .receives(0, 3)
            .with(2, 1, 0),
        of("one by one, two losses, an early timer", &[SEND_2, READ, ATOMIC]).lazy().with(2, 1, 0),
        of("two retries, three losses", &[SEND, READ, WRITE]).retries(2).with(3, 0, 0),
        of("SEND that is too long, two losses, an early timer", &[READ, SEND_2.bad(), ATOMIC])
            .may_exceed()
            .with(2, 1, 0),
        of("unsignaled, fence, two losses", &[WRITE_2.unsignaled(), READ, SEND.fenced()]).with(2, 0, 0),
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
        let world = &state.world;
        for (name, network) in [("request", &world.requests), ("response", &world.responses)] {
            for packet in network {
                let headers = packet.headers();
                println!(
                    "      {name} {} psn {} {:?}",
                    headers.bth.opcode, headers.bth.psn, headers.operands
                );
            }
        }
    }
    println!("{:#?} {:#?}", state.world.local, state.world.far);
}

/// The same with `stateright`, whose search is independent of ours.
fn check_with_stateright(configuration: Configuration) -> usize {
    let (name, fails) = (configuration.name.clone(), configuration.fails);
    let checker = configuration.checker().spawn_bfs().join();
    for (property, path) in checker.discoveries() {
        assert!(property.starts_with("it "), "{name}: \"{property}\" does not hold: {path:?}");
    }
    assert_eq!(checker.discovery(FAILS).is_some(), fails.is_some(), "{name}");
    checker.unique_state_count()
}

/// Checks all of them and says how many states they have, also where tests are run quietly.
fn check_all(configurations: &[Configuration], limit: usize) {
    let mut all = 0;
    for configuration in configurations {
        let states = check(configuration, limit);
        // Its search is the slower one.
        if states <= 1_000_000 {
            assert_eq!(check_with_stateright(configuration.clone()), states);
        }
        all += states;
    }
    let count = configurations.len();
    let told = writeln!(
        std::io::stderr(),
        "reliable connection: all {all} states of {count} configurations are good"
    );
    told.expect("there is a place for messages");
}

#[test]
fn small_and_large_configurations() {
    check_all(&[small(), large()].concat(), 1 << 17);
}

#[test]
#[ignore = "minutes: make check-protocols"]
fn all_configurations() {
    check_all(&[small(), large(), huge()].concat(), 20_000_000);
}
