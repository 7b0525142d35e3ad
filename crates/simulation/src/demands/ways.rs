//! The links that flows cross under the experiment's routing.
//!
//! If packets do not choose, or choose at random, a flow splits evenly over the hops that are proposed at each
//! switch. If they choose by load, or may make detours, the split is not known: then all the routes are given, as a network of states
//! (a packet at a switch, with its input port, lane and routing state) and arcs between them, one network
//! for each destination and entry. The lowest lane that a hop allows represents all.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_model::{Hop, RouteState, Table};
use fabricsim_routing::{At, RoutingFunction};
use fabricsim_topology::{End, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use super::flows::{Flow, Flows};
use super::links::{sink, sink_rate};
use super::trees::Tree;
use super::{DemandsError, MOST_CROSSINGS};

/// A packet at a switch, and its routing state.
type State = (SwitchId, PortNo, Vl, RouteState);
/// Packets of one size for one destination.
type Commodity = (HostId, u16);

/// Has arrived.
const ARRIVED: i64 = -1;

#[derive(Clone, Copy, Debug)]
struct Crossing {
    flow: usize,
    link: i64,
    weight: f64,
}

#[derive(Clone, Copy, Debug)]
struct Arc {
    tail: i64,
    head: i64,
    link: i64,
    weight: f64,
}

/// Links that flows cross.
pub(super) struct Ways<'a> {
    prepared: &'a Prepared,
    /// True if the split is not known.
    is_open: bool,
    crossings: Vec<Crossing>,
    arcs: Vec<Arc>,
    states: BTreeMap<(Commodity, State), i64>,
    options: Vec<(Hop, RouteState)>,
}

/// The links that `flows` cross; sets the states in which they enter.
pub(super) fn ways<'a>(
    prepared: &'a Prepared,
    flows: &mut Flows,
    file: &str,
) -> Result<Ways<'a>, DemandsError> {
    let mut ways = Ways {
        prepared,
        is_open: prepared.router.is_adaptive() || prepared.router.takes_detours(),
        crossings: Vec::new(),
        arcs: Vec::new(),
        states: BTreeMap::new(),
        options: Vec::new(),
    };
    let sinks = sink_rate(prepared).is_some();
    for (first, tree) in &flows.trees {
        ways.replicate(&flows.flows[*first..], *first, tree);
        if ways.crossings.len() > MOST_CROSSINGS {
            return Err(DemandsError::TooManyCrossings { file: file.to_owned() });
        }
    }
    for (number, flow) in flows.flows.iter_mut().enumerate() {
        if sinks {
            let link = sink(prepared, flow.destination);
            ways.crossings.push(Crossing { flow: number, link, weight: 1.0 });
        }
        if flow.tree >= 0 {
            continue;
        }
        let injection = 2 * i64::from(prepared.graph.hosts[flow.source.index()].link.0);
        ways.cross(number, flow, injection, 1.0);
        if ways.is_open {
            ways.enter(flow);
        } else if !ways.follow(number, flow) {
            let name = |host: HostId| prepared.graph.hosts[host.index()].name.clone();
            let (from, to) = (name(flow.source), name(flow.destination));
            return Err(DemandsError::Circle { file: file.to_owned(), from, to });
        }
        if ways.crossings.len() + ways.arcs.len() > MOST_CROSSINGS {
            return Err(DemandsError::TooManyCrossings { file: file.to_owned() });
        }
    }
    Ok(ways)
}

impl Ways<'_> {
    fn cross(&mut self, number: usize, flow: &Flow, link: i64, share: f64) {
        let weight = share * self.weight(flow, link);
        self.crossings.push(Crossing { flow: number, link, weight });
    }

    /// A packet for a multicast group crosses each link of its tree once: each of the flows over a link, which begin with `flows` at number
    /// `first` and have one rate, counts with its part.
    fn replicate(&mut self, flows: &[Flow], first: usize, tree: &Tree) {
        for (&link, places) in &tree.links {
            for &place in places {
                self.cross(first + place, &flows[place], link, 1.0 / places.len() as f64);
            }
        }
    }

    /// Bits on the wire for each of the flow's.
    fn weight(&self, flow: &Flow, link: i64) -> f64 {
        let parameters = &self.prepared.graph.links[(link / 2) as usize].parameters;
        1.0 + flow.packets * parameters.packet_overhead.0 as f64
    }

    fn start(&self, flow: &Flow) -> State {
        let host = &self.prepared.graph.hosts[flow.source.index()];
        let lanes = self.prepared.router.injection_lanes(flow.source, flow.destination.into(), 0);
        let state = RouteState::default();
        let path = if self.prepared.router.paths() > 1 { RouteState::ANY_PATH } else { 0 };
        (host.switch, host.port, lanes.first, state.with_path(path))
    }

    /// The arcs from a state: link and next state.
    fn on(&mut self, (at, in_port, lane, state): State, to: HostId) -> Vec<(i64, Option<State>)> {
        self.options.clear();
        let router = &self.prepared.router;
        if router.takes_detours() {
            router.options(At { switch: at, in_port, lane }, to, state, &mut self.options);
        } else {
            let mut hops = Vec::new();
            router.hops(at, in_port, lane, to, &mut hops);
            self.options.extend(hops.into_iter().map(|hop| (hop, state)));
        }
        let graph = &self.prepared.graph;
        let step = |(hop, state): &(Hop, RouteState)| {
            let number = graph.switches[at.index()].ports[hop.port.index()];
            let link = &graph.links[number.index()];
            let from_a = link.a == End { node: Node::Switch(at), port: hop.port };
            let end = if from_a { link.b } else { link.a };
            let next = match end.node {
                Node::Host(_) => None,
                Node::Switch(next) => Some((next, end.port, hop.lanes.first, *state)),
            };
            (2 * i64::from(number.0) + i64::from(!from_a), next)
        };
        self.options.iter().map(step).collect()
    }

    /// Follows a flow that splits evenly; true if it arrives.
    fn follow(&mut self, number: usize, flow: &Flow) -> bool {
        let mut here = BTreeMap::from([(self.start(flow), 1.0)]);
        for _ in 0..=2 * self.prepared.graph.links.len() {
            let mut next: BTreeMap<State, f64> = BTreeMap::new();
            for (state, share) in here {
                let ways = self.on(state, flow.destination);
                let part = share / ways.len() as f64;
                for (link, state) in ways {
                    self.cross(number, flow, link, part);
                    if let Some(state) = state {
                        *next.entry(state).or_insert(0.0) += part;
                    }
                }
            }
            if next.is_empty() {
                return true;
            }
            here = next;
        }
        false
    }

    /// Adds a flow to the network of its destination, which is extended by the states that the flow can reach.
    fn enter(&mut self, flow: &mut Flow) {
        let commodity = (flow.destination, flow.entry);
        let start = self.start(flow);
        let mut open = Vec::new();
        flow.state = self.state(commodity, start, &mut open);
        while let Some((tail, state)) = open.pop() {
            for (link, next) in self.on(state, flow.destination) {
                let head = next.map_or(ARRIVED, |next| self.state(commodity, next, &mut open));
                let weight = self.weight(flow, link);
                self.arcs.push(Arc { tail, head, link, weight });
            }
        }
    }

    /// The number of a state; a new one is queued for expansion.
    fn state(&mut self, commodity: Commodity, state: State, open: &mut Vec<(i64, State)>) -> i64 {
        let new = self.states.len() as i64;
        *self.states.entry((commodity, state)).or_insert_with(|| {
            open.push((new, state));
            new
        })
    }

    pub(super) fn crossings(&self) -> Table {
        let mut table = Table { name: "crossings", columns: Vec::new() };
        let rows = &self.crossings;
        table.whole("flow", "", "Row of the flow", rows.iter().map(|c| c.flow as i64).collect());
        table.whole("link", "", "Row of the link", rows.iter().map(|c| c.link).collect());
        let text = "Bits on the link for each of the flow's";
        table.real("weight", "", text, rows.iter().map(|c| c.weight).collect());
        table
    }

    /// The arcs, where the split is not known.
    pub(super) fn arcs(&self) -> Option<Table> {
        let mut table = Table { name: "arcs", columns: Vec::new() };
        let whole = |of: fn(&Arc) -> i64| self.arcs.iter().map(of).collect::<Vec<i64>>();
        table.whole("tail", "", "State that it leads from", whole(|arc| arc.tail));
        table.whole("head", "", "State that it leads to; -1: arrived", whole(|arc| arc.head));
        table.whole("link", "", "Row of the link", whole(|arc| arc.link));
        let weights = self.arcs.iter().map(|arc| arc.weight).collect();
        table.real("weight", "", "Bits on the link for each that takes the arc", weights);
        self.is_open.then_some(table)
    }
}
