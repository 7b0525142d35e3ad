//! Counters of routers in tables and figures.

use std::collections::BTreeMap;

use fabricsim_model::Table;
use schemars::JsonSchema;
use serde::Serialize;

use super::{RouterCounters, Routers};
use crate::RouterPort;
use crate::collectors::links::{PACKETS, STALLED};
use crate::input::TableInput;

/// By direction: `"+x"`, `"-x"`, ..., `"host"`.
pub type RouterSummaries = BTreeMap<String, RouterSummary>;

/// Performance counters of the routers' ports in one direction, in cycles of their clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RouterSummary {
    /// Cycles stalled for lack of credits per packet sent on lanes 0 and 1 (Abts & Weisser, SC07, equation 17).
    #[schemars(extend("x-unit" = "cycles"))]
    pub stalled_per_packet: f64,
    /// Cycles for which the heads of input buffers were blocked per packet received on lanes 0 and 1.
    #[schemars(extend("x-unit" = "cycles"))]
    pub blocked_per_packet: f64,
    /// Q: mean time that packets waited for the ports, beyond the delay of a switch.
    #[schemars(title = "queueing delay", extend("x-unit" = "cycles"))]
    pub queueing_cycles: f64,
    /// Mean age of packets as they left.
    pub age_mean: f64,
}

/// Lanes whose packets equation 17 counts: VC0 and VC1.
const REQUESTS: usize = 2;

/// Counters of a router's port on a lane, or of several of them together.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Received.
    packets: u64,
    flits: u64,
    blocked: u64,
    /// Packets sent.
    sent: u64,
    stalled: u64,
    /// Of the packets chosen for it.
    output: RouterCounters,
}

impl Counts {
    fn of(input: &TableInput<'_>, routers: &Routers, port: &RouterPort, lane: usize) -> Self {
        let place = |channel: u32| &input.links[channel as usize * routers.lanes + lane];
        let received = &routers.of(port.input)[lane];
        let (input, output) = (place(port.input), place(port.output));
        Self {
            packets: input[PACKETS],
            flits: received.flits,
            blocked: received.blocked,
            sent: output[PACKETS],
            stalled: output[STALLED],
            output: routers.of(port.output)[lane],
        }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.flits += other.flits;
        self.blocked += other.blocked;
        self.sent += other.sent;
        self.stalled += other.stalled;
        self.output.add(&other.output);
    }

    fn is_empty(&self) -> bool {
        self.packets + self.blocked + self.sent + self.stalled + self.output.granted == 0
    }
}

/// A row of a table.
struct Row<'a> {
    port: &'a RouterPort,
    lane: usize,
    counts: Counts,
}

/// Ports of a direction together.
#[derive(Clone, Debug, Default)]
struct Direction {
    ports: u64,
    all: Counts,
    /// Packets received and sent on the lanes of requests.
    received: u64,
    sent: u64,
    /// Equation 17 of each port that sent a packet on those lanes, in picoseconds.
    occupancies: Vec<f64>,
}

impl Direction {
    fn add(&mut self, lanes: &[Counts]) {
        self.ports += 1;
        let (mut sent, mut stalled) = (0, 0);
        for (lane, counts) in lanes.iter().enumerate() {
            self.all.add(counts);
            stalled += counts.stalled;
            if lane < REQUESTS {
                self.received += counts.packets;
                sent += counts.sent;
            }
        }
        self.sent += sent;
        if sent > 0 {
            self.occupancies.push(stalled as f64 / sent as f64);
        }
    }

    /// Standard deviation of equation 17 over the ports.
    fn deviation(&self) -> f64 {
        let count = self.occupancies.len() as f64;
        let mean = self.occupancies.iter().sum::<f64>() / count;
        let squares: f64 = self.occupancies.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / count).sqrt()
    }
}

/// Counters of each port of each router, lane by lane.
fn ports<'a>(
    input: &'a TableInput<'_>,
    routers: &'a Routers,
) -> impl Iterator<Item = (&'a RouterPort, Vec<Counts>)> {
    input
        .names
        .routers
        .iter()
        .map(|port| (port, (0..routers.lanes).map(|lane| Counts::of(input, routers, port, lane)).collect()))
}

/// A row per port and lane that was used; of ports that were not, their first lane.
pub(super) fn ports_table(routers: &Routers, input: &TableInput<'_>) -> Table {
    let mut rows = Vec::new();
    for (port, lanes) in ports(input, routers) {
        let unused = lanes.iter().all(Counts::is_empty);
        let shown = |lane: &usize| !lanes[*lane].is_empty() || (unused && *lane == 0);
        let row = |lane: usize| Row { port, lane, counts: lanes[lane] };
        rows.extend((0..lanes.len()).filter(shown).map(row));
    }
    let text = |value: &dyn Fn(&RouterPort) -> String| rows.iter().map(|row| value(row.port)).collect();
    let counts: Vec<Counts> = rows.iter().map(|row| row.counts).collect();
    let mut table = Table::new("router_ports");
    table.text("router", "Switch", text(&|port| port.router.clone()));
    table.whole("port", "", "Number of the port", rows.iter().map(|row| i64::from(row.port.port)).collect());
    let direction = text(&|port| input.names.directions[port.direction].clone());
    table.text("direction", "Where the port leads to: +x, -x, ..., host", direction);
    let lanes = rows.iter().map(|row| row.lane as i64).collect();
    table.whole("lane", "", "Virtual lane v; of the columns from granted on: that packets came in on", lanes);
    registers(&mut table, &counts, routers.cycle.0 as f64);
    table
}

/// A row per direction.
pub(super) fn directions_table(routers: &Routers, input: &TableInput<'_>) -> Table {
    let directions = directions(input, routers);
    let cycle = routers.cycle.0 as f64;
    let names = directions.keys().map(|&at| input.names.directions[at].clone()).collect();
    let real = |value: &dyn Fn(&Direction) -> f64| directions.values().map(value).collect::<Vec<_>>();
    let counts: Vec<Counts> = directions.values().map(|direction| direction.all).collect();
    let mut table = Table::new("router_dimensions");
    table.text("direction", "Where the ports lead to: +x, -x, ..., host", names);
    table.whole("ports", "", "Number of ports", directions.values().map(|d| d.ports as i64).collect());
    let text = "Equation 17: stalled cycles per packet sent on VC0 and VC1";
    let stalled = real(&|d| d.all.stalled as f64 / d.sent as f64 / cycle);
    table.real("stalled_per_packet", "cycles", text, stalled);
    let text = "Standard deviation of equation 17 over the ports";
    table.real("stalled_per_packet_deviation", "cycles", text, real(&|d| d.deviation() / cycle));
    let text = "Blocked cycles per packet received on VC0 and VC1";
    table.real(
        "blocked_per_packet",
        "cycles",
        text,
        real(&|d| d.all.blocked as f64 / d.received as f64 / cycle),
    );
    registers(&mut table, &counts, cycle);
    table
}

/// The columns that both tables have.
fn registers(table: &mut Table, rows: &[Counts], cycle: f64) {
    let whole = |value: &dyn Fn(&Counts) -> u64| rows.iter().map(|row| value(row) as i64).collect::<Vec<_>>();
    let real = |value: &dyn Fn(&Counts) -> f64| rows.iter().map(value).collect::<Vec<_>>();
    let text = "RTR_PERF_VCv_PKTS: packets received whose sending began in the measurement";
    table.whole("packets", "", text, whole(&|row| row.packets));
    table.whole("flits", "", "RTR_PERF_VCv_FLITS: their flow-control units", whole(&|row| row.flits));
    let text = "RTR_PERF_VCv_BLOCKED: cycles for which the head of the input buffer waited for space in its staging buffer";
    table.real("blocked_cycles", "cycles", text, real(&|row| row.blocked as f64 / cycle));
    let text = "RTR_PERF_STALLED, by lane: cycles for which the idle output had a packet, but no send credits for it";
    table.real("stalled_cycles", "cycles", text, real(&|row| row.stalled as f64 / cycle));
    let text = "Packets that the output chose in the measurement";
    table.whole("granted", "", text, whole(&|row| row.output.granted));
    let text = "Q: mean time that they had waited in the router, beyond its delay";
    let queueing = real(&|row| row.output.waited as f64 / row.output.granted as f64 / cycle);
    table.real("queueing_cycles", "cycles", text, queueing).labelled("queueing delay");
    let texts = [
        ("age_0_63", "RTR_AGE_GROUP0[31:0]: of them with an age of 0 to 63 as they left"),
        ("age_64_127", "RTR_AGE_GROUP0[63:32]: with an age of 64 to 127"),
        ("age_128_191", "RTR_AGE_GROUP1[31:0]: with an age of 128 to 191"),
        ("age_192_255", "RTR_AGE_GROUP1[63:32]: with an age of 192 to 255"),
    ];
    for (group, (name, text)) in texts.into_iter().enumerate() {
        table.whole(name, "", text, whole(&|row| row.output.ages[group]));
    }
    let mean = real(&|row| row.output.age as f64 / row.output.granted as f64);
    table.real("age_mean", "", "Mean of their ages as they left", mean);
}

fn directions(input: &TableInput<'_>, routers: &Routers) -> BTreeMap<usize, Direction> {
    let mut found: BTreeMap<usize, Direction> = BTreeMap::new();
    for (port, lanes) in ports(input, routers) {
        found.entry(port.direction).or_default().add(&lanes);
    }
    found
}

/// The same in figures, by direction.
pub(super) fn summary(routers: &Routers, input: &TableInput<'_>) -> RouterSummaries {
    let cycle = routers.cycle.0 as f64;
    let of = |(at, found): (usize, Direction)| {
        let output = found.all.output;
        let summary = RouterSummary {
            stalled_per_packet: found.all.stalled as f64 / found.sent as f64 / cycle,
            blocked_per_packet: found.all.blocked as f64 / found.received as f64 / cycle,
            queueing_cycles: output.waited as f64 / output.granted as f64 / cycle,
            age_mean: output.age as f64 / output.granted as f64,
        };
        (input.names.directions[at].clone(), summary)
    };
    directions(input, routers).into_iter().map(of).collect()
}
