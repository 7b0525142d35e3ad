use std::sync::Arc;

use fabricsim_model::{ExtensionHeaders, Hop, Lanes, LossCause, Packet, Random};
use fabricsim_routing::lanes::ServiceClasses;
use fabricsim_routing::{Destination, MulticastTables, RouteTable, RoutingFunction};
use fabricsim_spec::{Arbiter, CreditReturn, Queueing, Switching};
use fabricsim_units::{HostId, PortNo, SwitchId, Time, Vl};

use crate::pause::PauseFrame;
use crate::{Arena, LoadBroadcast, Ports, Ramp, Slot};

/// Receiver of the actions that entities schedule. Every time is later than now.
pub trait Outbox {
    /// The packet may be sent on from the input buffer of `port`, of a switch, at `at`.
    fn arrive(&mut self, at: Time, port: u32, packet: u32);
    /// The host at `port` accepts the last byte of the packet.
    fn deliver(&mut self, at: Time, port: u32, packet: u32);
    /// The sender of `port` must be checked again.
    fn wake(&mut self, at: Time, port: u32);
    /// The input buffer of `port`, of a switch that is input- and output-queued, must be checked again.
    fn look(&mut self, at: Time, port: u32);
    /// The packet, which the sender of `port` has sent, is lost at `at`, as it arrives at the far end with a bit error.
    fn lose(&mut self, at: Time, port: u32, packet: u32);
    /// The flow control of `port` is due.
    fn control(&mut self, at: Time, port: u32);
    /// A pause frame takes effect at the sender of `port`.
    fn hear(&mut self, at: Time, port: u32);
    /// The same for the sender of `channel`, which is in another partition.
    fn remote_pause(&mut self, at: Time, channel: u32, frame: PauseFrame);
    /// The receiver at the far end of `channel`, in another partition, learns that blocks leave its input buffer, or will not come.
    fn remote_release(&mut self, channel: u32, lane: Vl, ramp: Ramp);
    /// The packet, which is in no buffer any more, is lost: its link or its switch has failed.
    fn discard(&mut self, packet: u32, cause: LossCause);
    /// As [`Outbox::arrive`], at a switch of another partition; `channel` leads to it.
    fn remote_packet(
        &mut self,
        at: Time,
        channel: u32,
        slot: Slot,
        extensions: Option<Box<ExtensionHeaders>>,
    );
    /// Credits for the sender of `channel`, which is in another partition.
    fn remote_credit(&mut self, channel: u32, lane: Vl, ramp: Ramp);
}

/// Rules that hold for every switch.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Queueing of packets in an input buffer.
    pub queueing: Queueing,
    /// Time at which a packet may leave, relative to its arrival.
    pub switching: Switching,
    /// Time at which buffer space is returned.
    pub credit_return: CreditReturn,
    /// Processing time of a credit.
    pub credit_delay: Time,
    /// Output arbitration policy.
    pub arbiter: Arbiter,
    /// Virtual lanes of each service class.
    pub lanes_per_class: u8,
    /// True if the service level of a packet depends on its path ([`fabricsim_routing::RoutingFunction::service_level`]).
    pub has_levels_of_paths: bool,
    /// Number of LIDs of a host to which packets are sent ([`fabricsim_routing::RoutingFunction::paths`]).
    pub paths: u8,
    /// Lanes, a bit for each, whose packets go before all others.
    pub priority_lanes: u16,
    /// Minimum number of blocks free at the other end of a link before a switch sends a packet of any size.
    pub least_space: u32,
    /// True if the observer receives every grant ([`fabricsim_model::Observer::forwarded`]).
    pub report_grants: bool,
    /// Number of hops drawn at random of which adaptive routing takes the least loaded; 0: all are compared.
    pub hop_choices: u16,
    /// Selects whether packets that wait in a switch for a port count as load of the port. All bits, or none.
    pub waiting_mask: u32,
    /// True if the load of a port counts only the lanes that the packet may take there.
    pub load_of_lane: bool,
    /// True if outputs are held for packets that arrive over slower links (`switch.rate_mismatch = "hold-output"`).
    pub holds_outputs: bool,
    /// Seed of the experiment, for arbiters that draw.
    pub seed: u64,
}

impl Rules {
    /// The first lane of the service class that `lane` belongs to.
    #[inline]
    pub fn class_base(&self, lane: Vl) -> u8 {
        ServiceClasses::new(self.lanes_per_class).base(lane)
    }

    /// The random stream of an output, by its channel.
    pub fn stream(&self, channel: u32) -> Random {
        const ARBITER: u64 = 0x6172_6269;
        Random::new(self.seed, ARBITER, u64::from(channel))
    }

    /// The random stream of a packet at a switch: its draws do not depend on the order of arrivals.
    pub fn stream_at(&self, at: SwitchId, packet: &Packet) -> Random {
        const HOP: u64 = 0x686f_7000;
        let identity = u64::from(packet.source.0) << 32 | u64::from(packet.sequence);
        Random::new(self.seed, HOP | u64::from(at.0) << 32, identity)
    }
}

/// Environment of the entities of a partition, and the current time.
#[derive(Clone, fabricsim_state::State)]
pub struct PartitionContext<R, B, O> {
    /// The current time.
    pub now: Time,
    /// Ports of the partition.
    pub ports: Ports,
    /// Packets of the partition.
    pub arena: Arena,
    /// Receiver of actions.
    pub out: O,
    /// Measurement hooks.
    pub observer: B,
    /// Routing function.
    #[state(fixed)]
    pub routing: Arc<R>,
    /// Forwarding tables of multicast groups.
    #[state(fixed)]
    pub multicast: Arc<MulticastTables>,
    /// Ports of the switch at which a packet for a group arrives that do not let it pass because of its P_Key.
    pub refused_ports: Vec<PortNo>,
    /// Rules of the experiment.
    #[state(fixed)]
    pub rules: Rules,
    /// The routing's table; empty if it has none.
    #[state(fixed)]
    pub route_table: RouteTable,
    /// The lanes on which every host injects all packets; `None` if they differ ([`injection_lanes`]).
    #[state(fixed)]
    pub injection_lanes: Option<Lanes>,
    /// True if the routing chooses by load ([`fabricsim_routing::RoutingFunction::is_adaptive`], cached).
    #[state(fixed)]
    pub is_adaptive: bool,
    /// Scratch space for the hops that a routing function proposes.
    pub hops: Vec<Hop>,
    /// Loads that other switches broadcast of their outputs.
    pub load_broadcast: LoadBroadcast,
}

impl<R: RoutingFunction, B, O> PartitionContext<R, B, O> {
    /// Replaces the routing function, with what is kept of it for the hot path.
    pub fn set_routing(&mut self, routing: &Arc<R>) {
        self.routing = Arc::clone(routing);
        self.route_table = routing.route_table().cloned().unwrap_or_default();
        self.is_adaptive = routing.is_adaptive();
        self.injection_lanes = injection_lanes(routing.as_ref(), &self.rules, self.ports.lane_count);
    }
}

/// The lanes on which every host injects all packets: with one service class, unless the lane policy has others for some hosts.
pub fn injection_lanes<R: RoutingFunction>(routing: &R, rules: &Rules, lanes: usize) -> Option<Lanes> {
    let policy = routing.lane_policy();
    let any = Destination { host: HostId(0), path: 0 };
    let has_one_class = usize::from(rules.lanes_per_class) == lanes;
    (has_one_class && policy.injects_by_class()).then(|| policy.injection(HostId(0), any, 0))
}
