//! What several fuzz targets need.

use std::path::Path;

use fabricsim_spec::{Experiment, Links};
use fabricsim_topology::{Defaults, Format, Graph, parse};
use fabricsim_units::Bytes;

/// A small experiment that is right.
pub const EXPERIMENT: &str = include_str!("../seeds/experiment/small.toml");

/// Reads a graph with default parameters of links; one that is right can be written in every format, or there is an
/// error that says why not.
pub fn graph(bytes: &[u8], format: Format) {
    let links = Links::default();
    let defaults = Defaults { links: &links, flow_control_unit: Bytes(64), file: "e.toml" };
    let Ok(graph) = parse(bytes, format, "g", &defaults) else { return };
    for format in [Format::Toml, Format::Ned, Format::Anynet, Format::Dot] {
        let _ = fabricsim_topology::export(&graph, format);
    }
}

/// Checks an experiment and builds its network, unless that is large or in a file.
pub fn build(experiment: &Experiment) {
    if fabricsim_spec::check(experiment, "e.toml").is_err() || is_large(experiment) {
        return;
    }
    let Ok(graph) = fabricsim_topology::build(experiment, Path::new("/nonexistent"), "e.toml") else {
        return;
    };
    let _ = fabricsim_routing::build(experiment, &graph, Path::new("/nonexistent"), "e.toml");
}

/// May the network have more than some thousand nodes?
fn is_large(experiment: &Experiment) -> bool {
    use fabricsim_spec::Topology;
    let product = |numbers: &[u32]| numbers.iter().map(|&n| f64::from(n)).product::<f64>();
    let nodes = match &experiment.topology {
        Topology::Mesh(grid) | Topology::Torus(grid) | Topology::Grid(grid) => {
            product(&grid.dimensions) * f64::from(grid.hosts_per_switch)
        }
        Topology::Hypercube { dimensions, hosts_per_switch } => {
            f64::from(*dimensions).exp2() * f64::from(*hosts_per_switch)
        }
        Topology::FatTree { arity, levels } => f64::from(*arity).powf(f64::from(*levels)),
        Topology::Xgft { children, parents } => product(children) * product(parents),
        Topology::ParkingLot { switches, hosts_per_switch }
        | Topology::Ring { switches, hosts_per_switch } => {
            f64::from(*switches) * f64::from(*hosts_per_switch)
        }
        Topology::SingleSwitch { hosts } => f64::from(*hosts),
        Topology::File { .. } => return true,
    };
    nodes > 2000.0
}

/// A mesh with the names of the thesis, for forwarding tables.
pub fn mesh() -> Graph {
    let text = "run = { duration = '1 us' }\n[topology.mesh]\ndimensions = [2, 2]\nnaming = 'thesis'";
    let experiment = fabricsim_spec::read(text, "e.toml", &[]).expect("it is right");
    fabricsim_topology::build(&experiment, Path::new("."), "e.toml").expect("it is right")
}
