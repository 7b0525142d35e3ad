//! The links of a capture: patterns, and names of interfaces.

use std::collections::BTreeSet;

use fabricsim_spec::{Capture, SpecError};
use fabricsim_topology::{Graph, Identity, Node};
use fabricsim_units::{LinkId, Time, nearest};
use fabricsim_workload::matches;

/// More sending ports than this are not searched for the nearest name.
const SEARCHED: u32 = 100_000;

/// Sending ports that the patterns of a capture choose, in order. `file` names the experiment in messages.
pub(super) fn choose(
    capture: &Capture,
    graph: &Graph,
    identity: &Identity,
    file: &str,
) -> Result<Vec<u32>, SpecError> {
    let count = 2 * graph.links.len() as u32;
    let names: Vec<[String; 3]> = (0..count).map(|port| names(graph, identity, port)).collect();
    let mut chosen = BTreeSet::new();
    for (number, pattern) in capture.links.iter().enumerate() {
        let of_pattern = (0..count).filter(|&port| {
            let [interface, direction, link] = &names[port as usize];
            [interface, direction, link].into_iter().any(|name| matches(pattern, name))
                || matches(pattern, &reversed(graph, port))
        });
        let mut found = of_pattern.peekable();
        if found.peek().is_none() {
            let message = unknown(pattern, &names);
            return Err(SpecError::at_key(file, &format!("capture.links.{number}"), message));
        }
        chosen.extend(found);
    }
    Ok(chosen.into_iter().collect())
}

/// Names of a direction of a link: that of its interface, the direction's, the link's.
fn names(graph: &Graph, identity: &Identity, port: u32) -> [String; 3] {
    [interface_name(graph, identity, port), graph.port_name(port), graph.link_name(LinkId(port / 2))]
}

/// Name of the link of a sending port with its ends the other way round.
fn reversed(graph: &Graph, port: u32) -> String {
    let link = &graph.links[(port / 2) as usize];
    format!("{}-{}", graph.name(link.b.node), graph.name(link.a.node))
}

/// Name of a capture's interface: sending and receiving end with their physical ports, `"SW1:3 -> SW2:1"`.
pub(super) fn interface_name(graph: &Graph, identity: &Identity, port: u32) -> String {
    let link = &graph.links[(port / 2) as usize];
    let (from, to) = if port.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) };
    let end = |end: fabricsim_topology::End| {
        let physical = match end.node {
            Node::Switch(switch) => identity.number(switch, end.port),
            Node::Host(host) => identity.hosts[host.index()].port,
        };
        format!("{}:{physical}", graph.name(end.node))
    };
    format!("{} -> {}", end(from), end(to))
}

fn unknown(pattern: &str, names: &[[String; 3]]) -> String {
    let all = names.iter().take(SEARCHED as usize).flatten().map(String::as_str);
    if let Some(name) = nearest(pattern, all) {
        return format!("no link matches `{pattern}`; did you mean `{name}`?");
    }
    let example = names.first().map(|[_, direction, _]| direction.as_str()).unwrap_or_default();
    format!(
        "no link matches `{pattern}`: give the names of its ends, for example `{example}`, or a pattern with `*`"
    )
}

/// Simulated time in which the links of `ports` carry at most [`PACKETS`] packets of [`SMALLEST`] bytes.
pub(crate) fn slice(graph: &Graph, ports: &[u32]) -> Time {
    let rate = |port: &u32| graph.links[(port / 2) as usize].parameters.rate.bits_per_second();
    let total: u128 = ports.iter().map(|port| u128::from(rate(port))).sum();
    let bits = PACKETS * SMALLEST * 8;
    let ps = bits * 1_000_000_000_000 / total.max(1);
    Time(u64::try_from(ps).unwrap_or(u64::MAX)).max(Time::ns(1))
}

/// Packets that are kept in memory before they are written, about.
const PACKETS: u128 = 1 << 16;
/// Usual size of a small packet, in bytes.
const SMALLEST: u128 = 64;
