//! Up a tree by the better of some ports drawn at random.

use crate::common::{drained, prepare};
use fabricsim_engine::Totals;
use fabricsim_units::Time;

const TREE: &str = r#"
[topology]
fat-tree = { arity = 4, levels = 3 }
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "128 B"
reads = 1
[switch]
queueing = "fifo"
router_delay = "2 ns"
virtual_lanes = 4
flow_control_unit = "8 B"
[routing]
algorithm = "up-down-adaptive"
[[traffic]]
pattern = "bit-complement"
load = 1.0
message = "8 B"
[run]
duration = "1 s"
"#;

fn totals(overrides: &[(&str, &str)]) -> Totals {
    let prepared = prepare(TREE, overrides);
    drained(&prepared, Time::us(1), Time::us(60))
}

#[test]
fn partitions_do_not_change_a_bit() {
    for (choices, lookahead) in [("1", "false"), ("2", "false"), ("9", "false"), ("2", "true")] {
        let options = [("routing.choices", choices), ("routing.lookahead", lookahead)];
        let of = |partitions| totals(&[&options[..], &[("run.partitions", partitions)]].concat());
        let one = of("1");
        assert!(one.delivered > 1000, "{options:?}: {one:?}");
        for partitions in ["2", "3"] {
            assert_eq!(of(partitions), one, "{options:?} in {partitions}");
        }
    }
}

/// More choices are better, with decreasing gains; one is as good as a port drawn without looking; very many are as good as all.
#[test]
fn throughput_grows_with_the_choices() {
    let delivered = |choices| totals(&[("routing.choices", choices)]).delivered as f64;
    let random = totals(&[("routing.algorithm", "up-down-random")]).delivered as f64;
    let all = totals(&[]).delivered as f64;
    let [one, two, many] = ["1", "2", "64"].map(delivered);
    assert!((one / random - 1.0).abs() < 0.03, "{one} with one choice, {random} at random");
    assert!((many / all - 1.0).abs() < 0.03, "{many} with 64 choices, {all} with all");
    assert!(one * 1.03 < two && two < all && all - two < two - one, "{one} {two} {all}");
}
