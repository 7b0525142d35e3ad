//! OMNeT++ NED, see [`Format::Ned`](super::Format::Ned). A connection is one direction; a link is two of them between
//! the same ports.

mod lex;
mod parse;

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_units::nearest;

use self::parse::{Channel, Connection, Failure, Gate, Module, Submodule};
use super::draft::{Draft, DraftEnd, DraftHost, DraftLink, DraftSwitch};

pub(super) fn read(text: &str, file: &str) -> Result<Draft, SpecError> {
    draft(text).map_err(|(line, message)| SpecError::at_line(file, line, message))
}

fn draft(text: &str) -> Result<Draft, Failure> {
    let tokens = lex::lex(text)?;
    let mut modules = parse::parse(&tokens)?.into_iter();
    let module = modules.next().ok_or((1, "no network with connections in this file".to_owned()))?;
    if let Some(other) = modules.next() {
        let message = format!("both {} and {} have connections: give one network", module.name, other.name);
        return Err((1, message));
    }
    let mut draft = Draft { title: module.name.clone(), ..Draft::default() };
    let mut left_out = BTreeSet::new();
    for submodule in &module.submodules {
        match role(&submodule.kind) {
            Role::Host => {
                draft.hosts.push(DraftHost { name: submodule.name.clone(), line: submodule.line });
            }
            Role::Switch => draft.switches.push(switch(submodule)?),
            Role::Other => {
                left_out.insert(submodule.name.as_str());
            }
        }
    }
    rank_places(&mut draft.switches);
    draft.links = links(&module, &left_out)?;
    Ok(draft)
}

enum Role {
    Host,
    Switch,
    Other,
}

/// Role of a module type, by the end of its name: `HCA`, `StandardHost`, `Switch`, `ISWSwitch`, `Router`.
fn role(kind: &str) -> Role {
    if kind.ends_with("HCA") || kind.ends_with("Host") {
        Role::Host
    } else if kind.ends_with("Switch") || kind.ends_with("Router") {
        Role::Switch
    } else {
        Role::Other
    }
}

fn switch(submodule: &Submodule) -> Result<DraftSwitch, Failure> {
    let ports = match submodule.body.values.get("numSwitchPorts") {
        None => None,
        Some((value, line)) => {
            let ports = value.parse::<u64>();
            Some(ports.map_err(|_| (*line, format!("numSwitchPorts: {value} is not a number of ports")))?)
        }
    };
    let coordinates = submodule.body.display.as_deref().and_then(position);
    Ok(DraftSwitch { name: submodule.name.clone(), line: submodule.line, ports, coordinates })
}

/// The position that a display string gives: `p=120,220;i=abstract/switch`.
fn position(display: &str) -> Option<Vec<u32>> {
    let place = display.split(';').find_map(|part| part.trim().strip_prefix("p="))?;
    let mut numbers = place.split(',').map(|number| number.trim().parse().ok());
    Some(vec![numbers.next()??, numbers.next()??])
}

/// Converts the positions in a drawing to columns and rows, if every switch has one.
fn rank_places(switches: &mut [DraftSwitch]) {
    let all = switches.iter().all(|switch| switch.coordinates.is_some());
    for axis in [0, 1] {
        let at = |switch: &DraftSwitch| switch.coordinates.as_ref().map(|c| c[axis]);
        let values: BTreeSet<u32> = switches.iter().filter_map(at).collect();
        let ranks: BTreeMap<u32, u32> = values.into_iter().zip(0..).collect();
        for place in switches.iter_mut().filter_map(|switch| switch.coordinates.as_mut()) {
            place[axis] = ranks[&place[axis]];
        }
    }
    switches.iter_mut().filter(|_| !all).for_each(|switch| switch.coordinates = None);
}

/// Submodule and port.
type Plug<'a> = (&'a str, u64);

/// One direction of a link.
struct Way<'a> {
    to: Plug<'a>,
    channel: Channel,
    line: usize,
}

fn links(module: &Module, left_out: &BTreeSet<&str>) -> Result<Vec<DraftLink>, Failure> {
    let names: BTreeSet<&str> = module.submodules.iter().map(|s| s.name.as_str()).collect();
    let mut ways = BTreeMap::new();
    let mut order = Vec::new();
    for connection in &module.connections {
        check(connection, &names)?;
        let Connection { from, to, both, channel, line } = connection;
        if left_out.contains(from.node.as_str()) || left_out.contains(to.node.as_str()) {
            continue;
        }
        let (from, to) = (plug(from), plug(to));
        for (from, to) in [(from, to), (to, from)].into_iter().take(1 + usize::from(*both)) {
            let way = Way { to, channel: *channel, line: *line };
            if let Some(first) = ways.insert(from, way) {
                let message =
                    format!("port {} of {} is used twice (first on line {})", from.1, from.0, first.line);
                return Err((*line, message));
            }
        }
        order.push(from);
    }
    let mut links = Vec::new();
    let mut done = BTreeSet::new();
    for from in order {
        let way = &ways[&from];
        if done.contains(&from) {
            continue;
        }
        links.push(pair(from, way, ways.get(&way.to))?);
        done.extend([from, way.to]);
    }
    Ok(links)
}

fn plug(gate: &Gate) -> Plug<'_> {
    (&gate.node, gate.index.unwrap_or(0))
}

/// Refuses gates of unknown submodules, and those that are used in the wrong direction.
fn check(connection: &Connection, names: &BTreeSet<&str>) -> Result<(), Failure> {
    let ends = [(&connection.from, "in", "leaves"), (&connection.to, "out", "enters")];
    for (gate, wrong, verb) in ends {
        let node = gate.node.as_str();
        if !names.contains(node) {
            let hint = nearest(node, names.iter().copied());
            let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Err((connection.line, format!("no submodule {node}{hint}")));
        }
        if gate.name == wrong && !connection.both {
            let message =
                format!("the connection {verb} {node} by its gate `{wrong}`: the direction is wrong");
            return Err((connection.line, message));
        }
    }
    Ok(())
}

/// Both directions as a link.
fn pair(from: Plug<'_>, way: &Way<'_>, back: Option<&Way<'_>>) -> Result<DraftLink, Failure> {
    let (to, line) = (way.to, way.line);
    let back = back.filter(|back| back.to == from).ok_or_else(|| {
        let message = format!(
            "port {} of {} leads to port {} of {}, but no connection leads back: a link needs one in each direction",
            from.1, from.0, to.1, to.0
        );
        (line, message)
    })?;
    if back.channel != way.channel {
        let message = format!(
            "delay or datarate differ from the opposite direction (line {}): a link has one",
            back.line
        );
        return Err((line, message));
    }
    let Channel { delay: latency, rate } = way.channel;
    let ends = [from, to].map(|(node, port)| DraftEnd { node: node.to_owned(), port: Some(port) });
    Ok(DraftLink { ends, line, given: LinkOverride { latency, rate, ..LinkOverride::default() } })
}
