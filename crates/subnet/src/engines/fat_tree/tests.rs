//! Tables do not depend on visits that are left out.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::router::Router;
use super::tree::Tree;
use crate::engines::Options;
use crate::fabric::Fabric;
use crate::{Format, Guid, LidOptions, Subnet, assign_lids, read_as};

/// First GUID of switches, and of adapters.
const SWITCHES: u64 = 0x1000;
const ADAPTERS: u64 = 0x9000;

/// A subnet of adapters, by the switch of each, and of cables between switches.
fn subnet(switches: usize, adapters: &[usize], cables: &[(usize, usize)]) -> Subnet {
    let mut ports: Vec<Vec<String>> = vec![Vec::new(); switches];
    let mut hosts = String::new();
    for (guid, &at) in (ADAPTERS..).step_by(4).zip(adapters) {
        ports[at].push(format!("\"H-{guid:016x}\"[1]({:x})", guid + 1));
        let switch = SWITCHES + at as u64;
        let _ = writeln!(hosts, "\ncaguid=0x{guid:x}\nCa\t1 \"H-{guid:016x}\"\t\t# \"h\"");
        let _ = writeln!(
            hosts,
            "[1]({:x}) \t\"S-{switch:016x}\"[{}]\t\t# lid 0 lmc 0 \"s\" lid 0 4xEDR",
            guid + 1,
            ports[at].len()
        );
    }
    for &(a, b) in cables {
        let (port, back) = (ports[a].len() + 1, ports[b].len() + 1);
        ports[a].push(format!("\"S-{:016x}\"[{back}]", SWITCHES + b as u64));
        ports[b].push(format!("\"S-{:016x}\"[{port}]", SWITCHES + a as u64));
    }
    let mut text = String::new();
    for (guid, ports) in (SWITCHES..).zip(&ports) {
        let count = ports.len().max(1);
        let _ = writeln!(
            text,
            "\nswitchguid=0x{guid:x}({guid:x})\nSwitch\t{count} \"S-{guid:016x}\"\t\t# \"s\" enhanced port 0 lid 0 lmc 0"
        );
        for (port, end) in ports.iter().enumerate() {
            let _ = writeln!(text, "[{}]\t{end}\t\t# \"x\" lid 0 4xEDR", port + 1);
        }
    }
    let mut subnet = read_as((text + &hosts).as_bytes(), "tree", Format::Ibsim).unwrap().subnet;
    assign_lids(&mut subnet, LidOptions::default()).unwrap();
    subnet
}

/// Three levels of switches with random cables between them and, `beside` of them, within a level; adapters on leaves and elsewhere.
fn tree() -> impl Strategy<Value = (Subnet, Options)> {
    let levels = (1_usize..5, 1_usize..6, 2_usize..6);
    let choice = || any::<prop::sample::Index>();
    let cables = proptest::collection::vec((choice(), choice()), 0..40);
    let beside = proptest::collection::vec((0_usize..3, choice(), choice()), 0..4);
    let adapters = (proptest::collection::vec(choice(), 2..12), proptest::collection::vec(choice(), 0..3));
    (levels, cables, beside, adapters).prop_map(|((top, middle, leaves), chosen, beside, (nodes, others))| {
        let first = [0, top, top + middle];
        let sizes = [top, middle, leaves];
        // every switch has a cable upwards, so that its rank is its level
        let mut cables: Vec<(usize, usize)> = (0..middle).map(|at| (at % top, top + at)).collect();
        cables.extend((0..leaves).map(|at| (top + at % middle, top + middle + at)));
        for (index, (one, other)) in chosen.iter().enumerate() {
            let level = index % 2;
            cables.push((
                first[level] + one.index(sizes[level]),
                first[level + 1] + other.index(sizes[level + 1]),
            ));
        }
        for (level, one, other) in beside {
            let (one, other) = (one.index(sizes[level]), other.index(sizes[level]));
            if one != other {
                cables.push((first[level] + one, first[level] + other));
            }
        }
        let mut adapters: Vec<usize> = vec![first[2], first[2] + 1];
        adapters.extend(nodes.iter().map(|at| first[2] + at.index(leaves)));
        let compute = adapters.len() as u64;
        adapters.extend(others.iter().map(|at| at.index(first[2] + leaves)));
        let options = Options {
            roots: Some((0..top as u64).map(|at| Guid(SWITCHES + at)).collect()),
            compute_nodes: Some((0..compute).map(|at| Guid(ADAPTERS + 4 * at + 1)).collect()),
            ..Options::default()
        };
        (subnet(first[2] + leaves, &adapters, &cables), options)
    })
}

proptest! {
    #[test]
    fn tables_are_equal_with_and_without_visits_that_find_nothing_to_do((subnet, options) in tree()) {
        let Ok(fabric) = Fabric::new(&subnet) else { return Ok(()) };
        let Ok(tree) = Tree::new(&fabric, &options) else { return Ok(()) };
        let all = Router::new(&fabric, Tree::new(&fabric, &options).unwrap()).visiting_all().route();
        let tables = Router::new(&fabric, tree).route();
        prop_assert_eq!(tables.to_dump(&subnet), all.to_dump(&subnet));
    }
}
