//! Random fabrics, routed by the real OpenSM and by our engines: LIDs and tables are equal.
//!
//! A short set runs with the other tests; `FABRICSIM_OPENSM_CASES=300` compares as many fabrics. A failure names the seed.

mod support;

use std::path::Path;

use fabricsim_subnet::{
    Engine, LidOptions, OptionFiles, Options, Sl2Vl, Subnet, TableFile, TorusConfig, analyse, assign_lids,
    engine_options, read, table_options,
};
use support::generate::{Random, fabric, torus};
use support::oracle;
use support::{difference, text};

/// Fabrics without the environment variable.
const SHORT: u64 = 6;

/// Engines whose tables are equal, with OpenSM's options.
const EQUAL: [&str; 9] = ["minhop", "updn", "dnup", "dor", "ftree", "lash", "sssp", "dfsssp", "nue"];

fn cases() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FABRICSIM_OPENSM_SEED").unwrap_or(0);
    first..first + number("FABRICSIM_OPENSM_CASES").unwrap_or(SHORT)
}

/// Options of a case, and the LID mask control.
fn options(subnet: &Subnet, random: &mut Random, folder: &Path) -> (Options, u8) {
    let mut options = Options::default();
    let lmc = if random.below(4) == 0 { 1 + random.below(2) as u8 } else { 0 };
    if random.below(4) == 0 {
        options.port_shifting = true;
    }
    if random.below(2) == 0 {
        let switches: Vec<_> = subnet.nodes.iter().filter(|node| node.is_switch()).collect();
        let count = 1 + random.below(2);
        let roots: Vec<_> =
            (0..count).map(|_| switches[random.below(switches.len() as u64) as usize].guid).collect();
        let lines: Vec<String> = roots.iter().map(ToString::to_string).collect();
        std::fs::write(folder.join("roots"), lines.join("\n") + "\n").unwrap();
        options.roots = Some(roots);
    }
    options.nue_vls = random.below(5) as u8;
    (options, lmc)
}

/// The lines for OpenSM: as `fabricsim route --opensm-conf` writes them, but without the engine that it falls back to.
fn config(engine: &str, options: &Options, lmc: u8, folder: &Path) -> String {
    let roots = folder.join("roots").display().to_string();
    let files = OptionFiles { roots: options.roots.as_ref().map(|_| roots.as_str()), ..Default::default() };
    let text = engine_options(engine.parse().unwrap(), options, 1, Some(lmc), files);
    assert!(text.contains(&format!("\nrouting_engine {engine}\n")), "{text}");
    text.replace(&format!("\nrouting_engine {engine}\n"), &format!("\nrouting_engine {engine},no_fallback\n"))
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
        let (options, lmc) = options(&ours, &mut random, &folder);
        assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
        let fresh = {
            let mut fresh = ours.clone();
            fresh
                .nodes
                .iter_mut()
                .flat_map(|node| &mut node.ports)
                .for_each(|port| (port.lid, port.lmc) = (0, 0));
            fresh
        };
        for engine in EQUAL {
            let config = config(engine, &options, lmc, &folder);
            let Some(theirs) = oracle::route(&fresh, &format!("{seed}{engine}"), &config) else {
                panic!("{seed} {name} {engine}: OpenSM did not finish")
            };
            let mut note =
                |what: String| failed.push(format!("seed {seed} {name} {engine} {options:?}: {what}"));
            let result = engine.parse::<Engine>().unwrap().route(&ours, &options);
            let count = counts.entry(engine.to_owned()).or_default();
            match (result, theirs.engine.is_empty()) {
                (Ok(routing), false) => {
                    count.0 += 1;
                    let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
                    if let Some(difference) = difference(&routing.tables.to_dump(&ours), &dump) {
                        note(difference);
                    }
                    if let Some(needed) = lanes_needed(&theirs.log).filter(|&needed| routing.layers > needed)
                    {
                        note(format!("{} layers, OpenSM {needed}", routing.layers));
                    }
                    let found =
                        analyse(&ours, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).unwrap();
                    if ["lash", "dfsssp", "nue", "updn"].contains(&engine) && found.cycle.is_some() {
                        note(format!("not free of deadlock: {:?}", found.cycle));
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

/// OpenSM loads tables that were written here, and dumps the same. They are those of SSSP, where MinHop,
/// to which it would fall back, has others.
#[test]
fn opensm_loads_tables_from_a_file() {
    if !oracle::is_available() {
        return;
    }
    let mut loaded = 0;
    for seed in cases() {
        let mut random = Random::new(seed ^ 0xf11e);
        let (mut ours, name) = fabric(&mut random);
        assign_lids(&mut ours, LidOptions::default()).unwrap();
        let Ok(routing) = Engine::Sssp.route(&ours, &Options::default()) else { continue };
        let minhop = Engine::MinHop.route(&ours, &Options::default()).unwrap();
        if routing.tables == minhop.tables {
            continue;
        }
        loaded += 1;
        let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}-file{seed}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let lfts = folder.join("tables.lfts");
        std::fs::write(&lfts, routing.tables.to_dump(&ours)).unwrap();
        let config = table_options(&lfts.display().to_string(), false);
        let theirs = oracle::route(&ours, &format!("{seed}load"), &config).expect("OpenSM finishes");
        assert_eq!(theirs.engine, "file", "seed {seed} {name}: {}", errors(&theirs.log));
        let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
        let difference = difference(&routing.tables.to_dump(&ours), &dump);
        assert!(difference.is_none(), "seed {seed} {name}: {difference:?}");
        for folder in [theirs.folder, folder] {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    eprintln!("loaded {loaded}");
    assert!(loaded > 0, "no fabric on which the two engines differ");
}

/// Layers that DFSSSP or LASH needed, by OpenSM's log.
fn lanes_needed(log: &str) -> Option<u8> {
    let line = log.lines().rev().find_map(|line| line.split("anes needed: ").nth(1))?;
    line.trim_end_matches(", Balancing").trim().parse().ok()
}

fn errors(log: &str) -> String {
    let lines = log.lines().filter(|line| line.contains("ERR") || line.contains("at-tree"));
    lines.take(4).collect::<Vec<_>>().join(" | ")
}

/// Tori and meshes with parallel cables and failures, routed by Torus-2QoS.
#[test]
fn random_tori_have_opensms_tables() {
    if !oracle::is_available() {
        return;
    }
    let mut failed = Vec::new();
    let (mut equal, mut refused) = (0, 0);
    for seed in cases() {
        let mut random = Random::new(seed ^ 0x70);
        let (mut ours, file) = torus(&mut random);
        let fresh = ours.clone();
        assign_lids(&mut ours, LidOptions::default()).unwrap();
        let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}-torus", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("torus.conf");
        std::fs::write(&path, &file).unwrap();
        let torus = TorusConfig::read(file.as_bytes(), "torus.conf").unwrap();
        let result = Engine::Torus2Qos.route(&ours, &Options { torus: Some(torus), ..Options::default() });
        if matches!(result, Err(fabricsim_subnet::RouteError::Divided { .. })) {
            continue;
        }
        let config = format!("routing_engine torus-2QoS,no_fallback\ntorus_config {}\n", path.display());
        let theirs = oracle::route(&fresh, &format!("{seed}torus"), &config).expect("OpenSM finishes");
        let name = file.lines().next().unwrap();
        match (result, theirs.engine.is_empty()) {
            (Ok(routing), false) => {
                equal += 1;
                let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
                failed.extend(
                    difference(&routing.tables.to_dump(&ours), &dump)
                        .map(|d| format!("seed {seed} {name}: {d}")),
                );
                let dump = text(&theirs.folder.join("opensm-sl2vl.dump")).unwrap();
                failed.extend(
                    difference(&routing.sl2vl.to_dump(&ours), &dump)
                        .map(|d| format!("seed {seed} {name}: SL2VL {d}")),
                );
                let found = analyse(&ours, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).unwrap();
                failed.extend(found.cycle.map(|cycle| format!("seed {seed} {name}: {cycle:?}")));
            }
            (Err(_), true) => refused += 1,
            (Ok(_), true) => {
                failed.push(format!("seed {seed} {name}: routed, OpenSM refuses: {}", errors(&theirs.log)));
            }
            // OpenSM leaves switches without a place unreachable
            (Err(error), false) if error.to_string().contains("has no place") => {
                let dump = std::fs::read(theirs.folder.join("opensm-lfts.dump")).unwrap();
                let (tables, _) = TableFile::read(&dump, "opensm-lfts.dump").unwrap().bind(&ours).unwrap();
                let found = analyse(&ours, &tables, None, &Sl2Vl::modulo(1)).unwrap();
                assert!(found.pairs.unreachable > 0, "seed {seed} {name}: {error}");
                refused += 1;
            }
            (Err(error), false) => failed.push(format!("seed {seed} {name}: refused: {error}")),
        }
        let _ = std::fs::remove_dir_all(&theirs.folder);
    }
    eprintln!("equal {equal}, refused by both {refused}");
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed.join("\n"));
}
