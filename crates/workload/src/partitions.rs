//! Partitions of an InfiniBand subnet (section 10.9): which hosts accept the packets of a stream.

use fabricsim_model::{Packet, PacketKind};
use fabricsim_spec::Experiment;
use fabricsim_units::HostId;

use crate::error::{Problem, WorkloadError};
use crate::select::Selector;

/// Bit of a P_Key: full membership.
const FULL: u16 = 0x8000;

/// Membership of a host in a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Membership {
    /// Its packets are lost there.
    #[default]
    None,
    /// Packets of full members are accepted.
    Limited,
    /// Packets of all members are accepted.
    Full,
}

/// The partitions of streams, and the members of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// Partition of each stream; none for the default partition.
    of_stream: Vec<Option<u16>>,
    /// By partition and host.
    members: Vec<Vec<Membership>>,
    /// Names, and the lower 15 bits of P_Keys.
    names: Vec<(String, u16)>,
}

impl Partitions {
    /// The partitions of an experiment with a number of hosts; none without any.
    pub(crate) fn new(
        experiment: &Experiment,
        selector: &Selector<'_>,
        hosts: usize,
    ) -> Result<Option<Self>, WorkloadError> {
        let mut members = Vec::new();
        for (number, partition) in experiment.partitions.iter().enumerate() {
            let mut row = vec![Membership::None; hosts];
            let lists = [("limited", &partition.limited), ("members", &partition.members)];
            for ((key, list), membership) in lists.into_iter().zip([Membership::Limited, Membership::Full]) {
                if !list.is_empty() {
                    let chosen = selector.select(list, &format!("partitions.{number}.{key}"))?.hosts;
                    for host in chosen {
                        row[host.index()] = membership;
                    }
                }
            }
            members.push(row);
        }
        let names =
            experiment.partitions.iter().map(|partition| (partition.name.clone(), partition.key)).collect();
        Ok((!members.is_empty()).then_some(Self { of_stream: Vec::new(), members, names }))
    }

    /// The same with the partition of each stream.
    pub(crate) fn with_streams(self, of_stream: impl Iterator<Item = Option<u16>>) -> Self {
        Self { of_stream: of_stream.collect(), ..self }
    }

    /// The number of a partition; an error that names a source if it is no member.
    pub(crate) fn of_sources(
        &self,
        name: &str,
        sources: &[HostId],
        hosts: &[String],
    ) -> Result<Option<u16>, Problem> {
        let Some(number) = self.names.iter().position(|known| known.0 == name) else {
            return Ok(None);
        };
        let outside = sources.iter().find(|host| self.members[number][host.index()] == Membership::None);
        match outside {
            Some(host) => {
                Err(Problem::NoMember { host: hosts[host.index()].clone(), partition: name.to_owned() })
            }
            None => Ok(Some(number as u16)),
        }
    }

    /// True if traffic of a stream belongs to a partition other than the default one.
    pub fn has_stream(&self, stream: u16) -> bool {
        self.of_stream.get(usize::from(stream)).is_some_and(Option::is_some)
    }

    /// P_Key of a packet, if ports check it; `None` in the default partition, of which all are members, and for what answers data: that is of
    /// hosts that have accepted the data.
    pub fn checked_key(&self, packet: &Packet) -> Option<u16> {
        let is_checked = packet.kind == PacketKind::Data && self.has_stream(packet.stream);
        is_checked.then(|| self.key(packet.stream, packet.source))
    }

    /// P_Keys of a host besides that of the default partition, in the order of the partitions.
    pub fn keys_of(&self, host: HostId) -> Vec<u16> {
        let key = |(row, (_, key)): (&Vec<Membership>, &(String, u16))| match row[host.index()] {
            Membership::None => None,
            Membership::Limited => Some(*key),
            Membership::Full => Some(key | FULL),
        };
        self.members.iter().zip(&self.names).filter_map(key).collect()
    }

    /// P_Key of the packets of a stream from a host, with the bit of full membership.
    pub fn key(&self, stream: u16, source: HostId) -> u16 {
        let Some(&Some(number)) = self.of_stream.get(usize::from(stream)) else { return 0xffff };
        let is_full = self.members[usize::from(number)][source.index()] == Membership::Full;
        self.names[usize::from(number)].1 | if is_full { FULL } else { 0 }
    }
}
