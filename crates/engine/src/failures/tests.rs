use fabricsim_model::NullObserver;
use fabricsim_units::Vl;

use fabricsim_routing::RoutingFunction;

use super::*;
use crate::testing::prepare;

/// Three switches in a row, two hosts at each.
const ROW: &str = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 2
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "1 KiB"
[switch]
virtual_lanes = 2
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "128 B"
[run]
duration = "1 s"
"#;

fn engine(overrides: &[(&str, &str)]) -> Engine<NullObserver> {
    prepare(ROW, overrides).engine(|| NullObserver)
}

/// A fabric has failures from the first one until the last has been restored, of links and of switches.
#[test]
fn failures_are_known_until_all_are_restored() {
    let mut engine = engine(&[]);
    let (link, switch) = (LinkId(0), SwitchId(1));
    assert!(!engine.has_failures());
    engine.fail_link(link, true);
    assert!(engine.has_failures());
    engine.fail_switch(switch, true);
    assert!(engine.has_failures());
    engine.restore_link(link);
    assert!(engine.has_failures());
    engine.restore_switch(switch);
    assert!(!engine.has_failures());
    engine.fail_switch(switch, true);
    engine.fail_link(link, true);
    engine.restore_switch(switch);
    assert!(engine.has_failures());
    engine.restore_link(link);
    assert!(!engine.has_failures());
}

/// A setting returns whether there is something to set: here tables of weights, of switches or of hosts.
#[test]
fn what_a_fabric_lacks_cannot_be_set() {
    let to = Destination { host: HostId(0), path: 0 };
    let (switch, ports) = (SwitchId(1), (PortNo(0), PortNo(1)));
    let tables = Arc::new(VlTables { high: vec![(Vl(0), 1)], low: vec![(Vl(1), 1)], high_limit: 0 });
    let weights = "{ high = [{ vl = 0, weight = 1 }], low = [{ vl = 1, weight = 1 }] }";
    for (overrides, of_switch, of_host) in [
        (&[][..], false, false),
        (&[("switch.vl_arbitration", weights)], true, false),
        (&[("host.vl_arbitration", weights)], false, true),
    ] {
        let mut engine = engine(overrides);
        assert!(!engine.set_route(switch, to, Some(PortNo(0))), "{overrides:?}");
        assert!(!engine.set_lanes_of_host(HostId(1), [0; 16]), "{overrides:?}");
        assert!(!engine.set_lanes_of_switch(switch, ports, [0; 16]), "{overrides:?}");
        assert_eq!(engine.set_vl_tables(switch, PortNo(0), &tables), of_switch, "{overrides:?}");
        assert_eq!(engine.set_vl_tables_of_host(HostId(1), &tables), of_host, "{overrides:?}");
        assert_eq!((engine.has_p_keys(), engine.multicast_groups()), (false, 0), "{overrides:?}");
    }
}

/// Groups and partitions that an experiment has are there; a packet for a group is copied to its members, and each copy counts.
#[test]
fn groups_and_partitions_are_known() {
    let text = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 2
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "1 KiB"
[host]
mtu = "128 B"
[[partitions]]
name = "all"
key = 1
members = ["*"]
[[multicast_groups]]
name = "group"
members = ["*"]
[[traffic]]
partition = "all"
pattern = { multicast = "group" }
injection = "saturating"
message = "128 B"
messages = 1
[run]
duration = "1 s"
"#;
    let mut engine = prepare(text, &[]).engine(|| NullObserver);
    assert_eq!((engine.has_p_keys(), engine.multicast_groups()), (true, 1));
    engine.advance(fabricsim_units::Time::ms(1), &mut |_, _| true);
    let totals = engine.totals();
    // Each of six hosts sends a packet to the five others.
    assert_eq!((totals.injected, totals.delivered, totals.replicated), (6, 30, 24));
    assert!(totals.is_balanced() && totals.shared_links > 0);
    // A switch that has no ports for the group sends nothing on.
    engine.set_multicast_ports(SwitchId(1), 0, &[]);
    let tables = engine.partitions[0].context.multicast.ports(SwitchId(1), 0);
    assert!(tables.is_empty(), "{tables:?}");
}

/// With forwarding tables levels of paths, and lanes of hosts and of switches, can be set.
#[test]
fn tables_of_a_subnet_can_be_set() {
    let routing = [
        ("routing.algorithm", "opensm"),
        ("routing.engine", "minhop"),
        ("switch.sl2vl", "[0, 1]"),
        ("subnet_manager.start", "configured"),
    ];
    let mut engine = engine(&routing);
    let to = Destination { host: HostId(0), path: 0 };
    let level = |engine: &Engine<NullObserver>, from| {
        let context = &engine.partitions[0].context;
        (context.rules.has_levels_of_paths, context.routing.service_level(HostId(from), to, 0))
    };
    engine.set_levels(6, 2, |from, to| if to.host == HostId(0) { from.0 as u8 } else { 0 });
    assert_eq!([1, 5].map(|from| level(&engine, from)), [(true, 1), (true, 5)]);
    assert!(engine.set_lanes_of_host(HostId(1), [1; 16]));
    assert!(engine.set_lanes_of_switch(SwitchId(1), (PortNo(0), PortNo(1)), [1; 16]));
}
