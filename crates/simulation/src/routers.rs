//! The ports of switches with their directions, for tables of performance counters.

use std::collections::BTreeMap;

use fabricsim_measure::RouterPort;
use fabricsim_topology::{Graph, LinkClass, Node, Shape};
use fabricsim_units::{PortNo, SwitchId};

/// Letters of dimensions; later ones have numbers.
const LETTERS: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

/// Direction in which a port leads; in the order of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    /// Along a dimension, to lower or higher coordinates.
    Dimension {
        dimension: u8,
        down: bool,
    },
    /// Between two levels of a tree.
    Level {
        level: u8,
        down: bool,
    },
    Plain,
    Host,
}

impl Direction {
    fn name(self) -> String {
        let letter = |dimension: u8| {
            LETTERS
                .get(usize::from(dimension))
                .map_or_else(|| format!("d{}", dimension + 1), ToString::to_string)
        };
        match self {
            Self::Dimension { dimension, down } => {
                format!("{}{}", if down { '-' } else { '+' }, letter(dimension))
            }
            Self::Level { level, down: false } => format!("up {level}"),
            Self::Level { level, down: true } => format!("down {level}"),
            Self::Plain => "plain".to_owned(),
            Self::Host => "host".to_owned(),
        }
    }
}

/// All ports of all switches, and the names of their directions.
pub(crate) fn ports(graph: &Graph) -> (Vec<RouterPort>, Vec<String>) {
    let found: Vec<(Direction, RouterPort)> =
        (0..graph.switches.len() as u32).flat_map(|switch| of_switch(graph, SwitchId(switch))).collect();
    let mut places: BTreeMap<Direction, usize> = found.iter().map(|(direction, _)| (*direction, 0)).collect();
    places.values_mut().enumerate().for_each(|(number, place)| *place = number);
    let port =
        |(direction, port): (Direction, RouterPort)| RouterPort { direction: places[&direction], ..port };
    let ports = found.into_iter().map(port).collect();
    (ports, places.into_keys().map(Direction::name).collect())
}

fn of_switch(graph: &Graph, switch: SwitchId) -> impl Iterator<Item = (Direction, RouterPort)> {
    let node = &graph.switches[switch.index()];
    node.ports.iter().enumerate().map(move |(number, &link)| {
        let ends = &graph.links[link.index()];
        let port = PortNo(number as u16);
        // The port may be either end of its link; both, of a cable from a switch to itself.
        let is_first = ends.a.node == Node::Switch(switch) && ends.a.port == port;
        let output = 2 * link.0 + u32::from(!is_first);
        let of_port =
            RouterPort { router: node.name.clone(), port: port.0, direction: 0, input: output ^ 1, output };
        (direction(graph, switch, port, ends.class), of_port)
    })
}

fn direction(graph: &Graph, switch: SwitchId, port: PortNo, class: LinkClass) -> Direction {
    match (class, &graph.shape) {
        (LinkClass::Host, _) => Direction::Host,
        (LinkClass::Dimension(dimension), Shape::Grid(shape)) => {
            let down = shape.port(switch, usize::from(dimension), false) == Some(port);
            Direction::Dimension { dimension, down }
        }
        (LinkClass::Level(level), Shape::Tree(shape)) => {
            Direction::Level { level, down: port < shape.down[switch.index()] }
        }
        _ => Direction::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_spec::Experiment;

    fn graph(topology: &str) -> Graph {
        let rest =
            "[[traffic]]\npattern = \"uniform\"\nload = 0.1\nmessage = \"64 B\"\n[run]\nduration = \"1 us\"";
        let text = format!("[topology]\n{topology}\n{rest}");
        let experiment: Experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
        fabricsim_topology::build(&experiment, std::path::Path::new("."), "e.toml").unwrap()
    }

    /// For each port: its switch, the switch at the other end if there is one, and its direction.
    fn checked(graph: &Graph) -> Vec<(usize, Option<usize>, String)> {
        let (ports, directions) = ports(graph);
        let count: usize = graph.switches.iter().map(|switch| switch.ports.len()).sum();
        assert_eq!(ports.len(), count);
        let found = ports.iter().map(|port| {
            assert_eq!(port.input / 2, port.output / 2);
            let name = graph.ends_name(port.output);
            let (from, to) = name.split_once("->").unwrap();
            assert_eq!(from, port.router);
            assert_eq!(graph.ends_name(port.input), format!("{to}->{from}"));
            let place = |name: &str| graph.switches.iter().position(|switch| switch.name == name);
            (place(from).unwrap(), place(to), directions[port.direction].clone())
        });
        found.collect()
    }

    #[test]
    fn directions_of_a_torus_and_a_mesh() {
        let (radices, names) = ([4, 2, 3], ["x", "y", "z"]);
        let graph = graph("grid = { dimensions = [4, 2, 3], wrap = [true, true, false] }");
        assert_eq!(ports(&graph).1, ["+x", "-x", "+y", "-y", "+z", "-z", "host"]);
        for (from, to, direction) in checked(&graph) {
            let Some(to) = to else {
                assert_eq!(direction, "host");
                continue;
            };
            let [here, there] = [from, to].map(|at| &graph.switches[at].coordinates);
            let d = names.iter().position(|name| direction.ends_with(name)).unwrap();
            let step = if direction.starts_with('+') { 1 } else { radices[d] - 1 };
            assert_eq!((here[d] + step) % radices[d], there[d], "{here:?} {direction} {there:?}");
            assert!((0..3).all(|other| other == d || here[other] == there[other]));
        }
    }

    #[test]
    fn directions_of_a_tree_and_of_one_switch() {
        let tree = graph("fat-tree = { arity = 2, levels = 2 }");
        assert_eq!(ports(&tree).1, ["up 1", "down 1", "host"]);
        for (from, to, direction) in checked(&tree) {
            let level = |at: usize| tree.switches[at].coordinates[0];
            match to {
                None => assert_eq!(direction, "host"),
                Some(to) => assert_eq!(direction, if level(to) > level(from) { "up 1" } else { "down 1" }),
            }
        }
        assert_eq!(ports(&graph("single-switch = { hosts = 3 }")).1, ["host"]);
    }
}
