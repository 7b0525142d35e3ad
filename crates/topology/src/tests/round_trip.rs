//! Written and read again.

use fabricsim_spec::Links;
use fabricsim_units::Bytes;
use proptest::prelude::*;

use super::common::{assert_consistent, graph, neighbours};
use crate::{Defaults, Format, Graph, LinkClass, Shape, export, parse};

pub(crate) fn read(bytes: &[u8], format: Format) -> Result<Graph, String> {
    let links = Links::default();
    let defaults = Defaults { links: &links, flow_control_unit: Bytes(64), file: "test.toml" };
    parse(bytes, format, "graph", &defaults).map_err(|e| e.to_string())
}

fn write(graph: &Graph, format: Format) -> String {
    export(graph, format).unwrap_or_else(|e| panic!("{e}"))
}

fn again(graph: &Graph, format: Format) -> Graph {
    let text = write(graph, format);
    let read = read(text.as_bytes(), format).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_consistent(&read);
    read
}

/// The graph as a file can hold it.
fn without_shape(mut graph: Graph) -> Graph {
    graph.shape = Shape::Irregular;
    for link in graph.links.iter_mut().filter(|link| link.class != LinkClass::Host) {
        link.class = LinkClass::Plain;
    }
    graph
}

fn topologies() -> impl Strategy<Value = String> {
    let sides = proptest::collection::vec(1_u32..5, 1..4);
    let grid = (sides, any::<u8>(), 1_u32..4).prop_map(|(sides, bits, hosts)| {
        let wrap: Vec<bool> = (0..sides.len()).map(|d| bits >> d & 1 == 1).collect();
        format!("[topology.grid]\ndimensions = {sides:?}\nwrap = {wrap:?}\nhosts_per_switch = {hosts}")
    });
    let tree = (proptest::collection::vec((1_u32..4, 1_u32..4), 1..4)).prop_map(|numbers| {
        let (children, mut parents): (Vec<u32>, Vec<u32>) = numbers.into_iter().unzip();
        parents[0] = 1;
        format!("[topology.xgft]\nchildren = {children:?}\nparents = {parents:?}")
    });
    let named = [1, 2, 3].map(|n| format!("{n} ns")).to_vec();
    let flies = [
        "dragonfly]\np = 2\na = 3\nh = 1",
        "megafly]\np = 1\nleaves = 2\nspines = 2\nh = 1",
        "hyperx]\ndimensions = [3, 2]",
        "slim-fly]\nq = 3",
        "jellyfish]\nswitches = 8\ndegree = 3",
        "xpander]\ndegree = 3\nlift = 2",
    ];
    let flies = proptest::sample::select(flies.map(|fly| format!("[topology.{fly}")).to_vec());
    (prop_oneof![grid, tree, flies], proptest::sample::select(named)).prop_map(|(topology, latency)| {
        format!("{topology}\n[links.hosts]\nlatency = \"{latency}\"\nbuffer = \"5000 B\"")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn toml_keeps_everything_but_the_shape(topology in topologies()) {
        let graph = without_shape(graph(&topology));
        prop_assert_eq!(again(&graph, Format::Toml), graph);
    }

    #[test]
    fn graphml_keeps_everything_but_shape_and_title(topology in topologies()) {
        let graph = without_shape(graph(&topology));
        let read = again(&graph, Format::Graphml);
        prop_assert_eq!(Graph { title: graph.title.clone(), ..read }, graph);
    }

    #[test]
    fn a_table_keeps_links_with_ports_and_attributes(topology in topologies()) {
        let graph = without_shape(graph(&topology));
        let is_leaf = graph.switches.iter().any(|switch| switch.ports.len() == 1);
        prop_assert_eq!(export(&graph, Format::Csv).is_err(), is_leaf);
        if !is_leaf {
            let named = |graph: &Graph| {
                let end = |end: crate::End| (graph.name(end.node).to_owned(), end.port);
                let links = graph.links.iter().map(|l| (end(l.a), end(l.b), l.parameters.clone()));
                links.collect::<Vec<_>>()
            };
            prop_assert_eq!(named(&again(&graph, Format::Csv)), named(&graph));
        }
    }

    #[test]
    fn ned_keeps_ports_and_latencies(topology in topologies()) {
        let graph = without_shape(graph(&topology));
        let read = again(&graph, Format::Ned);
        let plain = |graph: &Graph| {
            let ends = graph.links.iter().map(|l| (l.a, l.b, l.class, l.parameters.latency)).collect::<Vec<_>>();
            let hosts = graph.hosts.iter().map(|h| (h.switch, h.port, h.link)).collect::<Vec<_>>();
            (ends, hosts)
        };
        prop_assert_eq!(plain(&read), plain(&graph));
        let once_more = again(&read, Format::Ned);
        prop_assert_eq!(&once_more.switches.iter().map(|s| &s.name).collect::<Vec<_>>(),
            &read.switches.iter().map(|s| &s.name).collect::<Vec<_>>());
    }

    #[test]
    fn anynet_keeps_who_is_joined_to_whom(topology in topologies()) {
        let mut graph = without_shape(graph(&topology));
        for (i, switch) in graph.switches.iter_mut().enumerate() {
            switch.name = format!("R{i}");
        }
        for (i, host) in graph.hosts.iter_mut().enumerate() {
            host.name = format!("N{i}");
        }
        let sorted = |graph: &Graph, switch: &str| {
            let mut names: Vec<String> = neighbours(graph, switch).split(' ').map(str::to_owned).collect();
            names.sort();
            names
        };
        let twice = graph.switches.iter().any(|s| {
            let mut names = sorted(&graph, &s.name);
            let all = names.len();
            names.dedup();
            names.len() < all
        });
        if twice {
            let error = export(&graph, Format::Anynet).unwrap_err().to_string();
            prop_assert!(error.contains("are joined twice"), "{}", error);
        } else {
            let read = again(&graph, Format::Anynet);
            for switch in &graph.switches {
                prop_assert_eq!(sorted(&read, &switch.name), sorted(&graph, &switch.name));
            }
            prop_assert_eq!(write(&again(&read, Format::Anynet), Format::Anynet), write(&read, Format::Anynet));
        }
    }
}

#[test]
fn thesis_names_survive_ned() {
    let mesh = graph("[topology.mesh]\ndimensions = [3, 3, 3]\nhosts_per_switch = 2\nnaming = \"thesis\"");
    let read = again(&mesh, Format::Ned);
    assert_eq!(read.hosts, mesh.hosts);
    for switch in &mesh.switches {
        assert_eq!(neighbours(&read, &switch.name), neighbours(&mesh, &switch.name));
    }
}

#[test]
fn forms() {
    let mesh = graph("[topology.mesh]\ndimensions = [2, 1]\n[links.hosts]\nlatency = \"5 ns\"");
    let toml = write(&mesh, Format::Toml);
    let text = [Format::Ned, Format::Anynet, Format::Dot].map(|format| write(&mesh, format)).join("\n");
    insta::assert_snapshot!(format!("{text}\n{toml}"));
}
