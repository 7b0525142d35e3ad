//! From graph, routing and workload to partitions with ports, switches and hosts.

use std::sync::Arc;

use fabricsim_fabric::link_layer::RetryState;
use fabricsim_fabric::{
    FarEnd, LaneCredits, NONE, Ports, RampPool, ReadPorts, Receiver, Rules, Sender, SinkState, StagingRules,
    Switch, Table,
};
use fabricsim_model::Observer;
use fabricsim_routing::{Router, RoutingFunction};
use fabricsim_spec::{Allocation, Experiment, LinkParameters, Load, Queueing, SendWhen, Staging};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Bytes, HostId, LinkId, PortNo, Rate, SwitchId, Time, Vl};
use fabricsim_workload::{Source, StreamInfo};

use crate::adapter::{
    Adapter, AdmissionGate, Chain, DatagramEndpoint, OrderingEndpoint, OrderingRules, Protocol,
};
use crate::ages::AgingBuilder;
use crate::congestion::{Builder, class_bases};
use crate::partition::{Owner, Partition, Parts};

/// Everything that a run is assembled from.
pub struct Assembly<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its fabric.
    pub graph: &'a Graph,
    /// Its routing.
    pub router: Arc<Router>,
    /// A source for every host.
    pub sources: Vec<Source>,
    /// The streams of messages.
    pub streams: &'a [StreamInfo],
}

/// Partition and port at which each direction of a link starts and ends.
pub(crate) struct Directory {
    pub(crate) sender: Vec<(u16, u32)>,
    pub(crate) receiver: Vec<(u16, u32)>,
    /// Least latency of a link between partitions; [`Time::MAX`] if there is none.
    pub(crate) lookahead: Time,
}

/// Cuts the switches, in order of number, into `count` parts of nearly equal size; hosts go with their switch.
struct Cut {
    count: usize,
    switches: usize,
}

impl Cut {
    fn new(graph: &Graph, wanted: u32) -> Self {
        Self {
            count: (wanted.max(1) as usize).min(graph.switches.len().max(1)),
            switches: graph.switches.len(),
        }
    }

    fn of(&self, switch: SwitchId) -> usize {
        switch.index() * self.count / self.switches
    }

    fn of_node(&self, graph: &Graph, node: Node) -> usize {
        match node {
            Node::Switch(switch) => self.of(switch),
            Node::Host(host) => self.of(graph.hosts[host.index()].switch),
        }
    }
}

/// A port to build: its entity, and the link behind it.
struct PortPlan {
    node: Node,
    link: LinkId,
}

pub(crate) fn assemble<B: Observer>(
    assembly: Assembly<'_>,
    mut observer: impl FnMut() -> B,
) -> (Vec<Partition<B>>, Directory) {
    let Assembly { experiment, graph, router, sources, streams } = assembly;
    let cut = Cut::new(graph, experiment.run.partitions);
    let places = places(graph, &cut);
    let directory = directory(graph, &cut, &places);
    let rules = rules(experiment);
    let control = Builder::new(experiment, graph, &router, streams);
    let Ok(ages) = AgingBuilder::new(experiment, graph, "") else {
        unreachable!("the experiment was checked when it was prepared");
    };
    let bases = class_bases(experiment, streams);
    let transport = OrderingRules::new(experiment, streams);
    let mut sources: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    let partitions = places
        .iter()
        .enumerate()
        .map(|(number, places)| {
            let mut ports = ports(experiment, graph, places, &directory, number as u16);
            let by_lane = switch_has_classes(experiment) || is_of_lane(experiment);
            if router.keeps_state() && router.is_adaptive() && !by_lane {
                ports.count_whole();
            }
            let common = Common {
                experiment,
                graph,
                rules: &rules,
                control: control.as_ref(),
                ages: ages.as_ref(),
                bases: &bases,
                transport: transport.as_ref(),
            };
            let parts = entities(&common, places, ports, &mut sources);
            Partition::new(parts, Arc::clone(&router), rules.clone(), observer())
        })
        .collect();
    (partitions, directory)
}

fn switch_has_classes(experiment: &Experiment) -> bool {
    experiment.switch.lanes_per_class() < experiment.switch.virtual_lanes
}

fn is_of_lane(experiment: &Experiment) -> bool {
    experiment.routing.load == Load::CreditsOfLane
}

fn rules(experiment: &Experiment) -> Rules {
    let switch = &experiment.switch;
    Rules {
        queueing: switch.queueing,
        switching: switch.switching,
        credit_return: switch.credit_return,
        credit_delay: switch.credit_delay,
        arbiter: switch.arbiter,
        lanes_per_class: switch.lanes_per_class(),
        priority_lanes: priority_lanes(switch),
        least_space: match switch.send_when {
            SendWhen::PacketFits => 0,
            SendWhen::LargestPacketFits => blocks_of(experiment, experiment.host.mtu),
        },
        report_grants: experiment.measure.router_counters,
        hop_choices: experiment.routing.choices.unwrap_or(0),
        waiting_mask: match experiment.routing.load {
            Load::WaitingAndCredits => u32::MAX,
            Load::Credits | Load::CreditsOfLane => 0,
        },
        load_of_lane: is_of_lane(experiment),
        seed: experiment.seed,
    }
}

/// Flow-control units that `bytes` occupy.
fn blocks_of(experiment: &Experiment, bytes: Bytes) -> u32 {
    bytes.0.div_ceil(experiment.switch.flow_control_unit.0).min(u64::from(u32::MAX)) as u32
}

/// The lanes of the classes that go first, a bit for each.
fn priority_lanes(switch: &fabricsim_spec::Switch) -> u16 {
    let lanes = switch.lanes_per_class();
    let of_class = |class: &u8| (class * lanes..(class + 1) * lanes).map(|lane| 1_u16 << lane).sum::<u16>();
    switch.priority_classes.iter().map(of_class).fold(0, |all, lanes| all | lanes)
}

/// The ports of each partition in order: switch by switch, then host by host.
fn places(graph: &Graph, cut: &Cut) -> Vec<Vec<PortPlan>> {
    let mut places: Vec<Vec<PortPlan>> = (0..cut.count).map(|_| Vec::new()).collect();
    for (i, switch) in graph.switches.iter().enumerate() {
        let id = SwitchId(i as u32);
        let ports = switch.ports.iter().map(|&link| PortPlan { node: Node::Switch(id), link });
        places[cut.of(id)].extend(ports);
    }
    for (i, host) in graph.hosts.iter().enumerate() {
        places[cut.of(host.switch)].push(PortPlan { node: Node::Host(HostId(i as u32)), link: host.link });
    }
    places
}

/// The direction of `link` that leads away from its end at (`node`, n-th port).
fn channel_from(graph: &Graph, link: LinkId, node: Node, port: PortNo) -> u32 {
    let ends = &graph.links[link.index()];
    let from_a = ends.a.node == node && ends.a.port == port;
    2 * link.0 + u32::from(!from_a)
}

fn directory(graph: &Graph, cut: &Cut, places: &[Vec<PortPlan>]) -> Directory {
    let channels = graph.links.len() * 2;
    let mut directory =
        Directory { sender: vec![(0, 0); channels], receiver: vec![(0, 0); channels], lookahead: Time::MAX };
    for (number, places) in places.iter().enumerate() {
        for (port, place, own_number) in numbered(places) {
            let out = channel_from(graph, place.link, place.node, own_number);
            directory.sender[out as usize] = (number as u16, port);
            directory.receiver[(out ^ 1) as usize] = (number as u16, port);
        }
    }
    for link in &graph.links {
        if cut.of_node(graph, link.a.node) != cut.of_node(graph, link.b.node) {
            directory.lookahead = directory.lookahead.min(link.parameters.latency);
        }
    }
    directory
}

/// The places with their port numbers in the partition and at their entity.
fn numbered(places: &[PortPlan]) -> impl Iterator<Item = (u32, &PortPlan, PortNo)> {
    let mut last = None;
    let mut own = 0;
    places.iter().enumerate().map(move |(port, place)| {
        own = if last == Some(place.node) { own + 1 } else { 0 };
        last = Some(place.node);
        (port as u32, place, PortNo(own))
    })
}

fn ports(
    experiment: &Experiment,
    graph: &Graph,
    places: &[PortPlan],
    directory: &Directory,
    number: u16,
) -> Ports {
    let lane_count = usize::from(experiment.switch.virtual_lanes);
    let unit = experiment.switch.flow_control_unit.0 as u32;
    let mut ports = Ports {
        senders: Table::new(Vec::with_capacity(places.len())),
        receivers: Table::new(Vec::with_capacity(places.len())),
        lanes: Table::new(Vec::with_capacity(places.len() * lane_count)),
        whole: Table::new(Vec::new()),
        lane_count,
        ramps: RampPool::new(unit),
        sinks: Table::new(Vec::new()),
        retries: Table::new(Vec::new()),
        selection: experiment.routing.lane_selection,
    };
    for (_, place, own) in numbered(places) {
        let parameters = &graph.links[place.link.index()].parameters;
        let channel = channel_from(graph, place.link, place.node, own);
        let far_end_node = graph.far_end(place.link, place.node).node;
        let mut sender = sender(experiment, parameters, channel, far_end_node, directory, number);
        if matches!(place.node, Node::Switch(_)) {
            sender.byte_time = experiment.switch.byte_time(parameters.rate);
        }
        if matches!(sender.far_end, FarEnd::SlowHost(_)) {
            sender.sink = ports.sinks.len() as u32;
            ports.sinks.push(sink(experiment));
        }
        if let Some(errors) = RetryState::new(experiment.seed, channel, parameters, &experiment.links.retry) {
            sender.retry = ports.retries.len() as u32;
            ports.retries.push(errors);
        }
        ports.senders.push(sender);
        let mut receiver = receiver(experiment, parameters, channel ^ 1, directory, number, place.node);
        if matches!(far_end_node, Node::Switch(_)) {
            receiver.byte_time = experiment.switch.byte_time(parameters.rate);
        }
        ports.receivers.push(receiver);
        let capacity = (parameters.buffer.0 / u64::from(unit)).min(u64::from(u32::MAX)) as u32;
        (0..lane_count).for_each(|_| ports.lanes.push(LaneCredits::new(capacity)));
    }
    ports
}

fn sender(
    experiment: &Experiment,
    parameters: &LinkParameters,
    channel: u32,
    far_end_node: Node,
    directory: &Directory,
    number: u16,
) -> Sender {
    let (partition, port) = directory.receiver[channel as usize];
    let far_end = match far_end_node {
        _ if partition != number => FarEnd::Remote,
        Node::Switch(_) => FarEnd::Switch(port),
        Node::Host(_) if limited(experiment) => FarEnd::SlowHost(port),
        Node::Host(_) if experiment.host.response_queue.is_some() => FarEnd::GatedHost(port),
        Node::Host(_) => FarEnd::Host(port),
    };
    let far_end_delay = match far_end_node {
        Node::Switch(_) => experiment.switch.router_delay,
        Node::Host(_) => Time::ZERO,
    };
    Sender {
        busy_until: Time::ZERO,
        carried_until: Time::ZERO,
        wake_at: Time::MAX,
        byte_time: parameters.rate.byte_time(),
        latency: parameters.latency,
        far_end_delay: parameters.latency + far_end_delay,
        sink_credit_delay: parameters.latency * 2 + experiment.switch.credit_delay,
        sink: NONE,
        retry: NONE,
        channel,
        overhead: parameters.packet_overhead.0 as u32,
        link_byte_time: parameters.rate.byte_time(),
        far_end,
        stalled_since: Time::MAX,
        stalled_lane: Vl(0),
        last_lane: Vl(0),
        starving: false,
    }
}

fn receiver(
    experiment: &Experiment,
    parameters: &LinkParameters,
    channel: u32,
    directory: &Directory,
    number: u16,
    node: Node,
) -> Receiver {
    let (partition, port) = directory.sender[channel as usize];
    // Where there are staging buffers, the read ports of input buffers lead to those.
    let limited = matches!(node, Node::Switch(_)) && experiment.switch.queueing != Queueing::Cioq;
    let reads = if limited { parameters.reads } else { 0 };
    Receiver {
        byte_time: parameters.rate.byte_time(),
        credit_latency: parameters.latency + experiment.switch.credit_delay,
        channel,
        upstream: (partition == number).then_some(port),
        readable_at: Time::ZERO,
        reads: ReadPorts::new(reads),
    }
}

fn limited(experiment: &Experiment) -> bool {
    let sink = &experiment.host.sink;
    sink.rate.is_some() || sink.pause_for.is_some_and(|pause| pause > Time::ZERO)
}

fn sink(experiment: &Experiment) -> SinkState {
    let sink = &experiment.host.sink;
    SinkState::new(
        sink.rate.map(fabricsim_units::Rate::byte_time),
        sink.pause_every.unwrap_or_default(),
        sink.pause_for.unwrap_or_default(),
    )
}

/// Common input from which all entities are built.
struct Common<'a> {
    experiment: &'a Experiment,
    graph: &'a Graph,
    rules: &'a Rules,
    control: Option<&'a Builder<'a>>,
    ages: Option<&'a AgingBuilder>,
    /// The first lane of each stream's service class.
    bases: &'a Arc<[u8]>,
    transport: Option<&'a Arc<OrderingRules>>,
}

fn entities(common: &Common<'_>, places: &[PortPlan], ports: Ports, sources: &mut [Option<Source>]) -> Parts {
    let Common { experiment, graph, rules, .. } = *common;
    let lanes = usize::from(experiment.switch.virtual_lanes);
    let mut parts = Parts {
        switches: Table::new(Vec::new()),
        adapters: Vec::new(),
        owners: Table::new(Vec::new()),
        ports,
    };
    for (port, place, own) in numbered(places) {
        match place.node {
            Node::Switch(id) => {
                if own.0 == 0 {
                    let count = graph.switches[id.index()].ports.len();
                    let senders: &[Sender] = &parts.ports.senders;
                    let own = &senders[port as usize..][..count];
                    let mut switch = Switch::new(id, port, count, lanes, rules)
                        .with_random(rules, |output| own[output].channel)
                        .with_head_delay(
                            experiment.switch.head_delay,
                            own.iter().any(|sender| sender.byte_time != sender.link_byte_time),
                        )
                        .with_mixed_rates(own.windows(2).any(|pair| pair[0].byte_time != pair[1].byte_time));
                    if experiment.switch.allocation == Allocation::Separable {
                        switch = switch.with_rounds(cycle(experiment, own), experiment.switch.speculative);
                    }
                    if experiment.switch.queueing == Queueing::Cioq {
                        let links = graph.switches[id.index()].ports.iter();
                        let reads =
                            |link: &LinkId| ReadPorts::new(graph.links[link.index()].parameters.reads);
                        switch = switch.with_staging(staging(experiment), links.map(reads));
                    }
                    if let Some(ages) = common.ages {
                        switch = ages.apply(switch, graph, id);
                    }
                    if let Some(control) = common.control {
                        switch = control.equip(switch, own);
                    }
                    parts.switches.push(switch);
                }
                parts.owners.push(Owner::Switch(parts.switches.len() as u32 - 1));
            }
            Node::Host(id) => {
                parts.owners.push(Owner::Adapter(parts.adapters.len() as u32));
                let Some(source) = sources[id.index()].take() else {
                    unreachable!("a host has one port, so its source is taken once");
                };
                let sender = &parts.ports.senders[port as usize];
                parts.adapters.push(adapter(common, id, (port, sender), source));
            }
        }
    }
    parts
}

fn staging(experiment: &Experiment) -> StagingRules {
    let Staging { buffer, rate, delay } = &experiment.switch.staging;
    let unit = experiment.switch.flow_control_unit.0;
    StagingRules {
        capacity: (buffer.0 / unit).min(u64::from(u32::MAX)) as u32,
        byte_time: rate.map(Rate::byte_time),
        delay: *delay,
    }
}

/// The time of a flow-control unit on the fastest of a switch's links.
fn cycle(experiment: &Experiment, links: &[Sender]) -> Time {
    let unit = experiment.switch.flow_control_unit.0 as u32;
    links.iter().map(|link| link.byte_time.duration(unit)).min().unwrap_or_default().max(Time::ps(1))
}

fn adapter(common: &Common<'_>, id: HostId, (port, sender): (u32, &Sender), app: Source) -> Adapter {
    let experiment = common.experiment;
    let spec = &experiment.host;
    let lanes = experiment.switch.virtual_lanes;
    let protocol = match common.transport {
        Some(rules) => Protocol::Ordering(Box::new(OrderingEndpoint::new(id, rules, sender.byte_time))),
        None => {
            Protocol::Datagram(DatagramEndpoint::new(id, spec.mtu.0 as u32, usize::from(spec.open_messages)))
        }
    };
    let chain = Chain {
        id,
        port,
        app,
        pacing: common.control.map(|control| Box::new(control.pacing(id, sender))),
        class_bases: Arc::clone(common.bases),
        sent: 0,
        stopped: false,
        admission: spec.response_queue.map(|limit| Box::new(AdmissionGate::new(limit, lanes))),
    };
    Adapter { chain, protocol }
}
