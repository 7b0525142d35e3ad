//! Real files: all are read, and what OpenSM and infiniband-diags write is written alike.

mod support;

use std::path::{Path, PathBuf};

use fabricsim_subnet::{
    Engine, FindingKind, Format, Options, PathSls, Sl2Vl, TableFile, TableForm, check_tables, detect, read,
};
use support::cases::case;
use support::{bytes, difference, reference, subnet, text};

/// Files below a folder, those of compressed ones without `.xz`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let name = path.to_str().unwrap();
            found.push(PathBuf::from(name.strip_suffix(".xz").unwrap_or(name)));
        }
    }
    found.sort();
    found
}

#[test]
fn every_subnet_is_read() {
    let Some(folder) = reference() else { return };
    let mut count = 0;
    for path in ["topologies", "fabrics", "tool-outputs"].map(|part| files(&folder.join(part))).concat() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_subnet = [".topo", ".ibnet", ".out"].iter().any(|ending| name.ends_with(ending))
            || ["ibnetdiscover.txt", "ibnetdiscover-p.txt", "opensm-subnet.lst"].contains(&name)
            || name.ends_with(".ibnetdiscover-p.txt");
        if !is_subnet {
            continue;
        }
        let bytes = bytes(&path).unwrap();
        if name == "treydock_test2.out" {
            // an edited file: an aggregation node has two cables
            let error = read(&bytes, name).unwrap_err().to_string();
            assert!(error.starts_with("treydock_test2.out:5: port 1 of"), "{error}");
            continue;
        }
        let import = read(&bytes, name).unwrap_or_else(|error| panic!("{error}"));
        assert!(import.subnet.counts().cables > 0 || name.starts_with("treydock_test3"), "{name}");
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

/// Counts of the real fabrics, as their sources state them.
#[test]
fn counts_of_real_fabrics() {
    let Some(folder) = reference() else { return };
    let import = |name: &str| {
        let bytes = std::fs::read(folder.join("fabrics").join(name)).unwrap();
        read(&bytes, name).unwrap()
    };
    let pod = import("topograph_dgx_ndr.ibnet");
    let counts = pod.subnet.counts();
    assert!(counts.aggregation_nodes > 0 && counts.switches > 9);
    // cables are missing at two spines
    let fewer: Vec<&str> = pod
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::FewerCables)
        .map(|finding| finding.text.as_str())
        .collect();
    assert!(fewer.iter().any(|text| text.contains("IBSPINE-01")), "{fewer:?}");
    let list = import("raw/avakas/ib-subnet-fe80_0000_0000_0000.ibnetdiscover-p.txt");
    let converted = import("avakas.ibnet");
    assert_eq!(list.subnet.counts().switches, converted.subnet.counts().switches);
    assert_eq!(list.subnet.counts().cables, converted.subnet.counts().cables);
}

#[test]
fn deployed_tables_of_a_real_cluster() {
    let Some(folder) = reference() else { return };
    let fabric = subnet(&folder.join("fabrics/avakas.ibnet")).unwrap();
    let file = "raw/avakas/ibroutes-fe80_0000_0000_0000.lfts.txt";
    let tables = TableFile::read(&std::fs::read(folder.join("fabrics").join(file)).unwrap(), file).unwrap();
    assert_eq!(tables.form, TableForm::Ibroute);
    let (tables, findings) = tables.bind(&fabric).unwrap();
    // the tool failed after each table
    assert!(
        !findings.is_empty() && findings.iter().all(|finding| finding.kind == FindingKind::Skipped),
        "{findings:?}"
    );
    let found = fabricsim_subnet::analyse(&fabric, &tables, None, &Sl2Vl::modulo(1)).unwrap();
    // the reference states 332 for these tables
    assert_eq!(found.link_load.max, 332);
    assert!(found.cycle.is_none());
    let faults = check_tables(&fabric, &tables, file).unwrap();
    assert!(faults.iter().all(|fault| fault.kind != FindingKind::Loop), "{faults:?}");
}

#[test]
fn opensms_text_is_written_as_it_is_read() {
    let Some(folder) = reference() else { return };
    for path in files(&folder.join("tables")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        // opensm-subnet.lst has no LMC, so owners of LIDs beyond the first are unknown
        if path.to_str().unwrap().contains("-lmc") && name == "opensm-lfts.dump" {
            continue;
        }
        let of_folder = path.parent().unwrap();
        let theirs = text(&path).unwrap();
        let subnet = || subnet(&of_folder.join("opensm-subnet.lst")).unwrap();
        let ours = match name {
            "opensm-subnet.lst" => subnet().to_text(Format::OpensmSubnet),
            "opensm-lfts.dump" => {
                let subnet = subnet();
                TableFile::read(theirs.as_bytes(), name).unwrap().bind(&subnet).unwrap().0.to_dump(&subnet)
            }
            "opensm-sl2vl.dump" => {
                let subnet = subnet();
                let (lanes, findings) = Sl2Vl::read(theirs.as_bytes(), name, &subnet).unwrap();
                assert_eq!(findings, [], "{}", path.display());
                lanes.to_dump(&subnet)
            }
            "opensm-path-records.dump" => {
                let subnet = subnet();
                let (levels, findings) = PathSls::read(theirs.as_bytes(), name, &subnet).unwrap();
                assert_eq!(findings, [], "{}", path.display());
                levels.to_dump(&subnet)
            }
            _ => continue,
        };
        assert_eq!(difference(&ours, &theirs), None, "{}", path.display());
    }
    let theirs = text(&folder.join("tool-outputs/ibnetdiscover-p.txt")).unwrap();
    assert_eq!(detect(theirs.as_bytes()), Some(Format::IbnetdiscoverPorts));
    let ours = read(theirs.as_bytes(), "p").unwrap().subnet.to_text(Format::IbnetdiscoverPorts);
    // ports that are down have a rate in the file, which is that of their defaults
    let sorted = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.contains(" - ")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ours), sorted(&theirs));
}

/// `opensm.fdbs` of all engines; `nue-8vl` is of a build that chooses other paths.
#[test]
fn tables_with_hops_are_written_as_opensm_does() {
    let Some(folder) = reference() else { return };
    let mut compared = std::collections::BTreeSet::new();
    for fabric in ["mesh3x3", "torus5x5", "irr9", "dfly72", "ft4ary3"] {
        for entry in std::fs::read_dir(folder.join("tables").join(fabric)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let (Some(theirs), Some((engine, options))) =
                (text(&path.join("opensm.fdbs")), case(fabric, &name))
            else {
                continue;
            };
            let subnet = subnet(&path.join("opensm-subnet.lst")).unwrap();
            // OpenSM's own are then those of the engine that it falls back to
            let Ok(routing) = engine.route(&subnet, &options) else { continue };
            assert_eq!(difference(&routing.to_fdbs(&subnet).unwrap(), &theirs), None, "{fabric} {name}");
            let read = TableFile::read(theirs.as_bytes(), "fdbs").unwrap().bind(&subnet).unwrap().0;
            assert_eq!(read, routing.tables, "{fabric} {name}");
            compared.insert(engine.to_string());
        }
    }
    assert_eq!(compared.len(), 10, "engines compared: {compared:?}");
}

#[test]
fn tables_do_not_depend_on_the_number_of_threads() {
    let Some(folder) = reference() else { return };
    let subnet = subnet(&folder.join("tables/topograph_dgx_ndr/minhop/opensm-subnet.lst")).unwrap();
    for engine in [Engine::MinHop, Engine::UpDown, Engine::DownUp, Engine::DimensionOrder] {
        let route = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| engine.route(&subnet, &Options::default()).unwrap())
        };
        let one = route(1);
        for threads in [2, 3, 7] {
            assert_eq!(route(threads), one, "{engine} with {threads} threads");
        }
    }
}
