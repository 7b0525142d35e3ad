//! Torus-2QoS: dimension order on tori and meshes with a failure or two, free of deadlock with two lanes (`osm_torus.c`).
//!
//! Paths go along x, y, z in the shorter direction; where a switch is missing, they take a turn early. Service level bits 0 to 2 say
//! whether the path crosses the dateline of x, y, z; such links use the odd lane. Forbidden turns use lanes 2 and 3.

mod config;
mod place;

pub use config::{Seed, TorusConfig};

use super::hops::Hops;
use super::{Options, PathSls, Routing};
use crate::fabric::{Fabric, NONE, Peer};
use crate::{RouteError, Sl2Vl, Tables};
use place::{ENDS, Place, Torus, fail};

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let Some(config) = &options.torus else { return fail("give a torus-2QoS.conf") };
    if options.vls < 2 {
        return Err(RouteError::TooFewLanes { engine: "torus-2QoS", lanes: options.vls });
    }
    let mut torus = Torus::new(fabric, config)?;
    add_ends(fabric, &mut torus)?;
    check(fabric, &torus)?;
    let mut routing = Routing::with_hops(tables(fabric, &torus)?, Hops::Untold);
    let level = |at: usize, lid: usize| {
        let end = fabric.lid_ends[lid];
        let target =
            if end == NONE { None } else { torus.places.get(fabric.ends[end as usize].switch as usize) };
        match (torus.places[at], target.copied().flatten()) {
            (Some(from), Some(to)) => service_level(&torus, from, to),
            _ => 0,
        }
    };
    routing.sls = Some(PathSls::new(fabric, level, [1; 16]));
    routing.sl2vl = lanes(fabric, &torus, options.vls);
    routing.layers = 2;
    Ok(routing)
}

/// Adds the group of end ports to every switch: its own, then those of adapters by port.
fn add_ends(fabric: &Fabric<'_>, torus: &mut Torus<'_>) -> Result<(), RouteError> {
    for at in 0..fabric.len() {
        if torus.places[at].is_none() {
            return fail(format!("{} has no place in the torus", fabric.switch_name(at)));
        }
        let ports: Vec<u8> =
            std::iter::once(0).chain(fabric.end_links(at).map(|(port, _)| port as u8)).collect();
        if ports.len() > torus.config.group {
            let (name, most) = (fabric.switch_name(at), torus.config.group);
            return fail(format!("{name} has {} end ports, portgroup_max_ports is {most}", ports.len()));
        }
        torus.groups[at][ENDS] = ports;
    }
    Ok(())
}

/// At most one break in each ring, and missing switches in one column of z only (`routable_torus`).
fn check(fabric: &Fabric<'_>, torus: &Torus<'_>) -> Result<(), RouteError> {
    let sizes = torus.config.sizes;
    let places = || {
        (0..sizes[2])
            .flat_map(move |k| (0..sizes[1]).flat_map(move |j| (0..sizes[0]).map(move |i| [i, j, k])))
    };
    let mut column = None;
    for place in places().filter(|&place| torus.get(place).is_none()) {
        let near = |step: usize| torus.get([place[0], place[1], (place[2] + step) % sizes[2]]).is_some();
        let several = torus.found.len() + 1 < sizes.iter().product();
        if (several && near(1) && near(sizes[2] - 1)) || column.is_some_and(|column| column != place[..2]) {
            return fail("missing switches make deadlocks possible");
        }
        column = Some([place[0], place[1]]);
    }
    for (dimension, name) in ["x", "y", "z"].into_iter().enumerate() {
        for start in places().filter(|place| place[dimension] == 0) {
            let mut breaks = [0; 2];
            let mut broken = None;
            for step in 0..sizes[dimension] {
                let mut place: Place = start;
                place[dimension] = step;
                let Some(at) = torus.get(place) else { continue };
                for (side, count) in breaks.iter_mut().enumerate() {
                    if torus.groups[at][2 * dimension + side].is_empty() {
                        *count += 1;
                        broken = Some(at);
                    }
                }
            }
            if breaks[0] != breaks[1] || breaks[0] > 1 {
                let near = broken.map_or(String::new(), |at| format!(" near {}", fabric.switch_name(at)));
                return fail(format!("a ring of {name} has several breaks{near}"));
            }
        }
    }
    Ok(())
}

/// Direction along a ring: up unless the way down is shorter. 0 if there is nothing to go.
fn ring_direction(from: usize, to: usize, size: usize) -> i8 {
    if from == to {
        return 0;
    }
    let inner = from.abs_diff(to);
    let direct = inner <= size - inner;
    if (to > from) == direct { 1 } else { -1 }
}

/// True if the shorter way between two places of a ring crosses the dateline.
fn crosses_dateline(from: usize, to: usize, size: usize) -> bool {
    let inner = from.abs_diff(to);
    inner > size - inner
}

fn service_level(torus: &Torus<'_>, from: Place, to: Place) -> u8 {
    (0..3).map(|d| u8::from(crosses_dateline(from[d], to[d], torus.size(d))) << d).sum()
}

/// The switch next to another in a direction.
fn step(fabric: &Fabric<'_>, torus: &Torus<'_>, at: usize, group: usize) -> Option<usize> {
    let &port = torus.groups[at][group].first()?;
    match fabric.peers(at)[usize::from(port)] {
        Peer::Switch(next, _) => Some(next as usize),
        _ => None,
    }
}

/// Group of links on a ring to a switch of the same ring: the shorter way, or the other if that is broken.
fn along_ring(
    fabric: &Fabric<'_>,
    torus: &Torus<'_>,
    dimension: usize,
    from: usize,
    to: usize,
) -> Option<usize> {
    let (a, b) = (torus.places[from]?, torus.places[to]?);
    let first = ring_direction(a[dimension], b[dimension], torus.size(dimension));
    if first == 0 {
        return None;
    }
    [first, -first].into_iter().map(|direction| 2 * dimension + usize::from(direction > 0)).find(|&group| {
        let mut at = from;
        for _ in 0..torus.size(dimension) {
            match step(fabric, torus, at, group) {
                Some(next) if next == to => return true,
                Some(next) => at = next,
                None => return false,
            }
        }
        false
    })
}

/// Group of links for the next hop along a dimension. Where the switch at the turn is missing, the direction alone decides.
fn next_hop(
    fabric: &Fabric<'_>,
    torus: &Torus<'_>,
    dimension: usize,
    from: usize,
    to: usize,
) -> Option<usize> {
    let (a, b) = (torus.places[from]?, torus.places[to]?);
    let mut turn = a;
    turn[dimension] = b[dimension];
    if let Some(turn) = torus.get(turn) {
        return along_ring(fabric, torus, dimension, from, turn);
    }
    if dimension == 2 {
        return None;
    }
    let direction = ring_direction(a[dimension], b[dimension], torus.size(dimension));
    let group = 2 * dimension + usize::from(direction > 0);
    (direction != 0 && !torus.groups[from][group].is_empty()).then_some(group)
}

fn tables(fabric: &Fabric<'_>, torus: &Torus<'_>) -> Result<Tables, RouteError> {
    let mut tables = Tables::new(fabric);
    let ends_of = |at: usize| -> Vec<(u8, u32)> {
        let links = fabric.end_links(at).map(|(port, end)| (port as u8, end as u32));
        let mut ends: Vec<(u8, u32)> = std::iter::once((0, fabric.switch_ends[at])).chain(links).collect();
        let place =
            |port: u8| torus.config.port_order.iter().position(|&other| other == port).unwrap_or(usize::MAX);
        ends.sort_by_key(|&(port, _)| (place(port), port));
        ends
    };
    let ends: Vec<Vec<(u8, u32)>> = (0..fabric.len()).map(ends_of).collect();
    for &at in &torus.found {
        // destinations on each group of links: adapters, switches
        let mut counts = [[0usize; 2]; ENDS];
        for &target in &torus.found {
            let group = if at == target { None } else { Some(first_hop(fabric, torus, at, target)?) };
            for &(port, end) in &ends[target] {
                let end = &fabric.ends[end as usize];
                let out = group.map_or(port, |group| {
                    let ports = &torus.groups[at][group];
                    let count = &mut counts[group][usize::from(end.is_switch)];
                    *count += 1;
                    ports[(*count - 1) % ports.len()]
                });
                tables.row_mut(at)[end.lids()].fill(out);
            }
        }
    }
    Ok(tables)
}

fn first_hop(fabric: &Fabric<'_>, torus: &Torus<'_>, at: usize, target: usize) -> Result<usize, RouteError> {
    let (Some(from), Some(to)) = (torus.places[at], torus.places[target]) else {
        return fail("a switch has no place");
    };
    let dimensions = (0..3).filter(|&dimension| from[dimension] != to[dimension]);
    let hop = dimensions.into_iter().find_map(|dimension| next_hop(fabric, torus, dimension, at, target));
    match hop {
        Some(group) if !torus.groups[at][group].is_empty() => Ok(group),
        _ => fail(format!("no path from {} to {}", fabric.switch_name(at), fabric.switch_name(target))),
    }
}

/// Lanes of all switches and adapters (`sl2vl_entry`).
fn lanes(fabric: &Fabric<'_>, torus: &Torus<'_>, vls: u8) -> Sl2Vl {
    let mut lanes = Sl2Vl::modulo(1);
    let quality = |level: usize| u8::from(level & 8 != 0);
    for at in 0..fabric.len() {
        let mut dimension = vec![3; fabric.peers(at).len()];
        for (group, ports) in torus.groups[at].iter().enumerate() {
            for &port in ports {
                dimension[usize::from(port)] = group / 2;
            }
        }
        let connected = fabric.peers(at).iter().enumerate().filter(|(_, peer)| **peer != Peer::None);
        for (output, _) in connected {
            for input in 0..dimension.len() {
                let (from, to) = (dimension[input], dimension[output]);
                let lane = |level: usize| {
                    if to == 3 {
                        return quality(level);
                    }
                    let turns = vls >= 4 && from != 3 && from > to;
                    let quality = if vls >= 8 { quality(level) << 2 } else { 0 };
                    (level >> to & 1) as u8 | u8::from(turns) << 1 | quality
                };
                lanes.set(fabric.switches[at], input as u8, output as u8, std::array::from_fn(lane));
            }
        }
    }
    for end in fabric.ends.iter().filter(|end| !end.is_switch) {
        lanes.set(end.id.node, 0, end.id.port, std::array::from_fn(quality));
    }
    lanes
}
