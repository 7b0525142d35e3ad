//! Names as NED identifiers.

use std::collections::BTreeSet;

use crate::Graph;

/// Identifiers of switches and hosts.
pub(super) struct Identifiers {
    pub(super) switches: Vec<String>,
    pub(super) hosts: Vec<String>,
}

/// Words that NED keeps for itself (OMNeT++ manual, appendix A).
const KEYWORDS: [&str; 38] = [
    "allowunconnected",
    "bool",
    "channel",
    "channelinterface",
    "connections",
    "const",
    "default",
    "double",
    "exists",
    "extends",
    "false",
    "for",
    "gates",
    "if",
    "import",
    "index",
    "inout",
    "input",
    "int",
    "like",
    "module",
    "moduleinterface",
    "network",
    "nan",
    "inf",
    "nullptr",
    "object",
    "output",
    "package",
    "parameters",
    "parent",
    "property",
    "simple",
    "sizeof",
    "string",
    "submodules",
    "this",
    "true",
];

pub(super) fn identifiers(graph: &Graph) -> Identifiers {
    let mut taken: BTreeSet<String> = KEYWORDS.map(str::to_owned).into();
    let mut number = |name: &str| {
        let wanted = identifier(name);
        let mut unique = wanted.clone();
        let mut n = 2;
        while !taken.insert(unique.clone()) {
            unique = format!("{wanted}_{n}");
            n += 1;
        }
        unique
    };
    let switches = graph.switches.iter().map(|switch| number(&switch.name)).collect();
    let hosts = graph.hosts.iter().map(|host| number(&host.name)).collect();
    Identifiers { switches, hosts }
}

/// `S(0,1)` as `S_0_1`.
fn identifier(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let joined = parts.collect::<Vec<_>>().join("_");
    match joined.chars().next() {
        Some(c) if !c.is_ascii_digit() => joined,
        _ => format!("N{joined}"),
    }
}
