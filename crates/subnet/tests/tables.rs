//! Tables of the engines, equal entry by entry to those of OpenSM 3.3.23.

mod support;

use fabricsim_subnet::{Engine, Guid, Options, Subnet};
use support::{difference, reference, subnet, text};

const FABRICS: [&str; 8] = [
    "mesh3x3", "torus5x5", "irr9", "dfly72", "ft4ary3", "loginoff_qdr144", "avakas", "topograph_dgx_ndr",
];

/// Engine and options of a folder of tables; none if another test compares it, or if OpenSM fell back to MinHop.
fn case(fabric: &str, folder: &str) -> Option<(Engine, Options)> {
    let (name, options) = match folder {
        "minhop" | "minhop-lmc1" | "minhop-lmc2" => ("minhop", Options::default()),
        "minhop-portshift" => ("minhop", Options { port_shifting: true, ..Options::default() }),
        "minhop-scatter8" => ("minhop", Options { scatter_ports: 8, ..Options::default() }),
        "updn-portshift" => ("updn", Options { port_shifting: true, ..Options::default() }),
        "updn-root" => ("updn", Options { roots: Some(roots(fabric)), ..Options::default() }),
        "ftree-root" => ("ftree", Options { roots: Some(roots(fabric)), ..Options::default() }),
        "ftree-root-cn" => {
            let compute_nodes = Some(guids(fabric, "cn"));
            ("ftree", Options { roots: Some(roots(fabric)), compute_nodes, ..Options::default() })
        }
        "dfsssp-base" => ("dfsssp", Options::default()),
        other => (other, Options::default()),
    };
    Some((name.parse().ok()?, options))
}

fn roots(fabric: &str) -> Vec<Guid> {
    guids(fabric, "roots")
}

fn guids(fabric: &str, ending: &str) -> Vec<Guid> {
    let folder = reference().unwrap();
    let files = ["topologies", "fabrics"].map(|part| folder.join(part).join(format!("{fabric}.{ending}")));
    let text = files.iter().find_map(|file| text(file)).unwrap();
    text.split_whitespace().map(|guid| Guid(u64::from_str_radix(guid.trim_start_matches("0x"), 16).unwrap())).collect()
}

fn set_lmc(subnet: &mut Subnet, lmc: u8) {
    for node in subnet.nodes.iter_mut().filter(|node| !node.is_switch()) {
        node.ports.iter_mut().skip(1).for_each(|port| port.lmc = lmc);
    }
}

#[test]
fn tables_are_equal_entry_by_entry() {
    let Some(folder) = reference() else { return };
    let mut compared = Vec::new();
    let mut failed = Vec::new();
    for fabric in FABRICS {
        let mut cases: Vec<_> = std::fs::read_dir(folder.join("tables").join(fabric)).unwrap().flatten().collect();
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
            let begin = std::time::Instant::now();
            let result = engine.route(&subnet, &options);
            eprintln!("{fabric}/{name} {:?}", begin.elapsed());
            match result {
                Ok(routing) => {
                    compared.push(format!("{fabric}/{name}"));
                    if let Some(difference) = difference(&routing.tables.to_dump(&subnet), &theirs) {
                        failed.push(format!("{fabric}/{name}: {difference}"));
                    }
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
}
