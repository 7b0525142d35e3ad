//! Ports: both ends of links, with their credits.

use fabricsim_fabric::flow_control::{FlowControl, NO_ERRORS};
use fabricsim_fabric::link_layer::RetryState;
use fabricsim_fabric::pause::PauseControl;
use fabricsim_fabric::{
    FarEnd, LaneCredits, NONE, Ports, RampPool, ReadPorts, Receiver, Sender, SinkState, Table,
};
use fabricsim_spec::{Experiment, FlowControlBy, LinkParameters, Queueing};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, Time, Vl};

use crate::pause::thresholds;

use super::places::{Directory, PortPlan, channel_from, numbered};

pub(super) fn ports(
    experiment: &Experiment,
    graph: &Graph,
    places: &[PortPlan],
    directory: &Directory,
    number: u16,
    is_gated: impl Fn(HostId) -> bool,
) -> Ports {
    let lane_count = usize::from(experiment.switch.virtual_lanes);
    let unit = experiment.switch.flow_control_unit.0 as u32;
    let mut ports = Ports {
        senders: Table::new(Vec::with_capacity(places.len())),
        receivers: Table::new(Vec::with_capacity(places.len())),
        lanes: Table::new(Vec::with_capacity(places.len() * lane_count)),
        capacities: Table::new(Vec::with_capacity(places.len())),
        whole: Table::new(Vec::new()),
        lane_count,
        ramps: RampPool::new(unit),
        sinks: Table::new(Vec::new()),
        retries: Table::new(Vec::new()),
        selection: experiment.routing.lane_selection,
        flow: None,
        pause: None,
    };
    let control = experiment.switch.flow_control;
    let is_controlled = control != FlowControlBy::Ideal;
    for (_, place, own) in numbered(places) {
        let parameters = &graph.links[place.link.index()].parameters;
        let channel = channel_from(graph, place.link, place.node, own);
        let far_end_node = graph.far_end(place.link, place.node).node;
        let is_gated = matches!(far_end_node, Node::Host(host) if is_gated(host));
        let mut sender = sender(experiment, parameters, channel, (far_end_node, is_gated), directory, number);
        if matches!(place.node, Node::Switch(_)) {
            sender.byte_time = experiment.switch.byte_time(parameters.rate);
        }
        if matches!(sender.far_end, FarEnd::SlowHost(_)) {
            sender.sink = ports.sinks.len() as u32;
            ports.sinks.push(sink(experiment));
        }
        if let Some(errors) = RetryState::new(experiment.seed, channel, parameters, &experiment.links) {
            sender.retry = ports.retries.len() as u32;
            ports.retries.push(errors);
        }
        if is_controlled && sender.retry == NONE {
            sender.retry = NO_ERRORS;
        }
        sender.is_controlled = is_controlled;
        ports.senders.push(sender);
        let mut receiver = receiver(experiment, parameters, channel ^ 1, directory, number, place.node);
        if matches!(far_end_node, Node::Switch(_)) {
            receiver.byte_time = experiment.switch.byte_time(parameters.rate);
        }
        ports.receivers.push(receiver);
        let capacity = (parameters.buffer.0 / u64::from(unit)).min(u64::from(u32::MAX)) as u32;
        ports.capacities.push(capacity);
        (0..lane_count).for_each(|_| ports.lanes.push(LaneCredits::new(capacity)));
    }
    match control {
        FlowControlBy::Ideal => {}
        FlowControlBy::Packets => ports.flow = Some(Box::new(flow_control(experiment, graph, places))),
        FlowControlBy::Pause => ports.pause = Some(Box::new(pause(experiment, graph, places))),
    }
    ports
}

/// Flow-control packets; every port has the same buffer for each lane.
fn flow_control(experiment: &Experiment, graph: &Graph, places: &[PortPlan]) -> FlowControl {
    let switch = &experiment.switch;
    let unit = switch.flow_control_unit.0 as u32;
    let port = |place: &PortPlan| {
        let parameters = &graph.links[place.link.index()].parameters;
        // 65 536 symbols on each of four physical lanes.
        let refresh = parameters.rate.byte_time().duration(4 * 65_536);
        (refresh, (parameters.buffer.0 / u64::from(unit)) as u32)
    };
    let lanes = usize::from(switch.virtual_lanes);
    FlowControl::new(switch.flow_control_period, lanes, unit, places.iter().map(port))
}

/// Pause frames, with the thresholds at both ends of each port's link.
fn pause(experiment: &Experiment, graph: &Graph, places: &[PortPlan]) -> PauseControl {
    let port = |place: &PortPlan| {
        let link = &graph.links[place.link.index()].parameters;
        let ahead = graph.far_end(place.link, place.node).node;
        (thresholds(experiment, link, place.node), thresholds(experiment, link, ahead))
    };
    let switch = &experiment.switch;
    let unit = switch.flow_control_unit.0 as u32;
    PauseControl::new(usize::from(switch.virtual_lanes), unit, places.iter().map(port))
}

fn sender(
    experiment: &Experiment,
    parameters: &LinkParameters,
    channel: u32,
    (far_end_node, is_gated): (Node, bool),
    directory: &Directory,
    number: u16,
) -> Sender {
    let (partition, port) = directory.receiver[channel as usize];
    let far_end = match far_end_node {
        _ if partition != number => FarEnd::Remote,
        Node::Switch(_) => FarEnd::Switch(port),
        Node::Host(_) if has_limited_sinks(experiment) => FarEnd::SlowHost(port),
        Node::Host(_) if is_gated => FarEnd::GatedHost(port),
        Node::Host(_) => FarEnd::Host(port),
    };
    let far_end_delay = match far_end_node {
        Node::Switch(_) if !experiment.routing.lookahead => experiment.switch.router_delay,
        Node::Switch(_) | Node::Host(_) => Time::ZERO,
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
        is_controlled: false,
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

/// True if hosts do not accept every byte as it comes.
pub(crate) fn has_limited_sinks(experiment: &Experiment) -> bool {
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
