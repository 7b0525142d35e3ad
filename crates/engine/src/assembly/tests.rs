use fabricsim_model::NullObserver;
use fabricsim_units::Time;

use crate::partition::Owner;
use crate::testing::prepare;

/// Seven switches in a row, a host at each, and links between them whose latencies grow.
const ROW: &str = r#"
[topology.mesh]
dimensions = [7]
hosts_per_switch = 1
[links.all]
rate = "8 Gb/s"
latency = "5 ns"
[links.named."S(0)-S(1)"]
latency = "10 ns"
[links.named."S(1)-S(2)"]
latency = "20 ns"
[links.named."S(2)-S(3)"]
latency = "30 ns"
[links.named."S(3)-S(4)"]
latency = "40 ns"
[links.named."S(4)-S(5)"]
latency = "50 ns"
[links.named."S(5)-S(6)"]
latency = "60 ns"
[run]
duration = "1 ms"
"#;

/// Switches are cut in their order into parts of nearly equal size, hosts go with their switch; partitions reach each other by the least
/// latency between them.
#[test]
fn partitions_are_of_nearly_equal_size() {
    for (wanted, sizes, lookahead) in [
        ("1", &[7][..], Time::MAX),
        ("2", &[4, 3], Time::ns(40)),
        ("3", &[3, 2, 2], Time::ns(30)),
        ("7", &[1; 7], Time::ns(10)),
        ("9", &[1; 7], Time::ns(10)),
    ] {
        let engine = prepare(ROW, &[("run.partitions", wanted)]).engine(|| NullObserver);
        let switches: Vec<usize> =
            engine.partitions.iter().map(|partition| partition.switches.iter().count()).collect();
        let hosts: Vec<usize> = engine.partitions.iter().map(|partition| partition.adapters.len()).collect();
        assert_eq!(switches, sizes, "{wanted}");
        assert_eq!(hosts, sizes, "{wanted}");
        assert_eq!(engine.directory.reach.latency, lookahead, "{wanted}");
        // Both ends of every direction know each other.
        for (number, partition) in engine.partitions.iter().enumerate() {
            for (port, sender) in partition.context.ports.senders.iter().enumerate() {
                assert_eq!(engine.directory.sender[sender.channel as usize], (number as u16, port as u32));
            }
            let of_hosts = partition.owners.iter().filter(|owner| matches!(owner, Owner::Adapter(_)));
            assert_eq!(of_hosts.count(), partition.adapters.len());
        }
    }
}

/// A dragonfly of 17 groups with 4 switches each: half of them is 34, in the middle of a group. A cut there has local links of 40 ns.
#[test]
fn groups_of_a_dragonfly_stay_whole() {
    let text = r#"
[topology.dragonfly]
p = 1
a = 4
h = 4
[links.kind.local]
latency = "40 ns"
[links.kind.global]
latency = "500 ns"
[routing]
algorithm = "minimal"
[switch]
virtual_lanes = 3
[run]
duration = "1 us"
"#;
    let sizes = |wanted: &str| {
        let engine = prepare(text, &[("run.partitions", wanted)]).engine(|| NullObserver);
        let switches = engine.partitions.iter().map(|partition| partition.switches.iter().count());
        (switches.collect::<Vec<_>>(), engine.directory.reach.latency)
    };
    let (halves, lookahead) = sizes("2");
    assert_eq!(lookahead, Time::ns(500), "{halves:?}");
    assert!(halves == [32, 36] || halves == [36, 32], "{halves:?}");
    // Sixteen parts have four or five switches: cuts are moved by less than a switch.
    assert_eq!(sizes("16").1, Time::ns(40));
}

/// There are as many partitions as threads if windows hold enough events: of 8 Tb/s links they do, of 8 Gb/s links they do not. Given partitions
/// are there in any case.
#[test]
fn there_is_a_partition_for_each_thread_where_it_pays() {
    let text =
        ROW.to_owned() + "[[traffic]]\npattern = 'uniform'\ninjection = 'saturating'\nmessage = '64 B'\n";
    for (rate, partitions, threads, expected) in [
        ("8 Tb/s", "1", "3", 3),
        ("8 Gb/s", "1", "3", 1),
        ("8 Gb/s", "2", "3", 2),
        ("8 Gb/s", "5", "3", 5),
        ("8 Tb/s", "5", "3", 5),
        ("8 Tb/s", "1", "9", 7),
    ] {
        let overrides = [("run.partitions", partitions), ("run.threads", threads), ("links.all.rate", rate)];
        let engine = prepare(&text, &overrides).engine(|| NullObserver);
        assert_eq!(engine.partitions.len(), expected, "{overrides:?}");
    }
}
