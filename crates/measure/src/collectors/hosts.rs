//! Data that hosts inject and receive, and the load of the whole fabric.

use fabricsim_model::{Packet, Table};
use fabricsim_units::{HostId, Time};
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::RecorderConfig;
use crate::bins::{Bins, head};
use crate::flow::MOST_FLOWS;
use crate::grid::{Bin, Cells, Grid};
use crate::input::TableInput;
use crate::timeline::{Delivery, Timeline};

const INJECTED_PACKETS: usize = 0;
const INJECTED_BYTES: usize = 1;
const DELIVERED_PACKETS: usize = 2;
const DELIVERED_BYTES: usize = 3;

/// A run is saturated when it accepts less than this fraction of what is offered. The rest is for packets in flight
/// at the ends of the window, and for chance.
pub const SATURATED: f64 = 0.98;

/// Data that every host sent and received: counters within the window, series over the whole run (one for all hosts
/// together if there are more than [`MOST_FLOWS`]).
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Hosts {
    counters: Vec<[u64; 4]>,
    injected: Cells<u64>,
    delivered: Cells<u64>,
    each: bool,
}

/// Load and accepted throughput.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostsSummary {
    /// Load that the sources offered within the window, as a fraction of the link rates of the hosts that offered
    /// messages.
    #[schemars(extend("x-unit" = "fraction"))]
    pub offered_load: f64,
    /// Load that was delivered within the window, as a fraction of the link rates of the hosts that offered messages.
    #[schemars(extend("x-unit" = "fraction"))]
    pub accepted_load: f64,
    /// Offered load of the whole fabric.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub offered_gbps: f64,
    /// Accepted load of the whole fabric.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub accepted_gbps: f64,
    /// Packets delivered within the window.
    #[schemars(title = "packets accepted")]
    pub packets: u64,
    /// Bytes delivered within the window.
    #[schemars(title = "bytes accepted", extend("x-unit" = "B"))]
    pub bytes: u64,
    /// True if less than 98 % of the offered load is accepted.
    pub saturated: bool,
    /// Reason why it counts as saturated.
    #[schemars(title = "saturated")]
    pub saturation: Option<String>,
}

/// Number of series.
pub(crate) fn rows(hosts: u32) -> usize {
    if hosts as usize <= MOST_FLOWS { hosts as usize } else { 1 }
}

impl Hosts {
    #[inline]
    fn row(&self, host: HostId) -> usize {
        if self.each { host.index() } else { 0 }
    }

    #[inline]
    fn count_injected(&mut self, within: bool, bin: Bin, host: HostId, bytes: u32) {
        self.injected.add(self.row(host), bin, u64::from(bytes));
        if within {
            let counters = &mut self.counters[host.index()];
            counters[INJECTED_PACKETS] += 1;
            counters[INJECTED_BYTES] += u64::from(bytes);
        }
    }

    /// Packets received within the window, and their bytes.
    fn accepted(&self) -> (u64, u64) {
        let total = |counter: usize| self.counters.iter().map(|counters| counters[counter]).sum();
        (total(DELIVERED_PACKETS), total(DELIVERED_BYTES))
    }

    /// Sum of the link rates of the hosts that offered messages; if offers are not known, that injected packets.
    fn capacity_gbps(&self, input: &TableInput<'_>) -> f64 {
        let offered = input.offered_by_host();
        let known = !input.outcome.offers.is_empty();
        let sends = |host: &usize| {
            if known { offered[*host] > 0 } else { self.counters[*host][INJECTED_PACKETS] > 0 }
        };
        (0..offered.len()).filter(sends).map(|host| input.outcome.rates[host].as_gbps()).sum()
    }

    /// A row per host.
    fn table(&self, input: &TableInput<'_>) -> Table {
        let counters = &self.counters;
        let whole =
            |counter: usize| counters.iter().map(|counters| counters[counter] as i64).collect::<Vec<_>>();
        let rate =
            |counter: usize| counters.iter().map(|c| input.gbps(c[counter] as f64)).collect::<Vec<_>>();
        let known = !input.outcome.offers.is_empty();
        let offered = input.offered_by_host();
        let offered =
            offered.iter().map(|&bytes| if known { input.gbps(bytes as f64) } else { f64::NAN }).collect();

        let mut table = Table::new("hosts");
        table.text("host", "Name", input.names.hosts.clone());
        let link_rates = input.outcome.rates.iter().map(|rate| rate.as_gbps()).collect();
        table.real("link_gbps", "Gb/s", "Rate of the host's link", link_rates).labelled("link rate");
        table.real("offered_gbps", "Gb/s", "Messages created in the measurement", offered);
        let text = "Packets whose first byte left in the measurement";
        table.real("injected_gbps", "Gb/s", text, rate(INJECTED_BYTES));
        table.real("delivered_gbps", "Gb/s", "Packets received in the measurement", rate(DELIVERED_BYTES));
        table.whole("injected_packets", "", text, whole(INJECTED_PACKETS));
        let text = "Packets received in the measurement";
        table.whole("delivered_packets", "", text, whole(DELIVERED_PACKETS));
        table
    }

    /// Injected and delivered throughput of every host over time (`*`: of all together, if there are many).
    fn series(&self, input: &TableInput<'_>) -> Table {
        let names = if self.each { input.names.hosts.clone() } else { vec!["*".to_owned()] };
        let axis = &input.timeline.axis;
        let injected = Bins::new(Grid::of(axis, &self.injected), names.len(), input.outcome.end);
        let delivered = Bins::new(Grid::of(axis, &self.delivered), names.len(), input.outcome.end);
        let mut table = Table::new("hosts_series");
        head(&mut table, &injected, ("host", "Name; * for all hosts together"), &names);
        let rates = |bins: &Bins<u64>| (0..names.len()).flat_map(|row| bins.rates(row)).collect();
        table.real("injected_gbps", "Gb/s", "Injected throughput", rates(&injected));
        table.real("delivered_gbps", "Gb/s", "Delivered throughput", rates(&delivered));
        table
    }
}

impl Collector for Hosts {
    type Summary = HostsSummary;

    fn new(config: &RecorderConfig, timeline: &Timeline) -> Self {
        let rows = rows(config.hosts);
        let hosts = config.hosts as usize;
        Self {
            counters: vec![[0; 4]; hosts],
            injected: Cells::new(&timeline.axis, rows),
            delivered: Cells::new(&timeline.axis, rows),
            each: rows == hosts,
        }
    }

    #[inline]
    fn injected(&mut self, timeline: &mut Timeline, now: Time, packet: &Packet) {
        let bin = timeline.axis.bin(now);
        self.count_injected(timeline.window.contains(now), bin, packet.source, packet.bytes);
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        let host = packet.destination;
        self.delivered.add(self.row(host), delivery.bin, u64::from(packet.bytes));
        if delivery.accepted {
            let counters = &mut self.counters[host.index()];
            counters[DELIVERED_PACKETS] += 1;
            counters[DELIVERED_BYTES] += u64::from(packet.bytes);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.injected.merge(&other.injected);
        self.delivered.merge(&other.delivered);
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let of_all = "host and time bin; of large networks one for all hosts together";
        vec![ResultTable::new("host", self.table(input)), ResultTable::new(of_all, self.series(input))]
    }

    fn summarize(&self, input: &TableInput<'_>) -> HostsSummary {
        let (packets, bytes) = self.accepted();
        let offers = &input.outcome.offers;
        let offered: u64 = offers.iter().map(|offer| offer.bytes).sum();
        let offered = if offers.is_empty() { f64::NAN } else { offered as f64 };
        let (offered_gbps, accepted_gbps) = (input.gbps(offered), input.gbps(bytes as f64));
        let capacity = self.capacity_gbps(input);
        let saturated = accepted_gbps < SATURATED * offered_gbps;
        let reason = || {
            let percent = 100.0 * SATURATED;
            let (accepted, offered) = (four_digits(accepted_gbps), four_digits(offered_gbps));
            format!("accepts {accepted} Gb/s of {offered} Gb/s offered: less than {percent} %")
        };
        HostsSummary {
            offered_load: offered_gbps / capacity,
            accepted_load: accepted_gbps / capacity,
            offered_gbps,
            accepted_gbps,
            packets,
            bytes,
            saturated,
            saturation: saturated.then(reason),
        }
    }
}
/// A positive number with four digits, or more before the point.
fn four_digits(value: f64) -> String {
    let before = value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", (3 - before).clamp(0, 9) as usize)
}
