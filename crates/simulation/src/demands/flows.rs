//! Flows: the packets of a source to a destination by one entry of the traffic list.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_model::Table;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Demand, Source};

use super::trees::Tree;

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) source: HostId,
    pub(super) destination: HostId,
    /// Entry of the traffic list.
    pub(super) entry: u16,
    /// Offered load, in Gb/s of packets.
    pub(super) demand: f64,
    /// True if it offers all that its link carries.
    pub(super) saturating: bool,
    /// Packets for each byte.
    pub(super) packets: f64,
    /// With adaptive routing, the state in which its packets enter; -1 else.
    pub(super) state: i64,
    /// Number of the tree on which switches replicate its packets; -1 if they do not.
    pub(super) tree: i64,
}

/// All flows that are active at one time. Packets for a multicast group are a flow to each member, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    pub(super) flows: Vec<Flow>,
    /// Trees of packets for multicast groups, each with the number of its first flow.
    pub(super) trees: Vec<(usize, Tree)>,
}

impl Flows {
    pub(super) fn at(prepared: &Prepared, at: Time) -> Self {
        let mut flows = Self::default();
        for (host, source) in prepared.workload.sources.iter().enumerate() {
            flows.add(prepared, HostId(host as u32), source, at);
        }
        flows
    }

    fn add(&mut self, prepared: &Prepared, source: HostId, streams: &Source, at: Time) {
        let link = &prepared.graph.links[prepared.graph.hosts[source.index()].link.index()].parameters;
        let mtu = prepared.experiment.host.mtu.0;
        let active = |demand: &Demand<'_>| {
            let (from, to) = demand.span();
            from <= at && at < to
        };
        let demands: Vec<Demand<'_>> = streams.demands().filter(active).collect();
        for (demand, load) in demands.iter().zip(loads(&demands)) {
            let packets = demand.packets_per_byte(mtu);
            // A saturating source offers the packets that its link carries.
            let wire =
                if demand.is_saturating() { 1.0 + packets * link.packet_overhead.0 as f64 } else { 1.0 };
            let rate = load * link.rate.as_gbps() / wire;
            let mut to: BTreeMap<HostId, f64> = BTreeMap::new();
            demand.shares(|host, share| *to.entry(host).or_insert(0.0) += share);
            for (destination, share) in to {
                let flow = Flow {
                    source,
                    destination,
                    entry: demand.entry(),
                    demand: share * rate,
                    saturating: demand.is_saturating(),
                    packets,
                    state: -1,
                    tree: -1,
                };
                match destination.group() {
                    None => self.flows.push(flow),
                    Some(group) => self.add_tree(&flow, Tree::new(prepared, source, group)),
                }
            }
        }
    }

    /// Adds a flow to each member of a group.
    fn add_tree(&mut self, flow: &Flow, tree: Tree) {
        let number = self.trees.len() as i64;
        let first = self.flows.len();
        self.flows.extend(tree.members.iter().map(|&destination| Flow {
            destination,
            tree: number,
            ..flow.clone()
        }));
        self.trees.push((first, tree));
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table { name: "flows", columns: Vec::new() };
        let whole = |of: fn(&Flow) -> i64| self.flows.iter().map(of).collect::<Vec<i64>>();
        table.whole("source", "", "Number of the sending host", whole(|f| i64::from(f.source.0)));
        table.whole("destination", "", "Number of the receiving host", whole(|f| i64::from(f.destination.0)));
        table.whole("entry", "", "Entry of the traffic list", whole(|f| i64::from(f.entry)));
        let demand = self.flows.iter().map(|f| f.demand).collect();
        table.real("demand_gbps", "Gb/s", "Offered load", demand);
        table.whole(
            "state",
            "",
            "Where its packets enter the network of arcs; -1: nowhere",
            whole(|f| f.state),
        );
        let text = "Number of the tree on which switches replicate its packets: flows of a tree are the same packets; -1: none";
        table.whole("tree", "", text, whole(|f| f.tree));
        table
    }
}

/// The part of its link that each of a host's entries can make use of. The open-loop entries form one queue, each
/// saturating entry one; queues with messages take turns message by message, so a queue gets its turn's part of the
/// link, and saturating ones what others leave.
fn loads(demands: &[Demand<'_>]) -> Vec<f64> {
    let (saturating, open): (Vec<&Demand<'_>>, Vec<&Demand<'_>>) =
        demands.iter().partition(|d| d.is_saturating());
    let offered: f64 = open.iter().map(|d| d.load()).sum();
    let messages: f64 = open.iter().map(|d| d.load() / d.mean_bytes()).sum();
    let bytes: f64 = saturating.iter().map(|d| d.mean_bytes()).sum();
    let turn = if messages > 0.0 { offered / messages } else { 0.0 };
    let served = if offered > 0.0 { offered.min(turn / (turn + bytes)) } else { 0.0 };
    demands
        .iter()
        .map(|d| {
            if d.is_saturating() {
                (1.0 - served) * d.mean_bytes() / bytes
            } else {
                served * d.load() / offered
            }
        })
        .collect()
}
