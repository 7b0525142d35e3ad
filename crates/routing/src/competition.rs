//! Competition of input ports for each output port of a router (Abts, Weisser 2007, table 3).

use std::collections::BTreeMap;

use fabricsim_model::Hop;
use fabricsim_topology::{Graph, GridShape, Node, Shape};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::wiring::beyond;
use crate::{Router, RoutingFunction};

/// More switches than this are not looked at.
const MOST_SWITCHES: usize = 4096;

/// Dimensions that have a letter.
const LETTERS: [char; 3] = ['x', 'y', 'z'];

/// For each output port of the router in the middle of a grid, the input ports from which some packet goes there, over
/// all pairs of different switches. Ports are named by their side, `+x` to `-z`, and `proc` for those of hosts: a packet
/// that moves up along x comes in by `-x`. `None` if the graph is no grid of one to three dimensions, has no hosts, or
/// more than 4096 switches.
pub fn port_competition(router: &Router, graph: &Graph) -> Option<Vec<(String, Vec<String>)>> {
    let Shape::Grid(shape) = &graph.shape else { return None };
    let is_fit =
        (1..=LETTERS.len()).contains(&shape.dimensions.len()) && graph.switches.len() <= MOST_SWITCHES;
    let middle: Vec<u32> = shape.dimensions.iter().map(|k| k / 2).collect();
    let middle = graph.switches.iter().position(|switch| switch.coordinates == middle).filter(|_| is_fit)?;
    let middle = SwitchId(middle as u32);
    let sides = Sides::new(graph, shape, middle);
    let mut found: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    let mut walk = Walk::new(graph);
    for to in (0..graph.hosts.len() as u32).map(HostId).filter(|&to| is_first(graph, to)) {
        walk.all_to(router, graph, to, |at, in_port, hop| {
            if at == middle {
                let inputs = found.entry(sides.of(hop.port)).or_insert_with(|| vec![false; sides.count()]);
                inputs[sides.of(in_port)] = true;
            }
        });
    }
    let named = |(output, inputs): (usize, Vec<bool>)| {
        let inputs = (0..inputs.len()).filter(|&input| inputs[input]).map(|input| sides.name(input));
        (sides.name(output), inputs.collect())
    };
    Some(found.into_iter().map(named).collect())
}

/// One host stands for all of a switch.
fn is_first(graph: &Graph, host: HostId) -> bool {
    host.0 == 0 || graph.hosts[host.index()].switch != graph.hosts[host.index() - 1].switch
}

/// Walks of packets, each state once.
struct Walk {
    first_port: Vec<usize>,
    seen: Vec<u32>,
    hops: Vec<Hop>,
}

impl Walk {
    fn new(graph: &Graph) -> Self {
        let (mut first_port, mut ports) = (Vec::new(), 0);
        for switch in &graph.switches {
            first_port.push(ports);
            ports += switch.ports.len();
        }
        Self { first_port, seen: vec![0; ports], hops: Vec::new() }
    }

    /// Follows packets for `to` from the first host of every other switch; reports each hop once.
    fn all_to(
        &mut self,
        router: &Router,
        graph: &Graph,
        to: HostId,
        mut tell: impl FnMut(SwitchId, PortNo, Hop),
    ) {
        let target = graph.hosts[to.index()].switch;
        let sources = (0..graph.hosts.len() as u32).map(HostId).filter(|&from| is_first(graph, from));
        for source in sources.map(|from| &graph.hosts[from.index()]).filter(|source| source.switch != target)
        {
            let mut stack = vec![(source.switch, source.port)];
            while let Some((at, in_port)) = stack.pop() {
                let seen = &mut self.seen[self.first_port[at.index()] + in_port.index()];
                if std::mem::replace(seen, to.0 + 1) == to.0 + 1 {
                    continue;
                }
                self.hops.clear();
                router.hops(at, in_port, Vl(0), to, &mut self.hops);
                for &hop in &self.hops {
                    tell(at, in_port, hop);
                    if let Some(end) = beyond(graph, at, hop.port)
                        && let Node::Switch(next) = end.node
                    {
                        stack.push((next, end.port));
                    }
                }
            }
        }
    }
}

/// The sides of a router: + and - for each dimension, and last the hosts'.
struct Sides {
    /// By port.
    sides: Vec<usize>,
    dimensions: usize,
}

impl Sides {
    fn new(graph: &Graph, shape: &GridShape, at: SwitchId) -> Self {
        let dimensions = shape.dimensions.len();
        let mut sides = vec![2 * dimensions; graph.switches[at.index()].ports.len()];
        for side in 0..2 * dimensions {
            if let Some(port) = shape.port(at, side / 2, side % 2 == 0) {
                sides[port.index()] = side;
            }
        }
        Self { sides, dimensions }
    }

    fn count(&self) -> usize {
        2 * self.dimensions + 1
    }

    fn of(&self, port: PortNo) -> usize {
        self.sides[port.index()]
    }

    fn name(&self, side: usize) -> String {
        let sign = if side.is_multiple_of(2) { '+' } else { '-' };
        LETTERS
            .get(side / 2)
            .filter(|_| side < 2 * self.dimensions)
            .map_or_else(|| "proc".to_owned(), |letter| format!("{sign}{letter}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::network;

    /// Table 3. Its last row but one, that of `-z`, is misprinted: it repeats the inputs of `+z`, so that packets would turn
    /// back, and none could go on.
    const TABLE_3: [(&str, &str); 7] = [
        ("+x", "-x proc"),
        ("-x", "+x proc"),
        ("+y", "+x -x -y proc"),
        ("-y", "+x -x +y proc"),
        ("+z", "+x -x +y -y -z proc"),
        ("-z", "+x -x +y -y +z proc"),
        ("proc", "+x -x +y -y +z -z"),
    ];

    #[test]
    fn it_is_table_3_on_meshes_and_tori() {
        for topology in [
            "mesh = { dimensions = [3, 3, 3] }",
            "mesh = { dimensions = [4, 5, 3], hosts_per_switch = 2 }",
            "torus = { dimensions = [5, 5, 5] }",
            "torus = { dimensions = [5, 7, 6] }",
            "grid = { dimensions = [6, 3, 5], wrap = [true, false, true] }",
        ] {
            for algorithm in ["dimension-order", "look-up-tables"] {
                let (graph, router) = network(topology, &format!("algorithm = \"{algorithm}\""), 2);
                let found = port_competition(&router, &graph).unwrap();
                let found: Vec<(&str, String)> =
                    found.iter().map(|(output, inputs)| (&output[..], inputs.join(" "))).collect();
                let expected = TABLE_3.map(|(output, inputs)| (output, inputs.to_owned()));
                assert_eq!(found, expected, "{topology} {algorithm}");
            }
        }
    }

    #[test]
    fn it_is_what_the_dimensions_allow() {
        let (graph, router) = network("torus = { dimensions = [3] }", "", 1);
        // In a ring of three no packet goes on.
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let expected = [("+x", &["proc"][..]), ("-x", &["proc"]), ("proc", &["+x", "-x"])];
        let expected = expected.map(|(output, inputs)| (output.to_owned(), names(inputs)));
        assert_eq!(port_competition(&router, &graph), Some(expected.to_vec()));
        let (graph, router) = network("fat-tree = { arity = 2, levels = 2 }", "", 1);
        assert_eq!(port_competition(&router, &graph), None);
        let (graph, router) = network("hypercube = { dimensions = 4 }", "", 1);
        assert_eq!(port_competition(&router, &graph), None);
    }
}
