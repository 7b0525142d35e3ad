//! A table of links.

use std::fmt::Write;

use super::attributes;
use crate::{Graph, Node};

pub(super) fn write(graph: &Graph) -> Result<String, String> {
    if let Some(switch) = graph.switches.iter().find(|switch| switch.ports.len() == 1) {
        return Err(format!("the switch {} has one link, as a host has", switch.name));
    }
    let mut text =
        "a,b,a_port,b_port,rate,latency,buffer,packet_overhead,reads,bit_error_rate,mtu\n".to_owned();
    for link in &graph.links {
        let names = [link.a, link.b].map(|end| quoted(graph.name(end.node)));
        let ports = [link.a, link.b].map(|end| match end.node {
            Node::Switch(_) => end.port.to_string(),
            Node::Host(_) => String::new(),
        });
        let _ = write!(text, "{},{},{},{}", names[0], names[1], ports[0], ports[1]);
        for (_, value) in attributes(&link.parameters) {
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// A cell. Names with a comma or a quote, spaces at an end, or a `#` at the begin, are quoted.
fn quoted(name: &str) -> String {
    if name.contains([',', '"']) || name.starts_with('#') || name.trim() != name {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
