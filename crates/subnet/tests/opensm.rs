//! Random fabrics, routed by the real OpenSM and by our engines: LIDs and tables are equal.
//!
//! A short set runs with the other tests; `FABRICSIM_OPENSM_CASES=300` compares as many fabrics. A failure names the seed.

mod support;

use std::path::Path;

use fabricsim_subnet::{
    Engine, Guid, LidOptions, OptionFiles, Options, Routing, Sl2Vl, Subnet, TableFile, TorusConfig, analyse,
    assign_lids, engine_options, read, table_options,
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
                    let fdbs = text(&theirs.folder.join("opensm.fdbs")).unwrap();
                    if let Some(difference) = difference(&routing.to_fdbs(&ours).unwrap(), &fdbs) {
                        note(format!("opensm.fdbs: {difference}"));
                    }
                    if let Some(needed) = lanes_needed(&theirs.log).filter(|&needed| routing.layers > needed)
                    {
                        note(format!("{} layers, OpenSM {needed}", routing.layers));
                    }
                    let found =
                        analyse(&ours, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).unwrap();
                    if ["lash", "dfsssp", "nue"].contains(&engine) && found.cycle.is_some() {
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
    let equal: usize = counts.values().map(|count| count.0).sum();
    assert!(cases() != (0..SHORT) || equal >= 45, "only {equal} compared");
}

/// OpenSM loads tables that were written here, and dumps the same, with each LMC. They are those of SSSP, where MinHop,
/// to which it would fall back, has others.
#[test]
fn opensm_loads_tables_from_a_file() {
    if !oracle::is_available() {
        return;
    }
    let mut loaded = [0; 3];
    for seed in cases() {
        let mut random = Random::new(seed ^ 0xf11e);
        let (mut ours, name) = fabric(&mut random);
        let lmc = (seed % 3) as u8;
        assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
        let Ok(routing) = Engine::Sssp.route(&ours, &Options::default()) else { continue };
        let minhop = Engine::MinHop.route(&ours, &Options::default()).unwrap();
        if routing.tables == minhop.tables {
            continue;
        }
        loaded[usize::from(lmc)] += 1;
        let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}-file{seed}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let lfts = folder.join("tables.lfts");
        std::fs::write(&lfts, routing.tables.to_dump(&ours)).unwrap();
        let config = table_options(&lfts.display().to_string(), false, lmc);
        let theirs = oracle::route(&ours, &format!("{seed}load"), &config).expect("OpenSM finishes");
        assert_eq!(theirs.engine, "file", "seed {seed} {name}: {}", errors(&theirs.log));
        let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
        let found = difference(&routing.tables.to_dump(&ours), &dump);
        assert!(found.is_none(), "seed {seed} {name}: {found:?}");
        // The control: without the line `lmc` OpenSM assigns other LIDs.
        if lmc == 2 && loaded[2] == 1 {
            let config = table_options(&lfts.display().to_string(), false, 0);
            let other = oracle::route(&ours, &format!("{seed}lmc0"), &config).expect("OpenSM finishes");
            let dump = text(&other.folder.join("opensm-lfts.dump")).unwrap();
            assert!(difference(&routing.tables.to_dump(&ours), &dump).is_some(), "seed {seed} {name}");
            let _ = std::fs::remove_dir_all(other.folder);
        }
        for folder in [theirs.folder, folder] {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    eprintln!("loaded with LMC 0, 1, 2: {loaded:?}");
    assert!(loaded.iter().all(|&count| count > 0), "{loaded:?}: no fabric on which the two engines differ");
}

/// A torus of 4 x 5 switches with an adapter each: the neighbours behind ports 2 to 5 of each switch, and their ports.
const TORUS: [[(u64, u8); 4]; 20] = [
    [(14, 2), (2, 4), (18, 3), (16, 5)],
    [(5, 2), (4, 4), (2, 3), (14, 4)],
    [(6, 3), (1, 4), (0, 3), (17, 3)],
    [(19, 3), (15, 2), (6, 4), (17, 4)],
    [(12, 2), (6, 2), (1, 3), (13, 4)],
    [(1, 2), (7, 2), (10, 4), (13, 5)],
    [(4, 3), (2, 2), (3, 4), (18, 4)],
    [(5, 3), (8, 3), (14, 3), (11, 2)],
    [(13, 2), (7, 3), (12, 4), (9, 5)],
    [(15, 5), (11, 3), (19, 4), (8, 5)],
    [(15, 4), (11, 5), (5, 4), (17, 5)],
    [(7, 5), (9, 3), (16, 3), (10, 3)],
    [(4, 2), (18, 2), (8, 4), (14, 5)],
    [(8, 2), (15, 3), (4, 5), (5, 5)],
    [(0, 2), (7, 4), (1, 5), (12, 5)],
    [(3, 3), (13, 3), (10, 2), (9, 2)],
    [(19, 2), (11, 4), (17, 2), (0, 5)],
    [(16, 4), (2, 5), (3, 5), (10, 5)],
    [(12, 3), (0, 4), (6, 5), (19, 5)],
    [(16, 2), (3, 2), (9, 4), (18, 5)],
];

/// UpDown with given roots is not free of deadlock on every fabric: each switch continues as if the packet began there, so one that came
/// down may go up. OpenSM's tables are the same.
#[test]
fn up_down_may_deadlock_as_opensms_does() {
    let node = |(at, row): (usize, &[(u64, u8); 4])| {
        let (guid, host) = (0x20_0000 + at as u64, 0x100_0000 + 4 * at as u64);
        let links = (2..).zip(row).map(|(port, &(next, back))| {
            format!("[{port}] \"S-{:016x}\"[{back}] # \"s\" lid 0 4xEDR\n", 0x20_0000 + next)
        });
        let links = links.collect::<String>();
        format!(
            "switchguid=0x{guid:x}({guid:x})\nSwitch 5 \"S-{guid:016x}\" # \"s{at}\" base port 0 lid 0 lmc 0\n\
             [1] \"H-{host:016x}\"[1]({:x}) # \"h\" lid 0 4xEDR\n{links}\n\
             caguid=0x{host:x}\nCa 1 \"H-{host:016x}\" # \"h{at}\"\n\
             [1]({:x}) \"S-{guid:016x}\"[1] # lid 0 lmc 0 \"s\" lid 0 4xEDR\n\n",
            host + 1,
            host + 1
        )
    };
    let netlist: String = TORUS.iter().enumerate().map(node).collect();
    let mut ours = read(netlist.as_bytes(), "torus.ibnet").unwrap().subnet;
    ours.set_manager("h0").unwrap();
    let fresh = ours.clone();
    assign_lids(&mut ours, LidOptions::default()).unwrap();
    let root = Guid(0x20_0000 + 19);
    let options = Options { roots: Some(vec![root]), ..Options::default() };
    let routing = Engine::UpDown.route(&ours, &options).unwrap();
    let verdict = |routing: &Routing| {
        let found = analyse(&ours, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).unwrap();
        assert_eq!(found.pairs.unreachable, 0);
        found.cycle
    };
    assert!(verdict(&routing).is_some());
    // The control: engines with layers have no cycle there.
    assert!(verdict(&Engine::Lash.route(&ours, &options).unwrap()).is_none());
    if !oracle::is_available() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}-updn", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("roots"), format!("{root}\n")).unwrap();
    let theirs =
        oracle::route(&fresh, "cyclic", &config("updn", &options, 0, &folder)).expect("OpenSM finishes");
    assert_eq!(theirs.engine, "updn", "{}", errors(&theirs.log));
    let dump = text(&theirs.folder.join("opensm-lfts.dump")).unwrap();
    assert_eq!(difference(&routing.tables.to_dump(&ours), &dump), None);
    for folder in [theirs.folder, folder] {
        let _ = std::fs::remove_dir_all(folder);
    }
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
    assert!(cases() != (0..SHORT) || equal >= 5, "only {equal} compared");
}
