//! Lines for OpenSM's options file (`opensm.conf`) with which it computes given tables, or loads them.
//!
//! Names and defaults are those of OpenSM 3.3.23 (`osm_subnet.c`).

use std::fmt::Write;

use crate::{Engine, Options};

/// Values of `max_op_vls`, and the number of data lanes that they stand for.
const OPERATIONAL: [(u8, usize); 5] = [(1, 1), (2, 2), (3, 4), (4, 8), (5, 15)];

/// Names of files that options refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionFiles<'a> {
    /// Forwarding tables, in the form of `opensm-lfts.dump` (`lfts_file`).
    pub lfts: Option<&'a str>,
    /// GUIDs of root switches (`root_guid_file`).
    pub roots: Option<&'a str>,
    /// GUIDs of compute nodes (`cn_guid_file`).
    pub compute_nodes: Option<&'a str>,
    /// Description of the torus (`torus_config`).
    pub torus: Option<&'a str>,
}

/// Returns the lines with which OpenSM computes the tables of an engine. `layers` is the number of virtual lanes that its paths use,
/// `lmc` the LID mask control; none leaves OpenSM's.
pub fn engine_options(
    engine: Engine,
    options: &Options,
    layers: usize,
    lmc: Option<u8>,
    files: OptionFiles<'_>,
) -> String {
    let mut text = String::from(
        "# If the engine cannot route the fabric, OpenSM tells its log and routes with minhop. To let it fail instead:\n",
    );
    let _ = writeln!(text, "# routing_engine {engine},no_fallback\nrouting_engine {engine}");
    let named = [
        ("root_guid_file", files.roots),
        ("cn_guid_file", files.compute_nodes),
        ("torus_config", files.torus),
    ];
    for (key, file) in named {
        if let Some(file) = file {
            let _ = writeln!(text, "{key} {file}");
        }
    }
    if options.port_shifting {
        text.push_str("port_shifting TRUE\n");
    }
    if options.scatter_ports > 0 {
        let _ = writeln!(text, "scatter_ports {}", options.scatter_ports);
    }
    if let Some(lmc) = lmc {
        let _ = writeln!(text, "lmc {lmc}");
    }
    if engine == Engine::Nue {
        let _ = writeln!(text, "nue_max_num_vls {}", options.nue_vls);
    }
    if matches!(engine, Engine::Lash | Engine::Dfsssp | Engine::Nue | Engine::Torus2Qos) {
        text.push_str(&lanes(layers.max(usize::from(options.vls))));
    }
    if let Some(lfts) = files.lfts {
        let _ = writeln!(
            text,
            "# To load the tables instead of computing them:\n# routing_engine file\n# lfts_file {lfts}"
        );
    }
    text
}

/// Returns the lines with which OpenSM loads given tables. `needs_levels` is true if their paths have different service levels, which
/// such a file does not have; `lmc` is the LID mask control of the subnet that they belong to: with another one OpenSM assigns other LIDs.
pub fn table_options(lfts: &str, needs_levels: bool, lmc: u8) -> String {
    let mut text = String::new();
    if needs_levels {
        text.push_str(
            "# These tables belong to paths on several service levels, which lfts_file does not have: with all paths on one level\n\
             # they may deadlock. Let OpenSM compute them with their engine instead.\n",
        );
    }
    let _ = writeln!(text, "routing_engine file\nlfts_file {lfts}");
    if lmc > 0 {
        let _ = writeln!(text, "lmc {lmc}");
    }
    text
}

/// Options for paths on several virtual lanes.
fn lanes(count: usize) -> String {
    let value = OPERATIONAL.iter().find(|row| row.1 >= count).map_or(5, |row| row.0);
    format!("qos TRUE\nmax_op_vls {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_has_its_options() {
        let none = OptionFiles::default();
        let text = engine_options(Engine::MinHop, &Options::default(), 1, None, none);
        assert!(text.ends_with("\nrouting_engine minhop\n"), "{text}");
        let options = Options { port_shifting: true, scatter_ports: 7, ..Options::default() };
        let files = OptionFiles { roots: Some("/r"), lfts: Some("/l"), ..none };
        let text = engine_options(Engine::UpDown, &options, 1, Some(2), files);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected =
            ["routing_engine updn", "root_guid_file /r", "port_shifting TRUE", "scatter_ports 7", "lmc 2"];
        assert_eq!(lines, expected);
        assert!(text.contains("# lfts_file /l"));
    }

    #[test]
    fn layers_need_quality_of_service_and_lanes() {
        for (vls, value) in [(1, 1), (2, 2), (3, 3), (4, 3), (8, 4), (15, 5)] {
            let options = Options { vls, ..Options::default() };
            let text = engine_options(Engine::Dfsssp, &options, 1, None, OptionFiles::default());
            assert!(text.ends_with(&format!("qos TRUE\nmax_op_vls {value}\n")), "{vls}: {text}");
        }
        let text = engine_options(Engine::Nue, &Options::default(), 1, None, OptionFiles::default());
        assert!(text.contains("nue_max_num_vls 1\nqos TRUE\n"));
    }

    #[test]
    fn tables_are_loaded_from_their_file() {
        assert_eq!(table_options("/x", false, 0), "routing_engine file\nlfts_file /x\n");
        assert_eq!(table_options("/x", false, 2), "routing_engine file\nlfts_file /x\nlmc 2\n");
        assert!(table_options("/x", true, 0).contains("service levels"));
    }
}
