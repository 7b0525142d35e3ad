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

/// A ring has routes of three links between switches, and of five without one of its links. Lanes are divided for all planned states
/// before the run; what is not planned leaves them as they are.
#[test]
fn lanes_by_hops_are_for_the_longest_route_of_all_planned_states() {
    let text = r#"
topology.ring = { switches = 6 }
[routing]
algorithm = "shortest-path"
lane_policy = "hops"
[run]
duration = "1 ms"
[faults]
plan = [{ link = "S(0)-S(1)", at = "10 us" }]
"#;
    let lanes = |changes: &[(&str, &str)]| prepare(text, changes).router.lanes_needed();
    let reroute = ("faults.reroute_after", "'5 us'");
    let eight = ("switch.virtual_lanes", "8");
    let without = Some((3, "any:0 any:2 any:4".to_owned()));
    assert_eq!(lanes(&[eight]), without, "routes stay as they are");
    assert_eq!(lanes(&[eight, reroute, ("faults.plan", "[]")]), without, "no failure");
    assert_eq!(lanes(&[eight, reroute]), Some((5, "any:0 any:1 any:2 any:3 any:4".to_owned())));
    let error = crate::testing::try_prepare(text, &[("switch.virtual_lanes", "4"), reroute]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("routing.lane_policy: \"hops\" needs 5 virtual lanes in each service class, the links of the longest route with 1 failed link (S(0)-S(1)), and there are 4"),
        "{error}"
    );
    let warm = prepare(text, &[eight, ("faults.plan", "[]")]);
    let failing = prepare(text, &[eight, reroute]).experiment;
    let error = warm.with_faults(failing, "warm.toml").unwrap_err().to_string();
    assert!(
        error.contains("has 5 links between switches, and the lanes of \"hops\" were divided among 3"),
        "{error}"
    );
}
