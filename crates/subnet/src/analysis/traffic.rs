//! Loads of links under patterns of traffic, by the forwarding tables alone: flows that share a link, and the bandwidth that this leaves
//! them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use super::deadlock::channel_name;
use crate::engines::NO_PORT;
use crate::fabric::{EndPort, Fabric, NONE, Peer};
use crate::{PortId, RouteError, Subnet, Tables};

/// Most phases of the shift pattern that are looked at.
const MOST_PHASES: usize = 512;

/// Random bisections that are drawn.
const BISECTIONS: u64 = 200;

/// A flow between two ports, with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Port of the sender.
    pub source: PortId,
    /// Port of the receiver.
    pub destination: PortId,
    /// Weight, such as a rate.
    pub weight: f64,
}

/// Load of links between switches by a pattern that has several phases, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatternLoad {
    /// Name: `shift`, `bit-reversal`, `incast`, `matrix`.
    pub pattern: &'static str,
    /// Phases that were looked at: shifts, receivers.
    pub phases: usize,
    /// Flows (of a matrix: weight) on the most loaded link, in the mean over the phases.
    pub mean_max: f64,
    /// The same in the worst phase.
    pub worst_max: f64,
    /// The worst phase: the shift, or the receiver's number in the order of LIDs; 0 where there is only one.
    pub worst_phase: usize,
    /// The most loaded link of that phase; empty if no flow crosses a link between switches.
    pub hot_link: String,
}

/// Bandwidth that random bisections leave a flow, as a fraction of that of an adapter's link (Hoefler, Schneider, Lumsdaine 2008).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bisection {
    /// Bisections drawn, each with flows in both directions.
    pub samples: u64,
    /// Mean over flows and bisections.
    pub mean: f64,
    /// Standard error of that mean, from the spread over bisections.
    pub error: f64,
    /// Mean of the worst bisection.
    pub worst: f64,
}

/// Loads of patterns, and the effective bisection bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    /// Loads by pattern.
    pub patterns: Vec<PatternLoad>,
    /// Effective bisection bandwidth; none with fewer than four ports.
    pub bisection: Option<Bisection>,
    /// By pattern: the largest load of each channel over all phases.
    #[serde(skip)]
    pub(crate) largest: Vec<Vec<f64>>,
}

/// A phase: its number, the largest load in it, and the link of that load.
type Phase = (usize, (f64, usize));

/// The patterns `shift`, `bit-reversal` and `incast`, random bisections, and the `matrix` of demands if there are any. All links count
/// alike, whatever their rate. Flows that the tables do not carry to their end count on no link, and get no bandwidth.
///
/// # Errors
///
/// The subnet has no switches, LIDs are missing, or it has several parts.
pub fn traffic(subnet: &Subnet, tables: &Tables, matrix: &[Demand]) -> Result<Traffic, RouteError> {
    let fabric = Fabric::new(subnet)?;
    let mut ports: Vec<&EndPort> =
        fabric.ends.iter().filter(|end| !end.is_switch && end.switch != NONE).collect();
    ports.sort_by_key(|end| end.lid);
    let paths = Paths { fabric: &fabric, tables, ports };
    let mut all = vec![paths.shifts(), paths.bit_reversal(), paths.incasts()];
    if !matrix.is_empty() {
        all.push(paths.matrix(matrix));
    }
    let (patterns, largest) = all.into_iter().unzip();
    Ok(Traffic { patterns, bisection: paths.bisections(), largest })
}

/// The largest load, and its channel; `usize::MAX` if all are 0.
fn largest(loads: &[f64]) -> (f64, usize) {
    let most = loads.iter().enumerate().map(|(link, &load)| (load, link));
    most.fold((0.0, usize::MAX), |most, next| if next.0 > most.0 { next } else { most })
}

/// Raises each load to that of `others` where that is larger.
fn raise(loads: &mut [f64], others: &[f64]) {
    loads.iter_mut().zip(others).for_each(|(load, &other)| *load = load.max(other));
}

/// Paths between the ports of adapters and routers.
struct Paths<'a> {
    fabric: &'a Fabric<'a>,
    tables: &'a Tables,
    /// Ports in the order of their LIDs.
    ports: Vec<&'a EndPort>,
}

impl Paths<'_> {
    /// Collects the links between switches on the path between two ports, by the numbers of their output ports. Returns false, with no
    /// links, if the path does not arrive.
    fn walk(&self, source: usize, destination: usize, links: &mut Vec<usize>) -> bool {
        links.clear();
        let end = self.ports[destination];
        let lid = usize::from(end.lid);
        let mut at = self.ports[source].switch as usize;
        // A loop ends after as many steps as there are switches.
        for _ in 0..self.fabric.len() {
            let port = self.tables.row(at).get(lid).copied().unwrap_or(NO_PORT);
            if (at, port) == (end.switch as usize, end.port) {
                return true;
            }
            let Some(&Peer::Switch(next, _)) = self.fabric.peers(at).get(usize::from(port)) else { break };
            links.push(self.fabric.first_port(at) + usize::from(port));
            at = next as usize;
        }
        links.clear();
        false
    }

    /// Loads of a phase by channel.
    fn loads(&self, flows: impl Iterator<Item = (usize, usize, f64)>) -> Vec<f64> {
        let mut loads = vec![0.0; self.fabric.num_ports()];
        let mut links = Vec::new();
        for (source, destination, weight) in flows.filter(|flow| flow.0 != flow.1) {
            self.walk(source, destination, &mut links);
            for &link in &links {
                loads[link] += weight;
            }
        }
        loads
    }

    /// The load of a pattern with the given phases, and the largest load of each channel.
    fn pattern<F>(&self, pattern: &'static str, phases: &[usize], flows: F) -> (PatternLoad, Vec<f64>)
    where
        F: Fn(usize) -> Box<dyn Iterator<Item = (usize, usize, f64)>> + Sync,
    {
        let chunk = phases.len().div_ceil(rayon::current_num_threads() * 4).max(1);
        let parts: Vec<(Vec<Phase>, Vec<f64>)> = phases
            .par_chunks(chunk)
            .map(|phases| {
                let mut most = vec![0.0; self.fabric.num_ports()];
                let phase = |&phase: &usize| {
                    let loads = self.loads(flows(phase));
                    raise(&mut most, &loads);
                    (phase, largest(&loads))
                };
                (phases.iter().map(phase).collect(), most)
            })
            .collect();
        let mut most = vec![0.0; self.fabric.num_ports()];
        for part in &parts {
            raise(&mut most, &part.1);
        }
        let phases: Vec<Phase> = parts.into_iter().flat_map(|part| part.0).collect();
        (self.load(pattern, &phases), most)
    }

    /// The load of a pattern from the largest loads of its phases.
    fn load(&self, pattern: &'static str, phases: &[Phase]) -> PatternLoad {
        let worst =
            phases.iter().copied().reduce(|worst, next| if next.1.0 > worst.1.0 { next } else { worst });
        let (worst_phase, (worst_max, link)) = worst.unwrap_or((0, (0.0, usize::MAX)));
        let sum: f64 = phases.iter().map(|phase| phase.1.0).sum();
        PatternLoad {
            pattern,
            phases: phases.len(),
            mean_max: sum / phases.len().max(1) as f64,
            worst_max,
            worst_phase,
            hot_link: self.name(link),
        }
    }

    fn name(&self, link: usize) -> String {
        if link == usize::MAX {
            return String::new();
        }
        let at = (0..self.fabric.len()).rfind(|&at| self.fabric.first_port(at) <= link).unwrap_or(0);
        channel_name(self.fabric, at, link - self.fabric.first_port(at))
    }

    /// Port i sends to port i + k, for all k, or evenly chosen ones.
    fn shifts(&self) -> (PatternLoad, Vec<f64>) {
        let count = self.ports.len();
        let step = count.div_ceil(MOST_PHASES).max(1);
        let shifts: Vec<usize> = (1..count).step_by(step).collect();
        self.pattern("shift", &shifts, |shift| {
            Box::new((0..count).map(move |port| (port, (port + shift) % count, 1.0)))
        })
    }

    /// Port i sends to the port whose number has the bits of i in reverse, if there is one.
    fn bit_reversal(&self) -> (PatternLoad, Vec<f64>) {
        let count = self.ports.len();
        let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
        let reversed =
            move |port: usize| if bits == 0 { 0 } else { port.reverse_bits() >> (usize::BITS - bits) };
        self.pattern("bit-reversal", &[0], |_| {
            let flows = (0..count).map(move |port| (port, reversed(port), 1.0));
            Box::new(flows.filter(move |flow| flow.1 < count))
        })
    }

    /// All ports send to one, for every one.
    fn incasts(&self) -> (PatternLoad, Vec<f64>) {
        let count = self.ports.len();
        let step = count.div_ceil(MOST_PHASES).max(1);
        let receivers: Vec<usize> = (0..count).step_by(step).collect();
        self.pattern("incast", &receivers, |to| Box::new((0..count).map(move |port| (port, to, 1.0))))
    }

    fn matrix(&self, matrix: &[Demand]) -> (PatternLoad, Vec<f64>) {
        let place = |id: PortId| self.ports.iter().position(|end| end.id == id);
        let flows: Vec<(usize, usize, f64)> = matrix
            .iter()
            .filter_map(|demand| Some((place(demand.source)?, place(demand.destination)?, demand.weight)))
            .collect();
        self.pattern("matrix", &[0], |_| Box::new(flows.clone().into_iter()))
    }

    /// Random halves of the ports, paired at random: each flow gets an equal part of the most shared link that it crosses, and nothing if
    /// it does not arrive.
    fn bisections(&self) -> Option<Bisection> {
        let half = self.ports.len() / 2;
        if half < 2 {
            return None;
        }
        let means: Vec<f64> =
            (0..BISECTIONS).into_par_iter().map(|seed| self.bisection(seed, half)).collect();
        let samples = BISECTIONS as f64;
        let mean = means.iter().sum::<f64>() / samples;
        let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (samples - 1.0);
        let worst = means.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Bisection { samples: BISECTIONS, mean, error: (variance / samples).sqrt(), worst })
    }

    fn bisection(&self, seed: u64, half: usize) -> f64 {
        let mut order: Vec<usize> = (0..self.ports.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let flows: Vec<(usize, usize)> = (0..half)
            .flat_map(|pair| [(order[pair], order[half + pair]), (order[half + pair], order[pair])])
            .collect();
        let mut loads = vec![0_u32; self.fabric.num_ports()];
        let mut links = Vec::new();
        for &(from, to) in &flows {
            self.walk(from, to, &mut links);
            for &link in &links {
                loads[link] += 1;
            }
        }
        let share = |&(from, to): &(usize, usize)| {
            let arrives = self.walk(from, to, &mut links);
            let most = links.iter().map(|&link| loads[link]).max().unwrap_or(1);
            if arrives { 1.0 / f64::from(most) } else { 0.0 }
        };
        flows.iter().map(share).sum::<f64>() / flows.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, LidOptions, NodeId, Options, assign_lids, read};

    /// `pairs` adapters on each of two switches, which `cables` cables join.
    fn dumbbell(pairs: usize, cables: usize) -> Subnet {
        let side = |own: &str, other: &str| {
            let ports = (1..=pairs).map(|port| format!("[{port}] \"{own}{port}\"[1]\n"));
            let between = (pairs + 1..=pairs + cables).map(|port| format!("[{port}] \"{other}\"[{port}]\n"));
            let adapters =
                (1..=pairs).map(|port| format!("\nHca 1 \"{own}{port}\"\n[1] \"{own}\"[{port}]\n"));
            let lines: String = ports.chain(between).chain(adapters).collect();
            format!("Switch 36 \"{own}\"\n{lines}\n")
        };
        let text = side("A", "B") + &side("B", "A");
        let mut subnet = read(text.as_bytes(), "dumbbell").unwrap().subnet;
        assign_lids(&mut subnet, LidOptions::default()).unwrap();
        subnet
    }

    fn of(subnet: &Subnet, matrix: &[Demand]) -> Traffic {
        let routed = Engine::MinHop.route(subnet, &Options::default()).unwrap();
        traffic(subnet, &routed.tables, matrix).unwrap()
    }

    /// With one cable all that crosses is on it: of an incast all ports of the other side, of a bisection as many flows as have their ends
    /// on both sides, which share the cable.
    #[test]
    fn one_cable_carries_all_that_crosses() {
        let found = of(&dumbbell(4, 1), &[]);
        let incast = &found.patterns[2];
        assert_eq!(
            (incast.pattern, incast.phases, incast.mean_max, incast.worst_max),
            ("incast", 8, 4.0, 4.0)
        );
        assert!(found.patterns[0].worst_max <= 4.0 && found.patterns[0].hot_link.contains('A'));
        let bisection = found.bisection.unwrap();
        // Of eight ports in random pairs, a pair crosses with probability 4/7: the mean number of flows in a direction is 16/7.
        assert!((0.4..0.8).contains(&bisection.mean) && bisection.worst >= 0.25, "{bisection:?}");
        // With a cable for every pair each flow has one of its own, if the tables spread them evenly.
        let wide = of(&dumbbell(4, 4), &[]).bisection.unwrap();
        assert!(wide.mean > bisection.mean + 0.1, "{wide:?}");
    }

    /// Without entries no path between the switches arrives: half of a bisection's pairs on both sides get nothing, and no link has a load,
    /// neither before the hole nor in a loop. With none at all, nothing gets anything.
    #[test]
    fn what_does_not_arrive_gets_nothing_and_loads_nothing() {
        let subnet = dumbbell(4, 1);
        let routed = Engine::MinHop.route(&subnet, &Options::default()).unwrap();
        let lids = |name: char| {
            let nodes = subnet.nodes.iter().filter(move |node| !node.is_switch());
            nodes
                .filter(move |node| node.description.starts_with(name))
                .map(|node| usize::from(node.ports[1].lid))
        };
        let bisection = |tables: &Tables| traffic(&subnet, tables, &[]).unwrap();
        let largest = |found: &Traffic| found.patterns.iter().map(|load| load.worst_max).fold(0.0, f64::max);
        let whole = bisection(&routed.tables);
        assert!(largest(&whole) > 0.0);
        // The second switch sends what is for its own adapters back: a loop. The first one has no entry for the others.
        let rows: Vec<&str> =
            routed.tables.switches().iter().map(|&id| subnet.node(id).description.as_str()).collect();
        let row = |name: &str| rows.iter().position(|row| *row == name).unwrap();
        let mut tables = routed.tables.clone();
        lids('B').for_each(|lid| tables.row_mut(row("B"))[lid] = 5);
        lids('A').for_each(|lid| tables.row_mut(row("A"))[lid] = NO_PORT);
        let found = bisection(&tables);
        let none = found.bisection.unwrap();
        assert_eq!((none.mean, none.worst, largest(&found)), (0.0, 0.0, 0.0));
        // Only the loop: paths to A arrive, over the cable if they are from B, and share it as before.
        let mut tables = routed.tables.clone();
        lids('B').for_each(|lid| tables.row_mut(row("B"))[lid] = 5);
        let found = bisection(&tables);
        let half = found.bisection.unwrap().mean;
        assert!(half > 0.0 && half < 0.6 * whole.bisection.unwrap().mean, "{found:?}");
        assert_eq!(largest(&found), 4.0, "an incast from B to A");
        let back = found.largest.iter().map(|loads| loads.iter().filter(|&&load| load > 0.0).count());
        assert!(back.clone().all(|links| links <= 1), "only the direction to A: {found:?}");
    }

    #[test]
    fn a_matrix_counts_its_weights_where_they_cross() {
        let subnet = dumbbell(2, 1);
        let port = |name: &str| {
            let node =
                subnet.ids().find(|(_, node)| node.description == name).map_or(NodeId(0), |(id, _)| id);
            PortId { node, port: 1 }
        };
        let demand = |from, to, weight| Demand { source: port(from), destination: port(to), weight };
        let found = of(&subnet, &[demand("A1", "B1", 2.0), demand("A2", "B2", 0.5), demand("A1", "A2", 9.0)]);
        let matrix = found.patterns.last().unwrap();
        assert_eq!((matrix.pattern, matrix.worst_max), ("matrix", 2.5));
    }
}
