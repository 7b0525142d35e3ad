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
    let everywhere: Vec<SwitchId> = (0..graph.switches.len() as u32).map(SwitchId).collect();
    verify_from(&everywhere, tables, graph, &|to| to.index() + 1)
}

/// The same for packets of hosts alone: real tables have holes at switches that no packet for a host passes. `lid` is
/// how messages name a host.
pub(crate) fn verify_paths(
    tables: &ForwardingTables,
    graph: &Graph,
    lid: &dyn Fn(HostId) -> usize,
) -> Result<(), (SwitchId, TablesProblem)> {
    let mut with_hosts: Vec<SwitchId> = graph.hosts.iter().map(|host| host.switch).collect();
    with_hosts.sort_unstable();
    with_hosts.dedup();
    verify_from(&with_hosts, tables, graph, lid)
}

fn verify_from(
    starts: &[SwitchId],
    tables: &ForwardingTables,
    graph: &Graph,
    lid: &dyn Fn(HostId) -> usize,
) -> Result<(), (SwitchId, TablesProblem)> {
    let mut states = vec![State::Unknown; graph.switches.len()];
    let mut route = Vec::new();
    for to in (0..graph.hosts.len() as u32).map(HostId) {
        states.fill(State::Unknown);
        for &start in starts {
            route.clear();
            follow(tables, graph, (start, to, lid(to)), &mut states, &mut route)?;
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
    (start, to, lid): (SwitchId, HostId, usize),
    states: &mut [State],
    route: &mut Vec<SwitchId>,
) -> Result<(), (SwitchId, TablesProblem)> {
    let host = || graph.hosts[to.index()].name.clone();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{hosts, network};

    const TREE: &str = "fat-tree = { arity = 3, levels = 2 }";

    /// Entries that no packet of a host reads may be holes; one that is read may not, and is named by its LID.
    #[test]
    fn holes_matter_where_packets_pass() {
        let (graph, router) = network(TREE, "algorithm = \"shortest-path\"", 1);
        let tables = ForwardingTables::of(&router, &graph, "test").unwrap();
        let lid = |to: HostId| 100 + to.index();
        let with_hosts: Vec<SwitchId> = graph.hosts.iter().map(|host| host.switch).collect();
        let (mut holes, mut unused) = (tables.clone(), 0);
        for to in hosts(&graph) {
            let next = |from: &SwitchId| match beyond(&graph, *from, tables.port(*from, to).unwrap()) {
                Some(end) => end.node,
                None => unreachable!("a port without a link"),
            };
            let passed: Vec<Node> = with_hosts.iter().map(next).collect();
            for at in (0..graph.switches.len() as u32).map(SwitchId) {
                if with_hosts.contains(&at) {
                    continue;
                }
                let mut one = tables.clone();
                one.set_optional(at, to, None);
                assert!(verify(&one, &graph).is_err());
                if passed.contains(&Node::Switch(at)) {
                    let (place, problem) = verify_paths(&one, &graph, &lid).unwrap_err();
                    assert_eq!(place, at);
                    assert!(problem.to_string().contains(&format!("for LID {} (host", lid(to))), "{problem}");
                } else {
                    holes.set_optional(at, to, None);
                    unused += 1;
                }
            }
        }
        assert!(unused >= graph.hosts.len(), "{unused}");
        assert!(verify_paths(&holes, &graph, &lid).is_ok());
    }
}
