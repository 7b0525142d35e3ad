//! Random fabrics, routed by the real OpenSM and by our engines: LIDs and tables are equal.
//!
//! A short set runs with the other tests; `FABRICSIM_OPENSM_CASES=300` compares as many fabrics. A failure names the seed.

mod support;

use fabricsim_subnet::{Engine, LidOptions, Options, Subnet, assign_lids, read};
use support::generate::{Random, fabric};
use support::oracle;
use support::{difference, text};

/// Fabrics without the environment variable.
const SHORT: u64 = 6;

/// Engines whose tables are equal, with OpenSM's options.
const EQUAL: [&str; 8] = ["minhop", "updn", "dnup", "dor", "ftree", "lash", "sssp", "dfsssp"];

fn cases() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FABRICSIM_OPENSM_SEED").unwrap_or(0);
    first..first + number("FABRICSIM_OPENSM_CASES").unwrap_or(SHORT)
}

/// Options of a case, and the lines for OpenSM.
fn options(subnet: &Subnet, random: &mut Random, folder: &std::path::Path) -> (Options, u8, String) {
    let mut options = Options::default();
    let mut config = String::new();
    let lmc = if random.below(4) == 0 { 1 + random.below(2) as u8 } else { 0 };
    if random.below(4) == 0 {
        options.port_shifting = true;
        config.push_str("port_shifting TRUE\n");
    }
    if random.below(2) == 0 {
        let switches: Vec<_> = subnet.nodes.iter().filter(|node| node.is_switch()).collect();
        let count = 1 + random.below(2);
        let roots: Vec<_> = (0..count).map(|_| switches[random.below(switches.len() as u64) as usize].guid).collect();
        let lines: Vec<String> = roots.iter().map(ToString::to_string).collect();
        let file = folder.join("roots");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        config.push_str(&format!("root_guid_file {}\n", file.display()));
        options.roots = Some(roots);
    }
    config.push_str(&format!("lmc {lmc}\n"));
    (options, lmc, config)
}

#[test]
fn random_fabrics_have_opensms_tables() {
    if !oracle::is_available() {
        return;
    }
    let mut failed = Vec::new();
    let mut counts = std::collections::BTreeMap::<String, (usize, usize)>::new();
    for seed in cases() {
        let mut random = Random::new(seed);
        let (mut ours, name) = fabric(&mut random);
        let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (options, lmc, config) = options(&ours, &mut random, &folder);
        assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
        let fresh = {
            let mut fresh = ours.clone();
            fresh.nodes.iter_mut().flat_map(|node| &mut node.ports).for_each(|port| (port.lid, port.lmc) = (0, 0));
            fresh
        };
        for engine in EQUAL {
            let config = format!("routing_engine {engine},no_fallback\n{config}");
            let Some(theirs) = oracle::route(&fresh, &format!("{seed}{engine}"), &config) else {
                panic!("{seed} {name} {engine}: OpenSM did not finish")
            };
            let mut note = |what: String| failed.push(format!("seed {seed} {name} {engine} {options:?}: {what}"));
            let result = engine.parse::<Engine>().unwrap().route(&ours, &options);
            let count = counts.entry(engine.to_owned()).or_default();
            match (result, theirs.engine.is_empty()) {
                (Ok(routing), false) => {
                    count.0 += 1;
                    let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
                    if let Some(difference) = difference(&routing.tables.to_dump(&ours), &dump) {
                        note(difference);
                    }
                    let list = std::fs::read(theirs.folder.join("opensm-subnet.lst")).unwrap();
                    let list = read(&list, "opensm-subnet.lst").unwrap().subnet;
                    assert_eq!(list.counts().switches, ours.counts().switches);
                }
                (Err(_), true) => count.1 += 1,
                (Ok(_), true) => note(format!("routed, OpenSM refuses: {}", errors(&theirs.log))),
                (Err(error), false) => note(format!("refused ({error}), OpenSM routes by {}", theirs.engine)),
            }
            let _ = std::fs::remove_dir_all(&theirs.folder);
        }
    }
    eprintln!("equal, refused by both: {counts:?}");
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed.join("\n"));
}

fn errors(log: &str) -> String {
    let lines = log.lines().filter(|line| line.contains("ERR") || line.contains("at-tree"));
    lines.take(4).collect::<Vec<_>>().join(" | ")
}
