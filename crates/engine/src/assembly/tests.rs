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

/// Switches are cut in their order into parts of nearly equal size, hosts go with their switch; partitions look ahead by the least latency
/// between them.
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
        assert_eq!(engine.directory.lookahead, lookahead, "{wanted}");
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
