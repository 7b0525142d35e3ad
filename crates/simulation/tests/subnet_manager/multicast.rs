//! Multicast groups of a subnet that a manager programs.

use super::{LINE, RING, causes, summary};
use crate::common::{balanced, everything, run};

const GROUP: (&str, &str) = ("multicast_groups", r#"[{ name = "group", members = ["H(1).0", "H(3).0"] }]"#);
const TO_GROUP: (&str, &str) = ("traffic.0.pattern", r#"{ multicast = "group" }"#);

/// The manager sets a block of the multicast table of each switch: a request more to each of the two. Then a packet for the group is delivered to
/// its member.
#[test]
fn multicast_tables_are_set_by_requests() {
    let group = ("multicast_groups", r#"[{ name = "group", members = ["H(1).0"] }]"#);
    let start = ("traffic.0.start", "\"900 us\"");
    let up = |changes: &[(&str, &str)]| {
        let outcome = run(LINE, changes);
        balanced(&outcome);
        assert_eq!((outcome.totals.injected, outcome.totals.delivered), (100, 100), "{changes:?}");
        summary(&outcome).up_ns.unwrap()
    };
    let (with, without) = (up(&[start, group, TO_GROUP]), up(&[start]));
    // A round trip over one link, and one over two.
    let expected = (2.0 * 390.0 + 12_000.0) + (4.0 * 390.0 + 4_000.0 + 12_000.0);
    assert!((with - without - expected).abs() < 1e-6, "{with} {without} {expected}");
}

/// After a link of the tree has failed, and after it is back, the manager sets new trees; packets are lost only in between.
#[test]
fn trees_follow_the_sweeps() {
    let fault = ("faults.plan", r#"[{ link = "S(0)-S(1)", at = "1 ms", until = "2500 us" }]"#);
    let changes = [GROUP, TO_GROUP, fault, ("traffic.0.sources", "[\"H(0).0\"]"), ("traffic.0.load", "0.1")];
    let whole = run(RING, &changes);
    balanced(&whole);
    let lost = whole.invariants.lost;
    assert!(lost.link_failed > 0 && lost.link_failed < whole.totals.injected / 4, "{lost:?}");
    // Every packet is for two members; one that is lost before it is copied misses both. While switches get their tables one after the other,
    // copies may also come to one that has no port for them.
    let missing = 2 * whole.totals.injected - whole.totals.delivered;
    let all = lost.link_failed + lost.no_route;
    assert!((lost.link_failed..=2 * all).contains(&missing), "{missing} missing, {lost:?}");
    assert_eq!(causes(&whole).len(), 3, "{:?}", causes(&whole));
    for partitions in ["2", "3"] {
        let mut changes = changes.to_vec();
        changes.push(("run.partitions", partitions));
        assert_eq!(everything(&run(RING, &changes)), everything(&whole), "{partitions}");
    }
}
