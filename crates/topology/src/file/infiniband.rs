//! InfiniBand subnets: files of `ibnetdiscover`, ibsim and OpenSM, see [`Format::Subnet`](super::Format::Subnet).

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_subnet::{FileError, NodeId, PortId, Subnet};

use super::draft::{Draft, DraftEnd, DraftHost, DraftLink, DraftSwitch};
use crate::Identity;

/// A subnet's graph before it is checked, and its identity.
pub(super) fn read(bytes: &[u8], file: &str) -> Result<(Draft, Identity), SpecError> {
    let import = fabricsim_subnet::read(bytes, file).map_err(|error| of_file(&error))?;
    draft(import.subnet, file)
}

/// An error of the subnet's reader as one of the experiment.
fn of_file(error: &FileError) -> SpecError {
    SpecError::at_line(&error.file, error.line.unwrap_or(1), error.problem.to_string())
}

/// The graph of the nodes that have cables: switches, then the ports of adapters and routers, in the order of the file.
fn draft(subnet: Subnet, file: &str) -> Result<(Draft, Identity), SpecError> {
    let names = names(&subnet);
    let (mut switches, mut hosts, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    let mut draft = Draft { title: title(&subnet), ..Draft::default() };
    for (id, node) in subnet.ids() {
        let connected: Vec<u8> = connected(&subnet, id).collect();
        if connected.is_empty() {
            continue;
        }
        if node.is_switch() {
            let (name, line) = (names[&PortId { node: id, port: 0 }].clone(), node.line);
            let count = Some(connected.len() as u64);
            draft.switches.push(DraftSwitch { name, line, ports: count, coordinates: None });
            switches.push(id);
            ports.push(connected);
            continue;
        }
        for port in connected {
            let port = PortId { node: id, port };
            draft.hosts.push(DraftHost { name: names[&port].clone(), line: node.line });
            hosts.push(port);
        }
    }
    let identity = Identity { subnet, switches, hosts, ports };
    draft.links = links(&identity, &names, file)?;
    Ok((draft, identity))
}

/// Ports of a node with a cable to another node.
fn connected(subnet: &Subnet, id: NodeId) -> impl Iterator<Item = u8> {
    let ports = subnet.node(id).ports.iter().enumerate();
    ports
        .filter(move |(_, port)| port.peer.is_some_and(|peer| peer.node != id))
        .map(|(number, _)| number as u8)
}

fn title(subnet: &Subnet) -> String {
    let counts = subnet.counts();
    format!("subnet of {} switches, {} adapters, {} cables", counts.switches, counts.adapters, counts.cables)
}

fn links(
    identity: &Identity,
    names: &BTreeMap<PortId, String>,
    file: &str,
) -> Result<Vec<DraftLink>, SpecError> {
    let (subnet, by_node) = (&identity.subnet, identity.by_node());
    let end = |id: PortId| match by_node.get(&id.node) {
        Some(&switch) => {
            let node = names[&PortId { node: id.node, port: 0 }].clone();
            DraftEnd { node, port: identity.port(switch, id.port).map(|port| u64::from(port.0)) }
        }
        None => DraftEnd { node: names[&id].clone(), port: None },
    };
    let link = |(a, b): (PortId, PortId)| {
        let line = subnet.node(a.node).line;
        if !by_node.contains_key(&a.node) && !by_node.contains_key(&b.node) {
            let message = format!(
                "{} and {} are joined without a switch: a simulated fabric has at least one",
                names[&a], names[&b]
            );
            return Err(SpecError::at_line(file, line, message));
        }
        let known =
            [a, b].map(|id| subnet.port(id)).into_iter().find_map(|port| Some((port.speed?, port.width?)));
        let rate = known.map(|(speed, width)| speed.data_rate(width));
        Ok(DraftLink {
            ends: [end(a), end(b)],
            line,
            given: LinkOverride { rate, ..LinkOverride::default() },
        })
    };
    subnet.cables().filter(|(a, b)| a.node != b.node).map(link).collect()
}

/// Unique names: descriptions, with the number of the port for adapters with several in use, and with the GUID where two nodes
/// have the same. Under port 0 the name of a switch.
fn names(subnet: &Subnet) -> BTreeMap<PortId, String> {
    let mut names = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (id, node) in subnet.ids() {
        let several = connected(subnet, id).count() > 1;
        let described = printable(&node.description);
        let own = if described.is_empty() { node.guid.to_string() } else { described };
        let ports = if node.is_switch() { vec![0] } else { connected(subnet, id).collect() };
        for port in ports {
            let suffix = if several && port > 0 { format!("/{port}") } else { String::new() };
            let plain = format!("{own}{suffix}");
            let name = if used.contains(&plain) { format!("{own} {}{suffix}", node.guid) } else { plain };
            used.insert(name.clone());
            names.insert(PortId { node: id, port }, name);
        }
    }
    names
}

/// A description without the characters that patterns and flows use, and without those that cannot be printed.
fn printable(description: &str) -> String {
    let replaced = description.replace("->", "-").replace('*', "_");
    replaced.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{HostId, PortNo, SwitchId};

    use crate::file::{Format, parse};
    use crate::links::Defaults;
    use crate::{Graph, Node};

    const TWO: &str = r#"
# Topology file: generated on Wed Aug  6 16:11:23 2025
switchguid=0x10(10)
Switch	36 "S-0000000000000010"		# "leaf # 1; left" enhanced port 0 lid 3 lmc 0
[7]	"H-0000000000000020"[1](21) 		# "node * 1" lid 5 4xFDR
[9]	"H-0000000000000020"[2](22) 		# "node * 1" lid 6 4xFDR
[30]	"S-0000000000000011"[2]		# "leaf # 1; left" lid 4 4xQDR

switchguid=0x11(11)
Switch	36 "S-0000000000000011"		# "leaf # 1; left" enhanced port 0 lid 4 lmc 0
[2]	"S-0000000000000010"[30]		# "leaf # 1; left" lid 3 4xQDR
[36]	"H-0000000000000030"[1](31) 		# "node 2" lid 7 4xHDR

caguid=0x20
Ca	2 "H-0000000000000020"		# "node * 1"
[1](21) 	"S-0000000000000010"[7]		# lid 5 lmc 0 "leaf # 1; left" lid 3 4xFDR
[2](22) 	"S-0000000000000010"[9]		# lid 6 lmc 0 "leaf # 1; left" lid 3 4xFDR

caguid=0x30
Ca	1 "H-0000000000000030"		# "node 2"
[1](31) 	"S-0000000000000011"[36]		# lid 7 lmc 0 "leaf # 1; left" lid 4 4xHDR
"#;

    fn read(text: &str) -> Result<Graph, fabricsim_spec::SpecError> {
        let links = fabricsim_spec::Links::default();
        let defaults = Defaults {
            links: &links,
            flow_control_unit: fabricsim_units::Bytes(64),
            file: "experiment.toml",
        };
        parse(text.as_bytes(), Format::Subnet, "fabric.txt", &defaults)
    }

    #[test]
    fn names_rates_and_physical_ports_stay() {
        let graph = read(TWO).unwrap();
        let identity = graph.identity.as_ref().unwrap();
        let names: Vec<&str> = graph.switches.iter().map(|switch| switch.name.as_str()).collect();
        assert_eq!(names, ["leaf # 1; left", "leaf # 1; left 0x0000000000000011"]);
        let hosts: Vec<&str> = graph.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(hosts, ["node _ 1/1", "node _ 1/2", "node 2"]);
        assert_eq!(identity.ports, [vec![7, 9, 30], vec![2, 36]]);
        assert_eq!(identity.port(SwitchId(0), 9), Some(PortNo(1)));
        assert_eq!((identity.port(SwitchId(0), 8), identity.number(SwitchId(1), PortNo(1))), (None, 36));
        assert_eq!([0, 1, 2].map(|host| identity.lid(HostId(host))), [5, 6, 7]);
        let gbps: Vec<u64> =
            graph.links.iter().map(|link| link.parameters.rate.as_gbps().round() as u64).collect();
        assert_eq!(gbps, [55, 55, 200, 32]);
        assert!(matches!(graph.links[3].a.node, Node::Switch(_)));
    }

    #[test]
    fn adapters_without_a_switch_are_refused() {
        let text = "caguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"a\"\n[1](21) \t\"H-0000000000000030\"[1](31) \t\t# lid 1 lmc 0 \"b\" lid 2 4xEDR\n\n\
                    caguid=0x30\nCa\t1 \"H-0000000000000030\"\t\t# \"b\"\n[1](31) \t\"H-0000000000000020\"[1](21) \t\t# lid 2 lmc 0 \"a\" lid 1 4xEDR\n";
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with("fabric.txt") && error.contains("without a switch"), "{error}");
    }
}
