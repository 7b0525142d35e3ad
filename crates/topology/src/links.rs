//! Which parameters a link has: all < its class < (what a graph file says of it) < its name.

use std::collections::BTreeMap;

use fabricsim_spec::{LinkOverride, LinkParameters, Links, SpecError, nearest};
use fabricsim_units::{Bytes, Time};

use crate::build::Context;
use crate::{Graph, Node};

/// The classes of links that a topology has besides host links.
#[derive(Clone, Copy)]
pub(crate) enum Classes {
    /// So many dimensions.
    Dimensions(usize),
    /// So many levels of switches.
    Levels(usize),
    /// None.
    Plain,
}

/// Parameters by class.
pub(crate) struct ByClass {
    /// Of links between a host and a switch.
    pub(crate) hosts: LinkParameters,
    /// Of links along each dimension, between level n + 1 and n + 2, or (one entry) of plain links.
    pub(crate) switches: Vec<LinkParameters>,
}

/// Resolves `[links]` for the classes that the topology has.
pub(crate) fn by_class(context: &Context<'_>, classes: Classes) -> Result<ByClass, SpecError> {
    let links = &context.experiment.links;
    check_values(context)?;
    let mut hosts = links.all.clone();
    links.hosts.apply(&mut hosts);
    let (dimensions, levels) = match classes {
        Classes::Dimensions(n) => (n, 0),
        Classes::Levels(n) => (0, n.saturating_sub(1)),
        Classes::Plain => (0, 0),
    };
    let mut switches = vec![links.all.clone(); (dimensions + levels).max(1)];
    let mut given = vec![None; switches.len()];
    let named_dimensions =
        links.dimension.iter().map(|(key, o)| ("dimension", key, o, dimension_number(key)));
    let named_levels = links.level.iter().map(|(key, o)| ("level", key, o, level_number(key)));
    for (kind, key, overrides, number) in named_dimensions.chain(named_levels) {
        let count = if kind == "dimension" { dimensions } else { levels };
        let path = format!("links.{kind}.{key}");
        let Some(index) = number.filter(|&n| n < count) else {
            return Err(context.error(&path, unknown_class(kind, key, count)));
        };
        if let Some(other) = given[index].replace(key) {
            return Err(context.error(&path, format!("this is the same {kind} as `{other}`: give it once")));
        }
        overrides.apply(&mut switches[index]);
    }
    Ok(ByClass { hosts, switches })
}

const LETTERS: [&str; 3] = ["x", "y", "z"];

fn dimension_number(key: &str) -> Option<usize> {
    LETTERS.iter().position(|&letter| letter == key).or_else(|| key.parse().ok())
}

fn level_number(key: &str) -> Option<usize> {
    key.parse::<usize>().ok()?.checked_sub(1)
}

fn unknown_class(kind: &str, key: &str, count: usize) -> String {
    if count == 0 {
        return format!("links of this topology have no {kind}s: remove it");
    }
    let mut names: Vec<String> = (0..count).map(|n| (n + usize::from(kind == "level")).to_string()).collect();
    if kind == "dimension" {
        names.extend(LETTERS.iter().take(count).map(|&letter| letter.to_owned()));
    }
    format!("there is no {kind} `{key}`: allowed are {}", names.join(", "))
}

/// Checks the values themselves, where each is given.
fn check_values(context: &Context<'_>) -> Result<(), SpecError> {
    let links = &context.experiment.links;
    let unit = context.experiment.switch.flow_control_unit;
    let all = LinkOverride {
        latency: Some(links.all.latency),
        buffer: Some(links.all.buffer),
        packet_overhead: Some(links.all.packet_overhead),
        ..LinkOverride::default()
    };
    check_override(context.file, "links.all", &all, unit)?;
    check_override(context.file, "links.hosts", &links.hosts, unit)?;
    let classes = [("dimension", &links.dimension), ("level", &links.level), ("named", &links.named)];
    for (kind, overrides) in classes {
        for (key, overrides) in overrides {
            check_override(context.file, &format!("links.{kind}.{key}"), overrides, unit)?;
        }
    }
    Ok(())
}

/// Largest buffer and per-packet overhead: sizes on the hot path are 32-bit.
const LARGEST: Bytes = Bytes(1 << 30);

fn check_override(file: &str, path: &str, given: &LinkOverride, unit: Bytes) -> Result<(), SpecError> {
    check_parameters(given, unit)
        .map_err(|(key, message)| SpecError::at_key(file, &format!("{path}.{key}"), message))
}

/// What is wrong with given parameters: the key and a message.
pub(crate) fn check_parameters(given: &LinkOverride, unit: Bytes) -> Result<(), (&'static str, String)> {
    if given.latency == Some(Time::ZERO) {
        return Err(("latency", "0 is not allowed: a link takes at least 1 ps".to_owned()));
    }
    if let Some(buffer) = given.buffer.filter(|&b| b < unit || b > LARGEST) {
        let allowed = format!("from one flow control unit ({unit}) to {LARGEST}");
        return Err(("buffer", format!("{buffer} is not allowed: give a size {allowed}")));
    }
    if let Some(overhead) = given.packet_overhead.filter(|&o| o > LARGEST) {
        return Err(("packet_overhead", format!("{overhead} is not allowed: give at most {LARGEST}")));
    }
    Ok(())
}

/// Applies `links.named`.
pub(crate) fn apply_named(graph: &mut Graph, links: &Links, file: &str) -> Result<(), SpecError> {
    if links.named.is_empty() {
        return Ok(());
    }
    let mut by_ends: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, link) in graph.links.iter().enumerate() {
        let (a, b) = (graph.name(link.a.node), graph.name(link.b.node));
        by_ends.entry(format!("{a}-{b}")).or_default().push(index);
        if a != b {
            by_ends.entry(format!("{b}-{a}")).or_default().push(index);
        }
    }
    for (key, overrides) in &links.named {
        let Some(found) = by_ends.get(key) else {
            let path = format!("links.named.\"{key}\"");
            return Err(SpecError::at_key(file, &path, unknown_link(graph, key, &by_ends)));
        };
        for &index in found {
            overrides.apply(&mut graph.links[index].parameters);
        }
    }
    Ok(())
}

/// More names than this are not searched for the nearest one.
const SEARCHED: usize = 100_000;

fn unknown_link(graph: &Graph, key: &str, by_ends: &BTreeMap<String, Vec<usize>>) -> String {
    let mut message = "there is no link of this name".to_owned();
    let ends = key.split_once('-');
    if let Some((a, b)) = ends.filter(|&(a, b)| has_node(graph, a) && has_node(graph, b)) {
        message = format!("{a} and {b} are not joined by a link");
    }
    match nearest(key, by_ends.keys().take(SEARCHED).map(String::as_str)) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => format!("{message}: give the names of its ends, for example \"{}\"", example(graph)),
    }
}

fn has_node(graph: &Graph, name: &str) -> bool {
    graph.switches.iter().any(|s| s.name == name) || graph.hosts.iter().any(|h| h.name == name)
}

fn example(graph: &Graph) -> String {
    let between_switches = |link: &&crate::Link| matches!(link.a.node, Node::Switch(_));
    let link = graph.links.iter().find(between_switches).or(graph.links.first());
    link.map(|l| format!("{}-{}", graph.name(l.a.node), graph.name(l.b.node))).unwrap_or_default()
}
