//! BookSim 2 `anynet`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Graph, Node};

pub(super) fn write(graph: &Graph) -> Result<String, String> {
    let cycle = graph.links.iter().fold(0, |divisor, link| gcd(divisor, link.parameters.latency.0)).max(1);
    let mut text = String::new();
    for (index, switch) in graph.switches.iter().enumerate() {
        let at = |link: &fabricsim_units::LinkId| &graph.links[link.index()];
        let mut neighbours = BTreeMap::new();
        for link in &switch.ports {
            let here = at(link);
            let other = if here.a.node == Node::Switch(fabricsim_units::SwitchId(index as u32)) {
                here.b.node
            } else {
                here.a.node
            };
            let thing = match other {
                Node::Host(host) => (0, host.0),
                Node::Switch(switch) => (1, switch.0),
            };
            if neighbours.insert(thing, here.parameters.latency.0 / cycle).is_some() {
                return Err(format!("{} and {} are joined twice", switch.name, graph.name(other)));
            }
        }
        let _ = write!(text, "router {index}");
        for ((kind, number), cycles) in neighbours {
            let _ = write!(text, " {} {number}", ["node", "router"][kind]);
            if cycles != 1 {
                let _ = write!(text, " {cycles}");
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
