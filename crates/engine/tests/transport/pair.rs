//! Two hosts at a switch: times by hand, and warnings.

use fabricsim_units::Time;

use super::{prepared, run};

pub(super) const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "4 KiB"
[switch]
router_delay = "10 ns"
flow_control_unit = "8 B"
[host]
mtu = "100 B"
[transport]
answer = "10 B"
[run]
duration = "1 s"
"#;

pub(super) const ONE_MESSAGE: &str =
    "pattern = { to = 'H1' }\nsources = ['H0']\nmessage = '1000 B'\nmessages = 1\ninjection = 'saturating'";

/// A packet of n bytes takes 100 + 10 + 100 + n ns; so does an answer.
#[test]
fn times_are_as_by_hand() {
    let complete = |mode: &str, memory: &str| {
        let overrides = [("transport.mode", mode), ("transport.memory_delay", memory)];
        let result = run(PAIR, ONE_MESSAGE, &overrides);
        *result.watchers[0].completed.values().next().expect("it is complete")
    };
    // Ten packets back to back: the last begins at 900 ns.
    for mode in ["unordered", "ordered", "synchronized", "selective", "selective-ordered", "go-back-n"] {
        assert_eq!(complete(mode, "0 ns"), Time::ns(900 + 310), "{mode}");
    }
    assert_eq!(complete("ordered", "50 ns"), Time::ns(900 + 310 + 50));
    // One per round trip of 310 + 220 ns.
    assert_eq!(complete("source-ordered", "0 ns"), Time::ns(9 * 530 + 310));
    assert_eq!(complete("source-ordered", "50 ns"), Time::ns(9 * 580 + 360));
    // The ninth is sent from 800 ns on and answered at 800 + 530.
    assert_eq!(complete("source-synchronized", "0 ns"), Time::ns(800 + 530 + 310));
    assert_eq!(complete("source-synchronized", "50 ns"), Time::ns(800 + 580 + 360));
}

#[test]
fn a_timeout_below_the_round_trip_is_worth_a_warning() {
    let warn = |timeout| {
        let overrides = [("transport.mode", "ordered"), ("transport.timeout", timeout)];
        fabricsim_engine::warnings(&prepared(PAIR, ONE_MESSAGE, &overrides))
    };
    // There and back 420 ns, and 100 ns for the bytes of each, an answer counted as large as a packet.
    assert_eq!(warn("620 ns"), Vec::<String>::new());
    let found = warn("619 ns");
    assert!(
        found.len() == 1 && found[0].contains("transport.timeout: 619 ns is less than the round trip"),
        "{found:?}"
    );
}

#[test]
fn sequence_numbers_that_come_around_within_a_lifetime_are_worth_a_warning() {
    // A packet of 100 B takes 100 ns, 1024 of them 102.4 us.
    let warn = |mode, bits, lifetime| {
        let overrides = [
            ("transport.mode", mode),
            ("transport.sequence_bits", bits),
            ("transport.lifetime", lifetime),
            ("transport.outstanding", "4"),
        ];
        fabricsim_engine::warnings(&prepared(PAIR, ONE_MESSAGE, &overrides))
    };
    assert_eq!(warn("selective", "10", "102400 ns"), Vec::<String>::new());
    assert_eq!(warn("ordered", "3", "1 ms"), Vec::<String>::new());
    for mode in ["go-back-n", "selective", "selective-ordered"] {
        let found = warn(mode, "10", "102401 ns");
        assert!(
            found.len() == 1 && found[0].contains("transport.sequence_bits: a host can send 1024 packets"),
            "{found:?}"
        );
    }
}

/// Messages of the mode `ordered` have connections, but not if operations are carried out exactly once.
#[test]
fn a_fast_mode_that_no_message_enters_is_worth_a_warning() {
    for (mode, exactly_once, warns) in [
        ("ordered", "false", false),
        ("ordered", "true", true),
        ("unordered", "false", true),
        ("source-ordered", "false", true),
    ] {
        let overrides = [
            ("transport.mode", mode),
            ("transport.exactly_once", exactly_once),
            ("transport.fast_from", "2"),
        ];
        let found = fabricsim_engine::warnings(&prepared(PAIR, ONE_MESSAGE, &overrides));
        let is_named = found.iter().any(|warning| warning.contains("transport.fast_from has no effect"));
        assert_eq!(is_named, warns, "{mode} {exactly_once}: {found:?}");
    }
}
