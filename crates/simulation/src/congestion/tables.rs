//! Tables of congestion trees, of flows in them, and of the time of outlets in them.

use std::collections::BTreeMap;

use fabricsim_model::{Data, Table};
use fabricsim_units::HostId;

use super::{Key, Part, Row, Trees};

impl Trees {
    /// Adds the port states to the table `links`, and appends the tables of trees and of flows in them. `ports` are the
    /// names of the sending ports; `name` returns the name of a source or destination.
    pub(crate) fn report(&self, tables: &mut Vec<Table>, ports: &[String], name: &dyn Fn(HostId) -> String) {
        if let Some(links) = tables.iter_mut().find(|table| table.name == "links") {
            self.add_states(links, ports);
        }
        tables.push(self.trees(ports));
        tables.push(self.flows(ports, name));
    }

    fn add_states(&self, links: &mut Table, ports: &[String]) {
        let column =
            |name| links.columns.iter().find(|column| column.name == name).map(|column| &column.data);
        let (Some(Data::Text(names)), Some(Data::Whole(lanes))) = (column("link"), column("lane")) else {
            return;
        };
        let numbers: BTreeMap<&str, usize> =
            ports.iter().enumerate().map(|(port, name)| (name.as_str(), port)).collect();
        // The lanes of a link follow each other.
        let mut last = ("", 0);
        let mut places = Vec::with_capacity(names.len());
        for (name, &lane) in names.iter().zip(lanes) {
            if last.0 != name {
                last = (name, numbers[name.as_str()]);
            }
            places.push(last.1 * self.lanes + lane as usize);
        }
        let fraction = |state: usize| {
            let of = |&place: &usize| self.ns(self.states.of(place)[state]) / self.ns(self.measured);
            places.iter().map(of).collect::<Vec<f64>>()
        };
        let (root, branch) = (fraction(0), fraction(1));
        let text = "Fraction of the measurement in which it was the root of congestion: more waited than the threshold, \
                    and it had credits; empty with fewer than 20 samples";
        links.real("root", "fraction", text, root);
        let text = "Fraction of the measurement in which it was a branch of congestion: more waited than the threshold, \
                    and it had no credits; empty with fewer than 20 samples";
        links.real("branch", "fraction", text, branch);
    }

    fn trees(&self, ports: &[String]) -> Table {
        let mut table = Table::new("congestion_trees");
        let whole = |value: &dyn Fn(&Row) -> i64| self.rows.iter().map(value).collect::<Vec<_>>();
        let times = self.rows.iter().map(|row| row.time.as_ns_f64()).collect();
        table.real("time_ns", "ns", "Time of the sample that found the tree", times);
        let until = self.rows.iter().map(|row| self.until(row.time).as_ns_f64()).collect();
        table.real(
            "until_ns",
            "ns",
            "Time of the next sample, until which the row counts; the end of the run",
            until,
        );
        let since = self.rows.iter().map(|row| row.since.as_ns_f64()).collect();
        let text = "Time of the first sample of the tree: every sample since then has a tree with this root";
        table.real("since_ns", "ns", text, since);
        let roots = self.rows.iter().map(|row| ports[row.root.port as usize].clone()).collect();
        table.text("root", "Congested output at which the tree begins: from->to", roots);
        table.whole("lane", "", "Its virtual lane", whole(&|row| i64::from(row.root.lane)));
        let text = "Other congested outputs and lanes, without credits, that wait for it";
        table.whole("branches", "", text, whole(&|row| row.branches as i64));
        let text = "Links from the root back to the farthest branch";
        table.whole("depth", "", text, whole(&|row| i64::from(row.depth)));
        let text = "Flow-control units that wait for the root and its branches";
        table.whole("waiting_blocks", "blocks", text, whole(&|row| row.waiting as i64));
        let text = "Flows with packets in the tree whose path leads through the root";
        table.whole("contributors", "", text, whole(&|row| row.contributors as i64));
        let text = "Flows with packets in the tree, or blocked behind it, whose path does not";
        table.whole("victims", "", text, whole(&|row| row.victims as i64));
        table
    }

    fn flows(&self, ports: &[String], name_of: &dyn Fn(HostId) -> String) -> Table {
        let mut table = Table::new("congestion_flows");
        let name = |&(source, destination): &Key| {
            let to = destination.map_or_else(|| "*".to_owned(), name_of);
            format!("{}->{to}", name_of(source))
        };
        table.text("flow", "Source and destination: from->to", self.flows.keys().map(name).collect());
        let ns = |value: fn(&Part) -> u64| self.flows.values().map(|part| self.ns(value(part))).collect();
        let text =
            "Time of the measurement in which it contributed to congestion; empty with fewer than 20 samples";
        table.real("contributor_ns", "ns", text, ns(|part| part.contributor)).labelled("time as contributor");
        let text = "Time of the measurement in which it was a victim of congestion; empty with fewer than 20 samples";
        table.real("victim_ns", "ns", text, ns(|part| part.victim)).labelled("time as victim");
        let roots = |part: &Part| {
            let names = part.roots.iter().map(|root| ports[root.port as usize].as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let text = "Roots of the trees that it was in, at most eight";
        table.text("roots", text, self.flows.values().map(roots).collect()).labelled("roots of its trees");
        table
    }
}
