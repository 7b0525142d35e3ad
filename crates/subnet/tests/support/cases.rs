//! Engines and options of the reference's tables.

use fabricsim_subnet::{Engine, Guid, Options, TorusConfig};

use super::{reference, text};

/// Engine and options of a folder of tables; none if another test compares it, or if OpenSM fell back to MinHop.
pub(crate) fn case(fabric: &str, folder: &str) -> Option<(Engine, Options)> {
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
        "torus-2QoS" => {
            let path = reference().unwrap().join("topologies").join(format!("{fabric}.t2q"));
            let torus = TorusConfig::read(&std::fs::read(&path).unwrap(), "t2q").unwrap();
            ("torus-2QoS", Options { torus: Some(torus), ..Options::default() })
        }
        // from a build with METIS
        "nue-8vl" => return None,
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
    text.split_whitespace()
        .map(|guid| Guid(u64::from_str_radix(guid.trim_start_matches("0x"), 16).unwrap()))
        .collect()
}
