//! This project's own format.

use std::fmt::Write;

use toml::Value;

use crate::{Graph, Node};

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::with_capacity(200 * graph.links.len());
    write_all(graph, &mut text).unwrap_or_else(|_| unreachable!("writing to a string does not fail"));
    text
}

fn write_all(graph: &Graph, text: &mut String) -> std::fmt::Result {
    writeln!(text, "title = {}", quoted(&graph.title))?;
    for switch in &graph.switches {
        writeln!(text, "\n[[switch]]\nname = {}\nports = {}", quoted(&switch.name), switch.ports.len())?;
        writeln!(text, "coordinates = {:?}", switch.coordinates)?;
    }
    for host in &graph.hosts {
        writeln!(text, "\n[[host]]\nname = {}", quoted(&host.name))?;
    }
    for link in &graph.links {
        writeln!(text, "\n[[link]]")?;
        for (side, end) in [("a", link.a), ("b", link.b)] {
            writeln!(text, "{side} = {}", quoted(graph.name(end.node)))?;
            if matches!(end.node, Node::Switch(_)) {
                writeln!(text, "{side}_port = {}", end.port)?;
            }
        }
        let p = &link.parameters;
        writeln!(text, "rate = \"{}\"\nlatency = \"{}\"\nbuffer = \"{}\"", p.rate, p.latency, p.buffer)?;
        writeln!(text, "packet_overhead = \"{}\"\nreads = {}", p.packet_overhead, p.reads)?;
        if p.bit_error_rate > 0.0 {
            writeln!(text, "bit_error_rate = {:?}", p.bit_error_rate)?;
        }
        if let Some(mtu) = p.mtu {
            writeln!(text, "mtu = \"{mtu}\"")?;
        }
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
