use fabricsim_subnet::{Engine, LidOptions, NodeId, NodeKind, Options, assign_lids, read};
use fabricsim_wire::ids::PKey;
use fabricsim_wire::mad::smp::PortState;

use super::*;
use crate::{Agent, Effect, Loopback};

/// Two leaves, two spines, three adapters; a cable between leaf 1 and spine 1 is double.
const TREE: &str = r#"
Switch 4 "S1" # "leaf 1"
[1] "H1"[1]
[2] "H2"[1]
[3] "S3"[1]
[4] "S4"[1]

Switch 4 "S2" # "leaf 2"
[1] "H3"[1]
[3] "S3"[2]
[4] "S4"[2]

Switch 4 "S3" # "spine 1"
[1] "S1"[3]
[2] "S2"[3]

Switch 4 "S4" # "spine 2"
[1] "S1"[4]
[2] "S2"[4]

Hca 1 "H1" # "a"
[1] "S1"[1]

Hca 1 "H2" # "b"
[1] "S1"[2]

Hca 1 "H3" # "c"
[1] "S2"[1]
"#;

fn settings() -> Settings {
    Settings {
        engine: Engine::MinHop,
        options: Options::default(),
        lmc: 0,
        smps_on_wire: 4,
        timeout: Time::ms(200),
        retries: 3,
        sweep_interval: Time::ms(10_000),
        poll_interval: Time::ms(10_000),
        poll_retries: 4,
        priority: 0,
        routing_time: Time::ZERO,
        quality: Quality::default(),
        groups: Vec::new(),
        partitions: PartitionKeys::default(),
    }
}

fn tree() -> (Subnet, NodeId) {
    let mut subnet = read(TREE.as_bytes(), "tree").unwrap().subnet;
    let node = subnet.ids().find(|(_, node)| node.description == "a").unwrap().0;
    subnet.manager = Some(fabricsim_subnet::PortId { node, port: 1 });
    (subnet, node)
}

fn manager(subnet: &Subnet, node: NodeId, settings: Settings) -> Manager {
    Manager::new(settings, subnet.node(node).ports[1].guid.0, 1)
}

fn bring_up(subnet: &Subnet, node: NodeId, settings: Settings) -> (Loopback, Manager) {
    let mut loopback = Loopback::new(subnet);
    let mut manager = manager(subnet, node, settings);
    manager.start(Time::ZERO);
    loopback.run(node, &mut manager, Time::ZERO, &mut |_, _, _| {}).unwrap();
    (loopback, manager)
}

/// The tables of the agents are those of the engine on the subnet with the LIDs of a first sweep.
fn assert_tables(subnet: &Subnet, loopback: &Loopback, settings: &Settings) {
    let mut subnet = subnet.clone();
    assign_lids(&mut subnet, LidOptions { lmc: settings.lmc, reassign: false }).unwrap();
    let expected = settings.engine.route(&subnet, &settings.options).unwrap();
    for (row, id) in expected.tables.switches().iter().enumerate() {
        let agent = &loopback.agents[id.index()];
        for (lid, &port) in expected.tables.row(row).iter().enumerate().skip(1) {
            let found = agent.route(lid as u16).unwrap_or(fabricsim_subnet::NO_PORT);
            assert_eq!(found, port, "{} LID {lid}", subnet.node(*id).description);
        }
    }
    for (id, node) in subnet.ids() {
        for port in node.end_ports() {
            assert_eq!(loopback.agents[id.index()].lid(port).0, node.ports[usize::from(port)].lid);
        }
        for (number, port) in node.ports.iter().enumerate().skip(1) {
            assert_eq!(loopback.agents[id.index()].is_active(number as u8), port.peer.is_some());
        }
    }
}

#[test]
fn a_subnet_comes_up_with_the_tables_of_the_engine() {
    let (subnet, node) = tree();
    for engine in [Engine::MinHop, Engine::UpDown, Engine::FatTree, Engine::Dfsssp, Engine::Lash] {
        // OpenSM's FatTree does not support more than one LID.
        for lmc in if engine == Engine::FatTree { 0..1 } else { 0..3 } {
            let settings = Settings { engine, lmc, ..settings() };
            let (loopback, manager) = bring_up(&subnet, node, settings.clone());
            assert!(manager.is_up());
            assert_tables(&subnet, &loopback, &settings);
            let sweep = &manager.sweeps()[0];
            assert_eq!((sweep.switches, sweep.adapters, sweep.cables), (4, 3, 7));
            assert_eq!((sweep.blocks, sweep.activated, sweep.given_up), (4, 14, 0));
            assert_eq!(sweep.fallback, None);
        }
    }
}

/// Requests of the first sweep, by hand: for every node its kind over each cable that leads to it for the first time or closes a
/// circle, and its description; for switches their tables and ports, for adapters their port; then the settings.
#[test]
fn requests_of_a_first_sweep() {
    let (subnet, node) = tree();
    let (_, manager) = bring_up(&subnet, node, settings());
    let sweep = &manager.sweeps()[0];
    let kinds = 1 + 7; // the own node, and every cable once
    let (descriptions, tables, ports) = (7, 4, 4 * 5 + 3);
    let addresses = 7;
    let programmed = 4 + 4; // top and block of each switch
    let states = 2 * 14;
    assert_eq!(sweep.requests, kinds + descriptions + tables + ports + addresses + programmed + states);
}

#[test]
fn after_a_failure_only_what_differs_is_set() {
    let (subnet, node) = tree();
    let (mut loopback, mut manager) = bring_up(&subnet, node, settings());
    let spine = subnet.ids().find(|(_, node)| node.description == "spine 1").unwrap().0;
    loopback.set_link(fabricsim_subnet::PortId { node: spine, port: 1 }, false);
    // The light sweep finds the changed port.
    let later = manager.wake_at().unwrap();
    assert_eq!(later, Time::ms(10_000));
    manager.expire(later);
    loopback.run(node, &mut manager, later, &mut |_, _, _| {}).unwrap();
    let sweep = manager.sweeps().last().unwrap();
    assert_eq!((sweep.cause, sweep.cables, sweep.activated), (SweepCause::Change, 6, 0));
    assert!(sweep.blocks > 0 && manager.is_up());
    let mut after = subnet.clone();
    after.disconnect(fabricsim_subnet::PortId { node: spine, port: 1 });
    assert_tables(&after, &loopback, &settings());
    // The change is acknowledged: another light sweep finds nothing.
    let later = manager.wake_at().unwrap();
    manager.expire(later);
    loopback.run(node, &mut manager, later, &mut |_, _, _| {}).unwrap();
    assert_eq!((manager.sweeps().len(), manager.counters().light_sweeps), (2, 2));
    // The cable comes back: its ports are armed and activated.
    loopback.set_link(fabricsim_subnet::PortId { node: spine, port: 1 }, true);
    let later = manager.wake_at().unwrap();
    manager.expire(later);
    loopback.run(node, &mut manager, later, &mut |_, _, _| {}).unwrap();
    assert_eq!(manager.sweeps().last().unwrap().activated, 2);
    assert_tables(&subnet, &loopback, &settings());
}

#[test]
fn an_engine_that_cannot_route_falls_back_and_says_why() {
    let (subnet, node) = tree();
    let settings = Settings { engine: Engine::Torus2Qos, ..settings() };
    let (loopback, manager) = bring_up(&subnet, node, settings);
    let why = manager.sweeps()[0].fallback.clone().unwrap();
    assert!(why.starts_with("torus-2QoS: "), "{why}");
    assert_tables(&subnet, &loopback, &Settings { engine: Engine::MinHop, ..self::settings() });
}

#[test]
fn a_port_is_left_alone_that_was_configured_before() {
    let (subnet, node) = tree();
    let (mut loopback, _) = bring_up(&subnet, node, settings());
    let mut second = manager(&subnet, node, settings());
    second.start(Time::ZERO);
    loopback.run(node, &mut second, Time::ZERO, &mut |_, _, _| {}).unwrap();
    assert_eq!(second.sweeps()[0].activated, 0);
    assert!(loopback.agents.iter().all(|agent| {
        (1..=agent.port_count()).all(|port| {
            let state = agent.port(port).unwrap().port_state;
            state == PortState::ACTIVE || state == PortState::DOWN
        })
    }));
}

/// Both ends of a cable get the least of what they can take.
#[test]
fn neighbours_agree_on_the_largest_packet() {
    let (subnet, node) = tree();
    let id = |name: &str| subnet.ids().find(|(_, node)| node.description == name).unwrap().0.index();
    let mut loopback = Loopback::new(&subnet);
    loopback.agents[id("leaf 1")].set_mtu(3, 2048);
    loopback.agents[id("b")].set_mtu(1, 1500);
    let mut manager = manager(&subnet, node, settings());
    manager.start(Time::ZERO);
    loopback.run(node, &mut manager, Time::ZERO, &mut |_, _, _| {}).unwrap();
    let mtu = |name: &str, port: u8| loopback.agents[id(name)].port(port).unwrap().neighbor_mtu.0;
    assert_eq!((mtu("leaf 1", 3), mtu("spine 1", 1)), (4, 4), "2048 bytes");
    assert_eq!((mtu("leaf 1", 2), mtu("b", 1)), (3, 3), "1024 bytes");
    // The control: what no end limits.
    assert_eq!((mtu("leaf 1", 1), mtu("a", 1), mtu("leaf 1", 4)), (5, 5, 5));
}

/// Adapters get the keys of their partitions; the ports of switches to them the same, and check them; what is set is not set anew.
#[test]
fn partitions_are_set_once() {
    let (subnet, node) = tree();
    let guid = |name: &str| subnet.ids().find(|(_, node)| node.description == name).unwrap().1.guid.0;
    let keys = [((guid("a"), 1), vec![PKey(0x8001)]), ((guid("c"), 1), vec![PKey(1), PKey(0x8002)])];
    let partitions = PartitionKeys { keys: keys.clone().into(), inbound: true, outbound: true };
    let settings = Settings { partitions, ..settings() };
    let (mut loopback, mut manager) = bring_up(&subnet, node, settings.clone());
    let agent = |loopback: &Loopback, name: &str| {
        let (id, _) = subnet.ids().find(|(_, node)| node.description == name).unwrap();
        loopback.agents[id.index()].clone()
    };
    for (name, leaf, port, expected) in
        [("a", "leaf 1", 1, &keys[0].1), ("b", "leaf 1", 2, &vec![]), ("c", "leaf 2", 1, &keys[1].1)]
    {
        assert_eq!(agent(&loopback, name).keys(1), *expected, "{name}");
        let leaf = agent(&loopback, leaf);
        assert_eq!(leaf.keys(port), *expected, "{name}");
        let info = leaf.port(port).unwrap();
        assert!(info.partition_enforcement_inbound && info.partition_enforcement_outbound, "{name}");
    }
    let spine = agent(&loopback, "spine 1");
    assert!(!spine.port(1).unwrap().partition_enforcement_inbound, "no adapter is there");
    let mut changed = Vec::new();
    manager.start(Time::us(1));
    let mut note = |_, effect, _: &Agent| changed.extend(matches!(effect, Effect::Keys(_)).then_some(effect));
    loopback.run(node, &mut manager, Time::us(1), &mut note).unwrap();
    assert_eq!(changed, []);
    // The control: without partitions there are no keys.
    let (loopback, _) = bring_up(&subnet, node, self::settings());
    assert_eq!(agent(&loopback, "c").keys(1), []);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    /// Any connected subnet: the tables of the switches are those that the engine computes from its file.
    #[test]
    fn any_subnet(
        switches in 1_usize..8,
        adapters in 1_usize..8,
        cables in proptest::collection::vec((0_usize..8, 0_usize..8), 0..12),
        places in proptest::collection::vec(0_usize..8, 8),
        window in 1_u16..9,
        engine in 0_usize..3,
    ) {
        let subnet = random_subnet(switches, adapters, &cables, &places);
        let node = subnet.ids().find(|(_, node)| node.kind == NodeKind::Adapter).unwrap().0;
        let subnet = Subnet { manager: Some(fabricsim_subnet::PortId { node, port: 1 }), ..subnet };
        let engine = [Engine::MinHop, Engine::UpDown, Engine::Dfsssp][engine];
        let settings = Settings { engine, smps_on_wire: window, ..settings() };
        let (loopback, manager) = bring_up(&subnet, node, settings.clone());
        proptest::prop_assert!(manager.is_up());
        if manager.sweeps()[0].fallback.is_none() {
            assert_tables(&subnet, &loopback, &settings);
        }
    }
}

/// A chain of switches with further cables between them, and adapters at some of them.
fn random_subnet(switches: usize, adapters: usize, cables: &[(usize, usize)], places: &[usize]) -> Subnet {
    use std::fmt::Write;
    let mut ends: Vec<Vec<String>> = vec![Vec::new(); switches];
    let mut text = String::new();
    let chain = (1..switches).map(|switch| (switch - 1, switch));
    let further = cables.iter().map(|&(a, b)| (a % switches, b % switches)).filter(|(a, b)| a != b);
    for (a, b) in chain.chain(further) {
        let (port_a, port_b) = (ends[a].len() + 1, ends[b].len() + 1);
        ends[a].push(format!("\"S{b}\"[{port_b}]"));
        ends[b].push(format!("\"S{a}\"[{port_a}]"));
    }
    for (adapter, place) in places.iter().take(adapters).enumerate() {
        let switch = place % switches;
        ends[switch].push(format!("\"H{adapter}\"[1]"));
        let port = ends[switch].len();
        let _ = writeln!(text, "Hca 1 \"H{adapter}\"\n[1] \"S{switch}\"[{port}]\n");
    }
    for (switch, ends) in ends.iter().enumerate() {
        let _ = writeln!(text, "Switch {} \"S{switch}\"", ends.len().max(1));
        for (index, end) in ends.iter().enumerate() {
            let _ = writeln!(text, "[{}] {end}", index + 1);
        }
        text.push('\n');
    }
    read(text.as_bytes(), "random").unwrap_or_else(|error| panic!("{error}\n{text}")).subnet
}
