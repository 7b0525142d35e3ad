use super::common::{error, graph, neighbours};
use crate::{Shape, TreeShape};

#[test]
fn mesh_of_two_dimensions() {
    let mesh = graph("[topology.mesh]\ndimensions = [3, 2]\nhosts_per_switch = 2");
    assert_eq!((mesh.switches.len(), mesh.hosts.len(), mesh.links.len()), (6, 12, 12 + 7));
    assert_eq!(neighbours(&mesh, "S(0,0)"), "H(0,0).0 H(0,0).1 S(1,0) S(0,1)");
    assert_eq!(neighbours(&mesh, "S(1,1)"), "H(1,1).0 H(1,1).1 S(0,1) S(2,1) S(1,0)");
    assert_eq!(mesh.hosts[3].name, "H(1,0).1");
    assert_eq!(mesh.title, "3x2 mesh, 2 hosts per switch");
}

#[test]
fn mixed_radix_and_wrap() {
    let mixed = graph("[topology.grid]\ndimensions = [4, 1, 3]\nwrap = [true, true, false]");
    assert_eq!(neighbours(&mixed, "S(0,0,0)"), "H(0,0,0).0 S(3,0,0) S(1,0,0) S(0,0,1)");
    assert_eq!(neighbours(&mixed, "S(3,0,1)"), "H(3,0,1).0 S(2,0,1) S(0,0,1) S(3,0,0) S(3,0,2)");
    let Shape::Grid(shape) = &mixed.shape else { panic!("not a grid") };
    for (index, switch) in mixed.switches.iter().enumerate() {
        let id = fabricsim_units::SwitchId(index as u32);
        assert_eq!(shape.port(id, 1, false), None);
        assert_eq!(shape.port(id, 2, true).is_some(), switch.coordinates[2] < 2);
    }
}

#[test]
fn torus_of_radix_two_has_double_links_and_a_hypercube_single_ones() {
    let torus = graph("[topology.torus]\ndimensions = [2, 2]");
    assert_eq!(neighbours(&torus, "S(0,0)"), "H(0,0).0 S(1,0) S(1,0) S(0,1) S(0,1)");
    assert_eq!(torus.links.len(), 4 + 8);
    let cube = graph("[topology.hypercube]\ndimensions = 3");
    assert_eq!(neighbours(&cube, "S(1,0,1)"), "H(1,0,1).0 S(0,0,1) S(1,1,1) S(1,0,0)");
    assert_eq!(cube.links.len(), 8 + 12);
}

#[test]
fn ring_parking_lot_and_single_switch() {
    let ring = graph("[topology.ring]\nswitches = 4");
    assert_eq!(neighbours(&ring, "S(0)"), "H(0).0 S(3) S(1)");
    let lot = graph("[topology.parking-lot]\nswitches = 3");
    assert_eq!(neighbours(&lot, "S(2)"), "H(2).0 H(2).1 S(1)");
    assert_eq!(lot.hosts.last().unwrap().name, "H(2).1");
    assert_eq!(lot.hosts.len(), 4);
    let single = graph("[topology.single-switch]\nhosts = 3");
    assert_eq!(neighbours(&single, "S0"), "H0 H1 H2");
}

#[test]
fn four_ary_three_tree() {
    let tree = graph("[topology.fat-tree]\narity = 4\nlevels = 3");
    assert_eq!((tree.switches.len(), tree.hosts.len(), tree.links.len()), (48, 64, 64 * 3));
    assert_eq!(neighbours(&tree, "L1S0"), "H0 H1 H2 H3 L2S0 L2S1 L2S2 L2S3");
    assert_eq!(neighbours(&tree, "L2S1"), "L1S0 L1S1 L1S2 L1S3 L3S1 L3S5 L3S9 L3S13");
    assert_eq!(neighbours(&tree, "L3S6"), "L2S2 L2S6 L2S10 L2S14");
}

#[test]
fn slimmed_tree() {
    let tree = graph("[topology.xgft]\nchildren = [3, 2]\nparents = [1, 2]");
    assert_eq!(neighbours(&tree, "L1S1"), "H3 H4 H5 L2S0 L2S1");
    assert_eq!(neighbours(&tree, "L2S1"), "L1S0 L1S1");
    let Shape::Tree(TreeShape { level, down, .. }) = &tree.shape else { panic!("not a tree") };
    assert_eq!(level, &[1, 1, 2, 2]);
    assert_eq!(down.iter().map(|p| p.0).collect::<Vec<_>>(), [3, 3, 2, 2]);
    assert_eq!(tree.switches[1].coordinates, [1, 1, 0]);
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        ("[topology.mesh]\ndimensions = []", "topology.mesh.dimensions: 0 dimensions"),
        ("[topology.mesh]\ndimensions = [3, 0]", "topology.mesh.dimensions.1: 0 is not allowed"),
        ("[topology.mesh]\ndimensions = [1000, 1000, 1000]", "topology.mesh.dimensions: 1.000e9 switches"),
        ("[topology.torus]\ndimensions = [4294967295, 4294967295, 4294967295]", "at most 16000000"),
        (
            "[topology.mesh]\ndimensions = [3]\nwrap = [true]",
            "topology.mesh.wrap: it is only for kind `grid`",
        ),
        ("[topology.grid]\ndimensions = [3]", "topology.grid.wrap: it is missing"),
        (
            "[topology.grid]\ndimensions = [3]\nwrap = [true, true]",
            "it has 2 entries: give one for each of the 1",
        ),
        (
            "[topology.mesh]\ndimensions = [3]\nhosts_per_switch = 0",
            "topology.mesh.hosts_per_switch: 0 is not",
        ),
        ("[topology.mesh]\ndimensions = [3]\nhosts_per_switch = 4294967295", "ports: at most 1024"),
        ("[topology.hypercube]\ndimensions = 21", "topology.hypercube.dimensions: 21 is not allowed"),
        ("[topology.ring]\nswitches = 2", "topology.ring.switches: 2 is not allowed: give a number from 3"),
        ("[topology.single-switch]\nhosts = 1025", "give a number from 1 to 1024"),
        ("[topology.fat-tree]\narity = 1\nlevels = 2", "topology.fat-tree.arity: 1 is not"),
        ("[topology.fat-tree]\narity = 64\nlevels = 9", "topology.fat-tree.levels: "),
        (
            "[topology.xgft]\nchildren = [4, 0]\nparents = [1, 2]",
            "topology.xgft.children.1: 0 is not allowed",
        ),
        (
            "[topology.xgft]\nchildren = [4]\nparents = [2]",
            "topology.xgft.parents: 2 is not allowed as the first",
        ),
        ("[topology.xgft]\nchildren = [4]\nparents = []", "topology.xgft.parents: 0 levels"),
        (
            "[topology.xgft]\nchildren = [1, 500, 500]\nparents = [1, 500, 500]",
            "topology.xgft.parents: 250250000 links",
        ),
        ("[topology.mesh]\ndimensions = [3]\nnaming = \"thesis\"", "topology.mesh.naming: the thesis' port"),
    ];
    for (text, expected) in cases {
        let error = error(text);
        assert!(error.starts_with("test.toml: ") && error.contains(expected), "{text}\n{error}");
    }
}
