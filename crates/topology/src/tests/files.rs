//! Files with something wrong in them.

use fabricsim_units::{LinkId, Time};
use proptest::prelude::*;

use super::common::{assert_consistent, neighbours};
use super::round_trip::read;
use crate::Format;

const TOML: &str = r#"[[switch]]
name = "A"
ports = 3

[[switch]]
name = "B"

[[host]]
name = "h1"

[[host]]
name = "h2"

[[link]]
a = "A"
a_port = 0
b = "B"
rate = "32 Gb/s"
latency = "5 ns"

[[link]]
a = "A"
b = "h1"

[[link]]
a = "h2"
b = "A"
"#;

const NED: &str = r#"package networks;
import src.*;
channel Slow extends ned.DelayChannel { delay = 7 ns; }
network FABRIC extends Base {
    @display("bgb=1,2;");
  submodules:
    h1: HCA { @display("p=1,2"); }
    h2: HCA;
    A: Switch {
        parameters:
            numSwitchPorts = 2;
            @display("p=120,240;i=abstract/switch");
        gates:
            in[2]; out[2];
    }
    B: Switch { numSwitchPorts = 2; };
    IDGen: IDGenerator { gates: gate[2]; }
  connections allowunconnected:
    // both ways
    h1.out --> {delay=5ns; @display("ls=red,2");} --> A.in[0];
    A.out[0] --> {delay=0.005us;} --> h1.in;
    A.port$o[1] <--> Slow <--> B.port[1];
    B.in[0] <-- h2.out;
    B.out[0] --> h2.in;
    IDGen.gate[0] --> h1.id;
}
"#;

const ANYNET: &str = "router 0 node 0 router 1 15\nrouter 1 node 1 3 router 2\n\nnode 2 router 2\n";

pub(super) fn failure(text: &str, format: Format) -> String {
    read(text.as_bytes(), format).map_or_else(|error| error, |graph| panic!("{} was read", graph.title))
}

/// Replaces `from`, which is there once, and expects an error that starts and goes on like this.
pub(super) fn assert_error(text: &str, from: &str, to: &str, format: Format, starts: &str, contains: &str) {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    let error = failure(&text.replace(from, to), format);
    assert!(error.starts_with(starts) && error.contains(contains), "{from} -> {to}\n{error}");
}

#[test]
fn toml_is_read() {
    let graph = read(TOML.as_bytes(), Format::Toml).unwrap();
    assert_consistent(&graph);
    assert_eq!(neighbours(&graph, "A"), "B h1 h2");
    assert_eq!(graph.link_name(LinkId(2)), "A-B");
    assert_eq!(graph.links[2].parameters.latency, Time::ns(5));
    assert_eq!(graph.links[0].parameters.latency, Time::ns(10));
}

#[test]
fn what_is_wrong_in_toml_is_named() {
    let cases = [
        ("name = \"B\"", "name = \"A\"", "graph:5: ", "the name A is used twice (first on line 1)"),
        ("name = \"h2\"", "name = \"A\"", "graph:11: ", "the name A is used twice"),
        ("name = \"h1\"", "name = \"\"", "graph:8: ", "the name is empty"),
        ("name = \"h1\"", "name = \"h*\"", "graph:8: ", "the name h* has a `*` in it"),
        ("name = \"h1\"", "name = \"h->1\"", "graph:8: ", "the name h->1 has a `->` in it"),
        ("name = \"h1\"", "name = \"h\\n1\"", "graph:8: ", "the name \"h\\n1\" has a character in it"),
        ("name = \"h1\"", "nmae = \"h1\"", "graph:9: ", "did you mean `name`?"),
        ("ports = 3", "ports = 2", "graph:25: ", "no port 2 at A: it has 2 ports, from 0"),
        ("ports = 3", "ports = 4", "graph:1: ", "port 3 of A has no link: each of its 4 ports needs one"),
        ("ports = 3", "ports = 1025", "graph:1: ", "A has 1025 ports: at most 1024 are allowed"),
        ("a_port = 0", "a_port = 1024", "graph:14: ", "no port 1024 at A"),
        ("b = \"h1\"", "b = \"A\"", "graph:21: ", "a link joins A to itself"),
        ("b = \"h1\"", "b = \"h2\"", "graph:25: ", "host h2 has a second link (the first is on line 21)"),
        ("b = \"h1\"", "b = \"h1\"\nb_port = 1", "graph:21: ", "a host has port 0 only, not 1"),
        (
            "b = \"h1\"",
            "b = \"h1\"\na_port = 0",
            "graph:21: ",
            "port 0 of A is used twice (first on line 14)",
        ),
        ("b = \"h1\"", "b = \"h11\"", "graph:21: ", "no node h11; did you mean h1?"),
        ("a = \"h2\"\nb = \"A\"", "a = \"h2\"\nb = \"h1\"", "graph:25: ", "h2 and h1 are both hosts"),
        ("latency = \"5 ns\"", "latency = \"0 ns\"", "graph:14: ", "latency: 0 is not allowed"),
        ("latency = \"5 ns\"", "latency = \"5 Gb\"", "graph:19: ", "\"5 Gb\" is not a time"),
        ("latency = \"5 ns\"", "buffer = \"5 B\"", "graph:14: ", "buffer: 5 B is not allowed"),
        (
            "[[link]]\na = \"h2\"\nb = \"A\"",
            "",
            "graph:11: ",
            "host h2 has no link: it needs one, to a switch",
        ),
        ("ports = 3", "ports = [", "graph:6: ", "missing comma between array elements"),
    ];
    for (from, to, starts, contains) in cases {
        assert_error(TOML, from, to, Format::Toml, starts, contains);
    }
    let apart =
        TOML.replace("b = \"B\"\n", "b = \"h1\"\n").replace("a = \"A\"\nb = \"h1\"", "a = \"B\"\nb = \"B2\"");
    let apart = format!("{apart}\n[[switch]]\nname = \"B2\"\n").replace("ports = 3", "");
    let error = failure(&apart, Format::Toml);
    assert_eq!(error, "graph:1: the graph is not connected: no path from A to B");
    assert!(failure("title = \"x\"", Format::Toml).contains("no host or no switch"));
}

#[test]
fn ned_is_read() {
    let graph = read(NED.as_bytes(), Format::Ned).unwrap_or_else(|e| panic!("{e}"));
    assert_consistent(&graph);
    assert_eq!((neighbours(&graph, "A").as_str(), neighbours(&graph, "B").as_str()), ("h1 B", "h2 A"));
    // Only one of the switches has a place: both are given new ones.
    assert_eq!(
        (&graph.switches[0].coordinates[..], &graph.switches[1].coordinates[..]),
        (&[0, 0][..], &[0, 1][..])
    );
    let placed = NED.replace("B: Switch { ", "B: Switch { @display(\"p=20,300\"); ");
    let graph = read(placed.as_bytes(), Format::Ned).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (&graph.switches[0].coordinates[..], &graph.switches[1].coordinates[..]),
        (&[1, 0][..], &[0, 1][..])
    );
    let latencies: Vec<u64> = graph.links.iter().map(|l| l.parameters.latency.0 / 1000).collect();
    assert_eq!(latencies, [5, 10, 7]);
}

#[test]
fn what_is_wrong_in_ned_is_named() {
    let cases = [
        (
            "delay=5ns",
            "delay=6ns",
            "graph:20: ",
            "delay or datarate differ from the opposite direction (line 21)",
        ),
        ("delay=5ns", "delay=5parsec", "graph:20: ", "delay: \"5parsec\" is not a time"),
        ("delay=5ns", "datarate=5bananas", "graph:20: ", "datarate: \"5bananas\" is not a rate"),
        (
            "A.in[0]",
            "A.in[2]",
            "graph:20: ",
            "port 0 of h1 leads to port 2 of A, but no connection leads back",
        ),
        ("A.in[0]", "C.in[0]", "graph:20: ", "no submodule C"),
        ("h1.in;", "h11.in;", "graph:21: ", "no submodule h11; did you mean h1?"),
        ("A.out[0]", "A.out[1]", "graph:22: ", "port 1 of A is used twice (first on line 21)"),
        ("A.out[0]", "A.in[0]", "graph:21: ", "the connection leaves A by its gate `in`"),
        ("A.out[0]", "A.out++", "graph:21: ", "`++` is not supported"),
        ("A.out[0]", "A.out[x]", "graph:21: ", "`x` is not expected here, but a number"),
        ("Slow <-->", "Fast <-->", "graph:22: ", "no channel Fast in this file"),
        ("h2: HCA;", "h2[3]: HCA;", "graph:8: ", "vectors of submodules are not supported"),
        ("h2: HCA;", "h1: HCA;", "graph:", "no submodule h2"),
        ("IDGen: IDGenerator {", "h3: HCA {", "graph:25: ", "no submodule IDGen"),
        ("    // both ways", "for i=0..3 {}", "graph:19: ", "`for` is not supported"),
        (
            "            numSwitchPorts = 2;",
            "numSwitchPorts = n;",
            "graph:11: ",
            "n is not a number of ports",
        ),
        ("            numSwitchPorts = 2;", "numSwitchPorts = 3;", "graph:9: ", "port 2 of A has no link"),
        ("p=120,240;i=abstract/switch\"", "p=1;", "graph:", "the file is cut off"),
        ("network FABRIC", "simple FABRIC", "graph:1: ", "no network with connections"),
        ("network FABRIC", "netwrok FABRIC", "graph:4: ", "`netwrok` is not expected here, but `network`"),
    ];
    for (from, to, starts, contains) in cases {
        assert_error(NED, from, to, Format::Ned, starts, contains);
    }
    let twice = NED.replace("    h2: HCA;", "    h2: HCA;\n    h2: HCA;");
    assert!(failure(&twice, Format::Ned).starts_with("graph:9: the name h2 is used twice (first on line 8)"));
}

/// A file that is cut off anywhere is refused, but for blank lines at its end.
#[test]
fn truncated_ned_is_refused() {
    for length in 0..NED.trim_end().len() {
        assert!(read(&NED.as_bytes()[..length], Format::Ned).is_err(), "{length}");
    }
}

#[test]
fn anynet_is_read() {
    let graph = read(ANYNET.as_bytes(), Format::Anynet).unwrap();
    assert_consistent(&graph);
    assert_eq!(neighbours(&graph, "R1"), "N1 R0 R2");
    let latencies: Vec<u64> = graph.links.iter().map(|l| l.parameters.latency.0 / 1000).collect();
    assert_eq!(latencies, [10, 30, 10, 150, 10]);
}

#[test]
fn what_is_wrong_in_anynet_is_named() {
    let cases = [
        (
            "router 0 node 0",
            "ruoter 0 node 0",
            "graph:1: ",
            "`ruoter` is not allowed here: write `router` or",
        ),
        ("router 0 node 0", "router 0 node x", "graph:1: ", "`x` is not the number of a node"),
        (
            "router 0 node 0",
            "router 99999999999",
            "graph:1: ",
            "is not the number of a router: give 0 to 15999999",
        ),
        ("router 1 15", "router 1 0", "graph:1: ", "`0` is not a latency"),
        ("router 1 15", "router 1 99999999999999999", "graph:1: ", "is too long"),
        ("router 1 15", "router 0", "graph:1: ", "router 0 is linked to itself"),
        ("router 1 15", "router 1 999999999", "graph:1: ", "latency: "),
        (
            "router 2\n\n",
            "router\n\n",
            "graph:2: ",
            "the line is cut off: a number is missing after `router`",
        ),
        ("router 2\n\n", "router 2 router 0 14\n\n", "graph:2: ", "a latency of 14 here and of 15 on line 1"),
        ("node 2 router 2", "node 2 node 1", "graph:4: ", "a node cannot be linked to a node"),
        ("node 2 router 2", "node 2 router 4", "graph:4: ", "there is a router 4 but no router 3"),
        ("node 2 router 2", "node 2 router 2 router 1", "graph:4: ", "host N2 has a second link"),
        ("node 2 router 2", "node 2 router 3", "graph:1: ", "no path from R0 to R3"),
        ("node 2 router 2", "node 2", "graph:4: ", "host N2 has no link"),
    ];
    for (from, to, starts, contains) in cases {
        assert_error(ANYNET, from, to, Format::Anynet, starts, contains);
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for format in [Format::Toml, Format::Ned, Format::Anynet, Format::Csv, Format::Graphml] {
        assert_eq!(read(b"one\ntwo \xff", format), Err("graph:2: this is not UTF-8 text".to_owned()));
    }
    assert!(read(b"graph {}", Format::Dot).unwrap_err().contains("only written"));
}

#[test]
fn the_file_of_an_experiment() {
    let at = |path: &str| super::common::error(&format!("[topology.file]\npath = \"{path}\""));
    assert!(at("none.ned").starts_with("test.toml: topology.file.path: cannot read ./none.ned: "));
    assert!(at("x.nde").contains("the ending `.nde` names no graph format"));
    assert!(at("x.nde").ends_with("did you mean `.ned`?"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC*") {
        for format in [Format::Toml, Format::Ned, Format::Anynet, Format::Csv, Format::Graphml] {
            let _ = read(&bytes, format);
            let _ = read(text.as_bytes(), format);
        }
    }

    /// Correct files with pieces moved, doubled and dropped.
    #[test]
    fn no_damage_panics(cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..40,
                                                            any::<prop::sample::Index>()), 1..6)) {
        for (text, format) in [
            (TOML, Format::Toml),
            (NED, Format::Ned),
            (ANYNET, Format::Anynet),
            (super::edges::CSV, Format::Csv),
            (super::edges::GRAPHML, Format::Graphml),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            for (from, length, to) in &cuts {
                let start = from.index(bytes.len());
                let end = (start + length).min(bytes.len());
                let piece: Vec<u8> = bytes[start..end].to_vec();
                if length % 2 == 0 {
                    bytes.drain(start..end);
                }
                let at = to.index(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            if let Ok(graph) = read(&bytes, format) {
                assert_consistent(&graph);
            }
        }
    }
}
