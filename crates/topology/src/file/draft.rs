//! A graph as read from a file, not yet checked.

use std::collections::BTreeMap;

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_units::{Bytes, HostId, LinkId, PortNo, SwitchId, nearest};

use crate::assemble::UNPLUGGED;
use crate::limits::{MAX_NODES, MAX_PORTS};
use crate::links::{ByClass, check_parameters};
use crate::{End, Graph, HostNode, Link, LinkClass, Node, Shape, SwitchNode};

/// Nodes and links, each with the line (from 1) that it is on.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) title: String,
    pub(super) switches: Vec<DraftSwitch>,
    pub(super) hosts: Vec<DraftHost>,
    pub(super) links: Vec<DraftLink>,
}

pub(super) struct DraftSwitch {
    pub(super) name: String,
    pub(super) line: usize,
    /// Number of its ports; else the number that is used.
    pub(super) ports: Option<u64>,
    pub(super) coordinates: Option<Vec<u32>>,
}

pub(super) struct DraftHost {
    pub(super) name: String,
    pub(super) line: usize,
}

#[derive(Clone)]
pub(super) struct DraftLink {
    pub(super) ends: [DraftEnd; 2],
    pub(super) line: usize,
    pub(super) given: LinkOverride,
}

#[derive(Clone)]
pub(super) struct DraftEnd {
    pub(super) node: String,
    /// Else the lowest free port.
    pub(super) port: Option<u64>,
}

/// A link whose ends are known.
struct Resolved {
    ends: [(Node, Option<u64>); 2],
    line: usize,
    given: LinkOverride,
}

/// Maximum number of names searched for the nearest one in a message.
const SEARCHED: usize = 100_000;

impl Draft {
    /// Adds hosts to every switch, `<switch>.0` and so on, at its first ports.
    pub(super) fn add_hosts(&mut self, per_switch: u32) {
        let mut links = Vec::with_capacity(self.switches.len() * per_switch as usize + self.links.len());
        for switch in &self.switches {
            for number in 0..per_switch {
                let (name, line) = (format!("{}.{number}", switch.name), switch.line);
                let ends = [&name, &switch.name].map(|node| DraftEnd { node: node.clone(), port: None });
                links.push(DraftLink { ends, line, given: LinkOverride::default() });
                self.hosts.push(DraftHost { name, line });
            }
        }
        links.append(&mut self.links);
        self.links = links;
    }

    /// Checks everything and numbers the links: those of the hosts first, by host, then the others in file order.
    pub(super) fn finish(self, file: &str, parameters: &ByClass, unit: Bytes) -> Result<Graph, SpecError> {
        let fail = |line: usize, message: String| SpecError::at_line(file, line, message);
        if (self.switches.len() + self.hosts.len()) as u64 > MAX_NODES {
            return Err(fail(1, format!("at most {MAX_NODES} switches and hosts are allowed")));
        }
        if self.hosts.is_empty() || self.switches.is_empty() {
            return Err(fail(1, "no host or no switch: a fabric has at least one of each".to_owned()));
        }
        let names = self.names().map_err(|(line, message)| fail(line, message))?;
        let Self { title, switches, hosts, links } = self;
        let mut resolved = Vec::with_capacity(links.len());
        for link in links {
            let line = link.line;
            check_parameters(&link.given, unit)
                .map_err(|(key, message)| fail(line, format!("{key}: {message}")))?;
            resolved.push(resolve(link, &names).map_err(|message| fail(line, message))?);
        }
        let mut of_host: Vec<Option<usize>> = vec![None; hosts.len()];
        let mut others = Vec::new();
        for (index, link) in resolved.iter().enumerate() {
            let Node::Host(host) = link.ends[0].0 else {
                others.push(index);
                continue;
            };
            if let Some(first) = of_host[host.index()].replace(index) {
                let (name, first) = (&hosts[host.index()].name, resolved[first].line);
                let message =
                    format!("host {name} has a second link (the first is on line {first}): it has one");
                return Err(fail(link.line, message));
            }
        }
        let without = of_host.iter().position(Option::is_none);
        if let Some(host) = without.map(|index| &hosts[index]) {
            return Err(fail(
                host.line,
                format!("host {} has no link: it needs one, to a switch", host.name),
            ));
        }
        let order: Vec<usize> = of_host.into_iter().flatten().chain(others).collect();
        let mut plugs = plug(&switches, &resolved).map_err(|(line, message)| fail(line, message))?;
        let links = number(&order, &resolved, parameters, &mut plugs);
        let graph = assemble(title, switches, hosts, links, plugs);
        connected(&graph).map_err(|message| fail(1, message))?;
        Ok(graph)
    }

    fn names(&self) -> Result<BTreeMap<String, (Node, usize)>, (usize, String)> {
        let switches = (0..).zip(&self.switches).map(|(i, s)| (&s.name, Node::Switch(SwitchId(i)), s.line));
        let hosts = (0..).zip(&self.hosts).map(|(i, h)| (&h.name, Node::Host(HostId(i)), h.line));
        let mut names = BTreeMap::new();
        for (name, node, line) in switches.chain(hosts) {
            check_name(name).map_err(|message| (line, message))?;
            if let Some((_, first)) = names.insert(name.clone(), (node, line)) {
                let message =
                    format!("the name {name} is used twice (first on line {first}): names are unique");
                return Err((line, message));
            }
        }
        Ok(names)
    }
}

/// Refuses names that no key could refer to: patterns have a `*`, and flows and links an arrow between two names.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    let reserved = ["*", "->"].into_iter().find(|reserved| name.contains(reserved));
    match reserved {
        Some(reserved) => {
            Err(format!("the name {name} has a `{reserved}` in it: patterns and flows use that"))
        }
        None if name.chars().any(char::is_control) => {
            Err(format!("the name {name:?} has a character in it that cannot be printed"))
        }
        None => Ok(()),
    }
}

/// Finds a link's nodes; a host becomes the first end.
fn resolve(link: DraftLink, names: &BTreeMap<String, (Node, usize)>) -> Result<Resolved, String> {
    let find = |end: &DraftEnd| match names.get(&end.node) {
        Some((node, _)) => Ok((*node, end.port)),
        None => Err(match nearest(&end.node, names.keys().take(SEARCHED).map(String::as_str)) {
            Some(name) => format!("no node {}; did you mean {name}?", end.node),
            None => format!("no node {}", end.node),
        }),
    };
    let mut ends = [find(&link.ends[0])?, find(&link.ends[1])?];
    if matches!(ends[1].0, Node::Host(_)) {
        ends.swap(0, 1);
    }
    let [a, b] = &link.ends;
    match (ends[0].0, ends[1].0) {
        (Node::Host(_), Node::Host(_)) => {
            Err(format!("{} and {} are both hosts: a host's link goes to a switch", a.node, b.node))
        }
        (one, other) if one == other => Err(format!("a link joins {} to itself", a.node)),
        (Node::Host(_), _) if ends[0].1.is_some_and(|port| port != 0) => {
            Err(format!("a host has port 0 only, not {}", ends[0].1.unwrap_or_default()))
        }
        _ => Ok(Resolved { ends, line: link.line, given: link.given }),
    }
}

/// Content of each port of each switch: a link of the file and one of its ends. Ports that are given come first, the other
/// links take the lowest free ones.
struct Plugs {
    /// For each link, the ports of its ends.
    ports: Vec<[u64; 2]>,
    /// For each switch, the number of its ports.
    counts: Vec<u64>,
}

fn plug(switches: &[DraftSwitch], links: &[Resolved]) -> Result<Plugs, (usize, String)> {
    let mut used: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); switches.len()];
    let mut ports = vec![[0; 2]; links.len()];
    for explicit in [true, false] {
        for (index, link) in links.iter().enumerate() {
            for (side, &(node, port)) in link.ends.iter().enumerate() {
                let Node::Switch(switch) = node else { continue };
                if port.is_some() != explicit {
                    continue;
                }
                let (used, switch) = (&mut used[switch.index()], &switches[switch.index()]);
                let port = port.unwrap_or_else(|| lowest_free(used));
                check_port(switch, port, link.line)?;
                if let Some(other) = used.insert(port, link.line) {
                    let message =
                        format!("port {port} of {} is used twice (first on line {other})", switch.name);
                    return Err((link.line, message));
                }
                ports[index][side] = port;
            }
        }
    }
    let mut counts = Vec::with_capacity(switches.len());
    for (switch, used) in switches.iter().zip(&used) {
        let count = switch.ports.unwrap_or_else(|| used.keys().next_back().map_or(0, |last| last + 1));
        if used.len() as u64 != count {
            let message = format!(
                "port {} of {} has no link: each of its {count} ports needs one",
                lowest_free(used),
                switch.name
            );
            return Err((switch.line, message));
        }
        counts.push(count);
    }
    Ok(Plugs { ports, counts })
}

fn lowest_free(used: &BTreeMap<u64, usize>) -> u64 {
    let dense = used.keys().next_back().is_none_or(|&last| last + 1 == used.len() as u64);
    if dense {
        return used.len() as u64;
    }
    (0..).zip(used.keys()).find(|(free, port)| free != *port).map_or(used.len() as u64, |(free, _)| free)
}

fn check_port(switch: &DraftSwitch, port: u64, line: usize) -> Result<(), (usize, String)> {
    let name = &switch.name;
    match switch.ports {
        Some(ports) if ports > MAX_PORTS => {
            Err((switch.line, format!("{name} has {ports} ports: at most {MAX_PORTS} are allowed")))
        }
        Some(ports) if port >= ports => {
            Err((line, format!("no port {port} at {name}: it has {ports} ports, from 0")))
        }
        _ if port >= MAX_PORTS => {
            Err((line, format!("port {port} of {name} is not allowed: ports are 0 to {}", MAX_PORTS - 1)))
        }
        _ => Ok(()),
    }
}

/// Links in their final order.
fn number(order: &[usize], resolved: &[Resolved], parameters: &ByClass, plugs: &mut Plugs) -> Vec<Link> {
    let make = |&index: &usize| {
        let link = &resolved[index];
        let end =
            |side: usize| End { node: link.ends[side].0, port: PortNo(plugs.ports[index][side] as u16) };
        let (class, base) = match link.ends[0].0 {
            Node::Host(_) => (LinkClass::Host, &parameters.hosts),
            Node::Switch(_) => (LinkClass::Plain, &parameters.switches[0]),
        };
        let mut parameters = base.clone();
        link.given.apply(&mut parameters);
        Link { a: end(0), b: end(1), class, parameters }
    };
    order.iter().map(make).collect()
}

fn assemble(
    title: String,
    switches: Vec<DraftSwitch>,
    hosts: Vec<DraftHost>,
    links: Vec<Link>,
    plugs: Plugs,
) -> Graph {
    let mut places = places(&switches).into_iter();
    let mut place = |given: Option<Vec<u32>>| {
        let default = places.next().unwrap_or_default();
        given.unwrap_or(default)
    };
    let mut switches: Vec<SwitchNode> = switches
        .into_iter()
        .zip(plugs.counts)
        .map(|(switch, count)| SwitchNode {
            name: switch.name,
            coordinates: place(switch.coordinates),
            ports: vec![UNPLUGGED; count as usize],
        })
        .collect();
    for (index, link) in (0..).zip(&links) {
        for end in [link.a, link.b] {
            if let Node::Switch(switch) = end.node {
                switches[switch.index()].ports[end.port.index()] = LinkId(index);
            }
        }
    }
    let host = |(index, host): (u32, DraftHost)| {
        let end = links[index as usize].b;
        let switch = if let Node::Switch(switch) = end.node { switch } else { SwitchId(0) };
        HostNode { name: host.name, switch, port: end.port, link: LinkId(index) }
    };
    let hosts: Vec<HostNode> = (0..).zip(hosts).map(host).collect();
    let title =
        if title.is_empty() { format!("{} switches, {} hosts", switches.len(), hosts.len()) } else { title };
    Graph { title, switches, hosts, links, shape: Shape::Irregular, identity: None }
}

/// Positions in a square, for switches that have none.
fn places(switches: &[DraftSwitch]) -> Vec<Vec<u32>> {
    let side = (switches.len() as u32).isqrt().max(1);
    (0..switches.len() as u32).map(|i| vec![i % side, i / side]).collect()
}

/// Refuses a graph that is not connected.
fn connected(graph: &Graph) -> Result<(), String> {
    let mut seen = vec![false; graph.switches.len()];
    let mut open = vec![SwitchId(0)];
    seen[0] = true;
    while let Some(at) = open.pop() {
        for &link in &graph.switches[at.index()].ports {
            if let Node::Switch(next) = graph.far_end(link, Node::Switch(at)).node
                && !std::mem::replace(&mut seen[next.index()], true)
            {
                open.push(next);
            }
        }
    }
    match seen.iter().position(|&reached| !reached) {
        None => Ok(()),
        Some(apart) => {
            let (a, b) = (&graph.switches[0].name, &graph.switches[apart].name);
            Err(format!("the graph is not connected: no path from {a} to {b}"))
        }
    }
}
