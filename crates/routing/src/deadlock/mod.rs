//! The static deadlock check: whether the channel dependency graph is free of cycles (Dally, Seitz 1987).
//!
//! It reads ports and lanes together, from the [`RoutingFunction`] that composes a routing algorithm and its lane policy.
//!
//! A channel is a virtual lane of a link's direction between two switches. Channel c depends on channel d if the
//! routing lets a packet that sits in c's buffer go on over d. Only what packets can really do counts: the walk
//! starts at the injections and follows every hop and lane that is allowed. Channels from and to hosts cannot be part of a
//! cycle, since nothing waits for the former and the latter wait for nothing: sinks take what arrives.
//!
//! Without a cycle there is no deadlock. With one there can be, if packets really choose the hops of the cycle all
//! at once; for routing that offers several hops that is a sufficient condition only (Duato 1993).

mod cycle;
mod dependencies;
mod grid;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write;

use fabricsim_topology::{Graph, Shape};
use fabricsim_units::{HostId, Vl};

use crate::{MulticastTables, Participants, Router, RoutingFunction};
use dependencies::Dependencies;

/// Most steps that the check takes, each the routing of one packet state: about a minute.
const STEPS_LIMIT: u64 = 3_000_000_000;

/// From this many steps on, a grid is checked by one line per dimension.
const STEPS_BY_LINES: u64 = 10_000_000;

/// Most memory for the dependencies, in bits: 512 MiB.
const BITS_LIMIT: u64 = 1 << 32;

/// Result of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No deadlock is possible. Counts are of the channels that packets can use and of their dependencies; on a
    /// large grid with dimension order, of the lines that were checked for all.
    Free {
        /// Channels: virtual lanes of directions of links between switches.
        channels: u64,
        /// Pairs of channels of which the first waits for the second.
        dependencies: u64,
    },
    /// Packets can wait for each other in a circle.
    Cyclic {
        /// A short cycle: sending ports, numbered as in [`Graph::port_name`], and their lanes. Each waits for the
        /// next, the last for the first.
        cycle: Vec<(u32, Vl)>,
    },
    /// The check would take too long.
    NotChecked {
        /// Description of what is too large.
        reason: String,
    },
}

impl Verdict {
    /// The verdict in words, with the names of `graph`; a cycle takes a line per channel.
    pub fn describe(&self, graph: &Graph) -> String {
        match self {
            Self::Free { channels, dependencies } => {
                format!("free of deadlock: no cycle among {dependencies} dependencies of {channels} channels")
            }
            Self::Cyclic { cycle } => {
                let mut text = format!("deadlock is possible: a cycle of {} channels", cycle.len());
                for (index, (port, lane)) in cycle.iter().enumerate() {
                    let word = if index == 0 { "packets of" } else { "wait for those of" };
                    let _ = write!(text, "\n  {word} {} lane {lane}", graph.port_name(*port));
                }
                text.push_str("\n  wait for the first");
                text
            }
            Self::NotChecked { reason } => format!("not checked for deadlock: {reason}"),
        }
    }
}

/// Checks whether packets can wait for each other in a circle.
pub fn check(router: &Router, graph: &Graph) -> Verdict {
    let lanes = router.virtual_lanes();
    let all: Vec<HostId> = (0..graph.hosts.len() as u32).map(HostId).collect();
    let is_regular = match router {
        Router::DimensionOrder(_) => Some(true),
        Router::LookUpTables(tables) => Some(tables.failed_links() == 0),
        _ => None,
    };
    if let (Some(is_regular), Shape::Grid(shape)) = (is_regular, &graph.shape) {
        // These know the destination's switch only: one host stands for all of a switch.
        let one_each = grid::one_host_per_switch(graph);
        if !is_regular || steps(graph, lanes, &one_each) < STEPS_BY_LINES {
            return check_among(router, lanes, graph, &[one_each]);
        }
        if let Some(lines) = grid::one_line_per_dimension(graph, shape) {
            return check_among(router, lanes, graph, &lines);
        }
    }
    if router.knows_switches_only() {
        return check_among(router, lanes, graph, &[grid::one_host_per_switch(graph)]);
    }
    check_among(router, lanes, graph, &[all])
}

/// Checks the dependencies of packets among the hosts of each set, all sets together. `router` uses lanes below
/// `lanes`.
pub fn check_among<R: RoutingFunction>(
    router: &R,
    lanes: u8,
    graph: &Graph,
    sets: &[Vec<HostId>],
) -> Verdict {
    match dependencies_among(router, lanes, graph, sets) {
        Ok(dependencies) => verdict(&dependencies),
        Err(reason) => Verdict::NotChecked { reason },
    }
}

/// [`check`] of packets among all hosts, together with those for multicast groups on the same lanes. `classes` are the service classes of
/// packets that are not for groups.
pub fn check_with_multicast(
    router: &Router,
    graph: &Graph,
    (tables, groups): (&MulticastTables, &[Participants<'_>]),
    classes: &[u8],
) -> Verdict {
    let mut found = check(router, graph);
    let with_senders: BTreeSet<u8> =
        groups.iter().flat_map(|group| group.senders).map(|&(class, _)| class).collect();
    // Service levels may share lanes: all are checked together. Service classes do not.
    let levels_share = router.has_service_levels();
    let sets = if levels_share {
        vec![with_senders]
    } else {
        with_senders.into_iter().map(|class| BTreeSet::from([class])).collect()
    };
    for classes_of_set in sets.into_iter().filter(|set| !set.is_empty()) {
        if !matches!(found, Verdict::Free { .. }) {
            return found;
        }
        let shared = levels_share || classes.iter().any(|class| classes_of_set.contains(class));
        let among = if shared { (0..graph.hosts.len() as u32).map(HostId).collect() } else { Vec::new() };
        let mut dependencies = match dependencies_among(router, router.virtual_lanes(), graph, &[among]) {
            Ok(dependencies) => dependencies,
            Err(reason) => return Verdict::NotChecked { reason },
        };
        for (number, group) in (0..).zip(groups) {
            for &class in &classes_of_set {
                let senders = group.senders.iter().filter(|sender| sender.0 == class);
                let senders: Vec<HostId> = senders.map(|&(_, host)| host).collect();
                let injected = if levels_share { class } else { 0 };
                dependencies.walk_tree(router, tables, number, ((injected, class), &senders));
            }
        }
        found = verdict(&dependencies);
    }
    found
}

/// The dependencies of packets among the hosts of each set; the reason if they are too many to be found.
fn dependencies_among<'a, R: RoutingFunction>(
    router: &R,
    lanes: u8,
    graph: &'a Graph,
    sets: &[Vec<HostId>],
) -> Result<Dependencies<'a>, String> {
    let bits = Dependencies::bits(graph, lanes.into());
    if bits > BITS_LIMIT {
        return Err(format!("the dependencies take {} MiB, more than {}", bits >> 23, BITS_LIMIT >> 23));
    }
    let steps: u64 = sets.iter().map(|hosts| steps(graph, lanes, hosts)).sum();
    if steps > STEPS_LIMIT {
        return Err(format!("it could take {steps} steps, more than {STEPS_LIMIT}"));
    }
    let mut dependencies = Dependencies::new(graph, lanes.into());
    for hosts in sets {
        for &to in hosts {
            if router.keeps_state() {
                dependencies.walk_states(router, hosts, to);
            } else {
                dependencies.walk(router, hosts, to);
            }
        }
    }
    Ok(dependencies)
}

fn verdict(dependencies: &Dependencies<'_>) -> Verdict {
    let successors = dependencies.successors();
    match cycle::short_cycle(&successors) {
        Some(cycle) => {
            Verdict::Cyclic { cycle: cycle.into_iter().map(|c| dependencies.channel(c)).collect() }
        }
        None => Verdict::Free {
            channels: dependencies.used(),
            dependencies: successors.iter().map(|next| next.len() as u64).sum(),
        },
    }
}

/// Upper bound of the states that packets among `hosts` can be in.
fn steps(graph: &Graph, lanes: u8, hosts: &[HostId]) -> u64 {
    hosts.len() as u64 * u64::from(lanes) * (hosts.len() as u64 + 2 * graph.links.len() as u64)
}
