//! Graphs that are given by their links: what [`csv`](super::csv) and [`graphml`](super::graphml) have in common.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use fabricsim_spec::LinkOverride;
use fabricsim_units::nearest;

use super::draft::{Draft, DraftEnd, DraftHost, DraftLink, DraftSwitch};

/// Attributes of a link.
pub(super) const ATTRIBUTES: [&str; 9] =
    ["a_port", "b_port", "rate", "latency", "buffer", "packet_overhead", "reads", "bit_error_rate", "mtu"];

/// What a node is; if nothing says so, a node with one link is a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Host,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_lowercase().as_str() {
            "switch" | "router" => Ok(Self::Switch),
            "host" | "node" | "terminal" | "endpoint" => Ok(Self::Host),
            _ => Err(format!("`{text}` is no kind of node: must be `switch` or `host`")),
        }
    }
}

struct Vertex {
    name: String,
    line: usize,
    kind: Option<Kind>,
    coordinates: Option<Vec<u32>>,
    links: u64,
}

/// Nodes, in the order in which they are named first, and links.
#[derive(Default)]
pub(super) struct Edges {
    vertices: Vec<Vertex>,
    places: BTreeMap<String, usize>,
    links: Vec<DraftLink>,
}

impl Edges {
    /// True if a node is known.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Notes a node, unless it is known.
    pub(super) fn node(
        &mut self,
        name: &str,
        line: usize,
        (kind, coordinates): (Option<Kind>, Option<Vec<u32>>),
    ) {
        let next = self.vertices.len();
        let place = *self.places.entry(name.to_owned()).or_insert(next);
        if place == next {
            self.vertices.push(Vertex { name: name.to_owned(), line, kind, coordinates, links: 0 });
        }
    }

    /// Adds a link, and its nodes, if they are not known.
    pub(super) fn link(&mut self, link: DraftLink) {
        for end in &link.ends {
            self.node(&end.node, link.line, (None, None));
            if let Some(vertex) = self.places.get(&end.node).and_then(|&place| self.vertices.get_mut(place)) {
                vertex.links += 1;
            }
        }
        self.links.push(link);
    }

    /// Adds parallel links.
    pub(super) fn parallel(&mut self, link: &DraftLink, cables: u32) {
        for _ in 0..cables {
            self.link(link.clone());
        }
    }

    /// The graph. `only_switches`: a node whose kind is not given is a switch, however many links it has.
    pub(super) fn into_draft(self, only_switches: bool) -> Draft {
        let mut draft = Draft { links: self.links, ..Draft::default() };
        for Vertex { name, line, kind, coordinates, links } in self.vertices {
            let is_leaf = links == 1 && !only_switches;
            match kind.unwrap_or(if is_leaf { Kind::Host } else { Kind::Switch }) {
                Kind::Switch => draft.switches.push(DraftSwitch { name, line, ports: None, coordinates }),
                Kind::Host => draft.hosts.push(DraftHost { name, line }),
            }
        }
        draft
    }
}

/// Sets an attribute of a link from its text. False if it is none.
pub(super) fn set(
    (ends, given): (&mut [DraftEnd; 2], &mut LinkOverride),
    key: &str,
    text: &str,
) -> Result<bool, String> {
    match key {
        "a_port" => ends[0].port = Some(value(key, text)?),
        "b_port" => ends[1].port = Some(value(key, text)?),
        "rate" => given.rate = Some(value(key, text)?),
        "latency" => given.latency = Some(value(key, text)?),
        "buffer" => given.buffer = Some(value(key, text)?),
        "packet_overhead" => given.packet_overhead = Some(value(key, text)?),
        "reads" => given.reads = Some(value(key, text)?),
        "bit_error_rate" => given.bit_error_rate = Some(value(key, text)?),
        "mtu" => given.mtu = Some(value(key, text)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The number of parallel cables, and the attribute of an edge that gives it.
pub(super) const CABLES: &str = "cables";

/// Most parallel cables of an edge.
const MAX_CABLES: u32 = 1024;

/// The number of parallel cables of an edge between these ends, from its text.
pub(super) fn cables(text: &str) -> Result<u32, String> {
    let allowed = text.parse().ok().filter(|cables| (1..=MAX_CABLES).contains(cables));
    allowed.ok_or_else(|| format!("{CABLES} = {text}: must be a whole number from 1 to {MAX_CABLES}"))
}

/// Parallel cables share no port.
pub(super) fn check_ports(ends: &[DraftEnd; 2], cables: u32) -> Result<(), String> {
    if cables > 1 && ends.iter().any(|end| end.port.is_some()) {
        return Err(format!("{cables} cables cannot share a port: give each an edge of its own"));
    }
    Ok(())
}

/// The value of an attribute.
pub(super) fn value<T: FromStr<Err: Display>>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{key} = `{text}`: {error}"))
}

/// "; did you mean ...?" for a name that is nearly one of these.
pub(super) fn hint(written: &str, names: impl IntoIterator<Item = &'static str>) -> String {
    nearest(written, names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
