use super::*;
use crate::testing::prepare;

/// At one time what has ended is restored first, then fails what begins, then packets are routed anew.
#[test]
fn changes_at_one_time_have_an_order() {
    let text = r#"
[topology.mesh]
dimensions = [3, 3]
[[traffic]]
pattern = "uniform"
load = 0.1
message = "64 B"
[run]
duration = "1 ms"
[faults]
plan = [
    { link = "S(1,0)-S(1,1)", at = "20 us" },
    { link = "S(0,0)-S(1,0)", at = "10 us", until = "20 us" },
    { link = "S(0,1)-S(1,1)", at = "10 us", until = "30 us" },
]
"#;
    let prepared = prepare(text, &[]);
    let kinds: Vec<_> =
        prepared.faults.changes.iter().map(|change| (change.at, change.change.rank())).collect();
    let us = Time::us;
    assert_eq!(kinds, [(us(10), 1), (us(10), 1), (us(20), 0), (us(20), 1), (us(30), 0)]);
}

/// A link works until the time at which it fails, and again from the time at which that ends.
#[test]
fn a_link_has_failed_from_its_time_to_its_end() {
    let graph = prepare("topology.mesh = { dimensions = [6] }\n[run]\nduration = '1 ms'", &[]).graph;
    let (from, to) = (Time::us(10), Time::us(20));
    let failures = [Failure { what: Failing::Links(vec![LinkId(3)]), at: from, until: to }];
    let at = |time: Time| failed_at(&graph, &failures, &[LinkId(1)], time);
    assert_eq!(at(Time(from.0 - 1)), [LinkId(1)]);
    assert_eq!(at(from), [LinkId(1), LinkId(3)]);
    assert_eq!(at(Time(to.0 - 1)), [LinkId(1), LinkId(3)]);
    assert_eq!(at(to), [LinkId(1)]);
}
