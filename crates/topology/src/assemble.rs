//! Assembly of a graph, node by node and cable by cable.

use fabricsim_spec::LinkParameters;
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::{End, Graph, HostNode, Link, LinkClass, Node, Shape, SwitchNode};

/// A port that has no cable yet.
pub(crate) const UNPLUGGED: LinkId = LinkId(u32::MAX);

/// A graph under construction. Switches first, then hosts, then cables between switches: so link h is that of host h.
pub(crate) struct Assembler {
    graph: Graph,
}

impl Assembler {
    pub(crate) fn new(switches: usize, hosts: usize, links: usize) -> Self {
        let graph = Graph {
            title: String::new(),
            switches: Vec::with_capacity(switches),
            hosts: Vec::with_capacity(hosts),
            links: Vec::with_capacity(links),
            shape: Shape::Irregular,
            identity: None,
        };
        Self { graph }
    }

    pub(crate) fn switch(&mut self, name: String, coordinates: Vec<u32>, ports: usize) -> SwitchId {
        let id = SwitchId(self.graph.switches.len() as u32);
        self.graph.switches.push(SwitchNode { name, coordinates, ports: vec![UNPLUGGED; ports] });
        id
    }

    pub(crate) fn host(&mut self, name: String, at: (SwitchId, u32), parameters: &LinkParameters) {
        let (switch, port) = (at.0, PortNo(at.1 as u16));
        let host = HostId(self.graph.hosts.len() as u32);
        let a = End { node: Node::Host(host), port: PortNo(0) };
        let link = self.link(a, End { node: Node::Switch(switch), port }, LinkClass::Host, parameters);
        self.graph.hosts.push(HostNode { name, switch, port, link });
    }

    pub(crate) fn cable(
        &mut self,
        a: (SwitchId, PortNo),
        b: (SwitchId, PortNo),
        class: LinkClass,
        parameters: &LinkParameters,
    ) {
        let end = |(switch, port)| End { node: Node::Switch(switch), port };
        self.link(end(a), end(b), class, parameters);
    }

    fn link(&mut self, a: End, b: End, class: LinkClass, parameters: &LinkParameters) -> LinkId {
        let id = LinkId(self.graph.links.len() as u32);
        for end in [a, b] {
            if let Node::Switch(switch) = end.node {
                self.graph.switches[switch.index()].ports[end.port.index()] = id;
            }
        }
        self.graph.links.push(Link { a, b, class, parameters: parameters.clone() });
        id
    }

    pub(crate) fn finish(self, title: String, shape: Shape) -> Graph {
        debug_assert!(self.graph.switches.iter().all(|s| !s.ports.contains(&UNPLUGGED)));
        Graph { title, shape, ..self.graph }
    }
}
