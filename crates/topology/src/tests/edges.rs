//! Tables of links and GraphML, and hosts for graphs without any.

use fabricsim_units::{Bytes, Rate, Time};

use super::common::{assert_consistent, error, graph, neighbours};
use super::files::{assert_error, failure};
use super::round_trip::read;
use crate::{Format, Graph};

pub(super) const CSV: &str = "# four switches in a square
source,target,rate,latency,cables
A,B,100 Gb/s,5 ns,2
B,C,,,
C,D,,5 ns,
D,A,,,1
h1,A,,,
\"h,2\",C,,,
";

pub(super) const GRAPHML: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="kind" attr.type="string"/>
  <key id="d1" for="edge" attr.name="latency" attr.type="string"><default>7 ns</default></key>
  <key id="d2" for="all" attr.name="name" attr.type="string"/>
  <key id="d3" for="node" attr.name="Longitude" attr.type="double"/>
  <graph edgedefault="directed">
    <node id="n0"><data key="d2">A</data><data key="d3">8.5</data></node>
    <node id="n1"><data key="d0">switch</data></node>
    <node id="n2"/>
    <edge source="n0" target="n1"><data key="d1">5 ns</data></edge>
    <edge source="n1" target="n0"><data key="d1">5 ns</data></edge>
    <edge source="n2" target="n0"/>
  </graph>
</graphml>
"#;

fn names(graph: &Graph) -> (Vec<&str>, Vec<&str>) {
    let switches = graph.switches.iter().map(|switch| switch.name.as_str()).collect();
    (switches, graph.hosts.iter().map(|host| host.name.as_str()).collect())
}

fn read_well(text: &str, format: Format) -> Graph {
    let graph = read(text.as_bytes(), format).unwrap_or_else(|error| panic!("{error}"));
    assert_consistent(&graph);
    graph
}

#[test]
fn a_table_of_links_is_read() {
    let graph = read_well(CSV, Format::Csv);
    assert_eq!(names(&graph), (vec!["A", "B", "C", "D"], vec!["h1", "h,2"]));
    assert_eq!(neighbours(&graph, "A"), "B B D h1");
    let of = |index: usize| (graph.links[index].parameters.rate, graph.links[index].parameters.latency);
    let rate: Rate = "100 Gb/s".parse().unwrap();
    assert_eq!([of(2), of(3)], [(rate, Time::ns(5)); 2]);
    assert_eq!((of(4).1, of(5).1), (Time::ns(10), Time::ns(5)));
    let graph = read_well("\u{feff}a,b,buffer\r\nA,B,\r\nA,h,8 KiB\r\nB,i,\r\n", Format::Csv);
    assert_eq!(names(&graph), (vec!["A", "B"], vec!["h", "i"]));
    assert_eq!(graph.links[0].parameters.buffer, Bytes(8192));
}

#[test]
fn what_is_wrong_in_a_table_is_named() {
    let cases = [
        ("source,target", "sorce,target", "graph:2: ", "did you mean `source`?"),
        (
            "rate,latency",
            "rate,latncy",
            "graph:2: ",
            "no column `latncy`: allowed are `source`, `target`, `cables`",
        ),
        ("rate,latency", "rate,latncy", "graph:2: ", "did you mean `latency`?"),
        ("rate,latency", "rate,rate", "graph:2: ", "the column `rate` is there twice"),
        ("B,C,,,", "B,C,,", "graph:4: ", "4 cells: the first line has 5 columns"),
        ("B,C,,,", "B,C,fast,,", "graph:4: ", "rate = `fast`: "),
        ("B,C,,,", "B,C,,,0", "graph:4: ", "cables = 0: must be a whole number from 1 to 1024"),
        ("B,C,,,", ",C,,,", "graph:4: ", "the node at the first end is missing"),
        ("B,C,,,", "B,B,,,", "graph:4: ", "a link joins B to itself"),
        ("D,A,,,1", "D,A*,,,1\nD,A*,,,", "graph:6: ", "the name A* has a `*` in it"),
    ];
    for (from, to, starts, contains) in cases {
        assert_error(CSV, from, to, Format::Csv, starts, contains);
    }
    let ring = "a,b\nA,B\nB,C\nC,A\n";
    assert!(failure(ring, Format::Csv).contains("no node has one link only"));
    assert!(failure("", Format::Csv).contains("the first line names the columns"));
    assert!(failure("a;b\nA;B\n", Format::Csv).contains("columns are separated by commas"));
    assert!(failure("a,b\nA\n", Format::Csv).contains("graph:2: 1 cell: the first line has 2 columns"));
    assert!(failure("a,b\nA,B\n", Format::Csv).contains("no host or no switch"));
    let ports = "a,b,a_port,cables\nA,B,1,2\n";
    assert!(failure(ports, Format::Csv).contains("2 cables cannot share a port"));
}

#[test]
fn graphml_is_read() {
    let graph = read_well(GRAPHML, Format::Graphml);
    assert_eq!(names(&graph), (vec!["A", "n1"], vec!["n2"]));
    assert_eq!(neighbours(&graph, "A"), "n1 n2");
    let latencies: Vec<Time> = graph.links.iter().map(|link| link.parameters.latency).collect();
    assert_eq!(latencies, [Time::ns(7), Time::ns(5)]);
}

/// An edge with `cables`, undirected or in both directions, is that many links.
#[test]
fn edges_of_graphml_may_be_several_cables() {
    let key = "<key id=\"d4\" for=\"edge\" attr.name=\"cables\" attr.type=\"int\"/>\n  <graph ";
    let text = GRAPHML.replace("<graph ", key);
    let three = "</data><data key=\"d4\">3</data></edge>";
    let both = text.replace("</data></edge>", three);
    let graph = read_well(&both, Format::Graphml);
    assert_eq!(neighbours(&graph, "A"), "n1 n1 n1 n2");
    let latencies: Vec<Time> = graph.links.iter().map(|link| link.parameters.latency).collect();
    assert_eq!(latencies, [7, 5, 5, 5].map(Time::ns));
    let of_one = text.replacen("</data></edge>", three, 1);
    assert!(failure(&of_one, Format::Graphml).contains("differ from the opposite direction (line 12)"));
    let single = "<edge source=\"n2\" target=\"n0\" directed=\"false\">";
    for (count, expected) in [
        ("2", ""),
        ("0", "cables = 0: must be a whole number from 1 to 1024"),
        ("2.5", "cables = 2.5: must be a whole number"),
    ] {
        let text = text.replace(
            "<edge source=\"n2\" target=\"n0\"/>",
            &format!("{single}<data key=\"d4\">{count}</data></edge>"),
        );
        match expected {
            // Two links: it is a switch then, unless its kind says otherwise.
            "" => {
                let text =
                    text.replace("<node id=\"n2\"/>", "<node id=\"n2\"><data key=\"d0\">host</data></node>");
                assert!(failure(&text, Format::Graphml).contains("n2"), "a host has one link");
            }
            _ => assert!(
                failure(&text, Format::Graphml).contains(expected),
                "{}",
                failure(&text, Format::Graphml)
            ),
        }
    }
}

#[test]
fn what_is_wrong_in_graphml_is_named() {
    let cases = [
        ("<data key=\"d0\">switch", "<data key=\"d0\">swich", "graph:9: ", "`swich` is no kind of node"),
        ("<node id=\"n2\"/>", "<node id=\"n1\"/>", "graph:10: ", "the node n1 is there twice"),
        ("<node id=\"n2\"/>", "<node id=\"A\"/>", "graph:10: ", "the name A is used twice"),
        ("<node id=\"n2\"/>", "<node/>", "graph:10: ", "a <node> has no id"),
        ("<node id=\"n2\"/>", "<hyperedge/>", "graph:10: ", "<hyperedge> is not supported"),
        ("source=\"n2\"", "source=\"n3\"", "graph:13: ", "there is no node n3"),
        ("source=\"n2\" ", "", "graph:13: ", "an <edge> has no source"),
        ("\"latency\"", "\"Latency\"", "graph:4: ", "did you mean `latency`?"),
        (
            "\"n1\" target=\"n0\"><data key=\"d1\">5 ns",
            "\"n1\" target=\"n0\"><data key=\"d1\">6 ns",
            "graph:12: ",
            "differ from the opposite direction (line 11)",
        ),
        ("</graphml>", "", "graph:", "this is no XML"),
        ("attr.name=\"name\"", "attr.name=\"nmae\"", "graph:5: ", "did you mean `name`?"),
    ];
    for (from, to, starts, contains) in cases {
        assert_error(GRAPHML, from, to, Format::Graphml, starts, contains);
    }
    assert!(failure("<graph/>", Format::Graphml).contains("must be <graphml>"));
    assert!(failure("<graphml/>", Format::Graphml).contains("there is no <graph>"));
    let two = "<graphml><graph/><graph/></graphml>";
    assert!(failure(two, Format::Graphml).contains("a second <graph>"));
}

#[test]
fn hosts_for_every_switch() {
    let of = |text: &str, hosts: &str| {
        format!("[topology.inline]\nformat = \"csv\"\ntext = \"\"\"{text}\"\"\"\n{hosts}")
    };
    let line = graph(&of("a,b\nA,B\nB,C\n", "hosts_per_switch = 2"));
    assert_consistent(&line);
    assert_eq!(names(&line), (vec!["A", "B", "C"], vec!["A.0", "A.1", "B.0", "B.1", "C.0", "C.1"]));
    assert_eq!((neighbours(&line, "A"), neighbours(&line, "B")), ("A.0 A.1 B".into(), "B.0 B.1 A C".into()));
    let ring = of("a,b\nA,B\nB,C\nC,A\n", "hosts_per_switch = 0");
    assert!(error(&ring).contains("topology.inline.hosts_per_switch: 0 is not allowed"), "{}", error(&ring));
    let text = "[[switch]]\nname = \"A\"\n[[host]]\nname = \"h\"\n[[link]]\na = \"A\"\nb = \"h\"";
    let text = format!("[topology.inline]\nformat = \"toml\"\ntext = '''{text}'''");
    assert_eq!(names(&graph(&text)), (vec!["A"], vec!["h"]));
    let both = error(&format!("{text}\nhosts_per_switch = 1"));
    assert_eq!(
        both,
        "test.toml: topology.inline.text:3: h is a host: hosts_per_switch is for graphs without hosts"
    );
}
