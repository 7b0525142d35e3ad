use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::wiring::beyond;
use crate::{ForwardingTables, TablesProblem};

/// Known state of a switch on the route to one destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    OnTheWay,
    Arrives,
}

/// Checks that packets from every switch arrive at every host. The error names the first switch at which they do
/// not, and why: no port, a wrong host, or a circle.
pub fn verify(tables: &ForwardingTables, graph: &Graph) -> Result<(), (SwitchId, TablesProblem)> {
    let mut states = vec![State::Unknown; graph.switches.len()];
    let mut route = Vec::new();
    for to in (0..graph.hosts.len() as u32).map(HostId) {
        states.fill(State::Unknown);
        for start in (0..graph.switches.len() as u32).map(SwitchId) {
            route.clear();
            follow(tables, graph, (start, to), &mut states, &mut route)?;
            for at in &route {
                states[at.index()] = State::Arrives;
            }
        }
    }
    Ok(())
}

/// Walks from a switch until it is known that packets arrive.
fn follow(
    tables: &ForwardingTables,
    graph: &Graph,
    (start, to): (SwitchId, HostId),
    states: &mut [State],
    route: &mut Vec<SwitchId>,
) -> Result<(), (SwitchId, TablesProblem)> {
    let (lid, host) = (to.index() + 1, || graph.hosts[to.index()].name.clone());
    let name = |at: SwitchId| graph.switches[at.index()].name.clone();
    let mut at = start;
    loop {
        match states[at.index()] {
            State::Arrives => return Ok(()),
            State::OnTheWay => {
                let circle = route.iter().skip_while(|&&switch| switch != at).chain([&at]);
                let switches = circle.map(|&switch| name(switch)).collect();
                return Err((at, TablesProblem::Loop { lid, host: host(), switches }));
            }
            State::Unknown => {}
        }
        states[at.index()] = State::OnTheWay;
        route.push(at);
        let port = tables.port(at, to).filter(|port| port.index() < graph.switches[at.index()].ports.len());
        let no_route = || (at, TablesProblem::NoRoute { switch: name(at), lid, host: host() });
        let port: PortNo = port.ok_or_else(no_route)?;
        match beyond(graph, at, port).ok_or_else(no_route)?.node {
            Node::Host(reached) if reached == to => return Ok(()),
            Node::Host(other) => {
                let other = graph.hosts[other.index()].name.clone();
                let (switch, port) = (name(at), u32::from(port.0));
                return Err((at, TablesProblem::WrongHost { lid, host: host(), switch, port, other }));
            }
            Node::Switch(next) => at = next,
        }
    }
}
