use fabricsim_topology::{End, Graph, Node};
use fabricsim_units::{PortNo, SwitchId};

/// The sending port (see [`Graph::port_name`]) behind a switch's port; `None` if it has no such port.
pub(crate) fn sending_port(graph: &Graph, at: SwitchId, port: PortNo) -> Option<u32> {
    let link = *graph.switches[at.index()].ports.get(port.index())?;
    let from_a = graph.links[link.index()].a == End { node: Node::Switch(at), port };
    Some(2 * link.0 + u32::from(!from_a))
}

/// Returns the end to which a sending port leads.
pub(crate) fn arrival(graph: &Graph, sending_port: u32) -> End {
    let link = &graph.links[(sending_port / 2) as usize];
    if sending_port.is_multiple_of(2) { link.b } else { link.a }
}

/// Returns the end to which a switch's port leads; `None` if it has no such port.
pub(crate) fn beyond(graph: &Graph, at: SwitchId, port: PortNo) -> Option<End> {
    sending_port(graph, at, port).map(|sending| arrival(graph, sending))
}
