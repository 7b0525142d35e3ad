//! Size of a network before it is built.

use fabricsim_spec::Topology;

/// Networks of more switches and hosts are not built while fuzzing.
pub(crate) const LARGE: f64 = 2000.0;

/// About the number of switches and hosts, at least that; `None` if a file says it.
///
/// The `match` has no wildcard, so that a new topology does not compile without an entry here.
pub(crate) fn nodes(topology: &Topology) -> Option<f64> {
    let product = |numbers: &[u32]| numbers.iter().map(|&n| f64::from(n)).product::<f64>();
    let with_hosts = |switches: f64, hosts: u32| switches * (1.0 + f64::from(hosts));
    let groups = |given: Option<u32>, global_links: f64| given.map_or(global_links + 1.0, f64::from);
    Some(match topology {
        Topology::Mesh(grid) | Topology::Torus(grid) | Topology::Grid(grid) => {
            with_hosts(product(&grid.dimensions), grid.hosts_per_switch)
        }
        Topology::Hypercube { dimensions, hosts_per_switch } => {
            with_hosts(f64::from(*dimensions).exp2(), *hosts_per_switch)
        }
        Topology::FatTree { arity, levels } => {
            f64::from(*arity).powf(f64::from(*levels)) * (1.0 + f64::from(*levels))
        }
        // Every level has at most all children and all parents.
        Topology::Xgft { children, parents } => {
            let level = product(children).max(1.0) * product(parents).max(1.0);
            level * (1.0 + children.len() as f64)
        }
        Topology::ParkingLot { switches, hosts_per_switch } => {
            with_hosts(f64::from(*switches), *hosts_per_switch) + 1.0
        }
        Topology::Ring { switches, hosts_per_switch } => with_hosts(f64::from(*switches), *hosts_per_switch),
        Topology::SingleSwitch { hosts } => with_hosts(1.0, *hosts),
        Topology::Dragonfly(spec) => {
            let routers = f64::from(spec.a);
            with_hosts(groups(spec.g, routers * f64::from(spec.h)) * routers, spec.p)
        }
        Topology::Megafly(spec) => {
            let (leaves, spines) = (f64::from(spec.leaves), f64::from(spec.spines));
            groups(spec.g, spines * f64::from(spec.h)) * (with_hosts(leaves, spec.p) + spines)
        }
        Topology::HyperX { dimensions, hosts_per_switch } => {
            with_hosts(product(dimensions), *hosts_per_switch)
        }
        Topology::SlimFly(spec) => {
            let q = f64::from(spec.q);
            with_hosts(2.0 * q * q, spec.hosts_per_switch.unwrap_or(spec.q))
        }
        Topology::Jellyfish(spec) => with_hosts(f64::from(spec.switches), spec.hosts_per_switch),
        Topology::Xpander(spec) => {
            with_hosts((1.0 + f64::from(spec.degree)) * f64::from(spec.lift), spec.hosts_per_switch)
        }
        Topology::File { .. } => return None,
        Topology::Inline { text, hosts_per_switch, .. } => {
            text.lines().count() as f64 * f64::from(2 + hosts_per_switch.unwrap_or(0).min(1024))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The estimate is never below the network that is built, so that fuzzing builds no large one.
    #[test]
    fn the_estimate_is_at_least_the_size() {
        let mut compared = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/experiment")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
            let Some(estimate) = nodes(&experiment.topology) else { continue };
            let graph = fabricsim_topology::build(&experiment, Path::new("."), "e.toml").unwrap();
            let nodes = (graph.switches.len() + graph.hosts.len()) as f64;
            assert!(estimate >= nodes && estimate <= 20.0 * nodes, "{text}: {estimate} for {nodes}");
            compared += 1;
        }
        assert!(compared >= 15);
    }
}
