//! Nodes, ports and cables by name: those that fail, and the manager's.

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_units::nearest;

use super::finding::parts;
use super::{Node, NodeId, PortId, Subnet};
use crate::Guid;

impl Subnet {
    /// Takes out what `name` names: a node (its description or GUID), the cable of a port (`NODE/PORT`), or all cables between
    /// two nodes (`NODE->NODE`). Returns the number of cables.
    ///
    /// # Errors
    ///
    /// No node has that description, or several; the port has no cable; there is no cable between the nodes.
    pub fn fail(&mut self, name: &str) -> Result<usize, String> {
        let cables = self.named_cables(name)?;
        if cables.is_empty() {
            return Err(format!("{name}: no cable there"));
        }
        for &port in &cables {
            self.disconnect(port);
        }
        Ok(cables.len())
    }

    fn named_cables(&self, name: &str) -> Result<Vec<PortId>, String> {
        if let Ok(id) = self.named(name) {
            return Ok(self.cabled(id).collect());
        }
        if let Some((a, b)) = name.split_once("->") {
            let (a, b) = (self.named(a.trim())?, self.named(b.trim())?);
            let leads = |port: &PortId| self.port(*port).peer.is_some_and(|peer| peer.node == b);
            return Ok(self.cabled(a).filter(leads).collect());
        }
        if let Some((node, port)) = name.rsplit_once('/')
            && let Ok(number) = port.parse::<u8>()
        {
            let node = self.named(node)?;
            return Ok(self.cabled(node).filter(|port| port.port == number).collect());
        }
        self.named(name).map(|_| Vec::new())
    }

    fn cabled(&self, id: NodeId) -> impl Iterator<Item = PortId> + '_ {
        let ports = self.node(id).ports.iter().enumerate();
        ports
            .filter(|(_, port)| port.peer.is_some())
            .map(move |(port, _)| PortId { node: id, port: port as u8 })
    }

    /// The node with a description or GUID.
    fn named(&self, name: &str) -> Result<NodeId, String> {
        let digits = name.strip_prefix("0x").or_else(|| name.strip_prefix("0X"));
        let guid = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(Guid);
        let is_named = |node: &Node| node.description == name || Some(node.guid) == guid;
        let mut found = self.ids().filter(|(_, node)| is_named(node)).map(|(id, _)| id);
        match (found.next(), found.next()) {
            (Some(id), None) => Ok(id),
            (None, _) => {
                let near = self.nearest(name).map(|near| format!("; did you mean `{near}`?"));
                Err(format!("{name}: no node has this description or GUID{}", near.unwrap_or_default()))
            }
            (Some(first), Some(_)) => {
                let guid = self.node(first).guid;
                Err(format!("{name}: several nodes have this description: use the GUID, such as {guid}"))
            }
        }
    }

    /// The description that is written most like `name`, if one is near enough to be meant.
    fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.ids().map(|(_, node)| node.description.as_str()))
    }

    /// The first port with a cable of the node with a description or GUID.
    ///
    /// # Errors
    ///
    /// No node has that description, or several, or it has no cable.
    pub fn first_port(&self, name: &str) -> Result<PortId, String> {
        let node = self.named(name)?;
        self.cabled(node).next().ok_or_else(|| format!("{name}: no cable there"))
    }

    /// The subnet manager runs on the first port with a cable of the node with a description or GUID.
    ///
    /// # Errors
    ///
    /// No node has that description, or several, or it has no cable.
    pub fn set_manager(&mut self, name: &str) -> Result<(), String> {
        self.manager = Some(self.first_port(name)?);
        Ok(())
    }

    /// The subnet of the nodes that have cables.
    #[must_use]
    pub fn connected(self) -> Self {
        let kept = self.ids().filter(|(_, node)| node.ports.iter().any(|port| port.peer.is_some()));
        let kept = kept.map(|(id, _)| id).collect();
        self.of_nodes(&kept)
    }

    /// The connected part of the subnet with its manager, or the largest part if no manager is known.
    #[must_use]
    pub fn main_part(self) -> Self {
        let parts = parts(&self);
        let managed = |part: &&Vec<NodeId>| self.manager.is_some_and(|manager| part.contains(&manager.node));
        let main = parts.iter().find(managed).or(parts.first());
        let kept = main.into_iter().flatten().copied().collect();
        self.of_nodes(&kept)
    }

    /// The subnet of some nodes, which are numbered anew in the same order.
    fn of_nodes(self, kept: &BTreeSet<NodeId>) -> Self {
        let numbers: BTreeMap<NodeId, NodeId> =
            kept.iter().enumerate().map(|(number, &id)| (id, NodeId(number as u32))).collect();
        let moved = |id: PortId| Some(PortId { node: *numbers.get(&id.node)?, port: id.port });
        let nodes = self.nodes.into_iter().enumerate();
        let mut nodes: Vec<Node> =
            nodes.filter(|(id, _)| kept.contains(&NodeId(*id as u32))).map(|(_, node)| node).collect();
        for port in nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.peer = port.peer.and_then(moved);
        }
        Self { nodes, manager: self.manager.and_then(moved) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Subnet, read};

    const RING: &str = "Switch 4 \"A\"\n[1] \"B\"[2]\n[2] \"C\"[1]\n[3] \"a\"[1]\n\nSwitch 4 \"B\"\n[2] \"A\"[1]\n[1] \"C\"[2]\n\n\
                        Switch 4 \"C\"\n[1] \"A\"[2]\n[2] \"B\"[1]\n[3] \"c\"[1]\n\nHca 1 \"a\"\n[1] \"A\"[3]\n\nHca 1 \"c\"\n[1] \"C\"[3]\n";

    fn ring() -> Subnet {
        read(RING.as_bytes(), "ring.ibnet").unwrap().subnet
    }

    #[test]
    fn nodes_ports_and_pairs_are_taken_out() {
        for (name, cables, left) in [("A/1", 1, 5), ("A->B", 1, 5), ("C", 3, 3), ("a", 1, 4)] {
            let mut subnet = ring();
            assert_eq!(subnet.fail(name), Ok(cables), "{name}");
            assert_eq!(subnet.connected().nodes.len(), left, "{name}");
        }
        let mut subnet = ring();
        assert_eq!(subnet.fail("A/4"), Err("A/4: no cable there".to_owned()));
        assert_eq!(subnet.fail("a->c"), Err("a->c: no cable there".to_owned()));
        let guid = subnet.nodes[0].guid;
        let name = format!("{:#X}/1", guid.0).replacen("0X", "0x", 1);
        assert!(name.len() < guid.to_string().len(), "{name}: without leading zeros");
        assert_eq!(subnet.fail(&name), Ok(1));
        assert_eq!(subnet.fail(&format!("{guid}/2")), Ok(1));
        let unknown = "no node has this description or GUID";
        assert_eq!(subnet.fail("leaf-17"), Err(format!("leaf-17: {unknown}")));
        assert_eq!(subnet.fail("bb"), Err(format!("bb: {unknown}; did you mean `B`?")));
    }

    #[test]
    fn the_main_part_is_the_largest_or_the_managers() {
        let mut subnet = ring();
        subnet.fail("A->B").unwrap();
        subnet.fail("A->C").unwrap();
        let names = |subnet: Subnet| -> Vec<String> {
            subnet.nodes.into_iter().map(|node| node.description).collect()
        };
        subnet.manager = None;
        assert_eq!(names(subnet.clone().main_part()), ["B", "C", "c"]);
        subnet.set_manager("a").unwrap();
        assert_eq!(names(subnet.main_part()), ["A", "a"]);
    }

    #[test]
    fn cables_join_the_same_nodes_when_others_are_left_out() {
        let mut subnet = ring();
        subnet.fail("B").unwrap();
        let rest = subnet.connected();
        let names: Vec<[&str; 2]> = rest
            .cables()
            .map(|(a, b)| [a, b].map(|port| rest.node(port.node).description.as_str()))
            .collect();
        assert_eq!(names, [["A", "C"], ["A", "a"], ["C", "c"]]);
    }
}
