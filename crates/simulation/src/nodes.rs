//! Positions of switches and hosts in drawings: the table `nodes`.

use std::f64::consts::TAU;

use fabricsim_model::Table;
use fabricsim_topology::{Graph, Shape};

/// A row per switch and host: name, kind, position in the plane.
pub(crate) fn table(graph: &Graph) -> Table {
    let switches = switch_places(graph);
    let hosts = host_places(graph, &switches);
    let names = graph.switches.iter().map(|s| &s.name).chain(graph.hosts.iter().map(|h| &h.name));
    let kinds = std::iter::repeat_n("switch", switches.len()).chain(std::iter::repeat_n("host", hosts.len()));
    let places: Vec<(f64, f64)> = switches.into_iter().chain(hosts).collect();
    table_of(names.cloned().collect(), kinds.map(str::to_owned).collect(), &places)
}

/// Thing that has a row.
pub(crate) const ROW: &str = "switch and host, with its position in a drawing (`y` counts downwards)";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table_of(Vec::new(), Vec::new(), &[])
}

fn table_of(names: Vec<String>, kinds: Vec<String>, places: &[(f64, f64)]) -> Table {
    let mut table = Table::new("nodes");
    table.text("name", "Name of the switch or host", names);
    table.text("kind", "switch or host", kinds);
    table.real("x", "", "Position in the drawing", places.iter().map(|p| p.0).collect());
    table.real("y", "", "Position in the drawing, downwards", places.iter().map(|p| p.1).collect());
    table
}

fn switch_places(graph: &Graph) -> Vec<(f64, f64)> {
    let count = graph.switches.len().max(1) as f64;
    let mut wide = vec![0_u32; 256];
    if let Shape::Tree(shape) = &graph.shape {
        shape.level.iter().for_each(|&level| wide[usize::from(level)] += 1);
    }
    let mut in_level = vec![0_u32; 256];
    let place = |(i, switch): (usize, &fabricsim_topology::SwitchNode)| match &graph.shape {
        Shape::Grid(shape) => grid_place(&switch.coordinates, &shape.dimensions),
        Shape::Tree(shape) => {
            let level = usize::from(shape.level[i]);
            in_level[level] += 1;
            let step = f64::from(wide[1]) / f64::from(wide[level]);
            ((f64::from(in_level[level]) - 0.5) * step, -1.5 * level as f64)
        }
        Shape::HyperX(shape) => grid_place(&switch.coordinates, &shape.dimensions),
        Shape::Dragonfly(shape) => group_place(i, shape.routers, shape.groups.count),
        Shape::Megafly(shape) => group_place(i, shape.leaves + shape.spines, shape.groups.count),
        Shape::Direct | Shape::Irregular => {
            let angle = TAU * i as f64 / count;
            let radius = if graph.switches.len() == 1 { 0.0 } else { count / TAU + 0.5 };
            (radius * angle.cos(), radius * angle.sin())
        }
    };
    graph.switches.iter().enumerate().map(place).collect()
}

/// The switches of a group in a ring, and the groups in a ring of such rings.
fn group_place(switch: usize, in_group: u32, groups: u32) -> (f64, f64) {
    let (group, place) = (switch / in_group as usize, switch % in_group as usize);
    let small = f64::from(in_group) / TAU + 0.5;
    let large = f64::from(groups) * (2.0 * small + 1.0) / TAU + small;
    let outwards = TAU * group as f64 / f64::from(groups);
    let around = outwards + TAU * place as f64 / f64::from(in_group);
    (large * outwards.cos() + small * around.cos(), large * outwards.sin() + small * around.sin())
}

/// Even dimensions to the right, odd ones downwards, each block beside the next.
fn grid_place(coordinates: &[u32], dimensions: &[u32]) -> (f64, f64) {
    let (mut place, mut stride) = ([0.0, 0.0], [1.0, 1.0]);
    for (d, (&coordinate, &radix)) in coordinates.iter().zip(dimensions).enumerate() {
        place[d % 2] += f64::from(coordinate) * stride[d % 2];
        stride[d % 2] *= f64::from(radix) + 0.5;
    }
    (place[0], place[1])
}

/// Hosts are placed around their switch.
fn host_places(graph: &Graph, switches: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut on_switch = vec![0_u32; switches.len()];
    graph.hosts.iter().for_each(|host| on_switch[host.switch.index()] += 1);
    let mut seen = vec![0_u32; switches.len()];
    let place = |host: &fabricsim_topology::HostNode| {
        let s = host.switch.index();
        let angle = TAU * (f64::from(seen[s]) / f64::from(on_switch[s]) + 0.1);
        seen[s] += 1;
        (switches[s].0 + 0.3 * angle.cos(), switches[s].1 + 0.3 * angle.sin())
    };
    graph.hosts.iter().map(place).collect()
}
