//! GraphML.

use std::fmt::Write;

use fabricsim_units::{HostId, SwitchId};

use super::attributes;
use crate::{Graph, Node};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="coordinates" for="node" attr.name="coordinates" attr.type="string"/>
"#;

/// Attributes of edges.
const KEYS: [&str; 9] =
    ["a_port", "b_port", "rate", "latency", "buffer", "packet_overhead", "reads", "bit_error_rate", "mtu"];

pub(super) fn write(graph: &Graph) -> String {
    let mut text = HEAD.to_owned();
    write_all(graph, &mut text).unwrap_or_else(|_| unreachable!("writing to a string does not fail"));
    text
}

fn write_all(graph: &Graph, text: &mut String) -> std::fmt::Result {
    for key in KEYS {
        writeln!(text, "  <key id=\"{key}\" for=\"edge\" attr.name=\"{key}\" attr.type=\"string\"/>")?;
    }
    writeln!(text, "  <graph edgedefault=\"undirected\">")?;
    for (index, switch) in (0..).zip(&graph.switches) {
        let places: Vec<String> = switch.coordinates.iter().map(u32::to_string).collect();
        node(text, Node::Switch(SwitchId(index)), (&switch.name, "switch"), &places.join(","))?;
    }
    for (index, host) in (0..).zip(&graph.hosts) {
        node(text, Node::Host(HostId(index)), (&host.name, "host"), "")?;
    }
    for link in &graph.links {
        writeln!(text, "    <edge source=\"{}\" target=\"{}\">", id(link.a.node), id(link.b.node))?;
        for (key, end) in [("a_port", link.a), ("b_port", link.b)] {
            if matches!(end.node, Node::Switch(_)) {
                data(text, key, &end.port.to_string())?;
            }
        }
        for (key, value) in attributes(&link.parameters) {
            data(text, key, &value)?;
        }
        writeln!(text, "    </edge>")?;
    }
    writeln!(text, "  </graph>\n</graphml>")
}

fn node(text: &mut String, node: Node, (name, kind): (&str, &str), coordinates: &str) -> std::fmt::Result {
    writeln!(text, "    <node id=\"{}\">", id(node))?;
    data(text, "name", name)?;
    data(text, "kind", kind)?;
    data(text, "coordinates", coordinates)?;
    writeln!(text, "    </node>")
}

/// An attribute, if it has a value.
fn data(text: &mut String, key: &str, value: &str) -> std::fmt::Result {
    if value.is_empty() {
        return Ok(());
    }
    let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(text, "      <data key=\"{key}\">{value}</data>")
}

fn id(node: Node) -> String {
    match node {
        Node::Switch(switch) => format!("s{}", switch.0),
        Node::Host(host) => format!("h{}", host.0),
    }
}
