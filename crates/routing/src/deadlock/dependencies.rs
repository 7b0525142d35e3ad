use std::collections::BTreeMap;

use fabricsim_model::{Hop, RouteState};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use crate::lanes::Destination;
use crate::wiring::{arrival, sending_port};
use crate::{At, MulticastTables, Router, RoutingFunction};

/// Stands for a port to a host.
const TO_HOST: u32 = u32::MAX;

/// The dependencies found so far. A direction of a link between switches has a number, `direction`; a channel is
/// `direction * lanes + lane`.
pub(super) struct Dependencies<'a> {
    graph: &'a Graph,
    lanes: usize,
    directions: Vec<Direction>,
    /// Direction behind each port of each switch, [`TO_HOST`] for host ports; and where a switch's ports begin.
    behind: Vec<u32>,
    first_port: Vec<usize>,
    /// For each channel, a row of bits: ports of the switch that it ends at, times lanes.
    rows: Vec<u64>,
    /// Destination (plus 1) for which each channel was last walked.
    seen: Vec<u32>,
    stack: Vec<usize>,
    hops: Vec<Hop>,
    states: States,
}

/// The walk of packets that remember their route.
#[derive(Default)]
struct States {
    /// The states that were met, and their numbers.
    number: BTreeMap<RouteState, usize>,
    met: Vec<RouteState>,
    /// For each, to which destination (plus 1) each channel was last walked by a packet that remembers it.
    seen: Vec<Vec<u32>>,
    /// Channels and numbers of states.
    stack: Vec<(usize, usize)>,
    options: Vec<(Hop, RouteState)>,
}

/// A direction of a link between switches.
struct Direction {
    sending_port: u32,
    /// The switch and the port where it ends.
    at: SwitchId,
    in_port: PortNo,
    /// Start of the row of its first lane, and words of a row.
    row: usize,
    words: usize,
}

impl<'a> Dependencies<'a> {
    /// Bits that the dependencies of `graph` take, about.
    pub(super) fn bits(graph: &Graph, lanes: usize) -> u64 {
        let row = |end: fabricsim_topology::End| match end.node {
            Node::Switch(at) => (graph.switches[at.index()].ports.len() * lanes).next_multiple_of(64) * lanes,
            Node::Host(_) => 0,
        };
        graph.links.iter().map(|link| (row(link.a) + row(link.b)) as u64).sum()
    }

    pub(super) fn new(graph: &'a Graph, lanes: usize) -> Self {
        let mut directions = Vec::new();
        let mut number = vec![TO_HOST; 2 * graph.links.len()];
        let mut row = 0;
        for sending in 0..2 * graph.links.len() as u32 {
            let (to, from) = (arrival(graph, sending), arrival(graph, sending ^ 1));
            if let (Node::Switch(at), Node::Switch(_)) = (to.node, from.node) {
                let words = (graph.switches[at.index()].ports.len() * lanes).div_ceil(64);
                number[sending as usize] = directions.len() as u32;
                directions.push(Direction { sending_port: sending, at, in_port: to.port, row, words });
                row += words * lanes;
            }
        }
        let (mut behind, mut first_port) = (Vec::new(), Vec::new());
        for (index, switch) in graph.switches.iter().enumerate() {
            first_port.push(behind.len());
            let ports = (0..switch.ports.len() as u16).map(PortNo);
            let sending = ports.map(|port| sending_port(graph, SwitchId(index as u32), port));
            behind.extend(sending.map(|s| s.map_or(TO_HOST, |s| number[s as usize])));
        }
        let seen = vec![0; directions.len() * lanes];
        let rows = vec![0; row];
        Self {
            graph,
            lanes,
            directions,
            behind,
            first_port,
            rows,
            seen,
            stack: Vec::new(),
            hops: Vec::new(),
            states: States::default(),
        }
    }

    /// Follows packets for `to` from each of the hosts `from`, along every hop and lane.
    pub(super) fn walk<R: RoutingFunction>(&mut self, router: &R, from: &[HostId], to: HostId) {
        for &source in from.iter().filter(|&&source| source != to) {
            let host = &self.graph.hosts[source.index()];
            for lane in router.injection_lanes(source, to.into(), 0).iter() {
                self.hops.clear();
                router.hops(host.switch, host.port, lane, to, &mut self.hops);
                self.enter(host.switch, None, to);
            }
        }
        while let Some(channel) = self.stack.pop() {
            let direction = &self.directions[channel / self.lanes];
            let (at, in_port) = (direction.at, direction.in_port);
            let row = direction.row + channel % self.lanes * direction.words;
            self.hops.clear();
            router.hops(at, in_port, Vl((channel % self.lanes) as u8), to, &mut self.hops);
            self.enter(at, Some(row), to);
        }
    }

    /// Follows packets for a multicast group from its senders along the tree. Lanes of service classes are those of class 0.
    pub(super) fn walk_tree(
        &mut self,
        router: &Router,
        tables: &MulticastTables,
        group: u16,
        ((class, level), senders): ((u8, u8), &[HostId]),
    ) {
        // Distinguishes groups and levels among those for which channels were walked.
        let to = HostId(HostId::of_group(group).0 | u32::from(level) << 16);
        for &source in senders {
            let host = &self.graph.hosts[source.index()];
            for lane in router.tree_injection(source, class).iter() {
                let at = At { switch: host.switch, in_port: host.port, lane };
                self.enter_tree(router, tables, (group, level), (at, None, to));
            }
        }
        while let Some(channel) = self.stack.pop() {
            let direction = &self.directions[channel / self.lanes];
            let lane = Vl((channel % self.lanes) as u8);
            let at = At { switch: direction.at, in_port: direction.in_port, lane };
            let row = direction.row + lane.index() * direction.words;
            self.enter_tree(router, tables, (group, level), (at, Some(row), to));
        }
    }

    fn enter_tree(
        &mut self,
        router: &Router,
        tables: &MulticastTables,
        (group, level): (u16, u8),
        (at, row, to): (At, Option<usize>, HostId),
    ) {
        self.hops.clear();
        let ports = tables.ports(at.switch, group).iter().filter(|&&port| port != at.in_port);
        self.hops.extend(ports.map(|&port| router.tree_hop(at, port, level)));
        self.enter(at.switch, row, to);
    }

    /// Takes the hops from `at`: notes them in `row`, that of the channel which waits, and walks on.
    fn enter(&mut self, at: SwitchId, row: Option<usize>, to: HostId) {
        for hop in &self.hops {
            let next = self.behind[self.first_port[at.index()] + hop.port.index()];
            if next == TO_HOST {
                continue;
            }
            for lane in hop.lanes.iter() {
                if let Some(row) = row {
                    let bit = hop.port.index() * self.lanes + lane.index();
                    self.rows[row + bit / 64] |= 1 << (bit % 64);
                }
                let channel = next as usize * self.lanes + lane.index();
                if self.seen[channel] != to.0 + 1 {
                    self.seen[channel] = to.0 + 1;
                    self.stack.push(channel);
                }
            }
        }
    }

    /// [`Dependencies::walk`] for packets that remember their route: along every hop that may be chosen in any state.
    pub(super) fn walk_states<R: RoutingFunction>(&mut self, router: &R, from: &[HostId], to: HostId) {
        for &source in from.iter().filter(|&&source| source != to) {
            let host = &self.graph.hosts[source.index()];
            for (class, state) in router.starts(source, to) {
                for lane in
                    router.injection_lanes(source, Destination { host: to, path: state.path() }, class).iter()
                {
                    let at = At { switch: host.switch, in_port: host.port, lane };
                    self.states.options.clear();
                    router.options(at, to, state, &mut self.states.options);
                    self.enter_with_states(host.switch, None, to);
                }
            }
        }
        while let Some((channel, state)) = self.states.stack.pop() {
            let direction = &self.directions[channel / self.lanes];
            let lane = Vl((channel % self.lanes) as u8);
            let at = At { switch: direction.at, in_port: direction.in_port, lane };
            let row = direction.row + lane.index() * direction.words;
            self.states.options.clear();
            router.options(at, to, self.states.met[state], &mut self.states.options);
            self.enter_with_states(at.switch, Some(row), to);
        }
    }

    fn enter_with_states(&mut self, at: SwitchId, row: Option<usize>, to: HostId) {
        let options = std::mem::take(&mut self.states.options);
        for &(hop, state) in &options {
            let next = self.behind[self.first_port[at.index()] + hop.port.index()];
            if next == TO_HOST {
                continue;
            }
            let state = self.states.number_of(state, self.seen.len());
            for lane in hop.lanes.iter() {
                if let Some(row) = row {
                    let bit = hop.port.index() * self.lanes + lane.index();
                    self.rows[row + bit / 64] |= 1 << (bit % 64);
                }
                let channel = next as usize * self.lanes + lane.index();
                self.seen[channel] = to.0 + 1;
                if self.states.seen[state][channel] != to.0 + 1 {
                    self.states.seen[state][channel] = to.0 + 1;
                    self.states.stack.push((channel, state));
                }
            }
        }
        self.states.options = options;
    }

    /// Number of channels that packets can use.
    pub(super) fn used(&self) -> u64 {
        self.seen.iter().filter(|&&seen| seen > 0).count() as u64
    }

    /// For each channel, those that it waits for.
    pub(super) fn successors(&self) -> Vec<Vec<u32>> {
        let channels = self.directions.iter().flat_map(|direction| {
            (0..self.lanes).map(move |lane| (direction, direction.row + lane * direction.words))
        });
        let successors = channels.map(|(direction, row)| {
            let ports = self.first_port[direction.at.index()];
            let words = self.rows[row..row + direction.words].iter().enumerate();
            let bits = words.flat_map(|(index, &word)| ones(word).map(move |bit| 64 * index + bit));
            let channel =
                |bit: usize| self.behind[ports + bit / self.lanes] as usize * self.lanes + bit % self.lanes;
            bits.map(|bit| channel(bit) as u32).collect()
        });
        successors.collect()
    }

    /// Sending port and lane of a channel.
    pub(super) fn channel(&self, channel: u32) -> (u32, Vl) {
        let (direction, lane) = (channel as usize / self.lanes, channel as usize % self.lanes);
        (self.directions[direction].sending_port, Vl(lane as u8))
    }
}

impl States {
    fn number_of(&mut self, state: RouteState, channels: usize) -> usize {
        let next = self.met.len();
        let number = *self.number.entry(state).or_insert(next);
        if number == next {
            self.met.push(state);
            self.seen.push(vec![0; channels]);
        }
        number
    }
}

/// Places of the bits that are set.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}
