//! Hops mean the same in the description of a network and in the results of a run: links between switches.

use crate::common::{prepare, run};
use fabricsim_model::Data;
use fabricsim_simulation::{Status, describe};

/// Every host sends one packet to every other host on a path of least length, and nothing else is in the way.
fn experiment(topology: &str, routing: &str) -> String {
    format!(
        "[topology]\n{topology}\n[switch]\nvirtual_lanes = 6\n[routing]\nalgorithm = \"{routing}\"\n\
         [[jobs]]\nprogram = {{ all-to-all = {{ message = \"64 B\" }} }}\n[run]\nduration = \"100 ms\"\ndrain = \"empty\"\n"
    )
}

#[test]
fn a_run_counts_hops_as_the_description_does() {
    for (topology, routing) in [
        ("mesh = { dimensions = [3, 4], hosts_per_switch = 2 }", "dimension-order"),
        ("torus = { dimensions = [5, 3] }", "dimension-order"),
        ("hypercube = { dimensions = 3 }", "dimension-order"),
        ("fat-tree = { arity = 2, levels = 3 }", "up-down"),
        ("hyperx = { dimensions = [3, 2], hosts_per_switch = 2 }", "shortest-path"),
        ("dragonfly = { p = 2, a = 2, h = 2, g = 4 }", "shortest-path"),
    ] {
        let text = experiment(topology, routing);
        let facts = describe(&prepare(&text, &[])).facts;
        let outcome = run(&text, &[]);
        assert_eq!(outcome.status, Status::Ok, "{topology}: {}", outcome.defect);
        let pairs = facts.hosts * (facts.hosts - 1);
        assert_eq!(outcome.summary.latency.latency_packets, pairs as u64, "{topology}");
        let hops = outcome.summary.latency.hops;
        assert_eq!(hops.max, facts.diameter.map(|hops| hops as usize), "{topology}");
        assert!((hops.mean - facts.mean_hops.unwrap()).abs() < 1e-12, "{topology}: {hops:?}, {facts:?}");

        let table = outcome.tables.iter().find(|table| table.name == "hops").unwrap();
        let column = |name| match &table.columns.iter().find(|column| column.name == name).unwrap().data {
            Data::Whole(values) => values.clone(),
            other => panic!("{other:?}"),
        };
        let (hops, packets) = (column("hops"), column("packets"));
        assert_eq!(packets.iter().sum::<i64>(), pairs as i64, "{topology}");
        let sum: i64 = hops.iter().zip(&packets).map(|(hops, packets)| hops * packets).sum();
        assert!((sum as f64 / pairs as f64 - facts.mean_hops.unwrap()).abs() < 1e-12, "{topology}");
        // Links that packets cross: of the hosts at both ends, and between the switches.
        assert_eq!(outcome.totals.packet_hops, (sum as u64) + 2 * pairs as u64, "{topology}");
    }
}
