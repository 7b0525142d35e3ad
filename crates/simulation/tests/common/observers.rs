use std::collections::BTreeMap;

use fabricsim_model::{Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

/// Keeps every delivered packet with the time of its delivery.
#[derive(Clone, Debug, Default)]
pub struct Deliveries(pub Vec<(Time, Packet)>);

impl Observer for Deliveries {
    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.0.push((now, *packet));
    }
}

impl Deliveries {
    /// Packets delivered from `from` on and before `to`, by source.
    pub fn by_source(&self, from: Time, to: Time) -> BTreeMap<HostId, u64> {
        let mut counts = BTreeMap::new();
        for (_, packet) in self.0.iter().filter(|(at, _)| (from..to).contains(at)) {
            *counts.entry(packet.source).or_default() += 1;
        }
        counts
    }
}

/// Looks whether packets of the same source, destination and stream arrive in the order in which they were sent, and
/// whether a link carries one packet at a time and is not called stalled meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Order {
    last: BTreeMap<(HostId, HostId, u16), (Time, u32)>,
    /// Of each port the end of the packet before the last, start and end of the last.
    sent: BTreeMap<u32, (Time, Time, Time)>,
    /// Descriptions of faults.
    pub faults: Vec<String>,
}

impl Observer for Order {
    fn transmitted(&mut self, port: u32, _lane: Vl, _bytes: u32, start: Time, end: Time) {
        let (_, _, busy) = self.sent.get(&port).copied().unwrap_or_default();
        if start < busy || end <= start {
            self.faults.push(format!("port {port} sends from {start} to {end}, and is busy until {busy}"));
        }
        self.sent.insert(port, (busy, start, end));
    }

    /// Told when the packet is sent that the port was stalled for, after the packet.
    fn stalled(&mut self, port: u32, _lane: Vl, start: Time, end: Time) {
        let (before, sends, _) = self.sent.get(&port).copied().unwrap_or_default();
        if start < before || end != sends || end <= start {
            self.faults.push(format!("port {port} is stalled from {start} to {end}: {before}, {sends}"));
        }
    }

    fn delivered(&mut self, now: Time, packet: &Packet) {
        let key = (packet.source, packet.destination, packet.stream);
        let (at, newest) = self.last.entry(key).or_insert((now, packet.sequence));
        // Deliveries of the same picosecond are reported in any order.
        if packet.sequence < *newest && now > *at {
            self.faults.push(format!("at {now}: {packet:?} after number {newest}"));
        }
        if packet.sequence >= *newest {
            (*at, *newest) = (now, packet.sequence);
        }
    }
}
