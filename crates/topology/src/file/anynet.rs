//! BookSim 2 `anynet`, see [`Format::Anynet`](super::Format::Anynet).
//!
//! The grammar is that of BookSim's `AnyNet::readFile`: a line names a head and the things linked to it, each
//! followed by a latency or not (then 1 cycle). A pair of routers may be named from either side or from both. BookSim
//! takes a latency for one direction only; links here have the same latency both ways, so that the latency given
//! for one direction is taken for both, and two that differ are an error.

use std::collections::BTreeMap;

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_units::Time;

use super::draft::{Draft, DraftEnd, DraftHost, DraftLink, DraftSwitch};
use crate::limits::MAX_NODES;
use crate::links::ByClass;

/// Latency in cycles if given, and the line that names the pair first.
struct Pair {
    cycles: Option<u64>,
    line: usize,
}

/// Content of the lines.
#[derive(Default)]
struct Found {
    /// Line that names it first.
    routers: BTreeMap<u64, usize>,
    /// Line that names it first.
    nodes: BTreeMap<u64, usize>,
    /// By router, node.
    node_links: BTreeMap<(u64, u64), Pair>,
    /// By lower, higher router.
    router_links: BTreeMap<(u64, u64), Pair>,
}

#[derive(Clone, Copy, PartialEq)]
enum Thing {
    Node(u64),
    Router(u64),
}

/// A line's words.
struct Words<'a> {
    words: std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>,
}

impl Words<'_> {
    fn thing(&mut self) -> Result<Option<Thing>, String> {
        let Some(kind) = self.words.next() else { return Ok(None) };
        if kind != "router" && kind != "node" {
            return Err(format!("`{kind}` is not allowed here: write `router` or `node` and a number"));
        }
        let Some(word) = self.words.next() else {
            return Err(format!("the line is cut off: a number is missing after `{kind}`"));
        };
        let number = word.parse::<u64>().ok().filter(|&number| number < MAX_NODES);
        let number = number
            .ok_or_else(|| format!("`{word}` is not the number of a {kind}: give 0 to {}", MAX_NODES - 1))?;
        Ok(Some(if kind == "node" { Thing::Node(number) } else { Thing::Router(number) }))
    }

    fn cycles(&mut self) -> Result<Option<u64>, String> {
        let Some(word) = self.words.next_if(|word| *word != "router" && *word != "node") else {
            return Ok(None);
        };
        let cycles = word.parse::<u64>().ok().filter(|&cycles| cycles > 0);
        cycles
            .map(Some)
            .ok_or_else(|| format!("`{word}` is not a latency: give a number of cycles, 1 or more"))
    }
}

impl Found {
    fn line(&mut self, text: &str, line: usize) -> Result<(), String> {
        let mut words = Words { words: text.split_ascii_whitespace().peekable() };
        let Some(head) = words.thing()? else { return Ok(()) };
        self.name(head, line);
        while let Some(body) = words.thing()? {
            let cycles = words.cycles()?;
            self.name(body, line);
            match (head, body) {
                (Thing::Node(_), Thing::Node(_)) => {
                    return Err("a node cannot be linked to a node".to_owned());
                }
                (Thing::Router(a), Thing::Router(b)) if a == b => {
                    return Err(format!("router {a} is linked to itself"));
                }
                (Thing::Router(router), Thing::Node(node)) | (Thing::Node(node), Thing::Router(router)) => {
                    note(&mut self.node_links, (router, node), cycles, line)?;
                }
                (Thing::Router(a), Thing::Router(b)) => {
                    note(&mut self.router_links, (a.min(b), a.max(b)), cycles, line)?;
                }
            }
        }
        Ok(())
    }

    fn name(&mut self, thing: Thing, line: usize) {
        match thing {
            Thing::Node(number) => self.nodes.entry(number).or_insert(line),
            Thing::Router(number) => self.routers.entry(number).or_insert(line),
        };
    }
}

fn note(
    pairs: &mut BTreeMap<(u64, u64), Pair>,
    key: (u64, u64),
    cycles: Option<u64>,
    line: usize,
) -> Result<(), String> {
    let pair = pairs.entry(key).or_insert(Pair { cycles, line });
    match (pair.cycles, cycles) {
        (Some(a), Some(b)) if a != b => Err(format!(
            "the link has a latency of {b} here and of {a} on line {}: a link has the same both ways",
            pair.line
        )),
        (None, Some(_)) => {
            pair.cycles = cycles;
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(super) fn read(text: &str, file: &str, parameters: &ByClass) -> Result<Draft, SpecError> {
    let mut found = Found::default();
    for (line, text) in (1..).zip(text.lines()) {
        found.line(text, line).map_err(|message| SpecError::at_line(file, line, message))?;
    }
    for (kind, numbers) in [("router", &found.routers), ("node", &found.nodes)] {
        let gap = (0..).zip(numbers).find(|(expected, (number, _))| expected != *number);
        if let Some((missing, (number, line))) = gap {
            let message = format!("there is a {kind} {number} but no {kind} {missing}: they count from 0");
            return Err(SpecError::at_line(file, *line, message));
        }
    }
    let host_cycle = parameters.hosts.latency;
    let cycle = parameters.switches[0].latency;
    let node_links = found.node_links.iter().map(|(&(r, n), pair)| (format!("N{n}"), r, pair, host_cycle));
    let router_links = found.router_links.iter().map(|(&(a, b), pair)| (format!("R{a}"), b, pair, cycle));
    let mut links = Vec::new();
    for (a, b, pair, cycle) in node_links.chain(router_links) {
        let given = given(pair, cycle).map_err(|message| SpecError::at_line(file, pair.line, message))?;
        let ends = [a, format!("R{b}")].map(|node| DraftEnd { node, port: None });
        links.push(DraftLink { ends, line: pair.line, given });
    }
    let switch = |(number, &line): (&u64, &usize)| DraftSwitch {
        name: format!("R{number}"),
        line,
        ports: None,
        coordinates: None,
    };
    let host = |(number, &line): (&u64, &usize)| DraftHost { name: format!("N{number}"), line };
    Ok(Draft {
        title: String::new(),
        switches: found.routers.iter().map(switch).collect(),
        hosts: found.nodes.iter().map(host).collect(),
        links,
    })
}

fn given(pair: &Pair, cycle: Time) -> Result<LinkOverride, String> {
    let Some(cycles) = pair.cycles else { return Ok(LinkOverride::default()) };
    let latency = cycle.0.checked_mul(cycles).map(Time);
    let latency = latency.ok_or_else(|| format!("a latency of {cycles} cycles of {cycle} is too long"))?;
    Ok(LinkOverride { latency: Some(latency), ..LinkOverride::default() })
}
