//! Random groups on random fabrics: the multicast tables of the real OpenSM and ours are equal.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use fabricsim_subnet::multicast::{FIRST_MULTICAST_LID, ports};
use fabricsim_subnet::{Guid, LidOptions, PortId, Subnet, assign_lids};
use support::generate::{Random, fabric};
use support::oracle;

/// Fabrics without the environment variable `FABRICSIM_OPENSM_CASES`.
const SHORT: u64 = 8;
const GROUPS: u16 = 3;
/// Lower LIDs may belong to groups that OpenSM creates by itself.
const FIRST: u16 = FIRST_MULTICAST_LID + 0x20;

/// Runs of OpenSM for a fabric.
const TRIES: u32 = 5;

/// Switch and multicast LID.
type Entry = (Guid, u16);

/// Members of each group: two ports of adapters or more.
fn groups(subnet: &Subnet, random: &mut Random) -> Vec<Vec<PortId>> {
    let adapters: Vec<PortId> = subnet
        .ids()
        .filter(|(_, node)| !node.is_switch())
        .flat_map(|(id, node)| node.end_ports().map(move |port| PortId { node: id, port }))
        .collect();
    let mut group = || {
        let mut members = BTreeSet::new();
        let count = 2 + random.below(adapters.len() as u64 - 1) as usize;
        while members.len() < count.min(adapters.len()) {
            members.insert(adapters[random.below(adapters.len() as u64) as usize]);
        }
        members.into_iter().collect()
    };
    (0..GROUPS).map(|_| group()).collect()
}

/// OpenSM's file of groups and members (`sa_db_file`).
fn database(subnet: &Subnet, groups: &[Vec<PortId>]) -> String {
    let mut text = String::new();
    for (number, members) in (0..).zip(groups) {
        let lid = FIRST + number;
        let _ = writeln!(
            text,
            "MC Group 0x{lid:04x} : mgid=0xff15a01bfe800000:0x{number:016x} \
             port_gid=0xfe80000000000000:0x{:016x} qkey=0x00000b1b mlid=0x{lid:04x} mtu=0x84 tclass=0x00 \
             pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x51 proxy_join=0x0\n",
            subnet.port(members[0]).guid.0,
        );
        for &member in members {
            let guid = subnet.port(member).guid.0;
            let _ = writeln!(
                text,
                "mcm_port: port_gid=0xfe80000000000000:0x{guid:016x} scope_state=0x51 proxy_join=0x0\n"
            );
        }
    }
    text
}

/// The tables of `opensm.mcfdbs`.
fn dumped(text: &str) -> BTreeMap<Entry, BTreeSet<u8>> {
    let (mut tables, mut switch) = (BTreeMap::new(), Guid(0));
    for line in text.lines() {
        if let Some(guid) = line.strip_prefix("Switch 0x") {
            switch = Guid(u64::from_str_radix(guid.trim(), 16).unwrap());
        } else if let Some((lid, ports)) = line.strip_prefix("0x").and_then(|line| line.split_once(" :")) {
            let lid = u16::from_str_radix(lid, 16).unwrap();
            let ports = ports.split_whitespace().map(|port| u8::from_str_radix(&port[2..], 16).unwrap());
            if (FIRST..FIRST + GROUPS).contains(&lid) {
                tables.insert((switch, lid), ports.collect());
            }
        }
    }
    tables
}

#[test]
fn random_groups_have_opensms_trees() {
    if !oracle::is_available() {
        return;
    }
    let cases = std::env::var("FABRICSIM_OPENSM_CASES").ok().and_then(|text| text.parse().ok());
    let mut entries = 0;
    for seed in 0..cases.unwrap_or(SHORT) {
        let mut random = Random::new(seed ^ 0x6c61);
        let (mut subnet, name) = fabric(&mut random);
        let fresh = subnet.clone();
        assign_lids(&mut subnet, LidOptions { lmc: 0, reassign: false }).unwrap();
        let groups = groups(&subnet, &mut random);
        let folder = std::env::temp_dir().join(format!("fabricsim-multicast-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("groups");
        std::fs::write(&file, database(&subnet, &groups)).unwrap();
        let config = format!("routing_engine minhop\nsa_db_file {}\n", file.display());
        let mut ours = BTreeMap::new();
        for (lid, members) in (FIRST..).zip(&groups) {
            for (switch, ports) in ports(&subnet, members, &[]) {
                ours.insert((subnet.node(switch).guid, lid), ports);
            }
        }
        // OpenSM writes its dumps after it has reported that the subnet is up.
        let dump = |folder: &Path| {
            dumped(&std::fs::read_to_string(folder.join("opensm.mcfdbs")).unwrap_or_default())
        };
        // Now and then it comes up without having written any tables.
        let found = (0..TRIES).find_map(|_| {
            let complete = |folder: &Path| dump(folder) == ours;
            let theirs = oracle::route_until(&fresh, &format!("{seed}mc"), &config, complete)?;
            let (tables, log) = (dump(&theirs.folder), theirs.log);
            let _ = std::fs::remove_dir_all(&theirs.folder);
            (!tables.is_empty()).then_some((tables, log))
        });
        let Some((theirs, log)) = found else { panic!("{seed} {name}: OpenSM wrote no tables") };
        entries += ours.len();
        assert_eq!(ours, theirs, "seed {seed} {name} {groups:?}\n{log}");
        let _ = std::fs::remove_dir_all(&folder);
    }
    assert!(entries > 50, "{entries}");
}
