//! Settings and failures that look-up tables refuse.

use super::TABLES;
use crate::samples::{graph, try_router};

/// A topology, keys of the routing, and a part of the message.
const CASES: [(&str, &str, &str); 18] = [
    (
        "mesh = { dimensions = [3, 3] }",
        "partitions = [2]",
        "routing.partitions: [2] has 1 entries: give one for each of the 2 dimensions, for example [1, 1]",
    ),
    (
        "mesh = { dimensions = [3, 3] }",
        "partitions = [4, 1]",
        "routing.partitions: 4 blocks in dimension 0: give 1 to 3, its radix",
    ),
    ("mesh = { dimensions = [3, 3] }", "partitions = [0, 1]", "0 blocks in dimension 0"),
    (
        "mesh = { dimensions = [3, 3] }",
        "partitions = [3, 3]",
        "[3, 3] are 9 partitions: the global table has 8",
    ),
    (
        "mesh = { dimensions = [4, 3] }",
        "partitions = [2, 2]",
        "Divide dimension 0 into its 4 coordinates, or only dimension 0",
    ),
    (
        "mesh = { dimensions = [4, 3] }",
        "order = [1, 0]\npartitions = [2, 1]",
        "divides dimension 0, and dimension 1, which is corrected before it, into 1 blocks",
    ),
    (
        "torus = { dimensions = [32, 32, 8] }",
        "partitions = [1, 1, 1]",
        "[1, 1, 1] makes a partition of 8192 switches: the local table has 4096 entries. Give more blocks, for example [2, 1, 1]",
    ),
    (
        "torus = { dimensions = [2, 128, 64] }",
        "partitions = [1, 1, 1]",
        "the local table has 4096 entries. Give more blocks, for example [2, 2, 1]",
    ),
    (
        "torus = { dimensions = [33, 32, 32] }",
        "",
        "routing.algorithm: `look-up-tables` have room for 32768 switches (8 partitions of 4096), not for 33792",
    ),
    (
        "torus = { dimensions = [33, 31, 32] }",
        "",
        "routing.algorithm: [33, 31, 32] cannot be divided into 8 partitions of at most 4096 switches along dimension 0: [8, 1, 1] leaves 4960",
    ),
    ("fat-tree = { arity = 2, levels = 2 }", "", "routing.algorithm: `look-up-tables` needs a mesh"),
    ("mesh = { dimensions = [3, 3] }", "order = [0, 0]", "routing.order: [0, 0] is not an order"),
    (
        "mesh = { dimensions = [3, 3] }",
        "ties = \"random\"",
        "routing.ties: only for `dimension-order`, not for `look-up-tables`",
    ),
    (
        "mesh = { dimensions = [3, 3] }",
        "[links]\nfailed = [\"S(0,0)-S(0,3)\"]",
        "links.failed.0: `S(0,0)-S(0,3)`: no link has this name; did you mean `S(0,0)-S(0,1)`?",
    ),
    (
        "mesh = { dimensions = [3, 3] }",
        "[links]\nfailed = [\"S(0,0)-S(0,2)\"]",
        "S(0,0) and S(0,2) are not joined by a link",
    ),
    (
        "mesh = { dimensions = [3, 3] }",
        "[links]\nfailed = [\"S(0,0)-H(0,0).0\"]",
        "is the only link of host H(0,0).0, which is cut off",
    ),
    (
        "mesh = { dimensions = [3] }",
        "[links]\nfailed = [\"S(0)-S(1)\"]",
        "they cut off 1 of the 3 switches from the rest: S(0). ",
    ),
    (
        "torus = { dimensions = [14] }",
        "[links]\nfailed = [\"S(13)-S(0)\", \"S(6)-S(7)\"]",
        "they cut off 7 of the 14 switches from the rest: S(7), S(8), S(9), S(10), S(11), ...",
    ),
];

#[test]
fn what_cannot_be_had_is_named() {
    for (topology, more, expected) in CASES {
        let graph = graph(topology);
        let error = try_router(&graph, topology, &format!("{TABLES}\n{more}"), 2).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nshould have\n{expected}");
    }
    let mesh = "mesh = { dimensions = [3, 3] }";
    for algorithm in ["auto", "dimension-order"] {
        let routing = format!("algorithm = \"{algorithm}\"\n[links]\nfailed = [\"S(0,0)-S(0,1)\"]");
        let error = try_router(&graph(mesh), mesh, &routing, 2).unwrap_err().to_string();
        assert!(error.starts_with("sample.toml: links.failed: `"), "{error}");
        assert!(error.contains("or on a mesh, torus, grid or hypercube to \"look-up-tables\""), "{error}");
    }
}
