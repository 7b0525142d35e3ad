//! From graph, routing and workload to partitions with ports, switches and hosts.

mod bisect;
mod cut;
mod parts;
mod places;
mod ports;
pub(crate) use ports::has_limited_sinks;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fabricsim_fabric::{
    LifetimeRules, Ports, ReadPorts, Rules, Sender, StagingRules, Switch, Table, VlTables, VlTurns,
};
use fabricsim_model::Observer;
use fabricsim_routing::{MulticastTables, Router, RoutingFunction, has_small_links};
use fabricsim_spec::{
    Allocation, Experiment, FlowControlBy, Load, PATH_MTUS, Queueing, RateMismatch, SendWhen, Staging,
    VlArbitration, VlWeight, largest_path_mtu,
};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Bytes, HostId, LinkId, Rate, Time, Vl};
use fabricsim_verbs::{Costs, Device, Port};
use fabricsim_workload::{Partitions, Source, StreamInfo};

use crate::adapter::{
    Adapter, AdmissionGate, Chain, DatagramEndpoint, OrderingEndpoint, OrderingRules, PathChooser, Protocol,
    QueuePairEndpoint, QueuePairRules, VerbsEndpoint, out_of_order,
};
use crate::ages::AgingBuilder;
use crate::congestion::{Builder, service_classes};
use crate::p_keys::PKeys;
use crate::partition::{Owner, Partition, Parts};
use crate::switch_errors::SwitchErrors;

use cut::Cut;
pub(crate) use parts::Division;
pub(crate) use places::Directory;
use places::{PortPlan, numbered, places};
use ports::ports;

/// Everything that a run is assembled from.
pub struct Assembly<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its fabric.
    pub graph: &'a Graph,
    /// Its routing.
    pub router: Arc<Router>,
    /// Forwarding tables of multicast groups.
    pub multicast: Arc<MulticastTables>,
    /// A source for every host.
    pub sources: Vec<Source>,
    /// The streams of messages.
    pub streams: &'a [StreamInfo],
    /// Hosts with programs that use verbs, in order, and the times of their adapters. Their packets are of the last stream.
    pub devices: &'a [(HostId, Costs)],
    /// Partitions of InfiniBand, if there are others than the default one.
    pub partitions: Option<Arc<Partitions>>,
    /// Cores that the run may use if the experiment does not say how many threads it has.
    pub cores: u32,
    /// Processes that advance the run.
    pub processes: u32,
}

pub(crate) fn assemble<B: Observer>(
    assembly: Assembly<'_>,
    mut observer: impl FnMut() -> B,
) -> (Vec<Partition<B>>, Directory, Division) {
    let weights = parts::weights(&assembly);
    let division = Division::new(&assembly, &weights);
    let Assembly {
        experiment, graph, router, multicast, sources, streams, devices, partitions: keys, ..
    } = assembly;
    let cut = Cut::new(graph, division.partitions, &weights);
    let places = places(graph, &cut);
    let directory = places::directory(experiment, graph, &cut, &places);
    let rules = rules(experiment, &router);
    let rule = experiment.switch.partition_enforcement;
    let keys = keys.map(|keys| Arc::new(PKeys::new(&keys, rule, graph)));
    let control = Builder::new(experiment, graph, &router, streams);
    let Ok(ages) = AgingBuilder::new(experiment, graph, "") else {
        unreachable!("the experiment was checked when it was prepared");
    };
    let classes = service_classes(streams);
    let transport = OrderingRules::new(experiment, streams);
    let queue_pairs = QueuePairRules::new(experiment, streams);
    let mut sources: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    let partitions = places
        .iter()
        .enumerate()
        .map(|(number, places)| {
            let is_gated = |host| has_admission_control(experiment, devices, host);
            let mut ports = ports(experiment, graph, places, &directory, number as u16, is_gated);
            let by_lane = switch_has_classes(experiment) || is_of_lane(experiment);
            if router.keeps_state() && router.is_adaptive() && !by_lane && ports.pause.is_none() {
                ports.count_whole();
            }
            let common = Common {
                experiment,
                graph,
                rules: &rules,
                control: control.as_ref(),
                ages: ages.as_ref(),
                vl_tables: experiment.switch.vl_arbitration.as_ref().map(vl_tables),
                vl_tables_of_hosts: experiment.host.vl_arbitration.as_ref().map(vl_tables),
                classes: &classes,
                keys: keys.as_ref(),
                replicates: !multicast.is_empty(),
                has_small_links: has_small_links(graph, experiment.host.mtu),
                transport: transport.as_ref(),
                queue_pairs: queue_pairs.as_ref(),
                devices,
                device_stream: streams.len().saturating_sub(1) as u16,
            };
            let parts = entities(&common, places, ports, &mut sources);
            Partition::new(parts, (Arc::clone(&router), Arc::clone(&multicast)), rules.clone(), observer())
        })
        .collect();
    (partitions, directory, division)
}

fn switch_has_classes(experiment: &Experiment) -> bool {
    experiment.switch.lanes_per_class() < experiment.switch.virtual_lanes
}

/// True if a host may let packets wait in its input buffer: for room for responses, or for translations of its adapter. A slow sink and pause frames
/// have times of their own at which buffers become free.
fn has_admission_control(experiment: &Experiment, devices: &[(HostId, Costs)], host: HostId) -> bool {
    if experiment.host.response_queue.is_some() {
        return true;
    }
    let has_other_times =
        has_limited_sinks(experiment) || experiment.switch.flow_control == FlowControlBy::Pause;
    let place = devices.binary_search_by_key(&host, |&(host, _)| host);
    !has_other_times && place.is_ok_and(|place| devices[place].1.translation.is_some())
}

/// Time from the choice of a hop until the packet can be sent, with lookahead.
fn lookahead(experiment: &Experiment) -> Option<Time> {
    experiment.routing.lookahead.then_some(experiment.switch.router_delay)
}

fn is_of_lane(experiment: &Experiment) -> bool {
    experiment.routing.load == Load::CreditsOfLane
}

fn rules(experiment: &Experiment, router: &Router) -> Rules {
    let switch = &experiment.switch;
    Rules {
        queueing: switch.queueing,
        switching: switch.switching,
        credit_return: switch.credit_return,
        credit_delay: switch.credit_delay,
        arbiter: switch.arbiter,
        lanes_per_class: switch.lanes_per_class(),
        has_levels_of_paths: router.has_levels_of_paths(),
        paths: router.paths(),
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
        holds_outputs: switch.rate_mismatch == RateMismatch::HoldOutput,
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

/// Common input from which all entities are built.
struct Common<'a> {
    experiment: &'a Experiment,
    graph: &'a Graph,
    rules: &'a Rules,
    control: Option<&'a Builder<'a>>,
    ages: Option<&'a AgingBuilder>,
    /// Arbitration among virtual lanes at switches, and at adapters.
    vl_tables: Option<Arc<VlTables>>,
    vl_tables_of_hosts: Option<Arc<VlTables>>,
    /// The service class of each stream.
    classes: &'a Arc<[u8]>,
    transport: Option<&'a Arc<OrderingRules>>,
    queue_pairs: Option<&'a Arc<QueuePairRules>>,
    /// Hosts with programs that use verbs, and the stream of their packets.
    devices: &'a [(HostId, Costs)],
    device_stream: u16,
    keys: Option<&'a Arc<PKeys>>,
    /// True if there are multicast groups.
    replicates: bool,
    /// True if links carry smaller packets than hosts may send.
    has_small_links: bool,
}

/// Parts without switches and adapters, with room for them.
fn without_entities(common: &Common<'_>, places: &[PortPlan], ports: Ports) -> Parts {
    let hosts = places.iter().filter(|place| matches!(place.node, Node::Host(_))).count();
    let of_switches = numbered(places).filter(|(_, place, _)| matches!(place.node, Node::Switch(_)));
    let switches = of_switches.filter(|(.., own)| own.0 == 0).count();
    let switch = &common.experiment.switch;
    Parts {
        switches: Table::new(Vec::with_capacity(switches)),
        adapters: Vec::with_capacity(hosts),
        owners: Table::new(Vec::with_capacity(places.len())),
        ports,
        switch_errors: SwitchErrors::new(common.experiment.seed, switch.bit_error_rate),
        p_keys: common.keys.map(Arc::clone),
    }
}

fn entities(common: &Common<'_>, places: &[PortPlan], ports: Ports, sources: &mut [Option<Source>]) -> Parts {
    let Common { experiment, graph, rules, .. } = *common;
    let lanes = usize::from(experiment.switch.virtual_lanes);
    let mut parts = without_entities(common, places, ports);
    for (port, place, own) in numbered(places) {
        match place.node {
            Node::Switch(id) => {
                if own.0 == 0 {
                    let count = graph.switches[id.index()].ports.len();
                    let senders: &[Sender] = &parts.ports.senders;
                    let own = &senders[port as usize..][..count];
                    let mut switch = Switch::new(id, port, count, lanes, rules)
                        .with_random(rules, |output| own[output].channel)
                        .with_lookahead(lookahead(experiment))
                        .with_head_delay(
                            experiment.switch.head_delay,
                            own.iter().any(|sender| sender.byte_time != sender.link_byte_time),
                        )
                        .with_mixed_rates(own.windows(2).any(|pair| pair[0].byte_time != pair[1].byte_time));
                    if common.replicates {
                        switch = switch.with_multicast();
                    }
                    if experiment.switch.has_lifetimes() {
                        switch = switch.with_lifetimes(lifetimes(experiment));
                    }
                    if common.has_small_links {
                        let mtu = |link: &LinkId| graph.links[link.index()].parameters.mtu;
                        let mtu = |link| mtu(link).map_or(u32::MAX, |mtu| mtu.0 as u32);
                        switch = switch.with_mtus(graph.switches[id.index()].ports.iter().map(mtu));
                    }
                    if let Some(tables) = &common.vl_tables {
                        switch = switch.with_vl_arbitration(tables);
                    }
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

/// Tables of arbitration among virtual lanes.
fn vl_tables(given: &VlArbitration) -> Arc<VlTables> {
    let entries = |list: &[VlWeight]| list.iter().map(|entry| (Vl(entry.vl), entry.weight)).collect();
    let (high, low) = (entries(&given.high), entries(&given.low));
    Arc::new(VlTables { high, low, high_limit: given.high_limit })
}

fn lifetimes(experiment: &Experiment) -> LifetimeRules {
    let switch = &experiment.switch;
    LifetimeRules {
        head: switch.head_of_queue_lifetime.unwrap_or(Time::MAX),
        switch: switch.lifetime_limit.unwrap_or(Time::MAX),
        stall_count: switch.vl_stall_count,
    }
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
    let device = common.devices.binary_search_by_key(&id, |&(host, _)| host).ok();
    let hosts = common.graph.hosts.len() as u32;
    let hca_port = Port {
        mtu: largest_path_mtu(spec.mtu).unwrap_or(PATH_MTUS[0]).0 as u32,
        hosts,
        levels: experiment.service_levels().unwrap_or(experiment.switch.service_classes).max(1),
        paths: common.rules.paths,
    };
    let device = device.map(|place| {
        let adapter = &experiment.adapter;
        let rule = out_of_order(adapter.out_of_order, adapter.reorder_packets());
        Device::new(id, common.devices[place].1).with_port(hca_port).with_out_of_order(rule)
    });
    let protocol = match (device, common.queue_pairs, common.transport) {
        (Some(device), ..) => Protocol::Verbs(Box::new(VerbsEndpoint::new(device, common.device_stream))),
        (None, Some(rules), _) => Protocol::QueuePairs(Box::new(QueuePairEndpoint::new(id, rules))),
        (None, None, Some(rules)) => {
            Protocol::Ordering(Box::new(OrderingEndpoint::new(id, rules, sender.byte_time)))
        }
        (None, None, None) => {
            Protocol::Datagram(DatagramEndpoint::new(id, spec.mtu.0 as u32, usize::from(spec.open_messages)))
        }
    };
    let vl_turns = common.vl_tables_of_hosts.as_ref().map(|tables| Box::new(VlTurns::new(tables)));
    let paths =
        PathChooser::new(experiment.routing.paths, (id, common.rules.paths), common.graph.hosts.len());
    let chain = Chain {
        id,
        port,
        app,
        paths: paths.map(Box::new),
        is_plain: common.control.is_none() && vl_turns.is_none(),
        vl_turns,
        pacing: common.control.map(|control| Box::new(control.pacing(id, sender))),
        service_classes: Arc::clone(common.classes),
        sent: 0,
        stopped: false,
        admission: has_admission_control(experiment, common.devices, id)
            .then(|| Box::new(AdmissionGate::new(spec.response_queue, lanes))),
    };
    Adapter { chain, protocol }
}
