use super::*;

/// Two hosts at a switch.
const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "4 KiB"
[host]
mtu = "1000 B"
[run]
duration = "1 ms"
"#;

fn prepare(overrides: &[(&str, &str)]) -> Result<Prepared, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment =
        fabricsim_spec::read(PAIR, "test.toml", &overrides).map_err(|error| error.to_string())?;
    Prepared::new(experiment, Path::new("."), "test.toml").map_err(|error| error.to_string())
}

/// Overrides, and parts of the message if they are refused.
type Case<'a> = (&'a [(&'a str, &'a str)], Option<[&'a str; 2]>);

/// What is just allowed, and what is not any more, with parts of the message.
#[test]
fn experiments_that_a_fabric_cannot_carry_are_refused() {
    let marks = ("congestion_control.algorithm", "infiniband");
    let packets = ("switch.flow_control", "packets");
    let unit = ("switch.flow_control_unit", "64 B");
    let mtu = ("links.all.mtu", "600 B");
    let port = |port: &str| format!("[{{ ports = ['{port}'] }}]");
    let lane = |lane: u8| format!("[{{ ports = ['*'], lanes = [{lane}] }}]");
    let lanes = [0, 1, 2].map(lane);
    let ports = ["S0->H1", "H0->*", "S0->H7", "S0->H2"].map(port);
    let key = "congestion_control.infiniband.ports";
    let table: &[Case<'_>] = &[
        // Answers and notifications are not cut.
        (&[mtu, ("transport.mode", "ordered"), ("transport.answer", "600 B")], None),
        (
            &[mtu, ("transport.mode", "ordered"), ("transport.answer", "601 B")],
            Some(["transport.answer", "601 B is more than H0-S0 carries: give at most 600 B"]),
        ),
        (&[mtu, ("transport.answer", "601 B")], None),
        (&[marks, mtu, ("congestion_control.notification.size", "600 B")], None),
        (
            &[marks, mtu, ("congestion_control.notification.size", "601 B")],
            Some(["congestion_control.notification.size", "601 B is more than"]),
        ),
        (&[mtu, ("congestion_control.notification.size", "601 B")], None),
        // The least path MTU is 256 B, and headers take up to 46 B.
        (&[("queue_pairs", "{}"), ("links.all.mtu", "302 B")], None),
        (
            &[("queue_pairs", "{}"), ("links.all.mtu", "301 B")],
            Some(["links.all.mtu", "too little for the packets of queue pairs"]),
        ),
        // Counters of flow control tell 2047 blocks of 64 B apart from none.
        (&[packets, unit, ("links.all.buffer", "131072 B")], None),
        (
            &[packets, unit, ("links.all.buffer", "131136 B")],
            Some(["switch.flow_control", "for each lane: flow-control packets count at most 128 KiB"]),
        ),
        (&[("links.all.buffer", "131136 B")], None),
        // Exceptions name ports and lanes that exist.
        (&[marks, (key, &ports[0])], None),
        (&[marks, (key, &ports[1])], None),
        (&[("congestion_control.algorithm", "dcqcn"), (key, &ports[2])], None),
        (&[marks, (key, &ports[2])], Some([".ports.0.ports", "no port `S0->H7`"])),
        (&[marks, ("switch.virtual_lanes", "2"), (key, &lanes[1])], None),
        (
            &[marks, ("switch.virtual_lanes", "2"), (key, &lanes[2])],
            Some([".ports.0.lanes", "no lane 2: must be 0 to 1"]),
        ),
        // The last link of three.
        (&[marks, ("topology.single-switch.hosts", "3"), (key, &ports[3])], None),
        (&[marks, (key, &lanes[0])], None),
        (&[marks, (key, &lanes[1])], Some([".ports.0.lanes", "no lane 1: must be 0 to 0"])),
    ];
    for (overrides, expected) in table {
        match (prepare(overrides), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(parts)) => {
                assert!(parts.iter().all(|part| error.contains(part)), "{overrides:?}: {error}");
            }
            (found, _) => panic!("{overrides:?}: {:?}", found.err()),
        }
    }
}

/// Hosts of a grid: coordinates, and their place among those of their switch; the rates of their links; groups of dragonflies.
#[test]
fn the_workload_knows_where_hosts_are() {
    let grid = "{ mesh = { dimensions = [2, 2], hosts_per_switch = 2 } }";
    let prepared = prepare(&[("topology", grid)]).unwrap();
    let found = hosts(&prepared.graph);
    assert_eq!((found.names.len(), found.group), (8, None));
    assert!(found.rates.iter().all(|rate| rate.bits_per_second() == 8_000_000_000));
    let places = found.grid.unwrap();
    assert_eq!(places.dimensions, [2, 2]);
    assert_eq!(places.slot, [0, 1, 0, 1, 0, 1, 0, 1]);
    let mut switches: Vec<_> = places.coordinates.chunks(2).collect();
    assert!(switches.iter().all(|pair| pair[0] == pair[1]));
    switches.sort();
    switches.dedup();
    assert_eq!(switches.len(), 4);
    let dragonfly = "{ dragonfly = { p = 3, a = 2, h = 1 } }";
    let prepared = prepare(&[("topology", dragonfly), ("switch.virtual_lanes", "3")]).unwrap();
    let found = hosts(&prepared.graph);
    assert!(found.grid.is_none());
    assert_eq!(found.group, Some(6));
    assert!(hosts(&prepare(&[]).unwrap().graph).group.is_none());
}
