//! Facts about an experiment, computed without running it.

use fabricsim_engine::Prepared;
use fabricsim_routing::deadlock::Verdict;
use fabricsim_routing::{Router, path, port_competition};
use fabricsim_spec::{LinkErrors, Queueing, RateMismatch, SpecError, Switching};
use fabricsim_topology::{Facts, Node, Shape, facts, largest_packet};
use fabricsim_units::{Bytes, HostId, SwitchId, Time};
use serde_json::{Value, json};

/// Pairs of hosts beyond which zero-load latencies are taken from a sample.
const MOST_PAIRS: usize = 250_000;

/// Latency of a packet without contention, from its first byte's departure to its last byte's arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZeroLoad {
    /// Size of the packet.
    pub packet: Bytes,
    /// Least over the pairs of different hosts.
    pub min: Time,
    /// Mean over the pairs, in picoseconds.
    pub mean_ps: f64,
    /// Largest over the pairs.
    pub max: Time,
    /// Number of pairs.
    pub pairs: usize,
    /// True if those are all pairs.
    pub all: bool,
}

/// Mean effects of bit errors on links. The zero-load latencies are without them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitErrors {
    /// Links with a bit error rate.
    pub links: usize,
    /// Largest probability that a micropacket fails.
    pub failure: f64,
    /// Least fraction of its rate that such a link can carry.
    pub throughput: f64,
    /// Longest mean wait of a largest packet for the retransmissions of such a link, in picoseconds.
    pub wait_ps: f64,
}

/// Figures of an experiment.
#[derive(Clone, Debug)]
pub struct Description {
    /// The topology in a line.
    pub title: String,
    /// Counts, distances, bisection.
    pub facts: Facts,
    /// Zero-load latencies; `None` with fewer than two hosts.
    pub zero_load: Option<ZeroLoad>,
    /// Virtual lanes of a service class that the routing needs, and the longest route with the lane of each link, if lanes depend on
    /// the position on a packet's path.
    pub lanes_needed: Option<(u8, String)>,
    /// True if the n-th link of a route has lanes of its own.
    pub divides_lanes_by_hops: bool,
    /// Effects of bit errors; `None` if no link has any.
    pub bit_errors: Option<BitErrors>,
    /// The deadlock check.
    pub verdict: Verdict,
    /// For each output port of a router in the middle of the grid the input ports that compete for it; `None` if not
    /// applicable.
    pub port_competition: Option<Vec<(String, Vec<String>)>>,
    /// Bytes of memory that a run allocates while its buffers are empty.
    pub memory: u64,
    /// The jobs as entries of an experiment, training steps as the sequences that they are; `None` without one.
    pub sequences: Option<String>,
    /// Sources that send nothing, because their only destination is themselves: a line for each stream that has any.
    pub silent: Vec<String>,
    verdict_text: String,
    cycle: Vec<String>,
}

/// Describes an experiment.
pub fn describe(prepared: &Prepared) -> Description {
    let verdict = prepared.check_deadlock();
    let cycle = match &verdict {
        Verdict::Cyclic { cycle } => cycle
            .iter()
            .map(|(port, lane)| format!("{} lane {lane}", prepared.graph.port_name(*port)))
            .collect(),
        _ => Vec::new(),
    };
    Description {
        title: prepared.graph.title.clone(),
        facts: facts(&prepared.graph),
        zero_load: zero_loads(prepared),
        lanes_needed: prepared.router.lanes_needed(),
        divides_lanes_by_hops: prepared.router.divides_lanes_by_hops(),
        bit_errors: bit_errors(prepared),
        port_competition: port_competition(&prepared.router, &prepared.graph),
        memory: crate::memory::needed(prepared),
        sequences: fabricsim_spec::expanded_jobs(&prepared.experiment.jobs),
        silent: silent(prepared),
        verdict_text: verdict.describe(&prepared.graph),
        verdict,
        cycle,
    }
}

fn silent(prepared: &Prepared) -> Vec<String> {
    let workload = &prepared.workload;
    let line = |(number, stream): (usize, &fabricsim_workload::StreamInfo)| {
        let mut hosts = workload.silent.iter().filter(|silent| usize::from(silent.stream) == number);
        let first = hosts.next()?;
        let count = 1 + hosts.count();
        let name = &prepared.graph.hosts[first.host.index()].name;
        Some(format!(
            "{}: {count} of {} sources (the first: {name}) send nothing, since their only destination is themselves",
            stream.name,
            count + stream.sources.hosts,
        ))
    };
    workload.streams.iter().enumerate().filter_map(line).collect()
}

/// SeaStar's tables of all routers as text.
///
/// # Errors
///
/// The experiment has another routing.
pub fn look_up_tables(prepared: &Prepared, file: &str) -> Result<String, SpecError> {
    if let (Router::LookUpTables(tables), Shape::Grid(shape)) = (&*prepared.router, &prepared.graph.shape) {
        return Ok(tables.text(&prepared.graph, shape));
    }
    let message = "only `look-up-tables` have global and local tables; the format `fdbs` is for all";
    Err(SpecError::at_key(file, "routing.algorithm", message))
}

/// The closed form: the head crosses links and routers; into a faster link it waits just long enough that the packet
/// does not run dry, and the tail follows at the last link's rate. If outputs are held instead, the tail follows at the rate of the slowest link.
pub fn zero_load(prepared: &Prepared, from: HostId, to: HostId, packet: Bytes) -> Time {
    let graph = &prepared.graph;
    let switch = &prepared.experiment.switch;
    let bytes = packet.0 as u32;
    let link_of_host = graph.hosts[from.index()].link;
    let mut link = &graph.links[link_of_host.index()].parameters;
    let mut at = link.latency;
    let holds = switch.rate_mismatch == RateMismatch::HoldOutput;
    // From the head to the tail.
    let mut came = link.rate.byte_time().duration(bytes);
    for (here, hop) in path(&prepared.router, graph, from, to) {
        let next = graph.switches[here.index()].ports[hop.port.index()];
        link = &graph.links[next.index()].parameters;
        let goes = switch.byte_time(link.rate).duration(bytes);
        // The time of a packet in its staging buffer, if there are such buffers.
        let staged = match (switch.queueing, switch.staging.rate) {
            (Queueing::Cioq, Some(rate)) => rate.byte_time().duration(bytes),
            (Queueing::Cioq, None) => came,
            (Queueing::Fifo | Queueing::Voq, _) => Time::ZERO,
        };
        at += switch.router_delay;
        if !switch.speculative {
            at += round(prepared, here);
        }
        at += match switch.switching {
            Switching::CutThrough if holds => Time::ZERO,
            Switching::CutThrough => came.max(staged).saturating_sub(goes),
            Switching::StoreAndForward => came + staged.saturating_sub(goes),
        };
        at += link.latency;
        came = if holds { came.max(goes) } else { goes };
        debug_assert!(hop.port.index() < graph.switches[here.index()].ports.len());
        if graph.far_end(next, Node::Switch(here)).node == Node::Host(to) {
            break;
        }
    }
    at + came
}

/// A round of a switch that allocates in rounds: the time of a flow-control unit on its fastest link.
fn round(prepared: &Prepared, at: SwitchId) -> Time {
    let unit = prepared.experiment.switch.flow_control_unit.0 as u32;
    let links = prepared.graph.switches[at.index()].ports.iter();
    let rates = links.map(|link| prepared.graph.links[link.index()].parameters.rate);
    rates.map(|rate| rate.byte_time().duration(unit)).min().unwrap_or_default()
}

fn bit_errors(prepared: &Prepared) -> Option<BitErrors> {
    let links = &prepared.experiment.links;
    if links.errors == LinkErrors::Lose {
        return None;
    }
    let retry = &links.retry;
    let packet = largest_packet(&prepared.experiment);
    let mut found = BitErrors { links: 0, failure: 0.0, throughput: 1.0, wait_ps: 0.0 };
    for link in prepared.graph.links.iter().map(|link| &link.parameters) {
        if link.bit_error_rate <= 0.0 {
            continue;
        }
        let failure = retry.failure(link);
        let micropackets = (packet.0 + link.packet_overhead.0).div_ceil(retry.data.0.max(1)) as f64;
        let wait = micropackets * failure / (1.0 - failure) * retry.round_trip(link).0 as f64;
        found.links += 1;
        found.failure = found.failure.max(failure);
        found.throughput = found.throughput.min(retry.throughput(link));
        found.wait_ps = found.wait_ps.max(wait);
    }
    (found.links > 0).then_some(found)
}

fn zero_loads(prepared: &Prepared) -> Option<ZeroLoad> {
    let hosts = prepared.graph.hosts.len();
    if hosts < 2 {
        return None;
    }
    let packet = largest_packet(&prepared.experiment);
    let pairs = hosts * (hosts - 1);
    // A stride without common factor spreads the sample over all pairs.
    let stride = if pairs > MOST_PAIRS { (pairs / MOST_PAIRS) | 1 } else { 1 };
    let latencies = (0..pairs).step_by(stride).map(|pair| {
        let (from, other) = (pair / (hosts - 1), pair % (hosts - 1));
        let to = if other >= from { other + 1 } else { other };
        zero_load(prepared, HostId(from as u32), HostId(to as u32), packet)
    });
    let (mut min, mut max, mut sum, mut count) = (Time::MAX, Time::ZERO, 0.0, 0);
    for latency in latencies {
        min = min.min(latency);
        max = max.max(latency);
        sum += latency.0 as f64;
        count += 1;
    }
    Some(ZeroLoad {
        packet,
        min,
        mean_ps: sum / f64::from(count),
        max,
        pairs: count as usize,
        all: stride == 1,
    })
}

impl Description {
    /// The description as one JSON object.
    pub fn json(&self) -> Value {
        let facts = &self.facts;
        let bisection = facts.bisection.as_ref().map(|b| {
            let gbps = b.bits_per_second.map(|rate| rate as f64 * 1e-9);
            json!({ "links": b.links, "gbps_per_direction": gbps, "exact": b.exact })
        });
        let zero_load = self.zero_load.map(|z| {
            json!({
                "packet_bytes": z.packet.0,
                "min_ns": z.min.as_ns_f64(),
                "mean_ns": z.mean_ps * 1e-3,
                "max_ns": z.max.as_ns_f64(),
                "pairs": z.pairs,
                "all_pairs": z.all,
            })
        });
        let free = match self.verdict {
            Verdict::Free { .. } => Some(true),
            Verdict::Cyclic { .. } => Some(false),
            Verdict::NotChecked { .. } => None,
        };
        let mut all = json!({
            "topology": self.title,
            "switches": facts.switches,
            "hosts": facts.hosts,
            "links": facts.links,
            "switch_links": facts.switch_links,
            "ports_min": facts.ports_min,
            "ports_max": facts.ports_max,
            "diameter": facts.diameter,
            "mean_hops": facts.mean_hops,
            "bisection": bisection,
            "zero_load_latency": zero_load,
            "deadlock": { "free": free, "verdict": self.verdict_text, "cycle": self.cycle },
            "memory_bytes": self.memory,
        });
        if let Some((needed, route)) = &self.lanes_needed {
            all["virtual_lanes"] = json!({
                "needed": needed,
                "longest_route": route,
                "by_hops": self.divides_lanes_by_hops,
            });
        }
        if let Some(competition) = &self.port_competition {
            let ports = competition.iter().map(|(output, inputs)| (output.clone(), json!(inputs)));
            all["port_competition"] = Value::Object(ports.collect());
        }
        if let Some(sequences) = &self.sequences {
            all["sequences"] = json!(sequences);
        }
        if !self.silent.is_empty() {
            all["silent_sources"] = json!(self.silent);
        }
        if let Some(errors) = self.bit_errors {
            all["bit_errors"] = json!({
                "links": errors.links,
                "micropackets_that_fail": errors.failure,
                "least_throughput": errors.throughput,
                "mean_wait_of_a_packet_ns": errors.wait_ps * 1e-3,
                "in_zero_load_latency": false,
            });
        }
        all.sort_all_objects();
        all
    }
}
