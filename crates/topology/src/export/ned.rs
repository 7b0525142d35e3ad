//! OMNeT++ NED of the InfiniBand model, in the form of the thesis' scripts.

use std::fmt::Write;

use super::layout::layout;
use super::names::{Identifiers, identifiers};
use crate::{End, Graph, Node};

/// Distance of two switches in a drawing, in OMNeT++'s units (appendix A of the thesis).
const SPACING: (f64, f64) = (160.0, 120.0);

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::with_capacity(100 * graph.links.len());
    write_all(graph, &mut text).unwrap_or_else(|_| unreachable!("writing to a string does not fail"));
    text
}

fn write_all(graph: &Graph, text: &mut String) -> std::fmt::Result {
    let names = identifiers(graph);
    let places: Vec<(u32, u32)> = layout(graph).into_iter().map(place).collect();
    writeln!(text, "// {}", graph.title.replace(|c: char| c.is_control(), " "))?;
    writeln!(text, "package networks;\n\nimport src.HCA;\nimport src.Switch;\n\nnetwork FABRIC\n{{")?;
    writeln!(text, "    submodules:")?;
    for (host, name) in graph.hosts.iter().zip(&names.hosts) {
        let (x, y) = places[host.switch.index()];
        let (x, y) = (x - 84, y - 20 + u32::from(host.port.0) * 60);
        writeln!(text, "        {name}: HCA {{\n            @display(\"p={x},{y}\");\n        }}")?;
    }
    for ((switch, name), (x, y)) in graph.switches.iter().zip(&names.switches).zip(&places) {
        let ports = switch.ports.len();
        writeln!(text, "        {name}: Switch {{")?;
        writeln!(text, "            parameters:\n                numSwitchPorts = {ports};")?;
        writeln!(text, "                @display(\"p={x},{y};i=abstract/switch\");")?;
        writeln!(text, "            gates:\n                in[{ports}];\n                out[{ports}];")?;
        writeln!(text, "        }}")?;
    }
    writeln!(text, "    connections:")?;
    for link in &graph.links {
        let delay = link.parameters.latency.to_string().replace(' ', "");
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let (from, to) = (gate(from, "out", &names), gate(to, "in", &names));
            writeln!(text, "        {from} --> {{ delay = {delay}; }} --> {to};")?;
        }
    }
    writeln!(text, "}}")
}

fn place((column, row): (f64, f64)) -> (u32, u32) {
    let at = |units: f64| units.min(1e8) as u32 + 120;
    (at(column * SPACING.0), at(row * SPACING.1))
}

fn gate(end: End, gate: &str, names: &Identifiers) -> String {
    match end.node {
        Node::Host(host) => format!("{}.{gate}", names.hosts[host.index()]),
        Node::Switch(switch) => format!("{}.{gate}[{}]", names.switches[switch.index()], end.port),
    }
}
