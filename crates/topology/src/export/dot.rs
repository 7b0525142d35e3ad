//! Graphviz; `neato -n` keeps the positions.

use std::fmt::Write;

use super::layout::layout;
use crate::{Graph, Node};

/// Points between neighbours in a drawing.
const SPACING: f64 = 100.0;

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::with_capacity(150 * graph.links.len());
    write_all(graph, &mut text).unwrap_or_else(|_| unreachable!("writing to a string does not fail"));
    text
}

fn write_all(graph: &Graph, text: &mut String) -> std::fmt::Result {
    writeln!(text, "graph fabric {{\n  label={};", quoted(&graph.title))?;
    writeln!(text, "  node [fontsize=10, fontname=\"sans-serif\"];\n  edge [fontsize=7];")?;
    let place = |(column, row): (f64, f64)| (column * SPACING, 0.0 - row * SPACING);
    let places: Vec<(f64, f64)> = layout(graph).into_iter().map(place).collect();
    for (switch, (x, y)) in graph.switches.iter().zip(&places) {
        writeln!(text, "  {} [shape=box, pos=\"{x:.0},{y:.0}\"];", quoted(&switch.name))?;
    }
    for host in &graph.hosts {
        let (x, y) = places[host.switch.index()];
        let angle = 0.6 + 0.7 * f64::from(host.port.0);
        let (x, y) = (x + 35.0 * angle.cos(), y + 35.0 * angle.sin());
        writeln!(text, "  {} [shape=ellipse, pos=\"{x:.0},{y:.0}\"];", quoted(&host.name))?;
    }
    for link in &graph.links {
        let p = &link.parameters;
        let mut labels = String::new();
        for (side, end) in [("taillabel", link.a), ("headlabel", link.b)] {
            if matches!(end.node, Node::Switch(_)) {
                write!(labels, "{side}=\"{}\", ", end.port)?;
            }
        }
        let (a, b) = (quoted(graph.name(link.a.node)), quoted(graph.name(link.b.node)));
        writeln!(text, "  {a} -- {b} [{labels}tooltip=\"{}, {}\"];", p.rate, p.latency)?;
    }
    writeln!(text, "}}")
}

/// A Graphviz string: only the quote needs escaping, and a backslash that would escape it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}
