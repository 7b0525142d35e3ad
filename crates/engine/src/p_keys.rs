//! P_Key tables in operation: those of hosts, and those of the ports of switches that lead to them.

use std::sync::Arc;

use fabricsim_model::{Packet, TransportHeaders};
use fabricsim_spec::PartitionEnforcement;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId};
use fabricsim_wire::ids::PKey;
use fabricsim_workload::Partitions;

/// P_Keys that ports accept besides that of the default partition, and the ports that check. What queue pairs of programs accept is theirs.
#[derive(Clone, Debug)]
pub(crate) struct PKeys {
    partitions: Arc<Partitions>,
    /// By host.
    ports: Vec<HostPort>,
    /// Hosts by switch.
    of_switch: Vec<Vec<HostId>>,
    /// True if a switch checks.
    enforces: bool,
}

/// The two ports of the link of a host.
#[derive(Clone, Debug)]
struct HostPort {
    keys: Vec<PKey>,
    at_switch: SwitchPort,
    switch: SwitchId,
    number: PortNo,
    /// Directions of the link from the host and to it.
    channels: [u32; 2],
}

/// Port of a switch to a host: the P_Keys of its table besides that of the default partition, and the directions that it checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchPort {
    /// The keys.
    pub keys: Vec<PKey>,
    /// Checks packets from the host.
    pub inbound: bool,
    /// Checks packets to the host.
    pub outbound: bool,
}

impl PKeys {
    /// Tables as the experiment states them.
    pub(crate) fn new(partitions: &Arc<Partitions>, rule: PartitionEnforcement, graph: &Graph) -> Self {
        let port = |(number, host): (u32, &fabricsim_topology::HostNode)| {
            let host_is_a = graph.links[host.link.index()].a.node == Node::Host(HostId(number));
            let from_host = 2 * host.link.0 + u32::from(!host_is_a);
            let keys: Vec<PKey> = partitions.keys_of(HostId(number)).into_iter().map(PKey).collect();
            let at_switch =
                SwitchPort { keys: keys.clone(), inbound: rule.is_inbound(), outbound: rule.is_outbound() };
            HostPort {
                keys,
                at_switch,
                switch: host.switch,
                number: host.port,
                channels: [from_host, from_host ^ 1],
            }
        };
        let ports = (0..).zip(&graph.hosts).map(port).collect();
        let mut of_switch = vec![Vec::new(); graph.switches.len()];
        for (number, host) in (0..).zip(&graph.hosts) {
            of_switch[host.switch.index()].push(HostId(number));
        }
        let enforces = rule != PartitionEnforcement::Off;
        Self { partitions: Arc::clone(partitions), ports, of_switch, enforces }
    }

    /// True if a switch checks.
    pub(crate) fn enforces(&self) -> bool {
        self.enforces
    }

    /// Sets the table of a host.
    pub(crate) fn set_host(&mut self, host: HostId, keys: &[PKey]) {
        self.ports[host.index()].keys = keys.to_vec();
    }

    /// Sets the port of a switch to a host.
    pub(crate) fn set_switch_port(&mut self, host: HostId, port: &SwitchPort) {
        self.ports[host.index()].at_switch = port.clone();
        self.enforces = self.ports.iter().any(|of| of.at_switch.inbound || of.at_switch.outbound);
    }

    /// True if the destination of a packet accepts it.
    pub(crate) fn admits(&self, packet: &Packet) -> bool {
        let keys = &self.ports[packet.destination.index()].keys;
        self.partitions.checked_key(packet).is_none_or(|key| accepts(keys, PKey(key)))
    }

    /// P_Key of a packet, if ports of switches check it: that of the partition of its traffic, or, of a program's queue pair, that of its header.
    /// All ports have that of the default partition.
    fn key_of(&self, packet: &Packet, transport: Option<&TransportHeaders>) -> Option<PKey> {
        if self.partitions.has_stream(packet.stream) {
            return self.partitions.checked_key(packet).map(PKey);
        }
        let key = transport?.headers.bth.p_key;
        (!key.matches(PKey::DEFAULT)).then_some(key)
    }

    /// The direction of the link whose port of `switch` does not let a packet pass that arrives there; `None` if it goes on.
    pub(crate) fn refused_at(
        &self,
        switch: SwitchId,
        packet: &Packet,
        transport: Option<&TransportHeaders>,
    ) -> Option<u32> {
        let key = self.key_of(packet, transport)?;
        let from = &self.ports[packet.source.index()];
        if packet.hops == 0 && from.at_switch.inbound && !may_send(&from.at_switch.keys, key) {
            return Some(from.channels[0]);
        }
        if packet.destination.group().is_some() {
            // Only copies of it leave.
            return None;
        }
        let to = &self.ports[packet.destination.index()];
        (to.switch == switch && to.refuses(key)).then_some(to.channels[1])
    }

    /// Puts into `refused` the ports of `switch` that do not let a copy of a packet pass which arrives there.
    pub(crate) fn refuse_copies(
        &self,
        switch: SwitchId,
        (packet, transport): (&Packet, Option<&TransportHeaders>),
        refused: &mut Vec<PortNo>,
    ) {
        refused.clear();
        let Some(key) = self.key_of(packet, transport) else { return };
        let ports = self.of_switch[switch.index()].iter().map(|host| &self.ports[host.index()]);
        refused.extend(ports.filter(|port| port.refuses(key)).map(|port| port.number));
    }
}

impl HostPort {
    /// True if the port of the switch does not let a packet pass to the host.
    fn refuses(&self, key: PKey) -> bool {
        self.at_switch.outbound && !accepts(&self.at_switch.keys, key)
    }
}

/// True if a port with a table accepts a packet with `key` (section 10.9.3): an entry of the same partition, and one of the two of a full member.
fn accepts(table: &[PKey], key: PKey) -> bool {
    table.iter().any(|entry| entry.matches(key))
}

/// True if a host with a table may send with `key`: a limited member sends with the key of its table, which two limited members would not match, so
/// entries are compared whole; and a full member's table includes the limited key.
fn may_send(table: &[PKey], key: PKey) -> bool {
    table.iter().any(|entry| *entry == key || entry.is_full_member() && entry.matches(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_member_sends_with_its_key_and_accepts_that_of_full_members() {
        let (full, limited, other) = (PKey(0x8001), PKey(0x0001), PKey(0x8002));
        for (table, key, accepted, sent) in [
            (full, full, true, true),
            (full, limited, true, true),
            (limited, full, true, false),
            (limited, limited, false, true),
            (other, full, false, false),
        ] {
            assert_eq!((accepts(&[table], key), may_send(&[table], key)), (accepted, sent), "{table} {key}");
        }
        assert!(!accepts(&[], full) && !may_send(&[], limited));
    }

    /// The port of a switch checks packets that come from its host if it is to check those; packets that come over other switches it does not
    /// check inbound.
    #[test]
    fn a_port_checks_what_its_host_sends_if_it_is_to() {
        let text = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 1
[[partitions]]
name = "some"
key = 1
members = ["*"]
[[traffic]]
partition = "some"
pattern = "uniform"
injection = "saturating"
message = "128 B"
[run]
duration = "1 s"
"#;
        let engine = crate::testing::prepare(text, &[]).engine(|| fabricsim_model::NullObserver);
        let mut known = (**engine.partitions[0].p_keys.as_ref().expect("there are partitions")).clone();
        let packet = |hops| Packet {
            hops,
            ..Packet::new(
                fabricsim_model::PacketKind::Data,
                (HostId(0), HostId(1)),
                128,
                fabricsim_units::Time::ZERO,
            )
        };
        for (inbound, hops, refused) in
            [(false, 0, false), (true, 0, true), (true, 1, false), (false, 1, false)]
        {
            known.set_switch_port(HostId(0), &SwitchPort { inbound, outbound: false, keys: Vec::new() });
            let found = known.refused_at(SwitchId(0), &packet(hops), None);
            assert_eq!(found.is_some(), refused, "inbound {inbound}, {hops} hops");
        }
    }
}
