//! Latencies.

use fabricsim_topology::{Graph, Node};

use super::{Failure, Seen, ensure};

/// Smallest, quantiles and largest are in order, and the network takes no more than the whole.
pub fn ordered(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    for table in ["flows", "entries"] {
        if !tables.has(table) {
            continue;
        }
        let packets = tables.whole(table, "latency_packets");
        let column = |name: &str| tables.real(table, name);
        let order = ["min", "p50", "p99", "p999", "max"].map(|name| column(&format!("latency_{name}_ns")));
        let (mean, network) = (column("latency_mean_ns"), column("network_mean_ns"));
        for row in (0..packets.len()).filter(|&row| packets[row] > 0) {
            let values: Vec<f64> = order.iter().map(|values| values[row]).collect();
            let quantiles = values.iter().all(|value| value.is_nan() || value.is_finite());
            let sorted = values.iter().filter(|value| !value.is_nan()).is_sorted();
            let tolerance = 1e-9 * mean[row];
            let inside = values[0] <= mean[row] + tolerance && mean[row] <= values[4] + tolerance;
            let less = network[row] <= mean[row] + tolerance;
            ensure("latencies are in order", quantiles && sorted && inside && less, || {
                format!("{table}, row {row}: {values:?}, mean {}, network {}", mean[row], network[row])
            })?;
        }
    }
    Ok(())
}

/// No packet is faster than the links and routers of the shortest path.
pub fn no_faster_than_light(seen: &Seen) -> Result<(), Failure> {
    let (tables, graph) = (&seen.tables, &seen.prepared.graph);
    let delay = seen.prepared.experiment.switch.router_delay.as_ns_f64();
    let numbers: std::collections::BTreeMap<&str, usize> =
        graph.hosts.iter().enumerate().map(|(number, host)| (host.name.as_str(), number)).collect();
    let packets = tables.whole("flows", "latency_packets");
    let (sources, destinations) = (tables.text("flows", "source"), tables.text("flows", "destination"));
    let least = tables.real("flows", "latency_min_ns");
    let mut paths: Vec<Option<Vec<f64>>> = vec![None; graph.hosts.len()];
    for row in (0..packets.len()).filter(|&row| packets[row] > 0 && destinations[row] != "*") {
        let (from, to) = (numbers[sources[row].as_str()], numbers[destinations[row].as_str()]);
        let bound = paths[from].get_or_insert_with(|| shortest(graph, from, delay))[to];
        ensure("latencies are possible", least[row] >= bound - 1e-6, || {
            format!("{} to {}: {} ns, at least {bound} ns", sources[row], destinations[row], least[row])
        })?;
    }
    Ok(())
}

/// Nanoseconds from a host to every host, by link latencies and router delays.
fn shortest(graph: &Graph, from: usize, delay: f64) -> Vec<f64> {
    let latency = |link: fabricsim_units::LinkId| graph.links[link.index()].parameters.latency.as_ns_f64();
    let mut at = vec![f64::INFINITY; graph.switches.len()];
    let source = &graph.hosts[from];
    at[source.switch.index()] = latency(source.link) + delay;
    // As many rounds as a path has switches at most.
    for _ in 0..graph.switches.len() {
        for link in &graph.links {
            if let (Node::Switch(a), Node::Switch(b)) = (link.a.node, link.b.node) {
                let cost = link.parameters.latency.as_ns_f64() + delay;
                at[b.index()] = at[b.index()].min(at[a.index()] + cost);
                at[a.index()] = at[a.index()].min(at[b.index()] + cost);
            }
        }
    }
    graph.hosts.iter().map(|host| at[host.switch.index()] + latency(host.link)).collect()
}
