//! Against section 3.3 of the thesis, and the network files of the model that it ran on.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use fabricsim_spec::{LinkParameters, Links};
use fabricsim_units::{Bytes, SwitchId, Time};

use super::common::{assert_consistent, graph, neighbours};
use crate::{Defaults, Format, Graph, Node, Shape, parse};

fn mesh(dimensions: &str, hosts: u32) -> Graph {
    graph(&format!(
        "[topology.mesh]\ndimensions = {dimensions}\nhosts_per_switch = {hosts}\nnaming = \"thesis\""
    ))
}

/// Section 3.3.1; the rows of table 3.4 are read off the same ports.
#[test]
fn ports_of_the_2d_mesh() {
    let mesh = mesh("[3, 3]", 2);
    let expected = [
        ("SW11", "H111 H112 SW21 SW12"),
        ("SW12", "H121 H122 SW11 SW13 SW22"),
        ("SW13", "H131 H132 SW12 SW23"),
        ("SW21", "H211 H212 SW11 SW22 SW31"),
        ("SW22", "H221 H222 SW21 SW23 SW12 SW32"),
        ("SW23", "H231 H232 SW22 SW13 SW33"),
        ("SW31", "H311 H312 SW21 SW32"),
        ("SW32", "H321 H322 SW31 SW33 SW22"),
        ("SW33", "H331 H332 SW32 SW23"),
    ];
    for (switch, ports) in expected {
        assert_eq!(neighbours(&mesh, switch), ports, "{switch}");
    }
    let hosts: Vec<&str> = mesh.hosts.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(hosts[..7], ["H111", "H112", "H121", "H122", "H131", "H132", "H211"]);
}

/// Section 3.3.2: left, right, up, down everywhere.
#[test]
fn ports_of_the_2d_torus() {
    let torus = graph("[topology.torus]\ndimensions = [4, 3]\nnaming = \"thesis\"");
    assert_eq!(neighbours(&torus, "SW11"), "H111 SW14 SW12 SW31 SW21");
    assert_eq!(neighbours(&torus, "SW23"), "H231 SW22 SW24 SW13 SW33");
    assert_eq!(neighbours(&torus, "SW34"), "H341 SW33 SW31 SW24 SW14");
}

/// Tables 3.1 to 3.3 on a 3x3x3 mesh. The rows 111, 112, 113, 331, 332, 333 are those of table 3.5: there, the port
/// towards each neighbour is the entry of the neighbour's first host.
#[test]
fn ports_of_the_3d_mesh() {
    let mesh = mesh("[3, 3, 3]", 2);
    let expected = [
        ("SW111", "SW211 SW121 SW112"),
        ("SW112", "SW212 SW122 SW111 SW113"),
        ("SW113", "SW213 SW123 SW112"),
        ("SW331", "SW321 SW231 SW332"),
        ("SW332", "SW333 SW232 SW331 SW322"),
        ("SW333", "SW323 SW233 SW332"),
        // Table 3.2: edges SW11m to SWm1m, and SW1mm to SWmmm.
        ("SW213", "SW113 SW313 SW212 SW223"),
        ("SW233", "SW232 SW133 SW333 SW223"),
        // Table 3.3: right yz-plane, back xy-plane.
        ("SW232", "SW231 SW132 SW332 SW233 SW222"),
        ("SW223", "SW123 SW233 SW213 SW323 SW222"),
        // The text: -x, +x, +z, -z, +y, -y.
        ("SW222", "SW212 SW232 SW223 SW221 SW122 SW322"),
    ];
    for (switch, ports) in expected {
        let hosts = format!("{0}1 {0}2", switch.replace("SW", "H"));
        assert_eq!(neighbours(&mesh, switch), format!("{hosts} {ports}"), "{switch}");
    }
    let hosts: Vec<&str> = mesh.hosts.iter().step_by(2).map(|h| h.name.as_str()).collect();
    assert_eq!(hosts[..5], ["H1111", "H1121", "H1131", "H1211", "H1221"]);
}

/// The shape's ports lead where the coordinates say, in grids of unequal sides too.
#[test]
fn the_shape_agrees_with_the_cables() {
    for mesh in [mesh("[5, 3, 2]", 1), mesh("[2, 6, 4]", 3), mesh("[12, 2]", 1), mesh("[3, 3, 3]", 2)] {
        let Shape::Grid(shape) = &mesh.shape else { panic!("not a grid") };
        for (index, switch) in mesh.switches.iter().enumerate() {
            let id = SwitchId(index as u32);
            for d in 0..shape.dimensions.len() {
                for up in [false, true] {
                    let mut expected = switch.coordinates.clone();
                    expected[d] = if up { expected[d] + 1 } else { expected[d].wrapping_sub(1) };
                    let port = shape.port(id, d, up);
                    assert_eq!(port.is_some(), expected[d] < shape.dimensions[d]);
                    let Some(port) = port else { continue };
                    let far = mesh.far_end(switch.ports[port.index()], Node::Switch(id));
                    let Node::Switch(far) = far.node else { panic!("a host") };
                    assert_eq!(mesh.switches[far.index()].coordinates, expected);
                }
            }
        }
    }
}

#[test]
fn subscripts_above_nine_are_separated() {
    let wide = mesh("[11, 2]", 1);
    assert_eq!(wide.switches[10].name, "SW1_11");
    assert_eq!(wide.hosts[21].name, "H2_11_1");
    let many = mesh("[2, 2]", 11);
    assert_eq!((many.switches[0].name.as_str(), many.hosts[10].name.as_str()), ("SW11", "H1_1_11"));
}

/// Names, order, ports and cables of a network file of the model are those of the built mesh.
fn assert_same_as_ned(ned: &[u8], file: &str, built: &Graph) {
    let links = Links {
        all: LinkParameters { latency: Time::ns(7), ..LinkParameters::default() },
        ..Links::default()
    };
    let defaults = Defaults { links: &links, flow_control_unit: Bytes(64), file: "test.toml" };
    let read = parse(ned, Format::Ned, file, &defaults).unwrap_or_else(|e| panic!("{e}"));
    assert_consistent(&read);
    assert_eq!(read.hosts, built.hosts);
    assert_eq!(read.switches.len(), built.switches.len());
    for switch in &built.switches {
        assert_eq!(neighbours(&read, &switch.name), neighbours(built, &switch.name));
    }
    assert!(read.links.iter().all(|link| link.parameters.latency == Time::ns(5)));
}

#[test]
fn network_file_of_experiment_a() {
    let ned = include_bytes!("../../testdata/thesis-3x3-mesh.ned");
    assert_same_as_ned(ned, "thesis-3x3-mesh.ned", &mesh("[3, 3]", 2));
}

#[test]
fn network_file_of_the_5x5_mesh() {
    let reference = std::env::var_os("FABRICSIM_REFERENCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference"),
        PathBuf::from,
    );
    let path = reference.join("omnetpp-infiniband/single5x5/FABRIC.ned");
    match std::fs::read(&path) {
        Ok(ned) => assert_same_as_ned(&ned, "FABRIC.ned", &mesh("[5, 5]", 2)),
        Err(error) => {
            // not by eprintln!, which the test harness captures
            let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {error}", path.display());
        }
    }
}
