//! Precedence of the parameters of a link: all < its class < (its entry in a graph file) < its name.

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_spec::{LinkOverride, LinkParameters, Links, SpecError};
use fabricsim_units::{Bytes, LinkId, PortNo, SwitchId, Time, nearest};

use crate::{Graph, Link, Node, retry};

/// An experiment's `[links]`, and the values needed to check them.
#[derive(Clone, Copy, Debug)]
pub struct Defaults<'a> {
    /// Parameters by class and name.
    pub links: &'a Links,
    /// `switch.flow_control_unit`: no buffer may be smaller.
    pub flow_control_unit: Bytes,
    /// The experiment file's name, for messages.
    pub file: &'a str,
}

/// The classes of links that a topology has besides host links.
#[derive(Clone, Copy)]
pub(crate) enum Classes {
    /// This number of dimensions.
    Dimensions(usize),
    /// This number of levels of switches.
    Levels(usize),
    /// Local and global ones, of a dragonfly or megafly.
    Groups,
    /// None.
    Plain,
}

/// Parameters by class.
pub(crate) struct ByClass {
    /// Of links between a host and a switch.
    pub(crate) hosts: LinkParameters,
    /// Of links along each dimension, between level n + 1 and n + 2, local and global ones, or (one entry) of plain links.
    pub(crate) switches: Vec<LinkParameters>,
}

/// Resolves `[links]` for the classes that the topology has.
pub(crate) fn by_class(defaults: &Defaults<'_>, classes: Classes) -> Result<ByClass, SpecError> {
    let links = defaults.links;
    check_values(defaults)?;
    retry::check_values(&links.retry, defaults.file)?;
    let mut hosts = links.all.clone();
    links.hosts.apply(&mut hosts);
    let (dimensions, levels, kinds) = match classes {
        Classes::Dimensions(n) => (n, 0, 0),
        Classes::Levels(n) => (0, n.saturating_sub(1), 0),
        Classes::Groups => (0, 0, 2),
        Classes::Plain => (0, 0, 0),
    };
    let mut switches = vec![links.all.clone(); (dimensions + levels + kinds).max(1)];
    let mut given = vec![None; switches.len()];
    let named_dimensions =
        links.dimension.iter().map(|(key, o)| ("dimension", key, o, dimension_number(key)));
    let named_levels = links.level.iter().map(|(key, o)| ("level", key, o, level_number(key)));
    let named_kinds = links.kind.iter().map(|(key, o)| ("kind", key, o, kind_number(key)));
    for (kind, key, overrides, number) in named_dimensions.chain(named_levels).chain(named_kinds) {
        let count = match kind {
            "dimension" => dimensions,
            "level" => levels,
            _ => kinds,
        };
        let path = format!("links.{kind}.{key}");
        let Some(index) = number.filter(|&n| n < count) else {
            return Err(SpecError::at_key(defaults.file, &path, unknown_class(kind, key, count)));
        };
        if let Some(other) = given[index].replace(key) {
            return Err(SpecError::at_key(
                defaults.file,
                &path,
                format!("this is the same {kind} as `{other}`: give it once"),
            ));
        }
        overrides.apply(&mut switches[index]);
    }
    Ok(ByClass { hosts, switches })
}

/// Kinds of links of a dragonfly or megafly, in order of [`ByClass::switches`].
const KINDS: [&str; 2] = ["local", "global"];

const LETTERS: [&str; 3] = ["x", "y", "z"];

pub(crate) fn dimension_number(key: &str) -> Option<usize> {
    LETTERS.iter().position(|&letter| letter == key).or_else(|| key.parse().ok())
}

pub(crate) fn level_number(key: &str) -> Option<usize> {
    key.parse::<usize>().ok()?.checked_sub(1)
}

fn kind_number(key: &str) -> Option<usize> {
    KINDS.iter().position(|&kind| kind == key)
}

pub(crate) fn unknown_class(kind: &str, key: &str, count: usize) -> String {
    if count == 0 {
        return format!("links of this topology have no {kind}s: remove it");
    }
    if kind == "kind" {
        return format!("no kind `{key}`: allowed are {}", KINDS.join(", "));
    }
    let mut names: Vec<String> = (0..count).map(|n| (n + usize::from(kind == "level")).to_string()).collect();
    if kind == "dimension" {
        names.extend(LETTERS.iter().take(count).map(|&letter| letter.to_owned()));
    }
    format!("no {kind} `{key}`: allowed are {}", names.join(", "))
}

/// Checks the values themselves, where each is given.
fn check_values(defaults: &Defaults<'_>) -> Result<(), SpecError> {
    let Defaults { links, flow_control_unit: unit, file } = *defaults;
    let all = LinkOverride {
        latency: Some(links.all.latency),
        buffer: Some(links.all.buffer),
        packet_overhead: Some(links.all.packet_overhead),
        bit_error_rate: Some(links.all.bit_error_rate),
        mtu: links.all.mtu,
        ..LinkOverride::default()
    };
    check_override(file, "links.all", &all, unit)?;
    check_override(file, "links.hosts", &links.hosts, unit)?;
    let classes = [
        ("dimension", &links.dimension),
        ("level", &links.level),
        ("kind", &links.kind),
        ("named", &links.named),
    ];
    for (kind, overrides) in classes {
        for (key, overrides) in overrides {
            check_override(file, &format!("links.{kind}.{key}"), overrides, unit)?;
        }
    }
    Ok(())
}

/// Longest latency: sums of latencies stay far from the end of time.
const LONGEST: Time = Time::ms(1000);

/// Largest buffer and per-packet overhead: sizes on the hot path are 32-bit.
const LARGEST: Bytes = Bytes(1 << 30);

fn check_override(file: &str, path: &str, given: &LinkOverride, unit: Bytes) -> Result<(), SpecError> {
    check_parameters(given, unit)
        .map_err(|(key, message)| SpecError::at_key(file, &format!("{path}.{key}"), message))
}

/// Most bytes that a packet occupies on a link beyond its own.
const LARGEST_OVERHEAD: Bytes = Bytes(1 << 16);

/// Largest packet of a link.
const LARGEST_MTU: Bytes = Bytes(1 << 20);

/// Highest bit error rate: one micropacket in six of the SeaStar fails.
const HIGHEST_ERROR_RATE: f64 = 1e-3;

/// Checks given parameters. The error is the key and a message.
pub(crate) fn check_parameters(given: &LinkOverride, unit: Bytes) -> Result<(), (&'static str, String)> {
    if given.latency == Some(Time::ZERO) {
        return Err(("latency", "0 is not allowed: a link takes at least 1 ps".to_owned()));
    }
    if let Some(latency) = given.latency.filter(|&latency| latency > LONGEST) {
        return Err(("latency", format!("{latency} is not allowed: give at most {LONGEST}")));
    }
    if let Some(buffer) = given.buffer.filter(|&b| b < unit || b > LARGEST) {
        let allowed = format!("from one flow control unit ({unit}) to {LARGEST}");
        return Err(("buffer", format!("{buffer} is not allowed: give a size {allowed}")));
    }
    if let Some(overhead) = given.packet_overhead.filter(|&o| o > LARGEST_OVERHEAD) {
        let allowed = format!("give at most {LARGEST_OVERHEAD}");
        return Err(("packet_overhead", format!("{overhead} is not allowed: {allowed}")));
    }
    if let Some(rate) = given.bit_error_rate.filter(|rate| !(0.0..=HIGHEST_ERROR_RATE).contains(rate)) {
        let allowed = format!("give a number from 0 to {HIGHEST_ERROR_RATE}");
        return Err(("bit_error_rate", format!("{rate} is not allowed: {allowed}")));
    }
    if let Some(mtu) = given.mtu.filter(|mtu| !(Bytes(1)..=LARGEST_MTU).contains(mtu)) {
        return Err(("mtu", format!("{mtu} is not allowed: give a size from 1 B to {LARGEST_MTU}")));
    }
    Ok(())
}

/// Applies `links.named`: to every link between the two nodes.
pub(crate) fn apply_named(graph: &mut Graph, links: &Links, file: &str) -> Result<(), SpecError> {
    let found = find_named(graph, links.named.keys().map(String::as_str));
    let found = found
        .map_err(|(key, message)| SpecError::at_key(file, &format!("links.named.\"{key}\""), message))?;
    for (index, key) in found {
        links.named[key].apply(&mut graph.links[index].parameters);
    }
    Ok(())
}

/// The links of `links.failed`, in order: every link between the two nodes of a name. `file` names the experiment in
/// messages.
///
/// # Errors
///
/// A name that no link has.
pub fn failed_links(graph: &Graph, links: &Links, file: &str) -> Result<Vec<LinkId>, SpecError> {
    let found = find_named(graph, links.failed.iter().map(String::as_str)).map_err(|(key, message)| {
        let place = links.failed.iter().position(|name| name == key).unwrap_or(0);
        SpecError::at_key(file, &format!("links.failed.{place}"), format!("`{key}`: {message}"))
    })?;
    let failed: BTreeSet<u32> = found.into_iter().map(|(index, _)| index as u32).collect();
    Ok(failed.into_iter().map(LinkId).collect())
}

/// The links, by number, between the two nodes that each key names (`"S(0,0)-S(1,0)"`, in either order; `"S(0,0)-S(1,0) #2"`: the second of
/// several parallel cables), or at the port that it names (`"S(0,0)/3"`: a switch and the physical number of its port), with the key. The error has the key that names no link, and a message.
pub(crate) fn find_named<'k>(
    graph: &Graph,
    keys: impl Iterator<Item = &'k str> + Clone,
) -> Result<Vec<(usize, &'k str)>, (&'k str, String)> {
    // Names may hold hyphens, so that each hyphen of a key may be the one between two names.
    let mut wanted: BTreeMap<(&str, &str), Vec<&'k str>> = BTreeMap::new();
    for key in keys.clone() {
        let ends = without_number(key).0;
        for (at, _) in ends.match_indices('-') {
            let (a, b) = (&ends[..at], &ends[at + 1..]);
            for pair in [(a, b), (b, a)] {
                wanted.entry(pair).or_default().push(key);
            }
        }
    }
    let mut found: Vec<(usize, &'k str)> = Vec::new();
    for (index, link) in graph.links.iter().enumerate().filter(|_| !wanted.is_empty()) {
        let pair = (graph.name(link.a.node), graph.name(link.b.node));
        let is_cable = |key: &str| match without_number(key).1 {
            Some(number) => graph.cable_number(LinkId(index as u32)) == Some(number),
            None => true,
        };
        let keys = wanted.get(&pair).into_iter().flatten().copied();
        found.extend(keys.filter(|key| is_cable(key)).map(|key| (index, key)));
    }
    found.extend(keys.clone().filter_map(|key| Some((at_port(graph, key)?, key))));
    let used: BTreeSet<&str> = found.iter().map(|&(_, key)| key).collect();
    let mut keys = keys;
    match keys.find(|key| !used.contains(key)) {
        Some(key) => Err((key, unknown_link(graph, key))),
        None => Ok(found),
    }
}

/// A key without the number of one of several parallel cables, and that number.
fn without_number(key: &str) -> (&str, Option<usize>) {
    let split = key.rsplit_once(" #").and_then(|(ends, number)| Some((ends, number.parse().ok()?)));
    split.map_or((key, None), |(ends, number)| (ends, Some(number)))
}

/// The link, by number, at the port that a key names: a switch and the physical number of its port.
fn at_port(graph: &Graph, key: &str) -> Option<usize> {
    let (name, number) = key.rsplit_once('/')?;
    let number: u8 = number.parse().ok()?;
    let at = graph.switches.iter().position(|switch| switch.name == name)?;
    let port = match graph.identity.as_deref() {
        Some(identity) => identity.port(SwitchId(at as u32), number)?,
        None => PortNo(u16::from(number).checked_sub(1)?),
    };
    graph.switches[at].ports.get(port.index()).map(|link| link.index())
}

/// More links than this are not searched for the nearest name.
const SEARCHED: usize = 100_000;

fn unknown_link(graph: &Graph, key: &str) -> String {
    let mut message = "no link has this name".to_owned();
    let is_between = |link: &&Link, ends: &str| {
        let (a, b) = (graph.name(link.a.node), graph.name(link.b.node));
        ends == format!("{a}-{b}") || ends == format!("{b}-{a}")
    };
    let cables = |ends: &str| graph.links.iter().filter(|link| is_between(link, ends)).count();
    if let (ends, Some(_)) = without_number(key)
        && let number @ 1.. = cables(ends)
    {
        return match number {
            1 => format!("there is one cable; did you mean `{ends}`?"),
            _ => format!("there are {number} cables, `{ends} #1` to `{ends} #{number}`"),
        };
    }
    let ends = key.split_once('-');
    if let Some((a, b)) = ends.filter(|&(a, b)| has_node(graph, a) && has_node(graph, b)) {
        message = format!("{a} and {b} are not joined by a link");
    }
    let names: Vec<String> = graph.links.iter().take(SEARCHED).map(|link| name(graph, link)).collect();
    match nearest(key, names.iter().map(String::as_str)) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => format!("{message}: give the names of its ends, for example \"{}\"", example(graph)),
    }
}

fn name(graph: &Graph, link: &Link) -> String {
    format!("{}-{}", graph.name(link.a.node), graph.name(link.b.node))
}

fn has_node(graph: &Graph, name: &str) -> bool {
    graph.switches.iter().any(|s| s.name == name) || graph.hosts.iter().any(|h| h.name == name)
}

fn example(graph: &Graph) -> String {
    let between_switches = |link: &&Link| matches!(link.a.node, Node::Switch(_));
    let link = graph.links.iter().find(between_switches).or(graph.links.first());
    link.map(|link| name(graph, link)).unwrap_or_default()
}
