use fabricsim_units::Time;

use crate::testing::{Log, log, prepare};

/// Three switches in a row, three hosts at each; a byte takes a nanosecond.
const ROW: &str = r"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 3
";

const DRAGONFLY: &str = r"
[topology.dragonfly]
p = 2
a = 2
h = 1
";

const REST: &str = r#"
[links.all]
rate = "8 Gb/s"
latency = "20 ns"
buffer = "512 B"
[switch]
virtual_lanes = 2
flow_control_unit = "16 B"
queueing = "voq"
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
injection = "poisson"
message = "256 B"
load = 0.8
[run]
duration = "1 s"
"#;

/// The code for fabrics with few features gives what that for all features gives: every packet, its lanes and times.
#[test]
fn code_for_few_features_is_chosen_where_it_is_enough() {
    let adaptive: &[(&str, &str)] = &[("routing.algorithm", "ugal-l"), ("switch.virtual_lanes", "6")];
    for (topology, common) in
        [(ROW, &[][..]), (DRAGONFLY, &[("switch.virtual_lanes", "6")]), (DRAGONFLY, adaptive)]
    {
        for option in [
            &[][..],
            &[("switch.switching", "store-and-forward")],
            &[("switch.credit_return", "packet")],
            &[("switch.queueing", "fifo")],
            &[("switch.arbiter", "oldest-first")],
            &[("links.all.packet_overhead", "8 B")],
            &[("routing.lane_selection", "most-credits")],
            &[("host.sink.rate", "4 Gb/s")],
            &[("links.all.reads", "0")],
            &[("run.partitions", "2")],
        ] {
            let overrides = [common, option].concat();
            let prepared = prepare(&format!("{topology}{REST}"), &overrides);
            let mut engine = prepared.engine(Log::default);
            engine.partitions.iter_mut().for_each(|partition| partition.has_optional_features = true);
            let all = log(engine, Time::us(12));
            let chosen = log(prepared.engine(Log::default), Time::us(12));
            assert!(all.len() > 300, "{} of {overrides:?}", all.len());
            for (number, (one, other)) in chosen.iter().zip(&all).enumerate() {
                assert_eq!(one, other, "{number} of {overrides:?}");
            }
            assert_eq!(chosen.len(), all.len(), "{overrides:?}");
        }
    }
}

/// Partitions change nothing, also where switches broadcast their loads.
#[test]
fn partitions_change_no_packet() {
    let overrides =
        [("routing.algorithm", "ugal-g"), ("routing.state_delay", "100 ns"), ("switch.virtual_lanes", "6")];
    let of = |partitions: &str| {
        let overrides = [&overrides[..], &[("run.partitions", partitions)]].concat();
        log(prepare(&format!("{DRAGONFLY}{REST}"), &overrides).engine(Log::default), Time::us(15))
    };
    let one = of("1");
    assert!(one.len() > 500, "{}", one.len());
    for partitions in ["2", "3", "5"] {
        assert!(of(partitions) == one, "{partitions} partitions");
    }
}
