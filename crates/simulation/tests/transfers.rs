//! Transfers over a network that loses packets: each ends, and no packet is left unaccounted for.

use crate::common::run;
use fabricsim_simulation::{LostPackets, Outcome, Status};

const SWITCH: &str = r#"
[topology.single-switch]
hosts = 2
[transport]
mode = "ordered"
[[traffic]]
pattern = { to = "H1" }
sources = ["H0"]
injection = "saturating"
message = "64 KiB"
messages = 1
[run]
duration = "1 s"
"#;

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

/// The defect of a transfer, if it has one.
fn defect(outcome: &Outcome) -> Option<String> {
    let counts = outcome.summary.transport.as_ref()?;
    let is_whole = outcome.status == Status::Ok && counts.messages == 1 && outcome.totals.in_flight == 0;
    let is_balanced = outcome.invariants.packets_ok && outcome.invariants.credits_ok;
    (!is_whole || !is_balanced || !outcome.defect.is_empty())
        .then(|| format!("{} messages, {:?}, {}", counts.messages, outcome.invariants, outcome.defect))
}

/// A window of few packets fills with acknowledged ones whose copies may be in the network: timers alone free it.
#[test]
fn every_transfer_ends_after_losses() {
    let mut defects = Vec::new();
    for mode in MODES {
        for (outstanding, bits) in
            [("1", "16"), ("2", "16"), ("3", "16"), ("4", "16"), ("1", "3"), ("4", "3"), ("8", "4")]
        {
            for loss in ["0.01", "0.05", "0.2"] {
                for seed in ["1", "2", "3", "4"] {
                    let overrides = [
                        ("transport.mode", mode),
                        ("transport.outstanding", outstanding),
                        ("transport.sequence_bits", bits),
                        ("transport.loss", loss),
                        ("seed", seed),
                    ];
                    if let Some(defect) = defect(&run(SWITCH, &overrides)) {
                        defects.push(format!("{overrides:?}: {defect}"));
                    }
                }
            }
        }
    }
    assert!(defects.is_empty(), "{} transfers:\n{}", defects.len(), defects.join("\n"));
}

#[test]
fn losses_are_counted_by_cause() {
    let run = |loss| run(SWITCH, &[("transport.loss", loss), ("transport.timeout", "20 us")]);
    let none = run("0").invariants;
    assert_eq!((none.dropped, none.lost, none.packets_ok), (0, LostPackets::default(), true));
    let outcome = run("0.2");
    let found = &outcome.invariants;
    let counts = outcome.summary.transport.as_ref().map_or(0, |transport| transport.counts.lost);
    assert!(found.packets_ok && counts > 0, "{found:?}");
    assert_eq!((found.lost.transport_loss, found.lost.lifetime, found.dropped), (counts, 0, counts));
    assert_eq!(found.injected, found.delivered + found.in_flight + found.dropped);
    // Requests and answers are lost alike: one packet in five of each.
    let transport = outcome.tables.iter().find(|table| table.name == "transport").expect("there is one");
    let lost = transport.columns.iter().find(|column| column.name == "lost").expect("there is one");
    let fabricsim_model::Data::Whole(lost) = &lost.data else { panic!("{lost:?}") };
    assert!(lost.iter().all(|&lost| lost > 0), "requests are lost at H1, answers at H0: {lost:?}");
}

/// One way takes longer than the lifetime: all packets are lost, and counted.
#[test]
fn packets_beyond_their_lifetime_are_counted() {
    let overrides =
        [("transport.lifetime", "100 ns"), ("run.duration", "10 ms"), ("links.all.latency", "1 us")];
    let outcome = run(SWITCH, &overrides);
    let found = &outcome.invariants;
    assert!(found.packets_ok && found.lost.lifetime > 0, "{found:?}");
    assert_eq!((found.delivered, found.dropped), (0, found.lost.lifetime));
    let json = outcome.json("t", 1);
    let lost = &json["invariants"]["lost"];
    assert_eq!((lost["lifetime"].as_u64(), lost["transport_loss"].as_u64()), (Some(found.dropped), Some(0)));
    assert_eq!(json["invariants"]["dropped"].as_u64(), Some(found.dropped));
}
