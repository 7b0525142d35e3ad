use super::*;
use crate::testing::prepare;

/// Two hosts at each of three switches, whose manager sets partitions and a multicast group.
const FABRIC: &str = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 2
[routing]
algorithm = "opensm"
engine = "dor"
[subnet_manager]
[[partitions]]
name = "all"
key = 5
members = ["*"]
[[multicast_groups]]
name = "group"
members = ["*"]
[[traffic]]
partition = "all"
pattern = { multicast = "group" }
load = 0.1
message = "64 B"
[run]
duration = "1 ms"
"#;

/// Managers know the ports that enforce partitions, and the members of groups; the LIDs that the first one assigns are distinct.
#[test]
fn managers_know_partitions_groups_and_lids() {
    for (rule, inbound, outbound) in
        [("off", false, false), ("in", true, false), ("out", false, true), ("both", true, true)]
    {
        let prepared = prepare(FABRIC, &[("switch.partition_enforcement", rule)]);
        let plan = prepared.subnet.expect("there is a manager");
        let settings = &plan.managers[0].settings;
        assert_eq!(
            (settings.partitions.inbound, settings.partitions.outbound),
            (inbound, outbound),
            "{rule}"
        );
        assert_eq!(settings.partitions.keys.len(), 6);
        let group = &settings.groups[0];
        assert_eq!((group.members.len(), group.senders.len()), (6, 6));
        let identity = plan.addressed().expect("there are enough LIDs");
        let mut lids: Vec<_> = identity.hosts.iter().map(|&host| identity.subnet.port(host).lid).collect();
        lids.sort_unstable();
        lids.dedup();
        assert_eq!(lids.len(), 6);
    }
}

/// A table of P_Keys has a limited number of entries; the default partition takes one of them.
#[test]
fn a_host_is_in_as_many_partitions_as_a_table_has_entries() {
    let plan = |partitions: usize| {
        let list: Vec<String> = (0..partitions)
            .map(|number| format!("{{ name = 'p{number}', key = {}, members = ['*'] }}", number + 1))
            .collect();
        let overrides = [
            ("partitions".to_owned(), format!("[{}]", list.join(", "))),
            ("traffic".to_owned(), "[]".to_owned()),
        ];
        let experiment = fabricsim_spec::read(FABRIC, "test.toml", &overrides).unwrap();
        crate::Prepared::new(experiment, std::path::Path::new("."), "test.toml")
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let most = PartitionKeys::MOST;
    assert!(plan(most).is_ok());
    let error = plan(most + 1).expect_err("a key too many");
    let expected = format!("is in {}: with a subnet manager a host may be in {most} at most", most + 1);
    assert!(error.contains(&expected), "{error}");
}
