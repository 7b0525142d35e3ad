//! Values by link, class and name.

use std::collections::BTreeMap;

use super::common::graph;
use crate::{LinkClass, PerLink};

type Given = &'static [(&'static str, u8)];

fn map(entries: &[(&str, u8)]) -> BTreeMap<String, u8> {
    entries.iter().map(|&(key, value)| (key.to_owned(), value)).collect()
}

fn resolve(topology: &str, dimension: &[(&str, u8)], named: &[(&str, u8)]) -> Result<Vec<u8>, String> {
    let (dimension, level, named) = (map(dimension), map(&[]), map(named));
    let values = PerLink { all: 1, hosts: Some(0), dimension: &dimension, level: &level, named: &named };
    values.resolve(&graph(topology), "switch.age.bias", "e.toml").map_err(|error| error.to_string())
}

const MESH: &str = "[topology.mesh]\ndimensions = [3, 2]";

#[test]
fn the_more_specific_wins() {
    let values = resolve(MESH, &[("x", 3), ("1", 2)], &[("S(1,0)-S(0,0)", 7)]).unwrap();
    let graph = graph(MESH);
    for (link, value) in graph.links.iter().zip(values) {
        let ends = [link.a.node, link.b.node].map(|node| graph.name(node).to_owned());
        let expected = match link.class {
            LinkClass::Host => 0,
            LinkClass::Dimension(0) if ends.contains(&"S(0,0)".to_owned()) => 7,
            LinkClass::Dimension(0) => 3,
            _ => 2,
        };
        assert_eq!(value, expected, "{ends:?}");
    }
}

#[test]
fn what_there_is_not_is_named() {
    let cases: [(Given, Given, &str); 4] = [
        (&[("z", 1)], &[], "e.toml: switch.age.bias.dimension.z: no dimension `z`: allowed are 0, 1, x, y"),
        (&[("x", 1), ("0", 2)], &[], "switch.age.bias.dimension.x: this dimension has another name as well"),
        (
            &[],
            &[("S(0,0)-S(2,0)", 1)],
            "switch.age.bias.named.\"S(0,0)-S(2,0)\": S(0,0) and S(2,0) are not joined",
        ),
        (&[], &[("S(9,0)-S(1,0)", 1)], "did you mean"),
    ];
    for (dimension, named, expected) in cases {
        let error = resolve(MESH, dimension, named).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let tree = resolve("[topology.fat-tree]\narity = 2\nlevels = 2", &[("x", 1)], &[]).unwrap_err();
    assert!(tree.contains("links of this topology have no dimensions"), "{tree}");
}
