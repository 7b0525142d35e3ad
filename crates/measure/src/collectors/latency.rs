//! Latencies and paths of packets.

use fabricsim_model::{Packet, Table};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::input::TableInput;
use crate::timeline::{Delivery, Timeline};
use crate::{Bucket, Histogram, Latency, RecorderConfig};

/// Latencies and paths of the packets that were created within the window, of all flows together. Their exact mean and
/// extremes follow from those of the flows.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Latencies {
    /// From creation to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %. One for each entry, at least one.
    total: Vec<Histogram<7>>,
    /// From the first byte on the wire to delivery, in picoseconds; quantiles to 2^-8 = 0.4 %.
    network: Histogram<7>,
    /// Packets by number of switches passed.
    switches: Vec<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { total: vec![Histogram::new()], network: Histogram::new(), switches: Vec::new() }
    }
}

/// Latencies and hops of all packets that were created within the window and delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// Packets created within the window and delivered: the population of latency and hops.
    #[schemars(title = "packets of the latency")]
    pub latency_packets: u64,
    /// From creation to delivery.
    pub latency_ns: Latency,
    /// From the first byte on the wire to delivery.
    pub network_latency_ns: Latency,
    /// Links between switches that packets crossed, one less than the switches that they passed.
    pub hops: Hops,
}

/// Hops of packets: links between switches. The links of hosts are none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hops {
    /// Mean.
    pub mean: f64,
    /// Fewest; none without packets.
    #[schemars(title = "fewest")]
    pub min: Option<usize>,
    /// Most; none without packets.
    #[schemars(title = "most")]
    pub max: Option<usize>,
}

impl Hops {
    /// Of the numbers of packets by hops.
    fn of(packets: &[u64]) -> Self {
        let count: u64 = packets.iter().sum();
        let hops: u128 = packets.iter().enumerate().map(|(hops, &n)| hops as u128 * u128::from(n)).sum();
        Self {
            mean: hops as f64 / count as f64,
            min: packets.iter().position(|&n| n > 0),
            max: packets.iter().rposition(|&n| n > 0),
        }
    }
}

impl Latencies {
    /// Keeps `count` entries apart.
    pub(crate) fn keep_apart(&mut self, count: usize) {
        self.total.resize(count.max(1), Histogram::new());
    }

    /// Of each entry: from creation to delivery, in picoseconds.
    pub(crate) fn of_entries(&self) -> &[Histogram<7>] {
        &self.total
    }

    /// Of all entries together.
    fn all(&self) -> Histogram<7> {
        let mut all = Histogram::new();
        self.total.iter().for_each(|of_entry| all.merge(of_entry));
        all
    }

    #[cold]
    fn more_switches(&mut self, switches: usize) {
        self.switches.resize(switches + 1, 0);
        self.switches[switches] += 1;
    }

    /// Packets by number of hops. A hop is a link between two switches, as in the facts of a topology: a packet that
    /// passes n switches makes n - 1 hops, one that passes none makes none.
    fn hops(&self) -> Vec<u64> {
        let mut packets = vec![0; self.switches.len().saturating_sub(1)];
        for (switches, count) in self.switches.iter().enumerate().filter(|(_, count)| **count > 0) {
            let hops = switches.saturating_sub(1);
            packets.resize(packets.len().max(hops + 1), 0);
            packets[hops] += count;
        }
        packets
    }

    /// A row per occupied bucket of the histograms.
    fn latency_table(&self) -> Table {
        let of = |kind: &'static str, histogram: &Histogram<7>| -> Vec<(&str, Bucket)> {
            histogram.buckets().map(|bucket| (kind, bucket)).collect()
        };
        let mut rows = of("total", &self.all());
        rows.extend(of("network", &self.network));

        let mut table = Table::new("latency");
        let text = "total: from creation to delivery; network: from the first byte on the wire";
        table.text("kind", text, rows.iter().map(|row| row.0.to_owned()).collect());
        let lows = rows.iter().map(|row| row.1.low as f64 * 1e-3).collect();
        table.real("from_ns", "ns", "Lower edge of the bucket, included", lows);
        let highs = rows.iter().map(|row| (row.1.high as f64 + 1.0) * 1e-3).collect();
        table.real("to_ns", "ns", "Upper edge of the bucket, not included", highs);
        table.whole("count", "", "Packets", rows.iter().map(|row| row.1.count as i64).collect());
        table
    }

    /// A row per number of hops that occurs.
    fn hops_table(&self) -> Table {
        let counts = self.hops();
        let rows: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        let mut table = Table::new("hops");
        let text = "Links between switches that a packet crossed: one less than the switches that it passed";
        table.whole("hops", "", text, rows.iter().map(|row| row.0 as i64).collect());
        table.whole("packets", "", "Packets", rows.iter().map(|row| *row.1 as i64).collect());
        table
    }
}

impl Collector for Latencies {
    type Summary = LatencySummary;

    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self::default()
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        if !delivery.created_within {
            return;
        }
        let entry = usize::from(packet.stream);
        let entry = if entry < self.total.len() { entry } else { 0 };
        self.total[entry].record(delivery.total);
        self.network.record(delivery.network);
        let switches = usize::from(packet.hops);
        match self.switches.get_mut(switches) {
            Some(count) => *count += 1,
            None => self.more_switches(switches),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.total.iter_mut().zip(&other.total).for_each(|(mine, theirs)| mine.merge(theirs));
        self.network.merge(&other.network);
        if self.switches.len() < other.switches.len() {
            self.switches.resize(other.switches.len(), 0);
        }
        self.switches.iter_mut().zip(&other.switches).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn tables(&self, _input: &TableInput<'_>) -> Vec<ResultTable> {
        let of_latency = "bucket of the latency histograms: `total` from the creation of a message, `network` from injection";
        vec![
            ResultTable::new(of_latency, self.latency_table()),
            ResultTable::new("number of hops", self.hops_table()),
        ]
    }

    fn summarize(&self, input: &TableInput<'_>) -> LatencySummary {
        let all = input.all_flows();
        LatencySummary {
            latency_packets: all.created,
            latency_ns: Latency::of(all.created, &all.total, Some(&self.all())),
            network_latency_ns: Latency::of(all.created, &all.network, Some(&self.network)),
            hops: Hops::of(&self.hops()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_by_hops() {
        let hops =
            |switches: &[u64]| Latencies { switches: switches.to_vec(), ..Latencies::default() }.hops();
        assert!(hops(&[]).is_empty());
        assert_eq!(hops(&[3]), [3], "none passes a switch");
        assert_eq!(hops(&[0, 4]), [4]);
        assert_eq!(hops(&[3, 4, 0, 5]), [7, 0, 5]);
    }

    #[test]
    fn hops_of_few_and_of_none() {
        assert_eq!(Hops::of(&[0, 1, 0, 3]), Hops { mean: 2.5, min: Some(1), max: Some(3) });
        assert!(Hops::of(&[]).mean.is_nan() && Hops::of(&[]).min.is_none());
    }
}
