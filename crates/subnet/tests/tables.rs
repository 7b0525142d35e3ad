//! Tables of the engines, equal entry by entry to those of OpenSM 3.3.23.

mod support;

use std::path::Path;

use fabricsim_subnet::{Engine, PathSls, Routing, Subnet};
use support::cases::case;
use support::{difference, reference, subnet, text};

const FABRICS: [&str; 8] =
    ["mesh3x3", "torus5x5", "irr9", "dfly72", "ft4ary3", "loginoff_qdr144", "avakas", "topograph_dgx_ndr"];

fn set_lmc(subnet: &mut Subnet, lmc: u8) {
    for node in subnet.nodes.iter_mut().filter(|node| !node.is_switch()) {
        node.ports.iter_mut().skip(1).for_each(|port| port.lmc = lmc);
    }
}

/// Differences in service levels and lanes, where a folder has them.
fn levels(subnet: &Subnet, routing: &Routing, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let name = folder.file_name().unwrap().to_str().unwrap();
    if let Some(theirs) = text(&folder.join("opensm-path-records.dump")).filter(|_| name != "dfsssp") {
        let theirs = PathSls::read(theirs.as_bytes(), "path-records", subnet).unwrap().0;
        let sls = routing.sls.as_ref().expect("the engine sets service levels");
        let lids: Vec<u16> = subnet
            .nodes
            .iter()
            .filter(|node| !node.is_switch())
            .flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)].lid))
            .collect();
        let pairs = || lids.iter().flat_map(|&a| lids.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
        let differ = pairs().filter(|&(a, b)| sls.base(a, b) != theirs.base(a, b)).count();
        if differ > 0 {
            let first = pairs().find(|&(a, b)| sls.base(a, b) != theirs.base(a, b)).unwrap();
            let (ours, theirs) = (sls.base(first.0, first.1), theirs.base(first.0, first.1));
            found.push(format!("{differ} service levels, first {first:?}: {ours}, OpenSM {theirs}"));
        }
    }
    if let Some(theirs) = text(&folder.join("opensm-sl2vl.dump")) {
        found.extend(difference(&routing.sl2vl.to_dump(subnet), &theirs).map(|d| format!("SL2VL: {d}")));
    }
    found
}

#[test]
fn tables_are_equal_entry_by_entry() {
    let Some(folder) = reference() else { return };
    let mut compared = Vec::new();
    let mut failed = Vec::new();
    for fabric in FABRICS {
        let mut cases: Vec<_> =
            std::fs::read_dir(folder.join("tables").join(fabric)).unwrap().flatten().collect();
        cases.sort_by_key(std::fs::DirEntry::file_name);
        for entry in cases {
            let name = entry.file_name().into_string().unwrap();
            let Some((engine, options)) = case(fabric, &name) else { continue };
            let mut subnet = subnet(&entry.path().join("opensm-subnet.lst")).unwrap();
            // the file does not have the LMC
            if let Some((_, lmc)) = name.split_once("-lmc") {
                set_lmc(&mut subnet, lmc.parse().unwrap());
            }
            let theirs = text(&entry.path().join("opensm-lfts.dump")).unwrap();
            let result = engine.route(&subnet, &options);
            match result {
                Ok(routing) => {
                    compared.push(format!("{fabric}/{name}"));
                    if let Some(difference) = difference(&routing.tables.to_dump(&subnet), &theirs) {
                        failed.push(format!("{fabric}/{name}: {difference}"));
                    }
                    failed.extend(
                        levels(&subnet, &routing, &entry.path())
                            .into_iter()
                            .map(|d| format!("{fabric}/{name}: {d}")),
                    );
                }
                // OpenSM fell back to MinHop, so its tables are those
                Err(error) => {
                    let fallback = Engine::MinHop.route(&subnet, &options).unwrap();
                    compared.push(format!("{fabric}/{name}: {error}"));
                    if let Some(difference) = difference(&fallback.tables.to_dump(&subnet), &theirs) {
                        failed.push(format!("{fabric}/{name} (fallback): {difference}"));
                    }
                }
            }
        }
    }
    eprintln!("compared: {compared:#?}");
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(compared.len() >= 85, "only {} compared", compared.len());
}
